"""Faults of one replica that follow its life: moments in which replication once went wrong.

Each is made of what may happen at any time, and waits for the state in which it matters. Owns the
order of strikes; each seed uses at most one of these kinds.
"""

from __future__ import annotations

from tidelog.chaos.faults.drawer import Kind
from tidelog.metadata.image import PartitionImage
from tidelog.simulation.cluster.fault_actions import FaultActions, SwarmDraw
from tidelog.simulation.cluster.inside import active_controller

Place = tuple[str, PartitionImage, int]
"""A topic, a partition as it was, and who led it."""


class ReplicaFaults:
    """The kinds, for `Faults`."""

    def __init__(self, actions: FaultActions) -> None:
        self._actions = actions
        self._simulation = actions.simulation
        self.kinds: list[Kind[SwarmDraw]] = [
            Kind("lonely_leader", self._lonely_leader, brokers_min=2),
            Kind("reborn_follower", self._reborn_follower, brokers_min=2),
            Kind("slow_disk_cut", self._slow_disk_cut),
        ]

    async def _lonely_leader(self) -> None:
        """A leader writes what nobody gets, others lead, and soon it leads again."""
        place = self._led()
        if place is None:
            return
        topic, state, leader = place
        followers = [one for one in state.replicas if one != leader]
        links = self._actions.links_between([leader], followers)
        self._actions.count("lonely_leader", f"node {leader} of {topic}-{state.partition}")
        self._actions.cut_now(links)
        await self._actions.last(0.1, 1.0)
        if self._actions.happens(0.5):
            self._actions.kill(leader)
        await self._actions.until(lambda: self._is_led_by_others(place), within_s=6.0)
        self._actions.mend(links)
        await self._actions.last(0.0, 1.0)
        if not self._simulation.is_up(leader):
            self._simulation.start(leader)
        await self._actions.last(0.0, 2.0)
        heir = self._leader_of(place)
        if heir is not None and heir != leader and self._actions.kill(heir):
            await self._actions.start_later(heir)

    async def _reborn_follower(self) -> None:
        """A follower is gone and back again while what its leader says of it is on its way.

        No registration ends a session that a controller has heard of: so the controller goes, too.
        """
        place = self._led()
        controller = active_controller(self._simulation.cluster)
        if place is None or controller is None:
            return
        topic, state, leader = place
        follower = self._actions.one_of([one for one in state.replicas if one != leader])
        self._actions.count("reborn_follower", f"node {follower} of {topic}-{state.partition}")
        network, host = self._simulation.cluster.network, self._actions.host
        await self._restart(follower)
        network.clog(host(leader), host(controller))
        await self._actions.until(lambda: self._simulation.image.is_alive(follower), within_s=2.0)
        await self._actions.last(0.0, 0.5)
        network.clog(host(follower), host(leader))
        if controller not in (leader, follower):
            self._actions.kill(controller)
        await self._restart(follower)
        network.unclog(host(leader), host(controller))
        await self._actions.last(0.0, 0.3)
        network.unclog(host(follower), host(leader))
        self._simulation.start(controller)

    async def _slow_disk_cut(self) -> None:
        """A disk takes ever longer to sync, and before it has the power goes."""
        victim = self._actions.victim()
        if not self._simulation.is_up(victim) or not self._simulation.budget.may_lose_power(victim):
            return
        disk = self._simulation.machine(victim).disk
        disk.slow_down(self._actions.random.uniform(0.1, 1.0))
        await self._actions.last(0.1, 1.5)
        if self._actions.cut_power(victim):
            self._actions.count("slow_disk_cut", f"node {victim}")
            disk.slow_down(self._simulation.config.sync_latency_s_max)
            await self._actions.start_later(victim)
        disk.slow_down(self._simulation.config.sync_latency_s_max)

    async def _restart(self, node_id: int) -> None:
        """Without power where the budget has room; until it is registered again."""
        before = self._epoch(node_id)
        if not self._actions.cut_power(node_id):
            self._actions.kill(node_id)
        await self._actions.last(0.0, 0.2)
        self._simulation.start(node_id)
        await self._actions.until(lambda: self._epoch(node_id) > before, within_s=4.0)

    def _epoch(self, node_id: int) -> int:
        broker = self._simulation.image.brokers.get(node_id)
        return -1 if broker is None else broker.broker_epoch

    def _led(self) -> Place | None:
        found = self._actions.a_partition()
        if found is None or found[1].leader_id is None or len(found[1].replicas) == 1:
            return None
        return (*found, found[1].leader_id)

    def _leader_of(self, place: Place) -> int | None:
        state = self._simulation.image.partition(place[0], place[1].partition)
        return None if state is None else state.leader_id

    def _is_led_by_others(self, place: Place) -> bool:
        return self._leader_of(place) not in (None, place[2])
