"""Requests and answers of the classic group protocol as messages of a version. Pure.

Errors are compared with those that Kafka's clients know in each answer: `UnknownAnswerError`.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from tidelog.broker.coordinator.classic_messages import (
    HeartbeatRequest,
    JoinAnswer,
    JoinedMember,
    JoinRequest,
    LeaveRequest,
    MemberIdGivenError,
    SyncAnswer,
    SyncRequest,
)
from tidelog.broker.coordinator.committer import Committer
from tidelog.broker.coordinator.offsets import CommittedOffset
from tidelog.core.chance import SeededRandom
from tidelog.core.errors import error_for
from tidelog.kafka.messages import heartbeat_request, join_group_request, leave_group_request
from tidelog.kafka.messages.find_coordinator_request import FindCoordinatorRequest
from tidelog.kafka.messages.find_coordinator_response import FindCoordinatorResponse
from tidelog.kafka.messages.join_group_response import JoinGroupResponse
from tidelog.kafka.messages.leave_group_response import LeaveGroupResponse
from tidelog.kafka.messages.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from tidelog.kafka.messages.offset_commit_response import OffsetCommitResponse
from tidelog.kafka.messages.offset_fetch_request import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from tidelog.kafka.messages.offset_fetch_response import (
    OffsetFetchResponse,
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
)
from tidelog.kafka.messages.sync_group_request import SyncGroupRequest, SyncGroupRequestAssignment
from tidelog.kafka.messages.sync_group_response import SyncGroupResponse
from tidelog.simulation.wire.answers import name
from tidelog.v1 import common_pb2

OFFSET_COMMIT, OFFSET_FETCH, FIND_COORDINATOR = 8, 9, 10
JOIN_GROUP, HEARTBEAT, LEAVE_GROUP, SYNC_GROUP = 11, 12, 13, 14
KEYS_FROM, GROUPS_FROM, SEVERAL_LEAVE_FROM, TOPIC_IDS_FROM = 4, 8, 3, 10
STATIC_FROM = {JOIN_GROUP: 5, SYNC_GROUP: 3, HEARTBEAT: 3, LEAVE_GROUP: 3, OFFSET_COMMIT: 7}
"""First versions that name a static member (KIP-345)."""
VERSIONS = {
    OFFSET_COMMIT: range(2, 11),
    OFFSET_FETCH: range(1, 11),
    FIND_COORDINATOR: range(7),
    JOIN_GROUP: range(10),
    HEARTBEAT: range(5),
    LEAVE_GROUP: range(6),
    SYNC_GROUP: range(6),
}

_MOVED = {common_pb2.COORDINATOR_NOT_AVAILABLE, common_pb2.NOT_COORDINATOR}
_LOADING = {common_pb2.COORDINATOR_LOAD_IN_PROGRESS}
_MEMBER = {common_pb2.UNKNOWN_MEMBER_ID, common_pb2.FENCED_INSTANCE_ID}
_ROUND = {common_pb2.REBALANCE_IN_PROGRESS, common_pb2.ILLEGAL_GENERATION}
_TOPIC = {common_pb2.UNKNOWN_TOPIC_OR_PARTITION, common_pb2.UNKNOWN_TOPIC_ID}
KNOWN: Mapping[int, frozenset[int]] = {
    FIND_COORDINATOR: frozenset(_MOVED | _LOADING),
    JOIN_GROUP: frozenset(_MOVED | _LOADING | _MEMBER | {common_pb2.MEMBER_ID_REQUIRED}),
    SYNC_GROUP: frozenset(_MOVED | _MEMBER | _ROUND),
    HEARTBEAT: frozenset(_MOVED | _MEMBER | _ROUND),
    LEAVE_GROUP: frozenset(_MOVED | _LOADING | _MEMBER),
    OFFSET_COMMIT: frozenset(_MOVED | _LOADING | _MEMBER | _ROUND | _TOPIC),
    OFFSET_FETCH: frozenset(_MOVED | _LOADING | _TOPIC),
}
"""Errors by API that Kafka's clients know there, of those that may come here."""

