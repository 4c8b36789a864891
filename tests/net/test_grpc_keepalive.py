"""A peer that says nothing any more, its connection open, is given up by both ends."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterable

import pytest

from tidelog.core.errors import CallFailedError
from tidelog.net import grpc_channels, grpc_server
from tidelog.net.grpc_transport import GrpcTransport
from tidelog.net.listeners import one_listener
from tidelog.v1.admin_pb2 import NodeStatusRequest
from tidelog.v1.methods import NODE_STATUS

pytestmark = pytest.mark.real_time

# RFC 9113: settings that leave all as it is, and the word that the other's were taken.
SETTINGS = bytes((0, 0, 0, 4, 0, 0, 0, 0, 0))
SETTINGS_TAKEN = bytes((0, 0, 0, 4, 1, 0, 0, 0, 0))
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
PING_TYPE, GOAWAY_TYPE = 6, 7
PING = bytes((0, 0, 8, PING_TYPE, 0, 0, 0, 0, 0)) + bytes(8)
WAIT_S = 120.0
FASTER = 20


def faster(options: Iterable[tuple[str, int]]) -> list[tuple[str, int]]:
    """The same, its waits for a peer shorter; those it does not name are gRPC's own, a minute."""
    return [
        (name, value // FASTER if "keepalive_time" in name or "ping_timeout" in name else value)
        for name, value in options
    ]


async def test_a_call_to_a_silent_peer_breaks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grpc_channels, "OPTIONS", faster(grpc_channels.OPTIONS))

    async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(SETTINGS + SETTINGS_TAKEN)
        while await reader.read(4096):
            pass
        writer.close()

    server = await asyncio.start_server(greet, "127.0.0.1", 0)
    address = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    transport = GrpcTransport()
    timeout_ms = int(1000 * WAIT_S)
    with pytest.raises(CallFailedError) as failed:
        await transport.call(address, NODE_STATUS, NodeStatusRequest(), timeout_ms=timeout_ms)
    assert failed.value.is_broken, "not its deadline"
    await transport.close()
    server.close()


async def test_the_connection_of_a_silent_caller_is_closed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(grpc_server, "SERVER_OPTIONS", faster(grpc_server.SERVER_OPTIONS))
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]

    def on_fatal(error: BaseException) -> None:
        raise AssertionError(error)

    server = grpc_server.GrpcServer(
        listeners=one_listener(f"127.0.0.1:{port}"), services={}, on_fatal=on_fatal
    )
    await server.start()
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(PREFACE + SETTINGS + SETTINGS_TAKEN)
    async with asyncio.timeout(WAIT_S):
        while await reader.read(4096):
            pass
    writer.close()
    await server.stop(grace_s=0)


async def test_a_healthy_peer_is_not_hung_up_on_for_pinging_too_often() -> None:
    """A busy node reads pings that were sent ten seconds apart at once."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]

    def on_fatal(error: BaseException) -> None:
        raise AssertionError(error)

    server = grpc_server.GrpcServer(
        listeners=one_listener(f"127.0.0.1:{port}"), services={}, on_fatal=on_fatal
    )
    await server.start()
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(PREFACE + SETTINGS + SETTINGS_TAKEN)
    answers = []
    async with asyncio.timeout(WAIT_S):
        for _ in range(20):
            writer.write(PING)
            while (kind := await next_frame(reader)) not in (PING_TYPE, GOAWAY_TYPE):
                pass
            answers.append(kind)
    assert answers == [PING_TYPE] * 20
    writer.close()
    await server.stop(grace_s=0)


async def next_frame(reader: asyncio.StreamReader) -> int:
    """The type of the next frame, which is read to its end."""
    head = await reader.readexactly(9)
    await reader.readexactly(int.from_bytes(head[:3], "big"))
    return head[3]
