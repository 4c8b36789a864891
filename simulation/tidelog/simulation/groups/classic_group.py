"""The group of the classic protocol of a seed: its members, what strikes them, and its rest."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Protocol

from tidelog.broker.coordinator.classic_group import State
from tidelog.broker.coordinator.classic_live_group import LiveClassicGroup
from tidelog.broker.coordinator.group_shard import GroupShard
from tidelog.chaos.faults.drawer import Span
from tidelog.core.chance import SeededRandom, one_of
from tidelog.simulation.cluster.simulation import ClusterSimulation
from tidelog.simulation.engine.network import Host
from tidelog.simulation.groups.classic_checks import ClassicChecks
from tidelog.simulation.groups.classic_member import ClassicMember
from tidelog.simulation.groups.classic_port import MemberPorts
from tidelog.simulation.groups.coordinator_nodes import coordinator_node
from tidelog.simulation.groups.simulation_config import CLASSIC_GROUP, ClassicTimes

GAP_S = Span(0.2, 2.0)
SILENT_SESSIONS = Span(0.05, 1.7)
POLLS, POLL_S = 200, 0.05


class ClassicWays(Protocol):
    """A suite's ways of the members: to their coordinator, and with what they are assigned."""

    topic: str
    """Topic that the group reads."""
    static_members: int
    """Members with an instance id: the first ones."""

    def begin(
        self, group: ClassicGroup, host: Host, random: SeededRandom, *, is_static: bool
    ) -> MemberPorts:
        """Those of a new process."""

    async def be_late(self, group: ClassicGroup, place: int, member: ClassicMember) -> None:
        """Have requests of a member arrive late."""


class ClassicGroup:
    """Members of the classic group, one process after another in each place."""

    def __init__(
        self,
        base: ClusterSimulation,
        times: ClassicTimes,
        checks: ClassicChecks,
        random: SeededRandom,
        *,
        shards: Callable[[], Iterator[GroupShard]],
        ways: ClassicWays,
    ) -> None:
        """Begin; `shards` gives those of the newest coordinators."""
        self.members: list[ClassicMember | None] = [None] * times.members
        self.base = base
        self._ways = ways
        self._times = times
        self.checks = checks
        self._random = random
        self._shards = shards
        self._starts = 0

    def coordinator(self) -> int | None:
        """Node that leads the group's partition, by the newest image."""
        return coordinator_node(self.base.image, CLASSIC_GROUP)

    # See `ClassicCluster`

    def partition_ids(self) -> tuple[bytes, int]:
        """See `ClassicCluster`."""
        found = self.base.image.topics.get(self._ways.topic)
        return (b"", 0) if found is None else (found.topic_id, len(found.partitions))

    def note(self, who: str, what: str) -> None:
        """See `ClassicCluster`."""
        self.base.note(who, what)

    # Members

    def start_all(self) -> None:
        """Start a member in each free place."""
        for place, member in enumerate(self.members):
            if member is None:
                self._start(place)

    def by_loop(self) -> dict[object, ClassicMember]:
        """Running members by their loops."""
        return {one.host.loop: one for one in self.members if one is not None}

    def _start(self, place: int) -> None:
        self._starts += 1
        name = f"classic-{place}.{self._starts}"
        host, _ = self.base.cluster.new_client_process(name)
        self.base.client_processes.append(name)
        self.base.note(name, "starts")
        random = self._random.fork(name)
        is_static = place < self._ways.static_members
        self.members[place] = ClassicMember(
            name,
            f"mooring-{place}" if is_static else None,
            host,
            self._ways.begin(self, host, random, is_static=is_static),
            self,
            self.checks,
            self._times,
            random,
        )

    def _end(self, place: int) -> None:
        member = self.members[place]
        if member is not None:
            self.members[place] = None
            self.base.note(member.name, "ends")
            self.base.client_processes.remove(member.name)
            self.base.cluster.end_client_process(member.host)

    # Faults

    async def strike_until(self, is_over: Callable[[], bool]) -> None:
        """Do something to a member now and then; at the end all run."""
        while not is_over():
            await asyncio.sleep(GAP_S.draw(self._random))
            place = self._random.randrange(0, len(self.members))
            member = self.members[place]
            if member is None:
                self._start(place)
            else:
                act = one_of(self._random, (self._kill, self._leave, self._pause, self._be_late))
                await act(place, member)
        self.start_all()

    async def _kill(self, place: int, member: ClassicMember) -> None:
        self.count_fault("classic_kill", member)
        self._end(place)

    async def _leave(self, place: int, member: ClassicMember) -> None:
        self.count_fault("classic_leave", member)
        member.is_leaving = True
        for _ in range(POLLS):
            await asyncio.sleep(POLL_S)  # the member's loop is another one
            if member.is_over:
                break
        self._end(place)

    async def _pause(self, place: int, member: ClassicMember) -> None:
        del place
        self.count_fault("classic_pause", member)
        member.host.loop.pause()
        sessions = SILENT_SESSIONS.draw(self._random)
        await asyncio.sleep(sessions * self._times.session_timeout_ms / 1000)
        member.host.loop.resume()

    async def _be_late(self, place: int, member: ClassicMember) -> None:
        await self._ways.be_late(self, place, member)

    async def replace_other(self, place: int, is_enough: Callable[[], bool]) -> None:
        """Put another process in the place of another member, and wait for what follows."""
        member, other = self.members[place], (place + 1) % len(self.members)
        self._end(other)
        self._start(other)
        for _ in range(POLLS):
            await asyncio.sleep(POLL_S)
            if is_enough() or member is None or member.host.loop.is_dead:
                return

    def count_fault(self, kind: str, member: ClassicMember, what: str = "") -> None:
        """Note what strikes a member."""
        self.base.findings.faults[kind] += 1
        self.base.note("fault", f"{kind} {member.name} {what}".rstrip())

    # Rest

    @property
    def generation(self) -> int:
        """Generation at the newest coordinator; -1: it has none."""
        live = self._live()
        return -1 if live is None else live.state.recorded.generation

    def find_restless(self) -> Iterator[str]:
        """Yield what keeps the group from rest."""
        live = self._live()
        if live is None:
            yield "the classic group has no coordinator"
            return
        state = live.state
        if state.state is not State.STABLE:
            yield f"the classic group is {state.state.value}"
        if len(state.recorded.members) != len(self.members):
            yield f"the classic group has {len(state.recorded.members)} members"
        owned: list[int] = []
        for member in self.members:
            if member is None or member.joined is None or member.owned is None:
                yield "a classic member has no assignment"
            elif member.is_answered_late:
                yield f"{member.name} is answered late"
            elif member.joined.generation != state.recorded.generation:
                yield f"{member.name} is of generation {member.joined.generation}"
            else:
                owned += member.owned
        _, count = self.partition_ids()
        if len(owned) != len(set(owned)) or not set(owned) <= set(range(count)):
            yield f"the classic group owns {sorted(owned)} of {count} partitions"

    def _live(self) -> LiveClassicGroup | None:
        for shard in self._shards():
            if CLASSIC_GROUP in shard.classic.by_id:
                return shard.classic.by_id[CLASSIC_GROUP]
        return None
