"""Log compaction: keep the newest record of each key (KIP-58, KIP-534). Pure.

Decides which records stay and what replaces the others. Never reads or writes a file: `cleaner`
does. A cleaning hands the aborted transactions that its segments know of and every batch of the
dirty range to `TransactionOutcomes`, then those batches to `KeyMap`, and every batch from the log's
beginning on to `Rewriter`:

    a batch ...                                     becomes
    at or above the end of the cleaning             the same bytes
    that is a marker: see below                     the same bytes, or part of a filler
    whose records all stay                          the same bytes
    of which some records stay                      a batch of those
    of which none stays, or of an aborted           an empty batch, if it is the last one of its
      transaction, or empty                           producer; else part of a filler

A filler is one empty batch for a run of such batches of one leader epoch: offsets never change, and
each batch begins where the one before it ended. A record stays if it is the newest of its key. A
tombstone is removed nevertheless once the delete horizon of its batch has passed; the horizon is
set when the batch is first cleaned, which removes the older records of its keys. Records without a
key are removed, as in Kafka.

A transaction's marker stays while a record of the transaction does. Once none is left, the marker
gets a delete horizon, and goes when that has passed: who reads the transaction meanwhile has its
end. A marker that alone tells of its producer's newest epoch stays, at most one per producer.
Facts: Kafka's Cleaner and MemoryRecords.filterTo.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Callable, Iterable

from tidelog.log.record_rows import (
    Kept,
    Row,
    Steps,
    at_once,
    inflate,
    pause_after,
    row_slices,
    splice,
    with_horizon,
)
from tidelog.log.transactions import CompletedTransaction
from tidelog.records.batch import (
    CONTROL_FLAG,
    DELETE_HORIZON_FLAG,
    TRANSACTIONAL_FLAG,
    BatchHeader,
    Buffer,
    parse_header,
)
from tidelog.records.records import encode_filler, iter_records, read_marker, rebuild_batch

BYTES_PER_KEY = 192
"""Maximum bytes per key: 64 for itself, 32 for its offset, 96 as its share of a growing table."""
_MAX_I64 = 2**63 - 1

Piece = tuple[BatchHeader, Buffer]
"""A complete batch."""


class TransactionOutcomes:
    """Outcomes of transactions: those known to be aborted, then those of the dirty range.

    A transaction with its marker in the dirty range may have batches in the clean one, of a log
    that was cut at a place that was clean already: what is known tells where it begins.
    """

    def __init__(self) -> None:
        self._open: dict[int, int] = {}
        """First offset of each open transaction by producer id."""
        self._aborted: dict[int, list[range]] = {}
        """Aborted transactions' offsets, first batch to marker, by producer id, ascending."""
        self._known: set[int] = set()
        """Offsets of the markers of `know_aborted`."""

    def know_aborted(self, transactions: Iterable[CompletedTransaction]) -> None:
        """Note aborted transactions, in the order of their markers, before any `observe`."""
        for one in transactions:
            transaction = range(one.first_offset, one.last_offset)
            self._aborted.setdefault(one.producer_id, []).append(transaction)
            self._known.add(one.last_offset)

    def observe(self, header: BatchHeader, batch: Buffer) -> None:
        """Record a transactional batch or a marker; call it for each of the range, in order.

        Raises `CorruptMessageError`.
        """
        producer_id = header.producer_id
        if not header.attributes & TRANSACTIONAL_FLAG:
            return
        if not header.attributes & CONTROL_FLAG:
            self._open.setdefault(producer_id, header.base_offset)
        elif header.records_count and producer_id in self._open:
            transaction = range(self._open.pop(producer_id), header.base_offset)
            is_new = header.base_offset not in self._known
            if is_new and not read_marker(batch).is_commit:
                insort(self._aborted.setdefault(producer_id, []), transaction, key=_start)

    def decided_below(self, end_offset: int) -> int:
        """First offset of the oldest transaction without a marker so far, at most `end_offset`."""
        return min(self._open.values(), default=end_offset)

    def is_aborted(self, header: BatchHeader) -> bool:
        """True when the batch belongs to an aborted transaction."""
        transactions = self._aborted.get(header.producer_id)
        if not transactions or not header.attributes & TRANSACTIONAL_FLAG:
            return False
        place = bisect_right(transactions, header.base_offset, key=_start) - 1
        return place >= 0 and header.base_offset in transactions[place]


