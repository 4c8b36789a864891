"""Faults of calls to the controllers: held beyond their deadlines, overtaken by later ones.

Whatever a broker was answered must stay true when its earlier calls arrive after all. Owns the
order of strikes; each seed uses at most one of these kinds.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from tidelog.chaos.sim_cluster.inside import active_controller
from tidelog.chaos.sim_cluster.strikes import Span, Strikes
from tidelog.metadata.image import PartitionImage

METHODS = ("AlterPartition", "BrokerHeartbeat", "ReportDamage", "RegisterBroker")
HEARTBEATS_MAX = 1_000
CALLS_MAX = 4
ATTEMPTS_HELD = 2
"""The third comes 3.75 s after the first: no session is as long."""
LATE_S = Span(0.3, 8.0)
"""At most longer than any of these calls is waited for, retries and all."""
SPANS: Mapping[str, Span] = {"late_calls": LATE_S}


class LateCallStrikes:
    """The kinds, for `Faults`."""

    def __init__(self, strikes: Strikes) -> None:
        self._strikes = strikes
        self._world = strikes.world
        self.kinds: dict[str, Callable[[], Awaitable[None]]] = {
            "late_calls": self._late_calls,
            "late_isr_change": self._late_isr_change,
            "late_heartbeats": self._late_heartbeats,
        }

    async def _late_calls(self) -> None:
        """Some calls of a broker arrive when it has given them up, and asked again."""
        victim = self._strikes.one_of(self._world.config.broker_ids)
        method = self._strikes.one_of(METHODS)
        most = self._some(CALLS_MAX)
        self._strikes.count("late_calls", f"node {victim}: {most} of {method}")
        network = self._world.cluster.network
        late = network.hold_calls(self._strikes.host(victim), method, most=most)
        if method == "RegisterBroker" and self._strikes.kill(victim):
            await self._strikes.start_later(victim)
        await self._strikes.last(*LATE_S)
        network.deliver_late(late)

    async def _late_heartbeats(self) -> None:
        """A broker is fenced as nobody hears it, or stops; then all that it said arrives."""
        victim = self._strikes.victim()
        self._strikes.count("late_heartbeats", f"node {victim}")
        network = self._world.cluster.network
        most = self._some(2 * CALLS_MAX)
        late = network.hold_calls(self._strikes.host(victim), "BrokerHeartbeat", most=most)
        await self._strikes.last(0.05, 1.0)
        is_stopped = self._strikes.happens(0.5)
        if is_stopped:
            await self._strikes.stop(victim)
        else:
            await self._strikes.last(0.0, self._session_s)
        network.deliver_late(late)
        if is_stopped:
            await self._strikes.start_later(victim)

    async def _late_isr_change(self) -> None:
        """A follower is to join, and is fenced before the attempt that its leader hears of is made.

        The attempts before that arrive when the follower is heard of again, perhaps by the next
        controller.
        """
        place = self._a_follower()
        if place is None:
            return
        topic, state, leader, follower = place
        self._strikes.count("late_isr_change", f"node {follower} of {topic}-{state.partition}")
        network, host = self._world.cluster.network, self._strikes.host
        links = self._strikes.links_between([leader], [follower])
        self._strikes.cut_now(links)
        await self._strikes.until(lambda: not self._is_in_isr(place), within_s=6.0)
        silenced = network.hold_calls(host(follower), "BrokerHeartbeat", most=HEARTBEATS_MAX)
        change = network.hold_calls(host(leader), "AlterPartition", most=ATTEMPTS_HELD)
        self._strikes.mend(links)
        await self._strikes.until(lambda: change.count, within_s=self._session_s)
        await self._strikes.until(
            lambda: not self._world.image.is_alive(follower), within_s=2 * self._session_s
        )
        self._strikes.cut_now(links)
        await self._strikes.last(3.5, 4.5)
        controller = active_controller(self._world.cluster)
        is_free = controller is not None and controller not in (leader, follower)
        is_killed = is_free and self._strikes.happens(0.5) and self._strikes.kill(controller or 0)
        network.deliver_late(silenced)
        await self._strikes.until(lambda: self._world.image.is_alive(follower), within_s=4.0)
        network.deliver_late(change)
        await self._strikes.last(0.1, 0.5)
        self._strikes.mend(links)
        if is_killed and controller is not None:
            await self._strikes.start_later(controller)

    @property
    def _session_s(self) -> float:
        return self._world.config.session_timeout_ms / 1000

    def _some(self, most: int) -> int:
        return self._strikes.random.randrange(1, most + 1)

    def _a_follower(self) -> tuple[str, PartitionImage, int, int] | None:
        found = self._strikes.a_partition()
        if found is None or found[1].leader_id is None or len(found[1].isr) < 3:
            return None
        leader = found[1].leader_id
        follower = self._strikes.one_of([one for one in found[1].isr if one != leader])
        return (*found, leader, follower)

    def _is_in_isr(self, place: tuple[str, PartitionImage, int, int]) -> bool:
        topic, state, _, follower = place
        found = self._world.image.partition(topic, state.partition)
        return found is not None and follower in found.isr
