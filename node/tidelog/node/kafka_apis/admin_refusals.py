"""Refusals of administration in Kafka's numbers, with their messages. Pure.

A command that no controller took is answered NOT_CONTROLLER, which Kafka's clients send again; one
whose outcome is unknown REQUEST_TIMED_OUT, as in Kafka.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable
from typing import NamedTuple, TypeVar

from tidelog.node.kafka_apis.error_codes import Place, kafka_code
from tidelog.v1 import common_pb2
from tidelog.v1.common_pb2 import Error, ErrorCode

T = TypeVar("T", bound=Hashable)


class Refusal(NamedTuple):
    """An error's number and message, in the order of the fields of Kafka's messages."""

    code: int
    message: str | None


def refusal(error: Error) -> Refusal:
    """Return an error of a command; NONE has no message."""
    return Refusal(kafka_code(error.code, Place.CONTROLLER), error.message or None)


def refused(code: ErrorCode, message: str) -> Refusal:
    """Return an error that was found by the adapter itself."""
    return Refusal(kafka_code(code, Place.CONTROLLER), message)


def invalid(message: str) -> Refusal:
    """Return an INVALID_REQUEST, upon which clients do not ask again."""
    return refused(common_pb2.INVALID_REQUEST, message)


def too_many(count: int, most: int, what: str) -> Refusal | None:
    """Return an INVALID_REQUEST for a request that names more than `most`; None: it does not."""
    return invalid(f"{count} {what} in one request: send at most {most}") if count > most else None


def given_time_ms(timeout_ms: int) -> int:
    """Time of a command in our form, where 0 is the server's own limit: at least a millisecond."""
    return max(1, timeout_ms)


def named_twice(names: Iterable[T]) -> set[T]:
    """Return those that stand more than once in a request."""
    return {one for one, count in Counter(names).items() if count > 1}
