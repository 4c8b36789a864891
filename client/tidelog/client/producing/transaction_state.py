"""The state of a transactional producer: which call may come next, and what a failure means. Pure.

    NEW ----initialised----> READY ---begin---> OPEN ---commit is sent---> COMMITTING --answer--+
                               ^                 |  records or offsets failed: it can only be   |
                               |                 v  aborted                                     |
                               +-----aborted----(OPEN, failed)                                  |
                               +----------------------------------------------------------------+

    FENCED, from each of them: another producer has the id, every later call raises
    HANDED_OVER, from OPEN: another one ends the transaction, every later call raises

A commit without an answer stays COMMITTING: only another commit helps, as the first one may have
been carried out. A number that rises with each begin keeps what belongs to one transaction out of
the next: a send that waited for room in the buffer meanwhile is refused.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum, auto
from typing import NamedTuple

from tidelog.client.errors import (
    InvalidTxnStateError,
    ProducerFencedError,
    TidelogError,
    TransactionAbortedError,
)


class Phase(Enum):
    """See the table above."""

    NEW = auto()
    READY = auto()
    OPEN = auto()
    COMMITTING = auto()
    HANDED_OVER = auto()
    FENCED = auto()


class Identity(NamedTuple):
    """Producer id and epoch of one transaction."""

    producer_id: int
    producer_epoch: int


class TransactionMember(NamedTuple):
    """An open transaction, to be ended together with others: see `Admin.end_transactions`."""

    transactional_id: str
    producer_id: int
    producer_epoch: int


class TransactionState:
    """The state of one transactional id's producer."""

    def __init__(self, transactional_id: str) -> None:
        self.transactional_id = transactional_id
        self.phase = Phase.NEW
        self.identity = Identity(-1, -1)
        self.failure: TidelogError | None = None
        """Why the open transaction can only be aborted."""
        self.is_touched = False
        """True if the coordinator may know of the transaction."""
        self._number = 0
        self._is_busy = False
        self._fence: TidelogError | None = None

    @property
    def may_send(self) -> bool:
        """True while batches of the open transaction may be sent."""
        return self.phase is Phase.OPEN and self.failure is None

    @property
    def is_open(self) -> bool:
        """True if there is a transaction that can be aborted."""
        return self.phase is Phase.OPEN

    @property
    def is_committing(self) -> bool:
        """True from the moment a commit is sent until it is answered."""
        return self.phase is Phase.COMMITTING

    @property
    def number(self) -> int:
        """Number of the transaction that was begun last."""
        return self._number

    # Changes

    def initialised(self, identity: Identity) -> None:
        """Note the first answer of the coordinator."""
        self.phase, self.identity = Phase.READY, identity

    def begin(self) -> None:
        """Begin a transaction. Raises `InvalidTxnStateError`, `ProducerFencedError`."""
        self._check_idle()
        if self.phase is Phase.COMMITTING:
            raise self._commit_again()
        if self.phase is Phase.OPEN:
            raise InvalidTxnStateError(
                f"{self._name}: a transaction is open already: commit or abort it first"
            )
        self.phase, self.failure, self.is_touched = Phase.OPEN, None, False
        self._number += 1

    def enter(self) -> int:
        """Admit a record or offsets; return the transaction's number, for `check`.

        Raises `TransactionAbortedError`, `ProducerFencedError`, and `InvalidTxnStateError` outside
        of a transaction.
        """
        self.check_fence()
        if self.is_open:
            self._check_failure()
        if self.phase is Phase.COMMITTING or (self.is_open and self._is_busy):
            raise InvalidTxnStateError(
                f"{self._name}: the transaction is being ended: begin another one first"
            )
        if not self.is_open:
            raise InvalidTxnStateError(
                f"{self._name}: no transaction is open: send within `async with "
                "producer.transaction()`, or call begin_transaction() first"
            )
        return self._number

    def check(self, number: int) -> None:
        """Raise the errors of `enter`, or `TransactionAbortedError` if it is another one by now."""
        if number != self._number:
            raise TransactionAbortedError(
                f"{self._name}: the transaction ended before this was sent: it is in none"
            )
        self.enter()

    def check_current(self, number: int) -> None:
        """As `check`, but also while a commit waits for what was admitted before it."""
        self.check_fence()
        if number != self._number or not self.is_open:
            raise TransactionAbortedError(f"{self._name}: the transaction ended meanwhile")
        self._check_failure()

    def fail(self, number: int, error: TidelogError) -> None:
        """Note a failure in the transaction: it can only be aborted. Ignored of another one."""
        if isinstance(error, ProducerFencedError):
            self.fence(error)
        elif number == self._number and self.is_open and self.failure is None:
            self.failure = error

    def fence(self, error: TidelogError) -> None:
        """Note that another producer has the id; the first reason stays."""
        if self.phase is not Phase.FENCED:
            self.phase, self._fence = Phase.FENCED, error

    def commit_sent(self) -> None:
        """Note that a commit is about to be sent: from now on nothing else can end it."""
        self.phase = Phase.COMMITTING

    def commit_refused(self, error: TidelogError) -> None:
        """Note that the coordinator certainly did not commit: it can only be aborted."""
        self.phase, self.failure = Phase.OPEN, error

    def ended(self, identity: Identity | None) -> None:
        """Note the end; `identity` of the next transaction, None: as of this one."""
        self.phase, self.failure = Phase.READY, None
        if identity is not None:
            self.identity = identity

    def handed_over(self) -> TransactionMember:
        """Note that another one ends the open transaction."""
        self.phase = Phase.HANDED_OVER
        return TransactionMember(self.transactional_id, *self.identity)

    # Ends

    @contextmanager
    def ending(self, what: str) -> Iterator[None]:
        """Enclose a commit or an abort. Raises `InvalidTxnStateError`, `ProducerFencedError`."""
        self._check_idle()
        if self.phase not in (Phase.OPEN, Phase.COMMITTING):
            raise InvalidTxnStateError(f"{self._name}: there is no transaction to {what}")
        if what == "abort" and self.phase is Phase.COMMITTING:
            raise self._commit_again()
        self._is_busy = True
        try:
            yield
        finally:
            self._is_busy = False

    def _check_idle(self) -> None:
        self.check_fence()
        if self._is_busy:
            raise InvalidTxnStateError(
                f"{self._name}: another task is ending the transaction: wait for that one"
            )

    def check_fence(self) -> None:
        """Raise `ProducerFencedError` once another producer has the id.

        Raises `InvalidTxnStateError` when the transaction was handed over.
        """
        if self._fence is not None:
            raise ProducerFencedError(self._fence.message) from self._fence
        if self.phase is Phase.HANDED_OVER:
            raise InvalidTxnStateError(
                f"{self._name}: its transaction was handed over: only end_transactions ends it"
            )

    def _check_failure(self) -> None:
        if self.failure is not None:
            raise TransactionAbortedError(
                f"{self._name}: the transaction has failed, abort it: {self.failure}"
            ) from self.failure

    def _commit_again(self) -> TidelogError:
        return InvalidTxnStateError(
            f"{self._name}: a commit was sent, and its outcome is not known: call "
            "commit_transaction() again"
        )

    @property
    def _name(self) -> str:
        return f"transactional id {self.transactional_id!r}"
