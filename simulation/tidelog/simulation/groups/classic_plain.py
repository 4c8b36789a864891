"""Members of the classic protocol on plain calls: the checks look on at the coordinator.

They read nothing, and commit as if they did: positions rise from what was committed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from tidelog.broker.coordinator.classic_messages import (
    HeartbeatRequest,
    JoinAnswer,
    JoinRequest,
    LeaveRequest,
    SyncAnswer,
    SyncRequest,
)
from tidelog.broker.coordinator.committer import Committer
from tidelog.broker.coordinator.group_coordinator import GroupCoordinator
from tidelog.broker.coordinator.offsets import CommittedOffset, TopicPartition
from tidelog.chaos.faults.drawer import Span
from tidelog.core.chance import SeededRandom, one_of
from tidelog.core.errors import UnreachableError
from tidelog.simulation.cluster.cluster import Machine
from tidelog.simulation.engine.network import Host
from tidelog.simulation.groups.classic_checks import ClassicChecks
from tidelog.simulation.groups.classic_group import ClassicGroup
from tidelog.simulation.groups.classic_member import ClassicMember
from tidelog.simulation.groups.classic_port import MemberPorts
from tidelog.simulation.groups.plain_calls import PlainCalls, Serve, T
from tidelog.simulation.groups.simulation_config import CLASSIC_GROUP, FIRST

JOIN, SYNC, HEARTBEAT, COMMIT, LEAVE = (
    *("ClassicJoin", "ClassicSync", "ClassicHeartbeat", "ClassicCommit", "ClassicLeave"),
)
FETCH = "ClassicFetch"
"""Names of the calls, as the network knows them."""
STEP_MAX = 5
"""Records that it has read, at most, since its last commit."""
LATE_S = Span(0.1, 5.0)
HELD_MAX = 3


class PlainWays:
    """See `ClassicWays`."""

    topic = FIRST
    static_members = 1

    def __init__(self, random: SeededRandom) -> None:
        self._random = random

    def begin(
        self, group: ClassicGroup, host: Host, random: SeededRandom, *, is_static: bool
    ) -> MemberPorts:
        """See `ClassicWays.begin`."""
        del is_static  # calls have no versions
        calls = PlainMemberCalls(PlainCalls(group.base.cluster, host), group)
        return MemberPorts(calls, PretendedReading(random))

    async def be_late(self, group: ClassicGroup, place: int, member: ClassicMember) -> None:
        """Calls of the member arrive when it has given them up, or in a later generation."""
        name = one_of(self._random, (JOIN, SYNC, SYNC, HEARTBEAT, COMMIT, LEAVE))
        group.count_fault("classic_late", member, name)
        network = group.base.cluster.network
        most = 1 if name == COMMIT else self._random.randrange(1, HELD_MAX + 1)
        late = network.hold_calls(member.name, name, most=most)
        if name == SYNC:  # members sync when others come and go
            await group.replace_other(place, lambda: late.count > 0)
        else:
            await asyncio.sleep(LATE_S.draw(self._random))
        if late.count and name in (SYNC, HEARTBEAT, COMMIT):
            before = 0 if member.joined is None else member.joined.generation
            await group.replace_other(place, lambda: member.is_beyond(before))
            if name == COMMIT and not member.is_beyond(before):
                return  # commits of one generation have no order at the coordinator: it is lost
        network.deliver_late(late)


class PretendedReading:
    """See `Reading`."""

    def __init__(self, random: SeededRandom) -> None:
        self._random = random
        self._positions: dict[int, int] = {}

    def begin(self, committed: Mapping[int, CommittedOffset]) -> None:
        """Begin where the group committed."""
        self._positions = {number: max(0, one.offset) for number, one in committed.items()}

    def stop(self) -> None:
        """See `Reading.stop`."""

    def next_commit(self) -> tuple[int, CommittedOffset] | None:
        """Draw a partition and an offset."""
        partition = one_of(self._random, list(self._positions))
        self._positions[partition] += self._random.randrange(1, STEP_MAX + 1)
        return partition, CommittedOffset(self._positions[partition])

    def on_committed(self, partition: int, offset: int) -> None:
        """See `Reading.on_committed`; the next one is of a later offset anyway."""


class PlainMemberCalls:
    """See `MemberCalls`."""

    def __init__(self, calls: PlainCalls, group: ClassicGroup) -> None:
        self._calls = calls
        self._group = group
        self._checks: ClassicChecks = group.checks
        self._node_id: int | None = None

    def forget_coordinator(self) -> None:
        """See `MemberCalls.forget_coordinator`."""
        self._node_id = None

    async def join(self, request: JoinRequest, *, timeout_s: float) -> JoinAnswer:
        """See `MemberCalls.join`."""

        async def serve(coordinator: GroupCoordinator, _: Machine) -> JoinAnswer:
            return await coordinator.classic.join(CLASSIC_GROUP, request)

        return await self._call(JOIN, serve, timeout_s)

    async def sync(self, request: SyncRequest, *, timeout_s: float) -> SyncAnswer:
        """See `MemberCalls.sync`."""

        async def serve(coordinator: GroupCoordinator, machine: Machine) -> SyncAnswer:
            arrival = self._checks.arrival_at(
                coordinator, machine, request.member_id, request.instance_id
            )
            answer = await coordinator.classic.sync(CLASSIC_GROUP, request)
            self._checks.on_synced(request.generation, arrival)
            return answer

        return await self._call(SYNC, serve, timeout_s)

    async def heartbeat(self, request: HeartbeatRequest, *, timeout_s: float) -> None:
        """See `MemberCalls.heartbeat`."""

        async def serve(coordinator: GroupCoordinator, machine: Machine) -> None:
            arrival = self._checks.arrival_at(
                coordinator, machine, request.member_id, request.instance_id
            )
            await coordinator.classic.heartbeat(CLASSIC_GROUP, request)
            self._checks.on_heartbeat(request.generation, arrival)

        await self._call(HEARTBEAT, serve, timeout_s)

    async def commit(
        self, by: Committer, partition: int, committed: CommittedOffset, *, timeout_s: float
    ) -> None:
        """See `MemberCalls.commit`."""
        topic_id, _ = self._group.partition_ids()
        asked = TopicPartition(FIRST, topic_id, partition)

        async def serve(coordinator: GroupCoordinator, machine: Machine) -> None:
            arrival = self._checks.arrival_at(coordinator, machine, by.member_id, by.instance_id)
            results = await coordinator.commit(CLASSIC_GROUP, by, [(asked, committed)])
            if results[0].error is None:
                self._checks.on_committed(
                    by.epoch, arrival, (topic_id, partition), committed.offset
                )

        await self._call(COMMIT, serve, timeout_s)

    async def fetch(
        self, partitions: Sequence[int], *, timeout_s: float
    ) -> Sequence[CommittedOffset]:
        """See `MemberCalls.fetch`."""
        topic_id, _ = self._group.partition_ids()
        asked = [TopicPartition(FIRST, topic_id, one) for one in partitions]

        async def serve(coordinator: GroupCoordinator, _: Machine) -> list[CommittedOffset]:
            acknowledged = self._checks.acknowledged_now()
            results = await coordinator.fetch(CLASSIC_GROUP, Committer(), asked)
            self._checks.on_fetched(results, acknowledged)
            return [one.committed for one in results]

        return await self._call(FETCH, serve, timeout_s)

    async def leave(self, request: LeaveRequest, *, timeout_s: float) -> None:
        """See `MemberCalls.leave`."""

        async def serve(coordinator: GroupCoordinator, _: Machine) -> None:
            self._checks.on_leave(request)
            await coordinator.classic.leave(CLASSIC_GROUP, request)

        await self._call(LEAVE, serve, timeout_s)

    async def _call(self, name: str, serve: Serve[T], timeout_s: float) -> T:
        """Call the coordinator, as long as it does not refuse."""
        if self._node_id is None:
            self._node_id = self._group.coordinator()
        if self._node_id is None:
            raise UnreachableError("nobody leads the group's partition")
        return await self._calls.call(self._node_id, name, serve, timeout_s=timeout_s)
