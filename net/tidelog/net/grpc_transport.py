"""Calls over gRPC: one channel per address, connected before anything is written to it.

Connecting first distinguishes "never delivered" from "outcome unknown": while a channel is not
READY nothing has been sent (UnreachableError). Once it was READY, every failure of the call,
UNAVAILABLE included, counts as unknown (CallFailedError), since gRPC does not say whether the
request had been written when the connection broke. Never retries.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import cast

import grpc
import grpc.aio

from tidelog.net.grpc_channels import CONNECT_TIMEOUT_MS, connect_channel, new_channel
from tidelog.net.grpc_dial import dial
from tidelog.net.grpc_streams import GrpcStream, failed_call, stream_on
from tidelog.net.transport import Dialled
from tidelog.v1.methods import Method, Request, Response


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
            raise failed_call(error, address, method.name) from None

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
            raise failed_call(error, address, method.name) from None
        finally:
            call.cancel()

    async def open_stream(
        self, address: str, method: Method[Request, Response]
    ) -> GrpcStream[Request, Response]:
        """See `Transport.open_stream`."""
        channel = self._channel(address)
        await self._connect(channel, address, timeout_ms=self._connect_timeout_ms)
        return stream_on(channel, address, method)

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
            channel = self._channels[address] = new_channel(address)
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
        limit_ms = min(self._connect_timeout_ms, timeout_ms)
        await connect_channel(channel, address, timeout_ms=limit_ms)
