"""Calls of members of classic groups: each waits until it is answered and that is committed.

The shell over `ClassicGroups`, and the plain interface under a listener of Kafka's protocol: its
requests and answers are those of `classic_messages`. Owns who waits, and when each group has to be
looked at. A step that could not be appended has its group begin again with its recorded generation,
as under a new coordinator: all that wait are refused, and ask again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import NamedTuple, Protocol, TypeAlias, TypeVar
from uuid import UUID

from tidelog.broker.coordinator.append_refusals import is_final
from tidelog.broker.coordinator.classic_member import member_id_of
from tidelog.broker.coordinator.classic_messages import (
    Answer,
    ClassicStep,
    HeartbeatRequest,
    JoinAnswer,
    JoinRequest,
    LeaveRequest,
    SyncAnswer,
    SyncRequest,
    Ticket,
)
from tidelog.broker.coordinator.coordinator_records import CoordinatorRecord
from tidelog.broker.coordinator.deadlines import Deadlines
from tidelog.broker.coordinator.group_key import check_group_id
from tidelog.broker.coordinator.group_shard import GroupShard
from tidelog.broker.coordinator.moment import Moment
from tidelog.broker.coordinator.runtime import Hosted, Status
from tidelog.core.env import Clock, Random
from tidelog.core.errors import (
    CoordinatorNotAvailableError,
    InvariantError,
    KafkaError,
    NotCoordinatorError,
    TidelogError,
)
from tidelog.core.logs import get_logger

log = get_logger(__name__)

GROUPS_PER_TURN = 20
"""Groups that are looked at before other work has the loop."""
STALL_MS = 500
"""Lateness from which on a look at sessions waits as long again.

