"""A change of configs is answered when this broker's own image shows it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from tidelog.broker.controller_link.controller_forwarder import ControllerForwarder
from tidelog.core.errors import CallFailedError, TidelogError, UnreachableError
from tidelog.core.system import SystemRandom
from tidelog.metadata.image import MetadataImage
from tidelog.v1 import common_pb2
from tidelog.v1.admin_pb2 import AlterConfigsRequest, AlterConfigsResponse
from tidelog.v1.methods import ALTER_CONFIGS


class StubControllers:
    def __init__(self, answer: AlterConfigsResponse | TidelogError) -> None:
        self.timeouts_ms: list[int] = []
        self.command_ids: list[bytes] = []
        self._answer = answer

    async def call(self, method: object, request: AlterConfigsRequest, *, timeout_ms: int) -> Any:
        assert method is ALTER_CONFIGS
        self.command_ids.append(request.command_id)
        self.timeouts_ms.append(timeout_ms)
        if isinstance(self._answer, TidelogError):
            raise self._answer
        return self._answer


class StubFollower:
    """Its image is what the test says; a wait ends early when `is_out_of_time`."""

    def __init__(self) -> None:
        self.image = MetadataImage(offset=5)
        self.is_out_of_time = False

    async def wait_until(
        self, condition: Callable[[MetadataImage], bool], *, timeout_ms: int
    ) -> bool:
        assert timeout_ms > 0
        while not condition(self.image) and not self.is_out_of_time:  # noqa: ASYNC110  # as told
            await asyncio.sleep(0)
        return condition(self.image)


def changer(controllers: StubControllers, follower: StubFollower) -> ControllerForwarder:
    return ControllerForwarder(
        controllers=controllers,  # type: ignore[arg-type]
        follower=follower,  # type: ignore[arg-type]
        random=SystemRandom(),
        auto_create=False,
        topics_max=1_000,
    )


async def test_the_answer_comes_when_the_own_image_is_where_the_change_is() -> None:
    controllers, follower = StubControllers(AlterConfigsResponse(metadata_offset=7)), StubFollower()
    asked = asyncio.create_task(
        changer(controllers, follower).forward(ALTER_CONFIGS, AlterConfigsRequest())
    )
    for offset in (5, 6):
        follower.image = MetadataImage(offset=offset)
        for _ in range(5):
            await asyncio.sleep(0)
        assert not asked.done()
    follower.image = MetadataImage(offset=7)
    assert (await asked).metadata_offset == 7


async def test_a_committed_change_is_answered_also_when_the_own_image_stays_behind() -> None:
    controllers, follower = StubControllers(AlterConfigsResponse(metadata_offset=7)), StubFollower()
    follower.is_out_of_time = True
    assert not (
        await changer(controllers, follower).forward(ALTER_CONFIGS, AlterConfigsRequest())
    ).error.code


@pytest.mark.parametrize(
    ("failure", "code"),
    [
        (UnreachableError("refused"), common_pb2.BROKER_NOT_AVAILABLE),
        (CallFailedError("broke"), common_pb2.REQUEST_TIMED_OUT),
    ],
)
async def test_without_an_answer_the_error_says_whether_the_outcome_is_known(
    failure: TidelogError, code: common_pb2.ErrorCode
) -> None:
    asked = changer(StubControllers(failure), StubFollower()).forward(
        ALTER_CONFIGS, AlterConfigsRequest()
    )
    assert (await asked).error.code == code


async def test_the_callers_timeout_is_kept_to_a_bound() -> None:
    controllers, follower = StubControllers(AlterConfigsResponse()), StubFollower()
    for timeout_ms in (200, 0, 10**9):
        await changer(controllers, follower).forward(
            ALTER_CONFIGS, AlterConfigsRequest(timeout_ms=timeout_ms)
        )
    assert controllers.timeouts_ms == [200, 15_000, 15_000]


async def test_a_change_without_an_id_gets_one_and_keeps_its_own() -> None:
    controllers, follower = StubControllers(AlterConfigsResponse()), StubFollower()
    for request in (AlterConfigsRequest(), AlterConfigsRequest(), AlterConfigsRequest()):
        await changer(controllers, follower).forward(ALTER_CONFIGS, request)
    await changer(controllers, follower).forward(
        ALTER_CONFIGS, AlterConfigsRequest(command_id=b"i" * 16)
    )
    assert len(set(controllers.command_ids)) == 4
    assert {len(one) for one in controllers.command_ids} == {16}
    assert controllers.command_ids[-1] == b"i" * 16
