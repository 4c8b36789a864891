"""Recording of what the clients of a simulated test send and read, at the clients' edge.

It observes every client of the seed: the test's own, and those that its code makes. Values are
compared as bytes, before a deserializer saw them where that can be.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from tidelog.client import Record, TopicPartition
from tidelog.client.errors import TidelogError, TransactionAbortedError
from tidelog.client.observer import Delivery, Pair
from tidelog.history.history import Isolation, Outcome, Transaction
from tidelog.simulation.engine.loop import NodeLoop


@dataclass(eq=False, slots=True)
class Sent:
    """A record that a producer took."""

    process: str
    number: int
    tp: TopicPartition
    topic_id: bytes
    key: bytes | None
    value: bytes | None
    acks: int
    is_idempotent: bool
    transaction: int | None
    invoked_s: float
    outcome: Outcome = "unknown"
    ended_s: float | None = None
    offset: int | None = None
    reason: str = ""


@dataclass(eq=False, slots=True)
class Seen:
    """A record that a consumer was handed."""

    process: str
    number: int
    tp: TopicPartition
    topic_id: bytes | None
    """The topic's id when it was handed out."""
    offset: int
    value: object
    """Bytes or None, unless a deserializer made something else of them."""
    at_s: float
    isolation: Isolation
    """Level of its consumer."""


@dataclass(slots=True)
class Recording:
    """Calls of one seed, in their order. `note` takes a line of each for the timeline.

    A `ClientObserver`.
    """

    now_s: Callable[[], float]
    topic_id: Callable[[str], bytes | None]
    """Finds a topic's present id."""
    note: Callable[[str, str], None]
    sent: list[Sent] = field(default_factory=list)
    seen: list[Seen] = field(default_factory=list)
    transactions: list[Transaction] = field(default_factory=list)
    _open: dict[str, Transaction] = field(default_factory=dict)
    """By transactional id: the transaction that its producer began last."""
    _counts: dict[str, int] = field(default_factory=dict)
    _number: int = 0

    def writer(
        self, *, acks: int, is_idempotent: bool, transactional_id: str | None
    ) -> RecordedWriter:
        """See `ClientObserver`."""
        return RecordedWriter(
            self, acks=acks, is_idempotent=is_idempotent, transactional_id=transactional_id
        )

    def reader(self, *, isolation_level: Isolation) -> RecordedReader:
        """See `ClientObserver`."""
        return RecordedReader(self, isolation_level)

    def handed_over_commit_begun(self, transactional_ids: Sequence[str]) -> None:
        """See `ClientObserver`."""
        for one in self._handed_over(transactional_ids):
            self.begin_commit(one)

    def handed_over_committed(self, transactional_ids: Sequence[str]) -> None:
        """See `ClientObserver`."""
        for one in self._handed_over(transactional_ids):
            self.end_transaction(one, "ok")

    def _handed_over(self, transactional_ids: Sequence[str]) -> list[Transaction]:
        return [self._open[name] for name in transactional_ids if name in self._open]

    def next_number(self) -> int:
        """Return the next place in the order of all calls."""
        self._number += 1
        return self._number

    def name_client(self, kind: str) -> str:
        """Name the next client of a kind by the process that it runs in."""
        loop = asyncio._get_running_loop()  # noqa: SLF001
        who = f"{loop.name if isinstance(loop, NodeLoop) else '?'} {kind}"
        self._counts[who] = self._counts.get(who, 0) + 1
        return f"{who} {self._counts[who]}"

    def end(self, sent: Sent, outcome: Outcome, offset: int | None, reason: str = "") -> None:
        """Note the outcome of a record."""
        sent.outcome, sent.offset, sent.ended_s, sent.reason = outcome, offset, self.now_s(), reason
        what = reason or ("" if offset is None else f"at {offset}")
        self.note(sent.process, f"{_brief(sent.value)} to {_name_of(sent.tp)}: {outcome} {what}")

    def see(self, process: str, record: Record[Any, Any], isolation: Isolation) -> None:
        """Note a record that a consumer was handed."""
        tp = TopicPartition(record.topic, record.partition)
        self.seen.append(
            Seen(
                process=process,
                number=self.next_number(),
                tp=tp,
                topic_id=self.topic_id(record.topic),
                offset=record.offset,
                value=record.value,
                at_s=self.now_s(),
                isolation=isolation,
            )
        )
        self.note(process, f"{_brief(record.value)} from {_name_of(tp)} at {record.offset}")

    def begin_transaction(self, process: str, transactional_id: str) -> Transaction:
        """Note the begin of a transaction."""
        one = Transaction(
            process=process,
            number=self.next_number(),
            transactional_id=transactional_id,
            invoked_s=self.now_s(),
            outcome="unknown",
        )
        self._open[transactional_id] = one
        self.transactions.append(one)
        return one

    def begin_commit(self, one: Transaction) -> None:
        """Note that its commit is asked for, the first time."""
        if one.commit_begun_s is None:
            one.commit_begun_s = self.now_s()

    def end_transaction(self, one: Transaction, outcome: Outcome, reason: str = "") -> None:
        """Note the outcome of a transaction."""
        one.outcome, one.ended_s, one.reason = outcome, self.now_s(), reason
        self.note(one.process, f"transaction {one.number}: {outcome} {reason}")


