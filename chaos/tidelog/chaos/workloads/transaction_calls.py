"""Calls of a transactional producer, into the history as they begin and end. The same on any loop.

Judges nothing. What an aborted transaction had sent may be stored: the outcome of such a send is
unknown, and committed readers are not shown it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Protocol

from msgspec.structs import replace

from tidelog.chaos.workloads.plans import LEDGER, WriterPlan
from tidelog.chaos.workloads.record_parts import PartsDrawer
from tidelog.client import Producer
from tidelog.client.errors import DeliveryTimeoutError, TidelogError, TransactionAbortedError
from tidelog.core.chance import SeededRandom
from tidelog.history.history import ACKS_ALL, Outcome, Send, Transaction

ENDS_MAX = 3
"""Times that a commit without an answer is called for."""
ProducerMaker = Callable[[], Producer[bytes, bytes]]


class WriterBook(Protocol):
    """Book of one producer's calls; each is in it from its beginning on."""

    @property
    def now_s(self) -> float:
        """The clock of the history."""

    def next_number(self) -> int:
        """Return the next place in the order of all calls, or of the producer's at least."""

    def begin(self, call: Send | Transaction) -> None:
        """Note a call that begins: its outcome is unknown so far."""

    def begin_commit(self, call: Transaction) -> None:
        """Note that the commit of a transaction is about to be asked for."""

    def end(self, call: Send | Transaction) -> None:
        """Note the outcome of the call of this number."""

    def note(self, what: str) -> None:
        """For people."""


def producer_of_ours(
    plan: WriterPlan, *, bootstrap: Any, ports: Any
) -> Callable[[], Producer[bytes, bytes]]:
    """Return the maker of producers of `tidelog.client`; `ports` are keyword arguments of them."""

    def make() -> Producer[bytes, bytes]:
        return Producer(
            bootstrap,
            client_id=plan.name,
            transactional_id=plan.transactional_id,
            transaction_timeout_ms=plan.transaction_timeout_ms,
            request_timeout_ms=plan.request_timeout_ms,
            delivery_timeout_ms=plan.delivery_timeout_ms,
            bootstrap_timeout_ms=60_000,
            **ports,
        )

    return make


class TransactionCalls:
    """Calls of one producer, one transaction after the other; `begin` comes first."""

    def __init__(
        self, book: WriterBook, plan: WriterPlan, producer: Producer[bytes, bytes], process: str
    ) -> None:
        """`process`: its name in the history; a producer that takes its place has another."""
        self.plan = plan
        self.process = process
        self._producer = producer
        self._book = book
        self._sent = 0
        self._parts = PartsDrawer(SeededRandom(0).fork(process), None)
        self._open: Transaction | None = None

    async def start(self) -> None:
        """Initialise: what the producer before had open is aborted. Raises `TidelogError`."""
        await self._producer.start()

    async def close(self, why: str = "its producer was closed") -> None:
        """Abort what is open, and end. Something unanswered is left to the time-out."""
        try:
            await self._producer.close(timeout_ms=self.plan.request_timeout_ms)
        finally:
            if self._open is not None:
                self._end("unknown", why)

    async def begin(self) -> None:
        """Begin a transaction. Raises `TidelogError`."""
        begun_s = self._book.now_s
        await self._producer.begin_transaction()
        self._open = Transaction(
            process=self.process,
            number=self._book.next_number(),
            transactional_id=self.plan.transactional_id,
            invoked_s=begun_s,
            outcome="unknown",
        )
        self._book.begin(self._open)

    async def send(self, partition: int) -> int:
        """Append a value that is its own, and return its offset. Raises `TidelogError`."""
        self._sent += 1
        value = f"{self.process}/{self._sent}".encode()
        parts = self._parts.draw(value)
        begun = Send(
            process=self.process,
            number=self._book.next_number(),
            topic=LEDGER,
            incarnation=0,
            partition=partition,
            value=value,
            acks=ACKS_ALL,
            is_idempotent=True,
            invoked_s=self._book.now_s,
            outcome="unknown",
            transaction=None if self._open is None else self._open.number,
            parts=parts,
        )
        self._book.begin(begun)
        try:
            sent = await self._producer.send(
                LEDGER,
                begun.value,
                parts.key,
                headers=parts.headers,
                timestamp_ms=parts.timestamp_ms,
                partition=partition,
            )
        except TidelogError as error:
            self._book.end(_ended(begun, self._book.now_s, "unknown", why(error)))
            raise
        except asyncio.CancelledError:
            self._book.end(_ended(begun, self._book.now_s, "unknown", "cancelled"))
            raise
        self._book.end(replace(begun, ended_s=self._book.now_s, outcome="ok", offset=sent.offset))
        return sent.offset

    async def commit(self) -> None:
        """Commit; without an answer, again. Raises `TidelogError`."""
        if self._open is not None and self._open.commit_begun_s is None:
            self._open = replace(self._open, commit_begun_s=self._book.now_s)
            self._book.begin_commit(self._open)
        for left in reversed(range(ENDS_MAX)):
            try:
                await self._producer.commit_transaction()
            except DeliveryTimeoutError as error:
                if not left:
                    self._end("unknown", why(error))
                    raise
            except TidelogError as error:
                is_aborted = isinstance(error, TransactionAbortedError)
                self._end("fail" if is_aborted else "unknown", why(error))
                raise
            else:
                self._end("ok")
                return

    async def abort(self) -> None:
        """Abort: it cannot be committed any more, whatever the answer. Raises `TidelogError`."""
        try:
            await self._producer.abort_transaction()
        except TidelogError as error:
            self._end("fail", why(error))
            raise
        self._end("fail", "aborted on purpose")

    def _end(self, outcome: Outcome, reason: str = "") -> None:
        begun, self._open = self._open, None
        if begun is not None:
            self._book.end(_ended(begun, self._book.now_s, outcome, reason))


def _ended(call: Any, now_s: float, outcome: Outcome, reason: str) -> Any:
    return replace(call, ended_s=now_s, outcome=outcome, reason=reason)


def why(error: TidelogError) -> str:
    """Return the reason of an outcome; it begins with the error's name."""
    return f"{type(error).__name__}: {error}"
