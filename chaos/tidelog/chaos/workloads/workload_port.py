"""Port of a workload: topics, producers, the clients' way to the cluster, and their history.

The simulations and sockets' `SocketClients` implement it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from tidelog.chaos.workloads.group_member import MemberBook, MemberProcess
from tidelog.chaos.workloads.plans import (
    GroupPlan,
    MemberPlan,
    ProducerPlan,
    TopicPlan,
    TransactionPlan,
    WriterPlan,
)
from tidelog.chaos.workloads.transaction_calls import WriterBook
from tidelog.history.history import (
    Assignment,
    Commit,
    Committed,
    Deletion,
    History,
    Poll,
    Send,
    Transaction,
)


class WorkloadPort(Protocol):
    """Topics and producers to run, the clients' way to the cluster, and their history."""

    @property
    def topics(self) -> Sequence[TopicPlan]:
        """To be created."""

    @property
    def cluster_defaults(self) -> Mapping[str, str]:
        """Defaults of topics that the cluster is given first."""

    @property
    def producers(self) -> Sequence[ProducerPlan]:
        """To be started."""

    @property
    def readers(self) -> Sequence[str]:
        """Readers of every topic, by the beginning of a name."""

    @property
    def replication_factor(self) -> int:
        """Replicas of every topic."""

    @property
    def segment_bytes(self) -> range:
        """Values operators set segment.bytes to. Each segment keeps files open."""

    @property
    def bootstrap(self) -> Sequence[str]:
        """Addresses that clients start from."""

    @property
    def now_s(self) -> float:
        """The clock of the history."""

    def begin_send(self, begun: Callable[[], Send]) -> None:
        """A send begins; it is this as long as it has no end."""

    def end_send(self, send: Send) -> None:
        """It ended, or never will: into the history."""

    def end_poll(self, poll: Poll) -> None:
        """A poll ended: into the history."""

    def end_deletion(self, deletion: Deletion) -> None:
        """A deletion of records ended, or never will: into the history."""

    @property
    def group(self) -> GroupPlan | None:
        """The consumer group to be started; None: none is."""

    @property
    def history(self) -> History:
        """Calls that ended."""

    def start_member(
        self, plan: MemberPlan, book: MemberBook, *, has_process: bool
    ) -> MemberProcess:
        """Start a member of the group; `has_process`: one of its own, if the stage has any."""

    def begin_commit(self, commit: Commit) -> None:
        """A commit begins: its outcome is unknown."""

    def end_commit(self, commit: Commit) -> None:
        """It ended, or never will: into the history."""

    def add_group_call(self, call: Assignment | Committed) -> None:
        """Into the history."""

    @property
    def transactions(self) -> TransactionPlan | None:
        """The transactions to be written; None: none are."""

    def start_writer(self, plan: WriterPlan, book: WriterBook) -> MemberProcess:
        """Start a writer of transactions in a process of its own."""

    def begin_transactional(self, call: Send | Transaction) -> None:
        """A transaction begins, or a send in one: its outcome is unknown."""

    def begin_transaction_commit(self, call: Transaction) -> None:
        """The commit of one that began is about to be asked for."""

    def end_transactional(self, call: Send | Transaction) -> None:
        """It ended, or never will: into the history."""

    def address_of(self, node_id: int) -> str:
        """Address of a node for clients."""

    @property
    def is_diary_read(self) -> bool:
        """True if somebody reads the notes: ask first before a lot is written."""

    def client_ports(self, name: str) -> Mapping[str, Any]:
        """Keyword arguments of every client: a way to the cluster of its own, by its name."""

    def note(self, who: str, what: str) -> None:
        """For people."""

    def count_event(self, what: str) -> None:
        """Count something that a run is meant to meet."""
