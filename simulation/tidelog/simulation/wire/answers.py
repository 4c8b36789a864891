"""Errors in answers as Kafka's clients take them: which pass, and what may be stored. Pure."""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from tidelog.v1 import common_pb2
from tidelog.v1.common_pb2 import ErrorCode

OUT_OF_ORDER = common_pb2.OUT_OF_ORDER_SEQUENCE_NUMBER
LISTENER_NOT_FOUND, OFFSET_NOT_AVAILABLE = 72, 78

RETRIED = frozenset(
    {
        common_pb2.CORRUPT_MESSAGE,
        common_pb2.UNKNOWN_TOPIC_OR_PARTITION,
        common_pb2.LEADER_NOT_AVAILABLE,
        common_pb2.NOT_LEADER_OR_FOLLOWER,
        common_pb2.REQUEST_TIMED_OUT,
        common_pb2.NOT_ENOUGH_REPLICAS,
        common_pb2.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        common_pb2.COORDINATOR_LOAD_IN_PROGRESS,
        common_pb2.COORDINATOR_NOT_AVAILABLE,
        common_pb2.NOT_COORDINATOR,
        common_pb2.KAFKA_STORAGE_ERROR,
        common_pb2.FENCED_LEADER_EPOCH,
        common_pb2.UNKNOWN_LEADER_EPOCH,
        OFFSET_NOT_AVAILABLE,
        common_pb2.UNKNOWN_TOPIC_ID,
        LISTENER_NOT_FOUND,
    }
)
"""Errors that Kafka's clients try again, after new metadata."""
MAY_BE_STORED = frozenset(
    {common_pb2.REQUEST_TIMED_OUT, common_pb2.NOT_ENOUGH_REPLICAS_AFTER_APPEND}
)
"""Errors of Produce upon which the records may have been appended."""


def name(code: int) -> str:
    """An error's name, for people."""
    try:
        return ErrorCode.Name(code)
    except ValueError:
        return str(code)
