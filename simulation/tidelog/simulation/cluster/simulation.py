"""Simulation of one seed: the target of its storm, with its clients' history and invariants.

Owns what faults and clients share; decides nothing by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

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
from tidelog.history.history import (
    Assignment,
    Commit,
    Committed,
    Deletion,
    Poll,
    Send,
    Transaction,
)
from tidelog.net.listeners import Listener
from tidelog.simulation.cluster.cluster import (
    Machine,
    SimClusterConfig,
    one_grpc_listener,
)
from tidelog.simulation.cluster.coverage import Observer
from tidelog.simulation.cluster.group_members import SimGroupMember
from tidelog.simulation.cluster.invariants import Invariants
from tidelog.simulation.cluster.simulation_config import REPLICATION_FACTOR, ClusterSimulationConfig
from tidelog.simulation.cluster.storm_target import StormTarget
from tidelog.simulation.engine.scheduler import SchedulerLimits
from tidelog.simulation.suites.findings import Findings

LIMITS = SchedulerLimits(steps=3_000_000, virtual_s=200.0)
STEPS_PER_PARTITION = 1_000
"""Steps that a run may have more for each partition of its topics."""


class Violated(Exception):  # noqa: N818  # the end of a run, not a fault of its own
    """Something did not hold: whatever follows may follow from it."""


@dataclass(frozen=True, slots=True)
class NodeOptions:
    """Properties of a suite's nodes, beside their configuration."""

    listeners: Callable[[str], tuple[Listener, ...]] = one_grpc_listener
    on_built: Callable[[Machine], None] = lambda _: None
    """See `SimClusterConfig`."""
    limits: SchedulerLimits = LIMITS


class ClusterSimulation(StormTarget):
    """See the module."""

    def __init__(
        self,
        *,
        seed: int,
        config: ClusterSimulationConfig,
        findings: Findings,
        timeline_sink: Callable[[str], None] | None,
        options: NodeOptions = NodeOptions(),
    ) -> None:
        super().__init__(
            seed=seed,
            config=config,
            nodes=SimClusterConfig(
                configure=config.configure,
                limits=_limits(options.limits, config),
                listeners=options.listeners,
                on_built=options.on_built,
            ),
            findings=findings,
            timeline_sink=timeline_sink,
        )
        self.observer = Observer(self.cluster, findings.coverage)
        self.invariants = Invariants(self.cluster, findings.report)
        self.cluster.scheduler.after_step = self._after_step

    # What clients ask for: `workloads.workload_port`

    @property
    def topics(self) -> Sequence[TopicPlan]:
        """As drawn."""
        return self.config.topics

    @property
    def cluster_defaults(self) -> Mapping[str, str]:
        """As drawn."""
        return self.config.cluster_defaults

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

    def begin_send(self, begun: Callable[[], Send]) -> None:
        """Nobody reads a history that is not whole."""

    def end_send(self, send: Send) -> None:
        """Into the history."""
        self.history.sends.append(send)

    def end_poll(self, poll: Poll) -> None:
        """Into the history."""
        self.history.polls.append(poll)

    def end_deletion(self, deletion: Deletion) -> None:
        """Into the history."""
        self.history.add(deletion)

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

    # What is seen

    def look(self) -> None:
        """See `StormTarget`; and count coverage."""
        self.observer.look()
        super().look()

    def _after_step(self) -> None:
        self.invariants.after_step()
        if self.findings.violations:
            raise Violated


def _limits(usual: SchedulerLimits, config: ClusterSimulationConfig) -> SchedulerLimits:
    partitions = sum(topic.partitions for topic in config.topics)
    return replace(usual, steps=usual.steps + STEPS_PER_PARTITION * partitions)
