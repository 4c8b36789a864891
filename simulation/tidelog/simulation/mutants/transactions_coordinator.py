"""Mutants of the transaction coordinator: its decisions, its answers, and when markers go."""
# ruff: noqa: SLF001  # they take the place of methods

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from tidelog.broker.coordinator.coordinator_records import CoordinatorRecord
from tidelog.broker.transactions import transaction_requests
from tidelog.broker.transactions.decided_markers import DecidedMarkers
from tidelog.broker.transactions.end_transactions import GroupEnd, Member
from tidelog.broker.transactions.transaction import (
    PREPARED,
    Producer,
    State,
    Transaction,
    TransactionPartition,
    key_of,
)
from tidelog.broker.transactions.transaction_coordinator import TransactionCoordinator
from tidelog.broker.transactions.transaction_requests import Step
from tidelog.broker.transactions.transaction_shard import Attempt, TransactionShard
from tidelog.simulation.mutants.mutant import replaces

_prepare = Transaction.prepare
_initialise = transaction_requests.initialise
_end_group = TransactionShard.end_group


@replaces(Transaction, "prepare")
def epoch_not_raised(
    self: Transaction, fresh_ids: Iterator[int], *, is_commit: bool, now_ms: int
) -> Transaction:
    """A decision leaves the producer's epoch as it is, as before KIP-890."""
    decided = _prepare(self, fresh_ids, is_commit=is_commit, now_ms=now_ms)
    return replace(decided, producer=self.producer)


@replaces(TransactionShard, "attempt_of")
def markers_of_the_old_epoch(self: TransactionShard, name: str) -> Attempt:
    """Markers carry the epoch of the batches that they end."""
    one = self.transactions[name]
    producer = Producer(one.producer.id, one.producer.epoch - 1)
    return Attempt(name, producer, one.state is State.PrepareCommit, self.coordinator_epoch)


_replaying = DecidedMarkers.replaying


@replaces(DecidedMarkers, "replaying")
def markers_before_commit(
    self: DecidedMarkers,
    hosted: Any,
    records: Sequence[CoordinatorRecord],
    replay: Callable[[], None],
) -> None:
    """Markers are sent within the step that decides, before anything is replicated."""
    _replaying(self, hosted, records, replay)
    waiting = self._uncommitted[hosted]
    while waiting:
        self.sender.send(waiting.popleft()[1])


@replaces(DecidedMarkers, "on_loaded")
def markers_not_sent_again(
    self: DecidedMarkers, hosted: Any, *, records: int, took_ms: int
) -> None:
    """A new coordinator sends no markers of what the one before had decided."""
    del records, took_ms
    self._shards[hosted.partition] = hosted


@replaces(TransactionShard, "note_marked")
def one_marker_is_enough(
    self: TransactionShard, attempt: Attempt, _partitions: Iterable[TransactionPartition]
) -> None:
    """A transaction is complete when its first partition has its marker."""
    if self._is_at(attempt):
        self._unmarked[attempt.transactional_id].clear()


@replaces(TransactionShard, "timed_out")
def prepared_commits_time_out(self: TransactionShard, now: Any) -> list[str]:
    """The time-out aborts a commit that is decided and lacks markers."""
    for name, one in list(self.transactions.items()):
        if one.state is State.PrepareCommit and self._unmarked.get(name):
            self.transactions[name] = replace(one, state=State.PrepareAbort)
    return [name for name in self._opened_ms if _is_late(self, name, now)]


@replaces(TransactionShard, "_open_for_ms")
def time_begins_with_the_coordinator(_self: TransactionShard, _name: str, _now: Any) -> int:
    """A transaction's time-out begins again with each coordinator."""
    return 0


def _is_late(shard: TransactionShard, name: str, now: Any) -> bool:
    if shard._opened_ms[name] is None:
        shard._opened_ms[name] = now.monotonic_ms
    return shard.is_late(name, now)


@replaces(TransactionCoordinator, "_committed")
def transactions_answered_before_commit(
    _self: TransactionCoordinator, _hosted: Any, _end_offset: int, *, is_write: bool
) -> Awaitable[None]:
    """A coordinator answers when it has appended, though no replica has it yet."""
    del is_write
    return _at_once()


async def _at_once() -> None:
    """Wait for nothing."""


@replaces(TransactionCoordinator, "_proof")
def transactions_not_confirmed(_self: TransactionCoordinator) -> Sequence[CoordinatorRecord]:
    """A coordinator that the controllers have not heard for long answers from memory."""
    return []


@replaces(TransactionShard, "expire")
def open_ids_expire(self: TransactionShard, name: str, now: Any) -> list[CoordinatorRecord]:
    """An id expires though its transaction is open."""
    one = self.transactions.get(name)
    if one is None or one.state in PREPARED:
        return []
    age_ms = now.wall_ms - one.update_ms
    is_old = age_ms >= self._config.transactional_id_expiration_ms
    return [CoordinatorRecord(key_of(name), None)] if is_old else []


@replaces(transaction_requests, "_check_current")
def producers_not_compared(_one: Transaction, _producer: Producer) -> None:
    """A coordinator takes the requests of any producer of the id."""


@replaces(transaction_requests, "initialise")
def open_transactions_forgotten(
    one: Transaction, expected: Any, fresh_ids: Iterator[int], *, timeout_ms: int, now_ms: int
) -> Step | Transaction:
    """A new producer begins beside the transaction that the one before left open."""
    if one.state is not State.Ongoing:
        return _initialise(one, expected, fresh_ids, timeout_ms=timeout_ms, now_ms=now_ms)
    after = replace(
        one,
        state=State.Empty,
        producer=Producer(one.producer.id, one.producer.epoch + 1),
        last=None,
        partitions={},
        start_ms=None,
    )
    return Step(after, after.producer)


@replaces(transaction_requests, "_answer_again")
def repeated_commits_answered(one: Transaction, *, is_commit: bool) -> Producer:
    """A commit that comes after the abort of a time-out is answered as one that was done."""
    del is_commit
    return one.following


@replaces(TransactionShard, "end_group")
def missing_members_passed_over(
    self: TransactionShard,
    group: str,
    members: Sequence[Member],
    fresh_ids: Iterator[int],
    now: Any,
) -> GroupEnd:
    """EndTransactions commits the members that are open, though others were aborted."""
    there = [one for one in members if _is_open(self.transactions.get(one.transactional_id), one)]
    return _end_group(self, group, there or members, fresh_ids, now)


def _is_open(one: Transaction | None, member: Member) -> bool:
    return one is not None and one.state is State.Ongoing and one.producer == member.producer
