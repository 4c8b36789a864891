"""Checks of a group of the classic protocol, by what its members are told.

I24     a member is told generations in their order; one generation gives a partition once; a
        sync of a generation that is over gets nothing
I25     a commit under a generation that is over is refused; a look-up that begins after a
        commit was acknowledged finds that offset, or a later one
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tidelog.broker.coordinator.classic_messages import JoinAnswer, SyncAnswer, SyncRequest
from tidelog.broker.coordinator.committer import Committer
from tidelog.broker.coordinator.consumer_member import PartitionId
from tidelog.broker.coordinator.group_coordinator import GroupCoordinator
from tidelog.broker.coordinator.offsets import OffsetResult
from tidelog.chaos.invariants.invariant import Report
from tidelog.simulation.groups.commits import shard_of
from tidelog.simulation.groups.simulation_config import CLASSIC_GROUP

I24, I25 = "I24", "I25"
Acknowledged = Mapping[PartitionId, int]


class ClassicChecks:
    """Calls `report` for each violation, `count` for what a run is to meet."""

    def __init__(self, report: Report, count: Callable[[str], None]) -> None:
        self._report = report
        self._count = count
        self._generations: dict[str, int] = {}
        self._owners: dict[tuple[int, int], str] = {}
        self._acknowledged: dict[PartitionId, int] = {}

    def generation_at(self, coordinator: GroupCoordinator) -> int:
        """Newest generation that a coordinator has told members of; -1: it does not know."""
        shard = shard_of(coordinator, CLASSIC_GROUP)
        live = None if shard is None else shard.classic.by_id.get(CLASSIC_GROUP)
        return -1 if live is None else live.state.recorded.generation

    def acknowledged_now(self) -> Acknowledged:
        """Offsets that were acknowledged so far."""
        return dict(self._acknowledged)

    def on_joined(self, answer: JoinAnswer) -> None:
        """A member is told its generation."""
        self._count("classic_generations")
        before = self._generations.get(answer.member_id, 0)
        if answer.generation < before:
            what = f"{answer.member_id} was told generation {answer.generation} after {before}"
            self._report(I24, what)
        self._generations[answer.member_id] = answer.generation

    def on_synced(self, request: SyncRequest, answer: SyncAnswer, newest: int) -> None:
        """A sync is answered that came when `newest` was the coordinator's generation."""
        del answer
        if request.generation < newest:
            what = f"{request.member_id} was assigned to in generation {request.generation}"
            self._report(I24, f"{what}, the group had {newest}")

    def on_owned(self, who: str, generation: int, owned: Sequence[int]) -> None:
        """A member is told its partitions."""
        for partition in owned:
            owner = self._owners.setdefault((generation, partition), who)
            if owner != who:
                what = f"partition {partition} in generation {generation}"
                self._report(I24, f"{owner} and {who} own {what}")

    def on_committed(self, by: Committer, newest: int, partition: PartitionId, offset: int) -> None:
        """A commit is taken that came when `newest` was the coordinator's generation."""
        self._count("classic_commits")
        if by.epoch < newest:
            what = f"{by.member_id} committed in generation {by.epoch}"
            self._report(I25, f"{what}, the group had {newest}")
        self._acknowledged[partition] = max(offset, self._acknowledged.get(partition, offset))

    def on_fetched(self, results: Sequence[OffsetResult], acknowledged: Acknowledged) -> None:
        """A look-up is answered; `acknowledged` is as of its arrival."""
        for one in results:
            expected = acknowledged.get((one.partition.topic_id, one.partition.partition))
            if expected is not None and one.error is None and one.committed.offset < expected:
                what = f"{one.partition.topic}-{one.partition.partition}, group {CLASSIC_GROUP}"
                self._report(
                    I25, f"{what}: {one.committed.offset} was found, {expected} acknowledged"
                )
