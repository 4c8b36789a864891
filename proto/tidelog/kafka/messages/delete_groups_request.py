"""DeleteGroupsRequest of Kafka's protocol.

Generated from proto/kafka/delete_groups.schema; do not edit.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import ClassVar

from tidelog.kafka.message import Message
from tidelog.kafka.wire import ONE_BYTE, Buffer, bad_count, cut_off, long_varint, read_compact_texts, read_texts, skip_tags, varint_of, write_compact_texts, write_texts


class DeleteGroupsRequest(Message, gc=False):
    """Request of API 42, versions 0-2."""

    API_KEY: ClassVar[int] = 42
    VERSIONS: ClassVar[range] = range(0, 3)
    FLEXIBLE: ClassVar[range] = range(2, 3)

    groups_names: list[str] = []


_unpack_i = Struct(">i").unpack_from
_pack_i = Struct(">i").pack


def _read_delete_groups_request_0(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[DeleteGroupsRequest], int]:
    items: list[DeleteGroupsRequest] = []
    for _ in range(count):
        if end - at < 4:
            raise cut_off("DeleteGroupsRequest", "GroupsNames=4", end - at)
        n = _unpack_i(data, at)[0]
        at += 4
        room[0] -= n
        if n < 0 or 2 * n > end - at or room[0] < 0:
            raise bad_count("DeleteGroupsRequest.GroupsNames", n, end - at, room[0])
        groups_names, at = read_texts(data, at, end, n, "DeleteGroupsRequest.GroupsNames")
        items.append(DeleteGroupsRequest(groups_names))
    return items, at


def _read_delete_groups_request_2(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[DeleteGroupsRequest], int]:
    items: list[DeleteGroupsRequest] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("DeleteGroupsRequest", "GroupsNames=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "DeleteGroupsRequest.GroupsNames")
        n -= 1
        room[0] -= n
        if n < 0 or n > end - at or room[0] < 0:
            raise bad_count("DeleteGroupsRequest.GroupsNames", n, end - at, room[0])
        groups_names, at = read_compact_texts(data, at, end, n, "DeleteGroupsRequest.GroupsNames")
        if at >= end:
            raise cut_off("DeleteGroupsRequest", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "DeleteGroupsRequest")
        items.append(DeleteGroupsRequest(groups_names))
    return items, at


def _write_delete_groups_request_0(items: Iterable[DeleteGroupsRequest], out: list[Buffer]) -> None:
    for m in items:
        groups_names = m.groups_names
        n = len(groups_names)
        out.append(_pack_i(n))
        if groups_names:
            write_texts(groups_names, out)


def _write_delete_groups_request_2(items: Iterable[DeleteGroupsRequest], out: list[Buffer]) -> None:
    for m in items:
        groups_names = m.groups_names
        n = len(groups_names) + 1
        if n > 127:
            out.append(varint_of(n))
        else:
            out.append(ONE_BYTE[n])
        if groups_names:
            write_compact_texts(groups_names, out)
        out.append(ONE_BYTE[0])


DeleteGroupsRequest._READERS = {
    **dict.fromkeys(range(0, 2), _read_delete_groups_request_0),
    **dict.fromkeys(range(2, 3), _read_delete_groups_request_2),
}
DeleteGroupsRequest._WRITERS = {
    **dict.fromkeys(range(0, 2), _write_delete_groups_request_0),
    **dict.fromkeys(range(2, 3), _write_delete_groups_request_2),
}
