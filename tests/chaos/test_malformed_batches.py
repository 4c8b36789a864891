"""Corrupt batches: each is refused by what a leader checks, and looks sound only by its CRC."""

from __future__ import annotations

import pytest

from tidelog.chaos.workloads.dice import Dice
from tidelog.chaos.workloads.malformed_batches import (
    corrupt_records,
    damaged_records,
    is_sound,
)
from tidelog.core.errors import TidelogError
from tidelog.log.config import log_config
from tidelog.log.producers import ProducerStates
from tidelog.log.validation import validate_produced
from tidelog.records.batch import BatchHeader
from tidelog.records.records import Record, encode_batch

COUNT = 3_000
NOW_MS = 2_000
GOOD = encode_batch([Record(offset=0, timestamp=1, key=None, value=b"v", headers=())])


def refusal(records: bytes) -> str:
    """The error of a leader that knows no producer; "" when it would append."""
    try:
        batches = validate_produced(records, config=log_config({}, {}), now_ms=NOW_MS)
        headers: list[BatchHeader] = [header for header, _ in batches]
        for header in headers:
            ProducerStates().check(header)
    except TidelogError as error:
        return type(error).__name__
    return ""


def test_every_corrupt_batch_is_refused_by_a_leader() -> None:
    refusals = {refusal(corrupt_records(Dice(1, place))) for place in range(COUNT)}
    assert "" not in refusals
    assert refusals >= {
        *("CorruptMessageError", "MessageTooLargeError", "InvalidRecordError"),
        "InvalidTimestampError",
    }


def test_a_damaged_batch_is_never_sound() -> None:
    assert not any(is_sound(damaged_records(Dice(2, place))) for place in range(COUNT))
    assert any(is_sound(corrupt_records(Dice(2, place))) for place in range(COUNT))


@pytest.mark.parametrize("times", [1, 2])
def test_good_batches_are_sound_and_accepted(times: int) -> None:
    assert is_sound(GOOD * times)
    assert refusal(GOOD * times) == ""
