"""A broker that shuts down says nothing that would have it unfenced again."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from tidelog.broker.controller_link import lifecycle as lifecycle_module
from tidelog.broker.controller_link.lifecycle import MEMORY_LEASE_MS, BrokerIdentity, Lifecycle
from tidelog.core.env import Clock
from tidelog.core.errors import CallFailedError
from tidelog.core.system import SystemClock
from tidelog.metadata.image import MetadataImage
from tidelog.net.listeners import one_listener
from tidelog.v1 import common_pb2
from tidelog.v1.common_pb2 import Error
from tidelog.v1.controller_pb2 import (
    NOTHING,
    UNFLUSHED,
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    RegisterBrokerResponse,
    StartLoss,
)


class StubControllers:
    """Registers; grants a shutdown at the third request, while time passes."""

    def __init__(self) -> None:
        self.wishes: list[bool] = []
        self.offsets: list[int] = []
        self.losses: list[StartLoss] = []
        self.replaced: list[int] = []
        self.registered_epoch = 0
        self.refuse_at: int | None = None
        self.heard = asyncio.Event()
        self.is_silent = False
        self.committed_offset = 0
        self.clock: Clock = SystemClock()

    async def call(self, method: Any, request: Any, *, timeout_ms: int) -> Any:
        await asyncio.sleep(0)
        if self.is_silent:
            raise CallFailedError("no controller answers")
        if not isinstance(request, BrokerHeartbeatRequest):
            self.losses.append(request.start_loss)
            self.replaced.append(request.previous_broker_epoch)
            if request.previous_broker_epoch != self.registered_epoch:
                late = Error(code=common_pb2.STALE_BROKER_EPOCH)
                return RegisterBrokerResponse(error=late, broker_epoch=self.registered_epoch)
            self.registered_epoch = 7
            return RegisterBrokerResponse(broker_epoch=7)
        self.offsets.append(request.metadata_offset)
        self.wishes.append(request.want_shut_down)
        self.heard.set()
        response = BrokerHeartbeatResponse(
            is_fenced=request.metadata_offset < 7,
            should_shut_down=sum(self.wishes) >= 3,
            metadata_offset=self.committed_offset,
        )
        if len(self.offsets) == self.refuse_at:
            response.error.code = common_pb2.BROKER_ID_NOT_REGISTERED
        return response


class StubFollower:
    image = MetadataImage(offset=9)

    def note_committed_offset(self, offset: int) -> None:
        """Of no interest here."""


class StubRandom:
    def randbytes(self, length: int) -> bytes:
        return bytes(length)


def broker(
    controllers: StubControllers,
    on_registered: Callable[[int], Awaitable[None]],
    *,
    is_prepared: Callable[[], bool] = lambda: True,
    heartbeat_interval_ms: int = 10,
    session_timeout_ms: int = 3000,
) -> Lifecycle:
    def fail(error: BaseException) -> None:
        raise AssertionError from error

    return Lifecycle(
        identity=BrokerIdentity(
            broker_id=1,
            cluster_id="c",
            listeners=one_listener("h:1"),
            rack="",
            heartbeat_interval_ms=heartbeat_interval_ms,
            session_timeout_ms=session_timeout_ms,
        ),
        controllers=controllers,  # type: ignore[arg-type]
        follower=StubFollower(),  # type: ignore[arg-type]
        random=StubRandom(),  # type: ignore[arg-type]
        is_prepared=is_prepared,
        on_registered=on_registered,
        on_fatal=fail,
    )


async def nothing(_: int) -> None:
    await asyncio.sleep(0)


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(5):
        while not condition():  # noqa: ASYNC110  # a stub has no event for each step
            await asyncio.sleep(0)


async def test_no_plain_heartbeat_follows_the_wish_to_shut_down() -> None:
    controllers = StubControllers()
    registered: list[int] = []

    async def on_registered(broker_epoch: int) -> None:
        registered.append(broker_epoch)

    lifecycle = broker(controllers, on_registered)
    await lifecycle.start()
    async with asyncio.timeout(5):
        await controllers.heard.wait()
    assert registered == [7]
    assert await lifecycle.controlled_shutdown()
    plain, wishes = controllers.wishes[:-3], controllers.wishes[-3:]
    assert wishes == [True, True, True]
    assert not any(plain)


async def test_a_broker_is_not_let_in_before_its_logs_are_open_and_their_damage_is_told() -> None:
    controllers = StubControllers()
    prepared: list[bool] = []
    lifecycle = broker(controllers, nothing, is_prepared=lambda: bool(prepared))
    await lifecycle.start()
    await until(lambda: len(controllers.offsets) >= 3)
    assert set(controllers.offsets) == {0}
    assert not lifecycle.is_ready
    prepared.append(True)
    await until(lambda: lifecycle.is_ready)
    assert controllers.offsets[-1] == 9
    await lifecycle.stop()


async def test_what_a_start_may_have_lost_is_told_with_its_first_registration() -> None:
    controllers = StubControllers()
    controllers.refuse_at = 1
    lifecycle = broker(controllers, nothing)
    lifecycle.start_loss = UNFLUSHED
    await lifecycle.start()
    await until(lambda: len(controllers.losses) == 2)
    assert controllers.losses == [UNFLUSHED, NOTHING]
    await lifecycle.stop()


async def test_a_broker_registers_in_place_of_the_registration_it_is_told_of() -> None:
    controllers = StubControllers()
    controllers.registered_epoch = 5
    lifecycle = broker(controllers, nothing)
    await lifecycle.start()
    await until(lambda: lifecycle.broker_epoch == 7)
    assert controllers.replaced == [0, 5]
    await lifecycle.stop()


class ManualClock:
    now_ms = 1_000

    def monotonic_ms(self) -> int:
        return self.now_ms

    def monotonic_s(self) -> float:
        return self.now_ms / 1000

    def wall_ms(self) -> int:
        return self.now_ms


async def test_a_session_counts_from_the_sending_of_what_was_answered() -> None:
    controllers, clock = StubControllers(), ManualClock()
    controllers.clock = clock
    lifecycle = broker(controllers, nothing)
    assert not lifecycle.has_session
    await lifecycle.start()
    await until(lambda: lifecycle.has_session)
    controllers.is_silent = True
    clock.now_ms += 2_999
    assert lifecycle.has_session
    clock.now_ms += 1
    assert not lifecycle.has_session
    controllers.is_silent = False
    await until(lambda: lifecycle.has_session)
    await lifecycle.stop()


async def test_a_question_is_confirmed_by_a_heartbeat_that_was_sent_after_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(lifecycle_module, "CONFIRM_TIMEOUT_MS", 20)
    controllers = StubControllers()
    lifecycle = broker(controllers, nothing, heartbeat_interval_ms=60_000)
    assert not await lifecycle.confirm()
    await lifecycle.start()
    await until(lambda: lifecycle.has_session)
    heard = len(controllers.offsets)
    assert await asyncio.gather(*(lifecycle.confirm() for _ in range(50))) == [True] * 50
    assert 1 <= len(controllers.offsets) - heard <= 2, "all share one"
    controllers.is_silent = True
    assert not await lifecycle.confirm()
    controllers.is_silent = False
    assert await lifecycle.confirm()
    controllers.committed_offset = 10  # what was decided meanwhile is not known here
    assert not await lifecycle.confirm()
    lifecycle._follower.image = MetadataImage(offset=10)
    assert await lifecycle.confirm()
    await lifecycle.stop()
    assert not await lifecycle.confirm()


async def test_a_long_session_is_no_long_lease_for_answers_from_memory() -> None:
    controllers, clock = StubControllers(), ManualClock()
    controllers.clock = clock
    lifecycle = broker(controllers, nothing, session_timeout_ms=60_000)
    await lifecycle.start()
    await until(lambda: lifecycle.has_session)
    controllers.is_silent = True
    clock.now_ms += MEMORY_LEASE_MS - 1
    assert lifecycle.has_session
    clock.now_ms += 1
    assert not lifecycle.has_session
    await lifecycle.stop()


async def test_one_that_is_heard_again_has_no_session_before_it_knows_what_was_decided() -> None:
    controllers, clock = StubControllers(), ManualClock()
    controllers.clock = clock
    lifecycle = broker(controllers, nothing)
    await lifecycle.start()
    await until(lambda: lifecycle.has_session)
    controllers.is_silent = True
    clock.now_ms += 3_000
    controllers.committed_offset = 10  # others lead what it led
    controllers.is_silent = False
    heard = len(controllers.offsets)
    await until(lambda: len(controllers.offsets) > heard + 3)
    assert not lifecycle.has_session
    lifecycle._follower.image = MetadataImage(offset=10)
    assert lifecycle.has_session
    await lifecycle.stop()
