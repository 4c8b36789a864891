"""I25: commits as coordinators were asked for them and answered, and look-ups after them.

a commit under an old epoch, of a member that is gone, of another's partition, of a topic that is
deleted, or after a later one is refused
no commit is ahead of what applications are done with
a look-up that begins after a commit was acknowledged finds that offset, or a later one
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tidelog.broker.coordinator.consumer_member import PartitionId
from tidelog.broker.coordinator.group_coordinator import GroupCoordinator
from tidelog.broker.coordinator.group_shard import GroupShard
from tidelog.chaos.invariants.invariant import Report
from tidelog.core.errors import TidelogError
from tidelog.simulation.groups.handouts import Handouts, Place
from tidelog.simulation.groups.simulation_config import GROUP
from tidelog.simulation.groups.traffic import Traffic
from tidelog.v1 import common_pb2
from tidelog.v1.coordinator_pb2 import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
)

I25 = "I25"
AHEAD = "committed-ahead"
_REFUSALS = frozenset(
    {
        common_pb2.STALE_MEMBER_EPOCH,
        common_pb2.UNKNOWN_MEMBER_ID,
        common_pb2.FENCED_MEMBER_EPOCH,
        common_pb2.FENCED_INSTANCE_ID,
    }
)


@dataclass(frozen=True, slots=True)
class Arrival:
    """State at the coordinator when a request came."""

    is_loaded: bool
    member_epoch: int | None
    """None: it had no such member."""
    has_members: bool
    holders: dict[PartitionId, str]
    acknowledged: dict[PartitionId, int]
    commit_sequence: int
    """Highest number of a commit of the member, or of its join."""
    unknown_topics: frozenset[bytes]
    """Topic ids of the request that no topic has, as far as the coordinator knows."""


class CommitChecks:
    """The calls of a run that are about offsets."""

    def __init__(
        self, report: Report, count: Callable[[str], None], handouts: Handouts, traffic: Traffic
    ) -> None:
        self._report = report
        self._count = count
        self._handouts = handouts
        self._traffic = traffic
        self._acknowledged: dict[str, dict[PartitionId, int]] = {}
        self._arrivals: dict[int, tuple[object, Arrival]] = {}
        """By the request's identity, with the request; only asked, never gone through."""

    def on_call(self, coordinator: GroupCoordinator, request: object, response: object) -> None:
        """A node was called: at first without a response, later with it."""
        if isinstance(request, OffsetCommitRequest | OffsetFetchRequest) and response is None:
            self._arrivals[id(request)] = (request, self._arrival(coordinator, request))
            if isinstance(request, OffsetCommitRequest):
                self._check_ahead(request)
            return
        _, arrival = self._arrivals.pop(id(request), (None, None))
        if arrival is None:
            return
        if isinstance(request, OffsetCommitRequest) and isinstance(response, OffsetCommitResponse):
            self._on_commit(request, response, arrival, coordinator)
        elif isinstance(response, OffsetFetchResponse) and isinstance(request, OffsetFetchRequest):
            self._on_fetch(request, response, arrival)

    def forget(self, group_id: str) -> None:
        """The group's offsets are deleted, or may expire."""
        self._acknowledged.pop(group_id, None)

    def forget_one(self, group_id: str, partition: PartitionId) -> None:
        """An offset of the group has expired, or its topic is gone."""
        self._acknowledged.get(group_id, {}).pop(partition, None)

    def _arrival(
        self,
        coordinator: GroupCoordinator,
        request: OffsetCommitRequest | OffsetFetchRequest,
    ) -> Arrival:
        shard = shard_of(coordinator, request.group_id)
        live = None if shard is None else shard.groups.get(request.group_id)
        members = {} if live is None else live.state.members
        member = members.get(request.member_id)
        sessions = {} if live is None else live.sessions._by_member  # noqa: SLF001
        session = sessions.get(request.member_id)
        return Arrival(
            is_loaded=shard is not None,
            member_epoch=None if member is None else member.epoch,
            has_members=bool(members),
            holders={} if live is None else dict(live.state._holders),  # noqa: SLF001
            acknowledged=dict(self._acknowledged.get(request.group_id, {})),
            commit_sequence=0 if session is None else session.commit_sequence,
            unknown_topics=frozenset()
            if shard is None
            else frozenset(
                one.topic_id for one in request.topics if shard.topics.name(one.topic_id) is None
            ),
        )

    # Commits

    def _check_ahead(self, request: OffsetCommitRequest) -> None:
        if request.group_id != GROUP:
            return
        for topic in request.topics:
            known = self._traffic.incarnation_of(topic.topic_id)
            if known is None:
                continue
            for one in topic.partitions:
                done_below = self._handouts.progress(Place(*known, one.partition)).done_below
                if one.offset > done_below:
                    what = f"{topic.topic}-{one.partition}: {one.offset} is committed"
                    self._report(AHEAD, f"{what}, and {done_below} is the first not done")

    def _on_commit(
        self,
        request: OffsetCommitRequest,
        response: OffsetCommitResponse,
        arrival: Arrival,
        coordinator: GroupCoordinator,
    ) -> None:
        if response.error.code in _REFUSALS:
            self._count("commits_refused")
        if response.error.code != common_pb2.NONE:
            return
        taken = list(_taken(request, response))
        if not taken:
            return
        if arrival.is_loaded:
            self._check_right(request, arrival)
        at_answer = self._arrival(coordinator, request)
        now = at_answer.holders
        unknown = arrival.unknown_topics & at_answer.unknown_topics
        acknowledged = self._acknowledged.setdefault(request.group_id, {})
        for partition, offset in taken:
            if partition[0] in unknown:
                what = f"topic id {partition[0].hex()}"
                self._report(I25, f"{request.member_id} committed for {what}, which is deleted")
            owner = arrival.holders.get(partition)
            if owner not in (None, request.member_id) and now.get(partition) == owner:
                self._report(I25, f"{request.member_id} committed a partition of {owner}")
            acknowledged[partition] = max(offset, acknowledged.get(partition, offset))
        self._count("commits_acknowledged")

    def _check_right(self, request: OffsetCommitRequest, arrival: Arrival) -> None:
        who = f"commit of {request.member_id!r} under epoch {request.member_epoch}"
        if not request.member_id:
            if arrival.has_members:
                self._report(I25, f"{who} was taken, the group has members")
        elif arrival.member_epoch is None:
            self._report(I25, f"{who} was taken, it is no member")
        elif request.member_epoch < arrival.member_epoch:
            self._report(I25, f"{who} was taken, it had {arrival.member_epoch}")
        if 0 < request.sequence < arrival.commit_sequence:
            what = f"number {request.sequence}, after {arrival.commit_sequence}"
            self._report(I25, f"{who} was taken, {what}")

    # Look-ups

    def _on_fetch(
        self, request: OffsetFetchRequest, response: OffsetFetchResponse, arrival: Arrival
    ) -> None:
        if response.error.code != common_pb2.NONE:
            return
        for topic in response.topics:
            for one in topic.partitions:
                expected = arrival.acknowledged.get((topic.topic_id, one.partition))
                if expected is None or one.error.code != common_pb2.NONE:
                    continue
                if one.offset < expected:
                    what = f"{topic.topic}-{one.partition}, group {request.group_id}"
                    self._report(I25, f"{what}: {one.offset} was found, {expected} acknowledged")


def _taken(
    request: OffsetCommitRequest, response: OffsetCommitResponse
) -> Iterator[tuple[PartitionId, int]]:
    asked = [(topic.topic_id, one.offset) for topic in request.topics for one in topic.partitions]
    results = [(topic, one) for topic in response.topics for one in topic.partitions]
    for (topic_id, offset), (topic, one) in zip(asked, results, strict=True):
        if one.error.code == common_pb2.NONE:
            yield (topic_id or topic.topic_id, one.partition), offset


def shard_of(coordinator: GroupCoordinator, group_id: str) -> GroupShard | None:
    """The shard of a group at a node; None: it is not its coordinator, or loads."""
    try:
        return coordinator._find(group_id).shard  # noqa: SLF001
    except TidelogError:
        return None
