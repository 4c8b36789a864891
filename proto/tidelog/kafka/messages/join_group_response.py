"""JoinGroupResponse of Kafka's protocol.

Generated from proto/kafka/join_group.schema; do not edit.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import ClassVar

import msgspec

from tidelog.kafka.message import Message
from tidelog.kafka.wire import ONE_BYTE, Buffer, bad_count, bad_length, cut_off, long_text, long_varint, not_utf8, null_field, skip_tags, text_length_of, varint_of


class JoinGroupResponse(Message, gc=False):
    """Response of API 11, versions 0-9."""

    API_KEY: ClassVar[int] = 11
    VERSIONS: ClassVar[range] = range(0, 10)
    FLEXIBLE: ClassVar[range] = range(6, 10)

    throttle_time_ms: int = 0
    error_code: int = 0
    generation_id: int = -1
    protocol_type: str | None = None
    protocol_name: str | None = ""
    leader: str = ""
    skip_assignment: bool = False
    member_id: str = ""
    members: list[JoinGroupResponseMember] = []


class JoinGroupResponseMember(msgspec.Struct, gc=False):
    member_id: str = ""
    group_instance_id: str | None = None
    metadata: bytes = b""


_unpack_tB = Struct(">?B").unpack_from
_unpack_h = Struct(">h").unpack_from
_unpack_hih = Struct(">hih").unpack_from
_unpack_i = Struct(">i").unpack_from
_unpack_ihiB = Struct(">ihiB").unpack_from
_unpack_ihih = Struct(">ihih").unpack_from
_pack_t = Struct(">?").pack
_pack_tB = Struct(">?B").pack
_pack_h = Struct(">h").pack
_pack_hih = Struct(">hih").pack
_pack_i = Struct(">i").pack
_pack_ihi = Struct(">ihi").pack
_pack_ihiB = Struct(">ihiB").pack
_pack_ihih = Struct(">ihih").pack


def _read_join_group_response_member_0(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[JoinGroupResponseMember], int]:
    items: list[JoinGroupResponseMember] = []
    for _ in range(count):
        if end - at < 2:
            raise cut_off("JoinGroupResponseMember", "MemberId=2", end - at)
        n = _unpack_h(data, at)[0]
        at += 2
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("JoinGroupResponseMember.MemberId", n, end - at)
        try:
            member_id = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("JoinGroupResponseMember.MemberId") from None
        at = stop
        if end - at < 4:
            raise cut_off("JoinGroupResponseMember", "Metadata=4", end - at)
        n = _unpack_i(data, at)[0]
        at += 4
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("JoinGroupResponseMember.Metadata", n, end - at)
        metadata = data[at:stop]
        at = stop
        items.append(JoinGroupResponseMember(member_id, None, metadata))
    return items, at


def _read_join_group_response_0(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[JoinGroupResponse], int]:
    items: list[JoinGroupResponse] = []
    for _ in range(count):
        if end - at < 8:
            raise cut_off("JoinGroupResponse", "ErrorCode=2 GenerationId=4 ProtocolName=2", end - at)
        error_code, generation_id, n = _unpack_hih(data, at)
        at += 8
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("JoinGroupResponse.ProtocolName", n, end - at)
        try:
            protocol_name = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("JoinGroupResponse.ProtocolName") from None
        at = stop
        if end - at < 2:
            raise cut_off("JoinGroupResponse", "Leader=2", end - at)
        n = _unpack_h(data, at)[0]
        at += 2
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("JoinGroupResponse.Leader", n, end - at)
        try:
            leader = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("JoinGroupResponse.Leader") from None
        at = stop
        if end - at < 2:
            raise cut_off("JoinGroupResponse", "MemberId=2", end - at)
        n = _unpack_h(data, at)[0]
        at += 2
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("JoinGroupResponse.MemberId", n, end - at)
        try:
            member_id = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("JoinGroupResponse.MemberId") from None
        at = stop
        if end - at < 4:
            raise cut_off("JoinGroupResponse", "Members=4", end - at)
        n = _unpack_i(data, at)[0]
        at += 4
        room[0] -= n
        if n < 0 or 6 * n > end - at or room[0] < 0:
            raise bad_count("JoinGroupResponse.Members", n, end - at, room[0])
        members, at = _read_join_group_response_member_0(data, at, end, room, n)
        items.append(JoinGroupResponse(0, error_code, generation_id, None, protocol_name, leader, False, member_id, members))
    return items, at


def _read_join_group_response_2(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[JoinGroupResponse], int]:
    items: list[JoinGroupResponse] = []
    for _ in range(count):
        if end - at < 12:
            raise cut_off("JoinGroupResponse", "ThrottleTimeMs=4 ErrorCode=2 GenerationId=4 ProtocolName=2", end - at)
        throttle_time_ms, error_code, generation_id, n = _unpack_ihih(data, at)
        at += 12
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("JoinGroupResponse.ProtocolName", n, end - at)
        try:
            protocol_name = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("JoinGroupResponse.ProtocolName") from None
        at = stop
        if end - at < 2:
            raise cut_off("JoinGroupResponse", "Leader=2", end - at)
        n = _unpack_h(data, at)[0]
        at += 2
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("JoinGroupResponse.Leader", n, end - at)
        try:
            leader = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("JoinGroupResponse.Leader") from None
        at = stop
        if end - at < 2:
            raise cut_off("JoinGroupResponse", "MemberId=2", end - at)
        n = _unpack_h(data, at)[0]
        at += 2
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("JoinGroupResponse.MemberId", n, end - at)
        try:
            member_id = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("JoinGroupResponse.MemberId") from None
        at = stop
        if end - at < 4:
            raise cut_off("JoinGroupResponse", "Members=4", end - at)
        n = _unpack_i(data, at)[0]
        at += 4
        room[0] -= n
        if n < 0 or 6 * n > end - at or room[0] < 0:
            raise bad_count("JoinGroupResponse.Members", n, end - at, room[0])
        members, at = _read_join_group_response_member_0(data, at, end, room, n)
        items.append(JoinGroupResponse(throttle_time_ms, error_code, generation_id, None, protocol_name, leader, False, member_id, members))
    return items, at


def _read_join_group_response_member_5(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[JoinGroupResponseMember], int]:
    items: list[JoinGroupResponseMember] = []
    for _ in range(count):
        if end - at < 2:
            raise cut_off("JoinGroupResponseMember", "MemberId=2", end - at)
        n = _unpack_h(data, at)[0]
        at += 2
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("JoinGroupResponseMember.MemberId", n, end - at)
        try:
            member_id = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("JoinGroupResponseMember.MemberId") from None
        at = stop
        if end - at < 2:
            raise cut_off("JoinGroupResponseMember", "GroupInstanceId=2", end - at)
        n = _unpack_h(data, at)[0]
        at += 2
        if n == -1:
            group_instance_id = None
        else:
            stop = at + n
            if n < 0 or stop > end:
                raise bad_length("JoinGroupResponseMember.GroupInstanceId", n, end - at)
            try:
                group_instance_id = data[at:stop].decode()
            except UnicodeDecodeError:
                raise not_utf8("JoinGroupResponseMember.GroupInstanceId") from None
            at = stop
        if end - at < 4:
            raise cut_off("JoinGroupResponseMember", "Metadata=4", end - at)
        n = _unpack_i(data, at)[0]
        at += 4
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("JoinGroupResponseMember.Metadata", n, end - at)
        metadata = data[at:stop]
        at = stop
        items.append(JoinGroupResponseMember(member_id, group_instance_id, metadata))
    return items, at


def _read_join_group_response_5(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[JoinGroupResponse], int]:
    items: list[JoinGroupResponse] = []
    for _ in range(count):
        if end - at < 12:
            raise cut_off("JoinGroupResponse", "ThrottleTimeMs=4 ErrorCode=2 GenerationId=4 ProtocolName=2", end - at)
        throttle_time_ms, error_code, generation_id, n = _unpack_ihih(data, at)
        at += 12
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("JoinGroupResponse.ProtocolName", n, end - at)
        try:
            protocol_name = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("JoinGroupResponse.ProtocolName") from None
        at = stop
        if end - at < 2:
            raise cut_off("JoinGroupResponse", "Leader=2", end - at)
        n = _unpack_h(data, at)[0]
        at += 2
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("JoinGroupResponse.Leader", n, end - at)
        try:
            leader = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("JoinGroupResponse.Leader") from None
        at = stop
        if end - at < 2:
            raise cut_off("JoinGroupResponse", "MemberId=2", end - at)
        n = _unpack_h(data, at)[0]
        at += 2
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("JoinGroupResponse.MemberId", n, end - at)
        try:
            member_id = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("JoinGroupResponse.MemberId") from None
        at = stop
        if end - at < 4:
            raise cut_off("JoinGroupResponse", "Members=4", end - at)
        n = _unpack_i(data, at)[0]
        at += 4
        room[0] -= n
        if n < 0 or 8 * n > end - at or room[0] < 0:
            raise bad_count("JoinGroupResponse.Members", n, end - at, room[0])
        members, at = _read_join_group_response_member_5(data, at, end, room, n)
        items.append(JoinGroupResponse(throttle_time_ms, error_code, generation_id, None, protocol_name, leader, False, member_id, members))
    return items, at


def _read_join_group_response_member_6(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[JoinGroupResponseMember], int]:
    items: list[JoinGroupResponseMember] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("JoinGroupResponseMember", "MemberId=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "JoinGroupResponseMember.MemberId")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("JoinGroupResponseMember.MemberId", n - 1, end - at)
        try:
            member_id = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("JoinGroupResponseMember.MemberId") from None
        at = stop
        if at >= end:
            raise cut_off("JoinGroupResponseMember", "GroupInstanceId=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "JoinGroupResponseMember.GroupInstanceId")
        if n == 0:
            group_instance_id = None
        else:
            stop = at + n - 1
            if n < 1 or stop > end:
                raise bad_length("JoinGroupResponseMember.GroupInstanceId", n - 1, end - at)
            try:
                group_instance_id = data[at:stop].decode()
            except UnicodeDecodeError:
                raise not_utf8("JoinGroupResponseMember.GroupInstanceId") from None
            at = stop
        if at >= end:
            raise cut_off("JoinGroupResponseMember", "Metadata=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "JoinGroupResponseMember.Metadata")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("JoinGroupResponseMember.Metadata", n - 1, end - at)
        metadata = data[at:stop]
        at = stop
        if at >= end:
            raise cut_off("JoinGroupResponseMember", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "JoinGroupResponseMember")
        items.append(JoinGroupResponseMember(member_id, group_instance_id, metadata))
    return items, at


def _read_join_group_response_6(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[JoinGroupResponse], int]:
    items: list[JoinGroupResponse] = []
    for _ in range(count):
        if end - at < 11:
            raise cut_off("JoinGroupResponse", "ThrottleTimeMs=4 ErrorCode=2 GenerationId=4 ProtocolName=1", end - at)
        throttle_time_ms, error_code, generation_id, n = _unpack_ihiB(data, at)
        at += 11
        if n > 127:
            n, at = long_text(data, at, end, n, "JoinGroupResponse.ProtocolName")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("JoinGroupResponse.ProtocolName", n - 1, end - at)
        try:
            protocol_name = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("JoinGroupResponse.ProtocolName") from None
        at = stop
        if at >= end:
            raise cut_off("JoinGroupResponse", "Leader=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "JoinGroupResponse.Leader")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("JoinGroupResponse.Leader", n - 1, end - at)
        try:
            leader = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("JoinGroupResponse.Leader") from None
        at = stop
        if at >= end:
            raise cut_off("JoinGroupResponse", "MemberId=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "JoinGroupResponse.MemberId")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("JoinGroupResponse.MemberId", n - 1, end - at)
        try:
            member_id = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("JoinGroupResponse.MemberId") from None
        at = stop
        if at >= end:
            raise cut_off("JoinGroupResponse", "Members=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "JoinGroupResponse.Members")
        n -= 1
        room[0] -= n
        if n < 0 or 4 * n > end - at or room[0] < 0:
            raise bad_count("JoinGroupResponse.Members", n, end - at, room[0])
        members, at = _read_join_group_response_member_6(data, at, end, room, n)
        if at >= end:
            raise cut_off("JoinGroupResponse", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "JoinGroupResponse")
        items.append(JoinGroupResponse(throttle_time_ms, error_code, generation_id, None, protocol_name, leader, False, member_id, members))
    return items, at


def _read_join_group_response_7(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[JoinGroupResponse], int]:
    items: list[JoinGroupResponse] = []
    for _ in range(count):
        if end - at < 11:
            raise cut_off("JoinGroupResponse", "ThrottleTimeMs=4 ErrorCode=2 GenerationId=4 ProtocolType=1", end - at)
        throttle_time_ms, error_code, generation_id, n = _unpack_ihiB(data, at)
        at += 11
        if n > 127:
            n, at = long_text(data, at, end, n, "JoinGroupResponse.ProtocolType")
        if n == 0:
            protocol_type = None
        else:
            stop = at + n - 1
            if n < 1 or stop > end:
                raise bad_length("JoinGroupResponse.ProtocolType", n - 1, end - at)
            try:
                protocol_type = data[at:stop].decode()
            except UnicodeDecodeError:
                raise not_utf8("JoinGroupResponse.ProtocolType") from None
            at = stop
        if at >= end:
            raise cut_off("JoinGroupResponse", "ProtocolName=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "JoinGroupResponse.ProtocolName")
        if n == 0:
            protocol_name = None
        else:
            stop = at + n - 1
            if n < 1 or stop > end:
                raise bad_length("JoinGroupResponse.ProtocolName", n - 1, end - at)
            try:
                protocol_name = data[at:stop].decode()
            except UnicodeDecodeError:
                raise not_utf8("JoinGroupResponse.ProtocolName") from None
            at = stop
        if at >= end:
            raise cut_off("JoinGroupResponse", "Leader=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "JoinGroupResponse.Leader")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("JoinGroupResponse.Leader", n - 1, end - at)
        try:
            leader = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("JoinGroupResponse.Leader") from None
        at = stop
        if at >= end:
            raise cut_off("JoinGroupResponse", "MemberId=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "JoinGroupResponse.MemberId")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("JoinGroupResponse.MemberId", n - 1, end - at)
        try:
            member_id = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("JoinGroupResponse.MemberId") from None
        at = stop
        if at >= end:
            raise cut_off("JoinGroupResponse", "Members=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "JoinGroupResponse.Members")
        n -= 1
        room[0] -= n
        if n < 0 or 4 * n > end - at or room[0] < 0:
            raise bad_count("JoinGroupResponse.Members", n, end - at, room[0])
        members, at = _read_join_group_response_member_6(data, at, end, room, n)
        if at >= end:
            raise cut_off("JoinGroupResponse", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "JoinGroupResponse")
        items.append(JoinGroupResponse(throttle_time_ms, error_code, generation_id, protocol_type, protocol_name, leader, False, member_id, members))
    return items, at


def _read_join_group_response_9(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[JoinGroupResponse], int]:
    items: list[JoinGroupResponse] = []
    for _ in range(count):
        if end - at < 11:
            raise cut_off("JoinGroupResponse", "ThrottleTimeMs=4 ErrorCode=2 GenerationId=4 ProtocolType=1", end - at)
        throttle_time_ms, error_code, generation_id, n = _unpack_ihiB(data, at)
        at += 11
        if n > 127:
            n, at = long_text(data, at, end, n, "JoinGroupResponse.ProtocolType")
        if n == 0:
            protocol_type = None
        else:
            stop = at + n - 1
            if n < 1 or stop > end:
                raise bad_length("JoinGroupResponse.ProtocolType", n - 1, end - at)
            try:
                protocol_type = data[at:stop].decode()
            except UnicodeDecodeError:
                raise not_utf8("JoinGroupResponse.ProtocolType") from None
            at = stop
        if at >= end:
            raise cut_off("JoinGroupResponse", "ProtocolName=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "JoinGroupResponse.ProtocolName")
        if n == 0:
            protocol_name = None
        else:
            stop = at + n - 1
            if n < 1 or stop > end:
                raise bad_length("JoinGroupResponse.ProtocolName", n - 1, end - at)
            try:
                protocol_name = data[at:stop].decode()
            except UnicodeDecodeError:
                raise not_utf8("JoinGroupResponse.ProtocolName") from None
            at = stop
        if at >= end:
            raise cut_off("JoinGroupResponse", "Leader=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "JoinGroupResponse.Leader")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("JoinGroupResponse.Leader", n - 1, end - at)
        try:
            leader = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("JoinGroupResponse.Leader") from None
        at = stop
        if end - at < 2:
            raise cut_off("JoinGroupResponse", "SkipAssignment=1 MemberId=1", end - at)
        skip_assignment, n = _unpack_tB(data, at)
        at += 2
        if n > 127:
            n, at = long_text(data, at, end, n, "JoinGroupResponse.MemberId")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("JoinGroupResponse.MemberId", n - 1, end - at)
        try:
            member_id = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("JoinGroupResponse.MemberId") from None
        at = stop
        if at >= end:
            raise cut_off("JoinGroupResponse", "Members=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "JoinGroupResponse.Members")
        n -= 1
        room[0] -= n
        if n < 0 or 4 * n > end - at or room[0] < 0:
            raise bad_count("JoinGroupResponse.Members", n, end - at, room[0])
        members, at = _read_join_group_response_member_6(data, at, end, room, n)
        if at >= end:
            raise cut_off("JoinGroupResponse", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "JoinGroupResponse")
        items.append(JoinGroupResponse(throttle_time_ms, error_code, generation_id, protocol_type, protocol_name, leader, skip_assignment, member_id, members))
    return items, at


def _write_join_group_response_member_0(items: Iterable[JoinGroupResponseMember], out: list[Buffer]) -> None:
    for m in items:
        member_id = m.member_id
        content = member_id.encode()
        n = len(content)
        out.append(_pack_h(n))
        out.append(content)
        metadata = m.metadata
        n = len(metadata)
        out.append(_pack_i(n))
        out.append(metadata)


def _write_join_group_response_0(items: Iterable[JoinGroupResponse], out: list[Buffer]) -> None:
    for m in items:
        protocol_name = m.protocol_name
        if protocol_name is None:
            raise null_field("JoinGroupResponse.ProtocolName")
        content = protocol_name.encode()
        n = len(content)
        out.append(_pack_hih(m.error_code, m.generation_id, n))
        out.append(content)
        leader = m.leader
        content = leader.encode()
        n = len(content)
        out.append(_pack_h(n))
        out.append(content)
        member_id = m.member_id
        content = member_id.encode()
        n = len(content)
        out.append(_pack_h(n))
        out.append(content)
        members = m.members
        n = len(members)
        out.append(_pack_i(n))
        if members:
            _write_join_group_response_member_0(members, out)


def _write_join_group_response_2(items: Iterable[JoinGroupResponse], out: list[Buffer]) -> None:
    for m in items:
        protocol_name = m.protocol_name
        if protocol_name is None:
            raise null_field("JoinGroupResponse.ProtocolName")
        content = protocol_name.encode()
        n = len(content)
        out.append(_pack_ihih(m.throttle_time_ms, m.error_code, m.generation_id, n))
        out.append(content)
        leader = m.leader
        content = leader.encode()
        n = len(content)
        out.append(_pack_h(n))
        out.append(content)
        member_id = m.member_id
        content = member_id.encode()
        n = len(content)
        out.append(_pack_h(n))
        out.append(content)
        members = m.members
        n = len(members)
        out.append(_pack_i(n))
        if members:
            _write_join_group_response_member_0(members, out)


def _write_join_group_response_member_5(items: Iterable[JoinGroupResponseMember], out: list[Buffer]) -> None:
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
        metadata = m.metadata
        n = len(metadata)
        out.append(_pack_i(n))
        out.append(metadata)


def _write_join_group_response_5(items: Iterable[JoinGroupResponse], out: list[Buffer]) -> None:
    for m in items:
        protocol_name = m.protocol_name
        if protocol_name is None:
            raise null_field("JoinGroupResponse.ProtocolName")
        content = protocol_name.encode()
        n = len(content)
        out.append(_pack_ihih(m.throttle_time_ms, m.error_code, m.generation_id, n))
        out.append(content)
        leader = m.leader
        content = leader.encode()
        n = len(content)
        out.append(_pack_h(n))
        out.append(content)
        member_id = m.member_id
        content = member_id.encode()
        n = len(content)
        out.append(_pack_h(n))
        out.append(content)
        members = m.members
        n = len(members)
        out.append(_pack_i(n))
        if members:
            _write_join_group_response_member_5(members, out)


def _write_join_group_response_member_6(items: Iterable[JoinGroupResponseMember], out: list[Buffer]) -> None:
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
        metadata = m.metadata
        n = len(metadata) + 1
        if n > 127:
            out.append(varint_of(n))
        else:
            out.append(ONE_BYTE[n])
        out.append(metadata)
        out.append(ONE_BYTE[0])


def _write_join_group_response_6(items: Iterable[JoinGroupResponse], out: list[Buffer]) -> None:
    for m in items:
        protocol_name = m.protocol_name
        if protocol_name is None:
            raise null_field("JoinGroupResponse.ProtocolName")
        content = protocol_name.encode()
        n = len(content) + 1
        if n > 127:
            out.append(_pack_ihi(m.throttle_time_ms, m.error_code, m.generation_id) + text_length_of(n))
        else:
            out.append(_pack_ihiB(m.throttle_time_ms, m.error_code, m.generation_id, n))
        out.append(content)
        leader = m.leader
        content = leader.encode()
        n = len(content) + 1
        if n > 127:
            out.append(text_length_of(n))
        else:
            out.append(ONE_BYTE[n])
        out.append(content)
        member_id = m.member_id
        content = member_id.encode()
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
            _write_join_group_response_member_6(members, out)
        out.append(ONE_BYTE[0])


def _write_join_group_response_7(items: Iterable[JoinGroupResponse], out: list[Buffer]) -> None:
    for m in items:
        protocol_type = m.protocol_type
        if protocol_type is None:
            content = b""
            n = 0
        else:
            content = protocol_type.encode()
            n = len(content) + 1
        if n > 127:
            out.append(_pack_ihi(m.throttle_time_ms, m.error_code, m.generation_id) + text_length_of(n))
        else:
            out.append(_pack_ihiB(m.throttle_time_ms, m.error_code, m.generation_id, n))
        out.append(content)
        protocol_name = m.protocol_name
        if protocol_name is None:
            content = b""
            n = 0
        else:
            content = protocol_name.encode()
            n = len(content) + 1
        if n > 127:
            out.append(text_length_of(n))
        else:
            out.append(ONE_BYTE[n])
        out.append(content)
        leader = m.leader
        content = leader.encode()
        n = len(content) + 1
        if n > 127:
            out.append(text_length_of(n))
        else:
            out.append(ONE_BYTE[n])
        out.append(content)
        member_id = m.member_id
        content = member_id.encode()
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
            _write_join_group_response_member_6(members, out)
        out.append(ONE_BYTE[0])


def _write_join_group_response_9(items: Iterable[JoinGroupResponse], out: list[Buffer]) -> None:
    for m in items:
        protocol_type = m.protocol_type
        if protocol_type is None:
            content = b""
            n = 0
        else:
            content = protocol_type.encode()
            n = len(content) + 1
        if n > 127:
            out.append(_pack_ihi(m.throttle_time_ms, m.error_code, m.generation_id) + text_length_of(n))
        else:
            out.append(_pack_ihiB(m.throttle_time_ms, m.error_code, m.generation_id, n))
        out.append(content)
        protocol_name = m.protocol_name
        if protocol_name is None:
            content = b""
            n = 0
        else:
            content = protocol_name.encode()
            n = len(content) + 1
        if n > 127:
            out.append(text_length_of(n))
        else:
            out.append(ONE_BYTE[n])
        out.append(content)
        leader = m.leader
        content = leader.encode()
        n = len(content) + 1
        if n > 127:
            out.append(text_length_of(n))
        else:
            out.append(ONE_BYTE[n])
        out.append(content)
        member_id = m.member_id
        content = member_id.encode()
        n = len(content) + 1
        if n > 127:
            out.append(_pack_t(m.skip_assignment) + text_length_of(n))
        else:
            out.append(_pack_tB(m.skip_assignment, n))
        out.append(content)
        members = m.members
        n = len(members) + 1
        if n > 127:
            out.append(varint_of(n))
        else:
            out.append(ONE_BYTE[n])
        if members:
            _write_join_group_response_member_6(members, out)
        out.append(ONE_BYTE[0])


JoinGroupResponse._READERS = {
    **dict.fromkeys(range(0, 2), _read_join_group_response_0),
    **dict.fromkeys(range(2, 5), _read_join_group_response_2),
    **dict.fromkeys(range(5, 6), _read_join_group_response_5),
    **dict.fromkeys(range(6, 7), _read_join_group_response_6),
    **dict.fromkeys(range(7, 9), _read_join_group_response_7),
    **dict.fromkeys(range(9, 10), _read_join_group_response_9),
}
JoinGroupResponse._WRITERS = {
    **dict.fromkeys(range(0, 2), _write_join_group_response_0),
    **dict.fromkeys(range(2, 5), _write_join_group_response_2),
    **dict.fromkeys(range(5, 6), _write_join_group_response_5),
    **dict.fromkeys(range(6, 7), _write_join_group_response_6),
    **dict.fromkeys(range(7, 9), _write_join_group_response_7),
    **dict.fromkeys(range(9, 10), _write_join_group_response_9),
}
