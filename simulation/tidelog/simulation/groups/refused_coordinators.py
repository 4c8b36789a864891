"""A coordinator that a refused dial fences, and clients that still know its address.

Its links to all other nodes refuse, so that it is fenced at once; its lease of the controllers has
not ended yet. A tool commits at the next coordinator, and others look the offset up at both.
`commits` judges what they are told.
"""

from __future__ import annotations

import asyncio

from tidelog.chaos.faults.drawer import Kind, Span
from tidelog.core.errors import CallFailedError, UnreachableError
from tidelog.simulation.cluster.fault_actions import FaultActions
from tidelog.simulation.groups.coordinator_nodes import coordinator_node
from tidelog.simulation.groups.member_faults import MembersAct
from tidelog.simulation.groups.simulation import GroupsSimulation
from tidelog.simulation.groups.simulation_config import FIRST, TOOL_GROUP
from tidelog.v1.coordinator_pb2 import OffsetCommitRequest, OffsetFetchRequest
from tidelog.v1.methods import OFFSET_COMMIT, OFFSET_FETCH, Method, Request, Response

LOOK_UPS = 4
GAP_S = Span(0.0, 0.5)
"""Pause between two look-ups."""
MOVED_S_MAX = 8.0
TIMEOUT_MS = 1_000
MUTE_PROBABILITY = 0.7
"""Probability that nothing arrives from the coordinator either."""


class RefusedCoordinators:
    """The kind, for `Faults`."""

    def __init__(self, simulation: GroupsSimulation, actions: FaultActions) -> None:
        self._simulation = simulation
        self._base = simulation.base
        self._actions = actions
        self.kinds: list[Kind[MembersAct]] = [
            Kind("coordinator_refused", self._refuse, weight=2, brokers_min=2)
        ]

    async def _refuse(self) -> None:
        old = self._coordinator()
        if old is None:
            return
        self._actions.count("coordinator_refused", f"node {old}")
        await self._commit(old)
        host, network = self._actions.host(old), self._base.cluster.network
        others = [self._actions.host(one) for one in self._actions.others(old)]
        links = [(other, host) for other in others]
        if self._actions.happens(MUTE_PROBABILITY):
            links += [link[::-1] for link in links]
        for other in others:
            network.refuse(other, host)
        self._actions.cut_now(links)
        has_moved = await self._actions.until(
            lambda: self._coordinator() not in (None, old), within_s=MOVED_S_MAX
        )
        if has_moved:
            await self._ask_both(old)
        for other in others:
            network.accept(other, host)
        self._actions.mend(links)

    async def _ask_both(self, old: int) -> None:
        for _ in range(LOOK_UPS):
            new = self._coordinator()
            if new is not None:
                await self._commit(new)
                await asyncio.gather(self._look_up(old), self._look_up(new))
            await asyncio.sleep(GAP_S.draw(self._actions.random))

    async def _commit(self, node_id: int) -> None:
        request = OffsetCommitRequest(group_id=TOOL_GROUP, member_epoch=-1)
        offset = int(self._base.now_s * 1_000)
        request.topics.add(topic=FIRST).partitions.add(partition=0, offset=offset)
        await self._ask(node_id, OFFSET_COMMIT, request)

    async def _look_up(self, node_id: int) -> None:
        request = OffsetFetchRequest(group_id=TOOL_GROUP, member_epoch=-1)
        request.topics.add(topic=FIRST, partitions=[0])
        await self._ask(node_id, OFFSET_FETCH, request)

    async def _ask(self, node_id: int, method: Method[Request, Response], request: Request) -> None:
        transport = self._base.client_ports("watcher")["transport"]
        address = self._base.cluster.address(node_id)
        try:
            await transport.call(address, method, request, timeout_ms=TIMEOUT_MS)
        except (CallFailedError, UnreachableError) as error:
            self._base.note("watcher", f"{type(error).__name__} {error}")

    def _coordinator(self) -> int | None:
        return coordinator_node(self._base.image, TOOL_GROUP)
