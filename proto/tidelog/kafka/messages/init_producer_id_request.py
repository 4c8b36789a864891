"""InitProducerIdRequest of Kafka's protocol.

Generated from proto/kafka/init_producer_id.schema; do not edit.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import ClassVar

from tidelog.kafka.message import Message
from tidelog.kafka.wire import ONE_BYTE, Buffer, bad_length, cut_off, long_text, not_utf8, skip_tags, text_length_of


class InitProducerIdRequest(Message, gc=False):
    """Request of API 22, versions 0-6; the last is not final."""

    API_KEY: ClassVar[int] = 22
    VERSIONS: ClassVar[range] = range(0, 7)
    FLEXIBLE: ClassVar[range] = range(2, 7)

    transactional_id: str | None = ""
    transaction_timeout_ms: int = 0
    producer_id: int = -1
    producer_epoch: int = -1
    enable2_pc: bool = False
    keep_prepared_txn: bool = False


_unpack_h = Struct(">h").unpack_from
_unpack_i = Struct(">i").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_unpack_iqhttB = Struct(">iqh??B").unpack_from
_unpack_iqhB = Struct(">iqhB").unpack_from
_pack_h = Struct(">h").pack
_pack_i = Struct(">i").pack
_pack_iqhttx = Struct(">iqh??x").pack
_pack_iqhx = Struct(">iqhx").pack
_pack_ix = Struct(">ix").pack


def _read_init_producer_id_request_0(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[InitProducerIdRequest], int]:
    items: list[InitProducerIdRequest] = []
    for _ in range(count):
        if end - at < 2:
            raise cut_off("InitProducerIdRequest", "TransactionalId=2", end - at)
        n = _unpack_h(data, at)[0]
        at += 2
        if n == -1:
            transactional_id = None
        else:
            stop = at + n
            if n < 0 or stop > end:
                raise bad_length("InitProducerIdRequest.TransactionalId", n, end - at)
            try:
                transactional_id = data[at:stop].decode()
            except UnicodeDecodeError:
                raise not_utf8("InitProducerIdRequest.TransactionalId") from None
            at = stop
        if end - at < 4:
            raise cut_off("InitProducerIdRequest", "TransactionTimeoutMs=4", end - at)
        transaction_timeout_ms = _unpack_i(data, at)[0]
        at += 4
        items.append(InitProducerIdRequest(transactional_id, transaction_timeout_ms))
    return items, at


def _read_init_producer_id_request_2(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[InitProducerIdRequest], int]:
    items: list[InitProducerIdRequest] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("InitProducerIdRequest", "TransactionalId=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "InitProducerIdRequest.TransactionalId")
        if n == 0:
            transactional_id = None
        else:
            stop = at + n - 1
            if n < 1 or stop > end:
                raise bad_length("InitProducerIdRequest.TransactionalId", n - 1, end - at)
            try:
                transactional_id = data[at:stop].decode()
            except UnicodeDecodeError:
                raise not_utf8("InitProducerIdRequest.TransactionalId") from None
            at = stop
        if end - at < 5:
            raise cut_off("InitProducerIdRequest", "TransactionTimeoutMs=4 tags=1", end - at)
        transaction_timeout_ms, tags = _unpack_iB(data, at)
        at += 5
        if tags:
            at = skip_tags(data, at, end, tags, "InitProducerIdRequest")
        items.append(InitProducerIdRequest(transactional_id, transaction_timeout_ms))
    return items, at


def _read_init_producer_id_request_3(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[InitProducerIdRequest], int]:
    items: list[InitProducerIdRequest] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("InitProducerIdRequest", "TransactionalId=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "InitProducerIdRequest.TransactionalId")
        if n == 0:
            transactional_id = None
        else:
            stop = at + n - 1
            if n < 1 or stop > end:
                raise bad_length("InitProducerIdRequest.TransactionalId", n - 1, end - at)
            try:
                transactional_id = data[at:stop].decode()
            except UnicodeDecodeError:
                raise not_utf8("InitProducerIdRequest.TransactionalId") from None
            at = stop
        if end - at < 15:
            raise cut_off("InitProducerIdRequest", "TransactionTimeoutMs=4 ProducerId=8 ProducerEpoch=2 tags=1", end - at)
        transaction_timeout_ms, producer_id, producer_epoch, tags = _unpack_iqhB(data, at)
        at += 15
        if tags:
            at = skip_tags(data, at, end, tags, "InitProducerIdRequest")
        items.append(InitProducerIdRequest(transactional_id, transaction_timeout_ms, producer_id, producer_epoch))
    return items, at


def _read_init_producer_id_request_6(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[InitProducerIdRequest], int]:
    items: list[InitProducerIdRequest] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("InitProducerIdRequest", "TransactionalId=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "InitProducerIdRequest.TransactionalId")
        if n == 0:
            transactional_id = None
        else:
            stop = at + n - 1
            if n < 1 or stop > end:
                raise bad_length("InitProducerIdRequest.TransactionalId", n - 1, end - at)
            try:
                transactional_id = data[at:stop].decode()
            except UnicodeDecodeError:
                raise not_utf8("InitProducerIdRequest.TransactionalId") from None
            at = stop
        if end - at < 17:
            raise cut_off("InitProducerIdRequest", "TransactionTimeoutMs=4 ProducerId=8 ProducerEpoch=2 Enable2Pc=1 KeepPreparedTxn=1 tags=1", end - at)
        transaction_timeout_ms, producer_id, producer_epoch, enable2_pc, keep_prepared_txn, tags = _unpack_iqhttB(data, at)
        at += 17
        if tags:
            at = skip_tags(data, at, end, tags, "InitProducerIdRequest")
        items.append(InitProducerIdRequest(transactional_id, transaction_timeout_ms, producer_id, producer_epoch, enable2_pc, keep_prepared_txn))
    return items, at


def _write_init_producer_id_request_0(items: Iterable[InitProducerIdRequest], out: list[Buffer]) -> None:
    for m in items:
        transactional_id = m.transactional_id
        if transactional_id is None:
            content = b""
            n = -1
        else:
            content = transactional_id.encode()
            n = len(content)
        out.append(_pack_h(n))
        out.append(content)
        out.append(_pack_i(m.transaction_timeout_ms))


def _write_init_producer_id_request_2(items: Iterable[InitProducerIdRequest], out: list[Buffer]) -> None:
    for m in items:
        transactional_id = m.transactional_id
        if transactional_id is None:
            content = b""
            n = 0
        else:
            content = transactional_id.encode()
            n = len(content) + 1
        if n > 127:
            out.append(text_length_of(n))
        else:
            out.append(ONE_BYTE[n])
        out.append(content)
        out.append(_pack_ix(m.transaction_timeout_ms))


def _write_init_producer_id_request_3(items: Iterable[InitProducerIdRequest], out: list[Buffer]) -> None:
    for m in items:
        transactional_id = m.transactional_id
        if transactional_id is None:
            content = b""
            n = 0
        else:
            content = transactional_id.encode()
            n = len(content) + 1
        if n > 127:
            out.append(text_length_of(n))
        else:
            out.append(ONE_BYTE[n])
        out.append(content)
        out.append(_pack_iqhx(m.transaction_timeout_ms, m.producer_id, m.producer_epoch))


def _write_init_producer_id_request_6(items: Iterable[InitProducerIdRequest], out: list[Buffer]) -> None:
    for m in items:
        transactional_id = m.transactional_id
        if transactional_id is None:
            content = b""
            n = 0
        else:
            content = transactional_id.encode()
            n = len(content) + 1
        if n > 127:
            out.append(text_length_of(n))
        else:
            out.append(ONE_BYTE[n])
        out.append(content)
        out.append(_pack_iqhttx(m.transaction_timeout_ms, m.producer_id, m.producer_epoch, m.enable2_pc, m.keep_prepared_txn))


InitProducerIdRequest._READERS = {
    **dict.fromkeys(range(0, 2), _read_init_producer_id_request_0),
    **dict.fromkeys(range(2, 3), _read_init_producer_id_request_2),
    **dict.fromkeys(range(3, 6), _read_init_producer_id_request_3),
    **dict.fromkeys(range(6, 7), _read_init_producer_id_request_6),
}
InitProducerIdRequest._WRITERS = {
    **dict.fromkeys(range(0, 2), _write_init_producer_id_request_0),
    **dict.fromkeys(range(2, 3), _write_init_producer_id_request_2),
    **dict.fromkeys(range(3, 6), _write_init_producer_id_request_3),
    **dict.fromkeys(range(6, 7), _write_init_producer_id_request_6),
}
