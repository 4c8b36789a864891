"""The forger of `forged-raft`: its messages come as far as a real voter's edge lets them."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any

import pytest

from tidelog.chaos.sockets.grpc_forger import Forger
from tidelog.net.grpc_server import GrpcServer
from tidelog.net.grpc_streams import connect
from tidelog.net.listeners import one_listener
from tidelog.net.quiet_ports import quiet_ports
from tidelog.raft.config import RaftConfig
from tidelog.raft.stream_transport import RaftPeerHandler, RaftStreamTransport
from tidelog.v1.controller_pb2 import DescribeQuorumRequest, DescribeQuorumResponse
from tidelog.v1.raft_pb2 import RaftMessage

pytestmark = pytest.mark.real_time

CLUSTER_ID = "chaos-here"


class Receiver:
    """Implements `RaftReceiver`."""

    def __init__(self) -> None:
        self.heard: list[RaftMessage] = []

    def on_message(self, peer_id: int, message: RaftMessage) -> None:
        assert peer_id == message.sender_id
        self.heard.append(message)

    def on_connected(self, peer_id: int) -> None:
        """Nobody listens where the other is said to be."""

    def on_disconnected(self, peer_id: int) -> None:
        """As above."""


class Controllers:
    """Implements what of `tidelog.v1.Controller` anybody may ask."""

    async def describe_quorum(self, _: DescribeQuorumRequest) -> DescribeQuorumResponse:
        return DescribeQuorumResponse(term=7, last_index=40)

    def __getattr__(self, name: str) -> Any:
        """Any other call: nobody makes one."""

        async def serve(_: object) -> None:
            raise AssertionError(f"nobody calls {name}")

        return serve


@pytest.fixture
async def voter() -> AsyncIterator[tuple[Receiver, str]]:
    own, other = (f"127.0.0.1:{port}" for port in quiet_ports(2))
    receiver, config = Receiver(), RaftConfig(cluster_id=CLUSTER_ID)
    transport = RaftStreamTransport(
        node_id=1, voters={1: own, 2: other}, connect=connect, config=config
    )
    await transport.start(receiver)
    services: dict[str, object] = {
        "tidelog.v1.RaftPeer": RaftPeerHandler(transport),
        "tidelog.v1.Controller": Controllers(),
    }
    fatal: list[BaseException] = []
    server = GrpcServer(listeners=one_listener(own), services=services, on_fatal=fatal.append)
    await server.start()
    yield receiver, own
    await server.stop(grace_s=0)
    await transport.stop()
    assert fatal == []


def forger(address: str, *, cluster_id: str) -> Forger:
    cluster: Any = SimpleNamespace(
        cluster_id=cluster_id,
        topology=SimpleNamespace(controller_ids=(1, 2)),
        address={1: address, 2: address}.__getitem__,
    )
    return Forger(cluster, random.Random(5))


async def test_forged_messages_are_heard_as_far_as_they_are_well_formed(
    voter: tuple[Receiver, str],
) -> None:
    receiver, address = voter
    forging = forger(address, cluster_id=CLUSTER_ID)
    taken = [await forging.send(is_leap=number < 3) for number in range(30)]
    assert 0 < sum(taken) < len(taken)
    assert len(receiver.heard) == sum(taken)
    assert {message.cluster_id for message in receiver.heard} == {CLUSTER_ID}


async def test_a_forger_of_another_cluster_is_heard_by_nobody(voter: tuple[Receiver, str]) -> None:
    receiver, address = voter
    forging = forger(address, cluster_id="another")
    assert not any([await forging.send(is_leap=True) for _ in range(5)])
    assert receiver.heard == []
