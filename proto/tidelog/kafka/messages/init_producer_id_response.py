"""InitProducerIdResponse of Kafka's protocol.

Generated from proto/kafka/init_producer_id.schema; do not edit.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import ClassVar

from tidelog.kafka.message import Message
from tidelog.kafka.wire import Buffer, cut_off, skip_tags


class InitProducerIdResponse(Message, gc=False):
    """Response of API 22, versions 0-6."""

    API_KEY: ClassVar[int] = 22
    VERSIONS: ClassVar[range] = range(0, 7)
    FLEXIBLE: ClassVar[range] = range(2, 7)

    throttle_time_ms: int = 0
    error_code: int = 0
    producer_id: int = -1
    producer_epoch: int = 0
    ongoing_txn_producer_id: int = -1
    ongoing_txn_producer_epoch: int = -1


_unpack_ihqh = Struct(">ihqh").unpack_from
_unpack_ihqhB = Struct(">ihqhB").unpack_from
_unpack_ihqhqhB = Struct(">ihqhqhB").unpack_from
_pack_ihqh = Struct(">ihqh").pack
_pack_ihqhqhx = Struct(">ihqhqhx").pack
_pack_ihqhx = Struct(">ihqhx").pack


def _read_init_producer_id_response_0(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[InitProducerIdResponse], int]:
    items: list[InitProducerIdResponse] = []
    for _ in range(count):
        if end - at < 16:
            raise cut_off("InitProducerIdResponse", "ThrottleTimeMs=4 ErrorCode=2 ProducerId=8 ProducerEpoch=2", end - at)
        throttle_time_ms, error_code, producer_id, producer_epoch = _unpack_ihqh(data, at)
        at += 16
        items.append(InitProducerIdResponse(throttle_time_ms, error_code, producer_id, producer_epoch))
    return items, at


def _read_init_producer_id_response_2(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[InitProducerIdResponse], int]:
    items: list[InitProducerIdResponse] = []
    for _ in range(count):
        if end - at < 17:
            raise cut_off("InitProducerIdResponse", "ThrottleTimeMs=4 ErrorCode=2 ProducerId=8 ProducerEpoch=2 tags=1", end - at)
        throttle_time_ms, error_code, producer_id, producer_epoch, tags = _unpack_ihqhB(data, at)
        at += 17
        if tags:
            at = skip_tags(data, at, end, tags, "InitProducerIdResponse")
        items.append(InitProducerIdResponse(throttle_time_ms, error_code, producer_id, producer_epoch))
    return items, at


def _read_init_producer_id_response_6(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[InitProducerIdResponse], int]:
    items: list[InitProducerIdResponse] = []
    for _ in range(count):
        if end - at < 27:
            raise cut_off("InitProducerIdResponse", "ThrottleTimeMs=4 ErrorCode=2 ProducerId=8 ProducerEpoch=2 OngoingTxnProducerId=8 OngoingTxnProducerEpoch=2 tags=1", end - at)
        throttle_time_ms, error_code, producer_id, producer_epoch, ongoing_txn_producer_id, ongoing_txn_producer_epoch, tags = _unpack_ihqhqhB(data, at)
        at += 27
        if tags:
            at = skip_tags(data, at, end, tags, "InitProducerIdResponse")
        items.append(InitProducerIdResponse(throttle_time_ms, error_code, producer_id, producer_epoch, ongoing_txn_producer_id, ongoing_txn_producer_epoch))
    return items, at


def _write_init_producer_id_response_0(items: Iterable[InitProducerIdResponse], out: list[Buffer]) -> None:
    for m in items:
        out.append(_pack_ihqh(m.throttle_time_ms, m.error_code, m.producer_id, m.producer_epoch))


def _write_init_producer_id_response_2(items: Iterable[InitProducerIdResponse], out: list[Buffer]) -> None:
    for m in items:
        out.append(_pack_ihqhx(m.throttle_time_ms, m.error_code, m.producer_id, m.producer_epoch))


def _write_init_producer_id_response_6(items: Iterable[InitProducerIdResponse], out: list[Buffer]) -> None:
    for m in items:
        out.append(_pack_ihqhqhx(m.throttle_time_ms, m.error_code, m.producer_id, m.producer_epoch, m.ongoing_txn_producer_id, m.ongoing_txn_producer_epoch))


InitProducerIdResponse._READERS = {
    **dict.fromkeys(range(0, 2), _read_init_producer_id_response_0),
    **dict.fromkeys(range(2, 6), _read_init_producer_id_response_2),
    **dict.fromkeys(range(6, 7), _read_init_producer_id_response_6),
}
InitProducerIdResponse._WRITERS = {
    **dict.fromkeys(range(0, 2), _write_init_producer_id_response_0),
    **dict.fromkeys(range(2, 6), _write_init_producer_id_response_2),
    **dict.fromkeys(range(6, 7), _write_init_producer_id_response_6),
}
