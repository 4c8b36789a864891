"""DescribeGroupsResponse of Kafka's protocol.

Generated from proto/kafka/describe_groups.schema; do not edit.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import ClassVar

import msgspec

from tidelog.kafka.message import Message
from tidelog.kafka.wire import ONE_BYTE, Buffer, bad_count, bad_length, cut_off, long_text, long_varint, not_utf8, skip_tags, text_length_of, varint_of


class DescribeGroupsResponse(Message, gc=False):
    """Response of API 15, versions 0-6."""

    API_KEY: ClassVar[int] = 15
    VERSIONS: ClassVar[range] = range(0, 7)
    FLEXIBLE: ClassVar[range] = range(5, 7)

    throttle_time_ms: int = 0
    groups: list[DescribedGroup] = []


class DescribedGroup(msgspec.Struct, gc=False):
    error_code: int = 0
    error_message: str | None = None
    group_id: str = ""
    group_state: str = ""
    protocol_type: str = ""
    protocol_data: str = ""
    members: list[DescribedGroupMember] = []
    authorized_operations: int = -2147483648


class DescribedGroupMember(msgspec.Struct, gc=False):
    member_id: str = ""
    group_instance_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    member_metadata: bytes = b""
    member_assignment: bytes = b""


_unpack_h = Struct(">h").unpack_from
_unpack_hB = Struct(">hB").unpack_from
_unpack_hh = Struct(">hh").unpack_from
_unpack_i = Struct(">i").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_unpack_ii = Struct(">ii").unpack_from
_pack_h = Struct(">h").pack
_pack_hB = Struct(">hB").pack
_pack_hh = Struct(">hh").pack
_pack_i = Struct(">i").pack
_pack_iB = Struct(">iB").pack
_pack_ii = Struct(">ii").pack
_pack_ix = Struct(">ix").pack


def _read_described_group_member_0(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[DescribedGroupMember], int]:
    items: list[DescribedGroupMember] = []
    for _ in range(count):
        if end - at < 2:
            raise cut_off("DescribedGroupMember", "MemberId=2", end - at)
        n = _unpack_h(data, at)[0]
        at += 2
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("DescribedGroupMember.MemberId", n, end - at)
        try:
            member_id = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("DescribedGroupMember.MemberId") from None
        at = stop
        if end - at < 2:
            raise cut_off("DescribedGroupMember", "ClientId=2", end - at)
        n = _unpack_h(data, at)[0]
        at += 2
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("DescribedGroupMember.ClientId", n, end - at)
        try:
            client_id = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("DescribedGroupMember.ClientId") from None
        at = stop
        if end - at < 2:
            raise cut_off("DescribedGroupMember", "ClientHost=2", end - at)
        n = _unpack_h(data, at)[0]
        at += 2
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("DescribedGroupMember.ClientHost", n, end - at)
        try:
            client_host = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("DescribedGroupMember.ClientHost") from None
        at = stop
        if end - at < 4:
            raise cut_off("DescribedGroupMember", "MemberMetadata=4", end - at)
        n = _unpack_i(data, at)[0]
        at += 4
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("DescribedGroupMember.MemberMetadata", n, end - at)
        member_metadata = data[at:stop]
        at = stop
        if end - at < 4:
            raise cut_off("DescribedGroupMember", "MemberAssignment=4", end - at)
        n = _unpack_i(data, at)[0]
        at += 4
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("DescribedGroupMember.MemberAssignment", n, end - at)
        member_assignment = data[at:stop]
        at = stop
        items.append(DescribedGroupMember(member_id, None, client_id, client_host, member_metadata, member_assignment))
    return items, at


def _read_described_group_0(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[DescribedGroup], int]:
    items: list[DescribedGroup] = []
    for _ in range(count):
        if end - at < 4:
            raise cut_off("DescribedGroup", "ErrorCode=2 GroupId=2", end - at)
        error_code, n = _unpack_hh(data, at)
        at += 4
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("DescribedGroup.GroupId", n, end - at)
        try:
            group_id = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("DescribedGroup.GroupId") from None
        at = stop
        if end - at < 2:
            raise cut_off("DescribedGroup", "GroupState=2", end - at)
        n = _unpack_h(data, at)[0]
        at += 2
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("DescribedGroup.GroupState", n, end - at)
        try:
            group_state = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("DescribedGroup.GroupState") from None
        at = stop
        if end - at < 2:
            raise cut_off("DescribedGroup", "ProtocolType=2", end - at)
        n = _unpack_h(data, at)[0]
        at += 2
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("DescribedGroup.ProtocolType", n, end - at)
        try:
            protocol_type = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("DescribedGroup.ProtocolType") from None
        at = stop
        if end - at < 2:
            raise cut_off("DescribedGroup", "ProtocolData=2", end - at)
        n = _unpack_h(data, at)[0]
        at += 2
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("DescribedGroup.ProtocolData", n, end - at)
        try:
            protocol_data = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("DescribedGroup.ProtocolData") from None
        at = stop
        if end - at < 4:
            raise cut_off("DescribedGroup", "Members=4", end - at)
        n = _unpack_i(data, at)[0]
        at += 4
        room[0] -= n
        if n < 0 or 14 * n > end - at or room[0] < 0:
            raise bad_count("DescribedGroup.Members", n, end - at, room[0])
        members, at = _read_described_group_member_0(data, at, end, room, n)
        items.append(DescribedGroup(error_code, None, group_id, group_state, protocol_type, protocol_data, members))
    return items, at


def _read_describe_groups_response_0(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[DescribeGroupsResponse], int]:
    items: list[DescribeGroupsResponse] = []
    for _ in range(count):
        if end - at < 4:
            raise cut_off("DescribeGroupsResponse", "Groups=4", end - at)
        n = _unpack_i(data, at)[0]
        at += 4
        room[0] -= n
        if n < 0 or 14 * n > end - at or room[0] < 0:
            raise bad_count("DescribeGroupsResponse.Groups", n, end - at, room[0])
        groups, at = _read_described_group_0(data, at, end, room, n)
        items.append(DescribeGroupsResponse(0, groups))
    return items, at


def _read_describe_groups_response_1(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[DescribeGroupsResponse], int]:
    items: list[DescribeGroupsResponse] = []
    for _ in range(count):
        if end - at < 8:
            raise cut_off("DescribeGroupsResponse", "ThrottleTimeMs=4 Groups=4", end - at)
        throttle_time_ms, n = _unpack_ii(data, at)
        at += 8
        room[0] -= n
        if n < 0 or 14 * n > end - at or room[0] < 0:
            raise bad_count("DescribeGroupsResponse.Groups", n, end - at, room[0])
        groups, at = _read_described_group_0(data, at, end, room, n)
        items.append(DescribeGroupsResponse(throttle_time_ms, groups))
    return items, at


def _read_described_group_3(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[DescribedGroup], int]:
    items: list[DescribedGroup] = []
    for _ in range(count):
        if end - at < 4:
            raise cut_off("DescribedGroup", "ErrorCode=2 GroupId=2", end - at)
        error_code, n = _unpack_hh(data, at)
        at += 4
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("DescribedGroup.GroupId", n, end - at)
        try:
            group_id = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("DescribedGroup.GroupId") from None
        at = stop
        if end - at < 2:
            raise cut_off("DescribedGroup", "GroupState=2", end - at)
        n = _unpack_h(data, at)[0]
        at += 2
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("DescribedGroup.GroupState", n, end - at)
        try:
            group_state = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("DescribedGroup.GroupState") from None
        at = stop
        if end - at < 2:
            raise cut_off("DescribedGroup", "ProtocolType=2", end - at)
        n = _unpack_h(data, at)[0]
        at += 2
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("DescribedGroup.ProtocolType", n, end - at)
        try:
            protocol_type = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("DescribedGroup.ProtocolType") from None
        at = stop
        if end - at < 2:
            raise cut_off("DescribedGroup", "ProtocolData=2", end - at)
        n = _unpack_h(data, at)[0]
        at += 2
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("DescribedGroup.ProtocolData", n, end - at)
        try:
            protocol_data = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("DescribedGroup.ProtocolData") from None
        at = stop
        if end - at < 4:
            raise cut_off("DescribedGroup", "Members=4", end - at)
        n = _unpack_i(data, at)[0]
        at += 4
        room[0] -= n
        if n < 0 or 14 * n > end - at or room[0] < 0:
            raise bad_count("DescribedGroup.Members", n, end - at, room[0])
        members, at = _read_described_group_member_0(data, at, end, room, n)
        if end - at < 4:
            raise cut_off("DescribedGroup", "AuthorizedOperations=4", end - at)
        authorized_operations = _unpack_i(data, at)[0]
        at += 4
        items.append(DescribedGroup(error_code, None, group_id, group_state, protocol_type, protocol_data, members, authorized_operations))
    return items, at


def _read_describe_groups_response_3(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[DescribeGroupsResponse], int]:
    items: list[DescribeGroupsResponse] = []
    for _ in range(count):
        if end - at < 8:
            raise cut_off("DescribeGroupsResponse", "ThrottleTimeMs=4 Groups=4", end - at)
        throttle_time_ms, n = _unpack_ii(data, at)
        at += 8
        room[0] -= n
        if n < 0 or 18 * n > end - at or room[0] < 0:
            raise bad_count("DescribeGroupsResponse.Groups", n, end - at, room[0])
        groups, at = _read_described_group_3(data, at, end, room, n)
        items.append(DescribeGroupsResponse(throttle_time_ms, groups))
    return items, at


def _read_described_group_member_4(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[DescribedGroupMember], int]:
    items: list[DescribedGroupMember] = []
    for _ in range(count):
        if end - at < 2:
            raise cut_off("DescribedGroupMember", "MemberId=2", end - at)
        n = _unpack_h(data, at)[0]
        at += 2
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("DescribedGroupMember.MemberId", n, end - at)
        try:
            member_id = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("DescribedGroupMember.MemberId") from None
        at = stop
        if end - at < 2:
            raise cut_off("DescribedGroupMember", "GroupInstanceId=2", end - at)
        n = _unpack_h(data, at)[0]
        at += 2
        if n == -1:
            group_instance_id = None
        else:
            stop = at + n
            if n < 0 or stop > end:
                raise bad_length("DescribedGroupMember.GroupInstanceId", n, end - at)
            try:
                group_instance_id = data[at:stop].decode()
            except UnicodeDecodeError:
                raise not_utf8("DescribedGroupMember.GroupInstanceId") from None
            at = stop
        if end - at < 2:
            raise cut_off("DescribedGroupMember", "ClientId=2", end - at)
        n = _unpack_h(data, at)[0]
        at += 2
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("DescribedGroupMember.ClientId", n, end - at)
        try:
            client_id = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("DescribedGroupMember.ClientId") from None
        at = stop
        if end - at < 2:
            raise cut_off("DescribedGroupMember", "ClientHost=2", end - at)
        n = _unpack_h(data, at)[0]
        at += 2
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("DescribedGroupMember.ClientHost", n, end - at)
        try:
            client_host = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("DescribedGroupMember.ClientHost") from None
        at = stop
        if end - at < 4:
            raise cut_off("DescribedGroupMember", "MemberMetadata=4", end - at)
        n = _unpack_i(data, at)[0]
        at += 4
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("DescribedGroupMember.MemberMetadata", n, end - at)
        member_metadata = data[at:stop]
        at = stop
        if end - at < 4:
            raise cut_off("DescribedGroupMember", "MemberAssignment=4", end - at)
        n = _unpack_i(data, at)[0]
        at += 4
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("DescribedGroupMember.MemberAssignment", n, end - at)
        member_assignment = data[at:stop]
        at = stop
        items.append(DescribedGroupMember(member_id, group_instance_id, client_id, client_host, member_metadata, member_assignment))
    return items, at


def _read_described_group_4(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[DescribedGroup], int]:
    items: list[DescribedGroup] = []
    for _ in range(count):
        if end - at < 4:
            raise cut_off("DescribedGroup", "ErrorCode=2 GroupId=2", end - at)
        error_code, n = _unpack_hh(data, at)
        at += 4
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("DescribedGroup.GroupId", n, end - at)
        try:
            group_id = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("DescribedGroup.GroupId") from None
        at = stop
        if end - at < 2:
            raise cut_off("DescribedGroup", "GroupState=2", end - at)
        n = _unpack_h(data, at)[0]
        at += 2
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("DescribedGroup.GroupState", n, end - at)
        try:
            group_state = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("DescribedGroup.GroupState") from None
        at = stop
        if end - at < 2:
            raise cut_off("DescribedGroup", "ProtocolType=2", end - at)
        n = _unpack_h(data, at)[0]
        at += 2
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("DescribedGroup.ProtocolType", n, end - at)
        try:
            protocol_type = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("DescribedGroup.ProtocolType") from None
        at = stop
        if end - at < 2:
            raise cut_off("DescribedGroup", "ProtocolData=2", end - at)
        n = _unpack_h(data, at)[0]
        at += 2
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("DescribedGroup.ProtocolData", n, end - at)
        try:
            protocol_data = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("DescribedGroup.ProtocolData") from None
        at = stop
        if end - at < 4:
            raise cut_off("DescribedGroup", "Members=4", end - at)
        n = _unpack_i(data, at)[0]
        at += 4
        room[0] -= n
        if n < 0 or 16 * n > end - at or room[0] < 0:
            raise bad_count("DescribedGroup.Members", n, end - at, room[0])
        members, at = _read_described_group_member_4(data, at, end, room, n)
        if end - at < 4:
            raise cut_off("DescribedGroup", "AuthorizedOperations=4", end - at)
        authorized_operations = _unpack_i(data, at)[0]
        at += 4
        items.append(DescribedGroup(error_code, None, group_id, group_state, protocol_type, protocol_data, members, authorized_operations))
    return items, at


def _read_describe_groups_response_4(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[DescribeGroupsResponse], int]:
    items: list[DescribeGroupsResponse] = []
    for _ in range(count):
        if end - at < 8:
            raise cut_off("DescribeGroupsResponse", "ThrottleTimeMs=4 Groups=4", end - at)
        throttle_time_ms, n = _unpack_ii(data, at)
        at += 8
        room[0] -= n
        if n < 0 or 18 * n > end - at or room[0] < 0:
            raise bad_count("DescribeGroupsResponse.Groups", n, end - at, room[0])
        groups, at = _read_described_group_4(data, at, end, room, n)
        items.append(DescribeGroupsResponse(throttle_time_ms, groups))
    return items, at


def _read_described_group_member_5(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[DescribedGroupMember], int]:
    items: list[DescribedGroupMember] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("DescribedGroupMember", "MemberId=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "DescribedGroupMember.MemberId")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("DescribedGroupMember.MemberId", n - 1, end - at)
        try:
            member_id = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("DescribedGroupMember.MemberId") from None
        at = stop
        if at >= end:
            raise cut_off("DescribedGroupMember", "GroupInstanceId=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "DescribedGroupMember.GroupInstanceId")
        if n == 0:
            group_instance_id = None
        else:
            stop = at + n - 1
            if n < 1 or stop > end:
                raise bad_length("DescribedGroupMember.GroupInstanceId", n - 1, end - at)
            try:
                group_instance_id = data[at:stop].decode()
            except UnicodeDecodeError:
                raise not_utf8("DescribedGroupMember.GroupInstanceId") from None
            at = stop
        if at >= end:
            raise cut_off("DescribedGroupMember", "ClientId=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "DescribedGroupMember.ClientId")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("DescribedGroupMember.ClientId", n - 1, end - at)
        try:
            client_id = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("DescribedGroupMember.ClientId") from None
        at = stop
        if at >= end:
            raise cut_off("DescribedGroupMember", "ClientHost=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "DescribedGroupMember.ClientHost")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("DescribedGroupMember.ClientHost", n - 1, end - at)
        try:
            client_host = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("DescribedGroupMember.ClientHost") from None
        at = stop
        if at >= end:
            raise cut_off("DescribedGroupMember", "MemberMetadata=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "DescribedGroupMember.MemberMetadata")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("DescribedGroupMember.MemberMetadata", n - 1, end - at)
        member_metadata = data[at:stop]
        at = stop
        if at >= end:
            raise cut_off("DescribedGroupMember", "MemberAssignment=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "DescribedGroupMember.MemberAssignment")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("DescribedGroupMember.MemberAssignment", n - 1, end - at)
        member_assignment = data[at:stop]
        at = stop
        if at >= end:
            raise cut_off("DescribedGroupMember", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "DescribedGroupMember")
        items.append(DescribedGroupMember(member_id, group_instance_id, client_id, client_host, member_metadata, member_assignment))
    return items, at


def _read_described_group_5(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[DescribedGroup], int]:
    items: list[DescribedGroup] = []
    for _ in range(count):
        if end - at < 3:
            raise cut_off("DescribedGroup", "ErrorCode=2 GroupId=1", end - at)
        error_code, n = _unpack_hB(data, at)
        at += 3
        if n > 127:
            n, at = long_text(data, at, end, n, "DescribedGroup.GroupId")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("DescribedGroup.GroupId", n - 1, end - at)
        try:
            group_id = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("DescribedGroup.GroupId") from None
        at = stop
        if at >= end:
            raise cut_off("DescribedGroup", "GroupState=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "DescribedGroup.GroupState")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("DescribedGroup.GroupState", n - 1, end - at)
        try:
            group_state = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("DescribedGroup.GroupState") from None
        at = stop
        if at >= end:
            raise cut_off("DescribedGroup", "ProtocolType=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "DescribedGroup.ProtocolType")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("DescribedGroup.ProtocolType", n - 1, end - at)
        try:
            protocol_type = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("DescribedGroup.ProtocolType") from None
        at = stop
        if at >= end:
            raise cut_off("DescribedGroup", "ProtocolData=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "DescribedGroup.ProtocolData")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("DescribedGroup.ProtocolData", n - 1, end - at)
        try:
            protocol_data = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("DescribedGroup.ProtocolData") from None
        at = stop
        if at >= end:
            raise cut_off("DescribedGroup", "Members=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "DescribedGroup.Members")
        n -= 1
        room[0] -= n
        if n < 0 or 7 * n > end - at or room[0] < 0:
            raise bad_count("DescribedGroup.Members", n, end - at, room[0])
        members, at = _read_described_group_member_5(data, at, end, room, n)
        if end - at < 5:
            raise cut_off("DescribedGroup", "AuthorizedOperations=4 tags=1", end - at)
        authorized_operations, tags = _unpack_iB(data, at)
        at += 5
        if tags:
            at = skip_tags(data, at, end, tags, "DescribedGroup")
        items.append(DescribedGroup(error_code, None, group_id, group_state, protocol_type, protocol_data, members, authorized_operations))
    return items, at


def _read_describe_groups_response_5(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[DescribeGroupsResponse], int]:
    items: list[DescribeGroupsResponse] = []
    for _ in range(count):
        if end - at < 5:
            raise cut_off("DescribeGroupsResponse", "ThrottleTimeMs=4 Groups=1", end - at)
        throttle_time_ms, n = _unpack_iB(data, at)
        at += 5
        if n > 127:
            n, at = long_varint(data, at, end, n, "DescribeGroupsResponse.Groups")
        n -= 1
        room[0] -= n
        if n < 0 or 12 * n > end - at or room[0] < 0:
            raise bad_count("DescribeGroupsResponse.Groups", n, end - at, room[0])
        groups, at = _read_described_group_5(data, at, end, room, n)
        if at >= end:
            raise cut_off("DescribeGroupsResponse", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "DescribeGroupsResponse")
        items.append(DescribeGroupsResponse(throttle_time_ms, groups))
    return items, at


def _read_described_group_6(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[DescribedGroup], int]:
    items: list[DescribedGroup] = []
    for _ in range(count):
        if end - at < 3:
            raise cut_off("DescribedGroup", "ErrorCode=2 ErrorMessage=1", end - at)
        error_code, n = _unpack_hB(data, at)
        at += 3
        if n > 127:
            n, at = long_text(data, at, end, n, "DescribedGroup.ErrorMessage")
        if n == 0:
            error_message = None
        else:
            stop = at + n - 1
            if n < 1 or stop > end:
                raise bad_length("DescribedGroup.ErrorMessage", n - 1, end - at)
            try:
                error_message = data[at:stop].decode()
            except UnicodeDecodeError:
                raise not_utf8("DescribedGroup.ErrorMessage") from None
            at = stop
        if at >= end:
            raise cut_off("DescribedGroup", "GroupId=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "DescribedGroup.GroupId")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("DescribedGroup.GroupId", n - 1, end - at)
        try:
            group_id = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("DescribedGroup.GroupId") from None
        at = stop
        if at >= end:
            raise cut_off("DescribedGroup", "GroupState=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "DescribedGroup.GroupState")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("DescribedGroup.GroupState", n - 1, end - at)
        try:
            group_state = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("DescribedGroup.GroupState") from None
        at = stop
        if at >= end:
            raise cut_off("DescribedGroup", "ProtocolType=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "DescribedGroup.ProtocolType")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("DescribedGroup.ProtocolType", n - 1, end - at)
        try:
            protocol_type = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("DescribedGroup.ProtocolType") from None
        at = stop
        if at >= end:
            raise cut_off("DescribedGroup", "ProtocolData=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "DescribedGroup.ProtocolData")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("DescribedGroup.ProtocolData", n - 1, end - at)
        try:
            protocol_data = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("DescribedGroup.ProtocolData") from None
        at = stop
        if at >= end:
            raise cut_off("DescribedGroup", "Members=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "DescribedGroup.Members")
        n -= 1
        room[0] -= n
        if n < 0 or 7 * n > end - at or room[0] < 0:
            raise bad_count("DescribedGroup.Members", n, end - at, room[0])
        members, at = _read_described_group_member_5(data, at, end, room, n)
        if end - at < 5:
            raise cut_off("DescribedGroup", "AuthorizedOperations=4 tags=1", end - at)
        authorized_operations, tags = _unpack_iB(data, at)
        at += 5
        if tags:
            at = skip_tags(data, at, end, tags, "DescribedGroup")
        items.append(DescribedGroup(error_code, error_message, group_id, group_state, protocol_type, protocol_data, members, authorized_operations))
    return items, at


def _read_describe_groups_response_6(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[DescribeGroupsResponse], int]:
    items: list[DescribeGroupsResponse] = []
    for _ in range(count):
        if end - at < 5:
            raise cut_off("DescribeGroupsResponse", "ThrottleTimeMs=4 Groups=1", end - at)
        throttle_time_ms, n = _unpack_iB(data, at)
        at += 5
        if n > 127:
            n, at = long_varint(data, at, end, n, "DescribeGroupsResponse.Groups")
        n -= 1
        room[0] -= n
        if n < 0 or 13 * n > end - at or room[0] < 0:
            raise bad_count("DescribeGroupsResponse.Groups", n, end - at, room[0])
        groups, at = _read_described_group_6(data, at, end, room, n)
        if at >= end:
            raise cut_off("DescribeGroupsResponse", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "DescribeGroupsResponse")
        items.append(DescribeGroupsResponse(throttle_time_ms, groups))
    return items, at


def _write_described_group_member_0(items: Iterable[DescribedGroupMember], out: list[Buffer]) -> None:
    for m in items:
        member_id = m.member_id
        content = member_id.encode()
        n = len(content)
        out.append(_pack_h(n))
        out.append(content)
        client_id = m.client_id
        content = client_id.encode()
        n = len(content)
        out.append(_pack_h(n))
        out.append(content)
        client_host = m.client_host
        content = client_host.encode()
        n = len(content)
        out.append(_pack_h(n))
        out.append(content)
        member_metadata = m.member_metadata
        n = len(member_metadata)
        out.append(_pack_i(n))
        out.append(member_metadata)
        member_assignment = m.member_assignment
        n = len(member_assignment)
        out.append(_pack_i(n))
        out.append(member_assignment)


def _write_described_group_0(items: Iterable[DescribedGroup], out: list[Buffer]) -> None:
    for m in items:
        group_id = m.group_id
        content = group_id.encode()
        n = len(content)
        out.append(_pack_hh(m.error_code, n))
        out.append(content)
        group_state = m.group_state
        content = group_state.encode()
        n = len(content)
        out.append(_pack_h(n))
        out.append(content)
        protocol_type = m.protocol_type
        content = protocol_type.encode()
        n = len(content)
        out.append(_pack_h(n))
        out.append(content)
        protocol_data = m.protocol_data
        content = protocol_data.encode()
        n = len(content)
        out.append(_pack_h(n))
        out.append(content)
        members = m.members
        n = len(members)
        out.append(_pack_i(n))
        if members:
            _write_described_group_member_0(members, out)


def _write_describe_groups_response_0(items: Iterable[DescribeGroupsResponse], out: list[Buffer]) -> None:
    for m in items:
        groups = m.groups
        n = len(groups)
        out.append(_pack_i(n))
        if groups:
            _write_described_group_0(groups, out)


def _write_describe_groups_response_1(items: Iterable[DescribeGroupsResponse], out: list[Buffer]) -> None:
    for m in items:
        groups = m.groups
        n = len(groups)
        out.append(_pack_ii(m.throttle_time_ms, n))
        if groups:
            _write_described_group_0(groups, out)


def _write_described_group_3(items: Iterable[DescribedGroup], out: list[Buffer]) -> None:
    for m in items:
        group_id = m.group_id
        content = group_id.encode()
        n = len(content)
        out.append(_pack_hh(m.error_code, n))
        out.append(content)
        group_state = m.group_state
        content = group_state.encode()
        n = len(content)
        out.append(_pack_h(n))
        out.append(content)
        protocol_type = m.protocol_type
        content = protocol_type.encode()
        n = len(content)
        out.append(_pack_h(n))
        out.append(content)
        protocol_data = m.protocol_data
        content = protocol_data.encode()
        n = len(content)
        out.append(_pack_h(n))
        out.append(content)
        members = m.members
        n = len(members)
        out.append(_pack_i(n))
        if members:
            _write_described_group_member_0(members, out)
        out.append(_pack_i(m.authorized_operations))


def _write_describe_groups_response_3(items: Iterable[DescribeGroupsResponse], out: list[Buffer]) -> None:
    for m in items:
        groups = m.groups
        n = len(groups)
        out.append(_pack_ii(m.throttle_time_ms, n))
        if groups:
            _write_described_group_3(groups, out)


def _write_described_group_member_4(items: Iterable[DescribedGroupMember], out: list[Buffer]) -> None:
    for m in items:
        member_id = m.member_id
        content = member_id.encode()
        n = len(content)
        out.append(_pack_h(n))
        out.append(content)
        group_instance_id = m.group_instance_id
        if group_instance_id is None:
            content = b""
            n = -1
        else:
            content = group_instance_id.encode()
            n = len(content)
        out.append(_pack_h(n))
        out.append(content)
        client_id = m.client_id
        content = client_id.encode()
        n = len(content)
        out.append(_pack_h(n))
        out.append(content)
        client_host = m.client_host
        content = client_host.encode()
        n = len(content)
        out.append(_pack_h(n))
        out.append(content)
        member_metadata = m.member_metadata
        n = len(member_metadata)
        out.append(_pack_i(n))
        out.append(member_metadata)
        member_assignment = m.member_assignment
        n = len(member_assignment)
        out.append(_pack_i(n))
        out.append(member_assignment)


def _write_described_group_4(items: Iterable[DescribedGroup], out: list[Buffer]) -> None:
    for m in items:
        group_id = m.group_id
        content = group_id.encode()
        n = len(content)
        out.append(_pack_hh(m.error_code, n))
        out.append(content)
        group_state = m.group_state
        content = group_state.encode()
        n = len(content)
        out.append(_pack_h(n))
        out.append(content)
        protocol_type = m.protocol_type
        content = protocol_type.encode()
        n = len(content)
        out.append(_pack_h(n))
        out.append(content)
        protocol_data = m.protocol_data
        content = protocol_data.encode()
        n = len(content)
        out.append(_pack_h(n))
        out.append(content)
        members = m.members
        n = len(members)
        out.append(_pack_i(n))
        if members:
            _write_described_group_member_4(members, out)
        out.append(_pack_i(m.authorized_operations))


def _write_describe_groups_response_4(items: Iterable[DescribeGroupsResponse], out: list[Buffer]) -> None:
    for m in items:
        groups = m.groups
        n = len(groups)
        out.append(_pack_ii(m.throttle_time_ms, n))
        if groups:
            _write_described_group_4(groups, out)


def _write_described_group_member_5(items: Iterable[DescribedGroupMember], out: list[Buffer]) -> None:
    for m in items:
        member_id = m.member_id
        content = member_id.encode()
        n = len(content) + 1
        if n > 127:
            out.append(text_length_of(n))
        else:
            out.append(ONE_BYTE[n])
        out.append(content)
        group_instance_id = m.group_instance_id
        if group_instance_id is None:
            content = b""
            n = 0
        else:
            content = group_instance_id.encode()
            n = len(content) + 1
        if n > 127:
            out.append(text_length_of(n))
        else:
            out.append(ONE_BYTE[n])
        out.append(content)
        client_id = m.client_id
        content = client_id.encode()
        n = len(content) + 1
        if n > 127:
            out.append(text_length_of(n))
        else:
            out.append(ONE_BYTE[n])
        out.append(content)
        client_host = m.client_host
        content = client_host.encode()
        n = len(content) + 1
        if n > 127:
            out.append(text_length_of(n))
        else:
            out.append(ONE_BYTE[n])
        out.append(content)
        member_metadata = m.member_metadata
        n = len(member_metadata) + 1
        if n > 127:
            out.append(varint_of(n))
        else:
            out.append(ONE_BYTE[n])
        out.append(member_metadata)
        member_assignment = m.member_assignment
        n = len(member_assignment) + 1
        if n > 127:
            out.append(varint_of(n))
        else:
            out.append(ONE_BYTE[n])
        out.append(member_assignment)
        out.append(ONE_BYTE[0])


def _write_described_group_5(items: Iterable[DescribedGroup], out: list[Buffer]) -> None:
    for m in items:
        group_id = m.group_id
        content = group_id.encode()
        n = len(content) + 1
        if n > 127:
            out.append(_pack_h(m.error_code) + text_length_of(n))
        else:
            out.append(_pack_hB(m.error_code, n))
        out.append(content)
        group_state = m.group_state
        content = group_state.encode()
        n = len(content) + 1
        if n > 127:
            out.append(text_length_of(n))
        else:
            out.append(ONE_BYTE[n])
        out.append(content)
        protocol_type = m.protocol_type
        content = protocol_type.encode()
        n = len(content) + 1
        if n > 127:
            out.append(text_length_of(n))
        else:
            out.append(ONE_BYTE[n])
        out.append(content)
        protocol_data = m.protocol_data
        content = protocol_data.encode()
        n = len(content) + 1
        if n > 127:
            out.append(text_length_of(n))
        else:
            out.append(ONE_BYTE[n])
        out.append(content)
        members = m.members
        n = len(members) + 1
        if n > 127:
            out.append(varint_of(n))
        else:
            out.append(ONE_BYTE[n])
        if members:
            _write_described_group_member_5(members, out)
        out.append(_pack_ix(m.authorized_operations))


def _write_describe_groups_response_5(items: Iterable[DescribeGroupsResponse], out: list[Buffer]) -> None:
    for m in items:
        groups = m.groups
        n = len(groups) + 1
        if n > 127:
            out.append(_pack_i(m.throttle_time_ms) + varint_of(n))
        else:
            out.append(_pack_iB(m.throttle_time_ms, n))
        if groups:
            _write_described_group_5(groups, out)
        out.append(ONE_BYTE[0])


def _write_described_group_6(items: Iterable[DescribedGroup], out: list[Buffer]) -> None:
    for m in items:
        error_message = m.error_message
        if error_message is None:
            content = b""
            n = 0
        else:
            content = error_message.encode()
            n = len(content) + 1
        if n > 127:
            out.append(_pack_h(m.error_code) + text_length_of(n))
        else:
            out.append(_pack_hB(m.error_code, n))
        out.append(content)
        group_id = m.group_id
        content = group_id.encode()
        n = len(content) + 1
        if n > 127:
            out.append(text_length_of(n))
        else:
            out.append(ONE_BYTE[n])
        out.append(content)
        group_state = m.group_state
        content = group_state.encode()
        n = len(content) + 1
        if n > 127:
            out.append(text_length_of(n))
        else:
            out.append(ONE_BYTE[n])
        out.append(content)
        protocol_type = m.protocol_type
        content = protocol_type.encode()
        n = len(content) + 1
        if n > 127:
            out.append(text_length_of(n))
        else:
            out.append(ONE_BYTE[n])
        out.append(content)
        protocol_data = m.protocol_data
        content = protocol_data.encode()
        n = len(content) + 1
        if n > 127:
            out.append(text_length_of(n))
        else:
            out.append(ONE_BYTE[n])
        out.append(content)
        members = m.members
        n = len(members) + 1
        if n > 127:
            out.append(varint_of(n))
        else:
            out.append(ONE_BYTE[n])
        if members:
            _write_described_group_member_5(members, out)
        out.append(_pack_ix(m.authorized_operations))


def _write_describe_groups_response_6(items: Iterable[DescribeGroupsResponse], out: list[Buffer]) -> None:
    for m in items:
        groups = m.groups
        n = len(groups) + 1
        if n > 127:
            out.append(_pack_i(m.throttle_time_ms) + varint_of(n))
        else:
            out.append(_pack_iB(m.throttle_time_ms, n))
        if groups:
            _write_described_group_6(groups, out)
        out.append(ONE_BYTE[0])


DescribeGroupsResponse._READERS = {
    **dict.fromkeys(range(0, 1), _read_describe_groups_response_0),
    **dict.fromkeys(range(1, 3), _read_describe_groups_response_1),
    **dict.fromkeys(range(3, 4), _read_describe_groups_response_3),
    **dict.fromkeys(range(4, 5), _read_describe_groups_response_4),
    **dict.fromkeys(range(5, 6), _read_describe_groups_response_5),
    **dict.fromkeys(range(6, 7), _read_describe_groups_response_6),
}
DescribeGroupsResponse._WRITERS = {
    **dict.fromkeys(range(0, 1), _write_describe_groups_response_0),
    **dict.fromkeys(range(1, 3), _write_describe_groups_response_1),
    **dict.fromkeys(range(3, 4), _write_describe_groups_response_3),
    **dict.fromkeys(range(4, 5), _write_describe_groups_response_4),
    **dict.fromkeys(range(5, 6), _write_describe_groups_response_5),
    **dict.fromkeys(range(6, 7), _write_describe_groups_response_6),
}
