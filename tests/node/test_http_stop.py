"""The stop of a node's HTTP server is bounded, even with a client that never reads its answer."""

from __future__ import annotations

import asyncio
import socket

import pytest
from prometheus_client import CollectorRegistry

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
    )
    await server.start()
    with socket.create_connection(("127.0.0.1", port)) as client:
        client.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
        await answering.wait()
        async with asyncio.timeout(FAR_BELOW_AIOHTTPS_OWN_S):
            await server.stop()
