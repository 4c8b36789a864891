"""Invariants between replicas of one partition, in samples taken at different moments.

Pure. What is compared holds from one moment on, so the time between two samples explains nothing:

    a high watermark    what lies below it is committed, for good: a leader of the same or a newer
                        epoch, sampled later, ends no lower (I2)
    an ISR              a leader's sample says who is in sync, and by broker epoch in which process;
                        that process, sampled later, holds all that was committed then, in the ISR
                        still or not (I3, I4, and of I11 that no high watermark is above such an
                        end); so does one in the ELR
    a maximal ISR       covers every ISR the controllers committed earlier in that epoch (I5)
    an epoch            has one leader (I10), and one start in every log, once committed (I9)

Silent about topics that may lose what is committed by unclean elections, about a process whose log
was ever damaged, and about the epochs of compacted topics, whose first records may be gone.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple

from tidelog.chaos.invariants.elections import is_compacted, is_lossy
from tidelog.chaos.invariants.invariant import Report
from tidelog.chaos.invariants.replicas import (
    Broken,
    EpochLeaders,
    incomplete_candidate,
    incomplete_leader,
    uncovered_isr,
)
from tidelog.chaos.sockets.sample_checks import (
    LEADER,
    is_troubled,
    name_of,
)
from tidelog.chaos.story.samples import NodeSample, ReplicaSample
from tidelog.metadata.image import MetadataImage, PartitionImage

Process = tuple[int, int]
"""Node and pid."""


class Mark(NamedTuple):
    """A high watermark at a moment, and the replica that reported it."""

    high_watermark: int
    leader_epoch: int
    at_s: float
    by: str


class Claim(NamedTuple):
    """A process of a node holds what lies below `mark`."""

    broker_epoch: int
    mark: Mark


@dataclass(slots=True)
class _Partition:
    """Facts about one partition of one topic id."""

    leaders: EpochLeaders = field(default_factory=EpochLeaders)
    starts: dict[int, tuple[int, str]] = field(default_factory=dict)
    """By epoch: its first offset, and who said so."""
    committed: Mark | None = None
    claims: dict[int, Claim] = field(default_factory=dict)
    """By member."""
    state: PartitionImage | None = None
    """The newest committed,"""
    state_at_s: float = 0.0
    """and when it was first seen."""
    is_compacted: bool = False
    may_lose: bool = False
    """Its topic once allowed unclean elections, or a damaged log was elected."""


class PartitionChecks:
    """Checks of every partition. Give samples in the order of their `at_s`, as far as possible."""

    def __init__(self, report: Report) -> None:
        self.compared: Counter[str] = Counter()
        """Judgements of each invariant."""
        self._report = report
        self._partitions: dict[tuple[str, int], _Partition] = {}
        self._damaged: set[tuple[Process, str, int]] = set()

    @property
    def high_watermarks(self) -> dict[tuple[str, int], int]:
        """By topic id and partition: the highest any replica had, where nothing may be lost."""
        return {
            key: known.committed.high_watermark
            for key, known in self._partitions.items()
            if known.committed is not None and not known.may_lose
        }

    def on_image(self, image: MetadataImage, *, at_s: float) -> None:
        """The newest committed image, first seen at that time."""
        for topic, state in image.partitions():
            known = self._known(topic.topic_id.hex(), state.partition)
            is_damaged = state.leader_id in state.damaged
            known.may_lose = known.may_lose or is_lossy(topic, image) or is_damaged
            known.is_compacted = known.is_compacted or is_compacted(topic, image)
            self._note_leader(known, topic.name, state.leader_epoch, state.leader_id)
            for member in set(known.claims) - set(state.replicas):
                del known.claims[member]
            if known.state is None or state.partition_epoch > known.state.partition_epoch:
                known.state, known.state_at_s = state, at_s

    def on_sample(self, sample: NodeSample) -> None:
        """A node's, after `on_image` with any newer image in it."""
        for replica in sample.replicas:
            known = self._known(replica.topic_id, replica.partition)
            if replica.role == LEADER:
                self._note_leader(known, replica.topic, replica.leader_epoch, sample.node_id)
            damaged = ((sample.node_id, sample.pid), replica.topic_id, replica.partition)
            if is_troubled(sample, replica):
                self._damaged.add(damaged)
            if known.may_lose or damaged in self._damaged:
                continue
            if not known.is_compacted:
                self._check_starts(known, sample, replica)
            self._check_claim(known, sample, replica)
            if replica.role == LEADER:
                self._check_leader(known, sample, replica)
                self._check_maximal(known, sample, replica)
                self._claim(known, sample, replica)
            self._commit(known, sample, replica)

    def _known(self, topic_id: str, partition: int) -> _Partition:
        return self._partitions.setdefault((topic_id, partition), _Partition())

    def _note_leader(
        self, known: _Partition, topic: str, epoch: int, leader_id: int | None
    ) -> None:
        if leader_id is None:
            return
        self.compared["I10"] += 1
        self._report_all(known.leaders.note(topic, topic, epoch, leader_id))

    def _check_starts(self, known: _Partition, sample: NodeSample, replica: ReplicaSample) -> None:
        name = name_of(sample, replica)
        for epoch, start in replica.epochs:
            # What retention cut begins where the log does; what is not committed may be cut.
            if not replica.log_start_offset < start < replica.high_watermark:
                continue
            first = known.starts.setdefault(epoch, (start, name))
            self.compared["I9"] += 1
            if first[0] != start:
                starts = f"begins at {start} of {name}, at {first[0]} of {first[1]}"
                self._report("I9", f"epoch {epoch} {starts}")

    def _check_claim(self, known: _Partition, sample: NodeSample, replica: ReplicaSample) -> None:
        claim = known.claims.get(sample.node_id)
        if claim is None or claim.broker_epoch != sample.broker_epoch:
            return
        if sample.at_s <= claim.mark.at_s:
            return
        self.compared["I3"] += 1
        mark, name = claim.mark, name_of(sample, replica)
        by, end = f"ISR or ELR of {mark.by}", replica.log_end_offset
        self._report_all(incomplete_candidate(name, end=end, committed=mark.high_watermark, by=by))

    def _check_leader(self, known: _Partition, sample: NodeSample, replica: ReplicaSample) -> None:
        mark = known.committed
        if mark is None or replica.leader_epoch < mark.leader_epoch or sample.at_s <= mark.at_s:
            return
        self.compared["I2"] += 1
        name, end = name_of(sample, replica), replica.log_end_offset
        self._report_all(
            incomplete_leader(name, end=end, committed=mark.high_watermark, by=mark.by)
        )

    def _check_maximal(self, known: _Partition, sample: NodeSample, replica: ReplicaSample) -> None:
        state = known.state
        if state is None or known.state_at_s > sample.at_s:
            return
        if state.leader_epoch != replica.leader_epoch:
            return
        if state.partition_epoch < replica.partition_epoch:
            return
        self.compared["I5"] += 1
        name = name_of(sample, replica)
        self._report_all(uncovered_isr(name, isr=state.isr, maximal=replica.maximal_isr))

    def _claim(self, known: _Partition, sample: NodeSample, leader: ReplicaSample) -> None:
        """Note the processes in sync, by an image in which the leader is the one that reported."""
        state = sample.image.partition(leader.topic, leader.partition)
        if state is None or state.leader_id != sample.node_id:
            return
        epochs = (state.leader_epoch, state.partition_epoch)
        if epochs != (leader.leader_epoch, leader.partition_epoch):
            return
        mark = _mark(sample, leader)
        for member in {*state.isr, *state.elr} - {sample.node_id}:
            broker = sample.image.brokers.get(member)
            if broker is None:
                continue
            held = known.claims.get(member)
            claim = Claim(broker.broker_epoch, mark)
            if held is None or _order(held) <= _order(claim):
                known.claims[member] = claim

    def _commit(self, known: _Partition, sample: NodeSample, replica: ReplicaSample) -> None:
        if replica.leader_epoch < 0:
            return
        held = known.committed
        if held is None or replica.high_watermark > held.high_watermark:
            known.committed = _mark(sample, replica)

    def _report_all(self, broken: Broken) -> None:
        for one in broken:
            self._report(*one)


def _mark(sample: NodeSample, replica: ReplicaSample) -> Mark:
    by = name_of(sample, replica)
    return Mark(replica.high_watermark, replica.leader_epoch, sample.at_s, by)


def _order(claim: Claim) -> tuple[int, int]:
    return claim.broker_epoch, claim.mark.high_watermark