class KeyMap:
    """The newest offset of each key in the dirty range, in bounded memory.

    It accepts records until memory for a new key runs out; the cleaning ends there, possibly within
    a batch, and the next one continues from there. One key always fits, so each cleaning makes
    progress.
    """

    def __init__(
        self, *, max_bytes: int, transactions: TransactionOutcomes, first_dirty_offset: int
    ) -> None:
        self._capacity = max(max_bytes // BYTES_PER_KEY, 1)
        self.transactions = transactions
        self.first_dirty_offset = first_dirty_offset
        self._offsets: dict[bytes, int] = {}

    def take(self, header: BatchHeader, batch: Buffer) -> int:
        """As `taking`, without a pause."""
        return at_once(self.taking(header, batch))

    def taking(self, header: BatchHeader, batch: Buffer) -> Steps[int]:
        """Add the keys of the batch's dirty records; return the first offset not added.

        Aborted records supersede nothing. Raises `CorruptMessageError` and
        `UnsupportedCompressionTypeError`.
        """
        if header.attributes & CONTROL_FLAG or self.transactions.is_aborted(header):
            return header.next_offset
        offsets, capacity, first_dirty = self._offsets, self._capacity, self.first_dirty_offset
        data = yield from inflate(header, batch)
        for rows in row_slices(header, data):
            for offset, key, _, _, _ in rows:
                if key is None or offset < first_dirty:
                    continue
                if len(offsets) >= capacity and key not in offsets:
                    return offset
                offsets[key] = offset
            yield from pause_after(rows)
        return header.next_offset

    def newest_of(self, rows: Iterable[Row], *, end_offset: int) -> list[Row]:
        """Rows whose key has no newer record in the map, and all rows from `end_offset` on."""
        newest = self._offsets.get
        return [
            row
            for row in rows
            if (row[1] is not None and newest(row[1], -1) <= row[0]) or row[0] >= end_offset
        ]


class Rewriter:
    """Rewriter of a log's batches, in order, into the batches that stay and fillers."""

    def __init__(
        self,
        *,
        keys: KeyMap,
        end_offset: int,
        is_last_batch: Callable[[BatchHeader], bool],
        delete_retention_ms: int,
        now_ms: int,
    ) -> None:
        """`keys` must have taken all batches from the first dirty offset up to `end_offset`."""
        self.records_dropped = 0
        self._keys = keys
        self._is_last_batch = is_last_batch
        self._end_offset = end_offset
        self._new_horizon_ms = min(now_ms + delete_retention_ms, _MAX_I64)
        self._now_ms = now_ms
        self._alive: set[int] = set()
        """Producers that have records left of the transaction whose marker comes next."""
        self._run: BatchHeader | None = None
        """Pending filler: the header of the first dropped batch, extended over the others."""

    def rewrite(self, header: BatchHeader, batch: Buffer) -> list[Piece]:
        """As `rewriting`, without a pause."""
        return at_once(self.rewriting(header, batch))

    def rewriting(self, header: BatchHeader, batch: Buffer) -> Steps[list[Piece]]:
        """Batches to append to the new segment now, in place of `batch` and pending ones before it.

        Raises `CorruptMessageError` and `UnsupportedCompressionTypeError`.
        """
        remains = yield from self._remains(header, batch)
        if remains is not None:
            return [*self.flush(), remains]
        run = self._run
        if run is None or run.partition_leader_epoch != header.partition_leader_epoch:
            pieces, self._run = self.flush(), header
            return pieces
        self._run = run._replace(
            last_offset_delta=header.last_offset - run.base_offset,
            max_timestamp=max(run.max_timestamp, header.max_timestamp),
        )
        return []

    def flush(self) -> list[Piece]:
        """Pending filler to append at the end of a segment, if any."""
        run, self._run = self._run, None
        if run is None:
            return []
        filler = encode_filler(
            base_offset=run.base_offset,
            last_offset=run.last_offset,
            leader_epoch=run.partition_leader_epoch,
            max_timestamp=run.max_timestamp,
        )
        return [_piece(filler)]

    def _remains(self, header: BatchHeader, batch: Buffer) -> Steps[Piece | None]:
        if header.base_offset >= self._end_offset:
            return header, batch
        if not header.attributes & TRANSACTIONAL_FLAG:
            if header.attributes & CONTROL_FLAG:
                return header, batch
            return (yield from self._records_remain(header, batch))
        if header.attributes & CONTROL_FLAG:
            return self._marker_remains(header, batch)
        remains = yield from self._records_remain(header, batch)
        if remains is not None and remains[0].records_count:
            self._alive.add(header.producer_id)
        return remains

    def _marker_remains(self, header: BatchHeader, batch: Buffer) -> Piece | None:
        if not header.records_count:
            return self._header_alone(header)
        if header.producer_id in self._alive:
            self._alive.remove(header.producer_id)
            return header, batch
        if self._is_last_batch(header):
            return header, batch
        if not header.attributes & DELETE_HORIZON_FLAG:
            records = list(iter_records(batch))
            return _piece(rebuild_batch(header, records, delete_horizon_ms=self._new_horizon_ms))
        return (header, batch) if header.base_timestamp > self._now_ms else None

    def _records_remain(self, header: BatchHeader, batch: Buffer) -> Steps[Piece | None]:
        if self._keys.transactions.is_aborted(header):
            self.records_dropped += header.records_count
            return self._header_alone(header)
        data = yield from inflate(header, batch)
        kept = yield from self._kept(header, data)
        self.records_dropped += header.records_count - kept.count
        if not kept.count:
            return self._header_alone(header)
        if self._needs_horizon(header, kept):
            return _piece((yield from with_horizon(header, data, kept, self._new_horizon_ms)))
        if kept.count == header.records_count:
            return header, batch
        return _piece((yield from splice(header, data, kept)))

    def _kept(self, header: BatchHeader, data: bytes) -> Steps[Kept]:
        has_horizon = header.attributes & DELETE_HORIZON_FLAG
        # A follower may have its leader's horizon before it has removed the records that the
        # tombstones supersede.
        is_clean = header.next_offset <= self._keys.first_dirty_offset
        drops_tombstones = has_horizon and is_clean and header.base_timestamp <= self._now_ms
        kept = Kept()
        for rows in row_slices(header, data):
            newest = self._keys.newest_of(rows, end_offset=self._end_offset)
            kept.add([row for row in newest if not row[2]] if drops_tombstones else newest)
            yield from pause_after(rows)
        return kept

    def _needs_horizon(self, header: BatchHeader, kept: Kept) -> bool:
        """True when the tombstones' horizon starts: this cleaning removes what they supersede."""
        is_covered = header.next_offset <= self._end_offset
        has_horizon = header.attributes & DELETE_HORIZON_FLAG
        return is_covered and not has_horizon and kept.has_tombstones

    def _header_alone(self, header: BatchHeader) -> Piece | None:
        if self._is_last_batch(header):
            return _piece(rebuild_batch(header, (), delete_horizon_ms=None))
        return None


def _start(offsets: range) -> int:
    return offsets.start


def _piece(batch: bytes) -> Piece:
    return parse_header(batch), batch
