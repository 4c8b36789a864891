"""Decisions on the requests of one producer, from the state of its transactional id alone. Pure.

Who asks is compared first. `following` is the producer as the newest answer named it, `last` the
one before, whose answer may be lost:

    producer                 end                     add partitions  initialise again
    current                  ends what is open       adds            epoch + 1
    last, same decision      the first answer again  refused, late   the first answer again
    last, commit of what was ProducerFencedError     refused, late   the first answer again
      aborted (KAFKA-20785)
    another                  ProducerFencedError, or InvalidProducerIdMappingError for another id

While a transaction is prepared, all but repeated ends get `ConcurrentTransactionsError`.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tidelog.broker.partition_adder import Producer, TransactionPartition
from tidelog.broker.transactions.transaction import ABORTED, COMMITTED, PREPARED, State, Transaction
from tidelog.core.errors import (
    ConcurrentTransactionsError,
    InvalidProducerEpochError,
    InvalidProducerIdMappingError,
    InvalidTxnStateError,
    ProducerFencedError,
    TidelogError,
)


class Step(NamedTuple):
    """Answer to a request, and the next state of its id; None: nothing changes."""

    after: Transaction | None
    producer: Producer


def add_partitions(
    one: Transaction, producer: Producer, added: Sequence[TransactionPartition], *, now_ms: int
) -> Transaction | None:
    """Add partitions, or begin with them; None: it has all of them. Raises `KafkaError`."""
    if one.state in PREPARED and producer == one.following:
        raise concurrent(one)
    if producer == one.last and one.state is not State.Empty:
        raise InvalidProducerEpochError(
            f"{_name(one)}: the transaction of epoch {producer.epoch} is over: abort it, and begin "
            "another in the epoch of that answer"
        )
    _check_current(one, producer)
    if one.state is State.Ongoing and all(one.has(each) for each in added):
        return None
    return one.add(iter(added), now_ms=now_ms)


def end(
    one: Transaction,
    producer: Producer,
    fresh_ids: Iterator[int],
    *,
    is_commit: bool,
    now_ms: int,
) -> Step:
    """End the transaction; the answer names the producer of the next one. Raises `KafkaError`."""
    if producer == one.last and one.state in COMMITTED | ABORTED:
        return Step(None, _answer_again(one, is_commit=is_commit))
    if one.state in PREPARED and producer == one.following:
        raise concurrent(one)  # of an empty one, by a producer that goes on already
    _check_current(one, producer)
    if is_commit and one.state is not State.Ongoing:
        raise InvalidTxnStateError(
            f"{_name(one)} is {one.state.name}: nothing to commit, begin by adding partitions"
        )
    after = one.prepare(fresh_ids, is_commit=is_commit, now_ms=now_ms)
    return Step(after, after.following)


def _answer_again(one: Transaction, *, is_commit: bool) -> Producer:
    if is_commit and one.state in ABORTED:
        raise ProducerFencedError(
            f"{_name(one)}: the coordinator aborted the transaction before it was committed, after "
            "its time-out or on request: none of it is visible"
        )
    if not is_commit and one.state in COMMITTED:
        raise InvalidTxnStateError(f"{_name(one)}: the transaction was committed: it stays so")
    return one.following


def initialise(
    one: Transaction,
    expected: Producer | None,
    fresh_ids: Iterator[int],
    *,
    timeout_ms: int,
    now_ms: int,
) -> Step | Transaction:
    """Initialise a producer of a known id: the answer, or the state that aborts what is open.

    The latter is to be answered with `ConcurrentTransactionsError`, once it is recorded. With
    `expected`, the producer itself asks (KIP-360); else it is fenced. Raises `KafkaError`.
    """
    is_repeated = expected is not None and expected == one.last
    if expected is not None and not is_repeated and expected not in (one.producer, one.following):
        raise _fenced(one, expected)
    if one.state in PREPARED:
        raise concurrent(one)
    if one.state is State.Ongoing:
        return one.fence(fresh_ids, now_ms=now_ms, is_final=expected is None)
    if is_repeated:
        return Step(None, one.producer)
    after = one.initialise(
        fresh_ids, timeout_ms=timeout_ms, now_ms=now_ms, is_fencing=expected is None
    )
    return Step(after, after.producer)


def _check_current(one: Transaction, producer: Producer) -> None:
    if producer == one.producer and one.state not in PREPARED:
        return
    known = {one.producer.id, one.following.id, *([] if one.last is None else [one.last.id])}
    if producer.id not in known:
        raise InvalidProducerIdMappingError(
            f"{_name(one)} has producer id {one.producer.id}, not {producer.id}: initialise again"
        )
    raise _fenced(one, producer)


def _fenced(one: Transaction, producer: Producer) -> TidelogError:
    return ProducerFencedError(
        f"{_name(one)} has producer id {one.producer.id} in epoch {one.producer.epoch}, not "
        f"{producer.id} in {producer.epoch}: another producer took over, or its time was over"
    )


def concurrent(one: Transaction) -> TidelogError:
    """Make the error of what has to wait for the markers."""
    return ConcurrentTransactionsError(
        f"{_name(one)}: the transaction before is being ended: try again"
    )


def _name(one: Transaction) -> str:
    return f"transactional id {one.transactional_id!r}"
