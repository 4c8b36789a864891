"""Calls of members to their coordinator, as lines of the timeline, for people."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from google.protobuf.message import Message

from tidelog.v1 import common_pb2
from tidelog.v1.coordinator_pb2 import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
)
from tidelog.v1.coordinator_records_pb2 import TopicPartitions

ID_CHARACTERS = 6


def describe_call(request: object, response: object) -> str | None:
    """Describe a call's request, or its response once there is one; None: it is not of a group."""
    match request, response:
        case OffsetCommitRequest(), OffsetCommitResponse():
            return f"commit {request.sequence} of {_id(request)}: {_outcome(response)}"
        case OffsetCommitRequest(), None:
            return f"commit {request.sequence} of {_id(request)} {' '.join(_offsets(request))}"
        case OffsetFetchRequest(), OffsetFetchResponse():
            return f"look-up: {_outcome(response)} {' '.join(_offsets(response))}"
        case ConsumerGroupHeartbeatRequest(), ConsumerGroupHeartbeatResponse():
            return f"to {_id(request)}: {_heartbeat_answer(response)}"
        case ConsumerGroupHeartbeatRequest(), None:
            owned = _partitions(request.owned.topics)
            what = f"version {request.assignment_version} owns {owned}"
            return f"heartbeat {request.sequence} of {_id(request)} {what}"
    return None


def _id(request: OffsetCommitRequest | ConsumerGroupHeartbeatRequest) -> str:
    return f"{request.member_id[:ID_CHARACTERS]}@{request.member_epoch}"


def _heartbeat_answer(response: ConsumerGroupHeartbeatResponse) -> str:
    what = f"{response.sequence or 'push'} {_outcome(response)} epoch {response.member_epoch}"
    if not response.HasField("assignment"):
        return what
    partitions = _partitions(response.assignment.topics)
    return f"{what} version {response.assignment_version} {partitions}"


def _partitions(topics: Iterable[TopicPartitions]) -> str:
    found = (f"{one.topic_id.hex()[:4]}-{number}" for one in topics for number in one.partitions)
    return f"[{' '.join(found)}]"


def _offsets(message: OffsetCommitRequest | OffsetFetchResponse) -> Iterator[str]:
    for topic in message.topics:
        for one in topic.partitions:
            yield f"{topic.topic}-{one.partition}={one.offset}"


def _outcome(response: Message) -> str:
    error = response.error  # type: ignore[attr-defined]  # each answer has one
    first = [
        one.error.code
        for topic in getattr(response, "topics", ())
        for one in topic.partitions
        if one.error.code
    ]
    return common_pb2.ErrorCode.Name(error.code or (first[0] if first else 0))
