"""Calls over gRPC: one channel per address, connected before anything is written to it.

Connecting first distinguishes "never delivered" from "outcome unknown": while a channel is not
READY nothing has been sent (UnreachableError). Once it was READY, every failure of the call,
UNAVAILABLE included, counts as unknown (CallFailedError), since gRPC does not say whether the
request had been written when the connection broke. Never retries.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from typing import cast

import grpc
import grpc.aio

from tidelog.core.errors import UnreachableError
from tidelog.net.client_ids import METADATA_KEY
from tidelog.net.grpc_channels import CONNECT_TIMEOUT_MS, connect_channel, new_channel
from tidelog.net.grpc_dial import dial, refusal
from tidelog.net.grpc_streams import GrpcStream, failed_call, stream_on
from tidelog.net.idle_timer import IdleTimer
from tidelog.net.transport import Dialled
from tidelog.v1.methods import Method, Request, Response

REFUSAL_TIMEOUT_MS = 500
"""Limit of the look whether an address refuses connections."""


class GrpcTransport:
    """Calls over insecure gRPC channels, which stay open until `close`, or for `max_idle_ms`.

    With a `client_id`, the transport of a client: each call names it, and until the first
    connection `UnreachableError.is_broken` says for certain whether the address refused it.
    """

    def __init__(
        self,
        *,
        connect_timeout_ms: int = CONNECT_TIMEOUT_MS,
        client_id: str | None = None,
        max_idle_ms: int | None = None,
    ) -> None:
        self._connect_timeout_ms = connect_timeout_ms
        self._max_idle_ms = max_idle_ms
        self._metadata = None if client_id is None else ((METADATA_KEY, client_id),)
        self._is_refusal_checked = client_id is not None
        self._channels: dict[str, _Channel] = {}
        self._closing: set[asyncio.Task[None]] = set()

    async def call(
        self,
        address: str,
        method: Method[Request, Response],
        request: Request,
        *,
        timeout_ms: int,
    ) -> Response:
        """See `Transport.call`."""
        with self._used(address) as used:
            await self._connect(used.channel, address, timeout_ms=timeout_ms)
            call = used.callable(method)
            try:
                return await call(request, timeout=timeout_ms / 1000, metadata=self._metadata)
            except grpc.aio.AioRpcError as error:
                raise failed_call(error, address, method.name) from None

    async def stream(
        self, address: str, method: Method[Request, Response], request: Request
    ) -> AsyncIterator[Response]:
        """Send one request, iterate over responses; closing cancels the call. Errors as `call`."""
        with self._used(address) as used:
            await self._connect(used.channel, address, timeout_ms=self._connect_timeout_ms)
            rpc = used.channel.unary_stream(
                method.path,
                request_serializer=method.request_type.SerializeToString,
                response_deserializer=method.response_type.FromString,
            )
            call = rpc(request, metadata=self._metadata)
            try:
                async for response in call:
                    yield response
            except grpc.aio.AioRpcError as error:
                raise failed_call(error, address, method.name) from None
            finally:
                call.cancel()

    async def open_stream(
        self, address: str, method: Method[Request, Response]
    ) -> GrpcStream[Request, Response]:
        """See `Transport.open_stream`."""
        with self._used(address) as used:
            await self._connect(used.channel, address, timeout_ms=self._connect_timeout_ms)
            stream = stream_on(used.channel, address, method, metadata=self._metadata)
            used.begin()
            stream.on_end(used.end)
            return stream

    async def dial(self, address: str, *, timeout_ms: int) -> Dialled:
        """See `tidelog.net.grpc_dial`."""
        return await dial(address, timeout_ms=timeout_ms)

    async def close(self) -> None:
        """Close every channel; calls under way fail."""
        channels = list(self._channels.values())
        self._channels.clear()
        for one in channels:
            await one.close()
        await asyncio.gather(*self._closing)

    @contextmanager
    def _used(self, address: str) -> Iterator[_Channel]:
        """The channel to an address, which does not count as idle in the block."""
        used = self._channels.get(address)
        if used is None:
            used = self._channels[address] = _Channel(address)
            if self._max_idle_ms is not None:
                used.expire_after(self._max_idle_ms, lambda: self._expire(address))
        used.begin()
        try:
            yield used
        finally:
            used.end()

    def _expire(self, address: str) -> None:
        task = asyncio.create_task(self._channels.pop(address).close())
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)

    async def _connect(self, channel: grpc.aio.Channel, address: str, *, timeout_ms: int) -> None:
        limit_ms = min(self._connect_timeout_ms, timeout_ms)
        try:
            await connect_channel(channel, address, timeout_ms=limit_ms)
        except UnreachableError as error:
            if not error.is_broken or not self._is_refusal_checked:
                raise
            reason = await refusal(address, timeout_ms=min(REFUSAL_TIMEOUT_MS, limit_ms))
            raise UnreachableError(
                f"no broker answers at {address}" + (f": {reason}" if reason else ""),
                is_broken=reason is not None,
            ) from None
        self._is_refusal_checked = False


class _Channel:
    """A channel, its callables by path, and the number of its calls and streams under way."""

    def __init__(self, address: str) -> None:
        self.channel = new_channel(address)
        # A call's type is that of its method, which a dict cannot express.
        self._callables: dict[str, object] = {}
        self._under_way = 0
        self._idle: IdleTimer | None = None

    def callable(
        self, method: Method[Request, Response]
    ) -> grpc.aio.UnaryUnaryMultiCallable[Request, Response]:
        found = self._callables.get(method.path)
        if found is None:
            found = self._callables[method.path] = self.channel.unary_unary(
                method.path,
                request_serializer=method.request_type.SerializeToString,
                response_deserializer=method.response_type.FromString,
            )
        return cast("grpc.aio.UnaryUnaryMultiCallable[Request, Response]", found)

    def expire_after(self, max_idle_ms: int, expire: Callable[[], None]) -> None:
        """Call `expire` once nothing was under way for so long."""
        self._idle = IdleTimer(max_idle_ms, is_busy=lambda: self._under_way > 0, expire=expire)

    def begin(self) -> None:
        self._under_way += 1

    def end(self) -> None:
        self._under_way -= 1
        if self._idle is not None:
            self._idle.touch()

    async def close(self) -> None:
        if self._idle is not None:
            self._idle.stop()
        await self.channel.close()
