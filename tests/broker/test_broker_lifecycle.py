"""A broker that shuts down says nothing that would have it unfenced again."""

from __future__ import annotations

import asyncio
from typing import Any

from tidelog.broker.config import NodeConfig
from tidelog.broker.lifecycle import Lifecycle
from tidelog.metadata.image import EMPTY_IMAGE
from tidelog.v1.controller_pb2 import (
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    RegisterBrokerResponse,
)


class StubControllers:
    """Registers; grants a shutdown at the third request, while time passes."""

    def __init__(self) -> None:
        self.wishes: list[bool] = []
        self.heard = asyncio.Event()

    async def call(self, method: Any, request: Any, *, timeout_ms: int) -> Any:
        await asyncio.sleep(0)
        if not isinstance(request, BrokerHeartbeatRequest):
            return RegisterBrokerResponse(broker_epoch=7)
        self.wishes.append(request.want_shut_down)
        self.heard.set()
        return BrokerHeartbeatResponse(should_shut_down=sum(self.wishes) >= 3)


class StubFollower:
    image = EMPTY_IMAGE

    def note_committed_offset(self, offset: int) -> None:
        """Of no interest here."""


class StubRandom:
    def randbytes(self, length: int) -> bytes:
        return bytes(length)


async def test_no_plain_heartbeat_follows_the_wish_to_shut_down() -> None:
    controllers = StubControllers()
    registered: list[int] = []
    fatal: list[BaseException] = []

    async def on_registered(broker_epoch: int) -> None:
        registered.append(broker_epoch)

    lifecycle = Lifecycle(
        config=NodeConfig(
            node_id=1,
            cluster_id="c",
            address="h:1",
            data_dir="/d",
            controller_voters={1: "h:1"},
            broker_heartbeat_interval_ms=10,
        ),
        controllers=controllers,  # type: ignore[arg-type]
        follower=StubFollower(),  # type: ignore[arg-type]
        random=StubRandom(),  # type: ignore[arg-type]
        is_prepared=lambda: True,
        on_registered=on_registered,
        on_fatal=fatal.append,
    )
    await lifecycle.start()
    async with asyncio.timeout(5):
        await controllers.heard.wait()
    assert registered == [7]
    assert await lifecycle.controlled_shutdown()
    plain, wishes = controllers.wishes[:-3], controllers.wishes[-3:]
    assert wishes == [True, True, True]
    assert not any(plain)
    assert fatal == []
