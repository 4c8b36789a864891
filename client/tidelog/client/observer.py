"""The observer of clients: what is told of each record that a client takes or hands out.

Called at the clients' edge, by every public way to write and to read, with keys and values as
bytes. An observer decides nothing: without one the same requests are sent. It must not raise.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any, Literal, Protocol

from tidelog.client.records import Record, TopicPartition
from tidelog.core.errors import CorruptMessageError, UnsupportedCompressionTypeError

Isolation = Literal["read_uncommitted", "read_committed"]
"""As in `consuming.isolation`, which stands above this file."""
Pair = tuple[bytes | None, bytes | None]
"""Key and value of a record."""


class Delivery(Protocol):
    """A waiter, called once for every run of its records."""

    def acknowledge(
        self, tp: TopicPartition, base_offset: int, count: int, append_time_ms: int | None, /
    ) -> None:
        """Take the acknowledgement of `count` records from `base_offset` on (-1: unknown, acks=0).

        `append_time_ms`: their timestamp if the topic uses the broker's (LogAppendTime).
        """

    def fail(self, error: Exception, count: int, /) -> None:
        """Take the failure of `count` records."""


class WriterObserver(Protocol):
    """Observer of one producer or table writer."""

    def sends(
        self, tp: TopicPartition, pair: Pair, delivery: Delivery, *, topic_id: bytes
    ) -> Delivery:
        """Hear of a record that enters the buffer now; return its waiter in place of `delivery`.

        The waiter passes on to `delivery` what it is told. Each record has one of its own, since
        the outcomes of a batch's records may come in any order (KIP-467).
        """

    def transaction_begun(self) -> None:
        """Hear of a transaction, in which records are sent from now on."""

    def commit_begun(self) -> None:
        """Hear that the commit of the open transaction is asked for."""

    def transaction_ended(self, *, is_committed: bool) -> None:
        """Hear how the open transaction has ended for good."""


class ReaderObserver(Protocol):
    """Observer of one consumer or range reader."""

    def hands_out(self, records: Iterable[Record[Any, Any]]) -> None:
        """Hear of records that the application gets, in the order of each partition.

        Keys and values are bytes or None, unless a deserializer has changed them already.
        """


class ClientObserver(Protocol):
    """Observer of all clients of a program."""

    def writer(
        self, *, acks: int, is_idempotent: bool, transactional_id: str | None
    ) -> WriterObserver:
        """Return the observer of a new writer; acks -1 stands for all."""

    def reader(self, *, isolation_level: Isolation) -> ReaderObserver:
        """Return the observer of a new reader."""

    def handed_over_commit_begun(self, transactional_ids: Sequence[str]) -> None:
        """Hear that the commit of handed-over transactions is asked for, see `Admin`."""

    def handed_over_committed(self, transactional_ids: Sequence[str]) -> None:
        """Hear that they are committed."""


def hand_out(observer: ReaderObserver, records: Iterable[Record[Any, Any]]) -> None:
    """Show records that the application decodes by itself; damage is for it to find."""
    with suppress(CorruptMessageError, UnsupportedCompressionTypeError):
        observer.hands_out(records)
