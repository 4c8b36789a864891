"""EndTransactions: all members are committed by one batch, or none is."""

from __future__ import annotations

from functools import partial

import pytest
from tests.broker.transactions.coordinated_ids import CoordinatedIds, refusal

from tidelog.broker.coordinator.record_batches import BATCH_BYTES, encode_batches
from tidelog.broker.partition_adder import Producer, Topic, TransactionPartition
from tidelog.broker.transactions import end_transactions
from tidelog.broker.transactions.transaction import EPOCH_LAST, State, Transaction


@pytest.fixture
def ids() -> CoordinatedIds:
    return CoordinatedIds()


def states(ids: CoordinatedIds) -> dict[str, str]:
    return {name: one.state.name for name, one in sorted(ids.shard.transactions.items())}


def begun(ids: CoordinatedIds, *names: str) -> list[tuple[str, Producer]]:
    return [(name, ids.begun(name)) for name in names]


def test_members_are_committed_and_the_groups_other_open_ids_aborted(ids: CoordinatedIds) -> None:
    members = begun(ids, "g/1", "g/2")
    begun(ids, "g/3", "g", "gg/1", "h/1")
    ids.init("g/idle")
    before = len(ids.batches)
    assert ids.end_group("g", *members) == 3
    assert len(ids.batches) == before + 1
    assert states(ids) == {
        "g": "Ongoing",
        "g/1": "PrepareCommit",
        "g/2": "PrepareCommit",
        "g/3": "PrepareAbort",
        "g/idle": "Empty",
        "gg/1": "Ongoing",
        "h/1": "Ongoing",
    }


def test_a_repeated_call_gets_the_same_answer_and_changes_nothing(ids: CoordinatedIds) -> None:
    members = begun(ids, "g/1", "g/2")
    assert ids.end_group("g", *members) == 2
    begun(ids, "g/late")
    for again in (lambda: None, ids.move, ids.complete, ids.move):
        again()
        assert ids.end_group("g", *members) == 0
    assert ids.state("g/late") is State.Ongoing


@pytest.mark.parametrize("cause", ["aborted", "later epoch", "unknown", "without partitions"])
def test_one_member_that_is_not_open_refuses_all_and_aborts_them(
    ids: CoordinatedIds, cause: str
) -> None:
    members = begun(ids, "g/1", "g/2")
    begun(ids, "g/other")
    name, producer = members[1]
    if cause == "aborted":
        ids.end(producer, is_commit=False, name=name)
    elif cause == "later epoch":
        after = ids.end(producer, name=name)
        ids.complete()
        ids.add(after, name=name)
    elif cause == "unknown":
        members[1] = ("g/unknown", Producer(1, 0))
    else:
        members[1] = ("g/empty", ids.init("g/empty"))
    before = ids.shard.transactions.get(members[1][0])
    for _ in range(2):
        assert refusal(lambda: ids.end_group("g", *members)) == "InvalidTxnState"
        assert ids.state("g/1") is State.PrepareAbort
        assert ids.shard.transactions.get(members[1][0]) == before
        # Its caller may be a driver that another has replaced.
        assert ids.state("g/other") is State.Ongoing


@pytest.mark.parametrize("is_committed", [True, False])
def test_a_call_repeated_when_all_ids_have_gone_on_does_not_say_that_none_was_committed(
    ids: CoordinatedIds, is_committed: bool
) -> None:
    members = begun(ids, "g/1", "g/2")
    ids.end_group("g", *(members if is_committed else []))
    ids.complete()
    for name, _ in members:
        ids.init(name)
    before = states(ids)
    assert refusal(lambda: ids.end_group("g", *members)) == "ProducerFenced"
    assert states(ids) == before


def test_one_id_that_still_tells_of_its_abort_is_enough_for_a_certain_answer(
    ids: CoordinatedIds,
) -> None:
    members = begun(ids, "g/1", "g/2")
    ids.end_group("g")
    ids.complete()
    ids.init("g/1")
    assert refusal(lambda: ids.end_group("g", *members)) == "InvalidTxnState"


def test_members_committed_apart_from_open_ones_are_no_commit_of_all(ids: CoordinatedIds) -> None:
    members = begun(ids, "g/1", "g/2")
    ids.end_group("g", members[0])  # aborts the second
    assert refusal(lambda: ids.end_group("g", *members)) == "InvalidTxnState"
    assert states(ids) == {"g/1": "PrepareCommit", "g/2": "PrepareAbort"}


def test_a_member_that_was_aborted_with_its_group_cannot_commit(ids: CoordinatedIds) -> None:
    [(name, producer)] = begun(ids, "g/1")
    ids.end_group("g")
    assert refusal(lambda: ids.end(producer, name=name)) == "ProducerFenced"
    assert ids.end(producer, is_commit=False, name=name) == Producer(100, 1)


def test_without_members_all_open_ids_of_the_group_are_aborted(ids: CoordinatedIds) -> None:
    begun(ids, "g/1", "g/2", "h/1")
    assert ids.end_group("g") == 2
    assert states(ids) == {"g/1": "PrepareAbort", "g/2": "PrepareAbort", "h/1": "Ongoing"}
    assert ids.end_group("g") == 0


def test_members_at_their_last_epoch_get_other_ids(ids: CoordinatedIds) -> None:
    members = [(f"g/{number}", Producer(number, EPOCH_LAST)) for number in (1, 2)]
    for name, producer in members:
        ids.write([Transaction(name, producer, timeout_ms=9, update_ms=1).record()])
        ids.add(producer, name=name)
    ids.end_group("g", *members)
    assert ids.end_group("g", *members) == 0
    ids.complete()
    assert ids.end_group("g", *members) == 0
    producers = [ids.shard.transactions[name].producer for name, _ in members]
    assert producers == [Producer(100, 0), Producer(101, 0)]


def test_bad_calls_are_refused_and_nothing_is_changed(
    ids: CoordinatedIds, monkeypatch: pytest.MonkeyPatch
) -> None:
    members = begun(ids, "g/1", "h/1")
    records = len(ids.log)
    for group, of_call in (
        ("", members[:1]),
        ("g/1", members[:1]),
        ("g", members),
        ("g", [members[0], members[0]]),
        ("g", [("g", Producer(1, 0))]),
    ):
        call = partial(ids.end_group, group, *of_call)
        assert refusal(call) == "InvalidRequest"
    monkeypatch.setattr(end_transactions, "MEMBERS_MAX", 1)
    assert refusal(lambda: ids.end_group("g", *members)) == "InvalidRequest"
    assert len(ids.log) == records


def test_members_that_do_not_fit_one_batch_are_refused_and_all_that_fit_are_in_one(
    ids: CoordinatedIds,
) -> None:
    assert end_transactions.BATCH_BYTES_MAX < BATCH_BYTES
    partitions = [
        TransactionPartition(Topic(bytes([number]) * 16, f"{number:0249}"), number)
        for number in range(60)
    ]
    members = [(f"g/{number}", ids.begun(f"g/{number}", *partitions)) for number in range(17)]
    begun(ids, *(f"g/other-{number}" for number in range(3)))
    records = len(ids.log)
    assert refusal(lambda: ids.end_group("g", *members)) == "InvalidRequest"
    assert len(ids.log) == records
    fitting = members[:15]
    ids.end_group("g", *fitting)
    first = encode_batches(ids.log[records:], 0)[0]
    assert len(encode_batches(ids.log[records : records + 15], 0)) == 1
    assert len(first) < BATCH_BYTES
