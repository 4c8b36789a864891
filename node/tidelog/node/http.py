"""HTTP endpoints: `/metrics` and `/health`; if enabled, records by `POST /topics/TOPIC`.

Every connection has a maximum age, so that a silent client, or half a request, does not hold a file
descriptor for longer.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from http import HTTPStatus

from aiohttp import HttpVersion11, web
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.typedefs import Handler, Middleware
from aiohttp.web_protocol import RequestHandler
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from tidelog.core.background import STOP_MS_MAX
from tidelog.core.errors import InvariantError, TidelogError
from tidelog.core.metric_family import MetricFamily
from tidelog.node.http_produce.answers import Answer
from tidelog.node.http_produce.posts import Post, RecordPosts
from tidelog.node.metrics import exposition_slices

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
        on_fatal: Callable[[BaseException], None],
        posts: RecordPosts | None = None,
        families: Callable[[], Iterable[MetricFamily]] = tuple,
    ) -> None:
        self._host = host
        self._port = port
        self._registry = registry
        self._families = families
        self._is_ready = is_ready
        self._life_s = max_idle_ms / 1000
        self._closing: asyncio.Task[None] | None = None
        application = web.Application(middlewares=[_edge(on_fatal)])
        application.add_routes(
            [web.get("/metrics", self._metrics), web.get("/health", self._health)]
        )
        if posts is not None:
            _add_posts(application, posts)
        # Bodies are not inflated: their size is checked as they come.
        self._runner = web.AppRunner(
            application,
            access_log=None,
            logger=_logger(),
            auto_decompress=False,
            shutdown_timeout=STOP_MS_MAX / 1000,
        )

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
        """Close the listener; wait for unfinished requests at most `STOP_MS_MAX`."""
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
        slices = [generate_latest(self._registry)]
        slices += [one async for one in exposition_slices(self._families())]
        return web.Response(body=b"".join(slices), headers={"Content-Type": CONTENT_TYPE_LATEST})

    async def _health(self, request: web.Request) -> web.Response:
        del request
        ready = self._is_ready()
        return web.json_response({"ready": ready}, status=200 if ready else 503)


def _edge(on_fatal: Callable[[BaseException], None]) -> Middleware:
    """The edge of HTTP: aiohttp answers 500 to any error of a handler, and goes on."""

    @web.middleware
    async def edge(request: web.Request, handler: Handler) -> web.StreamResponse:
        try:
            return await handler(request)
        except InvariantError as error:
            on_fatal(error)
            raise

    return edge


def _add_posts(application: web.Application, posts: RecordPosts) -> None:
    """Serve `POST /topics/TOPIC`, refused by its head before a `100 Continue` asks for the body."""

    async def expected(request: web.Request) -> web.Response | None:
        if (refused := posts.refusal_by_head(_post_of(request))) is not None:
            return _response_of(refused)
        if request.transport is not None and request.version == HttpVersion11:
            request.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        return None

    async def post(request: web.Request) -> web.Response:
        return _response_of(await posts.answer(_post_of(request)))

    application.router.add_post("/topics/{topic}", post, expect_handler=expected)


def _post_of(request: web.Request) -> Post:
    return Post(
        topic=request.match_info["topic"],
        query=tuple(request.query.items()),
        content_type=request.content_type,
        content_length=request.content_length,
        body=request.content.iter_any(),
        content_encoding=request.headers.get("Content-Encoding", ""),
        origin=request.headers.get("Origin"),
    )


def _response_of(answer: Answer) -> web.Response:
    response = web.json_response(answer.body, status=answer.status)
    if answer.status != HTTPStatus.OK:
        response.force_close()  # what is left of the body is not waited for
    return response


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
