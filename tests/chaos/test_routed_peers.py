"""A call goes to the proxy of its link, and to nothing else."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, cast

import pytest
from google.protobuf.message import Message

from tidelog.chaos.sockets.routed_peers import RoutedTransport
from tidelog.core.errors import UnreachableError
from tidelog.net.transport import Dialled, DialOutcome
from tidelog.v1.admin_pb2 import CreateTopicsRequest, NodeStatusRequest
from tidelog.v1.controller_pb2 import BrokerHeartbeatRequest, FollowMetadataRequest
from tidelog.v1.data_pb2 import (
    FetchRequest,
    FetchResponse,
    ProduceAnswers,
    ProduceRequest,
    ProduceResponse,
)
from tidelog.v1.methods import (
    BROKER_HEARTBEAT,
    CREATE_TOPICS,
    FETCH,
    FETCH_STREAM,
    FOLLOW_METADATA,
    NODE_STATUS,
    PRODUCE_STREAM,
    Method,
)

ROUTES = {("a:1", "broker"): "proxy:1", ("a:1", "controller"): "proxy:2", ("b:1", "raft"): "r:1"}
OWN = "own:1"


class FakePeers:
    """Notes where it was told to call; answers streams with what it was given."""

    def __init__(self, *answers: Message) -> None:
        self.called: list[str] = []
        self._answers = list(answers)

    async def call(
        self, address: str, method: Method[Any, Any], request: Message, *, timeout_ms: int
    ) -> Any:
        self.called.append(address)
        return method.response_type()

    async def stream(
        self, address: str, method: Method[Any, Any], request: Message
    ) -> AsyncIterator[Any]:
        self.called.append(address)
        yield method.response_type()

    async def open_stream(self, address: str, method: Method[Any, Any]) -> Any:
        self.called.append(address)
        return self

    async def dial(self, address: str, *, timeout_ms: int) -> Dialled:
        self.called.append(address)
        return Dialled(DialOutcome.REFUSED)

    async def send(self, request: Message) -> None:
        pass

    async def receive(self) -> Any:
        return self._answers.pop(0)

    def close(self) -> Any:
        pass


def routed(peers: FakePeers, **more: Any) -> RoutedTransport:
    return RoutedTransport(cast("Any", ROUTES), own_address=OWN, transport=peers, **more)


@pytest.mark.parametrize(
    ("method", "request_", "proxy"),
    [
        (FETCH, FetchRequest(), "proxy:1"),
        (NODE_STATUS, NodeStatusRequest(), "proxy:1"),
        (BROKER_HEARTBEAT, BrokerHeartbeatRequest(), "proxy:2"),
        (CREATE_TOPICS, CreateTopicsRequest(), "proxy:1"),
        (CREATE_TOPICS, CreateTopicsRequest(from_broker=True), "proxy:2"),
        (CREATE_TOPICS, CreateTopicsRequest(forwarded=True), "proxy:2"),
    ],
)
async def test_a_call_takes_the_proxy_of_the_role_that_serves_it(
    method: Method[Any, Any], request_: Message, proxy: str
) -> None:
    peers = FakePeers()
    await routed(peers).call("a:1", method, request_, timeout_ms=1)
    assert peers.called == [proxy]


async def test_streams_and_dials_take_proxies_too() -> None:
    peers = FakePeers()
    transport = routed(peers)
    _ = [one async for one in transport.stream("a:1", FOLLOW_METADATA, FollowMetadataRequest())]
    await transport.open_stream("a:1", FETCH_STREAM)
    assert (await transport.dial("a:1", timeout_ms=1)).outcome is DialOutcome.REFUSED
    assert peers.called == ["proxy:2", "proxy:1", "proxy:1"]


async def test_a_node_calls_itself_directly() -> None:
    peers = FakePeers()
    await routed(peers).call(OWN, FETCH, FetchRequest(), timeout_ms=1)
    assert peers.called == [OWN]


async def test_an_address_without_a_link_is_reached_by_nobody() -> None:
    peers = FakePeers()
    transport = routed(peers)
    with pytest.raises(UnreachableError):
        await transport.call("b:1", FETCH, FetchRequest(), timeout_ms=1)
    with pytest.raises(UnreachableError):
        transport.stream("b:1", FOLLOW_METADATA, FollowMetadataRequest())
    with pytest.raises(UnreachableError):
        await transport.open_stream("b:1", FETCH_STREAM)
    assert (await transport.dial("b:1", timeout_ms=1)).outcome is DialOutcome.SILENT
    assert peers.called == []


async def test_a_tap_hears_of_a_call_before_and_after_it() -> None:
    heard: list[object] = []
    transport = routed(FakePeers(), tap=lambda *what: heard.append(what))
    request = FetchRequest(max_wait_ms=7)
    await transport.call("a:1", FETCH, request, timeout_ms=1)
    assert heard == [("a:1", request, None), ("a:1", request, FetchResponse())]


async def test_a_tap_hears_which_produce_request_of_a_stream_was_answered() -> None:
    heard: list[object] = []
    answers = [ProduceResponse(correlation_id=2), ProduceResponse(correlation_id=1)]
    peers = FakePeers(ProduceAnswers(answers=answers))
    stream = await routed(peers, tap=lambda *what: heard.append(what)).open_stream(
        "a:1", PRODUCE_STREAM
    )
    requests = [ProduceRequest(correlation_id=number) for number in (1, 2)]
    for request in requests:
        await stream.send(request)
    await stream.receive()
    assert heard[2:] == [("a:1", requests[1], answers[0]), ("a:1", requests[0], answers[1])]


async def test_a_tap_hears_of_every_answer_of_another_stream() -> None:
    heard: list[object] = []
    peers = FakePeers(FetchResponse())
    tap = lambda *what: heard.append(what)  # noqa: E731  # three words of it
    stream = await routed(peers, tap=tap).open_stream("a:1", FETCH_STREAM)
    await stream.send(FetchRequest(max_wait_ms=1))
    await stream.receive()
    assert heard[1:] == [("a:1", FetchRequest(max_wait_ms=1), FetchResponse())]
