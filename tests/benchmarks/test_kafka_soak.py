"""A soak of Kafka's clients is judged by what they were told, and by what is there."""

from __future__ import annotations

from typing import Any, cast

from tests.benchmarks.kafka_soak import Killer, verdict
from tests.benchmarks.soak import PLACES, Sampler
from tests.benchmarks.soak_ledger import (
    ACKNOWLEDGED,
    OFFSET_UNKNOWN,
    UNKNOWN,
    Digest,
    Ledger,
    Name,
    Receipt,
)

CLEAN: dict[str, Any] = {"producer_errors": {}, "consumer_errors": {}}


def killer() -> Killer:
    return Killer(cast("Any", None), cast("Any", None), Sampler(), 1)


def judged(
    receipts: list[Receipt], read: list[tuple[int, Name]], told: dict[str, Any] | None = None
) -> dict[str, Any]:
    ledger, digests = Ledger(receipts), [Digest() for _ in PLACES]
    for offset, name in read:
        ledger.read(name.place, offset, name.value(100))
        digests[name.place].add(offset, name.value(100))
    along = [[[one.records, one.crc] for one in digests]]
    told = {"digests": along, **CLEAN} if told is None else told
    return verdict(killer(), Sampler(), ledger, digests, told)


FIRST, SECOND = Name(0, 0, 0), Name(0, 0, 1)
ACKED = [Receipt(FIRST, 0, ACKNOWLEDGED), Receipt(SECOND, 1, ACKNOWLEDGED)]


def test_what_was_acknowledged_and_is_there_once_in_order_is_no_violation() -> None:
    found = judged(ACKED, [(0, FIRST), (1, SECOND)])
    assert (found["acknowledged"], found["violations"]) == (2, 0)


def test_each_promise_that_is_broken_is_a_violation() -> None:
    assert judged(ACKED, [(0, FIRST)])["lost"] == 1
    assert judged(ACKED, [(0, FIRST), (1, SECOND), (2, FIRST)])["duplicated"] == 1
    assert judged([], [(0, FIRST)])["unwritten"] == 1
    for receipts, read in ((ACKED, [(0, FIRST)]), ([], [(0, FIRST)])):
        assert judged(receipts, read)["violations"]


def test_a_producer_that_met_an_error_or_was_told_nothing_is_a_violation() -> None:
    read = [(0, FIRST), (1, SECOND)]
    unknown = [ACKED[0], Receipt(SECOND, OFFSET_UNKNOWN, UNKNOWN)]
    assert judged(unknown, read)["violations"] == 1
    along = judged(ACKED, read)
    assert along["violations"] == 0
    assert judged(ACKED, read, {})["violations"]


def test_a_consumer_that_read_anything_else_along_the_way_is_a_violation() -> None:
    told = {"digests": [[[0, 0] for _ in PLACES]], **CLEAN}
    assert judged(ACKED, [(0, FIRST), (1, SECOND)], told)["read_along_differs"] == 1
