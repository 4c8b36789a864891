"""EndTxnRequest of Kafka's protocol.

Generated from proto/kafka/end_txn.schema; do not edit.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import ClassVar

from tidelog.kafka.message import Message
from tidelog.kafka.wire import ONE_BYTE, Buffer, bad_length, cut_off, long_text, not_utf8, skip_tags, text_length_of


class EndTxnRequest(Message, gc=False):
    """Request of API 26, versions 0-5."""

    API_KEY: ClassVar[int] = 26
    VERSIONS: ClassVar[range] = range(0, 6)
    FLEXIBLE: ClassVar[range] = range(3, 6)

    transactional_id: str = ""
    producer_id: int = 0
    producer_epoch: int = 0
    committed: bool = False


_unpack_h = Struct(">h").unpack_from
_unpack_qht = Struct(">qh?").unpack_from
_unpack_qhtB = Struct(">qh?B").unpack_from
_pack_h = Struct(">h").pack
_pack_qht = Struct(">qh?").pack
_pack_qhtx = Struct(">qh?x").pack


def _read_end_txn_request_0(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[EndTxnRequest], int]:
    items: list[EndTxnRequest] = []
    for _ in range(count):
        if end - at < 2:
            raise cut_off("EndTxnRequest", "TransactionalId=2", end - at)
        n = _unpack_h(data, at)[0]
        at += 2
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("EndTxnRequest.TransactionalId", n, end - at)
        try:
            transactional_id = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("EndTxnRequest.TransactionalId") from None
        at = stop
        if end - at < 11:
            raise cut_off("EndTxnRequest", "ProducerId=8 ProducerEpoch=2 Committed=1", end - at)
        producer_id, producer_epoch, committed = _unpack_qht(data, at)
        at += 11
        items.append(EndTxnRequest(transactional_id, producer_id, producer_epoch, committed))
    return items, at


def _read_end_txn_request_3(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[EndTxnRequest], int]:
    items: list[EndTxnRequest] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("EndTxnRequest", "TransactionalId=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "EndTxnRequest.TransactionalId")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("EndTxnRequest.TransactionalId", n - 1, end - at)
        try:
            transactional_id = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("EndTxnRequest.TransactionalId") from None
        at = stop
        if end - at < 12:
            raise cut_off("EndTxnRequest", "ProducerId=8 ProducerEpoch=2 Committed=1 tags=1", end - at)
        producer_id, producer_epoch, committed, tags = _unpack_qhtB(data, at)
        at += 12
        if tags:
            at = skip_tags(data, at, end, tags, "EndTxnRequest")
        items.append(EndTxnRequest(transactional_id, producer_id, producer_epoch, committed))
    return items, at


def _write_end_txn_request_0(items: Iterable[EndTxnRequest], out: list[Buffer]) -> None:
    for m in items:
        transactional_id = m.transactional_id
        content = transactional_id.encode()
        n = len(content)
        out.append(_pack_h(n))
        out.append(content)
        out.append(_pack_qht(m.producer_id, m.producer_epoch, m.committed))


def _write_end_txn_request_3(items: Iterable[EndTxnRequest], out: list[Buffer]) -> None:
    for m in items:
        transactional_id = m.transactional_id
        content = transactional_id.encode()
        n = len(content) + 1
        if n > 127:
            out.append(text_length_of(n))
        else:
            out.append(ONE_BYTE[n])
        out.append(content)
        out.append(_pack_qhtx(m.producer_id, m.producer_epoch, m.committed))


EndTxnRequest._READERS = {
    **dict.fromkeys(range(0, 3), _read_end_txn_request_0),
    **dict.fromkeys(range(3, 6), _read_end_txn_request_3),
}
EndTxnRequest._WRITERS = {
    **dict.fromkeys(range(0, 3), _write_end_txn_request_0),
    **dict.fromkeys(range(3, 6), _write_end_txn_request_3),
}
