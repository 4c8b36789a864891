"""HTTP for people and Prometheus: `/metrics` and `/health`. Never changes anything."""

from __future__ import annotations

from collections.abc import Callable

from aiohttp import web
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from tidelog.log.errors import TidelogError


class HttpServer:
    """Serves on loopback or wherever `host` says."""

    def __init__(
        self,
        *,
        host: str,
        port: int,
        registry: CollectorRegistry,
        is_ready: Callable[[], bool],
    ) -> None:
        self._host = host
        self._port = port
        self._registry = registry
        self._is_ready = is_ready
        application = web.Application()
        application.add_routes(
            [web.get("/metrics", self._metrics), web.get("/health", self._health)]
        )
        self._runner = web.AppRunner(application, access_log=None)

    async def start(self) -> None:
        """Bind and serve. Errors: `TidelogError` naming the port when it is taken."""
        await self._runner.setup()
        try:
            await web.TCPSite(self._runner, self._host, self._port).start()
        except OSError as error:
            raise TidelogError(
                f"cannot serve HTTP on {self._host}:{self._port}: {error.strerror or error};"
                " free the port or set another http.port"
            ) from error

    async def stop(self) -> None:
        """Close the listener."""
        await self._runner.cleanup()

    async def _metrics(self, request: web.Request) -> web.Response:
        del request
        body = generate_latest(self._registry)
        return web.Response(body=body, headers={"Content-Type": CONTENT_TYPE_LATEST})

    async def _health(self, request: web.Request) -> web.Response:
        del request
        ready = self._is_ready()
        return web.json_response({"ready": ready}, status=200 if ready else 503)
