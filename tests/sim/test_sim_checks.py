"""Each check finds the anomaly it is made for, and nothing in a clean history."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tidelog.chaos.checks import delivery
from tidelog.chaos.delivery_history import History, Refused, Stored


def clean_history() -> History:
    history = History()
    history.acknowledged = [Stored(0, offset, b"%d" % offset) for offset in range(4)]
    history.reading("watcher").records = history.acknowledged[:2]
    history.reading("last", is_final=True).records = list(history.acknowledged)
    return history


def test_a_clean_history_has_no_complaints() -> None:
    history = clean_history()

    assert delivery.complaints(history) == []
    assert delivery.count_duplicates(history) == 0


def _lose_the_last(history: History) -> None:
    history.readings[1].records.pop()


def _show_another_value(history: History) -> None:
    history.readings[0].records = [Stored(0, 0, b"other")]


def _skip_an_offset(history: History) -> None:
    history.readings[0].records = history.acknowledged[1:2]


def _see_what_goes(history: History) -> None:
    history.readings[0].records = [*history.acknowledged, Stored(0, 4, b"gone")]


def _read_what_failed(history: History) -> None:
    history.refused.append(Refused(0, b"1", is_unknown=False, reason="no"))


def _acknowledge_out_of_order(history: History) -> None:
    history.acknowledged.reverse()


def _store_twice(history: History) -> None:
    history.readings[1].records.append(Stored(0, 4, b"3"))


@pytest.mark.parametrize(
    ("spoil", "check"),
    [
        (_lose_the_last, delivery.lost_writes),
        (_show_another_value, delivery.offsets_with_two_values),
        (_skip_an_offset, delivery.gaps),
        (_see_what_goes, delivery.missing_prefixes),
        (_read_what_failed, delivery.refused_writes),
        (_acknowledge_out_of_order, delivery.reordered_writes),
        (_store_twice, delivery.duplicates),
    ],
)
def test_the_check_finds_its_anomaly(
    spoil: Callable[[History], None], check: Callable[[History], list[str]]
) -> None:
    history = clean_history()
    spoil(history)

    assert check(history) != []


def test_an_unknown_outcome_may_be_read_and_a_duplicate_without_idempotence_is_counted() -> None:
    history = clean_history()
    history.is_idempotent = False
    history.refused.append(Refused(0, b"late", is_unknown=True, reason="timed out"))
    history.readings[1].records += [Stored(0, 4, b"late"), Stored(0, 5, b"3")]

    assert delivery.complaints(history) == []
    assert delivery.count_duplicates(history) == 1
