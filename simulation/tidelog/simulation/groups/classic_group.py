"""The group of the classic protocol of a seed: its members, what strikes them, and its rest."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator

from tidelog.broker.coordinator.classic_group import State
from tidelog.broker.coordinator.classic_live_group import LiveClassicGroup
from tidelog.broker.coordinator.group_shard import GroupShard
from tidelog.chaos.faults.drawer import Span
from tidelog.core.chance import SeededRandom, one_of
from tidelog.simulation.cluster.simulation import ClusterSimulation
from tidelog.simulation.groups.classic_checks import ClassicChecks
from tidelog.simulation.groups.classic_member import (
    COMMIT,
    HEARTBEAT,
    JOIN,
    LEAVE,
    SYNC,
    ClassicMember,
)
from tidelog.simulation.groups.coordinator_nodes import coordinator_node
from tidelog.simulation.groups.plain_calls import PlainCalls
from tidelog.simulation.groups.simulation_config import CLASSIC_GROUP, FIRST, ClassicTimes

GAP_S = Span(0.2, 2.0)
SILENT_SESSIONS = Span(0.05, 1.7)
LATE_S = Span(0.1, 5.0)
HELD_MAX = 3
POLLS, POLL_S = 200, 0.05
STATIC_MEMBERS = 1
"""Members with an instance id: the first ones."""


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
    ) -> None:
        """Begin; `shards` gives those of the newest coordinators."""
        self.members: list[ClassicMember | None] = [None] * times.members
        self._base = base
        self._times = times
        self.checks = checks
        self._random = random
        self._shards = shards
        self._starts = 0

    # See `ClassicCluster`

    def classic_coordinator(self) -> int | None:
        """See `ClassicCluster`."""
        return coordinator_node(self._base.image, CLASSIC_GROUP)

    def partition_ids(self, topic: str) -> tuple[bytes, int]:
        """See `ClassicCluster`."""
        found = self._base.image.topics.get(topic)
        return (b"", 0) if found is None else (found.topic_id, len(found.partitions))

    def note(self, who: str, what: str) -> None:
        """See `ClassicCluster`."""
        self._base.note(who, what)

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
        host, _ = self._base.cluster.new_client_process(name)
        self._base.client_processes.append(name)
        self._base.note(name, "starts")
        self.members[place] = ClassicMember(
            name,
            f"mooring-{place}" if place < STATIC_MEMBERS else None,
            host,
            PlainCalls(self._base.cluster, host),
            self,
            self.checks,
            self._times,
            self._random.fork(name),
        )

    def _end(self, place: int) -> None:
        member = self.members[place]
        if member is not None:
            self.members[place] = None
            self._base.note(member.name, "ends")
            self._base.client_processes.remove(member.name)
            self._base.cluster.end_client_process(member.host)

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
        self._count("classic_kill", member)
        self._end(place)

    async def _leave(self, place: int, member: ClassicMember) -> None:
        self._count("classic_leave", member)
        member.is_leaving = True
        for _ in range(POLLS):
            await asyncio.sleep(POLL_S)  # the member's loop is another one
            if member.is_over:
                break
        self._end(place)

    async def _pause(self, place: int, member: ClassicMember) -> None:
        del place
        self._count("classic_pause", member)
        member.host.loop.pause()
        sessions = SILENT_SESSIONS.draw(self._random)
        await asyncio.sleep(sessions * self._times.session_timeout_ms / 1000)
        member.host.loop.resume()

    async def _be_late(self, place: int, member: ClassicMember) -> None:
        """Calls of the member arrive when it has given them up, or in a later generation."""
        name = one_of(self._random, (JOIN, SYNC, SYNC, HEARTBEAT, COMMIT, LEAVE))
        self._count("classic_late", member, name)
        network = self._base.cluster.network
        most = 1 if name == COMMIT else self._random.randrange(1, HELD_MAX + 1)
        late = network.hold_calls(member.name, name, most=most)
        if name == SYNC:  # members sync when others come and go
            await self._replace_other(place, lambda: late.count > 0)
        else:
            await asyncio.sleep(LATE_S.draw(self._random))
        if late.count and name in (SYNC, HEARTBEAT, COMMIT):
            before = 0 if member.joined is None else member.joined.generation
            await self._replace_other(place, lambda: member.is_beyond(before))
            if name == COMMIT and not member.is_beyond(before):
                return  # commits of one generation have no order at the coordinator: it is lost
        network.deliver_late(late)

    async def _replace_other(self, place: int, is_enough: Callable[[], bool]) -> None:
        """Put another process in the place of another member, and wait for what follows."""
        member, other = self.members[place], (place + 1) % len(self.members)
        self._end(other)
        self._start(other)
        for _ in range(POLLS):
            await asyncio.sleep(POLL_S)
            if is_enough() or member is None or member.host.loop.is_dead:
                return

    def _count(self, kind: str, member: ClassicMember, what: str = "") -> None:
        self._base.findings.faults[kind] += 1
        self._base.note("fault", f"{kind} {member.name} {what}".rstrip())

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
            elif member.joined.generation != state.recorded.generation:
                yield f"{member.name} is of generation {member.joined.generation}"
            else:
                owned += member.owned
        _, count = self.partition_ids(FIRST)
        if len(owned) != len(set(owned)) or not set(owned) <= set(range(count)):
            yield f"the classic group owns {sorted(owned)} of {count} partitions"

    def _live(self) -> LiveClassicGroup | None:
        for shard in self._shards():
            if CLASSIC_GROUP in shard.classic.by_id:
                return shard.classic.by_id[CLASSIC_GROUP]
        return None
