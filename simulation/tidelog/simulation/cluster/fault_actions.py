"""Actions that all faults and scenarios are made of: the victim, the act, how long it lasts.

Owns the primitives, and that each is taken back; which of them may happen is up to the `Budget`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

from tidelog.chaos.faults.budget import Claims
from tidelog.chaos.faults.drawer import Sometimes, Span, draw_victim
from tidelog.chaos.faults.fault import Fault
from tidelog.core import chance
from tidelog.core.chance import SeededRandom
from tidelog.metadata.image import PartitionImage
from tidelog.simulation.cluster.inside import active_controller
from tidelog.simulation.cluster.storm_target import StormTarget

DOWN_S = Sometimes(0.3, Span(2.0, 6.0), usual=Span(0.05, 2.0))
STOP_S_MAX = 8.0
POLL_S = 0.02
UNTIL_S_MAX = 20.0

T = TypeVar("T")
SwarmDraw = Callable[[], Fault | Awaitable[None] | None]
"""A kind of a random suite draws a fault; None: not now. Some act by themselves instead."""
Link = tuple[str, str]
"""Host names: from, to."""


class FaultActions:
    """The actions on the target of one seed."""

    def __init__(self, simulation: StormTarget, random: SeededRandom) -> None:
        self.simulation = simulation
        self.random = random
        self.disks = Claims()
        """Nodes whose disk a fault works on."""

    @property
    def now_s(self) -> float:
        """Virtual time."""
        return self.simulation.now_s

    def count(self, kind: str, what: str = "") -> None:
        """A fault of this kind strikes."""
        simulation = self.simulation
        simulation.findings.faults[kind] += 1
        simulation.cluster.trace.record(simulation.now_s, "fault", kind, what)
        simulation.timeline.note("fault", f"{kind} {what}")

    async def last(self, low_s: float, high_s: float) -> None:
        """Let time pass."""
        await asyncio.sleep(self.random.uniform(low_s, high_s))

    async def until(
        self, condition: Callable[[], object], *, within_s: float = UNTIL_S_MAX
    ) -> bool:
        """Wait for it; whether it came."""
        deadline_s = self.now_s + within_s
        while not condition():
            if self.now_s > deadline_s:
                return False
            await asyncio.sleep(POLL_S)
        return True

    def happens(self, probability: float) -> bool:
        """True if it does this time."""
        return self.random.random() < probability

    def one_of(self, items: Sequence[T]) -> T:
        """Any of them."""
        return chance.one_of(self.random, items)

    def shuffled(self, items: Iterable[T]) -> list[T]:
        """The items in random order."""
        return chance.shuffled(self.random, items)

    # Whom

    def state(self, topic: str, partition: int = 0) -> PartitionImage:
        """State of a known partition."""
        found = self.simulation.image.partition(topic, partition)
        if found is None:
            raise LookupError(f"no {topic}-{partition}")
        return found

    async def until_in_sync(self, topic: str) -> bool:
        """Partition 0 has all its replicas in the ISR; whether it came to that."""

        def is_in_sync() -> bool:
            found = self.simulation.image.partition(topic, 0)
            return found is not None and len(found.isr) == len(found.replicas)

        return await self.until(is_in_sync)

    def a_partition(self) -> tuple[str, PartitionImage] | None:
        """Any that there is; None: no controller runs."""
        known = [(topic.name, state) for topic, state in self.simulation.image.partitions()]
        return self.one_of(known) if known else None

    def leader(self, topic: str, partition: int = 0) -> int:
        """The leader of a partition."""
        leader_id = self.state(topic, partition).leader_id
        if leader_id is None:
            raise LookupError(f"nobody leads {topic}-{partition}")
        return leader_id

    def victim(self) -> int:
        """A leader, the active controller, or anyone."""
        victim = draw_victim(
            self.random,
            self.simulation.config.node_ids,
            leader=self._a_leader,
            controller=lambda: active_controller(self.simulation.cluster),
        )
        if victim is None:
            raise LookupError("a cluster without nodes")
        return victim

    def _a_leader(self) -> int | None:
        found = self.a_partition()
        return None if found is None else found[1].leader_id

    # Links

    def host(self, node_id: int) -> str:
        """A node's name on the network."""
        return self.simulation.machine(node_id).name

    def links_between(self, side: Iterable[int], others: Iterable[int]) -> list[Link]:
        """Every link between nodes, both ways."""
        there = [(self.host(a), self.host(b)) for a in side for b in others if a != b]
        return there + [link[::-1] for link in there]

    def others(self, *node_ids: int) -> list[int]:
        """The other nodes."""
        return [one for one in self.simulation.config.node_ids if one not in node_ids]

    async def cut(self, links: Sequence[Link], low_s: float, high_s: float) -> None:
        """These carry nothing for a while."""
        self.cut_now(links)
        await self.last(low_s, high_s)
        self.mend(links)

    def cut_now(self, links: Sequence[Link]) -> None:
        """Until `mend`."""
        for link in links:
            self.simulation.cluster.network.cut(*link)

    def mend(self, links: Sequence[Link]) -> None:
        """Take one cut back."""
        for link in links:
            self.simulation.cluster.network.heal(*link)
        self.simulation.timeline.note("fault", f"{len(links)} links carry again")

    @contextmanager
    def refusing(self, node_id: int, *, is_mute: bool) -> Iterator[None]:
        """For the block, connections to a node are refused; mute: what it sends is lost, too."""
        network, host = self.simulation.cluster.network, self.host(node_id)
        others = [self.host(other) for other in self.others(node_id)]
        for other in others:
            network.refuse(other, host)
            if is_mute:
                network.cut(host, other)
        try:
            yield
        finally:
            for other in others:
                network.accept(other, host)
                if is_mute:
                    network.heal(host, other)

    # Processes

    def kill(self, node_id: int) -> bool:
        """End a process and hold it down; False: it was down."""
        if not self.simulation.is_up(node_id):
            return False
        self.simulation.held.add(node_id)
        self.simulation.cluster.kill(node_id)
        return True

    def cut_power(self, node_id: int) -> bool:
        """As long as the budget lasts; the node is held down."""
        if not self.simulation.budget.may_lose_power(node_id):
            return False
        self.simulation.held.add(node_id)
        self.simulation.cluster.crash(node_id)
        return True

    async def stop(self, node_id: int) -> None:
        """In order, if it can; it is held down."""
        if self.simulation.is_up(node_id) and node_id not in self.simulation.held:
            self.simulation.held.add(node_id)
            await self.simulation.cluster.stop(node_id, within_s=STOP_S_MAX)

    async def start_later(self, node_id: int) -> None:
        """Start it after a while, sometimes a long one."""
        await self.stay_down()
        self.simulation.start(node_id)

    async def stay_down(self) -> None:
        """Let the time pass for which a node is down."""
        await asyncio.sleep(DOWN_S.draw(self.random))

    async def pause(self, node_id: int, low_s: float, high_s: float) -> None:
        """SIGSTOP for a while."""
        process = self.pause_now(node_id)
        if process is not None:
            await self.last(low_s, high_s)
            self.resume(node_id, process)

    def pause_now(self, node_id: int) -> int | None:
        """SIGSTOP until `resume`; which start of the node stands still, None: it does not run."""
        machine = self.simulation.machine(node_id)
        if machine.host is None or machine.host.loop.is_paused:
            return None
        self.simulation.cluster.pause(node_id)
        return machine.starts

    def resume(self, node_id: int, process: int | None = None) -> None:
        """SIGCONT, unless the node was started again since; None: whatever runs."""
        machine = self.simulation.machine(node_id)
        if machine.host is not None and process in (None, machine.starts):
            self.simulation.cluster.resume(node_id)
            self.simulation.timeline.note("fault", f"node {node_id} goes on")
