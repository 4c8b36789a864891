"""A member of a group of the classic protocol, as Kafka's clients are: joins, syncs, heartbeats.

A process of its own, which calls the coordinator's plain interface. It assigns when it leads, reads
nothing, and commits as if it did: its position rises from what was committed. Owns the protocol's
steps; what it is told is checked by `classic_checks`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Protocol

from tidelog.broker.coordinator.classic_messages import (
    HeartbeatRequest,
    JoinAnswer,
    JoinRequest,
    LeaveRequest,
    LeavingMember,
    MemberIdGivenError,
    MemberProtocol,
    SyncAnswer,
    SyncRequest,
)
from tidelog.broker.coordinator.committer import Committer
from tidelog.broker.coordinator.group_coordinator import GroupCoordinator
from tidelog.broker.coordinator.offsets import CommittedOffset, TopicPartition
from tidelog.core.chance import SeededRandom
from tidelog.core.errors import (
    CallFailedError,
    FencedInstanceIdError,
    IllegalGenerationError,
    KafkaError,
    NotCoordinatorError,
    RebalanceInProgressError,
    TidelogError,
    UnknownMemberIdError,
    UnreachableError,
)
from tidelog.simulation.cluster.cluster import Machine
from tidelog.simulation.engine.network import Host
from tidelog.simulation.groups.classic_checks import ClassicChecks
from tidelog.simulation.groups.plain_calls import PlainCalls
from tidelog.simulation.groups.simulation_config import CLASSIC_GROUP, FIRST, ClassicTimes

BEAT_SHARE = 4
"""Heartbeats in a session."""
PATIENCE_SESSIONS = 0.5
"""Time for a call, in sessions: one that is lost costs no session, as with Kafka's defaults."""
RETRY_S = 0.1
COMMIT_PROBABILITY = 0.5
STEP_MAX = 5
"""Records that it has read, at most, since its last commit."""
JOIN, SYNC, HEARTBEAT, COMMIT, LEAVE = (
    *("ClassicJoin", "ClassicSync", "ClassicHeartbeat", "ClassicCommit", "ClassicLeave"),
)
"""Names of the calls, as the network knows them."""


class ClassicCluster(Protocol):
    """The cluster, as the newest image shows it."""

    def classic_coordinator(self) -> int | None:
        """Node that leads the group's partition."""

    def partition_ids(self, topic: str) -> tuple[bytes, int]:
        """Id of a topic, and its number of partitions; 0 without it."""

    def note(self, who: str, what: str) -> None:
        """For people."""


