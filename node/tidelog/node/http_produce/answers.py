"""Answers to a POST: the status of an error, and records and errors as JSON. Pure.

200   {"topic": "t", "offsets": [{"partition": 0, "offset": 7}, …]}, in the body's order
else  {"error": "UNKNOWN_TOPIC_OR_PARTITION", "code": 3, "message": …, "retriable": …,
       "outcome_unknown": …}; with "topic" and "offsets" if some records were sent: each has its
       place or its own error
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tidelog.client.errors import ClientClosedError
from tidelog.client.records import RecordMetadata
from tidelog.core.errors import TidelogError, code_name
from tidelog.node.http_produce.records import UnsupportedMediaTypeError
from tidelog.v1 import common_pb2
from tidelog.v1.common_pb2 import ErrorCode

Outcome = RecordMetadata | TidelogError

_STATUSES: dict[ErrorCode, int] = {
    common_pb2.INVALID_REQUEST: 400,
    common_pb2.INVALID_RECORD: 400,
    common_pb2.INVALID_TOPIC: 400,
    common_pb2.INVALID_TIMESTAMP: 400,
    common_pb2.CLUSTER_AUTHORIZATION_FAILED: 403,
    common_pb2.UNKNOWN_TOPIC_OR_PARTITION: 404,
    common_pb2.UNKNOWN_TOPIC_ID: 404,
    common_pb2.MESSAGE_TOO_LARGE: 413,
    common_pb2.REQUEST_TIMED_OUT: 504,
}


class SlowBodyError(TidelogError):
    """A body that was not there in time; nothing was sent."""

    code = common_pb2.REQUEST_TIMED_OUT
    is_retriable = True


class Answer(NamedTuple):
    """Status and JSON object of an answer."""

    status: int
    body: dict[str, object]


def status_of(error: TidelogError) -> int:
    """The HTTP status: 4xx for what the sender must change, 5xx for what may pass."""
    match error:
        case UnsupportedMediaTypeError():
            return 415
        case SlowBodyError():
            return 408
        case ClientClosedError():
            return 503  # the node stops
        case _:
            return _STATUSES.get(error.code, 503 if error.is_retriable else 500)


def refusal(error: TidelogError) -> Answer:
    """The answer to a request of which nothing was sent."""
    return Answer(status_of(error), _fields(error))


def answer_for(topic: str, outcomes: Sequence[Outcome]) -> Answer:
    """The answer to records that were sent; the first that failed gives the status."""
    body: dict[str, object] = {"topic": topic, "offsets": [_place(one) for one in outcomes]}
    failed = next((one for one in outcomes if isinstance(one, TidelogError)), None)
    if failed is None:
        return Answer(200, body)
    return Answer(status_of(failed), {**_fields(failed), **body})


def _place(outcome: Outcome) -> dict[str, object]:
    if isinstance(outcome, TidelogError):
        return _fields(outcome)
    return {"partition": outcome.partition, "offset": outcome.offset}


def _fields(error: TidelogError) -> dict[str, object]:
    return {
        "error": code_name(error.code),
        "code": int(error.code),
        "message": error.message,
        "retriable": error.is_retriable,
        "outcome_unknown": error.is_outcome_unknown,
    }
