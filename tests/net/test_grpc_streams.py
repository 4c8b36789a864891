"""Streams of real sockets: order, ends, and what each end raises; see `tidelog.net.transport`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager

import pytest

from tidelog.core.errors import (
    CallFailedError,
    InvalidRequestError,
    UnreachableError,
    is_broken_connection,
)
from tidelog.net.grpc_connections import connections_at
from tidelog.net.grpc_server import GrpcServer
from tidelog.net.grpc_streams import connect
from tidelog.net.grpc_transport import GrpcTransport
from tidelog.net.listeners import one_listener
from tidelog.net.quiet_ports import quiet_ports
from tidelog.net.transport import Stream
from tidelog.v1.data_pb2 import FetchRequest, FetchResponse
from tidelog.v1.methods import FETCH_STREAM

pytestmark = pytest.mark.real_time

Fetches = Stream[FetchRequest, FetchResponse]
TIMEOUT_MS = 120_000
LAST = 99
REFUSED = 98


class Echo:
    """Answers each FetchStream request with its max_bytes as a partition number."""

    def __init__(self) -> None:
        self.ended = asyncio.Event()

    def __getattr__(self, _name: str) -> object:
        async def other(_request: object) -> object:
            raise AssertionError("not asked here")

        return other

    async def fetch_stream(
        self, requests: AsyncIterator[FetchRequest]
    ) -> AsyncGenerator[FetchResponse, None]:
        try:
            async for request in requests:
                if request.max_bytes == LAST:
                    return
                if request.max_bytes == REFUSED:
                    raise InvalidRequestError("not that one")
                response = FetchResponse()
                response.partitions.add(partition=request.max_bytes)
                yield response
        finally:
            self.ended.set()


@asynccontextmanager
async def served() -> AsyncIterator[tuple[str, Echo, GrpcServer]]:
    """A server of its own, at its address."""
    (port,) = quiet_ports(1)
    address = f"127.0.0.1:{port}"
    echo = Echo()

    def on_fatal(error: BaseException) -> None:
        raise AssertionError(error)

    server = GrpcServer(
        listeners=one_listener(address), services={"tidelog.v1.Broker": echo}, on_fatal=on_fatal
    )
    await server.start()
    try:
        async with asyncio.timeout(120):
            yield address, echo, server
    finally:
        await server.stop(grace_s=0)


@asynccontextmanager
async def transported() -> AsyncIterator[GrpcTransport]:
    transport = GrpcTransport()
    try:
        yield transport
    finally:
        await transport.close()


@asynccontextmanager
async def opened() -> AsyncIterator[tuple[Fetches, Echo, GrpcServer]]:
    """A stream to a server of its own."""
    async with served() as (address, echo, server), transported() as transport:
        yield await transport.open_stream(address, FETCH_STREAM), echo, server


async def ask(stream: Fetches, *numbers: int) -> list[int]:
    for number in numbers:
        await stream.send(FetchRequest(max_bytes=number))
    return [(await stream.receive()).partitions[0].partition for _ in numbers]


async def test_messages_arrive_in_order_both_ways() -> None:
    async with opened() as (stream, _, _):
        assert await ask(stream, *range(50)) == list(range(50))


async def test_close_ends_both_ends_and_may_be_called_again() -> None:
    async with opened() as (stream, echo, _):
        await ask(stream, 1)
        receiving = asyncio.create_task(stream.receive())
        await asyncio.sleep(0)
        stream.close()
        stream.close()
        with pytest.raises(CallFailedError):
            await receiving
        for step in (stream.receive(), stream.send(FetchRequest())):
            with pytest.raises(CallFailedError):
                await step
        await echo.ended.wait()


async def turns(count: int) -> None:
    """Let what was begun wait for its answer."""
    for _ in range(count):
        await asyncio.sleep(0)


async def test_a_cancelled_receive_is_cancelled_and_ends_the_stream() -> None:
    async with opened() as (stream, echo, _):
        await ask(stream, 1)
        receiving = asyncio.create_task(stream.receive())
        await turns(20)
        receiving.cancel()
        with pytest.raises(asyncio.CancelledError):
            await receiving
        with pytest.raises(CallFailedError):
            await stream.send(FetchRequest())
        await echo.ended.wait()


async def test_the_servers_end_and_its_refusal_are_told_and_are_no_broken_connection() -> None:
    for number, said in ((LAST, "ended"), (REFUSED, "not that one")):
        async with opened() as (stream, _, _):
            await ask(stream, 1)
            await stream.send(FetchRequest(max_bytes=number))
            with pytest.raises(CallFailedError, match=said) as caught:
                await stream.receive()
            assert not is_broken_connection(caught.value)


async def test_a_server_that_goes_away_breaks_the_stream() -> None:
    async with opened() as (stream, _, server):
        await ask(stream, 1)
        receiving = asyncio.create_task(stream.receive())
        await turns(20)
        await server.stop(grace_s=0)
        with pytest.raises(CallFailedError) as caught:
            await receiving
        assert is_broken_connection(caught.value)


async def test_each_connected_stream_has_a_connection_of_its_own() -> None:
    async with served() as (address, _, _), transported() as transport:
        port = int(address.rpartition(":")[2])
        for _ in range(2):
            assert await ask(await transport.open_stream(address, FETCH_STREAM), 1) == [1]
        async with connections_at({port}) as connections:
            assert len(connections) == 1
        async with (
            connect(address, FETCH_STREAM, timeout_ms=TIMEOUT_MS) as one,
            connect(address, FETCH_STREAM, timeout_ms=TIMEOUT_MS) as other,
        ):
            assert await ask(one, 2) + await ask(other, 3) == [2, 3]
            async with connections_at({port}) as connections:
                assert len(connections) == 3


async def test_the_end_of_its_block_ends_a_connected_stream() -> None:
    async with served() as (address, echo, _):
        async with connect(address, FETCH_STREAM, timeout_ms=TIMEOUT_MS) as stream:
            await ask(stream, 1)
        await echo.ended.wait()
        with pytest.raises(CallFailedError):
            await stream.send(FetchRequest())


async def test_a_connection_that_nobody_accepts_is_unreachable_at_once() -> None:
    (port,) = quiet_ports(1)
    with pytest.raises(UnreachableError) as caught:
        async with connect(f"127.0.0.1:{port}", FETCH_STREAM, timeout_ms=TIMEOUT_MS):
            raise AssertionError("nobody listens")
    assert caught.value.is_broken, "not its time-out"


async def test_nobody_there_is_unreachable() -> None:
    (port,) = quiet_ports(1)
    address = f"127.0.0.1:{port}"
    transport = GrpcTransport()
    with pytest.raises(UnreachableError):
        await transport.open_stream(address, FETCH_STREAM)
    await transport.close()
