"""Which broken connections are told to the controllers, and for how long."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest
from tests.metadata.broker_endpoints import reached_at

from tidelog.broker.controller_link import unreachable_reports
from tidelog.broker.controller_link.unreachable_reports import UnreachableReports
from tidelog.core.errors import (
    CallFailedError,
    NotControllerError,
    TidelogError,
    UnreachableError,
    is_broken_connection,
)
from tidelog.metadata.image import BrokerImage, MetadataImage
from tidelog.v1 import common_pb2
from tidelog.v1.common_pb2 import Error
from tidelog.v1.controller_pb2 import ReportUnreachableBrokerResponse

MOMENT_S = 0.01
TIMEOUT_MS = 300
TWO, THREE = (2, 12, 1, 11), (3, 13, 1, 11)


def broker(broker_id: int) -> BrokerImage:
    return BrokerImage(
        broker_id=broker_id,
        incarnation_id=bytes(16),
        broker_epoch=10 + broker_id,
        endpoints=reached_at(f"h:{broker_id}"),
        rack="",
        is_fenced=False,
    )


class Stage:
    """Node 1's reports; controllers that answer at a gate, or fail."""

    def __init__(self) -> None:
        self.image = MetadataImage(brokers={one: broker(one) for one in (1, 2, 3)})
        self.sent: list[tuple[int, int, int, int]] = []
        self.error: TidelogError | None = None
        self.refusals: list[Error] = []
        self.gate = asyncio.Event()
        self.gate.set()
        self.fatal: list[BaseException] = []
        self.reports = UnreachableReports(
            node_id=1,
            image=lambda: self.image,
            broker_epoch=lambda: 11,
            controllers=self,  # type: ignore[arg-type]
            timeout_ms=TIMEOUT_MS,
            on_fatal=self.fatal.append,
        )

    def fence(self, broker_id: int) -> None:
        fenced = replace(self.image.brokers[broker_id], is_fenced=True)
        self.image = MetadataImage(brokers={**self.image.brokers, broker_id: fenced})

    async def until_sent(self, count: int) -> None:
        async with asyncio.timeout(5):
            while len(self.sent) < count:  # noqa: ASYNC110  # timers of this loop
                await asyncio.sleep(0.001)

    async def call(self, _method: object, request: Any, *, timeout_ms: int) -> Any:
        assert timeout_ms == TIMEOUT_MS
        reporter = (request.reporter_id, request.reporter_epoch)
        self.sent.append((request.broker_id, request.broker_epoch, *reporter))
        await self.gate.wait()
        if self.error is not None:
            raise self.error
        error = self.refusals.pop(0) if self.refusals else None
        return ReportUnreachableBrokerResponse(error=error)


@pytest.fixture
async def stage(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Stage]:
    monkeypatch.setattr(unreachable_reports, "GRACE_S", MOMENT_S)
    monkeypatch.setattr(unreachable_reports, "REPEAT_S", MOMENT_S)
    stage = Stage()
    yield stage
    await stage.reports.stop()
    assert stage.fatal == []


async def settle() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


async def test_a_broken_connection_is_reported_with_the_epoch_it_was_to(stage: Stage) -> None:
    stage.reports.note_broken(2)
    await settle()
    assert stage.sent == [TWO]


async def test_neither_fenced_brokers_nor_strangers_nor_the_node_itself_are_reported(
    stage: Stage,
) -> None:
    stage.fence(2)
    for broker_id in (1, 2, 9):
        stage.reports.note_broken(broker_id)
        stage.reports.hung_up(broker_id)
    await asyncio.sleep(5 * MOMENT_S)
    assert stage.sent == []


async def test_reports_about_one_broker_are_one_at_a_time_and_one_after_the_last_break(
    stage: Stage,
) -> None:
    stage.gate.clear()
    for _ in range(50):
        stage.reports.note_broken(2)
        stage.reports.note_broken(3)
        await asyncio.sleep(0)
    assert sorted(stage.sent) == [TWO, THREE]
    stage.gate.set()
    await stage.until_sent(4)
    await asyncio.sleep(5 * MOMENT_S)
    assert sorted(stage.sent) == [TWO, TWO, THREE, THREE]


async def test_a_report_ends_when_the_broker_is_fenced(stage: Stage) -> None:
    stage.gate.clear()
    stage.reports.note_broken(2)
    await settle()
    stage.reports.note_broken(2)
    stage.fence(2)
    stage.gate.set()
    await settle()
    assert len(stage.sent) == 1


async def test_a_report_that_no_controller_answers_ends_with_the_session(stage: Stage) -> None:
    stage.error = UnreachableError("no controller")
    stage.reports.note_broken(2)
    await stage.until_sent(2)
    await asyncio.sleep(1.5 * TIMEOUT_MS / 1000)
    ended = len(stage.sent)
    assert ended <= 1 + TIMEOUT_MS / (1000 * MOMENT_S)
    await asyncio.sleep(5 * MOMENT_S)
    assert len(stage.sent) == ended
    stage.error = None
    stage.reports.note_broken(2)
    await settle()
    assert len(stage.sent) == ended + 1


async def test_a_refused_report_is_repeated_until_it_is_followed(stage: Stage) -> None:
    error = Error(code=common_pb2.BROKER_NOT_AVAILABLE, message="not yet")
    stage.refusals = [error, error]
    stage.reports.note_broken(2)
    await stage.until_sent(3)
    await asyncio.sleep(5 * MOMENT_S)
    assert stage.sent == [TWO] * 3


async def test_who_hangs_up_and_asks_again_is_not_reported(stage: Stage) -> None:
    for _ in range(5):
        stage.reports.hung_up(2)
        stage.reports.note_request(2)
    await asyncio.sleep(5 * MOMENT_S)
    assert stage.sent == []


async def test_who_hangs_up_and_is_not_heard_again_is_reported_once(stage: Stage) -> None:
    for _ in range(5):
        stage.reports.hung_up(2)
    assert stage.sent == []
    await stage.until_sent(1)
    await asyncio.sleep(5 * MOMENT_S)
    assert stage.sent == [TWO]


async def test_a_node_that_stops_reports_nobody(stage: Stage) -> None:
    stage.reports.hung_up(2)
    await stage.reports.stop()
    stage.reports.hung_up(3)
    stage.reports.note_broken(3)
    await asyncio.sleep(5 * MOMENT_S)
    assert stage.sent == []


def test_a_time_out_is_no_broken_connection() -> None:
    assert is_broken_connection(UnreachableError("refused", is_broken=True))
    assert is_broken_connection(CallFailedError("broke", is_broken=True))
    assert not is_broken_connection(UnreachableError("not within 500 ms"))
    assert not is_broken_connection(CallFailedError("not within 500 ms"))
    assert not is_broken_connection(NotControllerError("no"))
