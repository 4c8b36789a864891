"""Logs for tests of compaction: as lists of batches, and real ones."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from tidelog.log.cleaner import CleanerConfig, LogCleaner
from tidelog.log.compaction import KeyMap, Rewriter, TransactionOutcomes
from tidelog.log.partition_log import PartitionLog
from tidelog.records.batch import (
    CONTROL_FLAG,
    HEADER_BYTES,
    TRANSACTIONAL_FLAG,
    BatchHeader,
    iter_batches,
    parse_header,
    seal,
)
from tidelog.records.compression import Codec
from tidelog.records.records import Record, encode_batch, iter_records

MIB = 1 << 20
RETENTION_MS = 100
Pair = tuple[bytes | None, bytes | None]


def keyed(
    *pairs: Pair, at: int = 0, epoch: int = 0, codec: Codec = Codec.NONE, time_ms: int = 1000
) -> bytes:
    """One batch of keys and values; timestamps count up from `time_ms`."""
    records = [
        Record(0, time_ms + i, key, value, (("h", b"x"),)) for i, (key, value) in enumerate(pairs)
    ]
    return encode_batch(records, compression=codec, base_offset=at, leader_epoch=epoch)


def but(batch: bytes, **fields: int) -> bytes:
    """The same batch with other header fields."""
    return seal(parse_header(batch)._replace(**fields), batch[HEADER_BYTES:])


def transactional(*pairs: Pair, at: int, producer_id: int = 7) -> bytes:
    return but(
        keyed(*pairs, at=at),
        attributes=TRANSACTIONAL_FLAG,
        producer_id=producer_id,
        producer_epoch=0,
        base_sequence=0,
    )


def marker(*, at: int, is_commit: bool, producer_id: int = 7) -> bytes:
    """The end of a transaction."""
    plain = keyed((struct.pack(">hh", 0, is_commit), struct.pack(">hi", 0, 0)), at=at)
    flags = TRANSACTIONAL_FLAG | CONTROL_FLAG
    return but(plain, attributes=flags, producer_id=producer_id, producer_epoch=0)


def nobody(_: BatchHeader) -> bool:
    """No producer needs this batch."""
    return False


@dataclass
class Cleaned:
    """A log as its batches, and what is clean of it."""

    batches: list[bytes]
    first_dirty_offset: int = 0
    records_dropped: int = 0

    @property
    def headers(self) -> list[BatchHeader]:
        return [parse_header(batch) for batch in self.batches]

    @property
    def end(self) -> int:
        return self.headers[-1].next_offset if self.batches else 0

    @property
    def records(self) -> list[Record]:
        return [record for batch in self.batches for record in iter_records(batch)]

    @property
    def offsets(self) -> list[int]:
        return [record.offset for record in self.records]

    def clean(
        self,
        *,
        end: int | None = None,
        max_bytes: int = MIB,
        now_ms: int = 0,
        is_last_batch: Callable[[BatchHeader], bool] = nobody,
        flush_at: Iterable[int] = (),
    ) -> Cleaned:
        """As the cleaner does; a segment begins at each offset of `flush_at`."""
        bound = self.end if end is None else end
        transactions = TransactionOutcomes()
        for header, batch in self._parsed():
            if self.first_dirty_offset < header.next_offset <= bound:
                transactions.observe(header, batch)
        keys = KeyMap(
            max_bytes=max_bytes,
            transactions=transactions,
            first_dirty_offset=self.first_dirty_offset,
        )
        bound = transactions.decided_below(bound)
        if bound > self.first_dirty_offset:
            bound = self._map(keys, bound)
        rewriter = Rewriter(
            keys=keys,
            end_offset=bound,
            is_last_batch=is_last_batch,
            delete_retention_ms=RETENTION_MS,
            now_ms=now_ms,
        )
        pieces = []
        for header, batch in self._parsed():
            if header.base_offset in flush_at:
                pieces += rewriter.flush()
            pieces += rewriter.rewrite(header, batch)
        pieces += rewriter.flush()
        assert all(header == parse_header(batch) for header, batch in pieces)
        return Cleaned([bytes(batch) for _, batch in pieces], bound, rewriter.records_dropped)

    def _map(self, keys: KeyMap, bound: int) -> int:
        for header, batch in self._parsed():
            if header.base_offset < bound and header.next_offset > self.first_dirty_offset:
                taken = keys.take(header, batch)
                if taken < header.next_offset:
                    return taken
        return bound

    def _parsed(self) -> Iterable[tuple[BatchHeader, memoryview]]:
        return iter_batches(b"".join(self.batches))


def log_of(*batches: bytes) -> Cleaned:
    """A log of these batches, one after the other, whatever their base offsets were."""
    placed, offset = [], 0
    for batch in batches:
        placed.append(but(batch, base_offset=offset))
        offset = parse_header(placed[-1]).next_offset
    return Cleaned(placed)


class StillClock:
    """Moves only by hand."""

    def __init__(self, now_ms: int = 0) -> None:
        self.now_ms = now_ms

    def monotonic_ms(self) -> int:
        return self.now_ms

    def monotonic_s(self) -> float:
        return self.now_ms / 1000

    def wall_ms(self) -> int:
        return self.now_ms


def unhurried(clock: StillClock, **config: Any) -> LogCleaner:  # fields of CleanerConfig
    """A cleaner without a throttle."""
    return LogCleaner(clock, CleanerConfig(io_max_bytes_per_second=math.inf, **config))


def put(log: PartitionLog, *pairs: Pair, epoch: int = 0, **batch: Any) -> None:  # as `keyed`
    """Append one batch as leader, in no older epoch than the last; it is committed at once."""
    log.append_as_leader(keyed(*pairs, **batch), leader_epoch=max(epoch, log.latest_epoch))
    log.set_high_watermark(log.log_end_offset)


def roll(log: PartitionLog) -> None:
    """Let the next batch begin a new segment: the active one is never cleaned."""
    config, log.config = log.config, replace(log.config, segment_bytes=1)
    put(log, (b"roll", b""))
    log.config = config


def copied(log: PartitionLog, *, start: int | None = None) -> bytes:
    """The bytes of all batches from the one with `start` on."""
    offset, parts = log.log_start_offset if start is None else start, []
    while offset < log.log_end_offset:
        records, next_offset = log.read(offset, max_bytes=MIB, upper_bound=log.log_end_offset)
        assert next_offset > offset
        parts.append(records)
        offset = next_offset
    return b"".join(parts)


def held(log: PartitionLog, *, start: int = 0) -> list[Record]:
    """All records from `start` on, as a consumer gets them."""
    batches = iter_batches(copied(log, start=max(start, log.log_start_offset)))
    found = [record for _, batch in batches for record in iter_records(batch)]
    return [record for record in found if record.offset >= start]


def newest(records: Iterable[Record]) -> dict[bytes | None, bytes]:
    """The last value of each key that has one."""
    last = {record.key: record.value for record in records}
    return {key: value for key, value in last.items() if value is not None}
