"""Numbers of errors in Kafka's answers, and what clients make of them."""

from __future__ import annotations

import inspect
from typing import Any

import kafka.errors
import pytest

from tidelog.core.errors import RETRIABLE_CODES
from tidelog.node.kafka_apis.error_codes import (
    RETRIED_LATER,
    THROTTLE_MS,
    Place,
    fetch_code,
    kafka_code,
    throttle_ms,
)
from tidelog.v1 import common_pb2
from tidelog.v1.common_pb2 import ErrorCode

_CLASSES: list[Any] = [one for one in vars(kafka.errors).values() if inspect.isclass(one)]
KAFKAS = {
    one.errno: bool(one.retriable) for one in _CLASSES if getattr(one, "errno", None) is not None
}
"""Number to what kafka-python, which is made from Kafka's own list, says of another attempt."""
KAFKAS[128] = False  # INVALID_REGULAR_EXPRESSION, which is newer than the library
UNLIKE_KAFKA = {
    # Another attempt is ours to advise, and is made by ours alone: the outcome is unknown, or the
    # bytes were damaged on their way. Kafka's clients have the record fail, as with Kafka.
    common_pb2.UNKNOWN_SERVER_ERROR,
    common_pb2.CORRUPT_MESSAGE,
    # Results of an election that was asked for: a tool reports them.
    common_pb2.PREFERRED_LEADER_NOT_AVAILABLE,
    common_pb2.ELIGIBLE_LEADERS_NOT_AVAILABLE,
    common_pb2.ELECTION_NOT_NEEDED,
}
FETCH_KNOWS = {
    *("OFFSET_OUT_OF_RANGE", "UNKNOWN_TOPIC_OR_PARTITION", "NOT_LEADER_OR_FOLLOWER"),
    *("KAFKA_STORAGE_ERROR", "FENCED_LEADER_EPOCH", "UNKNOWN_LEADER_EPOCH", "UNKNOWN_TOPIC_ID"),
    *("INCONSISTENT_TOPIC_ID", "UNKNOWN_SERVER_ERROR", "CORRUPT_MESSAGE"),
}
"""Errors that Java's consumer knows in an answer to Fetch; others stop it."""


@pytest.mark.parametrize("place", Place)
@pytest.mark.parametrize("code", ErrorCode.values())
def test_each_error_has_a_number_of_kafka_with_the_advice_of_ours(code: int, place: Place) -> None:
    number = kafka_code(code, place)
    assert number in KAFKAS
    if code in RETRIED_LATER:
        assert (number, KAFKAS[number]) == (place.value, True)
    elif code < 10_000:
        assert number == code
        assert KAFKAS[number] == (code in RETRIABLE_CODES) or code in UNLIKE_KAFKA
    else:
        assert number == common_pb2.UNKNOWN_SERVER_ERROR


def test_the_places_that_are_tried_again_say_that_nothing_was_done() -> None:
    unknown = {common_pb2.REQUEST_TIMED_OUT, common_pb2.NOT_ENOUGH_REPLICAS_AFTER_APPEND}
    assert {place.value for place in Place}.isdisjoint(unknown)
    assert {common_pb2.BROKER_NOT_AVAILABLE, common_pb2.THROTTLING_QUOTA_EXCEEDED} == RETRIED_LATER


@pytest.mark.parametrize(
    "code",
    [
        *(common_pb2.LEADER_NOT_AVAILABLE, common_pb2.THROTTLING_QUOTA_EXCEEDED),
        *(common_pb2.BROKER_NOT_AVAILABLE, common_pb2.OFFSET_OUT_OF_RANGE),
        *(common_pb2.NOT_LEADER_OR_FOLLOWER, common_pb2.UNKNOWN_TOPIC_ID),
        *(common_pb2.KAFKA_STORAGE_ERROR, common_pb2.STALE_ATTEMPT),
    ],
)
def test_what_fetch_answers_stops_no_consumer(code: ErrorCode) -> None:
    assert ErrorCode.Name(ErrorCode.ValueType(fetch_code(code))) in FETCH_KNOWS


def test_a_client_is_asked_to_wait_where_the_broker_is_full() -> None:
    assert throttle_ms({common_pb2.NONE, common_pb2.CORRUPT_MESSAGE}) == 0
    assert throttle_ms({common_pb2.THROTTLING_QUOTA_EXCEEDED}) == THROTTLE_MS
