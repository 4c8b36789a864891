"""AddOffsetsToTxnResponse of Kafka's protocol.

Generated from proto/kafka/add_offsets_to_txn.schema; do not edit.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import ClassVar

from tidelog.kafka.message import Message
from tidelog.kafka.wire import Buffer, cut_off, skip_tags


class AddOffsetsToTxnResponse(Message, gc=False):
    """Response of API 25, versions 0-4."""

    API_KEY: ClassVar[int] = 25
    VERSIONS: ClassVar[range] = range(0, 5)
    FLEXIBLE: ClassVar[range] = range(3, 5)

    throttle_time_ms: int = 0
    error_code: int = 0


_unpack_ih = Struct(">ih").unpack_from
_unpack_ihB = Struct(">ihB").unpack_from
_pack_ih = Struct(">ih").pack
_pack_ihx = Struct(">ihx").pack


def _read_add_offsets_to_txn_response_0(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[AddOffsetsToTxnResponse], int]:
    items: list[AddOffsetsToTxnResponse] = []
    for _ in range(count):
        if end - at < 6:
            raise cut_off("AddOffsetsToTxnResponse", "ThrottleTimeMs=4 ErrorCode=2", end - at)
        throttle_time_ms, error_code = _unpack_ih(data, at)
        at += 6
        items.append(AddOffsetsToTxnResponse(throttle_time_ms, error_code))
    return items, at


def _read_add_offsets_to_txn_response_3(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[AddOffsetsToTxnResponse], int]:
    items: list[AddOffsetsToTxnResponse] = []
    for _ in range(count):
        if end - at < 7:
            raise cut_off("AddOffsetsToTxnResponse", "ThrottleTimeMs=4 ErrorCode=2 tags=1", end - at)
        throttle_time_ms, error_code, tags = _unpack_ihB(data, at)
        at += 7
        if tags:
            at = skip_tags(data, at, end, tags, "AddOffsetsToTxnResponse")
        items.append(AddOffsetsToTxnResponse(throttle_time_ms, error_code))
    return items, at


def _write_add_offsets_to_txn_response_0(items: Iterable[AddOffsetsToTxnResponse], out: list[Buffer]) -> None:
    for m in items:
        out.append(_pack_ih(m.throttle_time_ms, m.error_code))


def _write_add_offsets_to_txn_response_3(items: Iterable[AddOffsetsToTxnResponse], out: list[Buffer]) -> None:
    for m in items:
        out.append(_pack_ihx(m.throttle_time_ms, m.error_code))


AddOffsetsToTxnResponse._READERS = {
    **dict.fromkeys(range(0, 3), _read_add_offsets_to_txn_response_0),
    **dict.fromkeys(range(3, 5), _read_add_offsets_to_txn_response_3),
}
AddOffsetsToTxnResponse._WRITERS = {
    **dict.fromkeys(range(0, 3), _write_add_offsets_to_txn_response_0),
    **dict.fromkeys(range(3, 5), _write_add_offsets_to_txn_response_3),
}