Fetched: TypeAlias = OffsetFetchResponsePartition | OffsetFetchResponsePartitions


class UnknownAnswerError(Exception):
    """An answer that Kafka's clients do not know, and why."""


@dataclass(frozen=True, slots=True)
class GroupTopic:
    """A group, and the topic that it reads."""

    group_id: str
    name: str
    topic_id: bytes


def draw_versions(
    random: SeededRandom, *, is_static: bool, knows_static: bool, has_ids: bool
) -> Mapping[int, int]:
    """Draw a member's versions by the keys of the APIs.

    `knows_static`: as a leader it is told the instance ids of others. `has_ids`: it knows those of
    topics.
    """
    starts = {key: served.start for key, served in VERSIONS.items()}
    stops = {key: served.stop for key, served in VERSIONS.items()}
    if knows_static:
        starts[JOIN_GROUP] = STATIC_FROM[JOIN_GROUP]
    if is_static:
        starts |= STATIC_FROM
    if not has_ids:
        stops |= {OFFSET_COMMIT: TOPIC_IDS_FROM, OFFSET_FETCH: TOPIC_IDS_FROM}
    return {key: random.randrange(starts[key], stops[key]) for key in VERSIONS}


def check(key: int, code: int) -> None:
    """Raise the error of an answer; one that has no place there is an `UnknownAnswerError`."""
    if code == common_pb2.NONE:
        return
    if code not in KNOWN[key]:
        raise UnknownAnswerError(f"API {key}: {name(code)}")
    raise error_for(code, f"API {key}")  # type: ignore[arg-type]  # a number


# Coordinators


def find_request(group_id: str, version: int) -> FindCoordinatorRequest:
    """Ask for a group's coordinator."""
    if version < KEYS_FROM:
        return FindCoordinatorRequest(key=group_id)
    return FindCoordinatorRequest(coordinator_keys=[group_id])


def found(answer: FindCoordinatorResponse, version: int) -> str:
    """Address of the coordinator."""
    if version < KEYS_FROM:
        check(FIND_COORDINATOR, answer.error_code)
        return f"{answer.host}:{answer.port}"
    if len(answer.coordinators) != 1:
        raise UnknownAnswerError(f"{len(answer.coordinators)} coordinators of one group")
    (one,) = answer.coordinators
    check(FIND_COORDINATOR, one.error_code)
    return f"{one.host}:{one.port}"


# Members


def join_request(group_id: str, request: JoinRequest) -> join_group_request.JoinGroupRequest:
    """Join."""
    return join_group_request.JoinGroupRequest(
        group_id=group_id,
        session_timeout_ms=request.session_timeout_ms,
        rebalance_timeout_ms=request.rebalance_timeout_ms,
        member_id=request.member_id,
        group_instance_id=request.instance_id,
        protocol_type=request.protocol_type,
        protocols=[join_group_request.JoinGroupRequestProtocol(*one) for one in request.protocols],
    )


def joined(request: JoinRequest, answer: JoinGroupResponse) -> JoinAnswer:
    """Read an answer to a join; it is for the member that asked."""
    if answer.error_code == common_pb2.MEMBER_ID_REQUIRED:
        raise MemberIdGivenError("join again", answer.member_id)
    check(JOIN_GROUP, answer.error_code)
    if not answer.member_id or request.member_id not in ("", answer.member_id):
        raise UnknownAnswerError(f"{request.member_id!r} joined as {answer.member_id!r}")
    members = (
        JoinedMember(one.member_id, one.group_instance_id, one.metadata) for one in answer.members
    )
    return JoinAnswer(
        answer.member_id,
        answer.generation_id,
        answer.protocol_type or request.protocol_type,
        answer.protocol_name or "",
        answer.leader,
        tuple(members),
        answer.skip_assignment,
    )


