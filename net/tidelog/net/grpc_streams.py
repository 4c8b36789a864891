"""Bidirectional streams on a connected channel, and streams on a connection of their own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Generic, TypeVar, cast

import grpc
import grpc.aio

from tidelog.core.errors import CallExhaustedError, CallFailedError, CallUnauthorizedError
from tidelog.net.grpc_channels import connect_channel, new_channel
from tidelog.v1.methods import Method, Request, Response

T = TypeVar("T")


@asynccontextmanager
async def connect(
    address: str, method: Method[Request, Response], *, timeout_ms: int
) -> AsyncIterator[GrpcStream[Request, Response]]:
    """See `tidelog.net.transport.Connect`."""
    async with new_channel(address) as channel:
        await connect_channel(channel, address, timeout_ms=timeout_ms)
        stream = stream_on(channel, address, method)
        try:
            yield stream
        finally:
            stream.close()


def stream_on(
    channel: grpc.aio.Channel,
    address: str,
    method: Method[Request, Response],
    *,
    metadata: tuple[tuple[str, str], ...] | None = None,
) -> GrpcStream[Request, Response]:
    """Begin a stream on a connected channel.

    A method with one response is called alike: on the wire it is a stream of one.
    """
    rpc = channel.stream_stream(
        method.path,
        request_serializer=method.request_type.SerializeToString,
        response_deserializer=method.response_type.FromString,
    )
    call = cast("grpc.aio.StreamStreamCall[Request, Response]", rpc(metadata=metadata))
    return GrpcStream(call, address=address, method_name=method.name)


class GrpcStream(Generic[Request, Response]):
    """See `tidelog.net.transport.Stream`."""

    def __init__(
        self,
        call: grpc.aio.StreamStreamCall[Request, Response],
        *,
        address: str,
        method_name: str,
    ) -> None:
        # None after `close`: a call that is over still holds its connection.
        self._call: grpc.aio.StreamStreamCall[Request, Response] | None = call
        self._address = address
        self._method_name = method_name

    async def send(self, request: Request) -> None:
        """See `Stream.send`."""
        call = self._open_call()
        await self._done(call, call.write(request))

    async def receive(self) -> Response:
        """See `Stream.receive`."""
        call = self._open_call()
        response = await self._done(call, call.read())
        if response is grpc.aio.EOF:
            raise await self._end(call)
        return cast("Response", response)

    def _open_call(self) -> grpc.aio.StreamStreamCall[Request, Response]:
        if self._call is None:
            raise self._closed()
        return self._call

    def _closed(self) -> CallFailedError:
        return CallFailedError(f"{self._method_name} at {self._address} was closed")

    async def _done(
        self, call: grpc.aio.StreamStreamCall[Request, Response], step: Awaitable[T]
    ) -> T:
        try:
            return await step
        except grpc.aio.AioRpcError as error:
            raise failed_call(error, self._address, self._method_name) from None
        except asyncio.InvalidStateError:  # gRPC's error for a call that has ended
            raise await self._end(call) from None
        except asyncio.CancelledError:
            # gRPC raises it for a cancelled call, too; only the task knows if it was cancelled
            # itself.
            task = asyncio.current_task()
            if not call.cancelled() or task is None or task.cancelling():
                raise
            raise self._closed() from None

    def on_end(self, then: Callable[[], None]) -> None:
        """Call `then` once the stream has ended, by either side."""
        self._open_call().add_done_callback(lambda _: then())

    def close(self) -> None:
        """See `Stream.close`."""
        call, self._call = self._call, None
        if call is not None:
            call.cancel()

    async def _end(self, call: grpc.aio.StreamStreamCall[Request, Response]) -> CallFailedError:
        code = await call.code()
        reason = await call.details() or code.name
        return _call_error(code, f"{self._method_name} at {self._address} ended: {reason}")


def failed_call(error: grpc.aio.AioRpcError, address: str, method_name: str) -> CallFailedError:
    """Convert gRPC's error of a call that was begun on a connected channel."""
    reason = error.details() or error.code().name
    return _call_error(error.code(), f"{method_name} at {address} failed: {reason}")


def _call_error(code: grpc.StatusCode, message: str) -> CallFailedError:
    if code is grpc.StatusCode.PERMISSION_DENIED:
        return CallUnauthorizedError(message)
    if code is grpc.StatusCode.RESOURCE_EXHAUSTED:
        return CallExhaustedError(message)
    return CallFailedError(
        message,
        # A server that ends the call answers UNAVAILABLE, too; a deadline that passed never does.
        is_broken=code is grpc.StatusCode.UNAVAILABLE,
        is_refused=code is grpc.StatusCode.INVALID_ARGUMENT,
    )