Heartbeats lie unread in sockets then: a coordinator that was paused has to hear them first.
"""

A = TypeVar("A", JoinAnswer, SyncAnswer)
HostedGroups: TypeAlias = Hosted[GroupShard]


class CommitWait(Protocol):
    """Function that waits for commits."""

    def __call__(self, hosted: HostedGroups, end_offset: int, *, is_write: bool) -> Awaitable[None]:
        """Wait until the records below an offset are committed, see `Hosted.committed`."""


class _Watched(NamedTuple):
    """A group of a shard."""

    hosted: HostedGroups
    group_id: str


class _Answered(NamedTuple):
    """An answer that holds once the records below `end_offset` are committed."""

    end_offset: int
    answer: Answer | KafkaError


class _Waiting(NamedTuple):
    """A caller."""

    hosted: HostedGroups
    answered: asyncio.Future[_Answered]


class ClassicCalls:
    """Members of classic groups, of the partitions that this broker leads.

    Methods raise `KafkaError`: those of `ClassicRequests`; NOT_COORDINATOR when the leader epoch
    ends; COORDINATOR_NOT_AVAILABLE when the internal topic takes no records now.
    """

    def __init__(
        self,
        *,
        find: Callable[[str], HostedGroups],
        committed: CommitWait,
        proof: Callable[[], list[CoordinatorRecord]],
        clock: Clock,
        random: Random,
    ) -> None:
        """`find` finds the shard of a group, or raises `KafkaError`.

        `proof` makes the records that an answer from memory has to wait for (decision 0056).
        """
        self._find = find
        self._committed = committed
        self._proof = proof
        self._clock = clock
        self._random = random
        self._tickets = 0
        self._waiting: dict[Ticket, _Waiting] = {}
        self._deadlines: Deadlines[_Watched] = Deadlines()
        self._awake_ms: int | None = None
        self._earlier = asyncio.Event()
        """Set when there is an earlier time than the one that is waited for."""

    @property
    def waiting_count(self) -> int:
        """Number of callers that wait for an answer."""
        return len(self._waiting)

    # Requests

    async def join(self, group_id: str, request: JoinRequest) -> JoinAnswer:
        """Join, or join again; return when the group has its next generation.

        Raises `MemberIdGivenError` with the id to join with, for a member that has none.
        """
        fresh_id = member_id_of(request, UUID(bytes=self._random.randbytes(16), version=4))

        def decide(shard: GroupShard, ticket: Ticket) -> ClassicStep:
            return shard.join(group_id, request, ticket=ticket, fresh_id=fresh_id, now=self._now())

        return await self._ask(group_id, decide, JoinAnswer)

    async def sync(self, group_id: str, request: SyncRequest) -> SyncAnswer:
        """Ask for the member's assignment; return when the leader has brought it."""

        def decide(shard: GroupShard, ticket: Ticket) -> ClassicStep:
            return shard.classic.sync(group_id, request, ticket=ticket, now=self._now())

        return await self._ask(group_id, decide, SyncAnswer)

    async def heartbeat(self, group_id: str, request: HeartbeatRequest) -> None:
        """Renew a member's session; nothing of it is recorded.

        Waits only while the controllers do not hear this broker (decision 0056). Raises
        `RebalanceInProgressError` when the member has to join again.
        """
        check_group_id(group_id)
        hosted = self._find(group_id)
        hosted.shard.classic.heartbeat(group_id, request, self._now())
        if proof := self._proof():
            await self._committed(hosted, hosted.append(proof), is_write=False)

    async def leave(self, group_id: str, request: LeaveRequest) -> list[KafkaError | None]:
        """Remove members; a result for each, None: it is gone."""
        check_group_id(group_id)
        hosted = self._find(group_id)
        decision = hosted.shard.classic.leave(group_id, request, self._now())
        end = self._apply(hosted, group_id, decision.step)
        await self._committed(hosted, end, is_write=bool(decision.step.records))
        return decision.results

    async def _ask(
        self,
        group_id: str,
        decide: Callable[[GroupShard, Ticket], ClassicStep],
        kind: type[A],
    ) -> A:
        check_group_id(group_id)
        hosted = self._find(group_id)
        self._tickets += 1
        ticket = self._tickets
        try:
            step = decide(hosted.shard, ticket)
        except KafkaError:
            self._watch(hosted, group_id)  # an id that was given has its end, too
            raise
        answered = asyncio.get_running_loop().create_future()
        self._waiting[ticket] = _Waiting(hosted, answered)
        try:
            self._apply(hosted, group_id, step)
            end, answer = await answered
        except asyncio.CancelledError:
            hosted.shard.classic.cancel(group_id, ticket, self._now())
            self._watch(hosted, group_id)
            raise
        finally:
            del self._waiting[ticket]
        await self._committed(hosted, end, is_write=False)
        if isinstance(answer, KafkaError):
            raise answer
        if not isinstance(answer, kind):
            raise InvariantError(f"ticket {ticket} has an answer to another request: {answer}")
        return answer

    # Steps

    def _apply(self, hosted: HostedGroups, group_id: str, step: ClassicStep) -> int:
        """Append a step and pass on its answers; return the end that they saw."""
        try:
            # An answer of a generation that is there already is one from memory.
            is_from_memory = bool(step.answers) and not step.records
            end = hosted.append(self._proof() if is_from_memory else step.records)
        except TidelogError as error:
            waiting = hosted.shard.classic.restart(group_id, self._now())
            for ticket in (*waiting, *(ticket for ticket, _ in step.answers)):
                self._answer(ticket, _Answered(0, _refusal(error)))
            self._watch(hosted, group_id)
            raise _refusal(error) from error
        for ticket, answer in step.answers:
            self._answer(ticket, _Answered(end, answer))
        self._watch(hosted, group_id)
        return end

    def _answer(self, ticket: Ticket, answered: _Answered) -> None:
        waiting = self._waiting.get(ticket)
        if waiting is not None and not waiting.answered.done():
            waiting.answered.set_result(answered)

    # Time

    def _watch(self, hosted: HostedGroups, group_id: str) -> None:
        """Look at the group again when the next of its times is over."""
        if hosted.status is Status.OVER:
            return
        next_ms = hosted.shard.classic.next_deadline_ms(group_id)
        self._deadlines.set(_Watched(hosted, group_id), next_ms)
        if next_ms is not None and (self._awake_ms is None or next_ms < self._awake_ms):
            self._earlier.set()

    async def watch_forever(self) -> None:
        """End sessions and waits as soon as their time is over."""
        while True:
            self._earlier.clear()
            self._awake_ms = next_ms = self._deadlines.next_ms
            wait_s = None
            if next_ms is not None:
                wait_s = (next_ms - self._clock.monotonic_ms()) / 1000
            if wait_s is None or wait_s > 0:
                with suppress(TimeoutError):
                    async with asyncio.timeout(wait_s):
                        await self._earlier.wait()
                continue
            if wait_s <= -STALL_MS / 1000:
                await asyncio.sleep(STALL_MS / 1000)
            await self._expire_due()

    async def _expire_due(self) -> None:
        due = self._deadlines.take_due(self._clock.monotonic_ms())
        for number, (hosted, group_id) in enumerate(due, start=1):
            if hosted.status is Status.ACTIVE:
                step = hosted.shard.classic.expire(group_id, self._now())
                try:
                    self._apply(hosted, group_id, step)
                except KafkaError as error:
                    log.info("group begins again", group=group_id, error=str(error))
            if number % GROUPS_PER_TURN == 0:
                await asyncio.sleep(0)

    # Shards

    async def on_loaded(self, hosted: HostedGroups) -> None:
        """Begin the sessions of a shard that was loaded."""
        for number, group_id in enumerate(list(hosted.shard.classic.by_id), start=1):
            hosted.shard.classic.after_load(group_id, self._now())
            self._watch(hosted, group_id)
            if number % GROUPS_PER_TURN == 0:
                await asyncio.sleep(0)

    def on_ended(self, hosted: HostedGroups) -> None:
        """Refuse those who wait: they have to find the next coordinator."""
        self._deadlines.discard(lambda one: one.hosted is hosted)
        for ticket, waiting in self._waiting.items():
            if waiting.hosted is hosted:
                self._answer(ticket, _Answered(0, _gone()))

    def stop(self) -> None:
        """Refuse all who wait: the broker stops."""
        for ticket in self._waiting:
            self._answer(ticket, _Answered(0, _gone()))

    def _now(self) -> Moment:
        return Moment(self._clock.monotonic_ms(), self._clock.wall_ms())


def _refusal(error: TidelogError) -> KafkaError:
    """Refuse a request that may be made again, whatever became of the records, unless for good."""
    if isinstance(error, NotCoordinatorError):
        return _gone()
    if isinstance(error, KafkaError) and is_final(error):
        return error
    return CoordinatorNotAvailableError(f"the group's state could not be recorded: {error}")


def _gone() -> KafkaError:
    return NotCoordinatorError("this broker is not the coordinator any more: look it up again")
