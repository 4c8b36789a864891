"""A member of a group of the classic protocol, as Kafka's clients are: joins, syncs, heartbeats.

A process of its own. It assigns when it leads, reads what it is assigned, and commits. Owns the
protocol's steps; how it calls and reads is behind `classic_port`, and what it is told is checked by
`classic_checks`.
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
    SyncRequest,
)
from tidelog.broker.coordinator.committer import Committer
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
from tidelog.simulation.engine.network import Host
from tidelog.simulation.groups.classic_checks import ClassicChecks
from tidelog.simulation.groups.classic_port import MemberPorts
from tidelog.simulation.groups.simulation_config import ClassicTimes

BEAT_SHARE = 4
"""Heartbeats in a session."""
PATIENCE_SESSIONS = 0.5
"""Time for a call, in sessions: one that is lost costs no session, as with Kafka's defaults."""
RETRY_S = 0.1
COMMIT_PROBABILITY = 0.5
PROTOCOL_TYPE, PROTOCOL = "consumer", "range"


class ClassicCluster(Protocol):
    """The cluster, as the newest image shows it."""

    def partition_ids(self) -> tuple[bytes, int]:
        """Id of the topic, and its number of partitions; 0 without it."""

    def note(self, who: str, what: str) -> None:
        """For people."""


class ClassicMember:
    """A process from its start to its end."""

    def __init__(
        self,
        name: str,
        instance_id: str | None,
        host: Host,
        ports: MemberPorts,
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
        self._answered_s = host.loop.time()
        self._calls, self._reading = ports
        self._cluster = cluster
        self._checks = checks
        self._times = times
        self._random = random
        self._patience_s = PATIENCE_SESSIONS * times.session_timeout_ms / 1000
        self._task = host.loop.create_task(self._run(), name="classic member")

    def failure(self) -> BaseException | None:
        """Find what ended the process, which nothing may."""
        if self._task.done() and not self._task.cancelled():
            return self._task.exception()
        return None

    @property
    def is_answered_late(self) -> bool:
        """True when a call waits for so long that the coordinator may miss the next heartbeat."""
        silent_s = self.host.loop.time() - self._answered_s
        return silent_s > 2 * self._times.session_timeout_ms / 1000 / BEAT_SHARE

    def is_beyond(self, generation: int) -> bool:
        """True if it has joined a later one."""
        return self.joined is not None and self.joined.generation > generation

    async def _run(self) -> None:
        while not self.is_leaving:
            try:
                await self._act()
                self._answered_s = self.host.loop.time()
            except (UnknownMemberIdError, FencedInstanceIdError) as error:
                self._lose(error)
                self.member_id = ""
            except (RebalanceInProgressError, IllegalGenerationError) as error:
                self._lose(error)
            except (NotCoordinatorError, CallFailedError, UnreachableError):
                self._calls.forget_coordinator()
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
        self._reading.stop()

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
            PROTOCOL_TYPE,
            (MemberProtocol(PROTOCOL, b""),),
            self._times.session_timeout_ms,
            self._times.rebalance_timeout_ms,
            self.member_id,
            self.instance_id,
            client_id=self.name,
        )
        patience_s = self._times.rebalance_timeout_ms / 1000 + self._patience_s
        try:
            answer = await self._calls.join(request, timeout_s=patience_s)
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
            self.member_id,
            joined.generation,
            self.instance_id,
            PROTOCOL_TYPE,
            PROTOCOL,
            assignments=parts,
        )
        answer = await self._calls.sync(request, timeout_s=self._patience_s)
        owned = tuple(answer.assignment)
        who = self.instance_id or self.member_id
        self._checks.on_owned(who, joined.generation, answer.assignment)
        # Begin where the group committed, or where it has read to already.
        committed = await self._calls.fetch(owned, timeout_s=self._patience_s)
        self._reading.begin(dict(zip(owned, committed, strict=True)))
        self._cluster.note(self.name, f"generation {joined.generation} assigned {owned}")
        self.owned = owned

    async def _beat(self, joined: JoinAnswer, owned: Sequence[int]) -> None:
        request = HeartbeatRequest(self.member_id, joined.generation, self.instance_id)
        await self._calls.heartbeat(request, timeout_s=self._patience_s)
        if owned and self._random.random() < COMMIT_PROBABILITY:
            by = Committer(self.member_id, joined.generation, self.instance_id)
            if (chosen := self._reading.next_commit()) is not None:
                partition, committed = chosen
                await self._calls.commit(by, partition, committed, timeout_s=self._patience_s)
                self._reading.on_committed(partition, committed.offset)

    async def _leave(self) -> None:
        self._reading.stop()
        leaving = LeaveRequest((LeavingMember(self.member_id, self.instance_id),))
        try:
            await self._calls.leave(leaving, timeout_s=self._patience_s)
        except TidelogError as error:
            self._cluster.note(self.name, f"leaves: {type(error).__name__}")
        self.is_over = True

    def _parts(self, members: Sequence[str]) -> Mapping[str, bytes]:
        """Deal the partitions out, another way each time. Raises `UnreachableError`."""
        _, count = self._cluster.partition_ids()
        if not count:
            raise UnreachableError("no node has the topic's metadata now")
        first = self._random.randrange(0, count)
        return {
            one: bytes(n for n in range(count) if (n + first) % len(members) == place)
            for place, one in enumerate(members)
        }
