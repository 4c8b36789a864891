"""The partitions of a consumer that is a member of a group, as they come and go.

One task carries out assignments, in this order: hold what goes, wait until the application is done
with what it has of it, commit, call the listener, forget, say so; then look up where to begin, call
the listener, read. Partitions that stay are read on meanwhile. What is lost is dropped at once.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tidelog.client.backoff import Backoff
from tidelog.client.consuming.assignment import Assignment, Position
from tidelog.client.consuming.consumer_options import MemberOptions, PollOptions
from tidelog.client.consuming.fetcher import Fetcher
from tidelog.client.consuming.handed_out import HandedOut, with_epochs
from tidelog.client.consuming.ready_records import ReadyRecords
from tidelog.client.consuming.subscriptions import Looks
from tidelog.client.errors import TidelogError
from tidelog.client.groups.committed import CommittedOffsets, Found, Turn
from tidelog.client.groups.coordinator_calls import CoordinatorCalls
from tidelog.client.groups.group_member import GroupMember
from tidelog.client.groups.listener import (
    AnyConsumer,
    GroupMetadata,
    OffsetAndMetadata,
    RebalanceListener,
)
from tidelog.client.groups.membership import Membership, PartitionId, Partitions, Subscription
from tidelog.client.records import TopicPartition
from tidelog.client.routing import Routing
from tidelog.client.unwinding import unwind

_log = logging.getLogger(__name__)

LOOK_UP_MS = 5_000
"""Longest look-up of committed offsets before it begins again."""


@dataclass(frozen=True, slots=True)
class ReadingParts:
    """Parts of the consumer that hold what is read."""

    routing: Routing
    assignment: Assignment
    fetcher: Fetcher
    ready: ReadyRecords[Any, Any]  # of any records


class GroupReader:
    """Membership of a consumer, see `Consumer`."""

    _is_suspended = False
    _is_joined = False
    """True from `subscribe` until the group is left."""
    _is_polling = False
    """True while the application waits for records."""
    _is_late = False
    """True when it has not asked for any within max_poll_interval_ms."""

    def __init__(
        self,
        options: MemberOptions,
        polls: PollOptions,
        looks: Looks,
        parts: ReadingParts,
        *,
        consumer: AnyConsumer,
        backoff: Backoff,
    ) -> None:
        self._options = options
        self._polls = polls
        self._looks = looks
        self._parts = parts
        self._consumer = consumer
        self._clock = parts.routing.clock
        member_id = parts.routing.random.randbytes(16).hex()
        self._membership = Membership(options.group_id, member_id, options.instance_id)
        self.reset = looks.reset
        """Start of a partition of which nothing is committed."""
        calls = CoordinatorCalls(
            parts.routing,
            options.group_id,
            backoff=backoff,
            request_timeout_ms=looks.request_timeout_ms,
        )
        self._offsets = CommittedOffsets(
            calls,
            self._membership,
            is_subscribed=lambda: self._is_joined,
            start_timeout_ms=looks.api_timeout_ms,
        )
        parts.fetcher.find_committed = self._offsets.find_start
        self._member = GroupMember(
            self._membership,
            calls,
            said=lambda: self._said,
            events=self,
            backoff=backoff,
            request_timeout_ms=looks.request_timeout_ms,
        )
        self._said = Subscription()
        self._listener = RebalanceListener()
        self._handed = HandedOut()
        self._names: dict[PartitionId, TopicPartition] = {}
        self._going: set[TopicPartition] = set()
        self._coming: set[TopicPartition] = set()
        self._lost: list[TopicPartition] | None = None
        self._failure: Exception | None = None
        """Raised by the listener, and not by a read yet."""
        self._refusal: TidelogError | None = None
        """The coordinator's last word; `subscribe` tries again."""
        self._polled_ms = self._clock.monotonic_ms()
        self._work = asyncio.Event()
        self._asked = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self._commits: set[asyncio.Task[None]] = set()

    # The application

    @property
    def is_subscribed(self) -> bool:
        """True from `subscribe` to `unsubscribe`."""
        return bool(self._tasks)

    @property
    def metadata(self) -> GroupMetadata:
        """The membership in which the application's records were handed out, if it lasts."""
        return self._membership.metadata(is_subscribed=self._is_joined)

    @property
    def membership_error(self) -> TidelogError | None:
        """See `Consumer.membership_error`."""
        return self._refusal or self._member.failure

    def subscribe(
        self, topics: Iterable[str], pattern: str, listener: RebalanceListener | None
    ) -> None:
        """Join the group with a subscription, or change the one of before."""
        self._said = Subscription(
            topics=frozenset(topics),
            pattern=pattern,
            assignor=self._options.assignor,
            rack_id=self._options.rack_id,
            client_id=self._options.client_id,
            rebalance_timeout_ms=self._polls.max_poll_interval_ms,
        )
        self._listener = listener or self._listener
        self._polled_ms = self._clock.monotonic_ms()
        if self._tasks and self._refusal is None:
            self._member.say()
            return
        self._refusal = None
        for task in self._tasks:
            task.cancel()
        self._is_joined = True
        self._member.start()
        self._tasks = [asyncio.create_task(self._carry_out_forever(), name="group-assignments")]
        if self._polls.enable_auto_commit:
            self._tasks.append(asyncio.create_task(self._commit_forever(), name="auto-commit"))

    async def unsubscribe(self, *, is_clean: bool = True, timeout_ms: int) -> None:
        """Commit, call the listener, leave the group; within the time, always."""
        if not self._tasks:
            return
        tasks, self._tasks = self._tasks, []
        try:
            async with asyncio.timeout(timeout_ms / 1000):
                await unwind(tasks)
                await self._finish(is_clean=is_clean)
                await self._member.stop()
                if self._membership.is_member:
                    await self._member.leave(timeout_ms=timeout_ms)
        except (TimeoutError, TidelogError) as error:
            _log.warning("group %s: left without an answer: %s", self._options.group_id, error)
        finally:
            await self._member.stop()
            await unwind(self._commits)
            self._is_joined = False
            self._membership.lose()
            self._drop(self._assigned())
            self._lost = None

    async def _finish(self, *, is_clean: bool) -> None:
        held = self._assigned()
        self._hold(held)
        if self._lost:
            await self._call(self._listener.on_partitions_lost, self._lost)
        if not held:
            return
        if self._polls.enable_auto_commit:
            if is_clean:
                self._handed.ask()
            await self._commit_done(self._positions(held))
        await self._call(self._listener.on_partitions_revoked, held)

    def ask(self) -> None:
        """Note that the application asks for more: it is done with what it has."""
        self._handed.ask()
        self._is_polling = True
        self._asked.set()
        self.raise_failure()

    def raise_failure(self) -> None:
        """Raise the error for which the member was refused, or that its listener raised."""
        if self._refusal is not None:
            raise self._refusal
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure

    def hand(self, tp: TopicPartition, offset: int) -> None:
        """Note that a record is handed out."""
        self._handed.hand(tp, offset)

    def look(self) -> None:
        """Look whether the membership lasts, right before records are handed out."""
        self._member.look()

    def end_poll(self) -> None:
        """Note that the application has what it asked for."""
        self._is_polling = False
        self._membership.note_handed()
        self._polled_ms = self._clock.monotonic_ms()

    def extend_poll(self, duration_ms: int) -> None:
        """Have `max_poll_interval_ms` count from that much later."""
        self._polled_ms = max(self._polled_ms, self._clock.monotonic_ms()) + duration_ms

    # Offsets

    async def commit(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata] | None = None
    ) -> None:
        """Commit offsets; None: all that was handed out. Raises as `CommittedOffsets.commit`."""
        if offsets is None:
            offsets = self._handed.done(self._parts.assignment.all(), is_all=True)
        turn = self._offsets.take_turn()
        await self._commit(offsets, turn, timeout_ms=self._looks.api_timeout_ms)

    def commit_soon(
        self,
        offsets: Mapping[TopicPartition, OffsetAndMetadata] | None,
        on_done: Callable[[TidelogError | None], None] | None,
    ) -> None:
        """Commit in the background, after commits of before."""
        if offsets is None:
            offsets = self._handed.done(self._parts.assignment.all(), is_all=True)
        turn = self._offsets.take_turn()
        task = asyncio.create_task(self._commit_quietly(dict(offsets), turn, on_done))
        self._commits.add(task)
        task.add_done_callback(self._commits.discard)
        task.add_done_callback(lambda _: turn.end())  # if it was cancelled before its start

    async def committed(
        self, partitions: Iterable[TopicPartition]
    ) -> dict[TopicPartition, OffsetAndMetadata | None]:
        """Look up committed offsets."""
        return await self._offsets.fetch(partitions, timeout_ms=self._looks.api_timeout_ms)

    async def _commit(
        self,
        offsets: Mapping[TopicPartition, OffsetAndMetadata],
        turn: Turn,
        *,
        timeout_ms: int,
    ) -> None:
        ids = {tp: topic_id for (topic_id, _), tp in self._names.items()}
        offsets = with_epochs(offsets, self._parts.assignment)
        await self._offsets.commit(offsets, ids, turn=turn, timeout_ms=timeout_ms)
        for tp, committed in offsets.items():
            self._handed.note_committed(tp, committed.offset)

    async def _commit_quietly(
        self,
        offsets: Mapping[TopicPartition, OffsetAndMetadata],
        turn: Turn,
        on_done: Callable[[TidelogError | None], None] | None = None,
    ) -> None:
        failure: TidelogError | None = None
        try:
            await self._commit(offsets, turn, timeout_ms=self._looks.api_timeout_ms)
        except TidelogError as error:
            failure = error
            if on_done is None:
                _log.warning("group %s: no commit: %s", self._options.group_id, error)
        if on_done is not None:
            on_done(failure)

    async def _commit_forever(self) -> None:
        while True:
            await asyncio.sleep(self._polls.auto_commit_interval_ms / 1000)
            await self._commit_done(self._parts.assignment.all())

    async def _commit_done(self, positions: Iterable[Position]) -> None:
        if offsets := self._handed.done(positions):
            await self._commit_quietly(offsets, self._offsets.take_turn())

    # Events of the member, see `MemberEvents`

    def on_offer(self) -> None:
        """See `MemberEvents`."""
        self._work.set()

    def on_lost(self, why: str) -> None:
        """See `MemberEvents`."""
        lost = self._assigned()
        _log.warning("group %s: %s partitions lost: %s", self._options.group_id, len(lost), why)
        self._drop(lost)
        self._names.clear()
        self._going.clear()
        self._coming.clear()
        self._lost = [*(self._lost or ()), *lost]
        self._asked.set()
        self._work.set()

    def on_failure(self, error: TidelogError) -> None:
        """See `MemberEvents`."""
        self._refusal = error
        self.on_lost(f"{error}")
        self._parts.fetcher.wake_reader()

    def on_look(self) -> None:
        """See `MemberEvents`."""
        now_ms = self._clock.monotonic_ms()
        is_suspended = self._membership.is_member and self._membership.is_suspended(now_ms)
        if is_suspended != self._is_suspended:
            self._is_suspended = is_suspended
            if is_suspended:
                self._hold(self._assigned())
            else:
                self._release(self._assigned())
        is_late = now_ms - self._polled_ms >= self._polls.max_poll_interval_ms
        if is_late and not self._is_polling and self._membership.is_member:
            self._is_late = True
            self._member.lose(
                f"no poll within max_poll_interval_ms={self._polls.max_poll_interval_ms}: ask "
                "for fewer records at once, or call extend_poll"
            )

    # Carrying out assignments

    async def _carry_out_forever(self) -> None:
        while True:
            self._work.clear()
            try:
                is_done = await self._carry_out_once()
            except TidelogError as error:
                _log.warning("group %s: %s", self._options.group_id, error)
                await asyncio.sleep(0.1)
                continue
            if is_done:
                await self._work.wait()

    async def _carry_out_once(self) -> bool:
        """Take the next step; True if there is none."""
        if self._lost is not None:
            lost, self._lost = self._lost, None
            if lost:
                await self._call(self._listener.on_partitions_lost, lost)
            if self._is_late:
                await self._stay_away()
            if not self._has_lost() and self._refusal is None:
                self._member.rejoin()
            return False
        membership, offer = self._membership, self._membership.offer
        if membership.is_reconciled:
            return True
        if going := membership.owned - offer.partitions:
            owned = await self._let_go(going)
        else:
            owned = await self._take(offer.partitions - membership.owned)
        if owned is not None:
            membership.note_owned(owned, offer)
            self._member.say()
        return False

    def _has_lost(self) -> bool:
        return self._lost is not None

    async def _stay_away(self) -> None:
        """Leave the group until the application asks for records again."""
        with contextlib.suppress(TidelogError):
            await self._member.leave(timeout_ms=self._looks.request_timeout_ms)
        while not self._is_polling:
            self._asked.clear()
            await self._asked.wait()
        self._is_late = False

    async def _let_go(self, going: Partitions) -> Partitions | None:
        """Let go of partitions; return what is owned then, or None if all was lost meanwhile."""
        incarnation = self._membership.incarnation
        names = sorted(self._names[one] for one in going if one in self._names)
        self._going.update(names)
        self._hold(names)
        while self._handed.has_any(names):
            self._asked.clear()
            await self._asked.wait()
        if self._polls.enable_auto_commit:
            await self._commit_done(self._positions(names))
        if self._membership.incarnation == incarnation and names:
            await self._call(self._listener.on_partitions_revoked, names)
        if self._membership.incarnation != incarnation:
            return None
        self._drop(names)
        self._offsets.note_released(names)
        self._going.difference_update(names)
        for one in going:
            self._names.pop(one, None)
        return self._membership.owned - going

    async def _take(self, coming: Partitions) -> Partitions | None:
        """Begin to read partitions; return what is owned then, or None as `_let_go`."""
        incarnation = self._membership.incarnation
        found: list[Found] = []
        if coming:
            found = await self._offsets.fetch_assigned(sorted(coming), timeout_ms=LOOK_UP_MS)
        if self._membership.incarnation != incarnation:
            return None
        self._add(found)
        names = [one.tp for one in found]
        if names:
            await self._call(self._listener.on_partitions_assigned, names)
        if self._membership.incarnation != incarnation:
            return None
        self._coming.difference_update(names)
        self._release(names)
        return self._membership.owned | coming

    def _add(self, found: Sequence[Found]) -> None:
        parts = self._parts
        self._coming.update(one.tp for one in found)
        assigned = [*self._assigned(), *(one.tp for one in found)]
        parts.assignment.assign(assigned, reset=self._looks.reset)
        for one in found:
            self._names[one.topic_id, one.tp.partition] = one.tp
            position = parts.assignment.get(one.tp)
            if position is None:
                continue
            position.is_held = True
            position.fixed_id = position.topic_id = one.topic_id
            position.committed_epoch = -1
            position.is_new = False  # nothing is committed, if there is no offset
            if one.committed is not None:
                position.seek(one.committed.offset, topic_id=one.topic_id)
                if one.committed.leader_epoch is not None:
                    position.committed_epoch = one.committed.leader_epoch
                self._handed.note_committed(one.tp, one.committed.offset)
        self._positions_changed()

    def _drop(self, partitions: Iterable[TopicPartition]) -> None:
        dropped = set(partitions)
        left = [tp for tp in self._assigned() if tp not in dropped]
        self._parts.assignment.assign(left, reset=self._looks.reset)
        self._handed.retain(set(left))
        self._positions_changed()

    def _assigned(self) -> list[TopicPartition]:
        return [one.tp for one in self._parts.assignment.all()]

    def _positions(self, partitions: Iterable[TopicPartition]) -> list[Position]:
        found = (self._parts.assignment.get(tp) for tp in partitions)
        return [one for one in found if one is not None]

    def _hold(self, partitions: Iterable[TopicPartition]) -> None:
        for position in self._positions(partitions):
            position.is_held = True
        self._parts.ready.set_paused_aside()

    def _release(self, partitions: Iterable[TopicPartition]) -> None:
        if self._is_suspended:
            return
        busy = self._going | self._coming
        released = self._positions(tp for tp in partitions if tp not in busy)
        for position in released:
            position.is_held = False
        self._parts.fetcher.resume([one for one in released if not one.is_paused])

    def _positions_changed(self) -> None:
        self._parts.ready.positions_changed()
        self._parts.fetcher.restart()

    async def _call(
        self,
        callback: Callable[[AnyConsumer, Sequence[TopicPartition]], Awaitable[None]],
        partitions: Sequence[TopicPartition],
    ) -> None:
        try:
            await callback(self._consumer, list(partitions))
        except Exception as error:  # noqa: BLE001  # the application's, raised by its next read
            _log.exception("group %s: the listener raised", self._options.group_id)
            self._failure = error
            self._parts.fetcher.wake_reader()
