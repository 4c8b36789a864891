"""Each rule of transactions finds its anomaly, acquits what is near it; old files are read."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.history.transaction_histories import (
    TRANSACTION_KINDS,
    TransactionHistoryMaker,
    spoil_transaction,
)

from tidelog.history.checks.cycles import cycle_in, strong_components
from tidelog.history.checks.delivery import complaints, counts
from tidelog.history.history import Commit, Committed, History, Outcome, Poll, Send, Transaction
from tidelog.history.history_file import HistoryWriter, read_history
from tidelog.history.history_lines import HistoryFormatError, from_lines, to_lines

SEEDS = range(40)


def a_transaction(number: int, outcome: Outcome = "ok", **fields: object) -> Transaction:
    """Begun in second `number`; its commit is begun in second 50 and answered in second 51."""
    begun_s = 50.0 if outcome != "fail" else None
    plain = Transaction(f"p{number}", number, f"id{number}", float(number), outcome, begun_s, 51.0)
    return replace(plain, **fields)


def a_send(of: int, value: bytes, partition: int, offset: int, at_s: float, **f: object) -> Send:
    """An append that is acknowledged within half a second."""
    number = int(at_s * 10)
    where = f"p{of}", number, "t", 0, partition, value, -1, True, at_s, "ok", at_s + 0.5, offset
    return replace(Send(*where, transaction=of), **f)  # type: ignore[arg-type]


def a_poll(partition: int, *values: bytes | None, at_s: float = 60.0, **fields: object) -> Poll:
    """A committed reader's, from offset 0; None is an offset without a record for it."""
    records = tuple((at, value) for at, value in enumerate(values) if value is not None)
    where = f"r{at_s}", int(at_s * 10), "t", 0, partition, at_s, at_s, 0, records
    plain = Poll(*where, isolation_level="read_committed", end=len(values))
    return replace(plain, **fields)


def the_last(partition: int, *values: bytes | None) -> Poll:
    return a_poll(partition, *values, at_s=90.0, process="last", is_final=True)


def history_of(*calls: object) -> History:
    history = History()
    for call in calls:
        history.add(call)  # type: ignore[arg-type]
    return history


def kinds(*calls: object) -> set[str]:
    found = complaints(history_of(*calls))
    assert all(one.operations and str(one) for one in found)
    return {one.kind for one in found}


def both_appends(outcome: Outcome, **fields: object) -> list[object]:
    """A transaction of two appends, in two partitions, each with a marker behind it."""
    return [
        a_transaction(1, outcome, **fields),
        a_send(1, b"x", 0, 0, 2.0),
        a_send(1, b"y", 1, 0, 3.0),
    ]


@pytest.mark.parametrize("outcome", ["ok", "unknown"])
def test_a_transaction_is_seen_whole(outcome: Outcome) -> None:
    whole = [the_last(0, b"x", None), the_last(1, b"y", None)]
    half = [the_last(0, b"x", None), the_last(1, None, None)]

    assert kinds(*both_appends(outcome), *whole) == set()
    assert "torn-transaction" in kinds(*both_appends(outcome), *half)


def test_one_of_unknown_outcome_may_be_seen_by_nobody_but_one_way_for_all() -> None:
    none = [the_last(0, None, None), the_last(1, None, None)]

    assert kinds(*both_appends("unknown"), *none) == set()
    assert kinds(*both_appends("unknown"), *none, a_poll(0, b"x", None)) >= {"torn-transaction"}
    assert kinds(*both_appends("ok"), *none) >= {"torn-transaction", "lost-write"}


def test_a_reader_below_the_last_stable_offset_has_passed_nothing() -> None:
    whole = [the_last(0, b"x", None), the_last(1, b"y", None)]
    waiting, passing = a_poll(0, at_s=52.0), a_poll(0, None, at_s=52.0)

    assert kinds(*both_appends("ok"), *whole, waiting) == set()
    assert kinds(*both_appends("ok"), *whole, passing) == {"torn-transaction"}
    assert kinds(*both_appends("unknown"), *whole, passing) == {"torn-transaction"}


def test_what_is_aborted_is_shown_to_no_committed_reader() -> None:
    none = [the_last(0, None, None), the_last(1, None, None)]
    anyone = a_poll(0, b"x", None, at_s=10.0, isolation_level="read_uncommitted")

    assert kinds(*both_appends("fail"), *none, anyone) == set()
    shown = replace(anyone, isolation_level="read_committed", invoked_s=60.0, ended_s=60.0)
    assert "aborted-read" in kinds(*both_appends("fail"), *none, shown)


