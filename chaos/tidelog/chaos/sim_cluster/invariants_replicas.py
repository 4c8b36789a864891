"""What each replica must be after each step, by what changed in it since the last look.

I2 (a new leader holds all that is committed), I3 and I4 (so does whoever may be elected), I5 (the
leader waits for all the controllers count on), I8, I10 (one leader an epoch), I11 (high watermark),
I12 (enough in sync when it rises), I15 (epochs never fall); I1 and I7 by the book. A node that is
down, paused or not registered in its present process promises nothing of what it has not heard.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from tidelog.broker.hosted_partition import HostedPartition
from tidelog.broker.partition.follower import Follower
from tidelog.broker.partition.isr import IsrState
from tidelog.broker.partition.leader import Leader
from tidelog.broker.server import Node
from tidelog.chaos.sim_cluster.invariants_book import Book, Key, Page, Report
from tidelog.chaos.sim_cluster.invariants_images import ImageChecks
from tidelog.chaos.sim_cluster.invariants_inside import (
    Cursor,
    Found,
    followers_of,
    held_by,
    is_listed_incarnation,
    log_of,
    walk,
)
from tidelog.chaos.sim_stage.cluster import Machine, SimCluster
from tidelog.log.config import log_config
from tidelog.log.partition_log import Damage, PartitionLog
from tidelog.metadata.image import MetadataImage, PartitionImage, TopicImage


class _State(NamedTuple):
    role: Leader | Follower | None
    isr: IsrState | None
    end: int
    high_watermark: int
    damage: Damage | None


@dataclass(slots=True)
class _Seen:
    """One replica in one life, as it was when it was last looked at."""

    state: _State | None = None
    leader_epoch: int = -1
    cursor: Cursor = field(default_factory=Cursor)
    """How far its log was compared with the book."""


class ReplicaChecks:
    """All replicas of all running nodes."""

    def __init__(
        self, cluster: SimCluster, *, book: Book, images: ImageChecks, report: Report
    ) -> None:
        self._cluster = cluster
        self._book = book
        self._images = images
        self._report = report
        self._seen: dict[int, dict[HostedPartition, _Seen]] = {}
        """By node, of its present process."""
        self._nodes: dict[int, Node] = {}
        self._leaders: dict[tuple[Key, int], int] = {}

    def look(self, machine: Machine, node: Node, *, is_exact: bool) -> None:
        """Check what changed; `is_exact` says that it was one step since the last look."""
        if self._nodes.get(machine.node_id) is not node:
            self._nodes[machine.node_id], self._seen[machine.node_id] = node, {}
        replicas = self._seen[machine.node_id]
        for hosted in held_by(node).values():
            log = log_of(hosted)
            if log is None:
                continue
            role = hosted.replica.role
            now = _State(
                role,
                role.isr if isinstance(role, Leader) else None,
                log.log_end_offset,
                log.high_watermark,
                log.damage,
            )
            seen = replicas.get(hosted)
            if seen is None:
                seen = replicas[hosted] = _Seen()
            if now != seen.state:
                before, seen.state = seen.state, now
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
                self.check_candidates(topic.topic_id, state)

    def check_candidates(self, topic_id: bytes, state: PartitionImage) -> None:
        """I3, I4: every running member of ISR and ELR holds all that is committed."""
        page = self._book.known(topic_id, state.partition)
        if page is None:
            return
        for member in (*state.isr, *state.elr):
            hosted = self._sound_replica(member, topic_id, state.partition)
            log = None if hosted is None else log_of(hosted)
            if log is not None and log.log_end_offset < page.end:
                self._report(
                    "I3",
                    f"{page.name} is committed up to {page.end}, node {member} of ISR"
                    f" {state.isr}, ELR {state.elr} ends at {log.log_end_offset}",
                )

    def _changed(
        self,
        machine: Machine,
        hosted: HostedPartition,
        log: PartitionLog,
        seen: _Seen,
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
        if now.high_watermark > now.end:
            self._report("I11", f"{name}: high watermark {now.high_watermark} above {now.end}")
        if before is None or now.role is not before.role:
            self._check_role(machine, hosted, seen, now, name)
        if before is not None and before.damage is None:
            self._check_fall(hosted, before, now, name)
        if isinstance(now.role, Leader):
            self._check_leader(machine, hosted, now.role, before, now, name, is_exact=is_exact)
        self._compare(machine, hosted, log, seen, now, name)
        if before is not None and now.end < before.end:
            self._check_partition(hosted)

    def _check_role(
        self, machine: Machine, hosted: HostedPartition, seen: _Seen, now: _State, name: str
    ) -> None:
        if now.role is None:
            return
        epoch = now.role.leader_epoch
        if epoch < seen.leader_epoch:
            self._report("I15", f"{name} went from leader epoch {seen.leader_epoch} to {epoch}")
        seen.leader_epoch = epoch
        if not isinstance(now.role, Leader):
            return
        key = (hosted.topic_id, hosted.partition), epoch
        if self._leaders.setdefault(key, machine.node_id) != machine.node_id:
            self._report("I10", f"{name} leads in epoch {epoch}, as node {self._leaders[key]} did")
        self._check_new_leader(machine, hosted, epoch, name)

    def _check_new_leader(
        self, machine: Machine, hosted: HostedPartition, epoch: int, name: str
    ) -> None:
        """I2: the leader of the newest committed epoch holds every committed record."""
        state, page = self._newest_state(hosted), self._book.page(hosted)
        log = log_of(hosted)
        if page is None or log is None or state is None or state.leader_epoch != epoch:
            return
        if log.log_end_offset < page.end:
            self._report(
                "I2", f"{name} leads from {log.log_end_offset} on, {page.end} is committed"
            )
            return
        for found in walk(log, machine.disk, Cursor(), end=page.end):
            if not self._is_as_booked(machine, page, found):
                self._report("I2", f"{name} leads in epoch {epoch} without {found.header}")
                return

    def _check_fall(self, hosted: HostedPartition, before: _State, now: _State, name: str) -> None:
        if isinstance(now.role, Leader) and now.role is before.role and now.end < before.end:
            self._report("I8", f"{name} leads, and went from {before.end} back to {now.end}")
        if now.high_watermark < before.high_watermark and self._book.page(hosted) is not None:
            self._report(
                "I11",
                f"{name}: high watermark fell from {before.high_watermark} to"
                f" {now.high_watermark}, the log ends at {now.end}",
            )

    def _check_leader(
        self,
        machine: Machine,
        hosted: HostedPartition,
        leader: Leader,
        before: _State | None,
        now: _State,
        name: str,
        *,
        is_exact: bool,
    ) -> None:
        state = self._newest_state(hosted)
        if state is not None and state.leader_epoch == leader.leader_epoch:
            is_known = state.partition_epoch >= leader.isr.partition_epoch
            if is_known and not set(state.isr) <= set(leader.isr.maximal):
                self._report("I5", f"{name} waits for {leader.isr}, the ISR is {state.isr}")
        is_same = before is not None and before.role is leader
        if before is None or not is_same or now.high_watermark <= before.high_watermark:
            return
        if is_exact and not is_enough(hosted, leader):
            self._report(
                "I12", f"{name}: high watermark rose to {now.high_watermark} with {leader.isr}"
            )
        for member in leader.isr.maximal:
            self._check_member(machine, hosted, leader, member, now.high_watermark, name)

    def _check_member(
        self,
        machine: Machine,
        hosted: HostedPartition,
        leader: Leader,
        member: int,
        high_watermark: int,
        name: str,
    ) -> None:
        """I11: who is counted holds it, in the very process that the leader heard of."""
        if member == machine.node_id:
            return
        known = followers_of(leader).get(member)
        other = self._sound_replica(member, hosted.topic_id, hosted.partition)
        log = None if other is None else log_of(other)
        node = self._cluster.machines[member].node
        if known is None or log is None or node is None:
            return
        if not is_listed_incarnation(known.broker_epoch, node):
            return
        if log.log_end_offset < high_watermark:
            self._report(
                "I11",
                f"{name}: high watermark {high_watermark}, node {member} of {leader.isr} ends at"
                f" {log.log_end_offset}",
            )

    def _compare(
        self,
        machine: Machine,
        hosted: HostedPartition,
        log: PartitionLog,
        seen: _Seen,
        now: _State,
        name: str,
    ) -> None:
        """I1, I7: what is below the high watermark is what the book says; new pages are written."""
        page = self._book.page(hosted)
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

    def _walk(
        self,
        machine: Machine,
        hosted: HostedPartition,
        log: PartitionLog,
        seen: _Seen,
        page: Page,
        end: int,
    ) -> Found | None:
        """Go on with the comparison; the first batch that is not as the book says."""
        for found in walk(log, machine.disk, seen.cursor, end=end):
            if not self._is_as_booked(machine, page, found):
                return found
            if found.header is not None and found.header.base_offset >= page.end:
                self._book.add(page, found.header, topic=hosted.topic, partition=hosted.partition)
        return None

    def _is_as_booked(self, machine: Machine, page: Page, found: Found) -> bool:
        if found.path in machine.disk.flipped:
            return True
        return found.header is not None and self._book.compare(page, found.header)

    def _check_partition(self, hosted: HostedPartition) -> None:
        state = self._newest_state(hosted)
        if state is not None:
            self.check_candidates(hosted.topic_id, state)

    def _newest_state(self, hosted: HostedPartition) -> PartitionImage | None:
        topic = self._images.newest.topic_by_id(hosted.topic_id)
        if topic is None or hosted.partition >= len(topic.partitions):
            return None
        return topic.partitions[hosted.partition]

    def _sound_replica(
        self, node_id: int, topic_id: bytes, partition: int
    ) -> HostedPartition | None:
        """The replica of a running node, registered in this very process, if its log is sound.

        Not one with a flipped bit: what a start finds bad above the recovery point it cuts, as if
        the power had gone, and nobody hears of it.
        """
        node = self._cluster.machines[node_id].node
        topic = self._images.newest.topic_by_id(topic_id)
        broker = self._images.newest.brokers.get(node_id)
        if node is None or topic is None or broker is None:
            return None
        if not is_listed_incarnation(broker.broker_epoch, node):
            return None
        hosted = held_by(node).get((topic.name, partition))
        if hosted is None or hosted.topic_id != topic_id or not hosted.is_sound:
            return None
        return None if is_flipped(self._cluster.machines[node_id], hosted) else hosted


def is_flipped(machine: Machine, hosted: HostedPartition) -> bool:
    """Whether a fault has ever changed a bit in the replica's folder."""
    folder = f"/{hosted.name}/"
    return any(folder in path for path in machine.disk.flipped)


def may_have_lost(was: PartitionImage, state: PartitionImage, *, is_lossy: bool) -> bool:
    """Whether an election since then was allowed to lose what is committed.

    The last leader may be elected again in any topic: it lacks nothing, unless more replicas than
    is promised for lost power.
    """
    if state.leader_id is None or state.leader_epoch == was.leader_epoch:
        return False
    is_complete = state.leader_id in was.isr or state.leader_id in was.elr
    if is_lossy:
        return not is_complete or state.leader_epoch > was.leader_epoch + 1
    return not is_complete and state.leader_id != was.last_known_leader_id


def is_lossy(topic: TopicImage, image: MetadataImage) -> bool:
    """Whether it allows unclean elections."""
    return log_config(topic.configs, image.cluster_configs).unclean_leader_election_enable


def is_enough(hosted: HostedPartition, leader: Leader) -> bool:
    """I12: whether the ISR has min.insync.replicas, whatever becomes of a proposal."""
    log = log_of(hosted)
    least = 1 if log is None else log.config.min_insync_replicas
    proposed = leader.isr.committed if leader.isr.proposed is None else leader.isr.proposed
    in_sync = min(len(leader.isr.committed), len(proposed))
    return in_sync >= min(least, len(followers_of(leader)) + 1)
