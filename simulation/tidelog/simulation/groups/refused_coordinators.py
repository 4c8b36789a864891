"""A coordinator that a refused dial fences, and clients that still know its address.

Its links to all other nodes refuse, so that it is fenced at once; its lease of the controllers has
not ended yet. A tool commits at the next coordinator, and others look the offset up at both.
`commits` judges what they are told.

Commits without a member have no order of their own: each strike has a group that no other commit is
about, and ends where a commit's outcome is unknown.
"""

from __future__ import annotations

import asyncio

from tidelog.chaos.faults.drawer import Kind, Span
from tidelog.core.errors import CallFailedError, UnreachableError
from tidelog.simulation.cluster.fault_actions import FaultActions
from tidelog.simulation.groups.coordinator_nodes import coordinator_node
from tidelog.simulation.groups.member_faults import MembersAct
from tidelog.simulation.groups.simulation import GroupsSimulation
from tidelog.simulation.groups.simulation_config import FIRST
from tidelog.v1.coordinator_pb2 import OffsetCommitRequest, OffsetFetchRequest
from tidelog.v1.methods import OFFSET_COMMIT, OFFSET_FETCH, Method, Request, Response

OLD, NEW = 1, 2
"""Offsets, committed at the coordinator that is fenced, and then at the next one."""
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
        self._strikes = 0
        self.kinds: list[Kind[MembersAct]] = [
            Kind("coordinator_refused", self._refuse, weight=2, brokers_min=2)
        ]

    async def _refuse(self) -> None:
        self._strikes += 1
        group_id = f"watched-{self._strikes}"
        old = self._coordinator(group_id)
        if old is None or not await self._commit(old, group_id, OLD):
            return
        self._actions.count("coordinator_refused", f"node {old} of {group_id}")
        others = [self._actions.host(other) for other in self._actions.others(old)]
        unheard = [(other, self._actions.host(old)) for other in others]
        with self._actions.refusing(old, is_mute=self._actions.happens(MUTE_PROBABILITY)):
            self._actions.cut_now(unheard)
            has_moved = await self._actions.until(
                lambda: self._coordinator(group_id) not in (None, old), within_s=MOVED_S_MAX
            )
            new = self._coordinator(group_id)
            if has_moved and new is not None and await self._commit(new, group_id, NEW):
                await self._look_up_at(old, new, group_id)
            self._actions.mend(unheard)

    async def _look_up_at(self, old: int, new: int, group_id: str) -> None:
        request = OffsetFetchRequest(group_id=group_id, member_epoch=-1)
        request.topics.add(topic=FIRST, partitions=[0])
        for _ in range(LOOK_UPS):
            await asyncio.gather(
                self._ask(old, OFFSET_FETCH, request), self._ask(new, OFFSET_FETCH, request)
            )
            await asyncio.sleep(GAP_S.draw(self._actions.random))

    async def _commit(self, node_id: int, group_id: str, offset: int) -> bool:
        """Commit; True: the commit was acknowledged."""
        request = OffsetCommitRequest(group_id=group_id, member_epoch=-1)
        request.topics.add(topic=FIRST).partitions.add(partition=0, offset=offset)
        answer = await self._ask(node_id, OFFSET_COMMIT, request)
        if answer is None or answer.error.code:
            return False
        return not any(each.error.code for topic in answer.topics for each in topic.partitions)

    async def _ask(
        self, node_id: int, method: Method[Request, Response], request: Request
    ) -> Response | None:
        """Ask a node; None: there was no answer."""
        transport = self._base.client_ports("watcher")["transport"]
        address = self._base.cluster.address(node_id)
        try:
            answer: Response = await transport.call(address, method, request, timeout_ms=TIMEOUT_MS)
        except (CallFailedError, UnreachableError) as error:
            self._base.note("watcher", f"{type(error).__name__} {error}")
            return None
        return answer

    def _coordinator(self, group_id: str) -> int | None:
        return coordinator_node(self._base.image, group_id)
