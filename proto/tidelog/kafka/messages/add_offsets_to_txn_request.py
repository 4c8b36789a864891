"""AddOffsetsToTxnRequest of Kafka's protocol.

Generated from proto/kafka/add_offsets_to_txn.schema; do not edit.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import ClassVar

from tidelog.kafka.message import Message
from tidelog.kafka.wire import ONE_BYTE, Buffer, bad_length, cut_off, long_text, not_utf8, skip_tags, text_length_of


class AddOffsetsToTxnRequest(Message, gc=False):
    """Request of API 25, versions 0-4."""

    API_KEY: ClassVar[int] = 25
    VERSIONS: ClassVar[range] = range(0, 5)
    FLEXIBLE: ClassVar[range] = range(3, 5)

    transactional_id: str = ""
    producer_id: int = 0
    producer_epoch: int = 0
    group_id: str = ""


_unpack_h = Struct(">h").unpack_from
_unpack_qhB = Struct(">qhB").unpack_from
_unpack_qhh = Struct(">qhh").unpack_from
_pack_h = Struct(">h").pack
_pack_qh = Struct(">qh").pack
_pack_qhB = Struct(">qhB").pack
_pack_qhh = Struct(">qhh").pack


def _read_add_offsets_to_txn_request_0(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[AddOffsetsToTxnRequest], int]:
    items: list[AddOffsetsToTxnRequest] = []
    for _ in range(count):
        if end - at < 2:
            raise cut_off("AddOffsetsToTxnRequest", "TransactionalId=2", end - at)
        n = _unpack_h(data, at)[0]
        at += 2
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("AddOffsetsToTxnRequest.TransactionalId", n, end - at)
        try:
            transactional_id = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("AddOffsetsToTxnRequest.TransactionalId") from None
        at = stop
        if end - at < 12:
            raise cut_off("AddOffsetsToTxnRequest", "ProducerId=8 ProducerEpoch=2 GroupId=2", end - at)
        producer_id, producer_epoch, n = _unpack_qhh(data, at)
        at += 12
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("AddOffsetsToTxnRequest.GroupId", n, end - at)
        try:
            group_id = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("AddOffsetsToTxnRequest.GroupId") from None
        at = stop
        items.append(AddOffsetsToTxnRequest(transactional_id, producer_id, producer_epoch, group_id))
    return items, at


def _read_add_offsets_to_txn_request_3(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[AddOffsetsToTxnRequest], int]:
    items: list[AddOffsetsToTxnRequest] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("AddOffsetsToTxnRequest", "TransactionalId=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "AddOffsetsToTxnRequest.TransactionalId")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("AddOffsetsToTxnRequest.TransactionalId", n - 1, end - at)
        try:
            transactional_id = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("AddOffsetsToTxnRequest.TransactionalId") from None
        at = stop
        if end - at < 11:
            raise cut_off("AddOffsetsToTxnRequest", "ProducerId=8 ProducerEpoch=2 GroupId=1", end - at)
        producer_id, producer_epoch, n = _unpack_qhB(data, at)
        at += 11
        if n > 127:
            n, at = long_text(data, at, end, n, "AddOffsetsToTxnRequest.GroupId")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("AddOffsetsToTxnRequest.GroupId", n - 1, end - at)
        try:
            group_id = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("AddOffsetsToTxnRequest.GroupId") from None
        at = stop
        if at >= end:
            raise cut_off("AddOffsetsToTxnRequest", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "AddOffsetsToTxnRequest")
        items.append(AddOffsetsToTxnRequest(transactional_id, producer_id, producer_epoch, group_id))
    return items, at


def _write_add_offsets_to_txn_request_0(items: Iterable[AddOffsetsToTxnRequest], out: list[Buffer]) -> None:
    for m in items:
        transactional_id = m.transactional_id
        content = transactional_id.encode()
        n = len(content)
        out.append(_pack_h(n))
        out.append(content)
        group_id = m.group_id
        content = group_id.encode()
        n = len(content)
        out.append(_pack_qhh(m.producer_id, m.producer_epoch, n))
        out.append(content)


def _write_add_offsets_to_txn_request_3(items: Iterable[AddOffsetsToTxnRequest], out: list[Buffer]) -> None:
    for m in items:
        transactional_id = m.transactional_id
        content = transactional_id.encode()
        n = len(content) + 1
        if n > 127:
            out.append(text_length_of(n))
        else:
            out.append(ONE_BYTE[n])
        out.append(content)
        group_id = m.group_id
        content = group_id.encode()
        n = len(content) + 1
        if n > 127:
            out.append(_pack_qh(m.producer_id, m.producer_epoch) + text_length_of(n))
        else:
            out.append(_pack_qhB(m.producer_id, m.producer_epoch, n))
        out.append(content)
        out.append(ONE_BYTE[0])


AddOffsetsToTxnRequest._READERS = {
    **dict.fromkeys(range(0, 3), _read_add_offsets_to_txn_request_0),
    **dict.fromkeys(range(3, 5), _read_add_offsets_to_txn_request_3),
}
AddOffsetsToTxnRequest._WRITERS = {
    **dict.fromkeys(range(0, 3), _write_add_offsets_to_txn_request_0),
    **dict.fromkeys(range(3, 5), _write_add_offsets_to_txn_request_3),
}
