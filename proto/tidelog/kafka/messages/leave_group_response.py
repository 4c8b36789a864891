"""LeaveGroupResponse of Kafka's protocol.

Generated from proto/kafka/leave_group.schema; do not edit.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import ClassVar

import msgspec

from tidelog.kafka.message import Message
from tidelog.kafka.wire import ONE_BYTE, Buffer, bad_count, bad_length, cut_off, long_text, long_varint, not_utf8, skip_tags, text_length_of, varint_of


class LeaveGroupResponse(Message, gc=False):
    """Response of API 13, versions 0-5."""

    API_KEY: ClassVar[int] = 13
    VERSIONS: ClassVar[range] = range(0, 6)
    FLEXIBLE: ClassVar[range] = range(4, 6)

    throttle_time_ms: int = 0
    error_code: int = 0
    members: list[MemberResponse] = []


class MemberResponse(msgspec.Struct, gc=False):
    member_id: str = ""
    group_instance_id: str | None = ""
    error_code: int = 0


_unpack_h = Struct(">h").unpack_from
_unpack_hB = Struct(">hB").unpack_from
_unpack_ih = Struct(">ih").unpack_from
_unpack_ihB = Struct(">ihB").unpack_from
_unpack_ihi = Struct(">ihi").unpack_from
_pack_h = Struct(">h").pack
_pack_hx = Struct(">hx").pack
_pack_ih = Struct(">ih").pack
_pack_ihB = Struct(">ihB").pack
_pack_ihi = Struct(">ihi").pack


def _read_leave_group_response_0(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[LeaveGroupResponse], int]:
    items: list[LeaveGroupResponse] = []
    for _ in range(count):
        if end - at < 2:
            raise cut_off("LeaveGroupResponse", "ErrorCode=2", end - at)
        error_code = _unpack_h(data, at)[0]
        at += 2
        items.append(LeaveGroupResponse(0, error_code))
    return items, at


def _read_leave_group_response_1(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[LeaveGroupResponse], int]:
    items: list[LeaveGroupResponse] = []
    for _ in range(count):
        if end - at < 6:
            raise cut_off("LeaveGroupResponse", "ThrottleTimeMs=4 ErrorCode=2", end - at)
        throttle_time_ms, error_code = _unpack_ih(data, at)
        at += 6
        items.append(LeaveGroupResponse(throttle_time_ms, error_code))
    return items, at


def _read_member_response_3(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[MemberResponse], int]:
    items: list[MemberResponse] = []
    for _ in range(count):
        if end - at < 2:
            raise cut_off("MemberResponse", "MemberId=2", end - at)
        n = _unpack_h(data, at)[0]
        at += 2
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("MemberResponse.MemberId", n, end - at)
        try:
            member_id = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("MemberResponse.MemberId") from None
        at = stop
        if end - at < 2:
            raise cut_off("MemberResponse", "GroupInstanceId=2", end - at)
        n = _unpack_h(data, at)[0]
        at += 2
        if n == -1:
            group_instance_id = None
        else:
            stop = at + n
            if n < 0 or stop > end:
                raise bad_length("MemberResponse.GroupInstanceId", n, end - at)
            try:
                group_instance_id = data[at:stop].decode()
            except UnicodeDecodeError:
                raise not_utf8("MemberResponse.GroupInstanceId") from None
            at = stop
        if end - at < 2:
            raise cut_off("MemberResponse", "ErrorCode=2", end - at)
        error_code = _unpack_h(data, at)[0]
        at += 2
        items.append(MemberResponse(member_id, group_instance_id, error_code))
    return items, at


def _read_leave_group_response_3(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[LeaveGroupResponse], int]:
    items: list[LeaveGroupResponse] = []
    for _ in range(count):
        if end - at < 10:
            raise cut_off("LeaveGroupResponse", "ThrottleTimeMs=4 ErrorCode=2 Members=4", end - at)
        throttle_time_ms, error_code, n = _unpack_ihi(data, at)
        at += 10
        room[0] -= n
        if n < 0 or 6 * n > end - at or room[0] < 0:
            raise bad_count("LeaveGroupResponse.Members", n, end - at, room[0])
        members, at = _read_member_response_3(data, at, end, room, n)
        items.append(LeaveGroupResponse(throttle_time_ms, error_code, members))
    return items, at


def _read_member_response_4(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[MemberResponse], int]:
    items: list[MemberResponse] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("MemberResponse", "MemberId=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "MemberResponse.MemberId")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("MemberResponse.MemberId", n - 1, end - at)
        try:
            member_id = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("MemberResponse.MemberId") from None
        at = stop
        if at >= end:
            raise cut_off("MemberResponse", "GroupInstanceId=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "MemberResponse.GroupInstanceId")
        if n == 0:
            group_instance_id = None
        else:
            stop = at + n - 1
            if n < 1 or stop > end:
                raise bad_length("MemberResponse.GroupInstanceId", n - 1, end - at)
            try:
                group_instance_id = data[at:stop].decode()
            except UnicodeDecodeError:
                raise not_utf8("MemberResponse.GroupInstanceId") from None
            at = stop
        if end - at < 3:
            raise cut_off("MemberResponse", "ErrorCode=2 tags=1", end - at)
        error_code, tags = _unpack_hB(data, at)
        at += 3
        if tags:
            at = skip_tags(data, at, end, tags, "MemberResponse")
        items.append(MemberResponse(member_id, group_instance_id, error_code))
    return items, at


def _read_leave_group_response_4(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[LeaveGroupResponse], int]:
    items: list[LeaveGroupResponse] = []
    for _ in range(count):
        if end - at < 7:
            raise cut_off("LeaveGroupResponse", "ThrottleTimeMs=4 ErrorCode=2 Members=1", end - at)
        throttle_time_ms, error_code, n = _unpack_ihB(data, at)
        at += 7
        if n > 127:
            n, at = long_varint(data, at, end, n, "LeaveGroupResponse.Members")
        n -= 1
        room[0] -= n
        if n < 0 or 5 * n > end - at or room[0] < 0:
            raise bad_count("LeaveGroupResponse.Members", n, end - at, room[0])
        members, at = _read_member_response_4(data, at, end, room, n)
        if at >= end:
            raise cut_off("LeaveGroupResponse", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "LeaveGroupResponse")
        items.append(LeaveGroupResponse(throttle_time_ms, error_code, members))
    return items, at


def _write_leave_group_response_0(items: Iterable[LeaveGroupResponse], out: list[Buffer]) -> None:
    for m in items:
        out.append(_pack_h(m.error_code))


def _write_leave_group_response_1(items: Iterable[LeaveGroupResponse], out: list[Buffer]) -> None:
    for m in items:
        out.append(_pack_ih(m.throttle_time_ms, m.error_code))


def _write_member_response_3(items: Iterable[MemberResponse], out: list[Buffer]) -> None:
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
        out.append(_pack_h(m.error_code))


def _write_leave_group_response_3(items: Iterable[LeaveGroupResponse], out: list[Buffer]) -> None:
    for m in items:
        members = m.members
        n = len(members)
        out.append(_pack_ihi(m.throttle_time_ms, m.error_code, n))
        if members:
            _write_member_response_3(members, out)


def _write_member_response_4(items: Iterable[MemberResponse], out: list[Buffer]) -> None:
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
        out.append(_pack_hx(m.error_code))


def _write_leave_group_response_4(items: Iterable[LeaveGroupResponse], out: list[Buffer]) -> None:
    for m in items:
        members = m.members
        n = len(members) + 1
        if n > 127:
            out.append(_pack_ih(m.throttle_time_ms, m.error_code) + varint_of(n))
        else:
            out.append(_pack_ihB(m.throttle_time_ms, m.error_code, n))
        if members:
            _write_member_response_4(members, out)
        out.append(ONE_BYTE[0])


LeaveGroupResponse._READERS = {
    **dict.fromkeys(range(0, 1), _read_leave_group_response_0),
    **dict.fromkeys(range(1, 3), _read_leave_group_response_1),
    **dict.fromkeys(range(3, 4), _read_leave_group_response_3),
    **dict.fromkeys(range(4, 6), _read_leave_group_response_4),
}
LeaveGroupResponse._WRITERS = {
    **dict.fromkeys(range(0, 1), _write_leave_group_response_0),
    **dict.fromkeys(range(1, 3), _write_leave_group_response_1),
    **dict.fromkeys(range(3, 4), _write_leave_group_response_3),
    **dict.fromkeys(range(4, 6), _write_leave_group_response_4),
}
