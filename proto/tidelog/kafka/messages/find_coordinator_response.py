"""FindCoordinatorResponse of Kafka's protocol.

Generated from proto/kafka/find_coordinator.schema; do not edit.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import ClassVar

import msgspec

from tidelog.kafka.message import Message
from tidelog.kafka.wire import ONE_BYTE, Buffer, bad_count, bad_length, cut_off, long_text, long_varint, not_utf8, skip_tags, text_length_of, varint_of


class FindCoordinatorResponse(Message, gc=False):
    """Response of API 10, versions 0-6."""

    API_KEY: ClassVar[int] = 10
    VERSIONS: ClassVar[range] = range(0, 7)
    FLEXIBLE: ClassVar[range] = range(3, 7)

    throttle_time_ms: int = 0
    error_code: int = 0
    error_message: str | None = ""
    node_id: int = 0
    host: str = ""
    port: int = 0
    coordinators: list[Coordinator] = []


class Coordinator(msgspec.Struct, gc=False):
    key: str = ""
    node_id: int = 0
    host: str = ""
    port: int = 0
    error_code: int = 0
    error_message: str | None = ""


_unpack_hih = Struct(">hih").unpack_from
_unpack_i = Struct(">i").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_unpack_ih = Struct(">ih").unpack_from
_unpack_ihB = Struct(">ihB").unpack_from
_unpack_ihh = Struct(">ihh").unpack_from
_pack_hih = Struct(">hih").pack
_pack_i = Struct(">i").pack
_pack_iB = Struct(">iB").pack
_pack_ih = Struct(">ih").pack
_pack_ihB = Struct(">ihB").pack
_pack_ihh = Struct(">ihh").pack
_pack_ix = Struct(">ix").pack


def _read_find_coordinator_response_0(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[FindCoordinatorResponse], int]:
    items: list[FindCoordinatorResponse] = []
    for _ in range(count):
        if end - at < 8:
            raise cut_off("FindCoordinatorResponse", "ErrorCode=2 NodeId=4 Host=2", end - at)
        error_code, node_id, n = _unpack_hih(data, at)
        at += 8
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("FindCoordinatorResponse.Host", n, end - at)
        try:
            host = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("FindCoordinatorResponse.Host") from None
        at = stop
        if end - at < 4:
            raise cut_off("FindCoordinatorResponse", "Port=4", end - at)
        port = _unpack_i(data, at)[0]
        at += 4
        items.append(FindCoordinatorResponse(0, error_code, "", node_id, host, port))
    return items, at


def _read_find_coordinator_response_1(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[FindCoordinatorResponse], int]:
    items: list[FindCoordinatorResponse] = []
    for _ in range(count):
        if end - at < 8:
            raise cut_off("FindCoordinatorResponse", "ThrottleTimeMs=4 ErrorCode=2 ErrorMessage=2", end - at)
        throttle_time_ms, error_code, n = _unpack_ihh(data, at)
        at += 8
        if n == -1:
            error_message = None
        else:
            stop = at + n
            if n < 0 or stop > end:
                raise bad_length("FindCoordinatorResponse.ErrorMessage", n, end - at)
            try:
                error_message = data[at:stop].decode()
            except UnicodeDecodeError:
                raise not_utf8("FindCoordinatorResponse.ErrorMessage") from None
            at = stop
        if end - at < 6:
            raise cut_off("FindCoordinatorResponse", "NodeId=4 Host=2", end - at)
        node_id, n = _unpack_ih(data, at)
        at += 6
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("FindCoordinatorResponse.Host", n, end - at)
        try:
            host = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("FindCoordinatorResponse.Host") from None
        at = stop
        if end - at < 4:
            raise cut_off("FindCoordinatorResponse", "Port=4", end - at)
        port = _unpack_i(data, at)[0]
        at += 4
        items.append(FindCoordinatorResponse(throttle_time_ms, error_code, error_message, node_id, host, port))
    return items, at


def _read_find_coordinator_response_3(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[FindCoordinatorResponse], int]:
    items: list[FindCoordinatorResponse] = []
    for _ in range(count):
        if end - at < 7:
            raise cut_off("FindCoordinatorResponse", "ThrottleTimeMs=4 ErrorCode=2 ErrorMessage=1", end - at)
        throttle_time_ms, error_code, n = _unpack_ihB(data, at)
        at += 7
        if n > 127:
            n, at = long_text(data, at, end, n, "FindCoordinatorResponse.ErrorMessage")
        if n == 0:
            error_message = None
        else:
            stop = at + n - 1
            if n < 1 or stop > end:
                raise bad_length("FindCoordinatorResponse.ErrorMessage", n - 1, end - at)
            try:
                error_message = data[at:stop].decode()
            except UnicodeDecodeError:
                raise not_utf8("FindCoordinatorResponse.ErrorMessage") from None
            at = stop
        if end - at < 5:
            raise cut_off("FindCoordinatorResponse", "NodeId=4 Host=1", end - at)
        node_id, n = _unpack_iB(data, at)
        at += 5
        if n > 127:
            n, at = long_text(data, at, end, n, "FindCoordinatorResponse.Host")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("FindCoordinatorResponse.Host", n - 1, end - at)
        try:
            host = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("FindCoordinatorResponse.Host") from None
        at = stop
        if end - at < 5:
            raise cut_off("FindCoordinatorResponse", "Port=4 tags=1", end - at)
        port, tags = _unpack_iB(data, at)
        at += 5
        if tags:
            at = skip_tags(data, at, end, tags, "FindCoordinatorResponse")
        items.append(FindCoordinatorResponse(throttle_time_ms, error_code, error_message, node_id, host, port))
    return items, at


def _read_coordinator_4(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[Coordinator], int]:
    items: list[Coordinator] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("Coordinator", "Key=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "Coordinator.Key")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("Coordinator.Key", n - 1, end - at)
        try:
            key = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("Coordinator.Key") from None
        at = stop
        if end - at < 5:
            raise cut_off("Coordinator", "NodeId=4 Host=1", end - at)
        node_id, n = _unpack_iB(data, at)
        at += 5
        if n > 127:
            n, at = long_text(data, at, end, n, "Coordinator.Host")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("Coordinator.Host", n - 1, end - at)
        try:
            host = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("Coordinator.Host") from None
        at = stop
        if end - at < 7:
            raise cut_off("Coordinator", "Port=4 ErrorCode=2 ErrorMessage=1", end - at)
        port, error_code, n = _unpack_ihB(data, at)
        at += 7
        if n > 127:
            n, at = long_text(data, at, end, n, "Coordinator.ErrorMessage")
        if n == 0:
            error_message = None
        else:
            stop = at + n - 1
            if n < 1 or stop > end:
                raise bad_length("Coordinator.ErrorMessage", n - 1, end - at)
            try:
                error_message = data[at:stop].decode()
            except UnicodeDecodeError:
                raise not_utf8("Coordinator.ErrorMessage") from None
            at = stop
        if at >= end:
            raise cut_off("Coordinator", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "Coordinator")
        items.append(Coordinator(key, node_id, host, port, error_code, error_message))
    return items, at


def _read_find_coordinator_response_4(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[FindCoordinatorResponse], int]:
    items: list[FindCoordinatorResponse] = []
    for _ in range(count):
        if end - at < 5:
            raise cut_off("FindCoordinatorResponse", "ThrottleTimeMs=4 Coordinators=1", end - at)
        throttle_time_ms, n = _unpack_iB(data, at)
        at += 5
        if n > 127:
            n, at = long_varint(data, at, end, n, "FindCoordinatorResponse.Coordinators")
        n -= 1
        room[0] -= n
        if n < 0 or 14 * n > end - at or room[0] < 0:
            raise bad_count("FindCoordinatorResponse.Coordinators", n, end - at, room[0])
        coordinators, at = _read_coordinator_4(data, at, end, room, n)
        if at >= end:
            raise cut_off("FindCoordinatorResponse", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "FindCoordinatorResponse")
        items.append(FindCoordinatorResponse(throttle_time_ms, 0, "", 0, "", 0, coordinators))
    return items, at


def _write_find_coordinator_response_0(items: Iterable[FindCoordinatorResponse], out: list[Buffer]) -> None:
    for m in items:
        host = m.host
        content = host.encode()
        n = len(content)
        out.append(_pack_hih(m.error_code, m.node_id, n))
        out.append(content)
        out.append(_pack_i(m.port))


def _write_find_coordinator_response_1(items: Iterable[FindCoordinatorResponse], out: list[Buffer]) -> None:
    for m in items:
        error_message = m.error_message
        if error_message is None:
            content = b""
            n = -1
        else:
            content = error_message.encode()
            n = len(content)
        out.append(_pack_ihh(m.throttle_time_ms, m.error_code, n))
        out.append(content)
        host = m.host
        content = host.encode()
        n = len(content)
        out.append(_pack_ih(m.node_id, n))
        out.append(content)
        out.append(_pack_i(m.port))


def _write_find_coordinator_response_3(items: Iterable[FindCoordinatorResponse], out: list[Buffer]) -> None:
    for m in items:
        error_message = m.error_message
        if error_message is None:
            content = b""
            n = 0
        else:
            content = error_message.encode()
            n = len(content) + 1
        if n > 127:
            out.append(_pack_ih(m.throttle_time_ms, m.error_code) + text_length_of(n))
        else:
            out.append(_pack_ihB(m.throttle_time_ms, m.error_code, n))
        out.append(content)
        host = m.host
        content = host.encode()
        n = len(content) + 1
        if n > 127:
            out.append(_pack_i(m.node_id) + text_length_of(n))
        else:
            out.append(_pack_iB(m.node_id, n))
        out.append(content)
        out.append(_pack_ix(m.port))


def _write_coordinator_4(items: Iterable[Coordinator], out: list[Buffer]) -> None:
    for m in items:
        key = m.key
        content = key.encode()
        n = len(content) + 1
        if n > 127:
            out.append(text_length_of(n))
        else:
            out.append(ONE_BYTE[n])
        out.append(content)
        host = m.host
        content = host.encode()
        n = len(content) + 1
        if n > 127:
            out.append(_pack_i(m.node_id) + text_length_of(n))
        else:
            out.append(_pack_iB(m.node_id, n))
        out.append(content)
        error_message = m.error_message
        if error_message is None:
            content = b""
            n = 0
        else:
            content = error_message.encode()
            n = len(content) + 1
        if n > 127:
            out.append(_pack_ih(m.port, m.error_code) + text_length_of(n))
        else:
            out.append(_pack_ihB(m.port, m.error_code, n))
        out.append(content)
        out.append(ONE_BYTE[0])


def _write_find_coordinator_response_4(items: Iterable[FindCoordinatorResponse], out: list[Buffer]) -> None:
    for m in items:
        coordinators = m.coordinators
        n = len(coordinators) + 1
        if n > 127:
            out.append(_pack_i(m.throttle_time_ms) + varint_of(n))
        else:
            out.append(_pack_iB(m.throttle_time_ms, n))
        if coordinators:
            _write_coordinator_4(coordinators, out)
        out.append(ONE_BYTE[0])


FindCoordinatorResponse._READERS = {
    **dict.fromkeys(range(0, 1), _read_find_coordinator_response_0),
    **dict.fromkeys(range(1, 3), _read_find_coordinator_response_1),
    **dict.fromkeys(range(3, 4), _read_find_coordinator_response_3),
    **dict.fromkeys(range(4, 7), _read_find_coordinator_response_4),
}
FindCoordinatorResponse._WRITERS = {
    **dict.fromkeys(range(0, 1), _write_find_coordinator_response_0),
    **dict.fromkeys(range(1, 3), _write_find_coordinator_response_1),
    **dict.fromkeys(range(3, 4), _write_find_coordinator_response_3),
    **dict.fromkeys(range(4, 7), _write_find_coordinator_response_4),
}
