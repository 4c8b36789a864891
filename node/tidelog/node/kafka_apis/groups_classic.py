"""JoinGroup, SyncGroup, Heartbeat and LeaveGroup: members of the classic protocol.

A join and a sync wait for the group; their connection waits with them, and when it ends the member
has its session to come back.
"""

from __future__ import annotations

from tidelog.broker.coordinator.classic_calls import ClassicCalls
from tidelog.broker.coordinator.classic_messages import (
    HeartbeatRequest as Beat,
)
from tidelog.broker.coordinator.classic_messages import (
    JoinAnswer,
    JoinRequest,
    LeaveRequest,
    LeavingMember,
    MemberIdGivenError,
    MemberProtocol,
    SyncRequest,
)
from tidelog.core.errors import TidelogError
from tidelog.core.turns import PER_PIECE, in_turns
from tidelog.kafka.messages.heartbeat_request import HeartbeatRequest
from tidelog.kafka.messages.heartbeat_response import HeartbeatResponse
from tidelog.kafka.messages.join_group_request import JoinGroupRequest
from tidelog.kafka.messages.join_group_response import JoinGroupResponse, JoinGroupResponseMember
from tidelog.kafka.messages.leave_group_request import LeaveGroupRequest
from tidelog.kafka.messages.leave_group_response import LeaveGroupResponse, MemberResponse
from tidelog.kafka.messages.sync_group_request import SyncGroupRequest
from tidelog.kafka.messages.sync_group_response import SyncGroupResponse
from tidelog.node.handlers.group_codec import host_of
from tidelog.node.kafka_apis.groups_errors import group_code, heartbeat_code, sync_code
from tidelog.node.kafka_apis.served import ApiCall
from tidelog.v1 import common_pb2

REQUIRED_ID_FROM = 4
"""First version of JoinGroup whose clients join again with the id that they are given (KIP-394)."""
NULL_PROTOCOL_FROM = 7
"""First version of JoinGroup whose answer may lack the protocol's name."""
SKIPPED_ASSIGNMENT_FROM = 9
"""First version of JoinGroup that tells a leader to assign nothing (KIP-814)."""
PROTOCOL_SAID_FROM = 5
"""First version of SyncGroup in which a member has to name its protocol (KIP-559)."""
SEVERAL_LEAVE_FROM = 3
"""First version of LeaveGroup that names several members (KIP-345)."""


class JoinGroupHandler:
    """Handler of JoinGroup."""

    def __init__(self, classic: ClassicCalls) -> None:
        self._classic = classic

    async def __call__(self, request: JoinGroupRequest, call: ApiCall) -> JoinGroupResponse:
        """See `ApiHandler`."""
        try:
            answer = await self._classic.join(request.group_id, _join(request, call))
        except MemberIdGivenError as error:
            return _not_joined(error.member_id, error, call.version)
        except TidelogError as error:
            return _not_joined(request.member_id, error, call.version)
        return _joined(answer)


def _join(request: JoinGroupRequest, call: ApiCall) -> JoinRequest:
    return JoinRequest(
        protocol_type=request.protocol_type,
        protocols=tuple(MemberProtocol(one.name, one.metadata) for one in request.protocols),
        session_timeout_ms=request.session_timeout_ms,
        rebalance_timeout_ms=request.rebalance_timeout_ms,
        member_id=request.member_id,
        instance_id=request.group_instance_id,
        client_id=call.call.client_id,
        host=host_of(call.call.connection),
        reason=request.reason or "",
        knows_required_id=call.version >= REQUIRED_ID_FROM,
        knows_skipped_assignment=call.version >= SKIPPED_ASSIGNMENT_FROM,
    )


def _joined(answer: JoinAnswer) -> JoinGroupResponse:
    return JoinGroupResponse(
        generation_id=answer.generation,
        protocol_type=answer.protocol_type,
        protocol_name=answer.protocol,
        leader=answer.leader,
        skip_assignment=answer.skip_assignment,
        member_id=answer.member_id,
        members=[JoinGroupResponseMember(*one) for one in answer.members],
    )


def _not_joined(member_id: str, error: TidelogError, version: int) -> JoinGroupResponse:
    return JoinGroupResponse(
        error_code=group_code(error),
        protocol_name=None if version >= NULL_PROTOCOL_FROM else "",
        member_id=member_id,
    )


class SyncGroupHandler:
    """Handler of SyncGroup."""

    def __init__(self, classic: ClassicCalls) -> None:
        self._classic = classic

    async def __call__(self, request: SyncGroupRequest, call: ApiCall) -> SyncGroupResponse:
        """See `ApiHandler`."""
        names = request.protocol_type, request.protocol_name
        if call.version >= PROTOCOL_SAID_FROM and None in names:
            return SyncGroupResponse(error_code=common_pb2.INCONSISTENT_GROUP_PROTOCOL)
        try:
            answer = await self._classic.sync(request.group_id, _sync(request))
        except TidelogError as error:
            return SyncGroupResponse(error_code=sync_code(error))
        return SyncGroupResponse(
            protocol_type=answer.protocol_type,
            protocol_name=answer.protocol,
            assignment=answer.assignment,
        )


def _sync(request: SyncGroupRequest) -> SyncRequest:
    return SyncRequest(
        member_id=request.member_id,
        generation=request.generation_id,
        instance_id=request.group_instance_id,
        protocol_type=request.protocol_type,
        protocol=request.protocol_name,
        assignments={one.member_id: one.assignment for one in request.assignments},
    )


class HeartbeatHandler:
    """Handler of Heartbeat."""

    def __init__(self, classic: ClassicCalls) -> None:
        self._classic = classic

    async def __call__(self, request: HeartbeatRequest, call: ApiCall) -> HeartbeatResponse:
        """See `ApiHandler`."""
        del call
        beat = Beat(request.member_id, request.generation_id, request.group_instance_id)
        try:
            await self._classic.heartbeat(request.group_id, beat)
        except TidelogError as error:
            return HeartbeatResponse(error_code=heartbeat_code(error))
        return HeartbeatResponse()


class LeaveGroupHandler:
    """Handler of LeaveGroup."""

    def __init__(self, classic: ClassicCalls) -> None:
        self._classic = classic

    async def __call__(self, request: LeaveGroupRequest, call: ApiCall) -> LeaveGroupResponse:
        """See `ApiHandler`."""
        members: tuple[LeavingMember, ...] = (LeavingMember(request.member_id),)
        if call.version >= SEVERAL_LEAVE_FROM:
            members = tuple(
                [
                    LeavingMember(one.member_id, one.group_instance_id, one.reason or "")
                    async for one in in_turns(request.members, PER_PIECE)
                ]
            )
        try:
            results = await self._classic.leave(request.group_id, LeaveRequest(members))
        except TidelogError as error:
            return LeaveGroupResponse(error_code=group_code(error))
        if call.version < SEVERAL_LEAVE_FROM:
            return LeaveGroupResponse(error_code=group_code(results[0]))
        left = zip(members, results, strict=True)
        return LeaveGroupResponse(
            members=[
                MemberResponse(one.member_id, one.instance_id, group_code(result))
                async for one, result in in_turns(left, PER_PIECE)
            ]
        )
