"""Dials of real sockets: who refuses, who closes, who is silent, who answers."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from tidelog.core.errors import TidelogError, UnreachableError, is_broken_connection
from tidelog.net.grpc_dial import dial
from tidelog.net.grpc_server import GrpcServer
from tidelog.net.grpc_transport import GrpcTransport
from tidelog.net.listeners import one_listener
from tidelog.net.transport import Dialled, DialOutcome
from tidelog.node.handlers.node import NodeHandler
from tidelog.v1.admin_pb2 import (
    ListEventsRequest,
    ListEventsResponse,
    NodeStatusRequest,
    NodeStatusResponse,
)
from tidelog.v1.methods import NODE_STATUS

pytestmark = pytest.mark.real_time

NEVER_ANSWERED_MS = 100
"""How long to wait for what never comes."""

REFUSED = Dialled(DialOutcome.REFUSED)
SILENT = Dialled(DialOutcome.SILENT)
Accept = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def free_address() -> str:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return f"127.0.0.1:{probe.getsockname()[1]}"


@asynccontextmanager
async def listener(accept: Accept) -> AsyncIterator[str]:
    async with await asyncio.start_server(accept, "127.0.0.1", 0) as server:
        host, port = server.sockets[0].getsockname()
        yield f"{host}:{port}"


@asynccontextmanager
async def node(status: Callable[[], NodeStatusResponse]) -> AsyncIterator[str]:
    async def prepare_stop(_hold_ms: int) -> None:
        raise AssertionError("not asked here")

    def list_events(_: ListEventsRequest) -> ListEventsResponse:
        raise AssertionError("not asked here")

    handler = NodeHandler(
        status=lambda _: status(), prepare_stop=prepare_stop, list_events=list_events
    )
    address = free_address()

    def on_fatal(error: BaseException) -> None:
        raise AssertionError(error)

    server = GrpcServer(
        listeners=one_listener(address), services={"tidelog.v1.Node": handler}, on_fatal=on_fatal
    )
    await server.start()
    yield address
    await server.stop(grace_s=0)


async def test_a_port_without_listener_refuses() -> None:
    assert await dial(free_address(), timeout_ms=5000) == REFUSED


async def test_a_connection_closed_before_the_handshake_counts_as_refused() -> None:
    async def close(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    async with listener(close) as address:
        assert await dial(address, timeout_ms=5000) == REFUSED


async def test_a_connection_that_is_read_and_closed_before_the_handshake_counts_as_refused() -> (
    None
):
    async def hear_and_close(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(100)  # else closing would reset it
        writer.close()

    async with listener(hear_and_close) as address:
        assert await dial(address, timeout_ms=5000) == REFUSED


async def test_a_connection_reset_before_the_handshake_counts_as_refused() -> None:
    async def reset(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.transport.abort()

    async with listener(reset) as address:
        assert await dial(address, timeout_ms=5000) == REFUSED


async def test_who_accepts_and_says_nothing_is_silent_as_a_paused_process_is() -> None:
    with socket.create_server(("127.0.0.1", 0)) as paused:  # its kernel accepts
        port = paused.getsockname()[1]
        assert await dial(f"127.0.0.1:{port}", timeout_ms=NEVER_ANSWERED_MS) == SILENT


@pytest.mark.parametrize("address", ["no-such-host.invalid:1", "", "127.0.0.1:none", "h:99999999"])
async def test_an_address_that_leads_nowhere_is_silent(address: str) -> None:
    assert await dial(address, timeout_ms=2000) == SILENT


async def test_a_node_answers_with_its_incarnation() -> None:
    async with node(lambda: NodeStatusResponse(incarnation_id=b"i" * 16)) as address:
        answered = Dialled(DialOutcome.ANSWERED, b"i" * 16)
        assert await dial(address, timeout_ms=5000) == answered


async def test_a_node_that_shakes_hands_and_fails_to_answer_is_silent() -> None:
    def fail() -> NodeStatusResponse:
        raise ValueError("broken")

    async with node(fail) as address:
        assert await dial(address, timeout_ms=5000) == SILENT


async def test_a_transport_tells_refused_and_broken_calls_from_late_ones() -> None:
    transport = GrpcTransport()
    request = NodeStatusRequest()
    with pytest.raises(UnreachableError) as refused:
        await transport.call(free_address(), NODE_STATUS, request, timeout_ms=5000)
    assert is_broken_connection(refused.value)
    with socket.create_server(("127.0.0.1", 0)) as paused:
        address = f"127.0.0.1:{paused.getsockname()[1]}"
        with pytest.raises(TidelogError) as late:
            await transport.call(address, NODE_STATUS, request, timeout_ms=NEVER_ANSWERED_MS)
        assert not is_broken_connection(late.value)
    await transport.close()