class ClassicMember:
    """A process from its start to its end."""

    def __init__(
        self,
        name: str,
        instance_id: str | None,
        host: Host,
        calls: PlainCalls,
        cluster: ClassicCluster,
        checks: ClassicChecks,
        times: ClassicTimes,
        random: SeededRandom,
    ) -> None:
        self.name = name
        self.instance_id = instance_id
        self.host = host
        self.member_id = ""
        self.joined: JoinAnswer | None = None
        self.owned: tuple[int, ...] | None = None
        self.is_leaving = self.is_over = False
        self._positions: dict[int, int] = {}
        self._calls = calls
        self._cluster = cluster
        self._checks = checks
        self._times = times
        self._random = random
        self._patience_s = PATIENCE_SESSIONS * times.session_timeout_ms / 1000
        self._node_id: int | None = None
        self._task = host.loop.create_task(self._run(), name="classic member")

    def failure(self) -> BaseException | None:
        """Find what ended the process, which nothing may."""
        if self._task.done() and not self._task.cancelled():
            return self._task.exception()
        return None

    def is_beyond(self, generation: int) -> bool:
        """True if it has joined a later one."""
        return self.joined is not None and self.joined.generation > generation

    async def _run(self) -> None:
        while not self.is_leaving:
            try:
                await self._act()
            except (UnknownMemberIdError, FencedInstanceIdError) as error:
                self._lose(error)
                self.member_id = ""
            except (RebalanceInProgressError, IllegalGenerationError) as error:
                self._lose(error)
            except (NotCoordinatorError, CallFailedError, UnreachableError):
                self._node_id = None
                await asyncio.sleep(RETRY_S)
            except TidelogError as error:
                if not error.is_retriable and not error.is_outcome_unknown:
                    raise
                await asyncio.sleep(RETRY_S)
        await self._leave()

    def _lose(self, error: KafkaError) -> None:
        if self.owned:
            self._cluster.note(self.name, f"lost {self.owned}: {type(error).__name__}")
        self.joined = self.owned = None

    async def _act(self) -> None:
        if self.joined is None:
            await self._join()
        elif self.owned is None:
            await self._sync(self.joined)
        else:
            await asyncio.sleep(self._times.session_timeout_ms / 1000 / BEAT_SHARE)
            await self._beat(self.joined, self.owned)

    # Calls

    async def _join(self) -> None:
        request = JoinRequest(
            "consumer",
            (MemberProtocol("range", b""),),
            self._times.session_timeout_ms,
            self._times.rebalance_timeout_ms,
            self.member_id,
            self.instance_id,
            client_id=self.name,
        )

        async def serve(coordinator: GroupCoordinator, _: Machine) -> JoinAnswer:
            return await coordinator.classic.join(CLASSIC_GROUP, request)

        patience_s = self._times.rebalance_timeout_ms / 1000 + self._patience_s
        try:
            answer = await self._calls.call(self._node(), JOIN, serve, timeout_s=patience_s)
        except MemberIdGivenError as given:
            self.member_id = given.member_id
            return
        self._checks.on_joined(answer)
        self.member_id, self.joined, self.owned = answer.member_id, answer, None

    async def _sync(self, joined: JoinAnswer) -> None:
        parts: Mapping[str, bytes] = {}
        if joined.leader == self.member_id and not joined.skip_assignment:
            parts = self._parts([one.member_id for one in joined.members])
            self._checks.on_sent(joined, parts)
        request = SyncRequest(
            self.member_id, joined.generation, self.instance_id, assignments=parts
        )

        async def serve(coordinator: GroupCoordinator, machine: Machine) -> SyncAnswer:
            arrival = self._checks.arrival_at(
                coordinator, machine, request.member_id, self.instance_id
            )
            answer = await coordinator.classic.sync(CLASSIC_GROUP, request)
            self._checks.on_synced(request, arrival)
            return answer

        answer = await self._calls.call(self._node(), SYNC, serve, timeout_s=self._patience_s)
        owned = tuple(answer.assignment)
        who = self.instance_id or self.member_id
        self._checks.on_owned(who, joined.generation, answer.assignment)
        await self._look_up(owned)
        self._cluster.note(self.name, f"generation {joined.generation} assigned {owned}")
        self.owned = owned

    async def _beat(self, joined: JoinAnswer, owned: Sequence[int]) -> None:
        request = HeartbeatRequest(self.member_id, joined.generation, self.instance_id)

        async def serve(coordinator: GroupCoordinator, machine: Machine) -> None:
            arrival = self._checks.arrival_at(
                coordinator, machine, request.member_id, self.instance_id
            )
            await coordinator.classic.heartbeat(CLASSIC_GROUP, request)
            self._checks.on_heartbeat(request.generation, arrival)

        await self._calls.call(self._node(), HEARTBEAT, serve, timeout_s=self._patience_s)
        if owned and self._random.random() < COMMIT_PROBABILITY:
            await self._commit(joined.generation, owned)

    async def _commit(self, generation: int, owned: Sequence[int]) -> None:
        topic_id, _ = self._cluster.partition_ids(FIRST)
        partition = owned[self._random.randrange(0, len(owned))]
        offset = self._positions[partition] + self._random.randrange(1, STEP_MAX + 1)
        self._positions[partition] = offset
        by = Committer(self.member_id, generation, self.instance_id)
        asked = TopicPartition(FIRST, topic_id, partition)

        async def serve(coordinator: GroupCoordinator, machine: Machine) -> None:
            arrival = self._checks.arrival_at(coordinator, machine, by.member_id, self.instance_id)
            results = await coordinator.commit(
                CLASSIC_GROUP, by, [(asked, CommittedOffset(offset))]
            )
            if results[0].error is None:
                self._checks.on_committed(by, arrival, (topic_id, partition), offset)

        await self._calls.call(self._node(), COMMIT, serve, timeout_s=self._patience_s)

    async def _look_up(self, owned: Sequence[int]) -> None:
        """Begin where the group committed, or where it has read to already."""
        topic_id, _ = self._cluster.partition_ids(FIRST)
        asked = [TopicPartition(FIRST, topic_id, one) for one in owned]

        async def serve(coordinator: GroupCoordinator, _: Machine) -> list[int]:
            acknowledged = self._checks.acknowledged_now()
            results = await coordinator.fetch(CLASSIC_GROUP, Committer(), asked)
            self._checks.on_fetched(results, acknowledged)
            return [one.committed.offset for one in results]

        found = await self._calls.call(
            self._node(), "ClassicFetch", serve, timeout_s=self._patience_s
        )
        self._positions = {
            partition: max(0, offset) for partition, offset in zip(owned, found, strict=True)
        }

    async def _leave(self) -> None:
        leaving = LeaveRequest((LeavingMember(self.member_id, self.instance_id),))

        async def serve(coordinator: GroupCoordinator, _: Machine) -> None:
            self._checks.on_leave(leaving)
            await coordinator.classic.leave(CLASSIC_GROUP, leaving)

        try:
            await self._calls.call(self._node(), LEAVE, serve, timeout_s=self._patience_s)
        except TidelogError as error:
            self._cluster.note(self.name, f"leaves: {type(error).__name__}")
        self.is_over = True

    def _parts(self, members: Sequence[str]) -> Mapping[str, bytes]:
        """Deal the partitions out, another way each time. Raises `UnreachableError`."""
        _, count = self._cluster.partition_ids(FIRST)
        if not count:
            raise UnreachableError("no node has the topic's metadata now")
        first = self._random.randrange(0, count)
        return {
            one: bytes(n for n in range(count) if (n + first) % len(members) == place)
            for place, one in enumerate(members)
        }

    def _node(self) -> int:
        """The coordinator, as long as it does not refuse. Raises `UnreachableError`."""
        if self._node_id is None:
            self._node_id = self._cluster.classic_coordinator()
        if self._node_id is None:
            raise UnreachableError("nobody leads the group's partition")
        return self._node_id
