"""DescribeGroupsRequest of Kafka's protocol.

Generated from proto/kafka/describe_groups.schema; do not edit.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import ClassVar

from tidelog.kafka.message import Message
from tidelog.kafka.wire import ONE_BYTE, Buffer, bad_count, cut_off, long_varint, read_compact_texts, read_texts, skip_tags, varint_of, write_compact_texts, write_texts


class DescribeGroupsRequest(Message, gc=False):
    """Request of API 15, versions 0-6."""

    API_KEY: ClassVar[int] = 15
    VERSIONS: ClassVar[range] = range(0, 7)
    FLEXIBLE: ClassVar[range] = range(5, 7)

    groups: list[str] = []
    include_authorized_operations: bool = False


_unpack_t = Struct(">?").unpack_from
_unpack_tB = Struct(">?B").unpack_from
_unpack_i = Struct(">i").unpack_from
_pack_t = Struct(">?").pack
_pack_tx = Struct(">?x").pack
_pack_i = Struct(">i").pack


def _read_describe_groups_request_0(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[DescribeGroupsRequest], int]:
    items: list[DescribeGroupsRequest] = []
    for _ in range(count):
        if end - at < 4:
            raise cut_off("DescribeGroupsRequest", "Groups=4", end - at)
        n = _unpack_i(data, at)[0]
        at += 4
        room[0] -= n
        if n < 0 or 2 * n > end - at or room[0] < 0:
            raise bad_count("DescribeGroupsRequest.Groups", n, end - at, room[0])
        groups, at = read_texts(data, at, end, n, "DescribeGroupsRequest.Groups")
        items.append(DescribeGroupsRequest(groups))
    return items, at


def _read_describe_groups_request_3(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[DescribeGroupsRequest], int]:
    items: list[DescribeGroupsRequest] = []
    for _ in range(count):
        if end - at < 4:
            raise cut_off("DescribeGroupsRequest", "Groups=4", end - at)
        n = _unpack_i(data, at)[0]
        at += 4
        room[0] -= n
        if n < 0 or 2 * n > end - at or room[0] < 0:
            raise bad_count("DescribeGroupsRequest.Groups", n, end - at, room[0])
        groups, at = read_texts(data, at, end, n, "DescribeGroupsRequest.Groups")
        if at >= end:
            raise cut_off("DescribeGroupsRequest", "IncludeAuthorizedOperations=1", end - at)
        include_authorized_operations = _unpack_t(data, at)[0]
        at += 1
        items.append(DescribeGroupsRequest(groups, include_authorized_operations))
    return items, at


def _read_describe_groups_request_5(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[DescribeGroupsRequest], int]:
    items: list[DescribeGroupsRequest] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("DescribeGroupsRequest", "Groups=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "DescribeGroupsRequest.Groups")
        n -= 1
        room[0] -= n
        if n < 0 or n > end - at or room[0] < 0:
            raise bad_count("DescribeGroupsRequest.Groups", n, end - at, room[0])
        groups, at = read_compact_texts(data, at, end, n, "DescribeGroupsRequest.Groups")
        if end - at < 2:
            raise cut_off("DescribeGroupsRequest", "IncludeAuthorizedOperations=1 tags=1", end - at)
        include_authorized_operations, tags = _unpack_tB(data, at)
        at += 2
        if tags:
            at = skip_tags(data, at, end, tags, "DescribeGroupsRequest")
        items.append(DescribeGroupsRequest(groups, include_authorized_operations))
    return items, at


def _write_describe_groups_request_0(items: Iterable[DescribeGroupsRequest], out: list[Buffer]) -> None:
    for m in items:
        groups = m.groups
        n = len(groups)
        out.append(_pack_i(n))
        if groups:
            write_texts(groups, out)


def _write_describe_groups_request_3(items: Iterable[DescribeGroupsRequest], out: list[Buffer]) -> None:
    for m in items:
        groups = m.groups
        n = len(groups)
        out.append(_pack_i(n))
        if groups:
            write_texts(groups, out)
        out.append(_pack_t(m.include_authorized_operations))


def _write_describe_groups_request_5(items: Iterable[DescribeGroupsRequest], out: list[Buffer]) -> None:
    for m in items:
        groups = m.groups
        n = len(groups) + 1
        if n > 127:
            out.append(varint_of(n))
        else:
            out.append(ONE_BYTE[n])
        if groups:
            write_compact_texts(groups, out)
        out.append(_pack_tx(m.include_authorized_operations))


DescribeGroupsRequest._READERS = {
    **dict.fromkeys(range(0, 3), _read_describe_groups_request_0),
    **dict.fromkeys(range(3, 5), _read_describe_groups_request_3),
    **dict.fromkeys(range(5, 7), _read_describe_groups_request_5),
}
DescribeGroupsRequest._WRITERS = {
    **dict.fromkeys(range(0, 3), _write_describe_groups_request_0),
    **dict.fromkeys(range(3, 5), _write_describe_groups_request_3),
    **dict.fromkeys(range(5, 7), _write_describe_groups_request_5),
}
