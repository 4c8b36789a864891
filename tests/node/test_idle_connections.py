"""Who connects and asks nothing, or never finishes asking, is hung up on; who works is not."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from typing import Any

import grpc
import pytest
from prometheus_client import CollectorRegistry

from tidelog.net.grpc_server import GrpcServer
from tidelog.net.listeners import one_listener
from tidelog.node.http import HttpServer

pytestmark = pytest.mark.real_time

IDLE_MS = 200
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
SETTINGS = b"\x00\x00\x00\x04\x00\x00\x00\x00\x00"
HALF_A_REQUEST = b"GET /health HTTP/1.1\r\nHost: x\r\nX-Slow: "
WATCH = "/grpc.health.v1.Health/Watch"


@pytest.fixture
def port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


@pytest.fixture
async def grpc_port(port: int) -> AsyncIterator[int]:
    def on_fatal(error: BaseException) -> None:
        raise AssertionError(error)

    server = GrpcServer(
        listeners=one_listener(f"127.0.0.1:{port}"),
        services={},
        on_fatal=on_fatal,
        max_idle_ms=IDLE_MS,
    )
    await server.start()
    yield port
    await server.stop(grace_s=0)


@pytest.fixture
async def http_port(port: int) -> AsyncIterator[int]:
    server = HttpServer(
        host="127.0.0.1",
        port=port,
        registry=CollectorRegistry(),
        is_ready=lambda: True,
        max_idle_ms=IDLE_MS,
        on_fatal=lambda error: None,
    )
    await server.start()
    yield port
    await server.stop()


async def until_hung_up(port: int, said: bytes) -> bytes:
    """What a connection hears on which this alone is said, until the server closes it."""
    async with asyncio.timeout(120):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(said)
        try:
            return await reader.read()
        except ConnectionResetError:
            return b""
        finally:
            writer.close()


@pytest.mark.parametrize("said", [b"", PREFACE[:7], PREFACE, PREFACE + SETTINGS])
async def test_a_grpc_connection_without_a_call_is_closed(grpc_port: int, said: bytes) -> None:
    await until_hung_up(grpc_port, said)


async def test_a_grpc_connection_with_a_call_is_not(grpc_port: int) -> None:
    async with asyncio.timeout(120), grpc.aio.insecure_channel(f"127.0.0.1:{grpc_port}") as channel:
        watches: Any = channel.unary_stream(WATCH)
        watch = watches(b"")
        first = await watch.read()
        await until_hung_up(grpc_port, PREFACE + SETTINGS)
        again = asyncio.ensure_future(watch.read())
        done, _ = await asyncio.wait([again], timeout=2 * IDLE_MS / 1000)
        assert first is not grpc.aio.EOF
        assert not done
        watch.cancel()
        await asyncio.wait([again])


@pytest.mark.parametrize("said", [b"", HALF_A_REQUEST, HALF_A_REQUEST[:3]])
async def test_an_http_connection_that_asks_nothing_is_closed(http_port: int, said: bytes) -> None:
    assert not await until_hung_up(http_port, said)


async def test_an_http_request_is_answered_before_its_connection_is_closed(http_port: int) -> None:
    answer = await until_hung_up(http_port, b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 200")


async def test_what_is_no_http_is_refused_without_a_line_in_the_log(
    http_port: int, caplog: pytest.LogCaptureFixture
) -> None:
    for said in (PREFACE + SETTINGS, b"GET / HTTP/9.9\r\n\r\n", b"\x16\x03\x01\r\n\r\n"):
        assert b" 400 " in (await until_hung_up(http_port, said)).splitlines()[0]
    assert caplog.records == []
