"""Strangers at the gRPC listeners: they are there from the first fault to the end.

    wide    asks by any RPC with thousands of elements, again and again
    unread  opens streams of fetches and takes no answer
    parked  waits in long fetches that it gives up

Two of five seeds have some. They are never taken away: honest clients must come to rest beside
them. Whatever the nodes answer them is not judged here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing, suppress

from tidelog.chaos.workloads.wide import WIDE_CALLS
from tidelog.core.chance import SeededRandom, one_of
from tidelog.core.errors import TidelogError
from tidelog.simulation.cluster.storm_target import StormTarget
from tidelog.simulation.engine.peers import SimPeers
from tidelog.v1.data_pb2 import FetchPartition, FetchRequest
from tidelog.v1.methods import FETCH

USED_PROBABILITY = 0.4
STRANGERS_MAX = 8
WIDE_MAX = 3_000
"""Elements of a wide call: more makes a seed slow."""
TIMEOUT_MS = 2_000
PARKED_MS = 20_000
REST_S_MAX, HELD_S_MAX = 3.0, 30.0
HOST = "strangers"


class Strangers:
    """Strangers of a seed; `stay` until it is cancelled."""

    def __init__(self, target: StormTarget, random: SeededRandom, topic: str) -> None:
        self._target = target
        self._random = random
        self._topic = topic
        kinds: dict[str, Callable[[SimPeers, str], Awaitable[None]]] = {
            "stranger_wide": self._ask_widely,
            "stranger_unread": self._leave_unread,
            "stranger_parked": self._park,
        }
        count = random.randrange(1, STRANGERS_MAX) if random.random() < USED_PROBABILITY else 0
        self._drawn = [one_of(random, sorted(kinds)) for _ in range(count)]
        self._acts = kinds

    @property
    def addresses(self) -> Sequence[str]:
        """Addresses of every broker."""
        return self._target.bootstrap

    async def stay(self) -> None:
        """Call for as long as the seed lasts."""
        if self._drawn:
            transport: SimPeers = self._target.client_ports(HOST)["transport"]
            await asyncio.gather(*(self._stay(transport, kind) for kind in self._drawn))

    async def _stay(self, transport: SimPeers, kind: str) -> None:
        while True:
            self._target.findings.faults[kind] += 1
            with suppress(TidelogError):
                await self._acts[kind](transport, one_of(self._random, self.addresses))
            await asyncio.sleep(self._random.uniform(0.05, REST_S_MAX))

    async def _ask_widely(self, transport: SimPeers, address: str) -> None:
        method, make = one_of(self._random, WIDE_CALLS)
        request = make(self._topic, self._random.randrange(1, WIDE_MAX))
        await transport.call(address, method, request, timeout_ms=TIMEOUT_MS)

    async def _leave_unread(self, transport: SimPeers, address: str) -> None:
        async with aclosing(transport.stream(address, FETCH, self._fetch(wait_ms=0))) as answers:
            await anext(answers)
            await asyncio.sleep(self._random.uniform(0.0, HELD_S_MAX))

    async def _park(self, transport: SimPeers, address: str) -> None:
        request = self._fetch(wait_ms=PARKED_MS)
        request.min_bytes = 1 << 30
        await transport.call(address, FETCH, request, timeout_ms=TIMEOUT_MS)

    def _fetch(self, *, wait_ms: int) -> FetchRequest:
        asked = [FetchPartition(topic=self._topic, partition=0)]
        return FetchRequest(max_wait_ms=wait_ms, min_bytes=1, max_bytes=1 << 20, partitions=asked)
