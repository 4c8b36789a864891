"""A node's HTTP server: its stop is bounded, even with a client that never reads its answer.

A broken invariant behind a request ends the node.
"""

from __future__ import annotations

import asyncio
import socket

import pytest
from prometheus_client import CollectorRegistry

from tidelog.core.errors import InvariantError
from tidelog.core.metric_family import MetricFamily
from tidelog.node import http

pytestmark = pytest.mark.real_time

MORE_THAN_SOCKETS_HOLD = b"x" * (64 << 20)
SHORT_MS = 200
FAR_BELOW_AIOHTTPS_OWN_S = 25
"""aiohttp waits 60 s where nothing is said."""


async def test_a_client_that_never_reads_does_not_hold_up_the_stop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answering = asyncio.Event()

    def metrics(_registry: CollectorRegistry) -> bytes:
        answering.set()
        return MORE_THAN_SOCKETS_HOLD

    monkeypatch.setattr(http, "STOP_MS_MAX", SHORT_MS)
    monkeypatch.setattr(http, "generate_latest", metrics)
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = int(probe.getsockname()[1])
    server = http.HttpServer(
        host="127.0.0.1",
        port=port,
        registry=CollectorRegistry(),
        is_ready=lambda: True,
        max_idle_ms=600_000,
        on_fatal=lambda error: None,
    )
    await server.start()
    with socket.create_connection(("127.0.0.1", port)) as client:
        client.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
        await answering.wait()
        async with asyncio.timeout(FAR_BELOW_AIOHTTPS_OWN_S):
            await server.stop()


async def test_a_broken_invariant_behind_a_request_ends_the_node() -> None:
    def families() -> list[MetricFamily]:
        raise InvariantError("two leaders")

    fatal: list[BaseException] = []
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = int(probe.getsockname()[1])
    server = http.HttpServer(
        host="127.0.0.1",
        port=port,
        registry=CollectorRegistry(),
        is_ready=lambda: True,
        max_idle_ms=600_000,
        on_fatal=fatal.append,
        families=families,
    )
    await server.start()
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    assert b" 500 " in await reader.readline()
    writer.close()
    await server.stop()
    assert [type(error) for error in fatal] == [InvariantError]
