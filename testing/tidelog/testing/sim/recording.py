"""Recording of what the clients of a simulated test send and read, at the clients' edge.

Every client of the Python process is noted while a seed runs: the test's own, and those that its
code makes. Values are compared as bytes, before a deserializer saw them where that can be.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch
from weakref import WeakKeyDictionary

from tidelog.client import Producer, TopicPartition
from tidelog.client.consuming.ready_records import ReadyRecords
from tidelog.client.errors import TidelogError, TransactionAbortedError
from tidelog.client.producing.deliveries import Delivery
from tidelog.client.producing.transactions import Transactions
from tidelog.history.history import ACKS_ALL, Outcome, Transaction
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


@dataclass(slots=True)
class Recording:
    """Calls of one seed, in their order. `note` takes a line of each for the timeline."""

    now_s: Callable[[], float]
    topic_id: Callable[[str], bytes | None]
    """Finds a topic's present id."""
    note: Callable[[str, str], None]
    sent: list[Sent] = field(default_factory=list)
    seen: list[Seen] = field(default_factory=list)
    transactions: list[Transaction] = field(default_factory=list)
    _names: WeakKeyDictionary[Any, str] = field(default_factory=WeakKeyDictionary)
    _open: WeakKeyDictionary[Any, Transaction] = field(default_factory=WeakKeyDictionary)
    _counts: dict[str, int] = field(default_factory=dict)
    _number: int = 0

    @contextmanager
    def installed(self) -> Iterator[None]:
        """Note the calls of all clients for the block."""
        with ExitStack() as stack:
            for target, name, stand_in in (
                (Producer, "_append", self._appending(Producer._append)),  # noqa: SLF001
                (ReadyRecords, "take", self._taking(ReadyRecords.take)),
                (ReadyRecords, "each", self._yielding(ReadyRecords.each)),
                (Transactions, "begin", self._beginning(Transactions.begin)),
                (Transactions, "commit", self._committing(Transactions.commit)),
                (Transactions, "abort", self._aborting(Transactions.abort)),
            ):
                stack.enter_context(patch.object(target, name, stand_in))
            yield

    def next_number(self) -> int:
        """Return the next place in the order of all calls."""
        self._number += 1
        return self._number

    def _name(self, client: object, kind: str) -> str:
        """Name a client by the process that it runs in."""
        name = self._names.get(client)
        if name is None:
            loop = asyncio._get_running_loop()  # noqa: SLF001
            who = f"{loop.name if isinstance(loop, NodeLoop) else '?'} {kind}"
            self._counts[who] = self._counts.get(who, 0) + 1
            name = self._names[client] = f"{who} {self._counts[who]}"
        return name

    # Producers

    def _appending(self, append: Callable[..., None]) -> Callable[..., None]:
        def _append(
            producer: Any,  # of any key and value
            tp: TopicPartition,
            pairs: Sequence[tuple[bytes | None, bytes | None]],
            *,
            delivery: Delivery,
            topic_id: bytes,
            **rest: Any,
        ) -> None:
            sent = [self._sent(producer, tp, pair, topic_id) for pair in pairs]
            noted = _NotedDelivery(self, sent, delivery)
            append(producer, tp, pairs, delivery=noted, topic_id=topic_id, **rest)
            self.sent.extend(sent)

        return _append

    def _sent(
        self, producer: Any, tp: TopicPartition, pair: tuple[Any, Any], topic_id: bytes
    ) -> Sent:
        config, engine = producer._config, producer._engine  # noqa: SLF001
        transaction = None
        if engine.is_transactional:
            opened = self._open.get(engine.transactions)
            transaction = None if opened is None else opened.number
        return Sent(
            process=self._name(producer, "producer"),
            number=self.next_number(),
            tp=tp,
            topic_id=topic_id,
            key=_as_bytes(pair[0]),
            value=_as_bytes(pair[1]),
            acks=ACKS_ALL if config.acks in ("all", ACKS_ALL) else config.acks,
            is_idempotent=config.is_idempotent,
            transaction=transaction,
            invoked_s=self.now_s(),
        )

    def end(self, sent: Sent, outcome: Outcome, offset: int | None, reason: str = "") -> None:
        """Note the outcome of a record."""
        sent.outcome, sent.offset, sent.ended_s, sent.reason = outcome, offset, self.now_s(), reason
        what = reason or ("" if offset is None else f"at {offset}")
        self.note(sent.process, f"{_brief(sent.value)} to {_name_of(sent.tp)}: {outcome} {what}")

    # Consumers

    def _taking(self, take: Callable[..., list[Any]]) -> Callable[..., list[Any]]:
        def taking(ready: Any, limit: int) -> list[Any]:
            taken = take(ready, limit)
            for record in taken:
                self._see(ready, record)
            return taken

        return taking

    def _yielding(self, each: Callable[..., Iterator[Any]]) -> Callable[..., Iterator[Any]]:
        def yielding(ready: Any) -> Iterator[Any]:
            for record in each(ready):
                self._see(ready, record)
                yield record

        return yielding

    def _see(self, ready: object, record: Any) -> None:
        tp = TopicPartition(record.topic, record.partition)
        name = self._name(ready, "consumer")
        number, at_s = self.next_number(), self.now_s()
        topic_id = self.topic_id(record.topic)
        self.seen.append(Seen(name, number, tp, topic_id, record.offset, record.value, at_s))
        self.note(name, f"{_brief(record.value)} from {_name_of(tp)} at {record.offset}")

    # Transactions

    def _beginning(self, begin: Callable[..., Awaitable[None]]) -> Callable[..., Awaitable[None]]:
        async def beginning(transactions: Any) -> None:
            await begin(transactions)
            name = transactions.state.transactional_id
            number = self.next_number()
            one = Transaction(
                process=self._name(transactions, "transactional producer"),
                number=number,
                transactional_id=name,
                invoked_s=self.now_s(),
                outcome="unknown",
            )
            self._open[transactions] = one
            self.transactions.append(one)

        return beginning

    def _committing(self, commit: Callable[..., Awaitable[None]]) -> Callable[..., Awaitable[None]]:
        async def committing(transactions: Any) -> None:
            one = self._open.get(transactions)
            if one is not None and one.commit_begun_s is None:
                one.commit_begun_s = self.now_s()
            try:
                await commit(transactions)
            except TransactionAbortedError as error:
                self._end_transaction(one, "fail", str(error))
                raise
            self._end_transaction(one, "ok")

        return committing

    def _aborting(self, abort: Callable[..., Awaitable[None]]) -> Callable[..., Awaitable[None]]:
        async def aborting(transactions: Any) -> None:
            await abort(transactions)
            self._end_transaction(self._open.get(transactions), "fail", "aborted")

        return aborting

    def _end_transaction(self, one: Transaction | None, outcome: Outcome, reason: str = "") -> None:
        if one is not None:
            one.outcome, one.ended_s, one.reason = outcome, self.now_s(), reason
            self.note(one.process, f"transaction {one.number}: {outcome} {reason}")


