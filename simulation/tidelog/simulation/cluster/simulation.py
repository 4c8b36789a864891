"""Simulation of one seed: nodes, clients' history, what was found, and what faults may still do.

Owns what faults and clients share; decides nothing by itself.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from tidelog.chaos.faults.budget import Budget
from tidelog.chaos.workloads.group_member import GroupMember, MemberBook
from tidelog.chaos.workloads.member_consumer import consumer_of_ours
from tidelog.chaos.workloads.plans import (
    GroupPlan,
    MemberPlan,
    ProducerPlan,
    TopicPlan,
    TransactionPlan,
    WriterPlan,
)
from tidelog.chaos.workloads.transaction_calls import WriterBook, producer_of_ours
from tidelog.chaos.workloads.transaction_writer import TransactionWriter
from tidelog.core.chance import SeededRandom
from tidelog.core.errors import StorageError
from tidelog.history.history import (
    Assignment,
    Commit,
    Committed,
    History,
    Poll,
    Send,
    Transaction,
)
from tidelog.metadata.image import MetadataImage
from tidelog.net.listeners import Listener
from tidelog.simulation.cluster.budget_view import SimBudgetView
from tidelog.simulation.cluster.cluster import (
    ClientPorts,
    Machine,
    SimCluster,
    SimClusterConfig,
    one_grpc_listener,
)
from tidelog.simulation.cluster.coverage import Observer
from tidelog.simulation.cluster.group_members import SimGroupMember
from tidelog.simulation.cluster.inside import has_failed_log, newest_image
from tidelog.simulation.cluster.invariants import Invariants
from tidelog.simulation.cluster.simulation_config import REPLICATION_FACTOR, ClusterSimulationConfig
from tidelog.simulation.engine.byte_streams import SimDialer
from tidelog.simulation.engine.scheduler import SchedulerLimits
from tidelog.simulation.suites.findings import Findings
from tidelog.simulation.suites.timeline import Timeline

LIMITS = SchedulerLimits(steps=3_000_000, virtual_s=200.0)
LOOK_EVERY_S = 0.1
RESTART_AFTER_S = 0.5


class Violated(Exception):  # noqa: N818  # the end of a run, not a fault of its own
    """Something did not hold: whatever follows may follow from it."""


@dataclass(frozen=True, slots=True)
class NodeOptions:
    """Properties of a suite's nodes, beside their configuration."""

    listeners: Callable[[str], tuple[Listener, ...]] = one_grpc_listener
    on_built: Callable[[Machine], None] = lambda _: None
    """See `SimClusterConfig`."""
    limits: SchedulerLimits = LIMITS


