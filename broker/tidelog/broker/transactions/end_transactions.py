"""Decisions on EndTransactions: transactions of one prefix, committed together or not at all. Pure.

    all members are Ongoing, each in its epoch   committed, in one batch; other open ones aborted
    all members were committed by such a call    nothing: the first answer again
    one was surely not committed                 the members that are in their epoch are aborted,
                                                 and the call is refused: InvalidTxnState
    else, as ids have gone on since              refused: PRODUCER_FENCED. Nothing is changed
    no members                                   all open ones of the prefix are aborted

A refused call leaves other ids alone: its caller may be a driver that another has replaced.
Decision 0059 has the reasons.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from tidelog.broker.coordinator.coordinator_records import CoordinatorRecord, encode
from tidelog.broker.partition_adder import Producer, check_transactional_id
from tidelog.broker.transactions.transaction import COMMITTED, State, Transaction
from tidelog.broker.transactions.transaction_key import SEPARATOR
from tidelog.core.errors import (
    InvalidRequestError,
    InvalidTxnStateError,
    ProducerFencedError,
    TidelogError,
)

MEMBERS_MAX = 10_000
BATCH_BYTES_MAX = 256 << 10
"""Maximum bytes of the members' records: half of what the runtime puts into one batch."""
RECORD_OVERHEAD_BYTES = 40
"""Beside key and value, at most: lengths and deltas."""


class Member(NamedTuple):
    """A transaction to commit."""

    transactional_id: str
    producer: Producer


class GroupEnd(NamedTuple):
    """Records of a call, and its refusal, to be raised once they are committed."""

    records: list[CoordinatorRecord]
    refusal: TidelogError | None = None


def check_members(group: str, members: Sequence[Member]) -> None:
    """Raise `InvalidRequestError` unless all ids begin with the group's prefix, each once."""
    check_transactional_id(group)
    if SEPARATOR in group:
        raise InvalidRequestError(f"the group {group!r} has a slash: its ids begin with it and one")
    if len(members) > MEMBERS_MAX:
        raise InvalidRequestError(f"{len(members)} members: at most {MEMBERS_MAX} end in one call")
    for member in members:
        check_transactional_id(member.transactional_id)
        if not member.transactional_id.startswith(group + SEPARATOR):
            raise InvalidRequestError(
                f"transactional id {member.transactional_id!r} has not the prefix "
                f"{group + SEPARATOR!r}: its coordinator may be another"
            )
    if len({member.transactional_id for member in members}) < len(members):
        raise InvalidRequestError("a transactional id is a member twice: name it once")


def end_group(
    members: Sequence[Member],
    *,
    known: Mapping[str, Transaction],
    open_ids: Iterable[str],
    fresh_ids: Iterator[int],
    now_ms: int,
) -> GroupEnd:
    """Decide a call; `open_ids` are the group's open transactions, in order.

    Raises `InvalidRequestError` for members that do not fit one batch: nothing is changed.
    """
    if members and all(_was_committed(known.get(one.transactional_id), one) for one in members):
        return GroupEnd([])
    missing = [one for one in members if not _is_open(known.get(one.transactional_id), one)]
    if missing:
        own = [one.transactional_id for one in members if one not in set(missing)]
        records = _abort(own, known=known, fresh_ids=fresh_ids, now_ms=now_ms)
        return GroupEnd(records, _refusal(members, missing, known))
    committed = [
        known[one.transactional_id].prepare(fresh_ids, is_commit=True, now_ms=now_ms).record()
        for one in members
    ]
    _check_size(committed)
    ids = {one.transactional_id for one in members}
    others = [one for one in open_ids if one not in ids]
    # First the members: they share the first batch, whatever follows.
    return GroupEnd(committed + _abort(others, known=known, fresh_ids=fresh_ids, now_ms=now_ms))


def _is_open(one: Transaction | None, member: Member) -> bool:
    return one is not None and one.state is State.Ongoing and one.producer == member.producer


def _was_committed(one: Transaction | None, member: Member) -> bool:
    return one is not None and one.state in COMMITTED and one.last == member.producer


def _was_not_committed(one: Transaction | None, member: Member) -> bool:
    """True where the id still tells: open, never begun, or aborted as the last that it had."""
    if one is None:
        return False
    is_aborted = one.state not in COMMITTED and one.last == member.producer
    return is_aborted or one.producer == member.producer


def _abort(
    ids: Iterable[str], *, known: Mapping[str, Transaction], fresh_ids: Iterator[int], now_ms: int
) -> list[CoordinatorRecord]:
    return [known[one].fence(fresh_ids, now_ms=now_ms, is_final=False).record() for one in ids]


def _refusal(
    members: Sequence[Member], missing: Sequence[Member], known: Mapping[str, Transaction]
) -> TidelogError:
    first = missing[0]
    found = known.get(first.transactional_id)
    state = "unknown" if found is None else f"{found.state.name} of {tuple(found.producer)}"
    what = (
        f"{len(missing)} members are not open in their epoch, the first "
        f"{first.transactional_id!r} of {tuple(first.producer)}, which is {state}: "
    )
    if any(_was_not_committed(known.get(one.transactional_id), one) for one in members):
        return InvalidTxnStateError(
            f"{what}none was committed, the others were aborted: run all again"
        )
    return ProducerFencedError(
        f"{what}other producers have had the ids since, all were committed or none: read which"
    )


def _check_size(records: Sequence[CoordinatorRecord]) -> None:
    size = 0
    for record in records:
        key, value = encode(record)
        size += len(key) + len(value or b"") + RECORD_OVERHEAD_BYTES
    if size > BATCH_BYTES_MAX:
        raise InvalidRequestError(
            f"the members' records have {size} bytes, and have to be in one batch of "
            f"{BATCH_BYTES_MAX}: end fewer transactions, of fewer partitions, in a call"
        )
