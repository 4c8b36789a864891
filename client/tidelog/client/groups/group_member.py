"""A member's connection to its coordinator: heartbeats, pushes, and the end of its session.

Heartbeats need no application. A stream that breaks is opened again, at another coordinator if it
moved, with jitter between the attempts. A member that is fenced, or was not answered for a session,
owns nothing from then on; it joins again when the application has heard of it.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable
from typing import Any, Protocol

from tidelog.client.backoff import Backoff
from tidelog.client.errors import (
    CallFailedError,
    TidelogError,
    UnreachableError,
    UnreleasedInstanceIdError,
)
from tidelog.client.groups.coordinator_calls import RETRIED, CoordinatorCalls
from tidelog.client.groups.membership import Membership, Subscription
from tidelog.client.unwinding import unwind
from tidelog.v1 import common_pb2
from tidelog.v1.methods import CONSUMER_GROUP_HEARTBEAT, GROUP_STREAM

_log = logging.getLogger(__name__)

_FENCED = frozenset({common_pb2.FENCED_MEMBER_EPOCH, common_pb2.UNKNOWN_MEMBER_ID})
LOOK_MS_MAX = 1_000
"""Longest time between two looks at the session."""


class MemberEvents(Protocol):
    """Callbacks of a member, on the loop; they return at once."""

    def on_offer(self) -> None:
        """Another assignment is to be carried out."""

    def on_lost(self, why: str) -> None:
        """Everything is lost; `GroupMember.rejoin` when the application has dropped it."""

    def on_failure(self, error: TidelogError) -> None:
        """The coordinator refuses the member for good."""

    def on_look(self) -> None:
        """Some time has passed, or the connection broke or is back."""


class GroupMember:
    """A membership, from `start` to `stop`."""

    def __init__(
        self,
        membership: Membership,
        calls: CoordinatorCalls,
        *,
        said: Callable[[], Subscription],
        events: MemberEvents,
        backoff: Backoff,
        request_timeout_ms: int,
    ) -> None:
        self._membership = membership
        self._calls = calls
        self._said = said
        self._events = events
        self._backoff = backoff
        self._request_timeout_ms = request_timeout_ms
        self._routing = calls.routing
        self._to_say = asyncio.Event()
        self._has_word = False
        """True when there is something to say since the last request was made."""
        self._may_join = asyncio.Event()
        self._may_join.set()
        self._news = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self._unreleased_ms: int | None = None
        self._failure: TidelogError | None = None
        """Error of the last attempt to join; None: the coordinator answered."""
        self._logged = ""

    @property
    def failure(self) -> TidelogError | None:
        """Reason for which it is no member yet, or no more; None: it is one, or just begins."""
        if self._membership.is_member:
            return None
        return self._failure or self._calls.failure

    def start(self) -> None:
        """Join, and stay a member."""
        self._failure = None
        self._tasks = [
            asyncio.create_task(self._connect_forever(), name="group-member"),
            asyncio.create_task(self._look_forever(), name="group-session"),
        ]

    async def stop(self) -> None:
        """End the connection; the membership lasts, see `leave`."""
        tasks, self._tasks = self._tasks, []
        await unwind(tasks)

    async def leave(self, *, timeout_ms: int) -> None:
        """Say to the coordinator that the member goes. Raises the last error after the time."""
        await self._calls.call(
            CONSUMER_GROUP_HEARTBEAT,
            lambda: self._membership.leave_request(self._now_ms()),
            timeout_ms=timeout_ms,
        )

    def say(self) -> None:
        """Send a heartbeat soon, since the member has something to say.

        When the last one is answered: a coordinator that is slow would get ever more of them.
        """
        self._has_word = True
        self._speak()

    def _speak(self) -> None:
        if self._has_word and not self._membership.awaits_answer:
            self._to_say.set()

    def rejoin(self) -> None:
        """Join again after everything was lost."""
        self._may_join.set()
        self._has_word = True
        self._to_say.set()  # nothing that was sent before is waited for

    def lose(self, why: str) -> None:
        """Own nothing from now on."""
        self._may_join.clear()
        self._membership.lose()
        self._events.on_lost(why)

    # The connection

    async def _connect_forever(self) -> None:
        failures = 0
        while True:
            began_ms = self._now_ms()
            try:
                await self._talk_once()
            except TidelogError as error:
                self._note_failure(error, began_ms=began_ms)
                if not self._is_transient(error):
                    self._membership.lose()
                    self._events.on_failure(error)
                    return
            self._note_broken()
            # A connection that held for long ended for another reason than those before.
            failures = 1 if self._now_ms() - began_ms > self._request_timeout_ms else failures + 1
            delay_ms = self._backoff.delay_ms(failures, self._routing.random)
            await asyncio.sleep(delay_ms / 1000)

    def _note_failure(self, error: TidelogError, *, began_ms: int) -> None:
        """Keep why it is no member; log each reason once that lasts for a heartbeat interval."""
        membership = self._membership
        has_lasted = self._now_ms() - began_ms >= membership.heartbeat_interval_ms
        if has_lasted and not membership.is_member and f"{error}" != self._logged:
            self._logged = f"{error}"
            _log.warning("group %s: not joined: %s", membership.group_id, error)
        self._failure = error

    def _is_transient(self, error: TidelogError) -> bool:
        """True if another attempt may help."""
        if isinstance(error, (UnreachableError, CallFailedError)):
            self._calls.forget()
            return True
        if isinstance(error, UnreleasedInstanceIdError):
            return self._may_be_released(error)
        return error.code in RETRIED

    def _may_be_released(self, error: UnreleasedInstanceIdError) -> bool:
        """True while the instance id may be that of a former self that was killed.

        Such a member is silent until its session expires. A member that was heard since the first
        refusal lives, and keeps the id.
        """
        now_ms = self._now_ms()
        if self._unreleased_ms is None:
            self._unreleased_ms = now_ms
            _log.warning("waiting for the end of a former member's session: %s", error.message)
        waited_ms = now_ms - self._unreleased_ms
        if error.holder_silent_ms is not None and error.holder_silent_ms < waited_ms:
            return False
        return waited_ms <= 2 * self._membership.session_timeout_ms

    def _note_broken(self) -> None:
        self._membership.note_broken(self._now_ms())
        self._news.set()

    async def _talk_once(self) -> None:
        deadline_ms = self._now_ms() + self._request_timeout_ms
        address = await self._calls.address(deadline_ms=deadline_ms)
        stream = await self._routing.transport.open_stream(address, GROUP_STREAM)
        receiving = asyncio.create_task(self._receive(stream))
        try:
            await self._send(stream, receiving)
        finally:
            stream.close()
            await unwind([receiving])

    async def _send(self, stream: Any, receiving: asyncio.Task[None]) -> None:  # a Stream
        while True:
            await self._may_join.wait()
            self._to_say.clear()
            if not self._membership.awaits_join:
                self._has_word = False
                await stream.send(self._membership.request(self._said(), self._now_ms()))
            saying = asyncio.create_task(self._to_say.wait())
            try:
                await asyncio.wait(
                    {receiving, saying},
                    timeout=self._wait_ms() / 1000,
                    return_when=asyncio.FIRST_COMPLETED,
                )
            finally:
                saying.cancel()
            if receiving.done():
                receiving.result()
            silent_ms = self._membership.unanswered_ms(self._now_ms())
            if silent_ms >= self._request_timeout_ms:
                raise CallFailedError(f"the coordinator did not answer for {silent_ms} ms")

    def _wait_ms(self) -> int:
        silent_ms = self._membership.unanswered_ms(self._now_ms())
        return max(
            1, min(self._membership.heartbeat_interval_ms, self._request_timeout_ms - silent_ms)
        )

    async def _receive(self, stream: Any) -> None:  # a Stream
        while True:
            self._take(await stream.receive())

    def _take(self, response: Any) -> None:  # a ConsumerGroupHeartbeatResponse
        membership = self._membership
        if response.sequence and not membership.is_awaited(response.sequence):
            return  # an answer to what was asked before everything was lost
        if not response.sequence and not membership.is_member:
            return  # pushed before the coordinator heard that the member owns nothing and joins
        if response.error.code == common_pb2.NONE:
            self._unreleased_ms = self._failure = None
            has_offer = membership.take(response)
            self._news.set()
            self._speak()
            if has_offer:
                self._events.on_offer()
        elif response.error.code in _FENCED:
            if membership.is_member:
                self.lose(response.error.message)
            else:
                raise CallFailedError(response.error.message)  # joins on another stream
        else:
            error = self._calls.refused(response)
            if isinstance(error, UnreleasedInstanceIdError):
                is_known = response.HasField("holder_silent_ms")
                error.holder_silent_ms = response.holder_silent_ms if is_known else None
            raise error

    # The session

    async def _look_forever(self) -> None:
        membership = self._membership
        while True:
            look_ms = min(LOOK_MS_MAX, membership.next_look_ms(self._now_ms()))
            self._news.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(look_ms / 1000):
                    await self._news.wait()
            self.look()

    def look(self) -> None:
        """Look at the session. Timers of a process that was paused come late."""
        membership = self._membership
        if membership.is_member and membership.has_expired(self._now_ms()):
            self.lose(f"no answer for a session of {membership.session_timeout_ms} ms")
        self._events.on_look()

    def _now_ms(self) -> int:
        return self._routing.clock.monotonic_ms()
