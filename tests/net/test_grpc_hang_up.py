"""A server that hangs up, as the end of its process would."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

import grpc
import pytest

from tidelog.net import grpc_server
from tidelog.net.grpc_server import GrpcServer
from tidelog.net.listeners import one_listener
from tidelog.v1 import methods
from tidelog.v1.data_pb2 import MetadataRequest, MetadataResponse

pytestmark = pytest.mark.real_time


class Stubborn:
    """Answers no call, and ends none before it is let go."""

    def __init__(self) -> None:
        self.asked, self.let_go = asyncio.Event(), asyncio.Event()

    def __getattr__(self, _name: str) -> object:
        return self.metadata

    async def metadata(self, _request: MetadataRequest) -> MetadataResponse:
        self.asked.set()
        while not self.let_go.is_set():
            try:
                await self.let_go.wait()
            except asyncio.CancelledError:
                continue
        return MetadataResponse()


async def test_a_call_that_does_not_end_holds_no_hang_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grpc_server, "HANG_UP_S_MAX", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as probe:
        address = f"127.0.0.1:{probe.getsockname()[1]}"

    def on_fatal(error: BaseException) -> None:
        raise AssertionError(error)

    handler = Stubborn()
    services = {"tidelog.v1.Broker": handler}
    server = GrpcServer(listeners=one_listener(address), services=services, on_fatal=on_fatal)
    await server.start()
    async with grpc.aio.insecure_channel(address) as channel, asyncio.timeout(120):
        ask: Any = channel.unary_unary(methods.METADATA.path)  # of bytes both ways
        call = ask(b"")
        await handler.asked.wait()
        await server.hang_up()
        assert not handler.let_go.is_set()
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await call
    assert caught.value.code() is grpc.StatusCode.UNAVAILABLE
    handler.let_go.set()
