"""Checks of a request to join a classic group. Pure."""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from tidelog.broker.coordinator.classic_group import ClassicGroup, State
from tidelog.broker.coordinator.classic_member import bytes_of
from tidelog.broker.coordinator.classic_messages import ClassicLimits, JoinRequest
from tidelog.core.config_types import MAX_I32
from tidelog.core.errors import (
    GroupMaxSizeReachedError,
    InconsistentGroupProtocolError,
    InvalidRequestError,
    InvalidSessionTimeoutError,
)

PROTOCOLS_MAX = 32
"""Protocols of a member."""
INSTANCE_ID_CHARACTERS_MAX = 249
"""Longest `group.instance.id`, as in Kafka."""


def check_join(group: ClassicGroup, request: JoinRequest, limits: ClassicLimits) -> None:
    """Raise `KafkaError` for a join that this group does not take."""
    _check_fields(request, limits)
    _check_protocols(group, request)
    _check_size(group, request, limits)
    _check_bytes(group, request, limits)


def _check_fields(request: JoinRequest, limits: ClassicLimits) -> None:
    shortest, longest = limits.session_timeout_min_ms, limits.session_timeout_max_ms
    if not shortest <= request.session_timeout_ms <= longest:
        raise InvalidSessionTimeoutError(
            f"session.timeout.ms={request.session_timeout_ms}: the broker allows {shortest} to "
            f"{longest} (group.min.session.timeout.ms, group.max.session.timeout.ms)"
        )
    names = [one.name for one in request.protocols]
    if len(names) > PROTOCOLS_MAX or len(set(names)) < len(names):
        raise InvalidRequestError(
            f"a member names {len(names)} protocols: at most {PROTOCOLS_MAX}, each once"
        )
    if request.rebalance_timeout_ms > MAX_I32:
        raise InvalidRequestError(f"rebalance_timeout_ms is above {MAX_I32}, its maximum")
    length = 1 if request.instance_id is None else len(request.instance_id)
    if not 0 < length <= INSTANCE_ID_CHARACTERS_MAX:
        raise InvalidRequestError(
            f"group.instance.id of {length} characters: name 1 to {INSTANCE_ID_CHARACTERS_MAX}, or "
            "leave it out"
        )


def _check_protocols(group: ClassicGroup, request: JoinRequest) -> None:
    if not request.protocol_type or not request.protocols:
        raise InconsistentGroupProtocolError(
            f"a member of group {group.group_id!r} names no protocol: set "
            "partition.assignment.strategy"
        )
    if not group.members:
        return
    if request.protocol_type != group.round.protocol_type:
        raise InconsistentGroupProtocolError(
            f"group {group.group_id!r} has members of type {group.round.protocol_type!r}, not "
            f"{request.protocol_type!r}"
        )
    if not any(group.have_all(one.name) for one in request.protocols):
        raise InconsistentGroupProtocolError(
            f"no member of group {group.group_id!r} may have "
            f"{', '.join(one.name for one in request.protocols)} alone: the others have "
            f"{', '.join(group.common_protocols) or 'none in common'}"
        )


def _check_size(group: ClassicGroup, request: JoinRequest, limits: ClassicLimits) -> None:
    """Refuse newcomers of a full group, and while it prepares all that are too many."""
    member = group.members.get(request.member_id) or group.instance(request.instance_id)
    if member is not None:
        is_late = group.state is State.PREPARING and member.ticket is None
        is_full = is_late and group.waiting_count >= limits.size_max
    elif request.member_id in group.pending:
        is_full = len(group.members) >= limits.size_max
    elif request.member_id:
        return  # it is unknown, which is said elsewhere
    else:
        is_full = len(group.members) + len(group.pending) >= limits.size_max
    if is_full:
        raise GroupMaxSizeReachedError(
            f"group {group.group_id!r} has {limits.size_max} members: group.max.size"
        )


def _check_bytes(group: ClassicGroup, request: JoinRequest, limits: ClassicLimits) -> None:
    replaced = group.members.get(request.member_id) or group.instance(request.instance_id)
    held = group.counted_bytes - (0 if replaced is None else replaced.counted_bytes)
    if held + bytes_of(request, request.protocols) > limits.record_bytes_max:
        raise GroupMaxSizeReachedError(
            f"group {group.group_id!r} with this member's metadata has more than "
            f"{limits.record_bytes_max} bytes: subscribe to fewer topics, or spread the members "
            "over several groups"
        )
