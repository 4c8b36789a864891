"""Logs for tests: batches to append and what is in a log, as plain values."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from tidelog.log.batch import iter_batches
from tidelog.log.env import Disk
from tidelog.log.file_names import LOG, file_name, offsets_in
from tidelog.log.partition_log import PartitionLog
from tidelog.log.records import Record, encode_batch, iter_records

DIRECTORY = "/data/flights-0"
TOPIC_ID = bytes(range(16))
END = 1 << 60

OpenLog = Callable[..., Awaitable[PartitionLog]]
"""Opens the log in DIRECTORY; `on=` another disk, `topic_id=`, the rest are fields of LogConfig."""


def batch(*values: bytes, base_offset: int = 0, epoch: int = -1) -> bytes:
    """One batch with a record a value."""
    records = [Record(0, 1, None, value) for value in values]
    return encode_batch(records, base_offset=base_offset, leader_epoch=epoch)


def append(log: PartitionLog, *values: bytes, epoch: int = 0) -> None:
    """One batch as leader."""
    log.append_as_leader(batch(*values), leader_epoch=epoch)


def contents(log: PartitionLog) -> list[tuple[int, int, bytes | None]]:
    """Offset, epoch and value of all records, read batch by batch."""
    found: list[tuple[int, int, bytes | None]] = []
    offset = log.log_start_offset
    while offset < log.log_end_offset:
        result = log.read(offset, max_bytes=1, upper_bound=END)
        for header, data in iter_batches(result.records):
            epoch = header.partition_leader_epoch
            found += [(record.offset, epoch, record.value) for record in iter_records(data)]
        assert result.next_offset > offset
        offset = result.next_offset
    return found


def values(log: PartitionLog) -> list[bytes | None]:
    """The values of all records."""
    return [value for _, _, value in contents(log)]


def base_offsets(disk: Disk, directory: str) -> list[int]:
    """Of the segments in a folder."""
    return offsets_in(disk.list(directory), LOG)


def segment_path(directory: str, base_offset: int, kind: str = LOG) -> str:
    """A segment's file."""
    return f"{directory}/{file_name(base_offset, kind)}"
