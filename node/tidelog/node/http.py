"""HTTP endpoints for people and Prometheus: `/metrics` and `/health`. Read-only.

Every connection has a maximum age, so that a silent client, or half a request, does not hold a file
descriptor for longer.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.web_protocol import RequestHandler
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from tidelog.core.errors import TidelogError

LOOKS_PER_LIFE = 4
LAST_REQUEST_S_MAX = 1.0
"""Time for a running request to finish when its connection's maximum age is reached."""


class HttpServer:
    """HTTP server on `host`, loopback or other."""

    def __init__(
        self,
        *,
        host: str,
        port: int,
        registry: CollectorRegistry,
        is_ready: Callable[[], bool],
        max_idle_ms: int,
    ) -> None:
        self._host = host
        self._port = port
        self._registry = registry
        self._is_ready = is_ready
        self._life_s = max_idle_ms / 1000
        self._closing: asyncio.Task[None] | None = None
        application = web.Application()
        application.add_routes(
            [web.get("/metrics", self._metrics), web.get("/health", self._health)]
        )
        self._runner = web.AppRunner(application, access_log=None, logger=_logger())

    async def start(self) -> None:
        """Bind and serve. Raises `TidelogError` naming the port when it is taken."""
        await self._runner.setup()
        try:
            await web.TCPSite(self._runner, self._host, self._port).start()
        except OSError as error:
            raise TidelogError(
                f"cannot serve HTTP on {self._host}:{self._port}: {error.strerror or error};"
                " free the port or set another http.port"
            ) from error
        self._closing = asyncio.create_task(self._close_old_ones(), name="http-connections")

    async def stop(self) -> None:
        """Close the listener."""
        if self._closing is not None:
            self._closing.cancel()
        await self._runner.cleanup()

    async def _close_old_ones(self) -> None:
        """Close connections at their maximum age, forever."""
        loop = asyncio.get_running_loop()
        seen_s: dict[RequestHandler, float] = {}
        while True:
            await asyncio.sleep(self._life_s / LOOKS_PER_LIFE)
            server, now_s = self._runner.server, loop.time()
            connections = [] if server is None else server.connections
            seen_s = {one: seen_s.get(one, now_s) for one in connections}
            old = [one for one in connections if now_s - seen_s[one] >= self._life_s]
            await asyncio.gather(*(one.shutdown(LAST_REQUEST_S_MAX) for one in old))

    async def _metrics(self, request: web.Request) -> web.Response:
        del request
        body = generate_latest(self._registry)
        return web.Response(body=body, headers={"Content-Type": CONTENT_TYPE_LATEST})

    async def _health(self, request: web.Request) -> web.Response:
        del request
        ready = self._is_ready()
        return web.json_response({"ready": ready}, status=200 if ready else 503)


class _OfUnreadableRequests(logging.Filter):
    """Filter for log records about malformed HTTP, which anybody may send in any number."""

    def filter(self, record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if record.exc_info else None
        return not isinstance(error, HttpProcessingError)


def _logger() -> logging.Logger:
    """Logger of aiohttp's failing requests."""
    logger = logging.getLogger("tidelog.http")
    if not logger.filters:
        logger.addFilter(_OfUnreadableRequests())
    return logger
