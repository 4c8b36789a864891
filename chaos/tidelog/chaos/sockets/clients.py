"""Clients of a chaos run: each connects on its own, through its group's proxies.

Owns the groups' members, the answers to producers, and the run's diary.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from google.protobuf.message import Message

from tidelog.chaos.kafka_clients.member import consumer_of_aiokafka
from tidelog.chaos.report.record import Note
from tidelog.chaos.sockets.cluster import SocketCluster
from tidelog.chaos.sockets.group_members import TaskMember, member_child
from tidelog.chaos.sockets.member_setup import MemberSetup
from tidelog.chaos.sockets.routed_peers import RoutedTransport
from tidelog.chaos.sockets.work_plan import SEGMENT_BYTES, WorkPlan
from tidelog.chaos.sockets.writer_setup import WriterSetup, writer_child
from tidelog.chaos.story.cluster_port import Answer
from tidelog.chaos.story.scenario_run import UnsupportedFaultError
from tidelog.chaos.topology import CLIENTS, MEMBERS
from tidelog.chaos.workloads.group_member import GroupMember, MemberBook, MemberProcess
from tidelog.chaos.workloads.member_consumer import consumer_of_ours
from tidelog.chaos.workloads.plans import (
    GroupPlan,
    MemberPlan,
    ProducerPlan,
    TopicPlan,
    TransactionPlan,
    WriterPlan,
)
from tidelog.chaos.workloads.transaction_calls import WriterBook
from tidelog.core.chance import SeededRandom
from tidelog.core.system import SystemClock
from tidelog.history.history import (
    ACKS_ALL,
    Assignment,
    Commit,
    Committed,
    Deletion,
    History,
    Poll,
    Send,
    Transaction,
)
from tidelog.history.history_file import HistoryWriter
from tidelog.v1.data_pb2 import ProduceRequest, ProduceResponse

REPLICATION_FACTOR = 3


@dataclass(slots=True)
class SocketClients:
    """`workloads.WorldPort` over a cluster of processes. `close` it."""

    cluster: SocketCluster
    work: WorkPlan
    random: SeededRandom
    """Randomness of clients; which of them draws when is up to the machine."""
    on_note: Callable[[str], None]
    """Called with each note, too."""
    writer: HistoryWriter
    """Writer of the history's file; its owner closes it."""
    are_aiokafkas: bool = False
    """Members are aiokafka's."""
    history: History = field(default_factory=History)
    answers: list[Answer] = field(default_factory=list)
    """To producers, in the order they came."""
    notes: list[Note] = field(default_factory=list)
    coverage: Counter[str] = field(default_factory=Counter)
    _transports: dict[str, RoutedTransport] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.history.lossy_topics.update(self.work.lossy_topics)

    @property
    def topics(self) -> Sequence[TopicPlan]:
        """The story's first."""
        return self.work.topics

    @property
    def cluster_defaults(self) -> Mapping[str, str]:
        """As a cluster has them."""
        return {}

    @property
    def producers(self) -> Sequence[ProducerPlan]:
        """The producers of the work plan."""
        return self.work.producers

    @property
    def replication_factor(self) -> int:
        """Replicas of every topic."""
        return REPLICATION_FACTOR

    @property
    def readers(self) -> Sequence[str]:
        """A reader for each group of clients."""
        groups = self.cluster.topology.client_groups
        return [f"reader-of-{group}" for group in groups if group != MEMBERS]

    @property
    def segment_bytes(self) -> range:
        """So that an hour's segments, whose files stay open, are hundreds."""
        return range(4 * SEGMENT_BYTES, 16 * SEGMENT_BYTES)

    @property
    def bootstrap(self) -> Sequence[str]:
        """Addresses of every broker."""
        return [self.cluster.address(one) for one in self.cluster.topology.broker_ids]

    @property
    def now_s(self) -> float:
        """CLOCK_MONOTONIC, which nodes' samples have, too."""
        return self.cluster.now_s

    def begin_send(self, begun: Callable[[], Send]) -> None:
        """Into the file, so that a run that is killed leaves a history, too."""
        self.writer.begin(begun())

    def end_send(self, send: Send) -> None:
        """Into the history and its file."""
        self.history.sends.append(send)
        self.writer.end(send)

    def end_poll(self, poll: Poll) -> None:
        """Into the history and its file."""
        self.history.polls.append(poll)
        self.writer.add(poll)

    @property
    def group(self) -> GroupPlan | None:
        """The story's."""
        return self.work.group

    def start_member(
        self, plan: MemberPlan, book: MemberBook, *, has_process: bool
    ) -> MemberProcess:
        """A task of this process, or a process of its own; on links of the members."""
        if self.are_aiokafkas:
            if has_process:
                raise UnsupportedFaultError("members of Kafka's protocol have no processes")
            consumer_of = consumer_of_aiokafka(plan, self.cluster.kafka_bootstrap(MEMBERS))
            return TaskMember(GroupMember(book, plan, consumer_of))
        if has_process:
            setup = MemberSetup(plan, tuple(self.bootstrap), self.cluster.client_routes(MEMBERS))
            return member_child(self.cluster, setup, book)
        transport = self.cluster.client_transport(MEMBERS)
        ports = {
            "transport": transport,
            "clock": SystemClock(),
            "random": self.random.fork(plan.name),
        }
        consumer_of = consumer_of_ours(plan, bootstrap=self.bootstrap, ports=ports)
        return TaskMember(GroupMember(book, plan, consumer_of), transport.close)

    def end_deletion(self, deletion: Deletion) -> None:
        """Into the history and its file."""
        self.history.add(deletion)
        self.writer.add(deletion)

    def begin_commit(self, commit: Commit) -> None:
        """As `begin_send`."""
        self.writer.begin(commit)

    def end_commit(self, commit: Commit) -> None:
        """Into the history and its file."""
        self.history.commits.append(commit)
        self.writer.end(commit)

    def add_group_call(self, call: Assignment | Committed) -> None:
        """Into the history and its file."""
        self.history.add(call)
        self.writer.add(call)

    @property
    def transactions(self) -> TransactionPlan | None:
        """The story's."""
        return self.work.transactions

    def start_writer(self, plan: WriterPlan, book: WriterBook) -> MemberProcess:
        """See `WorkloadPort`; on links of the other clients."""
        setup = WriterSetup(plan, tuple(self.bootstrap), self.cluster.client_routes(CLIENTS))
        return writer_child(self.cluster, setup, book)

    def begin_transactional(self, call: Send | Transaction) -> None:
        """As `begin_send`."""
        self.writer.begin(call)

    def begin_transaction_commit(self, call: Transaction) -> None:
        """As `begin_send`."""
        self.writer.begin_commit(call)

    def end_transactional(self, call: Send | Transaction) -> None:
        """Into the history and its file."""
        self.history.add(call)
        self.writer.end(call)

    def address_of(self, node_id: int) -> str:
        """See `WorkloadPort`."""
        return self.cluster.address(node_id)

    @property
    def is_diary_read(self) -> bool:
        """Each send is in the history; the diary has what is rare."""
        return False

    def client_ports(self, name: str) -> Mapping[str, Any]:  # keyword arguments of every client
        """Connections are a client's own, so that a toxic may strike some and spare others."""
        transport = self._transports.get(name)
        if transport is None:
            group = self._group_of(name)
            transport = self.cluster.client_transport(group, tap=self._on_call)
            self._transports[name] = transport
        return {
            "transport": transport,
            "clock": SystemClock(),
            "random": self.random.fork(name),
        }

    def kafka_bootstrap(self, name: str) -> Sequence[str]:
        """See `KafkaPort`."""
        return self.cluster.kafka_bootstrap(self._group_of(name))

    def note_answer(self, node_id: int, code: int, acks: int) -> None:
        """See `KafkaPort`."""
        self.answers.append(Answer(self.now_s, node_id, code, acks))

    def note(self, who: str, what: str) -> None:
        """For people."""
        self.notes.append(Note(self.now_s, who, what))
        self.on_note(f"{who}: {what}")

    def count_event(self, what: str) -> None:
        """Count it."""
        self.coverage[what] += 1

    async def close(self) -> None:
        """End all connections."""
        for transport in self._transports.values():
            await transport.close()

    def _group_of(self, name: str) -> str:
        groups = self.cluster.topology.client_groups
        return next((one for one in groups if name.startswith(f"reader-of-{one}-")), groups[0])

    def _node_at(self, address: str) -> int:
        brokers = self.cluster.topology.broker_ids
        return next(one for one in brokers if self.cluster.address(one) == address)

    def _on_call(self, address: str, request: Message, response: Message | None) -> None:
        if not isinstance(request, ProduceRequest) or not isinstance(response, ProduceResponse):
            return
        acks = request.acks if request.HasField("acks") else ACKS_ALL
        node_id = self._node_at(address)
        for result in response.partitions:
            self.note_answer(node_id, result.error.code, acks)
