"""The peers' streams: the newest alone counts, strangers are refused, lost ones come back."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest
import structlog
from structlog.testing import capture_logs
from tests.stubborn import Stubborn

from tidelog.core import background
from tidelog.core.errors import KafkaError, UnreachableError
from tidelog.net.grpc_server import GrpcServer
from tidelog.net.grpc_streams import connect
from tidelog.net.listeners import one_listener
from tidelog.net.quiet_ports import quiet_ports
from tidelog.raft.config import RaftConfig
from tidelog.raft.hello import hello_of
from tidelog.raft.stream_transport import RaftPeerHandler, RaftStreamTransport
from tidelog.v1 import common_pb2
from tidelog.v1.raft_pb2 import RaftExchangeEnd, RaftMessage

pytestmark = pytest.mark.real_time

CONFIG = RaftConfig(cluster_id="own")
HELLO = hello_of(2, receiver_id=1, config=CONFIG)


class Receiver:
    """Implements `RaftReceiver`; waits for what happened."""

    def __init__(self) -> None:
        self.messages: asyncio.Queue[tuple[int, RaftMessage]] = asyncio.Queue()
        self.connections: asyncio.Queue[tuple[int, bool]] = asyncio.Queue()

    def on_message(self, peer_id: int, message: RaftMessage) -> None:
        self.messages.put_nowait((peer_id, message))

    def on_connected(self, peer_id: int) -> None:
        self.connections.put_nowait((peer_id, True))

    def on_disconnected(self, peer_id: int) -> None:
        self.connections.put_nowait((peer_id, False))


class Stream:
    """One peer's stream into a handler, fed by hand; None ends it."""

    def __init__(self, handler: RaftPeerHandler, first: RaftMessage = HELLO) -> None:
        self._queue: asyncio.Queue[RaftMessage | None] = asyncio.Queue()
        self.task = asyncio.create_task(handler.exchange(self._requests()))
        self.feed(first)

    def feed(self, message: RaftMessage | None) -> None:
        self._queue.put_nowait(message)

    async def _requests(self) -> AsyncIterator[RaftMessage]:
        while (message := await self._queue.get()) is not None:
            yield message


def message(sender_id: int, receiver_id: int, *, term: int = 1) -> RaftMessage:
    return RaftMessage(
        cluster_id=CONFIG.cluster_id, sender_id=sender_id, receiver_id=receiver_id, term=term
    )


async def serve(transport: RaftStreamTransport, *, port: int) -> GrpcServer:
    def on_fatal(error: BaseException) -> None:
        raise AssertionError(error)

    server = GrpcServer(
        listeners=one_listener(f"127.0.0.1:{port}"),
        services={"tidelog.v1.RaftPeer": RaftPeerHandler(transport)},
        on_fatal=on_fatal,
    )
    await server.start()
    return server


@pytest.fixture
async def receiver() -> Receiver:
    return Receiver()


@pytest.fixture
async def handler(receiver: Receiver) -> AsyncIterator[RaftPeerHandler]:
    transport = RaftStreamTransport(
        node_id=1, voters={1: "", 2: "127.0.0.1:1"}, connect=connect, config=CONFIG
    )
    await transport.start(receiver)
    yield RaftPeerHandler(transport)
    await transport.stop()


async def test_a_newer_stream_of_a_peer_closes_the_older(
    handler: RaftPeerHandler, receiver: Receiver
) -> None:
    older, newer = Stream(handler), Stream(handler)
    older.feed(message(2, 1, term=1))
    await receiver.messages.get()

    newer.feed(message(2, 1, term=2))
    await receiver.messages.get()
    older.feed(message(2, 1, term=1))
    newer.feed(message(2, 1, term=3))

    with pytest.raises(KafkaError, match="a newer stream of node 2"):
        await older.task
    assert (await receiver.messages.get())[1].term == 3
    newer.feed(None)
    assert await newer.task == RaftExchangeEnd()
    assert receiver.messages.empty()


REFUSED = {
    "another cluster": (
        hello_of(2, receiver_id=1, config=replace(CONFIG, cluster_id="other")),
        "is of cluster 'other', this node of 'own'",
    ),
    "no cluster": (RaftMessage(sender_id=2, receiver_id=1), "is of cluster ''"),
    "no hello": (message(2, 1), "does not begin with a hello"),
    "another engine": (
        hello_of(2, receiver_id=1, config=replace(CONFIG, engine="pysyncobj")),
        "'pysyncobj', controller 1 'tidelog': configure one controller.quorum.engine for all",
    ),
    "for another node": (hello_of(2, receiver_id=3, config=CONFIG), "check controller voters"),
    "no voter": (hello_of(9, receiver_id=1, config=CONFIG), "check controller voters"),
    "itself": (hello_of(1, receiver_id=1, config=CONFIG), "check controller voters"),
}


@pytest.mark.parametrize(("first", "reason"), REFUSED.values(), ids=REFUSED)
async def test_a_stream_without_a_voters_hello_is_refused_and_closes_no_other(
    handler: RaftPeerHandler, receiver: Receiver, first: RaftMessage, reason: str
) -> None:
    stream = Stream(handler)
    stream.feed(message(2, 1, term=1))
    await receiver.messages.get()

    refused = Stream(handler, first)
    refused.feed(message(2, 1, term=7))
    with pytest.raises(KafkaError, match=reason):
        await refused.task

    stream.feed(message(2, 1, term=2))
    assert (await receiver.messages.get())[1].term == 2
    assert receiver.messages.empty()
    stream.feed(None)
    await stream.task


