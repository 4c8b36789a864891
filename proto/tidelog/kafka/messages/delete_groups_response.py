"""DeleteGroupsResponse of Kafka's protocol.

Generated from proto/kafka/delete_groups.schema; do not edit.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import ClassVar

import msgspec

from tidelog.kafka.message import Message
from tidelog.kafka.wire import ONE_BYTE, Buffer, bad_count, bad_length, cut_off, long_text, long_varint, not_utf8, skip_tags, text_length_of, varint_of


class DeleteGroupsResponse(Message, gc=False):
    """Response of API 42, versions 0-2."""

    API_KEY: ClassVar[int] = 42
    VERSIONS: ClassVar[range] = range(0, 3)
    FLEXIBLE: ClassVar[range] = range(2, 3)

    throttle_time_ms: int = 0
    results: list[DeletableGroupResult] = []


class DeletableGroupResult(msgspec.Struct, gc=False):
    group_id: str = ""
    error_code: int = 0


_unpack_h = Struct(">h").unpack_from
_unpack_hB = Struct(">hB").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_unpack_ii = Struct(">ii").unpack_from
_pack_h = Struct(">h").pack
_pack_hx = Struct(">hx").pack
_pack_i = Struct(">i").pack
_pack_iB = Struct(">iB").pack
_pack_ii = Struct(">ii").pack


def _read_deletable_group_result_0(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[DeletableGroupResult], int]:
    items: list[DeletableGroupResult] = []
    for _ in range(count):
        if end - at < 2:
            raise cut_off("DeletableGroupResult", "GroupId=2", end - at)
        n = _unpack_h(data, at)[0]
        at += 2
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("DeletableGroupResult.GroupId", n, end - at)
        try:
            group_id = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("DeletableGroupResult.GroupId") from None
        at = stop
        if end - at < 2:
            raise cut_off("DeletableGroupResult", "ErrorCode=2", end - at)
        error_code = _unpack_h(data, at)[0]
        at += 2
        items.append(DeletableGroupResult(group_id, error_code))
    return items, at


def _read_delete_groups_response_0(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[DeleteGroupsResponse], int]:
    items: list[DeleteGroupsResponse] = []
    for _ in range(count):
        if end - at < 8:
            raise cut_off("DeleteGroupsResponse", "ThrottleTimeMs=4 Results=4", end - at)
        throttle_time_ms, n = _unpack_ii(data, at)
        at += 8
        room[0] -= n
        if n < 0 or 4 * n > end - at or room[0] < 0:
            raise bad_count("DeleteGroupsResponse.Results", n, end - at, room[0])
        results, at = _read_deletable_group_result_0(data, at, end, room, n)
        items.append(DeleteGroupsResponse(throttle_time_ms, results))
    return items, at


def _read_deletable_group_result_2(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[DeletableGroupResult], int]:
    items: list[DeletableGroupResult] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("DeletableGroupResult", "GroupId=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "DeletableGroupResult.GroupId")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("DeletableGroupResult.GroupId", n - 1, end - at)
        try:
            group_id = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("DeletableGroupResult.GroupId") from None
        at = stop
        if end - at < 3:
            raise cut_off("DeletableGroupResult", "ErrorCode=2 tags=1", end - at)
        error_code, tags = _unpack_hB(data, at)
        at += 3
        if tags:
            at = skip_tags(data, at, end, tags, "DeletableGroupResult")
        items.append(DeletableGroupResult(group_id, error_code))
    return items, at


def _read_delete_groups_response_2(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[DeleteGroupsResponse], int]:
    items: list[DeleteGroupsResponse] = []
    for _ in range(count):
        if end - at < 5:
            raise cut_off("DeleteGroupsResponse", "ThrottleTimeMs=4 Results=1", end - at)
        throttle_time_ms, n = _unpack_iB(data, at)
        at += 5
        if n > 127:
            n, at = long_varint(data, at, end, n, "DeleteGroupsResponse.Results")
        n -= 1
        room[0] -= n
        if n < 0 or 4 * n > end - at or room[0] < 0:
            raise bad_count("DeleteGroupsResponse.Results", n, end - at, room[0])
        results, at = _read_deletable_group_result_2(data, at, end, room, n)
        if at >= end:
            raise cut_off("DeleteGroupsResponse", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "DeleteGroupsResponse")
        items.append(DeleteGroupsResponse(throttle_time_ms, results))
    return items, at


def _write_deletable_group_result_0(items: Iterable[DeletableGroupResult], out: list[Buffer]) -> None:
    for m in items:
        group_id = m.group_id
        content = group_id.encode()
        n = len(content)
        out.append(_pack_h(n))
        out.append(content)
        out.append(_pack_h(m.error_code))


def _write_delete_groups_response_0(items: Iterable[DeleteGroupsResponse], out: list[Buffer]) -> None:
    for m in items:
        results = m.results
        n = len(results)
        out.append(_pack_ii(m.throttle_time_ms, n))
        if results:
            _write_deletable_group_result_0(results, out)


def _write_deletable_group_result_2(items: Iterable[DeletableGroupResult], out: list[Buffer]) -> None:
    for m in items:
        group_id = m.group_id
        content = group_id.encode()
        n = len(content) + 1
        if n > 127:
            out.append(text_length_of(n))
        else:
            out.append(ONE_BYTE[n])
        out.append(content)
        out.append(_pack_hx(m.error_code))


def _write_delete_groups_response_2(items: Iterable[DeleteGroupsResponse], out: list[Buffer]) -> None:
    for m in items:
        results = m.results
        n = len(results) + 1
        if n > 127:
            out.append(_pack_i(m.throttle_time_ms) + varint_of(n))
        else:
            out.append(_pack_iB(m.throttle_time_ms, n))
        if results:
            _write_deletable_group_result_2(results, out)
        out.append(ONE_BYTE[0])


DeleteGroupsResponse._READERS = {
    **dict.fromkeys(range(0, 2), _read_delete_groups_response_0),
    **dict.fromkeys(range(2, 3), _read_delete_groups_response_2),
}
DeleteGroupsResponse._WRITERS = {
    **dict.fromkeys(range(0, 2), _write_delete_groups_response_0),
    **dict.fromkeys(range(2, 3), _write_delete_groups_response_2),
}
