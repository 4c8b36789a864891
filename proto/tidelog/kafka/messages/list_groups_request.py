"""ListGroupsRequest of Kafka's protocol.

Generated from proto/kafka/list_groups.schema; do not edit.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import ClassVar

from tidelog.kafka.message import Message
from tidelog.kafka.wire import ONE_BYTE, Buffer, bad_count, cut_off, long_varint, read_compact_texts, skip_tags, varint_of, write_compact_texts


class ListGroupsRequest(Message, gc=False):
    """Request of API 16, versions 0-5."""

    API_KEY: ClassVar[int] = 16
    VERSIONS: ClassVar[range] = range(0, 6)
    FLEXIBLE: ClassVar[range] = range(3, 6)

    states_filter: list[str] = []
    types_filter: list[str] = []




def _read_list_groups_request_0(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[ListGroupsRequest], int]:
    items: list[ListGroupsRequest] = []
    for _ in range(count):
        items.append(ListGroupsRequest())
    return items, at


def _read_list_groups_request_3(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[ListGroupsRequest], int]:
    items: list[ListGroupsRequest] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("ListGroupsRequest", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "ListGroupsRequest")
        items.append(ListGroupsRequest())
    return items, at


def _read_list_groups_request_4(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[ListGroupsRequest], int]:
    items: list[ListGroupsRequest] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("ListGroupsRequest", "StatesFilter=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "ListGroupsRequest.StatesFilter")
        n -= 1
        room[0] -= n
        if n < 0 or n > end - at or room[0] < 0:
            raise bad_count("ListGroupsRequest.StatesFilter", n, end - at, room[0])
        states_filter, at = read_compact_texts(data, at, end, n, "ListGroupsRequest.StatesFilter")
        if at >= end:
            raise cut_off("ListGroupsRequest", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "ListGroupsRequest")
        items.append(ListGroupsRequest(states_filter))
    return items, at


def _read_list_groups_request_5(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[ListGroupsRequest], int]:
    items: list[ListGroupsRequest] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("ListGroupsRequest", "StatesFilter=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "ListGroupsRequest.StatesFilter")
        n -= 1
        room[0] -= n
        if n < 0 or n > end - at or room[0] < 0:
            raise bad_count("ListGroupsRequest.StatesFilter", n, end - at, room[0])
        states_filter, at = read_compact_texts(data, at, end, n, "ListGroupsRequest.StatesFilter")
        if at >= end:
            raise cut_off("ListGroupsRequest", "TypesFilter=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "ListGroupsRequest.TypesFilter")
        n -= 1
        room[0] -= n
        if n < 0 or n > end - at or room[0] < 0:
            raise bad_count("ListGroupsRequest.TypesFilter", n, end - at, room[0])
        types_filter, at = read_compact_texts(data, at, end, n, "ListGroupsRequest.TypesFilter")
        if at >= end:
            raise cut_off("ListGroupsRequest", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "ListGroupsRequest")
        items.append(ListGroupsRequest(states_filter, types_filter))
    return items, at


def _write_list_groups_request_0(items: Iterable[ListGroupsRequest], out: list[Buffer]) -> None:
    for m in items:
        pass


def _write_list_groups_request_3(items: Iterable[ListGroupsRequest], out: list[Buffer]) -> None:
    for m in items:
        out.append(ONE_BYTE[0])


def _write_list_groups_request_4(items: Iterable[ListGroupsRequest], out: list[Buffer]) -> None:
    for m in items:
        states_filter = m.states_filter
        n = len(states_filter) + 1
        if n > 127:
            out.append(varint_of(n))
        else:
            out.append(ONE_BYTE[n])
        if states_filter:
            write_compact_texts(states_filter, out)
        out.append(ONE_BYTE[0])


def _write_list_groups_request_5(items: Iterable[ListGroupsRequest], out: list[Buffer]) -> None:
    for m in items:
        states_filter = m.states_filter
        n = len(states_filter) + 1
        if n > 127:
            out.append(varint_of(n))
        else:
            out.append(ONE_BYTE[n])
        if states_filter:
            write_compact_texts(states_filter, out)
        types_filter = m.types_filter
        n = len(types_filter) + 1
        if n > 127:
            out.append(varint_of(n))
        else:
            out.append(ONE_BYTE[n])
        if types_filter:
            write_compact_texts(types_filter, out)
        out.append(ONE_BYTE[0])


ListGroupsRequest._READERS = {
    **dict.fromkeys(range(0, 3), _read_list_groups_request_0),
    **dict.fromkeys(range(3, 4), _read_list_groups_request_3),
    **dict.fromkeys(range(4, 5), _read_list_groups_request_4),
    **dict.fromkeys(range(5, 6), _read_list_groups_request_5),
}
ListGroupsRequest._WRITERS = {
    **dict.fromkeys(range(0, 3), _write_list_groups_request_0),
    **dict.fromkeys(range(3, 4), _write_list_groups_request_3),
    **dict.fromkeys(range(4, 5), _write_list_groups_request_4),
    **dict.fromkeys(range(5, 6), _write_list_groups_request_5),
}
