"""Port: the transactions of a story, if it has some: their producers, and looks from outside.

`workloads.transaction_load` implements it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from tidelog.chaos.workloads.transaction_calls import TransactionCalls
from tidelog.chaos.workloads.transaction_looks import TransactionLooks
from tidelog.history.history import Send, Transaction


class TransactionPort(Protocol):
    """See the module."""

    topic: str
    """The topic that they write to."""
    partitions: int
    """Its partitions."""
    timeout_s: float
    """The transactions' time-out."""
    looks: TransactionLooks
    """Looks from outside, and calls that come late."""

    @property
    def ended(self) -> Sequence[Transaction]:
        """Transactions that ended, in that order."""

    @property
    def open(self) -> Sequence[Transaction]:
        """Transactions that have not ended, as their producers know."""

    @property
    def acknowledged(self) -> Sequence[Send]:
        """Records that were acknowledged, in that order."""

    @property
    def last_calls_s(self) -> Mapping[str, float]:
        """By process, when something of it was written down last."""

    @property
    def positions(self) -> Mapping[int, int]:
        """By partition, how far the reader of committed records has come."""

    def producer(self, transactional_id: str) -> TransactionCalls:
        """Make a producer that the story steers; it is closed at the end."""

    def start_writer(self, transactional_id: str) -> str:
        """Start a writer in a process of its own; return its name."""

    async def pause(self, name: str) -> None:
        """SIGSTOP of a writer's process."""

    async def resume(self, name: str) -> None:
        """SIGCONT."""