async def test_a_message_of_another_cluster_ends_a_stream_that_began_well(
    handler: RaftPeerHandler, receiver: Receiver
) -> None:
    stream = Stream(handler)
    foreign = message(2, 1)
    foreign.cluster_id = "other"
    stream.feed(foreign)

    with pytest.raises(KafkaError) as raised:
        await stream.task
    assert raised.value.code == common_pb2.INCONSISTENT_CLUSTER_ID
    assert receiver.messages.empty()


@pytest.mark.parametrize(("sender_id", "receiver_id"), [(2, 3), (3, 1)])
async def test_a_message_for_another_node_or_of_another_peer_ends_the_stream(
    handler: RaftPeerHandler, receiver: Receiver, sender_id: int, receiver_id: int
) -> None:
    stream = Stream(handler)
    stream.feed(message(2, 1))
    await receiver.messages.get()
    stream.feed(message(sender_id, receiver_id))

    with pytest.raises(KafkaError, match="check controller voters"):
        await stream.task
    assert receiver.messages.empty()


async def test_a_malformed_message_is_refused_and_ends_its_stream(
    handler: RaftPeerHandler, receiver: Receiver
) -> None:
    stream = Stream(handler)
    stream.feed(message(2, 1, term=1))
    await receiver.messages.get()

    stream.feed(message(2, 1, term=2**63 - 1))
    with pytest.raises(KafkaError, match="is malformed"):
        await stream.task

    assert receiver.messages.empty()


async def test_messages_cross_and_a_restarted_peer_is_reached_again() -> None:
    there, here = Receiver(), Receiver()
    target = RaftStreamTransport(
        node_id=2, voters={1: "127.0.0.1:1", 2: ""}, connect=connect, config=CONFIG
    )
    await target.start(there)
    (port,) = quiet_ports(1)
    server = await serve(target, port=port)
    config = replace(CONFIG, reconnect_interval_ms=100)
    transport = RaftStreamTransport(
        node_id=1, voters={1: "", 2: f"127.0.0.1:{port}"}, connect=connect, config=config
    )
    assert not transport.send(2, message(1, 2))
    await transport.start(here)

    assert await here.connections.get() == (2, True)
    assert transport.send(2, message(1, 2, term=7))
    assert await there.messages.get() == (1, message(1, 2, term=7))

    await server.stop(grace_s=0)
    assert await here.connections.get() == (2, False)
    server = await serve(target, port=port)
    assert await here.connections.get() == (2, True)
    assert transport.send(2, message(1, 2, term=8))
    assert await there.messages.get() == (1, message(1, 2, term=8))

    await transport.stop()
    await target.stop()
    await server.stop(grace_s=0)


async def test_a_controller_of_another_engine_is_told_why_once_though_it_asks_on() -> None:
    here = Receiver()
    other = replace(CONFIG, engine="pysyncobj")
    target = RaftStreamTransport(
        node_id=2, voters={1: "127.0.0.1:1", 2: ""}, connect=connect, config=other
    )
    await target.start(Receiver())
    (port,) = quiet_ports(1)
    server = await serve(target, port=port)
    config = replace(CONFIG, reconnect_interval_ms=50)
    structlog.reset_defaults()
    transport = RaftStreamTransport(
        node_id=1, voters={1: "", 2: f"127.0.0.1:{port}"}, connect=connect, config=config
    )
    with capture_logs() as lines:
        await transport.start(here)
        for _ in range(3):
            assert await here.connections.get() == (2, True)
            assert await here.connections.get() == (2, False)
        await transport.stop()

    (line,) = [
        line for line in lines if line["event"] == "a voter refuses the raft stream of this node"
    ]
    assert "controller 1 runs the raft engine 'tidelog', controller 2 'pysyncobj'" in line["reason"]
    await target.stop()
    await server.stop(grace_s=0)


async def test_a_peer_that_takes_nothing_gets_a_bounded_queue_and_a_new_stream() -> None:
    here = Receiver()
    target = RaftStreamTransport(
        node_id=2, voters={1: "127.0.0.1:1", 2: ""}, connect=connect, config=CONFIG
    )
    await target.start(Receiver())
    (port,) = quiet_ports(1)
    server = await serve(target, port=port)
    config = replace(
        CONFIG, max_peer_queue_bytes=100, stall_timeout_ms=50, reconnect_interval_ms=100
    )
    transport = RaftStreamTransport(
        node_id=1, voters={1: "", 2: f"127.0.0.1:{port}"}, connect=connect, config=config
    )
    await transport.start(here)
    await here.connections.get()

    accepted = [transport.send(2, message(1, 2)) for _ in range(100)]
    assert accepted[0]
    assert not accepted[-1]
    while here.connections.empty():  # nobody ever answers
        transport.send(2, message(1, 2))
        await asyncio.sleep(0.005)
    assert await here.connections.get() == (2, False)
    assert await here.connections.get() == (2, True)

    await transport.stop()
    await target.stop()
    await server.stop(grace_s=0)


async def test_a_stop_does_not_wait_for_a_connection_that_heeds_no_cancellation(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(background, "STOP_MS_MAX", 1)
    stubborn = Stubborn()

    @asynccontextmanager
    async def held(*_: object, **__: object) -> AsyncIterator[Any]:
        await stubborn.work()
        raise UnreachableError("released")
        yield

    transport = RaftStreamTransport(
        node_id=1, voters={1: "", 2: "nobody"}, connect=held, config=CONFIG
    )
    await transport.start(Receiver())
    await stubborn.began.wait()
    async with asyncio.timeout(120):
        await transport.stop()
    assert stubborn.cancellations == 1
    for link in transport._tasks:
        link.cancel()
    stubborn.released.set()
    await asyncio.sleep(0)
