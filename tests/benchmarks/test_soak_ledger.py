"""The soak's judge sees each kind of damage, and nothing where there is none."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.benchmarks.soak_ledger import (
    ACKNOWLEDGED,
    FAILED,
    OFFSET_UNKNOWN,
    UNKNOWN,
    VIOLATIONS,
    Digest,
    Ledger,
    Name,
    Receipt,
)

Log = list[tuple[int, bytes]]
"""Offset and value."""


def receipts() -> list[Receipt]:
    """Two producers take turns in one place, ten records each; all acknowledged."""
    return [
        Receipt(Name(place % 2, 0, place // 2), offset=place, outcome=ACKNOWLEDGED)
        for place in range(20)
    ]


def stored() -> Log:
    return [(one.offset, one.name.value(100)) for one in receipts()]


def judged(log: Log, outcomes: list[Receipt] | None = None) -> dict[str, int]:
    ledger = Ledger(outcomes or receipts())
    for offset, value in log:
        ledger.read(0, offset, value)
    counts = ledger.counts()
    assert bool(ledger.examples) == any(counts[kind] for kind in VIOLATIONS)
    return {kind: counts[kind] for kind in VIOLATIONS if counts[kind]}


def lose(log: Log) -> None:
    del log[7]


def lose_the_last(log: Log) -> None:
    del log[-1]


def store_twice(log: Log) -> None:
    log.append((20, log[7][1]))


def swap(log: Log) -> None:
    """Two of one producer."""
    log[6], log[8] = (6, log[8][1]), (8, log[6][1])


def move(log: Log) -> None:
    """To another offset, in order: the place that was acknowledged is another."""
    log[-1] = (21, log[-1][1])


def invent(log: Log) -> None:
    log.append((20, b"hello"))


def take_from_elsewhere(log: Log) -> None:
    log.append((20, Name(0, 1, 0).value(100)))


def beyond_what_was_sent(log: Log) -> None:
    log.append((20, Name(0, 0, 10).value(100)))


def test_nothing_is_found_where_nothing_is_wrong() -> None:
    assert judged(stored()) == {}


@pytest.mark.parametrize(
    ("harm", "found"),
    [
        (lose, {"lost": 1}),
        (lose_the_last, {"lost": 1}),
        (store_twice, {"duplicated": 1}),
        (swap, {"reordered": 1, "misplaced": 2}),
        (move, {"misplaced": 1}),
        (invent, {"unwritten": 1}),
        (take_from_elsewhere, {"unwritten": 1}),
        (beyond_what_was_sent, {"unwritten": 1}),
    ],
)
def test_each_harm_is_found(harm: Callable[[Log], None], found: dict[str, int]) -> None:
    log = stored()
    harm(log)
    assert judged(log) == found


def test_order_is_judged_where_no_offset_was_told() -> None:
    outcomes = [one._replace(offset=OFFSET_UNKNOWN) for one in receipts()]
    log = stored()
    swap(log)
    assert judged(log, outcomes) == {"reordered": 1}


@pytest.mark.parametrize(
    ("outcome", "is_stored", "found"),
    [
        (FAILED, True, {"failed_but_read": 1}),
        (FAILED, False, {}),
        (UNKNOWN, True, {}),
        (UNKNOWN, False, {}),
    ],
)
def test_a_record_that_was_not_acknowledged_may_be_there_unless_it_failed(
    outcome: int, is_stored: bool, found: dict[str, int]
) -> None:
    outcomes = receipts()
    outcomes[7] = Receipt(outcomes[7].name, OFFSET_UNKNOWN, outcome)
    log = stored()
    if not is_stored:
        del log[7]
    assert judged(log, outcomes) == found


def test_one_of_unknown_outcome_is_a_duplicate_when_it_is_there_twice() -> None:
    outcomes = receipts()
    outcomes[7] = Receipt(outcomes[7].name, OFFSET_UNKNOWN, UNKNOWN)
    log = stored()
    store_twice(log)
    assert judged(log, outcomes) == {"duplicated": 1}


def test_receipts_go_through_a_file() -> None:
    data = b"".join(one.to_bytes() for one in receipts())
    assert list(Receipt.iter_bytes(data)) == receipts()
    assert list(Receipt.iter_bytes(data[:-1])) == receipts()[:-1]


def test_a_digest_tells_a_record_that_was_skipped_or_read_twice() -> None:
    digests = {}
    for name, log in {
        "whole": stored(),
        "skipped": [*stored()[:4], *stored()[5:]],
        "twice": [*stored()[:4], *stored()[3:]],
        "moved": [(offset + 1, value) for offset, value in stored()],
    }.items():
        digest = Digest()
        for offset, value in log:
            digest.add(offset, value)
        digests[name] = digest
    again = Digest()
    for offset, value in stored():
        again.add(offset, value)
    assert again == digests.pop("whole")
    assert again not in digests.values()