def sync_request(group_id: str, request: SyncRequest) -> SyncGroupRequest:
    """Ask for the assignment, and bring those of all."""
    return SyncGroupRequest(
        group_id=group_id,
        generation_id=request.generation,
        member_id=request.member_id,
        group_instance_id=request.instance_id,
        protocol_type=request.protocol_type,
        protocol_name=request.protocol,
        assignments=[SyncGroupRequestAssignment(*one) for one in request.assignments.items()],
    )


def synced(request: SyncRequest, answer: SyncGroupResponse) -> SyncAnswer:
    """Read an answer to a sync."""
    check(SYNC_GROUP, answer.error_code)
    return SyncAnswer(
        answer.protocol_type or request.protocol_type or "",
        answer.protocol_name or request.protocol or "",
        answer.assignment,
    )


def heartbeat_message(
    group_id: str, request: HeartbeatRequest
) -> heartbeat_request.HeartbeatRequest:
    """Be alive."""
    return heartbeat_request.HeartbeatRequest(
        group_id=group_id,
        generation_id=request.generation,
        member_id=request.member_id,
        group_instance_id=request.instance_id,
    )


def leave_message(
    group_id: str, request: LeaveRequest, version: int
) -> leave_group_request.LeaveGroupRequest:
    """Leave."""
    if version < SEVERAL_LEAVE_FROM:
        (only,) = request.members
        return leave_group_request.LeaveGroupRequest(group_id=group_id, member_id=only.member_id)
    members = [leave_group_request.MemberIdentity(*one) for one in request.members]
    return leave_group_request.LeaveGroupRequest(group_id=group_id, members=members)


def check_left(answer: LeaveGroupResponse) -> None:
    """Raise the error of an answer to a leave."""
    check(LEAVE_GROUP, answer.error_code)
    for one in answer.members:
        check(LEAVE_GROUP, one.error_code)


# Offsets


def commit_request(
    of: GroupTopic, by: Committer, partition: int, committed: CommittedOffset, version: int
) -> OffsetCommitRequest:
    """Commit an offset of a partition."""
    part = OffsetCommitRequestPartition(
        partition_index=partition,
        committed_offset=committed.offset,
        committed_leader_epoch=committed.leader_epoch,
        committed_metadata=committed.metadata,
    )
    topic_id = of.topic_id if version >= TOPIC_IDS_FROM else bytes(16)
    return OffsetCommitRequest(
        group_id=of.group_id,
        generation_id_or_member_epoch=by.epoch,
        member_id=by.member_id,
        group_instance_id=by.instance_id,
        topics=[OffsetCommitRequestTopic(name=of.name, topic_id=topic_id, partitions=[part])],
    )


def committed_codes(answer: OffsetCommitResponse) -> Mapping[int, int]:
    """Error of each partition in an answer to a commit."""
    return {
        one.partition_index: one.error_code for topic in answer.topics for one in topic.partitions
    }


def fetch_request(of: GroupTopic, partitions: Sequence[int], version: int) -> OffsetFetchRequest:
    """Look committed offsets up."""
    numbers = list(partitions)
    if version < GROUPS_FROM:
        topics = [OffsetFetchRequestTopic(of.name, numbers)]
        return OffsetFetchRequest(group_id=of.group_id, topics=topics)
    topic_id = of.topic_id if version >= TOPIC_IDS_FROM else bytes(16)
    topic = OffsetFetchRequestTopics(name=of.name, topic_id=topic_id, partition_indexes=numbers)
    group = OffsetFetchRequestGroup(of.group_id, None, -1, [topic])
    return OffsetFetchRequest(groups=[group], require_stable=True)


def fetched(answer: OffsetFetchResponse, version: int) -> Mapping[int, Fetched]:
    """Offsets of an answer to a look-up by partition; raises the error of the whole."""
    if version < GROUPS_FROM:
        check(OFFSET_FETCH, answer.error_code)
        return {one.partition_index: one for topic in answer.topics for one in topic.partitions}
    if len(answer.groups) != 1:
        raise UnknownAnswerError(f"offsets of {len(answer.groups)} groups, of one asked for")
    (group,) = answer.groups
    check(OFFSET_FETCH, group.error_code)
    return {one.partition_index: one for topic in group.topics for one in topic.partitions}
