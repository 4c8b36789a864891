"""gRPC channels to other nodes: the only place that makes them, with the options of all of them.

Connecting is separate from calling, since it distinguishes "never delivered" from "outcome
unknown": while a channel is not READY nothing has been sent.
"""

from __future__ import annotations

import asyncio

import grpc
import grpc.aio

from tidelog.core.errors import UnreachableError
from tidelog.net.closed_loops import ignore_events_of_closed_loops

MAX_RECEIVE_BYTES = 64 << 20
CONNECT_TIMEOUT_MS = 1_500
KEEPALIVE = (
    # The first two detect a peer that vanished without closing its connection. Without the third,
    # gRPC waits a minute for the answer to its ping, regardless of the second.
    ("grpc.keepalive_time_ms", 10_000),
    ("grpc.keepalive_timeout_ms", 5_000),
    ("grpc.http2.ping_timeout_ms", 5_000),
)
"""Options of both ends of a connection: of these channels and of `tidelog.net.grpc_server`."""
OPTIONS = (
    ("grpc.max_send_message_length", -1),
    ("grpc.max_receive_message_length", MAX_RECEIVE_BYTES),
    ("grpc.initial_reconnect_backoff_ms", 50),
    ("grpc.min_reconnect_backoff_ms", CONNECT_TIMEOUT_MS),
    # A restarted node is found at once; the default back-off grows to two minutes.
    ("grpc.max_reconnect_backoff_ms", 500),
    *KEEPALIVE,
    ("grpc.enable_http_proxy", 0),
    # Without it channels to one address share a connection, its failures and its back-off.
    ("grpc.use_local_subchannel_pool", 1),
)


def new_channel(address: str) -> grpc.aio.Channel:
    """Create an insecure channel to `host:port`; it connects at its first use."""
    ignore_events_of_closed_loops(asyncio.get_running_loop())
    return grpc.aio.insecure_channel(address, options=OPTIONS)


async def connect_channel(channel: grpc.aio.Channel, address: str, *, timeout_ms: int) -> None:
    """Return once the channel is READY.

    Raises `UnreachableError` when an attempt to connect fails, or after `timeout_ms`.
    """
    state = channel.get_state(try_to_connect=True)
    if state is grpc.ChannelConnectivity.READY:
        return
    try:
        async with asyncio.timeout(timeout_ms / 1000):
            while state is not grpc.ChannelConnectivity.READY:
                if state is grpc.ChannelConnectivity.TRANSIENT_FAILURE:
                    raise UnreachableError(f"no broker answers at {address}", is_broken=True)
                await channel.wait_for_state_change(state)
                state = channel.get_state(try_to_connect=True)
    except TimeoutError:
        raise UnreachableError(f"no broker answers at {address} within {timeout_ms} ms") from None
