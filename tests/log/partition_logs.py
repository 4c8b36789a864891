"""Logs for tests: batches to append and what is in a log, as plain values."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Any, NamedTuple

from tidelog.core.env import Disk
from tidelog.log.file_names import LOG, file_name, offsets_in
from tidelog.log.partition_log import AppendResult, PartitionLog
from tidelog.records.batch import BatchHeader, iter_batches
from tidelog.records.compression import Codec
from tidelog.records.records import BatchBuilder, Record, iter_records

DIRECTORY = "/data/flights-0"
TOPIC_ID = bytes(range(16))
END = 1 << 60
NOW_MS = 10**12

OpenLog = Callable[..., Awaitable[PartitionLog]]
"""Opens the log in DIRECTORY, by the fixture `clock`; `on=` another disk, `topic_id=`, the rest
are fields of LogConfig."""


class Producer(NamedTuple):
    """Who a batch is of, and its first sequence."""

    id: int
    epoch: int
    sequence: int


NOBODY = Producer(-1, -1, -1)


def batch(
    *values: bytes | None,
    base_offset: int = 0,
    epoch: int = -1,
    times: Sequence[int] = (),
    key: bytes | None = None,
    codec: Codec = Codec.NONE,
    producer: Producer = NOBODY,
) -> bytes:
    """One batch with a record a value, of these times, or all of time 1."""
    builder = BatchBuilder(compression=codec)
    for value, time_ms in zip(values, times or [1] * len(values), strict=True):
        builder.append(timestamp_ms=time_ms, key=key, value=value)
    return builder.build(
        base_offset=base_offset,
        leader_epoch=epoch,
        producer_id=producer.id,
        producer_epoch=producer.epoch,
        base_sequence=producer.sequence,
    )


def append(
    log: PartitionLog,
    *values: bytes | None,
    epoch: int = 0,
    **fields: Any,  # as `batch`
) -> AppendResult:
    """One batch as leader."""
    return log.append_as_leader(batch(*values, **fields), leader_epoch=epoch)


def commit(log: PartitionLog) -> None:
    """Let retention have everything."""
    log.set_high_watermark(log.log_end_offset)


def batches(log: PartitionLog) -> Iterator[tuple[BatchHeader, memoryview]]:
    """All batches, read one by one."""
    offset = log.log_start_offset
    while offset < log.log_end_offset:
        result = log.read(offset, max_bytes=1, upper_bound=END)
        yield from iter_batches(result.records)
        assert result.next_offset > offset
        offset = result.next_offset


def contents(log: PartitionLog) -> list[tuple[int, int, bytes | None]]:
    """Offset, epoch and value of all records, of the first batch also those before the start."""
    return [
        (record.offset, header.partition_leader_epoch, record.value)
        for header, data in batches(log)
        for record in iter_records(data)
    ]


def served(log: PartitionLog) -> list[Record]:
    """All records from the log start on."""
    found = [record for _, data in batches(log) for record in iter_records(data)]
    return [record for record in found if record.offset >= log.log_start_offset]


def values(log: PartitionLog) -> list[bytes | None]:
    """The values of all records."""
    return [value for _, _, value in contents(log)]


def copy(source: PartitionLog, target: PartitionLog) -> None:
    """Let `target` follow to the end."""
    while target.log_end_offset < source.log_end_offset:
        result = source.read(target.log_end_offset, max_bytes=1, upper_bound=END)
        target.append_as_follower(result.records)


def base_offsets(disk: Disk, directory: str) -> list[int]:
    """Of the segments in a folder."""
    return offsets_in(disk.list(directory), LOG)


def segment_path(directory: str, base_offset: int, kind: str = LOG) -> str:
    """A segment's file."""
    return f"{directory}/{file_name(base_offset, kind)}"
