"""Book of the story's transactions: what producers and readers did, on the way into the history."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tidelog.chaos.workloads.workload_port import WorkloadPort
from tidelog.history.history import Poll, Send, Transaction


class TransactionBook:
    """Numbers are those of the whole history."""

    def __init__(self, port: WorkloadPort, next_number: Callable[[], int]) -> None:
        self.next_number = next_number
        self.ended: list[Transaction] = []
        """Transactions that ended, in that order."""
        self.acknowledged: list[Send] = []
        self.last_calls_s: dict[str, float] = {}
        """By process, when something of it was written down last."""
        self._port = port
        self._open: dict[int, Send | Transaction] = {}

    @property
    def now_s(self) -> float:
        """The clock of the history."""
        return self._port.now_s

    @property
    def open(self) -> list[Transaction]:
        """Transactions that have not ended."""
        return [one for one in self._open.values() if isinstance(one, Transaction)]

    def of(self, name: str) -> BookOfWriter:
        """The book of one producer."""
        return BookOfWriter(self, name)

    def begin(self, call: Send | Transaction) -> None:
        """A call begins."""
        self._open[call.number] = call
        self.last_calls_s[call.process] = self.now_s
        self._port.begin_transactional(call)

    def begin_commit(self, call: Transaction) -> None:
        """A transaction's commit is about to be asked for."""
        self._open[call.number] = call
        self.last_calls_s[call.process] = self.now_s
        self._port.begin_transaction_commit(call)

    def end(self, call: Send | Transaction) -> None:
        """It ended; nothing happens when it was written down as one that never does."""
        if self._open.pop(call.number, None) is None:
            return
        self.last_calls_s[call.process] = self.now_s
        self._port.end_transactional(call)
        if isinstance(call, Transaction):
            self.ended.append(call)
        elif call.outcome == "ok":
            self.acknowledged.append(call)

    def add(self, poll: Poll) -> None:
        """A poll ended."""
        self._port.end_poll(poll)

    def note(self, name: str, what: str) -> None:
        """For people."""
        self._port.note(name, what)

    def write_pending(self) -> None:
        """Write down what never ended."""
        for call in self._open.values():
            self._port.end_transactional(call)
        self._open.clear()


@dataclass(frozen=True, slots=True)
class BookOfWriter:
    """`WriterBook` of a producer in this process."""

    book: TransactionBook
    name: str

    @property
    def now_s(self) -> float:
        """See `WriterBook`."""
        return self.book.now_s

    def next_number(self) -> int:
        """See `WriterBook`."""
        return self.book.next_number()

    def begin(self, call: Send | Transaction) -> None:
        """See `WriterBook`."""
        self.book.begin(call)

    def begin_commit(self, call: Transaction) -> None:
        """See `WriterBook`."""
        self.book.begin_commit(call)

    def end(self, call: Send | Transaction) -> None:
        """See `WriterBook`."""
        self.book.end(call)

    def note(self, what: str) -> None:
        """See `WriterBook`."""
        self.book.note(self.name, what)