class _NotedDelivery:
    """A waiter that notes the outcomes of its records, which come in the records' order."""

    def __init__(self, recording: Recording, sent: list[Sent], delivery: Delivery) -> None:
        self._recording = recording
        self._left = sent[::-1]
        self._delivery = delivery

    def acknowledge(
        self, tp: TopicPartition, base_offset: int, count: int, append_time_ms: int | None, /
    ) -> None:
        """See `Delivery`."""
        for place in range(count):
            offset = base_offset + place if base_offset >= 0 else None
            self._recording.end(self._left.pop(), "ok", offset)
        self._delivery.acknowledge(tp, base_offset, count, append_time_ms)

    def fail(self, error: Exception, count: int, /) -> None:
        """See `Delivery`."""
        is_unknown = not isinstance(error, TidelogError) or error.is_outcome_unknown
        for _ in range(count):
            outcome: Outcome = "unknown" if is_unknown else "fail"
            self._recording.end(self._left.pop(), outcome, None, type(error).__name__)
        self._delivery.fail(error, count)


def _as_bytes(part: object) -> bytes | None:
    return None if part is None else bytes(part)  # type: ignore[call-overload]


def _name_of(tp: TopicPartition) -> str:
    return f"{tp.topic}-{tp.partition}"


def _brief(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"  # of a line
