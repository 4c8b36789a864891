"""Responses of every RPC that strangers may call: unread ones have one bound for the node."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from types import SimpleNamespace
from typing import Any

import grpc
import pytest
from google.protobuf.descriptor import MethodDescriptor

from tidelog.core.turns import SharedTurns
from tidelog.net.grpc_edge import BETWEEN_NODES, Edge
from tidelog.net.listeners import one_listener
from tidelog.net.unfinished_requests import UnfinishedLimits, UnfinishedRequests
from tidelog.net.unread_responses import NodeResponses, UnreadLimits
from tidelog.v1 import (
    admin_pb2,
    controller_pb2,
    coordinator_pb2,
    data_pb2,
    raft_pb2,
    transactions_pb2,
)

MIB = 1 << 20
FILES = (admin_pb2, controller_pb2, coordinator_pb2, data_pb2, raft_pb2, transactions_pb2)
SERVICES = {
    name: service
    for file in FILES
    for name, service in file.DESCRIPTOR.services_by_name.items()
    if name not in BETWEEN_NODES
}
METHODS: list[MethodDescriptor] = [
    method for service in SERVICES.values() for method in service.methods
]
LARGE: Any = SimpleNamespace(SerializeToString=lambda: bytes(MIB))
WAITING: Any = None
"""No response: the handler waits."""
SMALL: Any = SimpleNamespace(SerializeToString=lambda: bytes(100))


class Refused(Exception):  # noqa: N818  # as gRPC's AbortError
    """The call was ended with a status."""


class Context:
    """A call whose response nobody reads; see `grpc.aio.ServicerContext`."""

    def __init__(self, peer: str) -> None:
        self._peer = peer
        self.ended: list[Callable[[Any], None]] = []
        self.code: grpc.StatusCode | None = None

    def peer(self) -> str:
        return self._peer

    def add_done_callback(self, then: Callable[[Any], None]) -> None:
        self.ended.append(then)

    def invocation_metadata(self) -> tuple[()]:
        return ()

    def time_remaining(self) -> None:
        return None

    async def write(self, _data: bytes) -> None:
        await asyncio.Event().wait()

    async def abort(self, code: grpc.StatusCode, details: str) -> None:
        assert details
        self.code = code
        raise Refused

    def end(self) -> None:
        for then in self.ended:
            then(self)


def serve(method: MethodDescriptor, response: Any) -> Callable[..., Any]:
    """A handler that answers with this."""

    async def stream() -> AsyncIterator[Any]:
        yield await single()

    async def single() -> Any:
        if response is WAITING:
            await asyncio.Event().wait()
        return response

    return lambda _asked, _call: stream() if method.server_streaming else single()


async def asked() -> AsyncIterator[bytes]:
    yield b""


class Stage:
    def __init__(self, method: MethodDescriptor, response: Any) -> None:
        self.unread = NodeResponses(UnreadLimits(answer_bytes_max=8 * MIB), lambda: 0)
        unfinished = UnfinishedRequests(UnfinishedLimits())
        listener, turns = one_listener("h:1")[0], SharedTurns()
        edge = Edge(listener, self._fail, self.unread, unfinished, turns)
        handler: Any = edge.handler(method, serve(method, response))
        self._is_stream = method.client_streaming
        self._call = (
            handler.unary_unary
            or handler.unary_stream
            or handler.stream_unary
            or handler.stream_stream
        )

    async def call(self, context: Context, data: bytes = b"") -> None:
        request: Any = asked() if self._is_stream else data
        try:
            await self._call(request, context)
        except Refused:
            context.end()

    @staticmethod
    def _fail(error: BaseException) -> None:
        raise AssertionError from error


@pytest.mark.parametrize("method", METHODS, ids=lambda one: one.full_name.split(".", 2)[-1])
async def test_unread_responses_of_an_rpc_have_the_bound_of_all_whoever_calls(
    method: MethodDescriptor,
) -> None:
    stage = Stage(method, LARGE)
    contexts = [Context(f"ipv4:1.1.1.{number % 7}:{number}") for number in range(40)]
    calls = [asyncio.ensure_future(stage.call(one)) for one in contexts]
    await asyncio.sleep(0.01)
    assert 4 * MIB <= stage.unread.answers.held_bytes <= 8 * MIB
    codes = {one.code for one in contexts} - {None}
    assert codes == {grpc.StatusCode.RESOURCE_EXHAUSTED}
    for call in calls:
        call.cancel()
    for one in contexts:
        one.end()
    await asyncio.sleep(0.01)
    assert stage.unread.answers.held_bytes == 0


@pytest.mark.parametrize("method", METHODS, ids=lambda one: one.full_name.split(".", 2)[-1])
async def test_large_requests_at_work_have_the_same_bound_produce_aside(
    method: MethodDescriptor,
) -> None:
    if method.client_streaming:
        return  # one message of a call is at work at a time
    stage = Stage(method, WAITING)
    asked = b"\xfa\x01\x80\x80\x40" + bytes(MIB)  # an unknown field of a MiB
    contexts = [Context(f"ipv4:1.1.1.{number % 7}:{number}") for number in range(40)]
    calls = [asyncio.ensure_future(stage.call(one, asked)) for one in contexts]
    await asyncio.sleep(0.01)
    refused = [one for one in contexts if one.code is grpc.StatusCode.RESOURCE_EXHAUSTED]
    assert bool(refused) is (method.name != "Produce")
    assert stage.unread.answers.held_bytes <= 8 * MIB
    for call in calls:
        call.cancel()
    await asyncio.gather(*calls, return_exceptions=True)
    assert stage.unread.answers.held_bytes == 0


async def test_small_responses_and_those_of_another_address_are_answered_beside() -> None:
    method = SERVICES["Broker"].methods_by_name["Metadata"]
    stage, small = Stage(method, LARGE), Stage(method, SMALL)
    strangers = [Context(f"ipv4:6.6.6.6:{number}") for number in range(40)]
    for one in strangers:
        await stage.call(one)
    assert any(one.code for one in strangers)
    beside, again = Context("ipv4:1.1.1.1:1"), Context("ipv4:6.6.6.6:99")
    await stage.call(beside)
    await small.call(again)
    assert (beside.code, again.code) == (None, None)
