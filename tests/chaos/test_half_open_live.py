"""Both ends of a connection that says nothing any more, not even that it is closed, notice it."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.chaos.fault_cluster_port import FakeSocketPort

from tidelog.chaos.faults.fault import lasting
from tidelog.chaos.faults.reach import Reach, both_ways
from tidelog.chaos.faults.together import Together
from tidelog.chaos.faults.toxics import SlowClose, Timeout
from tidelog.chaos.sockets.proxies import ToxiproxyProxies
from tidelog.chaos.sockets.toxiproxy import Toxiproxy
from tidelog.chaos.story.scenario_run import ScenarioRun
from tidelog.chaos.topology import CLIENTS, Link
from tidelog.core.errors import CallFailedError
from tidelog.net.grpc_server import GrpcServer
from tidelog.net.grpc_transport import GrpcTransport
from tidelog.net.listeners import one_listener
from tidelog.net.quiet_ports import HOST, quiet_ports
from tidelog.v1.data_pb2 import FetchRequest, FetchResponse
from tidelog.v1.methods import FETCH_STREAM

pytestmark = pytest.mark.chaos
LINK = Link(CLIENTS, 4, "broker")
NOTICED_S_MAX = 30.0
"""Keepalive asks after 10 s and waits 5; gRPC's own limit is a minute more."""


class Echo:
    """Answers each request; knows when its stream has ended."""

    def __init__(self) -> None:
        self.ended = asyncio.Event()

    def __getattr__(self, _: str) -> object:
        async def other(_: object) -> object:
            raise AssertionError("not asked here")

        return other

    async def fetch_stream(
        self, requests: AsyncIterator[FetchRequest]
    ) -> AsyncIterator[FetchResponse]:
        try:
            async for _ in requests:
                yield FetchResponse()
        finally:
            self.ended.set()


def _refuse(error: BaseException) -> None:
    raise AssertionError(error)


@pytest.mark.turns(3)
async def test_both_ends_of_a_dead_connection_notice_it_by_themselves(tmp_path: Path) -> None:
    port, listen = quiet_ports(2)
    echo, cluster = Echo(), FakeSocketPort()
    server = GrpcServer(
        listeners=one_listener(f"{HOST}:{port}"),
        services={"tidelog.v1.Broker": echo},
        on_fatal=_refuse,
    )
    await server.start()
    toxiproxy = await Toxiproxy.start(tmp_path, {})
    transport = GrpcTransport()
    try:
        await toxiproxy.populate([(LINK.name, f"{HOST}:{listen}", f"{HOST}:{port}")])
        cluster.proxies = ToxiproxyProxies(toxiproxy, [LINK])  # type: ignore[assignment]
        stream = await transport.open_stream(f"{HOST}:{listen}", FETCH_STREAM)
        await stream.send(FetchRequest())
        await stream.receive()

        reach = Reach(both_ways([CLIENTS], [4]))
        # The end of one side is held back before what is said is dropped: neither tells the other.
        silence = Together((SlowClose(reach, delay_ms=300_000), Timeout(reach)))
        async with lasting(ScenarioRun(cluster), silence), asyncio.timeout(NOTICED_S_MAX):
            with pytest.raises(CallFailedError):
                await stream.receive()
            await echo.ended.wait()
    finally:
        toxiproxy.child.send(signal.SIGKILL)
        assert await toxiproxy.child.wait_ended(within_s=10)
        await transport.close()
        await server.stop(grace_s=0)
