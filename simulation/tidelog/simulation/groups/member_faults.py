"""Faults of one member: its process, its connections, its application, its calls.

Each act takes itself back. How long each lasts is data, in sessions and rebalance timeouts of the
seed's configuration, so that each time-out of the product is exceeded now and then.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping

from tidelog.chaos.faults.drawer import Kind, Span
from tidelog.simulation.cluster.fault_actions import FaultActions
from tidelog.simulation.engine.network import Lateness
from tidelog.simulation.groups.member_process import MemberProcess
from tidelog.simulation.groups.simulation import GroupsSimulation

MembersAct = Callable[[], Awaitable[None]]
SILENT_SESSIONS = Span(0.05, 1.7)
"""Duration of a pause or a cut, in sessions: some are longer than one."""
SHORT_S = Span(0.05, 3.0)
"""Duration of a pause or a cut of the order of the disconnect grace."""
LATE_S = Span(0.02, 5.0)
STUCK_POLLS = Span(0.3, 1.8)
"""Work on one call's records, in max_poll_interval_ms."""
DOWN_S = Span(0.05, 4.0)
HELD_MAX = 3
PATIENCE_S = 3.0
DEFAULT_SESSION_S = 45.0
"""Session of the seeds with default times."""
SILENT_S = Span(SILENT_SESSIONS.low * DEFAULT_SESSION_S, SILENT_SESSIONS.high * DEFAULT_SESSION_S)
SPANS: Mapping[str, Span] = {
    "member_pause": SILENT_S,
    "member_cut_off": SILENT_S,
    "member_cut_from_coordinator": SHORT_S,
    "member_late": LATE_S,
}
"""Range of each kind's delay."""


