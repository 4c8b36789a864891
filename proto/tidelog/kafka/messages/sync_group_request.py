"""SyncGroupRequest of Kafka's protocol.

Generated from proto/kafka/sync_group.schema; do not edit.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import ClassVar

import msgspec

from tidelog.kafka.message import Message
from tidelog.kafka.wire import ONE_BYTE, Buffer, bad_count, bad_length, cut_off, long_text, long_varint, not_utf8, skip_tags, text_length_of, varint_of


class SyncGroupRequest(Message, gc=False):
    """Request of API 14, versions 0-5."""

    API_KEY: ClassVar[int] = 14
    VERSIONS: ClassVar[range] = range(0, 6)
    FLEXIBLE: ClassVar[range] = range(4, 6)

    group_id: str = ""
    generation_id: int = 0
    member_id: str = ""
    group_instance_id: str | None = None
    protocol_type: str | None = None
    protocol_name: str | None = None
    assignments: list[SyncGroupRequestAssignment] = []


class SyncGroupRequestAssignment(msgspec.Struct, gc=False):
    member_id: str = ""
    assignment: bytes = b""


_unpack_h = Struct(">h").unpack_from
_unpack_i = Struct(">i").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_unpack_ih = Struct(">ih").unpack_from
_pack_h = Struct(">h").pack
_pack_i = Struct(">i").pack
_pack_iB = Struct(">iB").pack
_pack_ih = Struct(">ih").pack


def _read_sync_group_request_assignment_0(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[SyncGroupRequestAssignment], int]:
    items: list[SyncGroupRequestAssignment] = []
    for _ in range(count):
        if end - at < 2:
            raise cut_off("SyncGroupRequestAssignment", "MemberId=2", end - at)
        n = _unpack_h(data, at)[0]
        at += 2
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("SyncGroupRequestAssignment.MemberId", n, end - at)
        try:
            member_id = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("SyncGroupRequestAssignment.MemberId") from None
        at = stop
        if end - at < 4:
            raise cut_off("SyncGroupRequestAssignment", "Assignment=4", end - at)
        n = _unpack_i(data, at)[0]
        at += 4
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("SyncGroupRequestAssignment.Assignment", n, end - at)
        assignment = data[at:stop]
        at = stop
        items.append(SyncGroupRequestAssignment(member_id, assignment))
    return items, at


def _read_sync_group_request_0(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[SyncGroupRequest], int]:
    items: list[SyncGroupRequest] = []
    for _ in range(count):
        if end - at < 2:
            raise cut_off("SyncGroupRequest", "GroupId=2", end - at)
        n = _unpack_h(data, at)[0]
        at += 2
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("SyncGroupRequest.GroupId", n, end - at)
        try:
            group_id = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("SyncGroupRequest.GroupId") from None
        at = stop
        if end - at < 6:
            raise cut_off("SyncGroupRequest", "GenerationId=4 MemberId=2", end - at)
        generation_id, n = _unpack_ih(data, at)
        at += 6
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("SyncGroupRequest.MemberId", n, end - at)
        try:
            member_id = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("SyncGroupRequest.MemberId") from None
        at = stop
        if end - at < 4:
            raise cut_off("SyncGroupRequest", "Assignments=4", end - at)
        n = _unpack_i(data, at)[0]
        at += 4
        room[0] -= n
        if n < 0 or 6 * n > end - at or room[0] < 0:
            raise bad_count("SyncGroupRequest.Assignments", n, end - at, room[0])
        assignments, at = _read_sync_group_request_assignment_0(data, at, end, room, n)
        items.append(SyncGroupRequest(group_id, generation_id, member_id, None, None, None, assignments))
    return items, at


def _read_sync_group_request_3(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[SyncGroupRequest], int]:
    items: list[SyncGroupRequest] = []
    for _ in range(count):
        if end - at < 2:
            raise cut_off("SyncGroupRequest", "GroupId=2", end - at)
        n = _unpack_h(data, at)[0]
        at += 2
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("SyncGroupRequest.GroupId", n, end - at)
        try:
            group_id = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("SyncGroupRequest.GroupId") from None
        at = stop
        if end - at < 6:
            raise cut_off("SyncGroupRequest", "GenerationId=4 MemberId=2", end - at)
        generation_id, n = _unpack_ih(data, at)
        at += 6
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("SyncGroupRequest.MemberId", n, end - at)
        try:
            member_id = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("SyncGroupRequest.MemberId") from None
        at = stop
        if end - at < 2:
            raise cut_off("SyncGroupRequest", "GroupInstanceId=2", end - at)
        n = _unpack_h(data, at)[0]
        at += 2
        if n == -1:
            group_instance_id = None
        else:
            stop = at + n
            if n < 0 or stop > end:
                raise bad_length("SyncGroupRequest.GroupInstanceId", n, end - at)
            try:
                group_instance_id = data[at:stop].decode()
            except UnicodeDecodeError:
                raise not_utf8("SyncGroupRequest.GroupInstanceId") from None
            at = stop
        if end - at < 4:
            raise cut_off("SyncGroupRequest", "Assignments=4", end - at)
        n = _unpack_i(data, at)[0]
        at += 4
        room[0] -= n
        if n < 0 or 6 * n > end - at or room[0] < 0:
            raise bad_count("SyncGroupRequest.Assignments", n, end - at, room[0])
        assignments, at = _read_sync_group_request_assignment_0(data, at, end, room, n)
        items.append(SyncGroupRequest(group_id, generation_id, member_id, group_instance_id, None, None, assignments))
    return items, at


def _read_sync_group_request_assignment_4(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[SyncGroupRequestAssignment], int]:
    items: list[SyncGroupRequestAssignment] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("SyncGroupRequestAssignment", "MemberId=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "SyncGroupRequestAssignment.MemberId")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("SyncGroupRequestAssignment.MemberId", n - 1, end - at)
        try:
            member_id = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("SyncGroupRequestAssignment.MemberId") from None
        at = stop
        if at >= end:
            raise cut_off("SyncGroupRequestAssignment", "Assignment=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "SyncGroupRequestAssignment.Assignment")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("SyncGroupRequestAssignment.Assignment", n - 1, end - at)
        assignment = data[at:stop]
        at = stop
        if at >= end:
            raise cut_off("SyncGroupRequestAssignment", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "SyncGroupRequestAssignment")
        items.append(SyncGroupRequestAssignment(member_id, assignment))
    return items, at


def _read_sync_group_request_4(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[SyncGroupRequest], int]:
    items: list[SyncGroupRequest] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("SyncGroupRequest", "GroupId=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "SyncGroupRequest.GroupId")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("SyncGroupRequest.GroupId", n - 1, end - at)
        try:
            group_id = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("SyncGroupRequest.GroupId") from None
        at = stop
        if end - at < 5:
            raise cut_off("SyncGroupRequest", "GenerationId=4 MemberId=1", end - at)
        generation_id, n = _unpack_iB(data, at)
        at += 5
        if n > 127:
            n, at = long_text(data, at, end, n, "SyncGroupRequest.MemberId")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("SyncGroupRequest.MemberId", n - 1, end - at)
        try:
            member_id = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("SyncGroupRequest.MemberId") from None
        at = stop
        if at >= end:
            raise cut_off("SyncGroupRequest", "GroupInstanceId=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "SyncGroupRequest.GroupInstanceId")
        if n == 0:
            group_instance_id = None
        else:
            stop = at + n - 1
            if n < 1 or stop > end:
                raise bad_length("SyncGroupRequest.GroupInstanceId", n - 1, end - at)
            try:
                group_instance_id = data[at:stop].decode()
            except UnicodeDecodeError:
                raise not_utf8("SyncGroupRequest.GroupInstanceId") from None
            at = stop
        if at >= end:
            raise cut_off("SyncGroupRequest", "Assignments=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "SyncGroupRequest.Assignments")
        n -= 1
        room[0] -= n
        if n < 0 or 3 * n > end - at or room[0] < 0:
            raise bad_count("SyncGroupRequest.Assignments", n, end - at, room[0])
        assignments, at = _read_sync_group_request_assignment_4(data, at, end, room, n)
        if at >= end:
            raise cut_off("SyncGroupRequest", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "SyncGroupRequest")
        items.append(SyncGroupRequest(group_id, generation_id, member_id, group_instance_id, None, None, assignments))
    return items, at


def _read_sync_group_request_5(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[SyncGroupRequest], int]:
    items: list[SyncGroupRequest] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("SyncGroupRequest", "GroupId=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "SyncGroupRequest.GroupId")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("SyncGroupRequest.GroupId", n - 1, end - at)
        try:
            group_id = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("SyncGroupRequest.GroupId") from None
        at = stop
        if end - at < 5:
            raise cut_off("SyncGroupRequest", "GenerationId=4 MemberId=1", end - at)
        generation_id, n = _unpack_iB(data, at)
        at += 5
        if n > 127:
            n, at = long_text(data, at, end, n, "SyncGroupRequest.MemberId")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("SyncGroupRequest.MemberId", n - 1, end - at)
        try:
            member_id = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("SyncGroupRequest.MemberId") from None
        at = stop
        if at >= end:
            raise cut_off("SyncGroupRequest", "GroupInstanceId=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "SyncGroupRequest.GroupInstanceId")
        if n == 0:
            group_instance_id = None
        else:
            stop = at + n - 1
            if n < 1 or stop > end:
                raise bad_length("SyncGroupRequest.GroupInstanceId", n - 1, end - at)
            try:
                group_instance_id = data[at:stop].decode()
            except UnicodeDecodeError:
                raise not_utf8("SyncGroupRequest.GroupInstanceId") from None
            at = stop
        if at >= end:
            raise cut_off("SyncGroupRequest", "ProtocolType=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "SyncGroupRequest.ProtocolType")
        if n == 0:
            protocol_type = None
        else:
            stop = at + n - 1
            if n < 1 or stop > end:
                raise bad_length("SyncGroupRequest.ProtocolType", n - 1, end - at)
            try:
                protocol_type = data[at:stop].decode()
            except UnicodeDecodeError:
                raise not_utf8("SyncGroupRequest.ProtocolType") from None
            at = stop
        if at >= end:
            raise cut_off("SyncGroupRequest", "ProtocolName=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "SyncGroupRequest.ProtocolName")
        if n == 0:
            protocol_name = None
        else:
            stop = at + n - 1
            if n < 1 or stop > end:
                raise bad_length("SyncGroupRequest.ProtocolName", n - 1, end - at)
            try:
                protocol_name = data[at:stop].decode()
            except UnicodeDecodeError:
                raise not_utf8("SyncGroupRequest.ProtocolName") from None
            at = stop
        if at >= end:
            raise cut_off("SyncGroupRequest", "Assignments=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "SyncGroupRequest.Assignments")
        n -= 1
        room[0] -= n
        if n < 0 or 3 * n > end - at or room[0] < 0:
            raise bad_count("SyncGroupRequest.Assignments", n, end - at, room[0])
        assignments, at = _read_sync_group_request_assignment_4(data, at, end, room, n)
        if at >= end:
            raise cut_off("SyncGroupRequest", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "SyncGroupRequest")
        items.append(SyncGroupRequest(group_id, generation_id, member_id, group_instance_id, protocol_type, protocol_name, assignments))
    return items, at


def _write_sync_group_request_assignment_0(items: Iterable[SyncGroupRequestAssignment], out: list[Buffer]) -> None:
    for m in items:
        member_id = m.member_id
        content = member_id.encode()
        n = len(content)
        out.append(_pack_h(n))
        out.append(content)
        assignment = m.assignment
        n = len(assignment)
        out.append(_pack_i(n))
        out.append(assignment)


def _write_sync_group_request_0(items: Iterable[SyncGroupRequest], out: list[Buffer]) -> None:
    for m in items:
        group_id = m.group_id
        content = group_id.encode()
        n = len(content)
        out.append(_pack_h(n))
        out.append(content)
        member_id = m.member_id
        content = member_id.encode()
        n = len(content)
        out.append(_pack_ih(m.generation_id, n))
        out.append(content)
        assignments = m.assignments
        n = len(assignments)
        out.append(_pack_i(n))
        if assignments:
            _write_sync_group_request_assignment_0(assignments, out)


def _write_sync_group_request_3(items: Iterable[SyncGroupRequest], out: list[Buffer]) -> None:
    for m in items:
        group_id = m.group_id
        content = group_id.encode()
        n = len(content)
        out.append(_pack_h(n))
        out.append(content)
        member_id = m.member_id
        content = member_id.encode()
        n = len(content)
        out.append(_pack_ih(m.generation_id, n))
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
        assignments = m.assignments
        n = len(assignments)
        out.append(_pack_i(n))
        if assignments:
            _write_sync_group_request_assignment_0(assignments, out)


def _write_sync_group_request_assignment_4(items: Iterable[SyncGroupRequestAssignment], out: list[Buffer]) -> None:
    for m in items:
        member_id = m.member_id
        content = member_id.encode()
        n = len(content) + 1
        if n > 127:
            out.append(text_length_of(n))
        else:
            out.append(ONE_BYTE[n])
        out.append(content)
        assignment = m.assignment
        n = len(assignment) + 1
        if n > 127:
            out.append(varint_of(n))
        else:
            out.append(ONE_BYTE[n])
        out.append(assignment)
        out.append(ONE_BYTE[0])


def _write_sync_group_request_4(items: Iterable[SyncGroupRequest], out: list[Buffer]) -> None:
    for m in items:
        group_id = m.group_id
        content = group_id.encode()
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
            out.append(_pack_i(m.generation_id) + text_length_of(n))
        else:
            out.append(_pack_iB(m.generation_id, n))
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
        assignments = m.assignments
        n = len(assignments) + 1
        if n > 127:
            out.append(varint_of(n))
        else:
            out.append(ONE_BYTE[n])
        if assignments:
            _write_sync_group_request_assignment_4(assignments, out)
        out.append(ONE_BYTE[0])


def _write_sync_group_request_5(items: Iterable[SyncGroupRequest], out: list[Buffer]) -> None:
    for m in items:
        group_id = m.group_id
        content = group_id.encode()
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
            out.append(_pack_i(m.generation_id) + text_length_of(n))
        else:
            out.append(_pack_iB(m.generation_id, n))
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
        protocol_type = m.protocol_type
        if protocol_type is None:
            content = b""
            n = 0
        else:
            content = protocol_type.encode()
            n = len(content) + 1
        if n > 127:
            out.append(text_length_of(n))
        else:
            out.append(ONE_BYTE[n])
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
        assignments = m.assignments
        n = len(assignments) + 1
        if n > 127:
            out.append(varint_of(n))
        else:
            out.append(ONE_BYTE[n])
        if assignments:
            _write_sync_group_request_assignment_4(assignments, out)
        out.append(ONE_BYTE[0])


SyncGroupRequest._READERS = {
    **dict.fromkeys(range(0, 3), _read_sync_group_request_0),
    **dict.fromkeys(range(3, 4), _read_sync_group_request_3),
    **dict.fromkeys(range(4, 5), _read_sync_group_request_4),
    **dict.fromkeys(range(5, 6), _read_sync_group_request_5),
}
SyncGroupRequest._WRITERS = {
    **dict.fromkeys(range(0, 3), _write_sync_group_request_0),
    **dict.fromkeys(range(3, 4), _write_sync_group_request_3),
    **dict.fromkeys(range(4, 5), _write_sync_group_request_4),
    **dict.fromkeys(range(5, 6), _write_sync_group_request_5),
}