class ClusterSimulation:
    """Nodes are held down only by faults (`held`); other nodes that are down start again soon."""

    def __init__(
        self,
        *,
        seed: int,
        config: ClusterSimulationConfig,
        findings: Findings,
        timeline_sink: Callable[[str], None] | None,
        options: NodeOptions = NodeOptions(),
    ) -> None:
        self.seed = seed
        self.config = config
        self.findings = findings
        self.cluster = SimCluster(
            seed=seed,
            config=SimClusterConfig(
                node_ids=config.node_ids,
                controller_ids=config.controller_ids,
                broker_ids=config.broker_ids,
                configure=config.configure,
                is_expected=_is_expected,
                limits=options.limits,
                listeners=options.listeners,
                on_built=options.on_built,
            ),
        )
        self.timeline = Timeline(lambda: self.now_s, timeline_sink)
        self.history = History(lossy_topics=config.lossy_topics)
        self.observer = Observer(self.cluster, findings.coverage)
        self.budget = Budget(SimBudgetView(self.cluster, config, self.count_event))
        self.cluster.on_power_lost = self.budget.note_cut
        self.invariants = Invariants(self.cluster, findings.report)
        self.cluster.scheduler.after_step = self._after_step
        self._clients: dict[str, ClientPorts] = {}
        self.client_processes: list[str] = []
        """Hosts of clients that have a process of their own."""
        self.held: set[int] = set()
        """Nodes that a fault keeps down; only asked, never gone through."""
        self.random = SeededRandom(seed)

    @property
    def now_s(self) -> float:
        """Virtual time."""
        return self.cluster.scheduler.now_s

    @property
    def image(self) -> MetadataImage:
        """The newest that is committed, as far as a running controller knows."""
        return newest_image(self.cluster)

    @property
    def bootstrap(self) -> list[str]:
        """Addresses that clients start from."""
        return [self.cluster.address(one) for one in self.config.broker_ids]

    # What clients ask for: `workloads.workload_port`

    @property
    def topics(self) -> Sequence[TopicPlan]:
        """As drawn."""
        return self.config.topics

    @property
    def producers(self) -> Sequence[ProducerPlan]:
        """As drawn."""
        return self.config.producers

    @property
    def readers(self) -> Sequence[str]:
        """Readers, one a topic."""
        return ["reader"]

    @property
    def replication_factor(self) -> int:
        """Replicas of every topic."""
        return min(REPLICATION_FACTOR, len(self.config.broker_ids))

    @property
    def segment_bytes(self) -> range:
        """A few batches a segment."""
        return range(600, 20_000)

    @property
    def client_hosts(self) -> Sequence[str]:
        """Hosts of every client so far."""
        return [*self._clients, *self.client_processes]

    def client_ports(self, name: str) -> dict[str, Any]:  # keyword arguments of every client
        """A client's way to the cluster, from a host of its own."""
        ports = self._clients.get(name)
        if ports is None:
            ports = self._clients[name] = self.cluster.new_client(name)
        return {"transport": ports.transport, "clock": ports.clock, "random": ports.random}

    def dialer(self, name: str) -> SimDialer:
        """Way of a client, which has its ports, to listeners of Kafka's protocol."""
        return self._clients[name].dialer

    def begin_send(self, begun: Callable[[], Send]) -> None:
        """Nobody reads a history that is not whole."""

    def end_send(self, send: Send) -> None:
        """Into the history."""
        self.history.sends.append(send)

    def end_poll(self, poll: Poll) -> None:
        """Into the history."""
        self.history.polls.append(poll)

    @property
    def group(self) -> GroupPlan | None:
        """The story's."""
        return self.config.group

    def start_member(
        self, plan: MemberPlan, book: MemberBook, *, has_process: bool
    ) -> SimGroupMember:
        """Each has a process, whether it needs one or not."""
        del has_process
        host, ports = self.cluster.new_client_process(plan.name)
        self.client_processes.append(plan.name)
        own = {"transport": ports.transport, "clock": ports.clock, "random": ports.random}
        consumer_of = consumer_of_ours(plan, bootstrap=self.bootstrap, ports=own)
        member = GroupMember(book, plan, consumer_of)
        return SimGroupMember(self.cluster, host, member)

    def begin_commit(self, commit: Commit) -> None:
        """Nobody reads a history that is not whole."""

    def end_commit(self, commit: Commit) -> None:
        """Into the history."""
        self.history.commits.append(commit)

    def add_group_call(self, call: Assignment | Committed) -> None:
        """Into the history."""
        self.history.add(call)

    @property
    def transactions(self) -> TransactionPlan | None:
        """The story's."""
        return self.config.transactions

    def start_writer(self, plan: WriterPlan, book: WriterBook) -> SimGroupMember:
        """See `WorkloadPort`."""
        host, ports = self.cluster.new_client_process(plan.name)
        self.client_processes.append(plan.name)
        own = {"transport": ports.transport, "clock": ports.clock, "random": ports.random}
        producer_of = producer_of_ours(plan, bootstrap=self.bootstrap, ports=own)
        random = SeededRandom(self.seed).fork(plan.name)
        writer = TransactionWriter(book, plan, producer_of, random, is_alone=False)
        return SimGroupMember(self.cluster, host, writer)

    def begin_transactional(self, call: Send | Transaction) -> None:
        """Nobody reads a history that is not whole."""

    def begin_transaction_commit(self, call: Transaction) -> None:
        """Nobody reads a history that is not whole."""

    def end_transactional(self, call: Send | Transaction) -> None:
        """Into the history."""
        self.history.add(call)

    def address_of(self, node_id: int) -> str:
        """See `WorkloadPort`."""
        return self.cluster.address(node_id)

    @property
    def is_diary_read(self) -> bool:
        """True if anyone reads the timeline."""
        return self.timeline.is_kept

    def note(self, who: str, what: str) -> None:
        """For people."""
        self.timeline.note(who, what)

    def count_event(self, what: str) -> None:
        """Count it."""
        self.findings.coverage[what] += 1

    # Nodes

    def is_storm_over(self, end_s: float) -> bool:
        """True if no fault of the storm that ends then begins any more."""
        return self.now_s >= end_s or bool(self.findings.violations)

    def machine(self, node_id: int) -> Machine:
        """A node's machine."""
        return self.cluster.machines[node_id]

    def is_up(self, node_id: int) -> bool:
        """True if its process runs, or is paused."""
        return self.machine(node_id).host is not None

    def start(self, node_id: int) -> None:
        """Start what is down."""
        self.held.discard(node_id)
        if not self.is_up(node_id):
            self.timeline.note(f"node-{node_id}", "starts")
            self.cluster.start(node_id)

    async def watch(self) -> None:
        """Look at the image often, and do what an operator's supervisor does: start what ended."""
        down_since: dict[int, float] = {}
        while True:
            await asyncio.sleep(LOOK_EVERY_S)
            self.observer.look()
            self.budget.look()
            for node_id in self.config.node_ids:
                if self.is_up(node_id) or node_id in self.held:
                    down_since.pop(node_id, None)
                elif self.now_s - down_since.setdefault(node_id, self.now_s) >= RESTART_AFTER_S:
                    self.start(node_id)

    def _after_step(self) -> None:
        self.invariants.after_step()
        if self.findings.violations:
            raise Violated

    def restart_failed(self) -> None:
        """Restart nodes whose disk failed a log."""
        for node_id in self.config.node_ids:
            if has_failed_log(self.machine(node_id)):
                self.timeline.note(f"node-{node_id}", "is restarted: a log is out of service")
                self.cluster.kill(node_id)
                self.start(node_id)

    def find_unsettled(self) -> Iterable[str]:
        """Yield what is not as it must be a while after the last fault."""
        image = self.image
        for node_id in self.config.broker_ids:
            if not image.is_alive(node_id):
                yield f"broker {node_id} is fenced"
        for topic, partition in image.partitions():
            is_full = set(partition.isr) == set(partition.replicas)
            if partition.leader_id is None or not is_full or partition.damaged:
                yield f"{topic.name}-{partition.partition}: {partition}"
        yield from self.budget.outstanding()


def _is_expected(error: BaseException) -> bool:
    """Disks fail here; a process that cannot go on without one ends."""
    return isinstance(error, StorageError)
