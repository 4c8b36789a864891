"""A member of a story's group, or a writer of transactions, in a simulated process of its own."""

from __future__ import annotations

import asyncio

from tidelog.chaos.workloads.group_member import Worker
from tidelog.simulation.cluster.cluster import SimCluster
from tidelog.simulation.engine.network import Host

STOP_POLL_S = 0.01


class SimGroupMember:
    """`MemberProcess` of a simulation. What ends a member by itself fails the run."""

    def __init__(self, cluster: SimCluster, host: Host, member: Worker) -> None:
        self._cluster = cluster
        self._host = host
        self._member = member
        self._task = host.loop.create_task(member.run(), name="member")

    @property
    def end(self) -> str | None:
        """See `MemberProcess`: the scheduler has it."""
        return None

    async def stop(self) -> None:
        """See `MemberProcess`."""
        self._member.is_over = True
        while not self._task.done():  # noqa: ASYNC110  # on another loop
            await asyncio.sleep(STOP_POLL_S)

    async def kill(self) -> None:
        """See `MemberProcess`."""
        self._cluster.end_client_process(self._host)

    async def pause(self) -> None:
        """See `MemberProcess`."""
        self._host.loop.pause()

    async def resume(self) -> None:
        """See `MemberProcess`."""
        self._host.loop.resume()

    def abandon(self) -> None:
        """See `MemberProcess`: its loop ends with the simulation."""
