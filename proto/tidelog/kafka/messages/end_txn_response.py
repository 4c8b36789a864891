"""EndTxnResponse of Kafka's protocol.

Generated from proto/kafka/end_txn.schema; do not edit.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import ClassVar

from tidelog.kafka.message import Message
from tidelog.kafka.wire import Buffer, cut_off, skip_tags


class EndTxnResponse(Message, gc=False):
    """Response of API 26, versions 0-5."""

    API_KEY: ClassVar[int] = 26
    VERSIONS: ClassVar[range] = range(0, 6)
    FLEXIBLE: ClassVar[range] = range(3, 6)

    throttle_time_ms: int = 0
    error_code: int = 0
    producer_id: int = -1
    producer_epoch: int = -1


_unpack_ih = Struct(">ih").unpack_from
_unpack_ihB = Struct(">ihB").unpack_from
_unpack_ihqhB = Struct(">ihqhB").unpack_from
_pack_ih = Struct(">ih").pack
_pack_ihqhx = Struct(">ihqhx").pack
_pack_ihx = Struct(">ihx").pack


def _read_end_txn_response_0(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[EndTxnResponse], int]:
    items: list[EndTxnResponse] = []
    for _ in range(count):
        if end - at < 6:
            raise cut_off("EndTxnResponse", "ThrottleTimeMs=4 ErrorCode=2", end - at)
        throttle_time_ms, error_code = _unpack_ih(data, at)
        at += 6
        items.append(EndTxnResponse(throttle_time_ms, error_code))
    return items, at


def _read_end_txn_response_3(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[EndTxnResponse], int]:
    items: list[EndTxnResponse] = []
    for _ in range(count):
        if end - at < 7:
            raise cut_off("EndTxnResponse", "ThrottleTimeMs=4 ErrorCode=2 tags=1", end - at)
        throttle_time_ms, error_code, tags = _unpack_ihB(data, at)
        at += 7
        if tags:
            at = skip_tags(data, at, end, tags, "EndTxnResponse")
        items.append(EndTxnResponse(throttle_time_ms, error_code))
    return items, at


def _read_end_txn_response_5(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[EndTxnResponse], int]:
    items: list[EndTxnResponse] = []
    for _ in range(count):
        if end - at < 17:
            raise cut_off("EndTxnResponse", "ThrottleTimeMs=4 ErrorCode=2 ProducerId=8 ProducerEpoch=2 tags=1", end - at)
        throttle_time_ms, error_code, producer_id, producer_epoch, tags = _unpack_ihqhB(data, at)
        at += 17
        if tags:
            at = skip_tags(data, at, end, tags, "EndTxnResponse")
        items.append(EndTxnResponse(throttle_time_ms, error_code, producer_id, producer_epoch))
    return items, at


def _write_end_txn_response_0(items: Iterable[EndTxnResponse], out: list[Buffer]) -> None:
    for m in items:
        out.append(_pack_ih(m.throttle_time_ms, m.error_code))


def _write_end_txn_response_3(items: Iterable[EndTxnResponse], out: list[Buffer]) -> None:
    for m in items:
        out.append(_pack_ihx(m.throttle_time_ms, m.error_code))


def _write_end_txn_response_5(items: Iterable[EndTxnResponse], out: list[Buffer]) -> None:
    for m in items:
        out.append(_pack_ihqhx(m.throttle_time_ms, m.error_code, m.producer_id, m.producer_epoch))


EndTxnResponse._READERS = {
    **dict.fromkeys(range(0, 3), _read_end_txn_response_0),
    **dict.fromkeys(range(3, 5), _read_end_txn_response_3),
    **dict.fromkeys(range(5, 6), _read_end_txn_response_5),
}
EndTxnResponse._WRITERS = {
    **dict.fromkeys(range(0, 3), _write_end_txn_response_0),
    **dict.fromkeys(range(3, 5), _write_end_txn_response_3),
    **dict.fromkeys(range(5, 6), _write_end_txn_response_5),
}
