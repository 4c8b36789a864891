"""ListGroupsResponse of Kafka's protocol.

Generated from proto/kafka/list_groups.schema; do not edit.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import ClassVar

import msgspec

from tidelog.kafka.message import Message
from tidelog.kafka.wire import ONE_BYTE, Buffer, bad_count, bad_length, cut_off, long_text, long_varint, not_utf8, skip_tags, text_length_of, varint_of


class ListGroupsResponse(Message, gc=False):
    """Response of API 16, versions 0-5."""

    API_KEY: ClassVar[int] = 16
    VERSIONS: ClassVar[range] = range(0, 6)
    FLEXIBLE: ClassVar[range] = range(3, 6)

    throttle_time_ms: int = 0
    error_code: int = 0
    groups: list[ListedGroup] = []


class ListedGroup(msgspec.Struct, gc=False):
    group_id: str = ""
    protocol_type: str = ""
    group_state: str = ""
    group_type: str = ""


_unpack_h = Struct(">h").unpack_from
_unpack_hi = Struct(">hi").unpack_from
_unpack_ihB = Struct(">ihB").unpack_from
_unpack_ihi = Struct(">ihi").unpack_from
_pack_h = Struct(">h").pack
_pack_hi = Struct(">hi").pack
_pack_ih = Struct(">ih").pack
_pack_ihB = Struct(">ihB").pack
_pack_ihi = Struct(">ihi").pack


def _read_listed_group_0(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[ListedGroup], int]:
    items: list[ListedGroup] = []
    for _ in range(count):
        if end - at < 2:
            raise cut_off("ListedGroup", "GroupId=2", end - at)
        n = _unpack_h(data, at)[0]
        at += 2
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("ListedGroup.GroupId", n, end - at)
        try:
            group_id = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("ListedGroup.GroupId") from None
        at = stop
        if end - at < 2:
            raise cut_off("ListedGroup", "ProtocolType=2", end - at)
        n = _unpack_h(data, at)[0]
        at += 2
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("ListedGroup.ProtocolType", n, end - at)
        try:
            protocol_type = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("ListedGroup.ProtocolType") from None
        at = stop
        items.append(ListedGroup(group_id, protocol_type))
    return items, at


def _read_list_groups_response_0(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[ListGroupsResponse], int]:
    items: list[ListGroupsResponse] = []
    for _ in range(count):
        if end - at < 6:
            raise cut_off("ListGroupsResponse", "ErrorCode=2 Groups=4", end - at)
        error_code, n = _unpack_hi(data, at)
        at += 6
        room[0] -= n
        if n < 0 or 4 * n > end - at or room[0] < 0:
            raise bad_count("ListGroupsResponse.Groups", n, end - at, room[0])
        groups, at = _read_listed_group_0(data, at, end, room, n)
        items.append(ListGroupsResponse(0, error_code, groups))
    return items, at


def _read_list_groups_response_1(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[ListGroupsResponse], int]:
    items: list[ListGroupsResponse] = []
    for _ in range(count):
        if end - at < 10:
            raise cut_off("ListGroupsResponse", "ThrottleTimeMs=4 ErrorCode=2 Groups=4", end - at)
        throttle_time_ms, error_code, n = _unpack_ihi(data, at)
        at += 10
        room[0] -= n
        if n < 0 or 4 * n > end - at or room[0] < 0:
            raise bad_count("ListGroupsResponse.Groups", n, end - at, room[0])
        groups, at = _read_listed_group_0(data, at, end, room, n)
        items.append(ListGroupsResponse(throttle_time_ms, error_code, groups))
    return items, at


def _read_listed_group_3(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[ListedGroup], int]:
    items: list[ListedGroup] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("ListedGroup", "GroupId=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "ListedGroup.GroupId")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("ListedGroup.GroupId", n - 1, end - at)
        try:
            group_id = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("ListedGroup.GroupId") from None
        at = stop
        if at >= end:
            raise cut_off("ListedGroup", "ProtocolType=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "ListedGroup.ProtocolType")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("ListedGroup.ProtocolType", n - 1, end - at)
        try:
            protocol_type = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("ListedGroup.ProtocolType") from None
        at = stop
        if at >= end:
            raise cut_off("ListedGroup", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "ListedGroup")
        items.append(ListedGroup(group_id, protocol_type))
    return items, at


def _read_list_groups_response_3(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[ListGroupsResponse], int]:
    items: list[ListGroupsResponse] = []
    for _ in range(count):
        if end - at < 7:
            raise cut_off("ListGroupsResponse", "ThrottleTimeMs=4 ErrorCode=2 Groups=1", end - at)
        throttle_time_ms, error_code, n = _unpack_ihB(data, at)
        at += 7
        if n > 127:
            n, at = long_varint(data, at, end, n, "ListGroupsResponse.Groups")
        n -= 1
        room[0] -= n
        if n < 0 or 3 * n > end - at or room[0] < 0:
            raise bad_count("ListGroupsResponse.Groups", n, end - at, room[0])
        groups, at = _read_listed_group_3(data, at, end, room, n)
        if at >= end:
            raise cut_off("ListGroupsResponse", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "ListGroupsResponse")
        items.append(ListGroupsResponse(throttle_time_ms, error_code, groups))
    return items, at


def _read_listed_group_4(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[ListedGroup], int]:
    items: list[ListedGroup] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("ListedGroup", "GroupId=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "ListedGroup.GroupId")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("ListedGroup.GroupId", n - 1, end - at)
        try:
            group_id = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("ListedGroup.GroupId") from None
        at = stop
        if at >= end:
            raise cut_off("ListedGroup", "ProtocolType=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "ListedGroup.ProtocolType")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("ListedGroup.ProtocolType", n - 1, end - at)
        try:
            protocol_type = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("ListedGroup.ProtocolType") from None
        at = stop
        if at >= end:
            raise cut_off("ListedGroup", "GroupState=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "ListedGroup.GroupState")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("ListedGroup.GroupState", n - 1, end - at)
        try:
            group_state = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("ListedGroup.GroupState") from None
        at = stop
        if at >= end:
            raise cut_off("ListedGroup", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "ListedGroup")
        items.append(ListedGroup(group_id, protocol_type, group_state))
    return items, at


def _read_list_groups_response_4(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[ListGroupsResponse], int]:
    items: list[ListGroupsResponse] = []
    for _ in range(count):
        if end - at < 7:
            raise cut_off("ListGroupsResponse", "ThrottleTimeMs=4 ErrorCode=2 Groups=1", end - at)
        throttle_time_ms, error_code, n = _unpack_ihB(data, at)
        at += 7
        if n > 127:
            n, at = long_varint(data, at, end, n, "ListGroupsResponse.Groups")
        n -= 1
        room[0] -= n
        if n < 0 or 4 * n > end - at or room[0] < 0:
            raise bad_count("ListGroupsResponse.Groups", n, end - at, room[0])
        groups, at = _read_listed_group_4(data, at, end, room, n)
        if at >= end:
            raise cut_off("ListGroupsResponse", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "ListGroupsResponse")
        items.append(ListGroupsResponse(throttle_time_ms, error_code, groups))
    return items, at


def _read_listed_group_5(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[ListedGroup], int]:
    items: list[ListedGroup] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("ListedGroup", "GroupId=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "ListedGroup.GroupId")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("ListedGroup.GroupId", n - 1, end - at)
        try:
            group_id = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("ListedGroup.GroupId") from None
        at = stop
        if at >= end:
            raise cut_off("ListedGroup", "ProtocolType=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "ListedGroup.ProtocolType")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("ListedGroup.ProtocolType", n - 1, end - at)
        try:
            protocol_type = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("ListedGroup.ProtocolType") from None
        at = stop
        if at >= end:
            raise cut_off("ListedGroup", "GroupState=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "ListedGroup.GroupState")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("ListedGroup.GroupState", n - 1, end - at)
        try:
            group_state = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("ListedGroup.GroupState") from None
        at = stop
        if at >= end:
            raise cut_off("ListedGroup", "GroupType=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "ListedGroup.GroupType")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("ListedGroup.GroupType", n - 1, end - at)
        try:
            group_type = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("ListedGroup.GroupType") from None
        at = stop
        if at >= end:
            raise cut_off("ListedGroup", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "ListedGroup")
        items.append(ListedGroup(group_id, protocol_type, group_state, group_type))
    return items, at


def _read_list_groups_response_5(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[ListGroupsResponse], int]:
    items: list[ListGroupsResponse] = []
    for _ in range(count):
        if end - at < 7:
            raise cut_off("ListGroupsResponse", "ThrottleTimeMs=4 ErrorCode=2 Groups=1", end - at)
        throttle_time_ms, error_code, n = _unpack_ihB(data, at)
        at += 7
        if n > 127:
            n, at = long_varint(data, at, end, n, "ListGroupsResponse.Groups")
        n -= 1
        room[0] -= n
        if n < 0 or 5 * n > end - at or room[0] < 0:
            raise bad_count("ListGroupsResponse.Groups", n, end - at, room[0])
        groups, at = _read_listed_group_5(data, at, end, room, n)
        if at >= end:
            raise cut_off("ListGroupsResponse", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "ListGroupsResponse")
        items.append(ListGroupsResponse(throttle_time_ms, error_code, groups))
    return items, at


def _write_listed_group_0(items: Iterable[ListedGroup], out: list[Buffer]) -> None:
    for m in items:
        group_id = m.group_id
        content = group_id.encode()
        n = len(content)
        out.append(_pack_h(n))
        out.append(content)
        protocol_type = m.protocol_type
        content = protocol_type.encode()
        n = len(content)
        out.append(_pack_h(n))
        out.append(content)


def _write_list_groups_response_0(items: Iterable[ListGroupsResponse], out: list[Buffer]) -> None:
    for m in items:
        groups = m.groups
        n = len(groups)
        out.append(_pack_hi(m.error_code, n))
        if groups:
            _write_listed_group_0(groups, out)


def _write_list_groups_response_1(items: Iterable[ListGroupsResponse], out: list[Buffer]) -> None:
    for m in items:
        groups = m.groups
        n = len(groups)
        out.append(_pack_ihi(m.throttle_time_ms, m.error_code, n))
        if groups:
            _write_listed_group_0(groups, out)


def _write_listed_group_3(items: Iterable[ListedGroup], out: list[Buffer]) -> None:
    for m in items:
        group_id = m.group_id
        content = group_id.encode()
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
        out.append(ONE_BYTE[0])


def _write_list_groups_response_3(items: Iterable[ListGroupsResponse], out: list[Buffer]) -> None:
    for m in items:
        groups = m.groups
        n = len(groups) + 1
        if n > 127:
            out.append(_pack_ih(m.throttle_time_ms, m.error_code) + varint_of(n))
        else:
            out.append(_pack_ihB(m.throttle_time_ms, m.error_code, n))
        if groups:
            _write_listed_group_3(groups, out)
        out.append(ONE_BYTE[0])


def _write_listed_group_4(items: Iterable[ListedGroup], out: list[Buffer]) -> None:
    for m in items:
        group_id = m.group_id
        content = group_id.encode()
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
        group_state = m.group_state
        content = group_state.encode()
        n = len(content) + 1
        if n > 127:
            out.append(text_length_of(n))
        else:
            out.append(ONE_BYTE[n])
        out.append(content)
        out.append(ONE_BYTE[0])


def _write_list_groups_response_4(items: Iterable[ListGroupsResponse], out: list[Buffer]) -> None:
    for m in items:
        groups = m.groups
        n = len(groups) + 1
        if n > 127:
            out.append(_pack_ih(m.throttle_time_ms, m.error_code) + varint_of(n))
        else:
            out.append(_pack_ihB(m.throttle_time_ms, m.error_code, n))
        if groups:
            _write_listed_group_4(groups, out)
        out.append(ONE_BYTE[0])


def _write_listed_group_5(items: Iterable[ListedGroup], out: list[Buffer]) -> None:
    for m in items:
        group_id = m.group_id
        content = group_id.encode()
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
        group_state = m.group_state
        content = group_state.encode()
        n = len(content) + 1
        if n > 127:
            out.append(text_length_of(n))
        else:
            out.append(ONE_BYTE[n])
        out.append(content)
        group_type = m.group_type
        content = group_type.encode()
        n = len(content) + 1
        if n > 127:
            out.append(text_length_of(n))
        else:
            out.append(ONE_BYTE[n])
        out.append(content)
        out.append(ONE_BYTE[0])


def _write_list_groups_response_5(items: Iterable[ListGroupsResponse], out: list[Buffer]) -> None:
    for m in items:
        groups = m.groups
        n = len(groups) + 1
        if n > 127:
            out.append(_pack_ih(m.throttle_time_ms, m.error_code) + varint_of(n))
        else:
            out.append(_pack_ihB(m.throttle_time_ms, m.error_code, n))
        if groups:
            _write_listed_group_5(groups, out)
        out.append(ONE_BYTE[0])


ListGroupsResponse._READERS = {
    **dict.fromkeys(range(0, 1), _read_list_groups_response_0),
    **dict.fromkeys(range(1, 3), _read_list_groups_response_1),
    **dict.fromkeys(range(3, 4), _read_list_groups_response_3),
    **dict.fromkeys(range(4, 5), _read_list_groups_response_4),
    **dict.fromkeys(range(5, 6), _read_list_groups_response_5),
}
ListGroupsResponse._WRITERS = {
    **dict.fromkeys(range(0, 1), _write_list_groups_response_0),
    **dict.fromkeys(range(1, 3), _write_list_groups_response_1),
    **dict.fromkeys(range(3, 4), _write_list_groups_response_3),
    **dict.fromkeys(range(4, 5), _write_list_groups_response_4),
    **dict.fromkeys(range(5, 6), _write_list_groups_response_5),
}
