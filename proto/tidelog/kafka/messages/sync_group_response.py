"""SyncGroupResponse of Kafka's protocol.

Generated from proto/kafka/sync_group.schema; do not edit.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import ClassVar

from tidelog.kafka.message import Message
from tidelog.kafka.wire import ONE_BYTE, Buffer, bad_length, cut_off, long_text, long_varint, not_utf8, skip_tags, text_length_of, varint_of


class SyncGroupResponse(Message, gc=False):
    """Response of API 14, versions 0-5."""

    API_KEY: ClassVar[int] = 14
    VERSIONS: ClassVar[range] = range(0, 6)
    FLEXIBLE: ClassVar[range] = range(4, 6)

    throttle_time_ms: int = 0
    error_code: int = 0
    protocol_type: str | None = None
    protocol_name: str | None = None
    assignment: bytes = b""


_unpack_hi = Struct(">hi").unpack_from
_unpack_ihB = Struct(">ihB").unpack_from
_unpack_ihi = Struct(">ihi").unpack_from
_pack_hi = Struct(">hi").pack
_pack_ih = Struct(">ih").pack
_pack_ihB = Struct(">ihB").pack
_pack_ihi = Struct(">ihi").pack


def _read_sync_group_response_0(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[SyncGroupResponse], int]:
    items: list[SyncGroupResponse] = []
    for _ in range(count):
        if end - at < 6:
            raise cut_off("SyncGroupResponse", "ErrorCode=2 Assignment=4", end - at)
        error_code, n = _unpack_hi(data, at)
        at += 6
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("SyncGroupResponse.Assignment", n, end - at)
        assignment = data[at:stop]
        at = stop
        items.append(SyncGroupResponse(0, error_code, None, None, assignment))
    return items, at


def _read_sync_group_response_1(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[SyncGroupResponse], int]:
    items: list[SyncGroupResponse] = []
    for _ in range(count):
        if end - at < 10:
            raise cut_off("SyncGroupResponse", "ThrottleTimeMs=4 ErrorCode=2 Assignment=4", end - at)
        throttle_time_ms, error_code, n = _unpack_ihi(data, at)
        at += 10
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("SyncGroupResponse.Assignment", n, end - at)
        assignment = data[at:stop]
        at = stop
        items.append(SyncGroupResponse(throttle_time_ms, error_code, None, None, assignment))
    return items, at


def _read_sync_group_response_4(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[SyncGroupResponse], int]:
    items: list[SyncGroupResponse] = []
    for _ in range(count):
        if end - at < 7:
            raise cut_off("SyncGroupResponse", "ThrottleTimeMs=4 ErrorCode=2 Assignment=1", end - at)
        throttle_time_ms, error_code, n = _unpack_ihB(data, at)
        at += 7
        if n > 127:
            n, at = long_varint(data, at, end, n, "SyncGroupResponse.Assignment")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("SyncGroupResponse.Assignment", n - 1, end - at)
        assignment = data[at:stop]
        at = stop
        if at >= end:
            raise cut_off("SyncGroupResponse", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "SyncGroupResponse")
        items.append(SyncGroupResponse(throttle_time_ms, error_code, None, None, assignment))
    return items, at


def _read_sync_group_response_5(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[SyncGroupResponse], int]:
    items: list[SyncGroupResponse] = []
    for _ in range(count):
        if end - at < 7:
            raise cut_off("SyncGroupResponse", "ThrottleTimeMs=4 ErrorCode=2 ProtocolType=1", end - at)
        throttle_time_ms, error_code, n = _unpack_ihB(data, at)
        at += 7
        if n > 127:
            n, at = long_text(data, at, end, n, "SyncGroupResponse.ProtocolType")
        if n == 0:
            protocol_type = None
        else:
            stop = at + n - 1
            if n < 1 or stop > end:
                raise bad_length("SyncGroupResponse.ProtocolType", n - 1, end - at)
            try:
                protocol_type = data[at:stop].decode()
            except UnicodeDecodeError:
                raise not_utf8("SyncGroupResponse.ProtocolType") from None
            at = stop
        if at >= end:
            raise cut_off("SyncGroupResponse", "ProtocolName=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "SyncGroupResponse.ProtocolName")
        if n == 0:
            protocol_name = None
        else:
            stop = at + n - 1
            if n < 1 or stop > end:
                raise bad_length("SyncGroupResponse.ProtocolName", n - 1, end - at)
            try:
                protocol_name = data[at:stop].decode()
            except UnicodeDecodeError:
                raise not_utf8("SyncGroupResponse.ProtocolName") from None
            at = stop
        if at >= end:
            raise cut_off("SyncGroupResponse", "Assignment=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "SyncGroupResponse.Assignment")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("SyncGroupResponse.Assignment", n - 1, end - at)
        assignment = data[at:stop]
        at = stop
        if at >= end:
            raise cut_off("SyncGroupResponse", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "SyncGroupResponse")
        items.append(SyncGroupResponse(throttle_time_ms, error_code, protocol_type, protocol_name, assignment))
    return items, at


def _write_sync_group_response_0(items: Iterable[SyncGroupResponse], out: list[Buffer]) -> None:
    for m in items:
        assignment = m.assignment
        n = len(assignment)
        out.append(_pack_hi(m.error_code, n))
        out.append(assignment)


def _write_sync_group_response_1(items: Iterable[SyncGroupResponse], out: list[Buffer]) -> None:
    for m in items:
        assignment = m.assignment
        n = len(assignment)
        out.append(_pack_ihi(m.throttle_time_ms, m.error_code, n))
        out.append(assignment)


def _write_sync_group_response_4(items: Iterable[SyncGroupResponse], out: list[Buffer]) -> None:
    for m in items:
        assignment = m.assignment
        n = len(assignment) + 1
        if n > 127:
            out.append(_pack_ih(m.throttle_time_ms, m.error_code) + varint_of(n))
        else:
            out.append(_pack_ihB(m.throttle_time_ms, m.error_code, n))
        out.append(assignment)
        out.append(ONE_BYTE[0])


def _write_sync_group_response_5(items: Iterable[SyncGroupResponse], out: list[Buffer]) -> None:
    for m in items:
        protocol_type = m.protocol_type
        if protocol_type is None:
            content = b""
            n = 0
        else:
            content = protocol_type.encode()
            n = len(content) + 1
        if n > 127:
            out.append(_pack_ih(m.throttle_time_ms, m.error_code) + text_length_of(n))
        else:
            out.append(_pack_ihB(m.throttle_time_ms, m.error_code, n))
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
        assignment = m.assignment
        n = len(assignment) + 1
        if n > 127:
            out.append(varint_of(n))
        else:
            out.append(ONE_BYTE[n])
        out.append(assignment)
        out.append(ONE_BYTE[0])


SyncGroupResponse._READERS = {
    **dict.fromkeys(range(0, 1), _read_sync_group_response_0),
    **dict.fromkeys(range(1, 4), _read_sync_group_response_1),
    **dict.fromkeys(range(4, 5), _read_sync_group_response_4),
    **dict.fromkeys(range(5, 6), _read_sync_group_response_5),
}
SyncGroupResponse._WRITERS = {
    **dict.fromkeys(range(0, 1), _write_sync_group_response_0),
    **dict.fromkeys(range(1, 4), _write_sync_group_response_1),
    **dict.fromkeys(range(4, 5), _write_sync_group_response_4),
    **dict.fromkeys(range(5, 6), _write_sync_group_response_5),
}
