"""FindCoordinatorRequest of Kafka's protocol.

Generated from proto/kafka/find_coordinator.schema; do not edit.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import ClassVar

from tidelog.kafka.message import Message
from tidelog.kafka.wire import ONE_BYTE, Buffer, bad_count, bad_length, cut_off, long_text, long_varint, not_utf8, read_compact_texts, skip_tags, text_length_of, varint_of, write_compact_texts


class FindCoordinatorRequest(Message, gc=False):
    """Request of API 10, versions 0-6."""

    API_KEY: ClassVar[int] = 10
    VERSIONS: ClassVar[range] = range(0, 7)
    FLEXIBLE: ClassVar[range] = range(3, 7)

    key: str = ""
    key_type: int = 0
    coordinator_keys: list[str] = []


_unpack_b = Struct(">b").unpack_from
_unpack_bB = Struct(">bB").unpack_from
_unpack_h = Struct(">h").unpack_from
_pack_b = Struct(">b").pack
_pack_bB = Struct(">bB").pack
_pack_bx = Struct(">bx").pack
_pack_h = Struct(">h").pack


def _read_find_coordinator_request_0(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[FindCoordinatorRequest], int]:
    items: list[FindCoordinatorRequest] = []
    for _ in range(count):
        if end - at < 2:
            raise cut_off("FindCoordinatorRequest", "Key=2", end - at)
        n = _unpack_h(data, at)[0]
        at += 2
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("FindCoordinatorRequest.Key", n, end - at)
        try:
            key = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("FindCoordinatorRequest.Key") from None
        at = stop
        items.append(FindCoordinatorRequest(key))
    return items, at


def _read_find_coordinator_request_1(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[FindCoordinatorRequest], int]:
    items: list[FindCoordinatorRequest] = []
    for _ in range(count):
        if end - at < 2:
            raise cut_off("FindCoordinatorRequest", "Key=2", end - at)
        n = _unpack_h(data, at)[0]
        at += 2
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("FindCoordinatorRequest.Key", n, end - at)
        try:
            key = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("FindCoordinatorRequest.Key") from None
        at = stop
        if at >= end:
            raise cut_off("FindCoordinatorRequest", "KeyType=1", end - at)
        key_type = _unpack_b(data, at)[0]
        at += 1
        items.append(FindCoordinatorRequest(key, key_type))
    return items, at


def _read_find_coordinator_request_3(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[FindCoordinatorRequest], int]:
    items: list[FindCoordinatorRequest] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("FindCoordinatorRequest", "Key=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "FindCoordinatorRequest.Key")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("FindCoordinatorRequest.Key", n - 1, end - at)
        try:
            key = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("FindCoordinatorRequest.Key") from None
        at = stop
        if end - at < 2:
            raise cut_off("FindCoordinatorRequest", "KeyType=1 tags=1", end - at)
        key_type, tags = _unpack_bB(data, at)
        at += 2
        if tags:
            at = skip_tags(data, at, end, tags, "FindCoordinatorRequest")
        items.append(FindCoordinatorRequest(key, key_type))
    return items, at


def _read_find_coordinator_request_4(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[FindCoordinatorRequest], int]:
    items: list[FindCoordinatorRequest] = []
    for _ in range(count):
        if end - at < 2:
            raise cut_off("FindCoordinatorRequest", "KeyType=1 CoordinatorKeys=1", end - at)
        key_type, n = _unpack_bB(data, at)
        at += 2
        if n > 127:
            n, at = long_varint(data, at, end, n, "FindCoordinatorRequest.CoordinatorKeys")
        n -= 1
        room[0] -= n
        if n < 0 or n > end - at or room[0] < 0:
            raise bad_count("FindCoordinatorRequest.CoordinatorKeys", n, end - at, room[0])
        coordinator_keys, at = read_compact_texts(data, at, end, n, "FindCoordinatorRequest.CoordinatorKeys")
        if at >= end:
            raise cut_off("FindCoordinatorRequest", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "FindCoordinatorRequest")
        items.append(FindCoordinatorRequest("", key_type, coordinator_keys))
    return items, at


def _write_find_coordinator_request_0(items: Iterable[FindCoordinatorRequest], out: list[Buffer]) -> None:
    for m in items:
        key = m.key
        content = key.encode()
        n = len(content)
        out.append(_pack_h(n))
        out.append(content)


def _write_find_coordinator_request_1(items: Iterable[FindCoordinatorRequest], out: list[Buffer]) -> None:
    for m in items:
        key = m.key
        content = key.encode()
        n = len(content)
        out.append(_pack_h(n))
        out.append(content)
        out.append(_pack_b(m.key_type))


def _write_find_coordinator_request_3(items: Iterable[FindCoordinatorRequest], out: list[Buffer]) -> None:
    for m in items:
        key = m.key
        content = key.encode()
        n = len(content) + 1
        if n > 127:
            out.append(text_length_of(n))
        else:
            out.append(ONE_BYTE[n])
        out.append(content)
        out.append(_pack_bx(m.key_type))


def _write_find_coordinator_request_4(items: Iterable[FindCoordinatorRequest], out: list[Buffer]) -> None:
    for m in items:
        coordinator_keys = m.coordinator_keys
        n = len(coordinator_keys) + 1
        if n > 127:
            out.append(_pack_b(m.key_type) + varint_of(n))
        else:
            out.append(_pack_bB(m.key_type, n))
        if coordinator_keys:
            write_compact_texts(coordinator_keys, out)
        out.append(ONE_BYTE[0])


FindCoordinatorRequest._READERS = {
    **dict.fromkeys(range(0, 1), _read_find_coordinator_request_0),
    **dict.fromkeys(range(1, 3), _read_find_coordinator_request_1),
    **dict.fromkeys(range(3, 4), _read_find_coordinator_request_3),
    **dict.fromkeys(range(4, 7), _read_find_coordinator_request_4),
}
FindCoordinatorRequest._WRITERS = {
    **dict.fromkeys(range(0, 1), _write_find_coordinator_request_0),
    **dict.fromkeys(range(1, 3), _write_find_coordinator_request_1),
    **dict.fromkeys(range(3, 4), _write_find_coordinator_request_3),
    **dict.fromkeys(range(4, 7), _write_find_coordinator_request_4),
}