def test_nobody_reads_before_the_commit_was_begun() -> None:
    whole = [the_last(0, b"x", None), the_last(1, b"y", None)]

    assert kinds(*both_appends("ok"), *whole, a_poll(0, b"x", at_s=50.5)) == set()
    assert kinds(*both_appends("ok"), *whole, a_poll(0, b"x", at_s=49.5)) == {"precommitted-read"}
    never = both_appends("unknown", commit_begun_s=None, ended_s=None)
    assert "precommitted-read" in kinds(*never, *whole)


def test_only_records_that_a_reader_must_see_are_skipped() -> None:
    whole = [the_last(0, b"x", None, b"z"), the_last(1, b"y", None)]
    after = replace(a_send(1, b"z", 0, 2, 55.0), transaction=None)
    marker = a_poll(0, b"x", None, b"z", isolation_level="read_uncommitted")
    skipping = a_poll(0, None, None, b"z", isolation_level="read_uncommitted")

    assert kinds(*both_appends("ok"), after, *whole, marker) == set()
    assert kinds(*both_appends("ok"), after, *whole, skipping) == {"poll-skip"}


def with_offset(outcome: Outcome, commit: Outcome = "ok") -> list[object]:
    """The same transaction commits offset 5 of its input, too; 3 was committed before it."""
    before = Commit("p0", 5, "g", "in", 0, 0, 3, 0.5, "ok", 0.6)
    own = Commit("p1", 45, "g", "in", 0, 0, 5, 4.5, commit, 4.6, transaction=1)
    return [before, *both_appends(outcome), own]


def a_look(offset: int, *, at_s: float = 80.0, is_stable: bool = True) -> Committed:
    where = "admin", int(at_s * 10), "g", "in", 0, 0, at_s, at_s, offset
    return Committed(*where, is_stable=is_stable)


WHOLE = [the_last(0, b"x", None), the_last(1, b"y", None)]
NONE = [the_last(0, None, None), the_last(1, None, None)]


@pytest.mark.parametrize("outcome", ["ok", "unknown"])
def test_offsets_go_with_the_records(outcome: Outcome) -> None:
    assert kinds(*with_offset(outcome), *WHOLE, a_look(5, at_s=95.0)) == set()
    torn = kinds(*with_offset(outcome), *WHOLE, a_look(3, at_s=95.0))
    assert torn == {"torn-transaction", "commit-lost"}


def test_offsets_of_what_is_aborted_are_never_seen() -> None:
    assert kinds(*with_offset("fail"), *NONE, a_look(3)) == set()
    assert "aborted-read" in kinds(*with_offset("fail"), *NONE, a_look(5))
    assert kinds(*with_offset("unknown"), *NONE, a_look(3)) == set()
    assert "torn-transaction" in kinds(*with_offset("unknown"), *NONE, a_look(5))


def test_a_look_up_that_does_not_wait_may_see_the_offset_before() -> None:
    early = a_look(3, at_s=52.0, is_stable=False)

    assert kinds(*with_offset("ok"), *WHOLE, early, a_look(5)) == set()
    assert kinds(*with_offset("ok"), *WHOLE, replace(early, is_stable=True)) >= {"commit-lost"}


def crossing(*, reads_first: bool) -> list[object]:
    """Transaction 2 reads what 1 wrote, and appends below another record of 1."""
    b_s, read_s = (20.0, 10.0) if reads_first else (5.0, 60.0)
    return [
        a_transaction(1),
        a_transaction(2, commit_begun_s=70.0, ended_s=71.0),
        a_send(1, b"a", 0, 0, 3.0),
        a_send(2, b"b", 1, 0, b_s),
        a_send(1, b"c", 1, 1, 30.0),
        a_poll(0, b"a", None, at_s=read_s, transaction=2),
        the_last(0, b"a", None),
        the_last(1, b"b", b"c", None, None),
    ]


def test_a_circle_that_no_interleaving_explains_is_g1c() -> None:
    assert "G1c" in kinds(*crossing(reads_first=True))
    # It read at its end, when the other was committed: they were open together.
    assert kinds(*crossing(reads_first=False)) == set()


def test_two_that_read_each_other_are_g1c() -> None:
    calls = [
        a_transaction(1),
        a_transaction(2),
        a_send(1, b"a", 0, 0, 3.0),
        a_send(2, b"b", 1, 0, 4.0),
        a_poll(1, b"b", at_s=10.0, transaction=1),
        the_last(0, b"a", None),
        the_last(1, b"b", None),
    ]
    other = a_poll(0, b"a", at_s=10.0, transaction=2)

    assert "G1c" not in kinds(*calls)
    assert {"G1c", "precommitted-read"} == kinds(*calls, other)
    assert "G1c" not in kinds(*calls, replace(other, transaction=None))


