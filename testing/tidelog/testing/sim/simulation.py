"""A simulated cluster in the hands of a test: `sim`."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from contextvars import Context
from pathlib import Path
from typing import TypeAlias

from tidelog.chaos.faults.budget import Claims
from tidelog.client import Consumer, Record, TopicPartition
from tidelog.client.admin import Admin
from tidelog.core.chance import SeededRandom
from tidelog.history.history import Isolation
from tidelog.simulation.cluster.cluster import Machine
from tidelog.simulation.cluster.process_faults import calm
from tidelog.simulation.engine.loop import NodeLoop
from tidelog.testing.sim import verdict
from tidelog.testing.sim.errors import (
    BrokenPromiseError,
    NotSettledError,
    SimulatedTestError,
)
from tidelog.testing.sim.processes import Main, SimulatedProcess
from tidelog.testing.sim.recording import Recording
from tidelog.testing.sim.storm import (
    BETWEEN_NODES,
    STRIKES_MAX,
    Field,
    Storm,
    Struck,
    draw_strikes,
    kinds_of,
)
from tidelog.testing.sim.surroundings import users_random
from tidelog.testing.sim.target import SimulatedTarget

POLL_S = 0.02
READ_POLL_MS = 200
SETTLE_S_MAX = 120.0
"""Time after which a cluster without a fault must be at rest: some sessions and elections."""
STORM_END_S_MAX = 120.0

Side: TypeAlias = int | str | SimulatedProcess
"""A node by its id, a process by its name or itself, or "client": the test function."""


class Simulation:
    """A cluster on virtual time, made for one seed. Made by `simulated` and `simulate`.

    Nodes have ids from 1 on. Times are virtual seconds since the cluster's start. What the test
    breaks stays broken until it mends it, or until `settle`.
    """

    def __init__(
        self,
        target: SimulatedTarget,
        *,
        number: int,
        left_out: Iterable[int],
        context: Context,
        fail: Callable[[BaseException], None],
    ) -> None:
        self.seed = number
        """Number of the seed."""
        self.random = users_random(target.seed)
        """Chance that follows the seed, for the test's own choices."""
        self._target = target
        self._context = context
        self._fail = fail
        self._recording = Recording(lambda: target.now_s, target.topic_id, target.note)
        self._processes: list[SimulatedProcess] = []
        self._cuts: list[tuple[str, str]] = []
        self._storms: list[Storm] = []
        self._chance = SeededRandom(target.seed).fork("storms")
        host, ports = target.cluster.new_client_process("storm")
        host.loop.create_task(target.watch(), name="watch")
        self._field = Field(target, self._processes, host, ports, frozenset(left_out), [], Claims())

    def __repr__(self) -> str:
        return f"<Simulation of seed {self.seed} at {self.now_s:.3f} s>"

    # What there is

    @property
    def bootstrap(self) -> list[str]:
        """Addresses that clients start from."""
        return self._target.bootstrap

    @property
    def now_s(self) -> float:
        """Virtual time."""
        return self._target.now_s

    @property
    def node_ids(self) -> Sequence[int]:
        """Every node, up or down."""
        return self._target.config.node_ids

    @property
    def struck(self) -> Sequence[Struck]:
        """Faults of the storms so far."""
        return self._field.struck

    @property
    def recording(self) -> Recording:
        """Calls of all clients so far."""
        return self._recording

    def leader(self, topic: str, partition: int = 0) -> int:
        """Node id of a partition's leader. Raises `NotSettledError` while nobody leads it."""
        state = self._target.image.partition(topic, partition)
        if state is None or state.leader_id is None:
            raise NotSettledError(f"nobody leads {topic}-{partition}: wait for it with sim.until")
        return state.leader_id

    def note(self, text: str) -> None:
        """Write a line into the timeline, which a failure shows."""
        self._act("test", text)

    # Nodes

    def kill(self, node_id: int) -> None:
        """End a node's process at once (SIGKILL), until `start`; its page cache stays."""
        self._known(node_id)
        if self._target.is_up(node_id):
            self._act("test", f"kill node {node_id}")
            self._target.held.add(node_id)
            self._target.cluster.kill(node_id)

    def start(self, node_id: int) -> None:
        """Start a node that is down, on what its disk holds."""
        self._known(node_id)
        self._act("test", f"start node {node_id}")
        self._target.start(node_id)

    async def stop(self, node_id: int) -> None:
        """End a node's process in order (SIGTERM), until `start`."""
        self._known(node_id)
        if self._target.is_up(node_id):
            self._act("test", f"stop node {node_id}")
            self._target.held.add(node_id)
            await self._target.cluster.stop(node_id)

    def pause(self, node_id: int) -> None:
        """Step a node no more (SIGSTOP); its connections stay open."""
        machine = self._known(node_id)
        if machine.host is not None and not machine.host.loop.is_paused:
            self._act("test", f"pause node {node_id}")
            self._target.cluster.pause(node_id)

    def resume(self, node_id: int) -> None:
        """Step it again (SIGCONT)."""
        machine = self._known(node_id)
        if machine.host is not None and machine.host.loop.is_paused:
            self._act("test", f"resume node {node_id}")
            self._target.cluster.resume(node_id)

    def power_cut(self, node_id: int) -> None:
        """Cut a machine's power, until `start`: what was not synced is gone or torn.

        Raises `SimulatedTestError` where that could cost an acknowledged record, since as many
        replicas lack records already as min.insync.replicas allows.
        """
        self._known(node_id)
        if not self._target.budget.may_lose_power(node_id):
            raise SimulatedTestError(
                f"power_cut({node_id}): acknowledged records could be lost, as min.insync.replicas "
                "of a topic allows no other replica to lack records now: settle first, or raise it"
            )
        self._act("test", f"power cut of node {node_id}")
        self._target.held.add(node_id)
        self._target.cluster.crash(node_id)

    # Links

    def cut(self, a: Side | Iterable[Side], b: Side | Iterable[Side]) -> None:
        """Lose all that is said between two sides, both ways, until `heal`."""
        one, other = self._hosts(a), self._hosts(b)
        links = [(x, y) for x in one for y in other if x != y]
        self._act("test", f"cut {one} from {other}")
        for x, y in links:
            for link in ((x, y), (y, x)):
                self._target.cluster.network.cut(*link)
                self._cuts.append(link)

    def isolate(self, x: Side) -> None:
        """Cut a node or a process off from all nodes and processes."""
        (name,) = self._hosts(x)
        everyone = [*self._hosts(self.node_ids), *self._target.client_hosts]
        self.cut(x, [one for one in everyone if one != name])

    def heal(self) -> None:
        """Carry messages again on all links that the test has cut."""
        if self._cuts:
            self._act("test", "heal")
        cuts, self._cuts = self._cuts, []
        for link in cuts:
            self._target.cluster.network.heal(*link)

    # Processes

    def process(self, name: str, main: Main) -> SimulatedProcess:
        """Start a program of the test's own on a machine of its own; `main` returns its coroutine.

        Clients that it makes reach the cluster by the machine's own links, storms strike it too.
        """
        taken = {self._target.cluster.client_host.name, self._field.host.name}
        taken |= {one.name for one in self._processes} | set(self._hosts(self.node_ids))
        if not name or name in taken:
            raise SimulatedTestError(f"sim.process({name!r}, …): the name is taken, or empty")
        process = SimulatedProcess(
            name,
            main,
            cluster=self._target.cluster,
            context=self._context,
            hosts=self._target.client_processes,
            fail=self._fail,
            note=self._target.note,
            observer=self._recording,
        )
        self._processes.append(process)
        return process

    # Storms, and their end

    @asynccontextmanager
    async def storm(self, kinds: str | Sequence[str] = "standard") -> AsyncIterator[None]:
        """Let faults strike while the block runs: a set's name, a kind or several.

        The block ends when its last fault has ended.
        """
        storm = self.begin_storm(kinds_of(kinds))
        try:
            yield
        finally:
            storm.end()
            await self._wait(lambda: storm.is_over, STORM_END_S_MAX, "the storm's faults end")

    def begin_storm(self, kinds: Sequence[str]) -> Storm:
        """Begin to strike, until `settle`."""
        number = len(self._storms)
        chance = self._chance.fork(f"storm {number}")
        if len(self.node_ids) == 1:
            kinds = [kind for kind in kinds if kind not in BETWEEN_NODES]
        strikes = draw_strikes(chance.fork("plan"), kinds, first=number * STRIKES_MAX)
        storm = Storm(self._field, strikes, chance)
        self._storms.append(storm)
        storm.begin()
        return storm

    async def settle(self, *, within_s: float = SETTLE_S_MAX) -> None:
        """End storms, mend everything, and wait until all replicas are in sync, all processes run.

        Raises `NotSettledError` that names what is not, after `within_s` virtual seconds; after
        120 or more `BrokenPromiseError`, as nothing is broken any more then.
        """
        self._act("test", "settle")
        for storm in self._storms:
            storm.end()
        self.heal()
        for node_id in self.node_ids:
            self.resume(node_id)
        storms = self._storms
        await self._wait(lambda: all(one.is_over for one in storms), within_s, "the faults end")
        calm(self._target)
        for process in self._processes:
            process.resume()
            if not process.has_ended:
                process.start()
        try:
            await self._wait(lambda: not self._unsettled(), within_s, "it came to rest")
        except NotSettledError as error:
            what = f"{error}: {'; '.join(self._unsettled())}"
            if within_s < SETTLE_S_MAX:
                raise NotSettledError(what) from None
            raise BrokenPromiseError(
                "Tidelog did not come to rest although nothing is broken any more: this is a bug "
                "of Tidelog and not of the test, please report it with the seed and the test\n"
                f"  {what}"
            ) from None

    async def until(self, condition: Callable[[], object], *, within_s: float = 60.0) -> None:
        """Wait until `condition()` is true, in virtual time; it is asked every 20 ms.

        Raises `NotSettledError`, which names the condition's place, after `within_s` seconds.
        """
        code = getattr(condition, "__code__", None)
        place = f" of {Path(code.co_filename).name}:{code.co_firstlineno}" if code else ""
        await self._wait(condition, within_s, f"the condition{place} is true")

    def check(self) -> dict[str, int]:
        """Judge all that clients sent and read: nothing acknowledged is lost, torn or twice.

        Returns counts (`docs/HISTORY.md`). Raises `BrokenPromiseError`: a bug of Tidelog; and
        `NotSettledError` while partitions have no leaders, or new ones: `settle` first.
        """
        return verdict.check(self._recording, self._target)

    # Topics

    async def create_topic(
        self,
        topic: str,
        *,
        partitions: int = 1,
        replication_factor: int | None = None,
        configs: Mapping[str, str] | None = None,
    ) -> None:
        """Create a topic, with a replica on three brokers at most, and wait until it is led."""
        if replication_factor is None:
            replication_factor = self._target.replication_factor
        async with Admin(self.bootstrap) as admin:
            await admin.create_topic(
                topic,
                partitions=partitions,
                replication_factor=replication_factor,
                configs=dict(configs or {}),
            )
        await self._wait(lambda: self._is_led(topic, partitions), 60.0, f"{topic} is led")

    async def read_all(
        self, topic: str, *, isolation_level: Isolation = "read_committed"
    ) -> list[Record[bytes | None, bytes | None]]:
        """Read all records of a topic, by partition, up to the ends that there are now."""
        if topic not in self._target.image.topics:
            raise SimulatedTestError(f"there is no topic {topic!r}: await sim.create_topic first")
        partitions = len(self._target.image.topics[topic].partitions)
        tps = [TopicPartition(topic, number) for number in range(partitions)]
        found: list[Record[bytes | None, bytes | None]] = []
        async with Consumer(self.bootstrap, isolation_level=isolation_level) as consumer:
            consumer.assign(tps)
            for tp in tps:
                consumer.seek(tp, 0)
            ends = await consumer.end_offsets(tps)
            while True:
                at = [await consumer.position(tp) for tp in tps]
                if all(position >= ends[tp] for tp, position in zip(tps, at, strict=True)):
                    return sorted(found, key=lambda one: (one.partition, one.offset))
                found += await consumer.getmany(timeout_ms=READ_POLL_MS)

    # Inside

    def process_loops(self) -> list[NodeLoop]:
        """Loops of the processes that run."""
        return [one.loop for one in self._processes if one.loop is not None]

    def _is_led(self, topic: str, partitions: int) -> bool:
        found = [self._target.image.partition(topic, number) for number in range(partitions)]
        return all(one is not None and one.leader_id is not None for one in found)

    def _unsettled(self) -> list[str]:
        self._target.restart_failed()
        down = [f"node {one} is down" for one in self.node_ids if not self._target.is_up(one)]
        restless = verdict.find_restless(self._recording, self._target)
        return [*down, *self._target.find_unsettled(), *restless]

    async def _wait(self, condition: Callable[[], object], within_s: float, what: str) -> None:
        __tracebackhide__ = True
        deadline_s = self.now_s + within_s
        while not _is_met(condition):
            if self.now_s > deadline_s:
                raise NotSettledError(f"{within_s:g} virtual s went by before {what}")
            await asyncio.sleep(POLL_S)

    def _known(self, node_id: int) -> Machine:
        if node_id not in self._target.cluster.machines:
            raise SimulatedTestError(f"there is no node {node_id!r}, but {list(self.node_ids)}")
        return self._target.machine(node_id)

    def _hosts(self, sides: Side | Iterable[Side]) -> list[str]:
        if isinstance(sides, int | str | SimulatedProcess):
            sides = [sides]
        return [self._host(side) for side in sides]

    def _host(self, side: Side) -> str:
        if isinstance(side, int):
            return self._known(side).name
        name = side if isinstance(side, str) else side.name
        nodes = {one.name for one in self._target.cluster.machines.values()}
        if name not in {*self._target.client_hosts, *nodes}:
            raise SimulatedTestError(
                f"there is no {name!r}: nodes are {list(self.node_ids)}, processes "
                f"{list(self._target.client_hosts)}"
            )
        return name

    def _act(self, who: str, what: str) -> None:
        self._target.cluster.trace.record(self.now_s, who, what)
        self._target.note(who, what)


def _is_met(condition: Callable[[], object]) -> bool:
    met = condition()
    if inspect.iscoroutine(met):
        met.close()
        raise SimulatedTestError("sim.until: the condition is async, and it is called, not awaited")
    return bool(met)
