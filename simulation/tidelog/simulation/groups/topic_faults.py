"""Acts of operators under load: topics grown and made again, offsets deleted, clocks set.

Owns these kinds; each is one act.
"""

from __future__ import annotations

from tidelog.chaos.faults.drawer import Kind
from tidelog.client import Consumer
from tidelog.client.errors import TidelogError
from tidelog.simulation.cluster.fault_actions import FaultActions
from tidelog.simulation.groups.member_faults import MembersAct
from tidelog.simulation.groups.simulation import GroupsSimulation
from tidelog.simulation.groups.simulation_config import (
    FIRST,
    PARTITIONS_MAX,
    RENEWED,
    TOOL_GROUP,
)

LEAP_S = 70.0
"""More than offsets.retention.minutes, which is 1 here."""


class TopicFaults:
    """The kinds, for `Faults`."""

    def __init__(self, simulation: GroupsSimulation, actions: FaultActions) -> None:
        self._simulation = simulation
        self._actions = actions
        self._traffic = simulation.traffic
        self._is_busy = False
        self._tool: Consumer[object, object] | None = None
        self.kinds: list[Kind[MembersAct]] = [
            Kind("topic_grow", self._grow),
            Kind("topic_renew", self._renew, weight=2),
            Kind("tool", self._use_tool, weight=2),
            Kind("clock_leap", self._leap),
        ]

    async def _grow(self) -> None:
        grown = [
            one
            for one in self._traffic.topics.values()
            if one.is_there and one.partitions < PARTITIONS_MAX
        ]
        if grown and self._may_create():
            topic = self._actions.one_of(grown)
            self._actions.count("topic_grow", topic.plan.name)
            self._is_busy = True
            await self._traffic.grow(topic)
            self._is_busy = False

    async def _renew(self) -> None:
        topic = self._traffic.topics.get(RENEWED)
        if topic is not None and self._may_create():
            self._actions.count("topic_renew", topic.plan.name)
            self._is_busy = True
            await self._traffic.renew(topic)
            self._is_busy = False

    def _may_create(self) -> bool:
        """True if all brokers live, or will, and no other act waits for them."""
        return not (self._is_busy or self._simulation.base.dead)

    async def _leap(self) -> None:
        """Every node's wall clock is set ahead, beyond the retention of offsets."""
        self._actions.count("clock_leap")
        for machine in self._simulation.base.cluster.machines.values():
            machine.clock.leap_wall(LEAP_S)

    async def _use_tool(self) -> None:
        """A tool commits for a group without members, or deletes that."""
        await (self._tool_delete if self._actions.happens(0.5) else self._tool_commit)()

    async def _tool_commit(self) -> None:
        self._actions.count("tool_commit")
        if self._tool is None:
            ports = self._simulation.base.client_ports("tool")
            self._tool = Consumer(
                self._simulation.base.bootstrap,
                group_id=TOOL_GROUP,
                api_timeout_ms=3_000,
                request_timeout_ms=1_000,
                **ports,
            )
        offset = int(self._simulation.now_s * 1_000)
        try:
            await self._tool.commit({(FIRST, 0): offset})
        except TidelogError as error:
            self._simulation.base.note("tool", f"{type(error).__name__} {error}")

    async def _tool_delete(self) -> None:
        self._actions.count("tool_delete")
        self._simulation.forget(TOOL_GROUP)
        outcomes = await self._traffic.admin.delete_groups([TOOL_GROUP])
        self._simulation.forget(TOOL_GROUP)
        if outcomes[TOOL_GROUP] is None:
            self._simulation.base.count_event("groups_deleted")
