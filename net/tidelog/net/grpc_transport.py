"""Calls over gRPC: one channel per address, connected before anything is written to it.

Connecting first distinguishes "never delivered" from "outcome unknown": while a channel is not
READY nothing has been sent (UnreachableError). Once it was READY, every failure of the call,
UNAVAILABLE included, counts as unknown (CallFailedError), since gRPC does not say whether the
request had been written when the connection broke. Never retries.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable
from typing import Generic, TypeVar, cast

import grpc
import grpc.aio

from tidelog.core.errors import CallFailedError, CallUnauthorizedError, UnreachableError
from tidelog.net.grpc_dial import dial
from tidelog.net.transport import Dialled
from tidelog.v1.methods import Method, Request, Response

T = TypeVar("T")
MAX_RECEIVE_BYTES = 64 << 20
CONNECT_TIMEOUT_MS = 1_500
_OPTIONS = (
    ("grpc.max_send_message_length", -1),
    ("grpc.max_receive_message_length", MAX_RECEIVE_BYTES),
    ("grpc.initial_reconnect_backoff_ms", 50),
    ("grpc.min_reconnect_backoff_ms", CONNECT_TIMEOUT_MS),
    # A restarted node is found at once; the default back-off grows to two minutes.
    ("grpc.max_reconnect_backoff_ms", 500),
    # The first two detect a peer that vanished without closing its connection. Without the third,
    # gRPC waits a minute for the answer to its ping, regardless of the second.
    ("grpc.keepalive_time_ms", 10_000),
    ("grpc.keepalive_timeout_ms", 5_000),
    ("grpc.http2.ping_timeout_ms", 5_000),
    ("grpc.enable_http_proxy", 0),
    ("grpc.use_local_subchannel_pool", 1),
)


class GrpcTransport:
    """Calls over insecure gRPC channels, which stay open until `close`."""

    def __init__(self, *, connect_timeout_ms: int = CONNECT_TIMEOUT_MS) -> None:
        self._connect_timeout_ms = connect_timeout_ms
        self._channels: dict[str, grpc.aio.Channel] = {}
        # Keyed by (address, path); a call's type is that of its method, which a dict cannot
        # express.
        self._calls: dict[tuple[str, str], object] = {}

    async def call(
        self,
        address: str,
        method: Method[Request, Response],
        request: Request,
        *,
        timeout_ms: int,
    ) -> Response:
        """See `Transport.call`."""
        channel = self._channel(address)
        await self._connect(channel, address, timeout_ms=timeout_ms)
        call = self._callable(channel, address, method)
        try:
            return await call(request, timeout=timeout_ms / 1000)
        except grpc.aio.AioRpcError as error:
            raise _failed(error, address, method.name) from None

    async def stream(
        self, address: str, method: Method[Request, Response], request: Request
    ) -> AsyncIterator[Response]:
        """Send one request, iterate over responses; closing cancels the call. Errors as `call`."""
        channel = self._channel(address)
        await self._connect(channel, address, timeout_ms=self._connect_timeout_ms)
        rpc = channel.unary_stream(
            method.path,
            request_serializer=method.request_type.SerializeToString,
            response_deserializer=method.response_type.FromString,
        )
        call = rpc(request)
        try:
            async for response in call:
                yield response
        except grpc.aio.AioRpcError as error:
            raise _failed(error, address, method.name) from None
        finally:
            call.cancel()

    async def open_stream(
        self, address: str, method: Method[Request, Response]
    ) -> GrpcStream[Request, Response]:
        """See `Transport.open_stream`."""
        channel = self._channel(address)
        await self._connect(channel, address, timeout_ms=self._connect_timeout_ms)
        rpc = channel.stream_stream(
            method.path,
            request_serializer=method.request_type.SerializeToString,
            response_deserializer=method.response_type.FromString,
        )
        call = cast("grpc.aio.StreamStreamCall[Request, Response]", rpc())
        return GrpcStream(call, address=address, method_name=method.name)

    async def dial(self, address: str, *, timeout_ms: int) -> Dialled:
        """See `tidelog.net.grpc_dial`."""
        return await dial(address, timeout_ms=timeout_ms)

    async def close(self) -> None:
        """Close every channel; calls under way fail."""
        channels = list(self._channels.values())
        self._channels.clear()
        self._calls.clear()
        for channel in channels:
            await channel.close()

    def _channel(self, address: str) -> grpc.aio.Channel:
        channel = self._channels.get(address)
        if channel is None:
            channel = grpc.aio.insecure_channel(address, options=_OPTIONS)
            self._channels[address] = channel
        return channel

    def _callable(
        self, channel: grpc.aio.Channel, address: str, method: Method[Request, Response]
    ) -> grpc.aio.UnaryUnaryMultiCallable[Request, Response]:
        key = (address, method.path)
        call = self._calls.get(key)
        if call is None:
            call = self._calls[key] = channel.unary_unary(
                method.path,
                request_serializer=method.request_type.SerializeToString,
                response_deserializer=method.response_type.FromString,
            )
        return cast("grpc.aio.UnaryUnaryMultiCallable[Request, Response]", call)

    async def _connect(self, channel: grpc.aio.Channel, address: str, *, timeout_ms: int) -> None:
        """Return once the channel is READY; raise UnreachableError if it is not READY in time."""
        state = channel.get_state(try_to_connect=True)
        if state is grpc.ChannelConnectivity.READY:
            return
        limit_ms = min(self._connect_timeout_ms, timeout_ms)
        try:
            async with asyncio.timeout(limit_ms / 1000):
                while state is not grpc.ChannelConnectivity.READY:
                    if state is grpc.ChannelConnectivity.TRANSIENT_FAILURE:
                        raise UnreachableError(f"no broker answers at {address}", is_broken=True)
                    await channel.wait_for_state_change(state)
                    state = channel.get_state(try_to_connect=True)
        except TimeoutError:
            raise UnreachableError(f"no broker answers at {address} within {limit_ms} ms") from None


class GrpcStream(Generic[Request, Response]):
    """See `tidelog.net.transport.Stream`."""

    def __init__(
        self,
        call: grpc.aio.StreamStreamCall[Request, Response],
        *,
        address: str,
        method_name: str,
    ) -> None:
        self._call = call
        self._address = address
        self._method_name = method_name

    async def send(self, request: Request) -> None:
        """See `Stream.send`."""
        await self._done(self._call.write(request))

    async def receive(self) -> Response:
        """See `Stream.receive`."""
        response = await self._done(self._call.read())
        if response is grpc.aio.EOF:
            raise await self._end()
        return cast("Response", response)

    async def _done(self, step: Awaitable[T]) -> T:
        try:
            return await step
        except grpc.aio.AioRpcError as error:
            raise _failed(error, self._address, self._method_name) from None
        except asyncio.InvalidStateError:  # gRPC's error for a call that has ended
            raise await self._end() from None
        except asyncio.CancelledError:
            # gRPC raises it for a cancelled call, too; only the task knows if it was cancelled
            # itself.
            task = asyncio.current_task()
            if not self._call.cancelled() or task is None or task.cancelling():
                raise
            raise CallFailedError(f"{self._method_name} at {self._address} was closed") from None

    def close(self) -> None:
        """See `Stream.close`."""
        self._call.cancel()

    async def _end(self) -> CallFailedError:
        code = await self._call.code()
        reason = await self._call.details() or code.name
        return _call_error(code, f"{self._method_name} at {self._address} ended: {reason}")


def _failed(error: grpc.aio.AioRpcError, address: str, method_name: str) -> CallFailedError:
    reason = error.details() or error.code().name
    return _call_error(error.code(), f"{method_name} at {address} failed: {reason}")


def _call_error(code: grpc.StatusCode, message: str) -> CallFailedError:
    if code is grpc.StatusCode.PERMISSION_DENIED:
        return CallUnauthorizedError(message)
    # A server that ends the call answers UNAVAILABLE, too; a deadline that passed never does.
    return CallFailedError(message, is_broken=code is grpc.StatusCode.UNAVAILABLE)
