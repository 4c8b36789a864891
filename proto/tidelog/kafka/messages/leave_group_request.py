"""LeaveGroupRequest of Kafka's protocol.

Generated from proto/kafka/leave_group.schema; do not edit.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import ClassVar

import msgspec

from tidelog.kafka.message import Message
from tidelog.kafka.wire import ONE_BYTE, Buffer, bad_count, bad_length, cut_off, long_text, long_varint, not_utf8, skip_tags, text_length_of, varint_of


class LeaveGroupRequest(Message, gc=False):
    """Request of API 13, versions 0-5."""

    API_KEY: ClassVar[int] = 13
    VERSIONS: ClassVar[range] = range(0, 6)
    FLEXIBLE: ClassVar[range] = range(4, 6)

    group_id: str = ""
    member_id: str = ""
    members: list[MemberIdentity] = []


class MemberIdentity(msgspec.Struct, gc=False):
    member_id: str = ""
    group_instance_id: str | None = None
    reason: str | None = None


_unpack_h = Struct(">h").unpack_from
_unpack_i = Struct(">i").unpack_from
_pack_h = Struct(">h").pack
_pack_i = Struct(">i").pack


def _read_leave_group_request_0(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[LeaveGroupRequest], int]:
    items: list[LeaveGroupRequest] = []
    for _ in range(count):
        if end - at < 2:
            raise cut_off("LeaveGroupRequest", "GroupId=2", end - at)
        n = _unpack_h(data, at)[0]
        at += 2
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("LeaveGroupRequest.GroupId", n, end - at)
        try:
            group_id = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("LeaveGroupRequest.GroupId") from None
        at = stop
        if end - at < 2:
            raise cut_off("LeaveGroupRequest", "MemberId=2", end - at)
        n = _unpack_h(data, at)[0]
        at += 2
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("LeaveGroupRequest.MemberId", n, end - at)
        try:
            member_id = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("LeaveGroupRequest.MemberId") from None
        at = stop
        items.append(LeaveGroupRequest(group_id, member_id))
    return items, at


def _read_member_identity_3(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[MemberIdentity], int]:
    items: list[MemberIdentity] = []
    for _ in range(count):
        if end - at < 2:
            raise cut_off("MemberIdentity", "MemberId=2", end - at)
        n = _unpack_h(data, at)[0]
        at += 2
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("MemberIdentity.MemberId", n, end - at)
        try:
            member_id = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("MemberIdentity.MemberId") from None
        at = stop
        if end - at < 2:
            raise cut_off("MemberIdentity", "GroupInstanceId=2", end - at)
        n = _unpack_h(data, at)[0]
        at += 2
        if n == -1:
            group_instance_id = None
        else:
            stop = at + n
            if n < 0 or stop > end:
                raise bad_length("MemberIdentity.GroupInstanceId", n, end - at)
            try:
                group_instance_id = data[at:stop].decode()
            except UnicodeDecodeError:
                raise not_utf8("MemberIdentity.GroupInstanceId") from None
            at = stop
        items.append(MemberIdentity(member_id, group_instance_id))
    return items, at


def _read_leave_group_request_3(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[LeaveGroupRequest], int]:
    items: list[LeaveGroupRequest] = []
    for _ in range(count):
        if end - at < 2:
            raise cut_off("LeaveGroupRequest", "GroupId=2", end - at)
        n = _unpack_h(data, at)[0]
        at += 2
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("LeaveGroupRequest.GroupId", n, end - at)
        try:
            group_id = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("LeaveGroupRequest.GroupId") from None
        at = stop
        if end - at < 4:
            raise cut_off("LeaveGroupRequest", "Members=4", end - at)
        n = _unpack_i(data, at)[0]
        at += 4
        room[0] -= n
        if n < 0 or 4 * n > end - at or room[0] < 0:
            raise bad_count("LeaveGroupRequest.Members", n, end - at, room[0])
        members, at = _read_member_identity_3(data, at, end, room, n)
        items.append(LeaveGroupRequest(group_id, "", members))
    return items, at


def _read_member_identity_4(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[MemberIdentity], int]:
    items: list[MemberIdentity] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("MemberIdentity", "MemberId=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "MemberIdentity.MemberId")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("MemberIdentity.MemberId", n - 1, end - at)
        try:
            member_id = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("MemberIdentity.MemberId") from None
        at = stop
        if at >= end:
            raise cut_off("MemberIdentity", "GroupInstanceId=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "MemberIdentity.GroupInstanceId")
        if n == 0:
            group_instance_id = None
        else:
            stop = at + n - 1
            if n < 1 or stop > end:
                raise bad_length("MemberIdentity.GroupInstanceId", n - 1, end - at)
            try:
                group_instance_id = data[at:stop].decode()
            except UnicodeDecodeError:
                raise not_utf8("MemberIdentity.GroupInstanceId") from None
            at = stop
        if at >= end:
            raise cut_off("MemberIdentity", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "MemberIdentity")
        items.append(MemberIdentity(member_id, group_instance_id))
    return items, at


def _read_leave_group_request_4(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[LeaveGroupRequest], int]:
    items: list[LeaveGroupRequest] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("LeaveGroupRequest", "GroupId=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "LeaveGroupRequest.GroupId")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("LeaveGroupRequest.GroupId", n - 1, end - at)
        try:
            group_id = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("LeaveGroupRequest.GroupId") from None
        at = stop
        if at >= end:
            raise cut_off("LeaveGroupRequest", "Members=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "LeaveGroupRequest.Members")
        n -= 1
        room[0] -= n
        if n < 0 or 3 * n > end - at or room[0] < 0:
            raise bad_count("LeaveGroupRequest.Members", n, end - at, room[0])
        members, at = _read_member_identity_4(data, at, end, room, n)
        if at >= end:
            raise cut_off("LeaveGroupRequest", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "LeaveGroupRequest")
        items.append(LeaveGroupRequest(group_id, "", members))
    return items, at


def _read_member_identity_5(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[MemberIdentity], int]:
    items: list[MemberIdentity] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("MemberIdentity", "MemberId=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "MemberIdentity.MemberId")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("MemberIdentity.MemberId", n - 1, end - at)
        try:
            member_id = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("MemberIdentity.MemberId") from None
        at = stop
        if at >= end:
            raise cut_off("MemberIdentity", "GroupInstanceId=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "MemberIdentity.GroupInstanceId")
        if n == 0:
            group_instance_id = None
        else:
            stop = at + n - 1
            if n < 1 or stop > end:
                raise bad_length("MemberIdentity.GroupInstanceId", n - 1, end - at)
            try:
                group_instance_id = data[at:stop].decode()
            except UnicodeDecodeError:
                raise not_utf8("MemberIdentity.GroupInstanceId") from None
            at = stop
        if at >= end:
            raise cut_off("MemberIdentity", "Reason=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "MemberIdentity.Reason")
        if n == 0:
            reason = None
        else:
            stop = at + n - 1
            if n < 1 or stop > end:
                raise bad_length("MemberIdentity.Reason", n - 1, end - at)
            try:
                reason = data[at:stop].decode()
            except UnicodeDecodeError:
                raise not_utf8("MemberIdentity.Reason") from None
            at = stop
        if at >= end:
            raise cut_off("MemberIdentity", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "MemberIdentity")
        items.append(MemberIdentity(member_id, group_instance_id, reason))
    return items, at


def _read_leave_group_request_5(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[LeaveGroupRequest], int]:
    items: list[LeaveGroupRequest] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("LeaveGroupRequest", "GroupId=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "LeaveGroupRequest.GroupId")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("LeaveGroupRequest.GroupId", n - 1, end - at)
        try:
            group_id = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("LeaveGroupRequest.GroupId") from None
        at = stop
        if at >= end:
            raise cut_off("LeaveGroupRequest", "Members=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "LeaveGroupRequest.Members")
        n -= 1
        room[0] -= n
        if n < 0 or 4 * n > end - at or room[0] < 0:
            raise bad_count("LeaveGroupRequest.Members", n, end - at, room[0])
        members, at = _read_member_identity_5(data, at, end, room, n)
        if at >= end:
            raise cut_off("LeaveGroupRequest", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "LeaveGroupRequest")
        items.append(LeaveGroupRequest(group_id, "", members))
    return items, at


def _write_leave_group_request_0(items: Iterable[LeaveGroupRequest], out: list[Buffer]) -> None:
    for m in items:
        group_id = m.group_id
        content = group_id.encode()
        n = len(content)
        out.append(_pack_h(n))
        out.append(content)
        member_id = m.member_id
        content = member_id.encode()
        n = len(content)
        out.append(_pack_h(n))
        out.append(content)


def _write_member_identity_3(items: Iterable[MemberIdentity], out: list[Buffer]) -> None:
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


def _write_leave_group_request_3(items: Iterable[LeaveGroupRequest], out: list[Buffer]) -> None:
    for m in items:
        group_id = m.group_id
        content = group_id.encode()
        n = len(content)
        out.append(_pack_h(n))
        out.append(content)
        members = m.members
        n = len(members)
        out.append(_pack_i(n))
        if members:
            _write_member_identity_3(members, out)


def _write_member_identity_4(items: Iterable[MemberIdentity], out: list[Buffer]) -> None:
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
        out.append(ONE_BYTE[0])


def _write_leave_group_request_4(items: Iterable[LeaveGroupRequest], out: list[Buffer]) -> None:
    for m in items:
        group_id = m.group_id
        content = group_id.encode()
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
            _write_member_identity_4(members, out)
        out.append(ONE_BYTE[0])


def _write_member_identity_5(items: Iterable[MemberIdentity], out: list[Buffer]) -> None:
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
        reason = m.reason
        if reason is None:
            content = b""
            n = 0
        else:
            content = reason.encode()
            n = len(content) + 1
        if n > 127:
            out.append(text_length_of(n))
        else:
            out.append(ONE_BYTE[n])
        out.append(content)
        out.append(ONE_BYTE[0])


def _write_leave_group_request_5(items: Iterable[LeaveGroupRequest], out: list[Buffer]) -> None:
    for m in items:
        group_id = m.group_id
        content = group_id.encode()
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
            _write_member_identity_5(members, out)
        out.append(ONE_BYTE[0])


LeaveGroupRequest._READERS = {
    **dict.fromkeys(range(0, 3), _read_leave_group_request_0),
    **dict.fromkeys(range(3, 4), _read_leave_group_request_3),
    **dict.fromkeys(range(4, 5), _read_leave_group_request_4),
    **dict.fromkeys(range(5, 6), _read_leave_group_request_5),
}
LeaveGroupRequest._WRITERS = {
    **dict.fromkeys(range(0, 3), _write_leave_group_request_0),
    **dict.fromkeys(range(3, 4), _write_leave_group_request_3),
    **dict.fromkeys(range(4, 5), _write_leave_group_request_4),
    **dict.fromkeys(range(5, 6), _write_leave_group_request_5),
}