class RecordedWriter:
    """A `WriterObserver`: a producer or a table writer."""

    def __init__(
        self,
        recording: Recording,
        *,
        acks: int,
        is_idempotent: bool,
        transactional_id: str | None,
    ) -> None:
        self._recording = recording
        self._acks = acks
        self._is_idempotent = is_idempotent
        self._transactional_id = transactional_id
        self._open: Transaction | None = None

    @cached_property
    def _name(self) -> str:
        return self._recording.name_client("producer")

    @cached_property
    def _transactional_name(self) -> str:
        return self._recording.name_client("transactional producer")

    def sends(
        self, tp: TopicPartition, pair: Pair, delivery: Delivery, *, topic_id: bytes
    ) -> Delivery:
        """See `WriterObserver`."""
        recording, transaction = self._recording, self._open
        key, value = pair
        sent = Sent(
            process=self._name,
            number=recording.next_number(),
            tp=tp,
            topic_id=topic_id,
            key=_as_bytes(key),
            value=_as_bytes(value),
            acks=self._acks,
            is_idempotent=self._is_idempotent,
            transaction=None if transaction is None else transaction.number,
            invoked_s=recording.now_s(),
        )
        recording.sent.append(sent)
        return _NotedDelivery(recording, sent, delivery)

    def transaction_begun(self) -> None:
        """See `WriterObserver`."""
        name = self._transactional_id or ""
        self._open = self._recording.begin_transaction(self._transactional_name, name)

    def commit_begun(self) -> None:
        """See `WriterObserver`."""
        if self._open is not None:
            self._recording.begin_commit(self._open)

    def transaction_ended(self, *, is_committed: bool) -> None:
        """See `WriterObserver`."""
        if self._open is not None and is_committed:
            self._recording.end_transaction(self._open, "ok")
        elif self._open is not None:
            self._recording.end_transaction(self._open, "fail", "aborted")


class RecordedReader:
    """A `ReaderObserver`: a consumer or a range reader."""

    def __init__(self, recording: Recording, isolation: Isolation) -> None:
        self._recording = recording
        self._isolation: Isolation = isolation

    @cached_property
    def _name(self) -> str:
        return self._recording.name_client("consumer")

    def hands_out(self, records: Iterable[Record[Any, Any]]) -> None:
        """See `ReaderObserver`."""
        for record in records:
            self._recording.see(self._name, record, self._isolation)


class _NotedDelivery:
    """A waiter that notes the outcome of its record."""

    def __init__(self, recording: Recording, sent: Sent, delivery: Delivery) -> None:
        self._recording = recording
        self._sent = sent
        self._delivery = delivery

    def acknowledge(
        self, tp: TopicPartition, base_offset: int, count: int, append_time_ms: int | None, /
    ) -> None:
        """See `Delivery`."""
        self._recording.end(self._sent, "ok", base_offset if base_offset >= 0 else None)
        self._delivery.acknowledge(tp, base_offset, count, append_time_ms)

    def fail(self, error: Exception, count: int, /) -> None:
        """See `Delivery`. What an abort overtakes may lie in the log, where nobody commits it."""
        is_unknown = not isinstance(error, TidelogError) or error.is_outcome_unknown
        is_unknown |= isinstance(error, TransactionAbortedError)
        outcome: Outcome = "unknown" if is_unknown else "fail"
        self._recording.end(self._sent, outcome, None, type(error).__name__)
        self._delivery.fail(error, count)


def _as_bytes(part: object) -> bytes | None:
    return None if part is None else bytes(part)  # type: ignore[call-overload]


def _name_of(tp: TopicPartition) -> str:
    return f"{tp.topic}-{tp.partition}"


def _brief(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"  # of a line
