"""Topics changed for clients: what is asked of the controllers can be asked again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tidelog.broker.controller_link.controller_forwarder import ControllerForwarder
from tidelog.broker.controller_link.epoch import ControllerEpoch
from tidelog.core.system import SystemClock, SystemDisk, SystemRandom
from tidelog.metadata.image import EMPTY_IMAGE, MetadataImage
from tidelog.net.listeners import one_listener
from tidelog.node import server
from tidelog.node.config import NodeConfig
from tidelog.node.ports import Ports
from tidelog.v1.admin_pb2 import (
    CreateTopicsRequest,
    CreateTopicsResponse,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
)
from tidelog.v1.methods import CREATE_TOPICS, DELETE_TOPICS


class StubControllers:
    def __init__(self) -> None:
        self.command_ids: list[bytes] = []

    async def call(self, _method: object, request: Any, *, timeout_ms: int) -> Any:
        assert timeout_ms > 0
        self.command_ids.append(request.command_id)
        is_creation = isinstance(request, CreateTopicsRequest)
        return CreateTopicsResponse() if is_creation else DeleteTopicsResponse()


class StubFollower:
    image = EMPTY_IMAGE

    async def wait_until(
        self, condition: Callable[[MetadataImage], bool], *, timeout_ms: int
    ) -> bool:
        assert timeout_ms > 0
        return condition(self.image)


async def test_changes_without_an_id_get_one_and_others_keep_theirs() -> None:
    controllers = StubControllers()
    changes = ControllerForwarder(
        controllers=controllers,  # type: ignore[arg-type]
        follower=StubFollower(),  # type: ignore[arg-type]
        random=SystemRandom(),
        auto_create=True,
        topics_max=1_000,
    )
    await changes.forward(CREATE_TOPICS, CreateTopicsRequest())
    await changes.create_missing({"t": None})
    await changes.forward(DELETE_TOPICS, DeleteTopicsRequest())
    await changes.forward(CREATE_TOPICS, CreateTopicsRequest(command_id=b"i" * 16))
    assert [len(one) for one in controllers.command_ids] == [16] * 4
    assert len(set(controllers.command_ids)) == 4
    assert controllers.command_ids[-1] == b"i" * 16


def test_all_channels_of_a_broker_know_one_controller_epoch(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[ControllerEpoch] = []

    class Counted(ControllerEpoch):
        def __init__(self) -> None:
            super().__init__()
            made.append(self)

    monkeypatch.setattr(server, "ControllerEpoch", Counted)
    config = NodeConfig(
        node_id=1,
        cluster_id="c",
        listeners=one_listener("h:1"),
        data_dir="/d",
        process_roles=("broker",),
        controller_voters={2: "h:2"},
    )
    ports = Ports(
        clock=SystemClock(),
        disk=SystemDisk(),
        random=SystemRandom(),
        peers=object(),  # type: ignore[arg-type]  # nothing runs
        raft_transport=None,
        on_fatal=lambda _: None,
    )
    server.build_node(config, ports)
    assert len(made) == 1
