"""Bidirectional streams on a connected channel, and streams on a connection of their own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from typing import Generic, TypeVar, cast

import grpc
import grpc.aio

from tidelog.core.errors import CallFailedError, CallUnauthorizedError
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
    channel: grpc.aio.Channel, address: str, method: Method[Request, Response]
) -> GrpcStream[Request, Response]:
    """Begin a stream on a connected channel.

    A method with one response is called alike: on the wire it is a stream of one.
    """
    rpc = channel.stream_stream(
        method.path,
        request_serializer=method.request_type.SerializeToString,
        response_deserializer=method.response_type.FromString,
    )
    call = cast("grpc.aio.StreamStreamCall[Request, Response]", rpc())
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
            raise failed_call(error, self._address, self._method_name) from None
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


def failed_call(error: grpc.aio.AioRpcError, address: str, method_name: str) -> CallFailedError:
    """Convert gRPC's error of a call that was begun on a connected channel."""
    reason = error.details() or error.code().name
    return _call_error(error.code(), f"{method_name} at {address} failed: {reason}")


def _call_error(code: grpc.StatusCode, message: str) -> CallFailedError:
    if code is grpc.StatusCode.PERMISSION_DENIED:
        return CallUnauthorizedError(message)
    return CallFailedError(
        message,
        # A server that ends the call answers UNAVAILABLE, too; a deadline that passed never does.
        is_broken=code is grpc.StatusCode.UNAVAILABLE,
        is_refused=code is grpc.StatusCode.INVALID_ARGUMENT,
    )
