"""Invariants of each replica after each step, by the changes since the last look.

I2 (a new leader holds all that is committed), I8 (a leader's log only grows), I10 (one leader an
epoch), I11 (a high watermark never falls), I15 (nor do epochs); I1 and I7 by the book; the rest of
leaders in `invariants_leading`. A node that is down, or not registered in its present process,
promises nothing; one that is paused nothing of what it has not heard.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from tidelog.broker.partition.partition import Partition
from tidelog.broker.replica.follower import Follower
from tidelog.broker.replica.isr import IsrState
from tidelog.broker.replica.leader import Leader
from tidelog.chaos.invariants.elections import is_lossy, may_have_lost
from tidelog.chaos.invariants.images import ImageChecks
from tidelog.chaos.invariants.invariant import Report
from tidelog.chaos.invariants.replicas import (
    Broken,
    EpochLeaders,
    Offsets,
    fallen_high_watermark,
    fallen_leader_epoch,
    incomplete_leader,
    shortened_leader,
    watermark_beyond_end,
)
from tidelog.chaos.node_inside import held_by, log_of
from tidelog.core.errors import CorruptMessageError
from tidelog.log.partition_log import Damage, PartitionLog
from tidelog.metadata.image import MetadataImage
from tidelog.node.server import Node
from tidelog.records.batch import check_crc
from tidelog.simulation.cluster.cluster import Machine, SimCluster
from tidelog.simulation.cluster.inside import Cursor, Found, walk
from tidelog.simulation.cluster.invariants_book import Book, Page
from tidelog.simulation.cluster.invariants_leading import LeaderChecks
from tidelog.simulation.cluster.replica_turns import FEW, Key, ReplicaTurns
from tidelog.simulation.cluster.sound_replicas import SoundReplicas


class _State(NamedTuple):
    role: Leader | Follower | None
    isr: IsrState | None
    end: int
    high_watermark: int
    damage: Damage | None

    @property
    def offsets(self) -> Offsets:
        return Offsets(self.end, self.high_watermark)


@dataclass(slots=True)
class _LastState:
    """State of a replica in one life at the last look."""

    state: _State | None = None
    leader_epoch: int = -1
    cursor: Cursor = field(default_factory=Cursor)
    """Position up to which its log was compared with the book."""


class ReplicaChecks:
    """Checks of every replica on running nodes."""

    def __init__(
        self, cluster: SimCluster, *, book: Book, images: ImageChecks, report: Report
    ) -> None:
        self._book = book
        self._sound = SoundReplicas(cluster, images)
        self._leading = LeaderChecks(book=book, sound=self._sound, report=report)
        self._report = report
        self._seen: dict[int, dict[Partition, _LastState]] = {}
        """By node, of its present process."""
        self._nodes: dict[int, Node] = {}
        self._turns: dict[int, ReplicaTurns] = {}
        self._leaders = EpochLeaders()
        self._log_starts: dict[tuple[bytes, int], int] = {}
        """The highest log start offset of a leader, by topic id and partition."""

    def look(
        self, machine: Machine, node: Node, *, is_exact: bool, named: Collection[Key] | None = None
    ) -> None:
        """Check what changed; `is_exact` says that it was one step since the last look.

        Of a node with many replicas those that are `named`, and others in turns; None: all.
        """
        if self._nodes.get(machine.node_id) is not node:
            self._nodes[machine.node_id], self._seen[machine.node_id] = node, {}
        held = held_by(node)
        if named is None or len(held) <= FEW:
            self._look_at(held.values(), machine, is_exact=is_exact)
            return
        turns = self._turns.setdefault(machine.node_id, ReplicaTurns())
        self._look_at(turns.always(held), machine, is_exact=is_exact)
        self._look_at(turns.next(held, named), machine, is_exact=False)

    def _look_at(self, looked_at: Iterable[Partition], machine: Machine, *, is_exact: bool) -> None:
        replicas = self._seen[machine.node_id]
        for hosted in looked_at:
            log = log_of(hosted)
            if log is None:
                continue
            role = hosted.replica.role
            isr = role.isr if isinstance(role, Leader) else None
            found = role, isr, log.log_end_offset, log.high_watermark, log.damage
            seen = replicas.get(hosted)
            if seen is None:
                seen = replicas[hosted] = _LastState()
            if found != seen.state:  # a plain tuple until then: a sixth of a storm's time is here
                before, seen.state = seen.state, (now := _State(*found))
                self._changed(machine, hosted, log, seen, before, now, is_exact=is_exact)

    def on_image(self, before: MetadataImage, image: MetadataImage) -> None:
        """The newest image is another one: who may be elected now holds all that is committed."""
        for topic in image.topics.values():
            earlier = before.topic_by_id(topic.topic_id)
            known = () if earlier is None else earlier.partitions
            for state in topic.partitions:
                was = known[state.partition] if state.partition < len(known) else None
                if state is was:
                    continue
                if was is not None and may_have_lost(was, state, is_lossy=is_lossy(topic, image)):
                    self._book.close(topic.topic_id, state.partition)
                self._leading.check_candidates(topic.topic_id, state)

    def _changed(
        self,
        machine: Machine,
        hosted: Partition,
        log: PartitionLog,
        seen: _LastState,
        before: _State | None,
        now: _State,
        *,
        is_exact: bool,
    ) -> None:
        name = f"{hosted.name} on {machine.name}"
        if now.damage is not None:
            seen.cursor = Cursor()
            return
        if now.end < seen.cursor.offset:
            seen.cursor = Cursor()
        self._report_all(watermark_beyond_end(name, now.offsets))
        if before is None or now.role is not before.role:
            self._check_role(machine, hosted, seen, now, name)
        if before is not None and before.damage is None:
            self._check_fall(hosted, log, before, now, name)
        if isinstance(now.role, Leader):
            self._leading.check_isr(hosted, now.role, name)
            if before is not None and before.role is now.role:
                risen = now.high_watermark > before.high_watermark
                if risen:
                    is_exact = is_exact and not _changed_twice(before.isr, now.isr)
                    self._leading.check_rise(
                        machine, hosted, now.role, name, before.offsets, is_exact=is_exact
                    )
        self._compare(machine, hosted, log, seen, now, name)
        self._check_stable_offset(hosted, log, name)
        if before is not None and now.end < before.end:
            self._check_partition(hosted)

    def _check_role(
        self, machine: Machine, hosted: Partition, seen: _LastState, now: _State, name: str
    ) -> None:
        if now.role is None:
            return
        epoch = now.role.leader_epoch
        self._report_all(fallen_leader_epoch(name, seen.leader_epoch, epoch))
        seen.leader_epoch = epoch
        if not isinstance(now.role, Leader):
            return
        key = hosted.topic_id, hosted.partition
        self._report_all(self._leaders.note(hosted.name, key, epoch, machine.node_id))
        self._check_new_leader(machine, hosted, epoch, name)

    def _check_new_leader(self, machine: Machine, hosted: Partition, epoch: int, name: str) -> None:
        """I2: the leader of the newest committed epoch holds every committed record."""
        state, page = self._sound.newest_state(hosted), self._book.page(hosted)
        log = log_of(hosted)
        if page is None or log is None or state is None or state.leader_epoch != epoch:
            return
        end = log.log_end_offset
        missing = list(incomplete_leader(name, end=end, committed=page.end, by=page.name))
        if missing:
            self._report_all(missing)
            return
        for found in walk(log, machine.disk, Cursor(), end=page.end, known=page.batches):
            if not self._is_as_booked(machine, page, found):
                self._report("I2", f"{name} leads in epoch {epoch} without {found.header}")
                return

    def _check_fall(
        self, hosted: Partition, log: PartitionLog, before: _State, now: _State, name: str
    ) -> None:
        if isinstance(now.role, Leader) and now.role is before.role:
            self._report_all(shortened_leader(name, before.offsets, now.offsets))
        # A log without records is started over at the base of the leader's first batch, which may
        # lie below the log start that it had.
        is_empty = now.high_watermark == now.end <= log.log_start_offset
        if self._book.page(hosted) is not None and not is_empty:
            self._report_all(fallen_high_watermark(name, before.offsets, now.offsets))

    def _report_all(self, broken: Broken) -> None:
        for invariant, what in broken:
            self._report(invariant, what)

    def _compare(
        self,
        machine: Machine,
        hosted: Partition,
        log: PartitionLog,
        seen: _LastState,
        now: _State,
        name: str,
    ) -> None:
        """I1, I7: what is below the high watermark is what the book says; new pages are written."""
        page = self._book.page(hosted)
        self._note_log_start(hosted, log)
        if page is None or now.high_watermark <= seen.cursor.offset:
            return
        end_before = page.end
        wrong = self._walk(machine, hosted, log, seen, page, now.high_watermark)
        if wrong is not None:
            # Maybe it was cut and grew again since the last look: then all of it is new.
            seen.cursor = Cursor()
            wrong = self._walk(machine, hosted, log, seen, page, now.high_watermark)
        if wrong is not None:
            self._report("I1", f"{name}: {wrong} is not as it was committed")
            seen.cursor = Cursor(offset=now.high_watermark)
        if page.end > end_before:
            self._check_partition(hosted)

    def _check_stable_offset(self, hosted: Partition, log: PartitionLog, name: str) -> None:
        """I11: it is not above the high watermark; I22: nor a transaction without a marker."""
        page, stable_offset = self._book.page(hosted), log.last_stable_offset
        if stable_offset > log.high_watermark:
            ends = f"{stable_offset}, the high watermark is {log.high_watermark}"
            self._report("I11", f"{name}: the last stable offset is {ends}")
        first = None if page is None else page.transactions.first_open_offset
        if first is not None and stable_offset > first:
            what = f"a transaction is open since {first}, the last stable offset is {stable_offset}"
            self._report("I22", f"{name}: {what}")

    def _walk(
        self,
        machine: Machine,
        hosted: Partition,
        log: PartitionLog,
        seen: _LastState,
        page: Page,
        end: int,
    ) -> Found | None:
        """Go on with the comparison; the first batch that is not as the book says."""
        for found in walk(log, machine.disk, seen.cursor, end=end, known=page.batches):
            if not self._is_as_booked(machine, page, found):
                if self._is_deleted(hosted, found):
                    continue
                return found
            if found.header is None or found.header.base_offset < page.end:
                continue
            if not is_whole(machine, found):
                # Another replica has it; what follows it is written after it.
                seen.cursor.position, seen.cursor.offset = found.position, found.header.base_offset
                break
            self._book.add(page, found.header, topic=hosted.topic, partition=hosted.partition)
        return None

    def _note_log_start(self, hosted: Partition, log: PartitionLog) -> None:
        if isinstance(hosted.replica.role, Leader):
            key = hosted.topic_id, hosted.partition
            self._log_starts[key] = max(log.log_start_offset, self._log_starts.get(key, 0))

    def _is_deleted(self, hosted: Partition, found: Found) -> bool:
        """True if a leader has deleted the batch: a follower keeps it until its next fetch.

        A follower that is behind truncates to the leader's log start offset at the lowest. Records
        of another leader may lie below it, which nobody reads and no leader has.
        """
        log_start = self._log_starts.get((hosted.topic_id, hosted.partition), 0)
        return found.header is not None and found.header.next_offset <= log_start

    def _is_as_booked(self, machine: Machine, page: Page, found: Found) -> bool:
        if found.path in machine.disk.flipped:
            return True
        return found.header is not None and self._book.compare(page, found.header)

    def _check_partition(self, hosted: Partition) -> None:
        state = self._sound.newest_state(hosted)
        if state is not None:
            self._leading.check_candidates(hosted.topic_id, state)


def is_whole(machine: Machine, found: Found) -> bool:
    """True if a batch can be believed: no bit of its file was ever flipped, or it has its CRC."""
    if found.header is None or found.path not in machine.disk.flipped:
        return found.header is not None
    batch = machine.disk.look(found.path, found.position, found.header.size_in_bytes)
    try:
        check_crc(found.header, batch)
    except CorruptMessageError:
        return False
    return True


def _changed_twice(before: IsrState | None, now: IsrState | None) -> bool:
    """True if it may have risen with an ISR between these two: a broker takes images in batches."""
    if before is None or now is None:
        return True
    return now.partition_epoch > before.partition_epoch + 1
