"""Leader epochs: KIP-101 and KIP-279 look-ups, KAFKA-10706 truncation."""

from __future__ import annotations

import pytest

from tidelog.core.errors import CorruptMessageError
from tidelog.log.epochs import EpochCache, EpochEntry


def cache(*pairs: tuple[int, int]) -> EpochCache:
    return EpochCache(EpochEntry(*pair) for pair in pairs)


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        (1, (1, 0)),
        (2, (2, 40)),
        (3, (2, 40)),
        (4, (2, 40)),
        (5, (5, 70)),
        (7, (7, 90)),
        (9, (7, 90)),
    ],
)
def test_the_largest_epoch_not_above_the_asked_one_and_its_end(
    asked: int, answer: tuple[int, int]
) -> None:
    assert cache((2, 0), (5, 40), (7, 70)).end_offset_for(asked, log_end_offset=90) == answer


def test_without_epochs_the_answer_is_none_and_the_log_end() -> None:
    assert cache().end_offset_for(3, log_end_offset=0) == (-1, 0)
    assert cache().latest_epoch == -1


def test_an_epoch_keeps_its_first_offset() -> None:
    epochs = cache((1, 0))
    epochs.assign(1, 10)
    epochs.assign(2, 20)
    epochs.assign(2, 25)
    assert list(epochs.entries) == [(1, 0), (2, 20)]


def test_an_epoch_without_records_makes_way() -> None:
    epochs = cache((1, 0), (5, 20))
    epochs.assign(4, 20)
    assert list(epochs.entries) == [(1, 0), (4, 20)]


def test_epochs_never_decrease_along_the_log() -> None:
    epochs = cache((1, 0), (5, 20))
    with pytest.raises(CorruptMessageError):
        epochs.assign(4, 21)
    with pytest.raises(CorruptMessageError):
        epochs.assign(-1, 0)
    assert list(epochs.entries) == [(1, 0), (5, 20)]


def test_truncation_forgets_what_begins_at_or_after_the_end() -> None:
    epochs = cache((1, 0), (2, 10), (3, 20))
    epochs.truncate_from_end(11)
    assert list(epochs.entries) == [(1, 0), (2, 10)]
    epochs.truncate_from_end(10)
    assert list(epochs.entries) == [(1, 0)]