def test_writes_in_a_circle_are_counted() -> None:
    calls = [
        a_transaction(1),
        a_transaction(2),
        *(a_send(1, b"a", 0, 0, 3.0), a_send(2, b"b", 0, 1, 4.0)),
        *(a_send(2, b"c", 1, 0, 5.0), a_send(1, b"d", 1, 1, 6.0)),
        the_last(0, b"a", b"b", None, None),
        the_last(1, b"c", b"d", None, None),
    ]

    assert kinds(*calls) == set()
    assert counts(history_of(*calls))["G0"] == 1
    assert counts(history_of(*calls))["transactions_committed"] == 2
    assert counts(history_of(*calls[:5], calls[6]))["G0"] == 0


def test_an_unclean_election_may_tear_a_transaction() -> None:
    history = history_of(*both_appends("ok"), the_last(0, b"x", None), the_last(1, None, None))
    history.lossy_topics.add("t")

    assert complaints(history) == []


def test_what_hangs_after_an_unclean_election_and_is_aborted_is_passed_by() -> None:
    after = replace(a_send(1, b"z", 0, 2, 55.0), transaction=None)
    calls = [*both_appends("ok"), after, the_last(0, None, None, b"z"), the_last(1, b"y", None)]
    lossy = history_of(*calls)
    lossy.lossy_topics.add("t")

    assert complaints(lossy) == []
    assert "poll-skip" in kinds(*calls)


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 1 << 32))
def test_what_a_right_cluster_did_has_no_complaints(seed: int) -> None:
    history = TransactionHistoryMaker(seed).make()

    assert complaints(history) == []
    assert from_lines(to_lines(history)) == history


@pytest.mark.parametrize("kind", TRANSACTION_KINDS)
def test_every_spoiled_history_of_transactions_is_found(kind: str) -> None:
    spoiled = 0
    for seed in SEEDS:
        history = TransactionHistoryMaker(seed).make()
        if spoil_transaction(kind, history, seed):
            spoiled += 1
            assert kind in {one.kind for one in complaints(history)}, seed

    assert spoiled >= len(SEEDS) // 2


EDGES = st.integers(1, 12).flatmap(
    lambda count: st.lists(
        st.lists(st.integers(0, count - 1), max_size=4), min_size=count, max_size=count
    )
)


@given(EDGES)
def test_components_are_what_reaches_each_other(edges: list[list[int]]) -> None:
    reached = [_reached(start, edges) for start in range(len(edges))]
    wanted = {frozenset(b for b in reached[a] if a in reached[b]) | {a} for a in range(len(edges))}
    found = strong_components(edges)

    assert {frozenset(one) for one in found} == {one for one in wanted if len(one) > 1}
    for component in found:
        cycle = cycle_in(component, edges)
        assert len(set(cycle)) == len(cycle)
        assert all(b in edges[a] for a, b in zip(cycle, [*cycle[1:], cycle[0]], strict=True))


def _reached(start: int, edges: list[list[int]]) -> set[int]:
    found: set[int] = set()
    waiting = list(edges[start])
    while waiting:
        node = waiting.pop()
        if node not in found:
            found.add(node)
            waiting += edges[node]
    return found


# The file


def test_a_killed_writer_leaves_a_transaction_that_may_be_committed_once_that_was_begun(
    tmp_path: Path,
) -> None:
    open_ = a_transaction(1, "unknown", commit_begun_s=None, ended_s=None)
    committing = replace(open_, number=2, commit_begun_s=9.0)
    ended = replace(committing, number=3, outcome="ok", ended_s=10.0)
    writer = HistoryWriter(tmp_path / "h.jsonl")
    for number in (1, 2, 3):
        writer.begin(replace(open_, number=number))
    writer.begin_commit(committing)
    writer.begin_commit(replace(ended))
    writer.end(ended)
    writer.close()

    assert read_history(tmp_path / "h.jsonl").transactions == [open_, committing, ended]


@pytest.mark.parametrize(
    ("calls", "message"),
    [
        ([a_send(1, b"x", 0, 0, 2.0)], "is of transaction 1, which is nowhere"),
        ([a_transaction(1, commit_begun_s=None)], "commit_begun_s is missing"),
        ([a_transaction(1, commit_begun_s=0.5)], "commit_begun_s is before invoked_s"),
    ],
)
def test_a_transaction_that_cannot_be_is_an_error(calls: list[object], message: str) -> None:
    with pytest.raises(HistoryFormatError, match=message):
        from_lines(to_lines(history_of(*calls)))
