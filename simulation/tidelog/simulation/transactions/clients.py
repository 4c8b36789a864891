"""The transactional clients of a seed: their processes, by transactional id; who is started again.

A `Guest` of the cluster suite's storm. Two processes may have one id for a while: the older one is
a zombie then, and goes on until it is fenced.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator

from tidelog.broker.transactions.transaction_key import SEPARATOR
from tidelog.chaos.node_inside import held_by, log_of
from tidelog.chaos.workloads.record_parts import PartsDrawer
from tidelog.chaos.workloads.workload import Workload
from tidelog.client import TopicPartition
from tidelog.client.admin import Admin
from tidelog.client.errors import TidelogError
from tidelog.core.chance import SeededRandom
from tidelog.simulation.cluster.fault_actions import FaultActions
from tidelog.simulation.cluster.simulation import ClusterSimulation, Violated
from tidelog.simulation.engine.clock import WALL_EPOCH_S
from tidelog.simulation.transactions.appender import Appender
from tidelog.simulation.transactions.client_process import ClientProcess
from tidelog.simulation.transactions.coordinator_watch import CoordinatorWatch
from tidelog.simulation.transactions.copier import Copier
from tidelog.simulation.transactions.driver import Driver
from tidelog.simulation.transactions.readers import LEVELS, ListReader
from tidelog.simulation.transactions.rest import RestChecks
from tidelog.simulation.transactions.simulation_config import (
    LEDGER,
    ClientPlan,
    Kind,
    TransactionsConfig,
)
from tidelog.simulation.transactions.strikes import Strikes
from tidelog.simulation.transactions.transaction_calls import TransactionCalls

_KINDS: dict[Kind, type[ClientProcess]] = {
    Kind.APPENDER: Appender,
    Kind.DRIVER: Driver,
    Kind.COPIER: Copier,
}
RETRY_S, SUPERVISED_EVERY_S, RESTART_S_MAX = 0.2, 0.1, 1.0


class TransactionClients:
    """See the module."""

    def __init__(
        self, base: ClusterSimulation, config: TransactionsConfig, random: SeededRandom
    ) -> None:
        self.base = base
        self.config = config
        self.processes: list[ClientProcess] = []
        """Processes that were started and have not ended."""
        self.admin = Admin(base.bootstrap, **base.client_ports("transactions-admin"))
        self.watch = CoordinatorWatch(base.cluster, base.findings.report, base.count_event)
        self._random = random
        self._workload: Workload | None = None
        self._starts = 0
        self._is_set_up = self._is_closing = False
        self._readers: list[ListReader] = []
        self._tasks: list[asyncio.Task[None]] = []
        actions = FaultActions(base, random.fork("strikes"))
        self._strikes = Strikes(self, actions)
        self._of_nodes = base.cluster.scheduler.after_step
        base.cluster.scheduler.after_step = self._after_step

    def join(self, workload: Workload) -> None:
        """Number calls together with the workload's."""
        self._workload = workload
        self.calls = TransactionCalls(
            self.base.history,
            next_number=workload.next_number,
            now_s=lambda: self.base.now_s,
            count=self.base.count_event,
            parts=PartsDrawer(self._random.fork("parts"), self._wall_ms),
        )

    def _wall_ms(self) -> int:
        return WALL_EPOCH_S * 1000 + int(self.base.now_s * 1000)

    # See `Guest`

    def begin(self) -> None:
        """See `Guest.begin`."""
        self._tasks.append(asyncio.create_task(self._set_up(), name="transactions"))

    async def strike_until(self, is_over: Callable[[], bool]) -> None:
        """See `Guest.strike_until`."""
        await self._strikes.actions.until(lambda: self._is_set_up or is_over())
        await self._strikes.strike_until(is_over)
        self._resume_all()

    def find_restless(self) -> Iterator[str]:
        """See `Guest.find_restless`."""
        if not self._is_set_up:
            yield "the topics of transactions are not created"
            return
        self._wind_down()
        writers = [one for one in self.processes if one.plan.kind is not Kind.COPIER]
        yield from (f"{one.name} has not ended" for one in writers)
        yield from self.watch.unfinished()
        yield from self._unstable()
        if not writers:
            yield from self._uncopied()

    async def at_rest(self) -> None:
        """See `Guest.at_rest`."""
        for process in self.processes:
            process.is_closing = True
        for reader in self._readers:
            reader.is_closing = True
        await self._strikes.actions.until(lambda: not self.processes)
        await asyncio.gather(*self._tasks)
        await RestChecks(self.base, self.calls, self.config).run()
        await self.admin.close()

    # Processes

    def start(self, plan: ClientPlan) -> ClientProcess:
        """Start a process, whether another one has the id or not."""
        self._starts += 1
        name = f"{plan.transactional_id.replace(SEPARATOR, '-')}.{self._starts}"
        process = _KINDS[plan.kind](self.base, self.calls, plan, self._random.fork(name), name)
        self.processes.append(process)
        return process

    def of(self, plan: ClientPlan) -> list[ClientProcess]:
        """Processes under an id, the oldest first."""
        return [one for one in self.processes if one.plan is plan]

    def partitions(self) -> list[TopicPartition]:
        """List the partitions of all lists."""
        return [
            TopicPartition(topic.name, number)
            for topic in self.config.topics
            for number in range(topic.partitions)
        ]

    async def _set_up(self) -> None:
        for topic in self.config.topics:
            await self._create(topic.name, topic.partitions, dict(topic.configs()))
        for level in LEVELS:
            name, tps = f"reader-{level}", self.partitions()
            reader = ListReader(self.base, self.calls, name, tps, level=level)
            self._readers.append(reader)
            self._tasks.append(asyncio.create_task(reader.read_along(), name=name))
        self._is_set_up = True
        await self._supervise()

    async def _create(self, topic: str, partitions: int, configs: dict[str, str]) -> None:
        while topic not in self.base.image.topics:
            try:
                await self.admin.create_topic(
                    topic,
                    partitions=partitions,
                    replication_factor=self.base.replication_factor,
                    configs=configs,
                )
            except TidelogError as error:
                self.base.note("admin", f"{topic} not created: {error}")
                await asyncio.sleep(RETRY_S)

    async def _supervise(self) -> None:
        """Start a process for each id that has none, a while after its last one ended."""
        due_s: dict[str, float] = {}
        while not all(one.is_closing for one in self._readers):
            self.processes = [one for one in self.processes if not one.is_over]
            for plan in self.config.clients:
                if self.of(plan) or (self._is_closing and plan.kind is not Kind.COPIER):
                    due_s.pop(plan.transactional_id, None)
                    continue
                wait_s = self._random.uniform(0.0, RESTART_S_MAX)
                if self.base.now_s >= due_s.setdefault(
                    plan.transactional_id, self.base.now_s + wait_s
                ):
                    self.start(plan)
            await asyncio.sleep(SUPERVISED_EVERY_S)
        while self.processes:
            self.processes = [one for one in self.processes if not one.is_over]
            await asyncio.sleep(SUPERVISED_EVERY_S)

    def _resume_all(self) -> None:
        for one in self.processes:
            if one.is_paused:
                one.host.loop.resume()

    def _wind_down(self) -> None:
        self._is_closing = True
        self._resume_all()
        for one in self.processes:
            if isinstance(one, Copier):
                one.is_hasty = True
            else:
                one.is_closing = True

    # Looks

    def _unstable(self) -> Iterator[str]:
        """Yield leaders whose last stable offset is below the high watermark."""
        image = self.base.image
        for topic, state in image.partitions():
            machine = None if state.leader_id is None else self.base.machine(state.leader_id)
            node = None if machine is None else machine.node
            hosted = None if node is None else held_by(node).get((topic.name, state.partition))
            log = None if hosted is None else log_of(hosted)
            if log is None or log.last_stable_offset != log.log_end_offset:
                yield f"{topic.name}-{state.partition} has undecided transactions, or is not led"

    def _uncopied(self) -> Iterator[str]:
        copiers = [one for one in self.processes if isinstance(one, Copier)]
        done = {tp for one in copiers for tp in one.done}
        wanted = {tp for tp in self.partitions() if tp.topic == LEDGER}
        for tp in sorted(wanted - done):
            yield f"{tp.topic}-{tp.partition} is not copied to its end"

    def _after_step(self) -> None:
        if self._of_nodes is not None:
            self._of_nodes()
        self.watch.after_step()
        loop = asyncio._get_running_loop()  # noqa: SLF001
        for one in self.processes:
            if one.host.loop is loop and (failure := one.failure()) is not None:
                self.base.findings.report("application", f"{one.name}: {failure!r}")
        if self.base.findings.violations:
            raise Violated
