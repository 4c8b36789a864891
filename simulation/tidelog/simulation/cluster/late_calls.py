"""Faults of calls to the controllers: held beyond their deadlines, overtaken by later ones.

Whatever a broker was answered must stay true when its earlier calls arrive after all. Owns the
order of strikes; each seed uses at most one of these kinds.
"""

from __future__ import annotations

from collections.abc import Mapping

from tidelog.chaos.faults.drawer import Kind, Span
from tidelog.simulation.cluster.fault_actions import FaultActions, SwarmDraw
from tidelog.simulation.cluster.inside import active_controller
from tidelog.simulation.cluster.simulation_config import REPLICATION_FACTOR

METHODS = ("AlterPartition", "BrokerHeartbeat", "ReportReplicaState", "RegisterBroker")
NEEDS_CALM = "late_isr_change"
"""The kind that waits for one thing after another, for most of a storm."""
HEARTBEATS_MAX = 1_000
CALLS_MAX = 4
ATTEMPTS_HELD = 2
"""The third comes 3.75 s after the first: no session is as long."""
LATE_S = Span(0.3, 8.0)
"""At most longer than any of these calls is waited for, retries and all."""
SPANS: Mapping[str, Span] = {"late_calls": LATE_S}


class LateCallFaults:
    """The kinds, for `Faults`."""

    def __init__(self, actions: FaultActions) -> None:
        self._actions = actions
        self._simulation = actions.simulation
        self._is_busy = False
        """An ISR change is being made late: one at a time."""
        self.kinds: list[Kind[SwarmDraw]] = [
            Kind("late_calls", self._late_calls),
            Kind(NEEDS_CALM, self._late_isr_change, weight=3, brokers_min=REPLICATION_FACTOR),
            Kind("late_heartbeats", self._late_heartbeats),
        ]

    async def _late_calls(self) -> None:
        """Some calls of a broker arrive when it has given them up, and asked again."""
        victim = self._actions.one_of(self._simulation.config.broker_ids)
        method = self._actions.one_of(METHODS)
        most = self._some(CALLS_MAX)
        self._actions.count("late_calls", f"node {victim}: {most} of {method}")
        network = self._simulation.cluster.network
        late = network.hold_calls(self._actions.host(victim), method, most=most)
        if method == "RegisterBroker" and self._actions.kill(victim):
            await self._actions.start_later(victim)
        await self._actions.last(*LATE_S)
        network.deliver_late(late)

    async def _late_heartbeats(self) -> None:
        """A broker is fenced as nobody hears it, or stops; then all that it said arrives."""
        victim = self._actions.victim()
        self._actions.count("late_heartbeats", f"node {victim}")
        network = self._simulation.cluster.network
        most = self._some(2 * CALLS_MAX)
        late = network.hold_calls(self._actions.host(victim), "BrokerHeartbeat", most=most)
        await self._actions.last(0.05, 1.0)
        is_stopped = self._actions.happens(0.5)
        if is_stopped:
            await self._actions.stop(victim)
        else:
            await self._actions.last(0.0, self._session_s)
        network.deliver_late(late)
        if is_stopped:
            await self._actions.start_later(victim)

    async def _late_isr_change(self) -> None:
        """A follower is to join, and is fenced before the attempt that its leader hears of is made.

        The attempts before that arrive when the follower is heard of again, perhaps by the next
        controller.
        """
        pair = self._a_leader_and_a_follower()
        if pair is None or self._is_busy:
            return
        self._is_busy = True
        leader, follower = pair
        self._actions.count(NEEDS_CALM, f"node {leader} of node {follower}")
        network, host = self._simulation.cluster.network, self._actions.host
        links = self._actions.links_between([leader], [follower])
        self._actions.cut_now(links)
        await self._actions.until(lambda: not self._shared_isrs(leader, follower), within_s=6.0)
        silenced = network.hold_calls(host(follower), "BrokerHeartbeat", most=HEARTBEATS_MAX)
        change = network.hold_calls(host(leader), "AlterPartition", most=ATTEMPTS_HELD)
        self._actions.mend(links)
        await self._actions.until(lambda: change.count, within_s=self._session_s)
        await self._actions.until(
            lambda: not self._simulation.image.is_alive(follower), within_s=2 * self._session_s
        )
        self._actions.cut_now(links)
        await self._actions.last(3.0, 4.0)
        if self._actions.happens(0.5):
            await self._depose()
        network.deliver_late(silenced)
        await self._actions.until(lambda: self._simulation.image.is_alive(follower), within_s=4.0)
        network.deliver_late(change)
        await self._actions.last(0.1, 0.5)
        self._actions.mend(links)
        self._is_busy = False

    async def _depose(self) -> None:
        """Another controller becomes active; nobody dies."""
        before = active_controller(self._simulation.cluster)
        if before is None:
            return
        others = [one for one in self._simulation.config.controller_ids if one != before]
        links = self._actions.links_between([before], others)
        self._actions.cut_now(links)
        await self._actions.until(
            lambda: active_controller(self._simulation.cluster) not in (None, before), within_s=3.0
        )
        self._actions.mend(links)
        await self._actions.last(0.1, 0.3)

    @property
    def _session_s(self) -> float:
        return self._simulation.config.session_timeout_ms / 1000

    def _some(self, most: int) -> int:
        return self._actions.random.randrange(1, most + 1)

    def _a_leader_and_a_follower(self) -> tuple[int, int] | None:
        """Draw them from partitions whose ISR stays large enough without the follower."""
        pairs = [
            (state.leader_id, follower)
            for _, state in self._simulation.image.partitions()
            for follower in state.isr
            if state.leader_id not in (None, follower) and len(state.isr) == REPLICATION_FACTOR
        ]
        pair = self._actions.one_of(pairs) if pairs else (None, 0)
        return None if pair[0] is None else (pair[0], pair[1])

    def _shared_isrs(self, leader: int, follower: int) -> bool:
        """True if the follower is in the ISR of anything that the leader leads."""
        return any(
            state.leader_id == leader and follower in state.isr
            for _, state in self._simulation.image.partitions()
        )
