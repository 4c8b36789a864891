"""Calls that arrive faster than a node's loop takes them wait for it, and are answered."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import AsyncExitStack

import grpc
import grpc.aio
import pytest

from tidelog.net.grpc_server import (
    CONCURRENT_STREAMS_MAX,
    PENDING_CALLS,
    SERVER_OPTIONS,
)

pytestmark = pytest.mark.real_time

ONE = "/a.Service/Answer"
BURST = PENDING_CALLS - 500
OWN_POOL = (("grpc.use_local_subchannel_pool", 1),)


async def _answer(request: bytes, _context: object) -> bytes:
    return request


async def _outcome(call: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes]) -> str:
    try:
        await call(b"")
    except grpc.aio.AioRpcError as error:
        return error.code().name
    return "OK"


async def test_a_burst_of_calls_is_answered() -> None:
    """All are sent before the loop can take the first."""
    server = grpc.aio.server(options=SERVER_OPTIONS)
    method: grpc.RpcMethodHandler[bytes, bytes] = grpc.unary_unary_rpc_method_handler(_answer)
    server.add_generic_rpc_handlers(
        (grpc.method_handlers_generic_handler("a.Service", {"Answer": method}),)
    )
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    async with AsyncExitStack() as stack:
        calls: list[grpc.aio.UnaryUnaryMultiCallable[bytes, bytes]] = [
            (
                await stack.enter_async_context(
                    grpc.aio.insecure_channel(f"127.0.0.1:{port}", options=OWN_POOL)
                )
            ).unary_unary(ONE)
            for _ in range(-(-BURST // CONCURRENT_STREAMS_MAX))
        ]
        await asyncio.gather(*map(_outcome, calls))
        outcomes = await asyncio.gather(*(_outcome(calls[n % len(calls)]) for n in range(BURST)))
    await server.stop(None)

    assert Counter(outcomes) == {"OK": BURST}
