"""Error codes are Kafka's, each has a class, and the advice of each is what callers rely on."""

from __future__ import annotations

import inspect
import pickle
import re
from types import ModuleType
from typing import Any

import aiokafka.errors
import kafka.errors
import pytest

from tidelog.core.errors import (
    KAFKA_ERRORS,
    OUTCOME_UNKNOWN_CODES,
    RETRIABLE_CODES,
    CorruptMessageError,
    KafkaError,
    TopicAlreadyExistsError,
    code_name,
    error_for,
)
from tidelog.v1 import common_pb2
from tidelog.v1.common_pb2 import ErrorCode

OWN_CODES_FROM = 10_000
OTHER_NAMES = {
    "UNKNOWN": "UNKNOWN_SERVER_ERROR",
    "NO_ERROR": "NONE",
    "NOT_LEADER_FOR_PARTITION": "NOT_LEADER_OR_FOLLOWER",
    "MESSAGE_SIZE_TOO_LARGE": "MESSAGE_TOO_LARGE",
    "INVALID_REPLICATION_ASSIGNMENT": "INVALID_REPLICA_ASSIGNMENT",
}
"""Names that kafka-python gives to codes otherwise than Kafka's protocol page."""
LATER_THAN_KAFKA_PYTHON = {"INVALID_REGULAR_EXPRESSION": 128}
OTHER_CLASS_NAMES = {"OUT_OF_ORDER_SEQUENCE_NUMBER": "OutOfOrderSequenceError"}
RETRIABLE = """
    UNKNOWN_SERVER_ERROR CORRUPT_MESSAGE UNKNOWN_TOPIC_OR_PARTITION LEADER_NOT_AVAILABLE
    NOT_LEADER_OR_FOLLOWER REQUEST_TIMED_OUT BROKER_NOT_AVAILABLE NOT_ENOUGH_REPLICAS
    NOT_ENOUGH_REPLICAS_AFTER_APPEND NOT_CONTROLLER KAFKA_STORAGE_ERROR FENCED_LEADER_EPOCH
    UNKNOWN_LEADER_EPOCH THROTTLING_QUOTA_EXCEEDED UNKNOWN_TOPIC_ID INCONSISTENT_TOPIC_ID
    COORDINATOR_LOAD_IN_PROGRESS COORDINATOR_NOT_AVAILABLE NOT_COORDINATOR UNSTABLE_OFFSET_COMMIT
    CONCURRENT_TRANSACTIONS
"""
OUTCOME_UNKNOWN = "UNKNOWN_SERVER_ERROR REQUEST_TIMED_OUT NOT_ENOUGH_REPLICAS_AFTER_APPEND"


def codes_in(module: ModuleType) -> dict[str, int]:
    """Name and number of every code that a client library has a class for."""
    classes: list[Any] = [one for one in vars(module).values() if inspect.isclass(one)]  # untyped
    named = {one.message: one.errno for one in classes if getattr(one, "errno", None) is not None}
    return {OTHER_NAMES.get(name, name): number for name, number in named.items()}


def codes_of(names: str) -> set[ErrorCode]:
    return {code for code in KAFKA_ERRORS if ErrorCode.Name(code) in names.split()}


def test_codes_are_those_of_kafka_and_our_own_begin_at_ten_thousand() -> None:
    codes = codes_in(kafka.errors) | LATER_THAN_KAFKA_PYTHON
    assert len(codes) > 100
    expected = {name: codes.get(name, OWN_CODES_FROM) for name, _ in ErrorCode.items()}
    found = {name: min(number, OWN_CODES_FROM) for name, number in ErrorCode.items()}
    assert found == expected
    assert [name for name in found if found[name] == OWN_CODES_FROM] == ["STALE_ATTEMPT"]


def test_aiokafka_has_the_same_numbers_for_the_codes_it_knows() -> None:
    codes = codes_in(aiokafka.errors)
    shared = {name: number for name, number in ErrorCode.items() if name in codes}
    assert len(shared) > 20
    assert shared == {name: codes[name] for name in shared}


def test_each_code_but_none_has_one_class_named_after_it() -> None:
    assert set(KAFKA_ERRORS) == set(ErrorCode.values()) - {common_pb2.NONE}
    for code, cls in KAFKA_ERRORS.items():
        name = ErrorCode.Name(code)
        derived = re.sub("ErrorError$", "Error", name.title().replace("_", "") + "Error")
        assert cls.__name__ == OTHER_CLASS_NAMES.get(name, derived)
        assert cls.__doc__


def test_advice_is_the_one_callers_rely_on() -> None:
    assert codes_of(RETRIABLE) == RETRIABLE_CODES
    assert codes_of(OUTCOME_UNKNOWN) == OUTCOME_UNKNOWN_CODES


@pytest.mark.parametrize("code", sorted(KAFKA_ERRORS), ids=code_name)
def test_an_answer_becomes_an_error_of_its_class_with_its_advice(code: ErrorCode) -> None:
    error = error_for(code, "why")
    assert type(error) is KAFKA_ERRORS[code]
    assert isinstance(error, KafkaError)
    assert (error.code, error.message, str(error)) == (code, "why", "why")
    assert error.is_retriable is (code in RETRIABLE_CODES)
    assert error.is_outcome_unknown is (code in OUTCOME_UNKNOWN_CODES)


def test_a_batch_found_corrupt_here_stays_so_and_one_that_a_broker_refuses_may_be_sent_again() -> (
    None
):
    assert not CorruptMessageError("on this side").is_retriable
    assert error_for(common_pb2.CORRUPT_MESSAGE, "at the broker").is_retriable


def test_a_code_that_this_version_lacks_is_kept_and_never_retried() -> None:
    later: ErrorCode = 12_345  # type: ignore[assignment]  # as a newer broker may answer
    error = error_for(later, "new")
    assert type(error) is KafkaError
    assert (error.code, error.is_retriable) == (12_345, False)
    assert repr(error) == "KafkaError(12345, 'new')"


def test_repr_names_the_code() -> None:
    assert repr(TopicAlreadyExistsError("topic 't' exists")) == (
        "TopicAlreadyExistsError(TOPIC_ALREADY_EXISTS, \"topic 't' exists\")"
    )


@pytest.mark.parametrize("code", sorted(KAFKA_ERRORS), ids=code_name)
def test_errors_travel_between_processes(code: ErrorCode) -> None:
    error = error_for(code, "why")
    again = pickle.loads(pickle.dumps(error))  # what was written on the line
    assert (type(again), vars(again), again.args) == (type(error), vars(error), error.args)