class MemberFaults:
    """The kinds, for `Faults`."""

    def __init__(self, simulation: GroupsSimulation, actions: FaultActions) -> None:
        self._simulation = simulation
        self._actions = actions
        self._network = simulation.base.cluster.network
        self.kinds: list[Kind[MembersAct]] = [
            Kind("member_kill", self._kill, weight=3),
            Kind("member_restart", self._restart, weight=2),
            Kind("member_close", self._close, weight=2),
            Kind("member_start", self._start, weight=2),
            Kind("member_pause", self._pause, weight=3),
            Kind("member_reset", self._reset, weight=2),
            Kind("member_cut_from_coordinator", self._cut_from_coordinator, weight=3),
            Kind("member_cut_off", self._cut_off, weight=2),
            Kind("member_resubscribe", self._resubscribe, weight=2),
            Kind("member_stuck", self._stuck, weight=2),
            Kind("member_late", self._late, weight=2),
            Kind("member_crossing", self._crossing, weight=2),
            Kind("member_late_leave", self._late_leave),
            Kind("member_late_commits", self._late_commits, weight=2),
        ]

    # Processes

    async def _kill(self) -> None:
        member = self._draw()
        if member is None:
            return
        self._count("member_kill", member)
        self._simulation.kill_member(member)
        await self._return_later(member)

    async def _restart(self) -> None:
        """As an operator does: in order or not, soon, under the same name."""
        member = self._draw(is_static=self._actions.happens(0.7))
        if member is None:
            return
        self._count("member_restart", member)
        if self._actions.happens(0.6):
            await self._simulation.close_member(member)
        else:
            self._simulation.kill_member(member)
        await self._return_later(member)

    async def _close(self) -> None:
        member = self._draw()
        if member is not None:
            self._count("member_close", member)
            await self._simulation.close_member(member)

    async def _start(self) -> None:
        plans = self._simulation.free_plans()
        if plans:
            plan = self._actions.one_of(plans)
            self._actions.count("member_start", plan.name)
            self._simulation.start_member(plan)

    async def _return_later(self, member: MemberProcess) -> None:
        await asyncio.sleep(DOWN_S.draw(self._actions.random))
        if member.plan in self._simulation.free_plans() and self._actions.happens(0.8):
            self._simulation.start_member(member.plan, member.topics)

    async def _pause(self) -> None:
        member = self._draw()
        if member is None or member.is_paused:
            return
        self._count("member_pause", member)
        lasts_s = self._silence_s()
        member.host.loop.pause()
        if self._actions.happens(0.3):
            self._reset_now(member)
        await asyncio.sleep(lasts_s)
        if lasts_s > self._simulation.config.session_s:
            self._simulation.base.count_event("paused_beyond_session")
        if not member.host.loop.is_dead:
            self._simulation.base.note(member.name, f"goes on after {lasts_s:.1f} s")
            member.host.loop.resume()

    async def _stuck(self) -> None:
        member = self._draw()
        if member is None:
            return
        self._count("member_stuck", member)
        polls = STUCK_POLLS.draw(self._actions.random)
        member.stuck_s = polls * member.plan.max_poll_interval_ms / 1000
        if polls < 1:
            return
        self._simulation.base.count_event("stuck_beyond_max_poll")
        if self._actions.happens(0.5):
            # It says that it leaves, and is heard when it is back.
            late = self._network.hold_calls(member.name, "ConsumerGroupHeartbeat", most=1)
            await asyncio.sleep(member.stuck_s + LATE_S.draw(self._actions.random))
            self._network.deliver_late(late)

    async def _resubscribe(self) -> None:
        member = self._draw()
        if member is not None and not member.is_paused:
            topics = self._simulation.draw_topics()
            if set(topics) == set(member.topics):
                topics = self._actions.shuffled(topics)[: max(1, len(topics) - 1)]
            self._count("member_resubscribe", member, " ".join(topics))
            member.begin_subscribe(topics)

    # Links

    async def _reset(self) -> None:
        member = self._draw()
        if member is not None:
            self._count("member_reset", member)
            self._reset_now(member)

    async def _cut_from_coordinator(self) -> None:
        """From the coordinator alone: records are read on. In silence, or with a reset."""
        member, coordinator = self._draw(), self._simulation.coordinator_node()
        if member is None or coordinator is None:
            return
        self._count("member_cut_from_coordinator", member, f"node {coordinator}")
        host = self._actions.host(coordinator)
        links = [(member.name, host), (host, member.name)]
        if self._actions.happens(0.5):
            links = [self._actions.one_of(links)]
        await self._cut(member, links, has_reset=self._actions.happens(0.6), hosts=[host])

    async def _cut_off(self) -> None:
        member = self._draw()
        if member is None:
            return
        self._count("member_cut_off", member)
        hosts = [self._actions.host(one) for one in self._simulation.base.config.node_ids]
        links = [(member.name, host) for host in hosts] + [(host, member.name) for host in hosts]
        await self._cut(member, links, has_reset=self._actions.happens(0.3), hosts=hosts)

    async def _cut(
        self,
        member: MemberProcess,
        links: list[tuple[str, str]],
        *,
        has_reset: bool,
        hosts: list[str],
    ) -> None:
        lasts_s = self._silence_s()
        self._actions.cut_now(links)
        if has_reset:
            for host in hosts:
                self._network.reset(member.name, host)
        await asyncio.sleep(lasts_s)
        if lasts_s > self._simulation.config.session_s:
            self._simulation.base.count_event("cut_beyond_session")
        self._actions.mend(links)

    async def _late(self) -> None:
        """Messages from and to the member are late, each on its own."""
        member = self._draw()
        if member is None:
            return
        self._count("member_late", member)
        hosts = [self._actions.host(one) for one in self._simulation.base.config.node_ids]
        links = [(member.name, host) for host in hosts if self._actions.happens(0.7)]
        links += [(host, member.name) for host in hosts if self._actions.happens(0.7)]
        high = LATE_S.low * (LATE_S.high / LATE_S.low) ** self._actions.random.random()
        late = Lateness(self._actions.random.uniform(0.05, 0.6), high / 4, high)
        for link in links:
            self._network.lateness[link] = late
        await asyncio.sleep(self._silence_s())
        for link in links:
            if self._network.lateness.get(link) is late:
                del self._network.lateness[link]

    async def _crossing(self) -> None:
        """The member's words wait on their way, while partitions come to it and go again."""
        member, coordinator = self._draw(), self._simulation.coordinator_node()
        if member is None or coordinator is None:
            return
        self._count("member_crossing", member)
        link = (member.name, self._actions.host(coordinator))
        self._network.clog(*link)
        membership = member.membership
        owned = membership.owned
        others = [one for one in self._running() if one is not member]
        if others:
            self._simulation.kill_member(self._actions.one_of(others))
        await self._actions.until(lambda: membership.owned > owned, within_s=PATIENCE_S)
        await self._actions.last(0.0, 0.3)
        version = membership.offer.version
        await self._start()
        await self._actions.until(lambda: membership.offer.version != version, within_s=PATIENCE_S)
        self._network.unclog(*link)

    # Calls

    async def _late_leave(self) -> None:
        """A member leaves and is back before its leave arrives."""
        member = self._draw()
        if member is None:
            return
        self._count("member_late_leave", member)
        late = self._network.hold_calls(member.name, "ConsumerGroupHeartbeat", most=HELD_MAX)
        closing = asyncio.ensure_future(self._simulation.close_member(member))
        await self._actions.last(*LATE_S)
        self._network.deliver_late(late)
        await closing
        await self._return_later(member)

    async def _late_commits(self) -> None:
        member = self._draw()
        if member is None:
            return
        most = self._actions.random.randrange(1, HELD_MAX + 1)
        self._count("member_late_commits", member, str(most))
        late = self._network.hold_calls(member.name, "OffsetCommit", most=most)
        await self._actions.last(*LATE_S)
        self._network.deliver_late(late)

    # Whom, how long

    def _running(self) -> list[MemberProcess]:
        return [one for one in self._simulation.members.values() if not one.is_closing]

    def _draw(self, *, is_static: bool = False) -> MemberProcess | None:
        running = self._running()
        static = [one for one in running if one.plan.instance_id is not None]
        found = static if is_static and static else running
        return self._actions.one_of(found) if found else None

    def _silence_s(self) -> float:
        random = self._actions.random
        if self._actions.happens(0.5):
            return SHORT_S.draw(random)
        return SILENT_SESSIONS.draw(random) * self._simulation.config.session_s

    def _reset_now(self, member: MemberProcess) -> None:
        coordinator = self._simulation.coordinator_node()
        if coordinator is not None:
            self._network.reset(member.name, self._actions.host(coordinator))

    def _count(self, kind: str, member: MemberProcess, what: str = "") -> None:
        self._actions.count(kind, f"{member.name} {what}".rstrip())
