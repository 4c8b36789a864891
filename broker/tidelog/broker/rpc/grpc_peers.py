"""Calls to other nodes over gRPC: one channel an address, kept while the node runs."""

from __future__ import annotations

from collections.abc import AsyncIterator

import grpc
import grpc.aio

from tidelog.log.errors import CallFailedError, TidelogError, UnreachableError
from tidelog.v1.methods import Method, Request, Response

# A leader's answer to a follower holds at most this much, and one batch above it.
RECEIVE_BYTES_MAX = 64 * 1024 * 1024
CHANNEL_OPTIONS = (
    ("grpc.max_receive_message_length", RECEIVE_BYTES_MAX),
    ("grpc.max_send_message_length", -1),
    # A node that comes back is found at once; the default back-off grows to two minutes.
    ("grpc.initial_reconnect_backoff_ms", 50),
    ("grpc.min_reconnect_backoff_ms", 50),
    ("grpc.max_reconnect_backoff_ms", 500),
    ("grpc.enable_http_proxy", 0),
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.keepalive_time_ms", 10_000),
    ("grpc.keepalive_timeout_ms", 5_000),
)


class GrpcPeers:
    """`Peers` over gRPC channels."""

    def __init__(self) -> None:
        self._channels: dict[str, grpc.aio.Channel] = {}

    async def call(
        self,
        address: str,
        method: Method[Request, Response],
        request: Request,
        *,
        timeout_ms: int,
    ) -> Response:
        """See `Peers.call`."""
        rpc = self._channel(address).unary_unary(
            method.path,
            request_serializer=method.request_type.SerializeToString,
            response_deserializer=method.response_type.FromString,
        )
        try:
            return await rpc(request, timeout=timeout_ms / 1000)
        except grpc.aio.AioRpcError as error:
            raise _typed(error, address) from error

    async def stream(
        self, address: str, method: Method[Request, Response], request: Request
    ) -> AsyncIterator[Response]:
        """See `Peers.stream`."""
        rpc = self._channel(address).unary_stream(
            method.path,
            request_serializer=method.request_type.SerializeToString,
            response_deserializer=method.response_type.FromString,
        )
        call = rpc(request)
        try:
            async for response in call:
                yield response
        except grpc.aio.AioRpcError as error:
            raise _typed(error, address) from error
        finally:
            call.cancel()

    async def close(self) -> None:
        """Close every channel."""
        for channel in self._channels.values():
            await channel.close()

    def _channel(self, address: str) -> grpc.aio.Channel:
        channel = self._channels.get(address)
        if channel is None:
            channel = grpc.aio.insecure_channel(address, options=CHANNEL_OPTIONS)
            self._channels[address] = channel
        return channel


def _typed(error: grpc.aio.AioRpcError, address: str) -> TidelogError:
    details = error.details() or error.code().name
    # gRPC says UNAVAILABLE both for a refused connection and for one that broke under way.
    if error.code() == grpc.StatusCode.UNAVAILABLE and "failed to connect" in details:
        return UnreachableError(f"{address} cannot be reached: {details}")
    return CallFailedError(f"call to {address} failed: {details}")
