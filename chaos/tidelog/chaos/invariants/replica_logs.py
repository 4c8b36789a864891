"""Invariants of replicas' files in the calm: whole, equal, and found by their indexes. Pure.

I1 (the same below what is committed, byte for byte), I8 (no gap), I9 (epochs), I11, I26 (whatever
an index says, look-ups find the right batch), I27 (CRCs). A stage opens the logs and reads their
bytes; what else is known of them, such as what was acknowledged, it compares itself.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from tidelog.chaos.invariants.batches import BatchOrder
from tidelog.chaos.invariants.invariant import Report
from tidelog.chaos.invariants.transaction_order import rebuilt_aborted
from tidelog.core.errors import CorruptMessageError, StorageError
from tidelog.log.epochs import EpochCache, EpochEntry
from tidelog.log.file_names import LOG, file_name
from tidelog.log.partition_log import PartitionLog
from tidelog.records.batch import BatchHeader, check_crc, parse_header

LOOK_UPS_MAX = 50
"""Offsets looked up in each replica, evenly over the log."""

Batch = tuple[BatchHeader, memoryview]


@dataclass(frozen=True, slots=True)
class StoredLog:
    """A replica: its log, which is only read, and the bytes of its files."""

    name: str
    """For people."""
    log: PartitionLog
    batches: Sequence[Batch]
    epochs: Sequence[EpochEntry]
    """Its epoch cache, as kept."""

    def between(self, start: int, end: int) -> Iterator[Batch]:
        """The batches wholly within."""
        return (
            one for one in self.batches if one[0].base_offset >= start and one[0].next_offset <= end
        )


def stored_batches(log: PartitionLog, content: Callable[[str, int], bytes]) -> Iterator[Batch]:
    """Yield the batches in the files, up to the first that is not whole.

    `content` gives so many first bytes of a file, by its path in the log's folder.
    """
    for segment in log.segments:
        path = f"{log.directory}/{file_name(segment.base_offset, LOG)}"
        data, at = memoryview(content(path, segment.size)), 0
        while at < len(data):
            try:
                header = parse_header(data, at)
            except CorruptMessageError:
                return
            yield header, data[at : at + header.size_in_bytes]
            at += header.size_in_bytes


class ReplicaLogChecks:
    """Each replica by itself and against another; `compared_…` say how much of them."""

    def __init__(self, report: Report) -> None:
        self.compared_batches = 0
        self.compared_bytes = 0
        """Compared bytes of pairs of replicas, each byte counted once."""
        self._report = report

    def check(self, stored: StoredLog) -> None:
        """Run every check of one replica."""
        name, log = stored.name, stored.log
        order = BatchOrder()
        for header, batch in stored.batches:
            for broken in order.follow(name, header):
                self._report(*broken)
            try:
                check_crc(header, batch)
            except CorruptMessageError as error:
                self._report("I27", f"{name}: {error}")
        if order.end not in (-1, log.log_end_offset):
            ends = f"{order.end} on disk, at {log.log_end_offset} in memory"
            self._report("I8", f"{name} ends at {ends}")
        if not log.log_start_offset <= log.high_watermark <= log.log_end_offset:
            self._report("I11", f"{name}: high watermark {log.high_watermark} is outside the log")
        self._check_epochs(stored)
        self._check_aborted(stored)
        self._check_look_ups(stored)

    def check_pair(self, one: StoredLog, other: StoredLog, *, end: int | None = None) -> None:
        """Both hold the same below `end`, or below both high watermarks, from both starts on."""
        if one.log.config.is_compacted:
            return
        start = max(one.log.log_start_offset, other.log.log_start_offset)
        if end is None:
            end = min(one.log.high_watermark, other.log.high_watermark)
        names = f"{one.name} and {other.name}"
        pairs = zip(one.between(start, end), other.between(start, end), strict=False)
        for (header, batch), (_, other_batch) in pairs:
            if batch != other_batch:
                self._report("I1", f"{names} differ at {header.base_offset}")
                return
            self.compared_batches += 1
            self.compared_bytes += len(batch)
        last = [_end_of(stored, start, end) for stored in (one, other)]
        if last[0] != last[1]:
            self._report("I1", f"{names}: below {end} one ends at {last[0]}, one at {last[1]}")

    def _check_epochs(self, stored: StoredLog) -> None:
        # An epoch that has no record yet is no batch's.
        kept = [one for one in stored.epochs if one.start_offset < stored.log.log_end_offset]
        try:
            made = rebuilt_epochs(stored.batches)
        except CorruptMessageError as error:
            self._report("I9", f"{stored.name}: {error}")
            return
        if kept != made:
            self._report("I9", f"{stored.name}: epochs {kept}, its batches say {made}")

    def _check_aborted(self, stored: StoredLog) -> None:
        """The index of aborted transactions says the same as the batches.

        Compaction takes entries and records each at its time.
        """
        log = stored.log
        if log.config.is_compacted:
            return
        end = log.last_stable_offset
        kept = log.aborted_transactions(log.log_start_offset, end)
        made = [one for one in rebuilt_aborted(stored.batches) if one[1] < end]
        if kept != made and not _has_cut_transaction(stored):
            what = f"aborted transactions {kept}, its batches say {made}"
            self._report("I26", f"{stored.name}: {what}")

    def _check_look_ups(self, stored: StoredLog) -> None:
        name, log = stored.name, stored.log
        every = max(1, len(stored.batches) // LOOK_UPS_MAX)
        for header, _ in stored.batches[::every]:
            if header.last_offset < log.log_start_offset:
                continue
            try:
                read = log.read(header.last_offset, max_bytes=1, upper_bound=log.log_end_offset)
                at = log.offset_for_time(header.max_timestamp, upper_bound=log.log_end_offset)
            except StorageError as error:
                self._report("I26", f"{name}: {header.last_offset} cannot be read: {error}")
                return
            if read.next_offset != header.next_offset:
                self._report("I26", f"{name}: {header} is found to end at {read.next_offset}")
            # The newest record may lie below the log start, or be gone by compaction.
            has_all = header.records_count and header.base_offset >= log.log_start_offset
            if has_all and (at is None or at.offset > header.last_offset):
                self._report("I26", f"{name}: {header} is found by its time at {at}")


def _has_cut_transaction(stored: StoredLog) -> bool:
    """True if retention may have removed the beginning of a transaction."""
    return stored.log.log_start_offset > 0


def rebuilt_epochs(batches: Sequence[Batch]) -> list[EpochEntry]:
    """The epoch cache as the batches have it; raises `CorruptMessageError` where one falls."""
    cache = EpochCache()
    for header, _ in batches:
        cache.assign(header.partition_leader_epoch, header.base_offset)
    return list(cache.entries)


def _end_of(stored: StoredLog, start: int, end: int) -> int:
    """The end of its last batch between these offsets."""
    return max((header.next_offset for header, _ in stored.between(start, end)), default=start)
