"""What all replicas' files must be in the calm: the same, whole, and found by their indexes.

I1 and I8 (batches, byte for byte, without a gap), I6 (nothing of the book is missing), I9 (epoch
caches), I11, I26 (whatever an index says, look-ups find the right batch), I27 (CRCs).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise

from tidelog.broker.hosted_partition import HostedPartition
from tidelog.chaos.checks.invariant import Report
from tidelog.chaos.node_inside import epochs_of, held_by, log_of
from tidelog.chaos.sim_cluster.inside import Cursor, walk
from tidelog.chaos.sim_cluster.invariants_book import Book
from tidelog.chaos.sim_stage.cluster import Machine
from tidelog.chaos.sim_stage.disk import SimDisk
from tidelog.log.batch import BatchHeader, check_crc
from tidelog.log.epochs import EpochCache, EpochEntry
from tidelog.log.errors import CorruptMessageError, StorageError
from tidelog.log.partition_log import PartitionLog
from tidelog.metadata.image import MetadataImage

LOOK_UPS_MAX = 50
"""Of one replica: offsets looked up, evenly over the log."""

Batch = tuple[BatchHeader, bytes]


class QuietChecks:
    """All replicas of all topics, once."""

    def __init__(self, *, book: Book, report: Report) -> None:
        self._book = book
        self._report = report

    def check(self, image: MetadataImage, machines: Mapping[int, Machine]) -> None:
        """Every partition of the image."""
        for topic, state in image.partitions():
            logs: list[tuple[str, PartitionLog, list[Batch]]] = []
            for node_id in state.replicas:
                machine = machines[node_id]
                hosted = (
                    None
                    if machine.node is None
                    else held_by(machine.node).get((topic.name, state.partition))
                )
                log = None if hosted is None else log_of(hosted)
                if hosted is None or log is None or not hosted.is_sound:
                    continue
                name = f"{hosted.name} on {machine.name}"
                batches = list(stored(log, machine.disk))
                self._check_log(name, log, batches)
                if node_id == state.leader_id:
                    self._check_book(name, hosted, log, batches)
                logs.append((name, log, batches))
            for one, other in pairwise(logs):
                self._check_pair(one, other)

    def _check_log(self, name: str, log: PartitionLog, batches: list[Batch]) -> None:
        end = epoch = -1
        for header, batch in batches:
            if end not in (-1, header.base_offset):
                self._report("I8", f"{name}: {header.base_offset} follows {end}")
            if header.partition_leader_epoch < epoch:
                self._report("I9", f"{name}: {header} follows epoch {epoch}")
            try:
                check_crc(header, batch)
            except CorruptMessageError as error:
                self._report("I27", f"{name}: {error}")
            end, epoch = header.next_offset, header.partition_leader_epoch
        if batches and end != log.log_end_offset:
            self._report("I8", f"{name} ends at {end} on disk, at {log.log_end_offset} in memory")
        if not log.log_start_offset <= log.high_watermark <= log.log_end_offset:
            self._report("I11", f"{name}: high watermark {log.high_watermark} is outside the log")
        try:
            kept, made = stored_epochs(log), rebuilt_epochs(batches)
        except CorruptMessageError as error:
            self._report("I9", f"{name}: {error}")
        else:
            if kept != made:
                self._report("I9", f"{name}: epochs {kept}, its batches say {made}")
        self._check_look_ups(name, log, batches)

    def _check_look_ups(self, name: str, log: PartitionLog, batches: list[Batch]) -> None:
        every = max(1, len(batches) // LOOK_UPS_MAX)
        for header, _ in batches[::every]:
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
            if at is None or at.offset > header.last_offset:
                self._report("I26", f"{name}: {header} is found by its time at {at}")

    def _check_book(
        self, name: str, hosted: HostedPartition, log: PartitionLog, batches: list[Batch]
    ) -> None:
        page = self._book.page(hosted)
        if page is None:
            return
        there = {header.base_offset: header for header, _ in batches}
        for offset, header in page.batches.items():
            if header.last_offset >= log.log_start_offset and there.get(offset) != header:
                self._report("I6", f"{name}: {header} was committed, {there.get(offset)} is there")

    def _check_pair(
        self,
        one: tuple[str, PartitionLog, list[Batch]],
        other: tuple[str, PartitionLog, list[Batch]],
    ) -> None:
        """Both hold the same below both high watermarks, from both starts on."""
        (name, log, batches), (other_name, other_log, others) = one, other
        if log.config.is_compacted:
            return
        start = max(log.log_start_offset, other_log.log_start_offset)
        end = min(log.high_watermark, other_log.high_watermark)
        pairs = zip(between(batches, start, end), between(others, start, end), strict=False)
        for (header, batch), (_, other_batch) in pairs:
            if batch != other_batch:
                self._report("I1", f"{name} and {other_name} differ at {header.base_offset}")
                return
        ends = [next(reversed(list(between(all_, start, end))), None) for all_ in (batches, others)]
        if [end_ and end_[0].next_offset for end_ in ends].count(end) not in (0, 2):
            self._report("I1", f"{name} and {other_name}: one lacks what is below {end}")


def stored(log: PartitionLog, disk: SimDisk) -> Iterator[Batch]:
    """All batches as they lie in the files."""
    for found in walk(log, disk, Cursor(), end=log.log_end_offset):
        if found.header is None:
            return
        yield found.header, disk.look(found.path, found.position, found.header.size_in_bytes)


def between(batches: list[Batch], start: int, end: int) -> Iterator[Batch]:
    """Those wholly within."""
    return (one for one in batches if one[0].base_offset >= start and one[0].next_offset <= end)


def stored_epochs(log: PartitionLog) -> list[EpochEntry]:
    """The cache, without epochs that have no record yet."""
    return [entry for entry in epochs_of(log) if entry.start_offset < log.log_end_offset]


def rebuilt_epochs(batches: list[Batch]) -> list[EpochEntry]:
    """The cache as the batches have it."""
    cache = EpochCache()
    for header, _ in batches:
        cache.assign(header.partition_leader_epoch, header.base_offset)
    return list(cache.entries)
