"""HeartbeatResponse of Kafka's protocol.

Generated from proto/kafka/heartbeat.schema; do not edit.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import ClassVar

from tidelog.kafka.message import Message
from tidelog.kafka.wire import Buffer, cut_off, skip_tags


class HeartbeatResponse(Message, gc=False):
    """Response of API 12, versions 0-4."""

    API_KEY: ClassVar[int] = 12
    VERSIONS: ClassVar[range] = range(0, 5)
    FLEXIBLE: ClassVar[range] = range(4, 5)

    throttle_time_ms: int = 0
    error_code: int = 0


_unpack_h = Struct(">h").unpack_from
_unpack_ih = Struct(">ih").unpack_from
_unpack_ihB = Struct(">ihB").unpack_from
_pack_h = Struct(">h").pack
_pack_ih = Struct(">ih").pack
_pack_ihx = Struct(">ihx").pack


def _read_heartbeat_response_0(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[HeartbeatResponse], int]:
    items: list[HeartbeatResponse] = []
    for _ in range(count):
        if end - at < 2:
            raise cut_off("HeartbeatResponse", "ErrorCode=2", end - at)
        error_code = _unpack_h(data, at)[0]
        at += 2
        items.append(HeartbeatResponse(0, error_code))
    return items, at


def _read_heartbeat_response_1(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[HeartbeatResponse], int]:
    items: list[HeartbeatResponse] = []
    for _ in range(count):
        if end - at < 6:
            raise cut_off("HeartbeatResponse", "ThrottleTimeMs=4 ErrorCode=2", end - at)
        throttle_time_ms, error_code = _unpack_ih(data, at)
        at += 6
        items.append(HeartbeatResponse(throttle_time_ms, error_code))
    return items, at


def _read_heartbeat_response_4(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[HeartbeatResponse], int]:
    items: list[HeartbeatResponse] = []
    for _ in range(count):
        if end - at < 7:
            raise cut_off("HeartbeatResponse", "ThrottleTimeMs=4 ErrorCode=2 tags=1", end - at)
        throttle_time_ms, error_code, tags = _unpack_ihB(data, at)
        at += 7
        if tags:
            at = skip_tags(data, at, end, tags, "HeartbeatResponse")
        items.append(HeartbeatResponse(throttle_time_ms, error_code))
    return items, at


def _write_heartbeat_response_0(items: Iterable[HeartbeatResponse], out: list[Buffer]) -> None:
    for m in items:
        out.append(_pack_h(m.error_code))


def _write_heartbeat_response_1(items: Iterable[HeartbeatResponse], out: list[Buffer]) -> None:
    for m in items:
        out.append(_pack_ih(m.throttle_time_ms, m.error_code))


def _write_heartbeat_response_4(items: Iterable[HeartbeatResponse], out: list[Buffer]) -> None:
    for m in items:
        out.append(_pack_ihx(m.throttle_time_ms, m.error_code))


HeartbeatResponse._READERS = {
    **dict.fromkeys(range(0, 1), _read_heartbeat_response_0),
    **dict.fromkeys(range(1, 4), _read_heartbeat_response_1),
    **dict.fromkeys(range(4, 5), _read_heartbeat_response_4),
}
HeartbeatResponse._WRITERS = {
    **dict.fromkeys(range(0, 1), _write_heartbeat_response_0),
    **dict.fromkeys(range(1, 4), _write_heartbeat_response_1),
    **dict.fromkeys(range(4, 5), _write_heartbeat_response_4),
}
