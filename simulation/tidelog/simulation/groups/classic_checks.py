"""Checks of a group of the classic protocol, by what its members are told.

I24     a member is told generations in their order; one member leads a generation, and what it
        sent is what each member gets; one generation gives a partition once; a sync or a heartbeat
        of a generation that is over, or of a member in whose place another one is, is refused
I25     so is a commit; a look-up that begins after a commit was acknowledged finds that offset, or
        a later one
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tidelog.broker.coordinator.classic_messages import JoinAnswer
from tidelog.broker.coordinator.consumer_member import PartitionId
from tidelog.broker.coordinator.group_coordinator import GroupCoordinator
from tidelog.broker.coordinator.offsets import OffsetResult
from tidelog.chaos.invariants.invariant import Report
from tidelog.simulation.cluster.cluster import Machine
from tidelog.simulation.groups.classic_rounds import ClassicRounds
from tidelog.simulation.groups.commits import shard_of
from tidelog.simulation.groups.coordinator_checks import hosted_by
from tidelog.simulation.groups.simulation_config import CLASSIC_GROUP

I24, I25 = "I24", "I25"
Acknowledged = Mapping[PartitionId, int]


@dataclass(frozen=True, slots=True)
class Arrival:
    """State at the coordinator when a request of a member came."""

    member_id: str
    node_id: int
    at_ms: int
    """By the node's clock."""
    generation: int
    """Newest generation that members were told; -1: it does not know."""
    holder: str | None
    """Member that has its instance id; None: nobody, or it has none."""


class ClassicChecks:
    """Calls `report` for each violation, `count` for what a run is to meet."""

    def __init__(self, report: Report, count: Callable[[str], None]) -> None:
        self._report = report
        self._count = count
        self._rounds = ClassicRounds(report)
        self.on_leave = self._rounds.on_leave
        self._generations: dict[str, int] = {}
        self._leaders: dict[int, str] = {}
        self._sent: dict[int, list[Mapping[str, bytes]]] = {}
        """By generation, the assignments that its leader sent, by member or instance id.

        One of them counts: those that a member did not get are taken out.
        """
        self._owners: dict[tuple[int, int], str] = {}
        self._acknowledged: dict[PartitionId, int] = {}

    def arrival_at(
        self,
        coordinator: GroupCoordinator,
        machine: Machine,
        member_id: str,
        instance_id: str | None,
    ) -> Arrival:
        """State as a member's request arrives."""
        shard = shard_of(coordinator, CLASSIC_GROUP)
        live = None if shard is None else shard.classic.by_id.get(CLASSIC_GROUP)
        holder = None if live is None else live.state.instance(instance_id)
        return Arrival(
            member_id,
            machine.node_id,
            machine.clock.monotonic_ms(),
            -1 if live is None else live.state.recorded.generation,
            None if holder is None else holder.member_id,
        )

    def look(self, coordinator: GroupCoordinator, machine: Machine) -> None:
        """Check the group after a step of a node."""
        for hosted in hosted_by(coordinator).values():
            live = hosted.shard.classic.by_id.get(CLASSIC_GROUP)
            if live is not None:
                self._rounds.look(machine.node_id, live.state, machine.clock.monotonic_ms())

    def acknowledged_now(self) -> Acknowledged:
        """Offsets that were acknowledged so far."""
        return dict(self._acknowledged)

    def forget(self) -> None:
        """The group is gone: its generations begin again."""
        self._generations, self._leaders, self._sent, self._owners = {}, {}, {}, {}

    def forget_one(self, partition: PartitionId) -> None:
        """An offset of the group has expired, or its topic is gone."""
        self._acknowledged.pop(partition, None)

    # Generations

    def on_joined(self, answer: JoinAnswer) -> None:
        """A member is told its generation."""
        self._count("classic_generations")
        before = self._generations.get(answer.member_id, 0)
        if answer.generation < before:
            what = f"{answer.member_id} was told generation {answer.generation} after {before}"
            self._report(I24, what)
        self._generations[answer.member_id] = answer.generation
        if answer.leader == answer.member_id and not answer.skip_assignment:
            leader = self._leaders.setdefault(answer.generation, answer.member_id)
            if leader != answer.member_id:
                what = f"{leader} and {answer.member_id} lead generation {answer.generation}"
                self._report(I24, what)

    def on_sent(self, joined: JoinAnswer, parts: Mapping[str, bytes]) -> None:
        """A leader is about to send the assignment of its generation."""
        names = {one.member_id: one.instance_id or one.member_id for one in joined.members}
        by_name = {names[member_id]: part for member_id, part in parts.items()}
        self._sent.setdefault(joined.generation, []).append(by_name)

    def on_synced(self, generation: int, arrival: Arrival) -> None:
        """A sync is answered."""
        self._check_right("was assigned to", generation, arrival, I24)

    def on_heartbeat(self, generation: int, arrival: Arrival) -> None:
        """A heartbeat is answered."""
        self._check_right("was let go on", generation, arrival, I24)

    def on_owned(self, who: str, generation: int, part: bytes) -> None:
        """A member is told its partitions."""
        sent = self._sent.get(generation, [])
        fitting = [parts for parts in sent if parts.get(who, b"") == part]
        if not fitting:
            what = f"{who} got {tuple(part)} in generation {generation}"
            self._report(I24, f"{what}, its leader sent {[tuple(o.get(who, b'')) for o in sent]}")
        self._sent[generation] = fitting
        for partition in part:
            owner = self._owners.setdefault((generation, partition), who)
            if owner != who:
                what = f"partition {partition} in generation {generation}"
                self._report(I24, f"{owner} and {who} own {what}")

    def _check_right(self, what: str, generation: int, arrival: Arrival, invariant: str) -> None:
        """Check that a request could be taken, and note that its member was heard."""
        who = f"{arrival.member_id} {what} in generation {generation}"
        if generation < arrival.generation:
            self._report(invariant, f"{who}, the group had {arrival.generation}")
        if arrival.holder not in (None, arrival.member_id):
            self._report(invariant, f"{who}, {arrival.holder} was in its place")
        self._rounds.on_heard(arrival.node_id, arrival.member_id, arrival.at_ms)

    # Offsets

    def on_committed(
        self, generation: int, arrival: Arrival, partition: PartitionId, offset: int
    ) -> None:
        """A commit is taken."""
        self._count("classic_commits")
        self._check_right("committed", generation, arrival, I25)
        self._acknowledged[partition] = max(offset, self._acknowledged.get(partition, offset))

    def on_fetched(self, results: Sequence[OffsetResult], acknowledged: Acknowledged) -> None:
        """A look-up is answered; `acknowledged` is as of its arrival."""
        for one in results:
            partition = one.partition.topic_id, one.partition.partition
            expected = acknowledged.get(partition)
            if expected is None or partition not in self._acknowledged:
                continue  # it expired meanwhile
            expected = min(expected, self._acknowledged[partition])  # a late commit was taken
            if one.error is None and one.committed.offset < expected:
                what = f"{one.partition.topic}-{one.partition.partition}, group {CLASSIC_GROUP}"
                self._report(
                    I25, f"{what}: {one.committed.offset} was found, {expected} acknowledged"
                )
