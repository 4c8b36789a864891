"""Errors as numbers in Kafka's answers. Pure.

Our codes have Kafka's numbers, but the advice of a few is another one to Kafka's clients: final
where we mean that a later attempt may succeed. There an answer has a number that all of them try
again. Codes that Kafka lacks, from 10,000 on, do not leave the cluster.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Collection
from enum import Enum

from tidelog.v1 import common_pb2
from tidelog.v1.common_pb2 import ErrorCode

# Kafka's codes that only its protocol needs here.
UNSUPPORTED_VERSION = 35
TRANSACTIONAL_ID_AUTHORIZATION_FAILED = 53
FETCH_SESSION_ID_NOT_FOUND = 70
LISTENER_NOT_FOUND = 72
MISMATCHED_ENDPOINT_TYPE = 114
UNSUPPORTED_ENDPOINT_TYPE = 115

THROTTLE_MS = 100
"""Time that a client is asked to wait where the broker is full, milliseconds."""


class Place(Enum):
    """Places of errors in answers; the value is the code there that every client tries again.

    None of these says that a request may have been carried out.
    """

    TOPIC = common_pb2.LEADER_NOT_AVAILABLE
    PARTITION = common_pb2.NOT_LEADER_OR_FOLLOWER
    COORDINATOR = common_pb2.COORDINATOR_LOAD_IN_PROGRESS
    CONTROLLER = common_pb2.NOT_CONTROLLER


RETRIED_LATER = frozenset({common_pb2.BROKER_NOT_AVAILABLE, common_pb2.THROTTLING_QUOTA_EXCEEDED})
"""Codes that Kafka's clients take for final, at least where these requests are answered."""
OWN_CODES_FROM = common_pb2.STALE_ATTEMPT
"""First of the codes that Kafka lacks."""


def kafka_code(code: ErrorCode | int, place: Place) -> int:
    """Return the number for an answer; a code that Kafka lacks is UNKNOWN_SERVER_ERROR."""
    if code in RETRIED_LATER:
        return int(place.value)
    return code if code < OWN_CODES_FROM else common_pb2.UNKNOWN_SERVER_ERROR


def fetch_code(code: ErrorCode | int) -> int:
    """The same for Fetch, where Java's consumer stops at codes that Kafka never answers there."""
    if code == common_pb2.LEADER_NOT_AVAILABLE:
        return common_pb2.NOT_LEADER_OR_FOLLOWER
    return kafka_code(code, Place.PARTITION)


def throttle_ms(codes: Collection[ErrorCode]) -> int:
    """Time to wait that an answer with these codes of ours asks for, milliseconds."""
    return THROTTLE_MS if not RETRIED_LATER.isdisjoint(codes) else 0
