"""A stranger whose requests are wide, on both of a node's listeners, while a storm goes on.

It owns nothing and needs nothing: what it asks for is nobody's, and how it is answered is checked
by the connection alone. It may leave before it is answered. A guest of the storm beside another.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import suppress

from tidelog.chaos.workloads.wide import WIDE_CALLS, WIDE_MESSAGES
from tidelog.core.chance import SeededRandom, one_of
from tidelog.core.errors import TidelogError
from tidelog.kafka.apis import response_class
from tidelog.simulation.cluster.seed_run import Guest
from tidelog.simulation.cluster.simulation import ClusterSimulation
from tidelog.simulation.wire.link import Link
from tidelog.simulation.wire.wire_clients import KAFKA_PORT

PROBABILITY = 0.2
"""Share of the seeds that have one."""
ELEMENTS_MIN, ELEMENTS_MAX = 300, 1_500
"""More than are read at once, and as many as a storm has time for."""
PAUSE_S_MAX = 1.5
PATIENCE_S_MAX = 4.0
"""Longest wait for an answer; the shortest ends before it can come."""


class WideStranger:
    """See `Guest`; `beside` is another guest."""

    def __init__(
        self, simulation: ClusterSimulation, random: SeededRandom, *, beside: Guest | None
    ) -> None:
        self._simulation = simulation
        self._random = random
        self._beside = beside
        self._ports = simulation.cluster.new_client("stranger")

    def begin(self) -> None:
        """See `Guest.begin`."""
        if self._beside is not None:
            self._beside.begin()

    async def strike_until(self, is_over: Callable[[], bool]) -> None:
        """Ask until the storm is over."""
        beside = None
        if self._beside is not None:
            beside = asyncio.create_task(self._beside.strike_until(is_over), name="guest")
        while not is_over():
            await asyncio.sleep(self._random.random() * PAUSE_S_MAX)
            with suppress(TidelogError):  # nobody listens, or it had no patience
                await one_of(self._random, [self._ask_by_kafka, self._ask_by_grpc])()
        if beside is not None:
            await beside

    async def at_rest(self) -> None:
        """See `Guest.at_rest`."""
        if self._beside is not None:
            await self._beside.at_rest()

    def find_restless(self) -> Iterator[str]:
        """See `Guest.find_restless`."""
        if self._beside is not None:
            yield from self._beside.find_restless()

    async def _ask_by_kafka(self) -> None:
        version, make = WIDE_MESSAGES[one_of(self._random, sorted(WIDE_MESSAGES))]
        request = make(self._topic(), self._elements())
        address = f"node-{self._node()}:{KAFKA_PORT}"
        link = await Link.connect(
            self._ports.dialer, address, client_id="stranger", report=self._report
        )
        try:
            kind = response_class(request.API_KEY)
            await link.call(request, version, kind, timeout_s=self._patience_s())
            self._simulation.findings.coverage["wide_requests"] += 1
        finally:
            link.close("the stranger leaves")

    async def _ask_by_grpc(self) -> None:
        method, make = one_of(self._random, WIDE_CALLS)
        await self._ports.transport.call(
            self._simulation.cluster.address(self._node()),
            method,
            make(self._topic(), self._elements()),
            timeout_ms=max(1, int(1000 * self._patience_s())),
        )
        self._simulation.findings.coverage["wide_calls"] += 1

    def _report(self, what: str) -> None:
        self._simulation.findings.report("wide_answer", what)

    def _node(self) -> int:
        return one_of(self._random, list(self._simulation.cluster.broker_ids))

    def _topic(self) -> str:
        return one_of(self._random, [one.name for one in self._simulation.config.topics])

    def _elements(self) -> int:
        return self._random.randrange(ELEMENTS_MIN, ELEMENTS_MAX)

    def _patience_s(self) -> float:
        return self._random.random() * PATIENCE_S_MAX
