"""A small server, a client, and the simulated network between them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

from tidelog.core.chance import SeededRandom
from tidelog.simulation.engine.network import Host, SimNetwork
from tidelog.simulation.engine.peers import SimPeers
from tidelog.simulation.engine.scheduler import Scheduler, SchedulerLimits
from tidelog.simulation.engine.trace import Trace
from tidelog.v1.controller_pb2 import FollowMetadataRequest, FollowMetadataResponse
from tidelog.v1.data_pb2 import MetadataRequest, MetadataResponse
from tidelog.v1.methods import METADATA

SERVER = "server:1"


@dataclass
class Handler:
    """Both services of a small server."""

    think_s: float = 0.0
    error: Exception | None = None
    requests: list[MetadataRequest] = field(default_factory=list)
    cancelled: int = 0
    sent: int = 0

    async def metadata(self, request: MetadataRequest) -> MetadataResponse:
        self.requests.append(request)
        try:
            await asyncio.sleep(self.think_s)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        if self.error is not None:
            raise self.error
        return MetadataResponse(cluster_id=",".join(request.topics))

    async def follow_metadata(
        self, request: FollowMetadataRequest
    ) -> AsyncIterator[FollowMetadataResponse]:
        try:
            for self.sent in range(request.from_offset):
                yield FollowMetadataResponse(committed_offset=self.sent)
                await asyncio.sleep(self.think_s)
        finally:
            self.cancelled += 1


class Stage:
    """A server, a client, and the network between them."""

    def __init__(self) -> None:
        self.trace: list[str] = []
        self.scheduler = Scheduler(
            trace=Trace(sink=self.trace.append), limits=SchedulerLimits(virtual_s=1000)
        )
        self.network = SimNetwork(scheduler=self.scheduler, random=SeededRandom(1))
        self.client = self.add("client")
        self.server = self.add("server")
        self.handler = Handler()
        self.server.services = {"tidelog.v1.Broker": self.handler}
        self.server.services |= {"tidelog.v1.Controller": self.handler}
        self.peers = SimPeers(network=self.network, host=self.client)

    def add(self, name: str) -> Host:
        host = Host(name=name, loop=self.scheduler.new_loop(name), address=f"{name}:1")
        self.network.attach(host)
        return host

    def bring_up(self, name: str) -> None:
        self.add(name)

    def crash(self, host: Host) -> None:
        self.network.crash(host)
        host.loop.kill()

    def power_off(self, host: Host) -> None:
        self.network.power_off(host)
        host.loop.kill()

    def later(self, delay_s: float, action: Callable[[], None]) -> None:
        self.scheduler.deliver(self.client.loop, action, delay_s=delay_s)

    def run(self, main: Coroutine[Any, Any, None]) -> None:
        self.scheduler.run(self.client.loop, main)

    async def ask(self, topic: str = "a", *, timeout_ms: int = 5000) -> MetadataResponse:
        request = MetadataRequest(topics=[topic])
        return await self.peers.call(SERVER, METADATA, request, timeout_ms=timeout_ms)
