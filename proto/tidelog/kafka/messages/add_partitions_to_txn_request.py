"""AddPartitionsToTxnRequest of Kafka's protocol.

Generated from proto/kafka/add_partitions_to_txn.schema; do not edit.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import ClassVar

import msgspec

from tidelog.kafka.message import Message
from tidelog.kafka.wire import ONE_BYTE, Buffer, bad_count, bad_length, cut_off, long_text, long_varint, not_utf8, packer, read_numbers, skip_tags, text_length_of, varint_of


class AddPartitionsToTxnRequest(Message, gc=False):
    """Request of API 24, versions 0-5."""

    API_KEY: ClassVar[int] = 24
    VERSIONS: ClassVar[range] = range(0, 6)
    FLEXIBLE: ClassVar[range] = range(3, 6)

    transactions: list[AddPartitionsToTxnTransaction] = []
    v3_and_below_transactional_id: str = ""
    v3_and_below_producer_id: int = 0
    v3_and_below_producer_epoch: int = 0
    v3_and_below_topics: list[AddPartitionsToTxnTopic] = []


class AddPartitionsToTxnTopic(msgspec.Struct, gc=False):
    name: str = ""
    partitions: list[int] = []


class AddPartitionsToTxnTransaction(msgspec.Struct, gc=False):
    transactional_id: str = ""
    producer_id: int = 0
    producer_epoch: int = 0
    verify_only: bool = False
    topics: list[AddPartitionsToTxnTopic] = []


_unpack_h = Struct(">h").unpack_from
_unpack_i = Struct(">i").unpack_from
_unpack_qhtB = Struct(">qh?B").unpack_from
_unpack_qhB = Struct(">qhB").unpack_from
_unpack_qhi = Struct(">qhi").unpack_from
_pack_h = Struct(">h").pack
_pack_i = Struct(">i").pack
_pack_qh = Struct(">qh").pack
_pack_qht = Struct(">qh?").pack
_pack_qhtB = Struct(">qh?B").pack
_pack_qhB = Struct(">qhB").pack
_pack_qhi = Struct(">qhi").pack


def _read_add_partitions_to_txn_topic_0(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[AddPartitionsToTxnTopic], int]:
    items: list[AddPartitionsToTxnTopic] = []
    for _ in range(count):
        if end - at < 2:
            raise cut_off("AddPartitionsToTxnTopic", "Name=2", end - at)
        n = _unpack_h(data, at)[0]
        at += 2
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("AddPartitionsToTxnTopic.Name", n, end - at)
        try:
            name = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("AddPartitionsToTxnTopic.Name") from None
        at = stop
        if end - at < 4:
            raise cut_off("AddPartitionsToTxnTopic", "Partitions=4", end - at)
        n = _unpack_i(data, at)[0]
        at += 4
        room[0] -= n
        if n < 0 or 4 * n > end - at or room[0] < 0:
            raise bad_count("AddPartitionsToTxnTopic.Partitions", n, end - at, room[0])
        partitions = read_numbers(data, at, n, "i")
        at += 4 * n
        items.append(AddPartitionsToTxnTopic(name, partitions))
    return items, at


def _read_add_partitions_to_txn_request_0(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[AddPartitionsToTxnRequest], int]:
    items: list[AddPartitionsToTxnRequest] = []
    for _ in range(count):
        if end - at < 2:
            raise cut_off("AddPartitionsToTxnRequest", "V3AndBelowTransactionalId=2", end - at)
        n = _unpack_h(data, at)[0]
        at += 2
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("AddPartitionsToTxnRequest.V3AndBelowTransactionalId", n, end - at)
        try:
            v3_and_below_transactional_id = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("AddPartitionsToTxnRequest.V3AndBelowTransactionalId") from None
        at = stop
        if end - at < 14:
            raise cut_off("AddPartitionsToTxnRequest", "V3AndBelowProducerId=8 V3AndBelowProducerEpoch=2 V3AndBelowTopics=4", end - at)
        v3_and_below_producer_id, v3_and_below_producer_epoch, n = _unpack_qhi(data, at)
        at += 14
        room[0] -= n
        if n < 0 or 6 * n > end - at or room[0] < 0:
            raise bad_count("AddPartitionsToTxnRequest.V3AndBelowTopics", n, end - at, room[0])
        v3_and_below_topics, at = _read_add_partitions_to_txn_topic_0(data, at, end, room, n)
        items.append(AddPartitionsToTxnRequest([], v3_and_below_transactional_id, v3_and_below_producer_id, v3_and_below_producer_epoch, v3_and_below_topics))
    return items, at


def _read_add_partitions_to_txn_topic_3(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[AddPartitionsToTxnTopic], int]:
    items: list[AddPartitionsToTxnTopic] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("AddPartitionsToTxnTopic", "Name=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "AddPartitionsToTxnTopic.Name")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("AddPartitionsToTxnTopic.Name", n - 1, end - at)
        try:
            name = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("AddPartitionsToTxnTopic.Name") from None
        at = stop
        if at >= end:
            raise cut_off("AddPartitionsToTxnTopic", "Partitions=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "AddPartitionsToTxnTopic.Partitions")
        n -= 1
        room[0] -= n
        if n < 0 or 4 * n > end - at or room[0] < 0:
            raise bad_count("AddPartitionsToTxnTopic.Partitions", n, end - at, room[0])
        partitions = read_numbers(data, at, n, "i")
        at += 4 * n
        if at >= end:
            raise cut_off("AddPartitionsToTxnTopic", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "AddPartitionsToTxnTopic")
        items.append(AddPartitionsToTxnTopic(name, partitions))
    return items, at


def _read_add_partitions_to_txn_request_3(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[AddPartitionsToTxnRequest], int]:
    items: list[AddPartitionsToTxnRequest] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("AddPartitionsToTxnRequest", "V3AndBelowTransactionalId=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "AddPartitionsToTxnRequest.V3AndBelowTransactionalId")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("AddPartitionsToTxnRequest.V3AndBelowTransactionalId", n - 1, end - at)
        try:
            v3_and_below_transactional_id = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("AddPartitionsToTxnRequest.V3AndBelowTransactionalId") from None
        at = stop
        if end - at < 11:
            raise cut_off("AddPartitionsToTxnRequest", "V3AndBelowProducerId=8 V3AndBelowProducerEpoch=2 V3AndBelowTopics=1", end - at)
        v3_and_below_producer_id, v3_and_below_producer_epoch, n = _unpack_qhB(data, at)
        at += 11
        if n > 127:
            n, at = long_varint(data, at, end, n, "AddPartitionsToTxnRequest.V3AndBelowTopics")
        n -= 1
        room[0] -= n
        if n < 0 or 3 * n > end - at or room[0] < 0:
            raise bad_count("AddPartitionsToTxnRequest.V3AndBelowTopics", n, end - at, room[0])
        v3_and_below_topics, at = _read_add_partitions_to_txn_topic_3(data, at, end, room, n)
        if at >= end:
            raise cut_off("AddPartitionsToTxnRequest", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "AddPartitionsToTxnRequest")
        items.append(AddPartitionsToTxnRequest([], v3_and_below_transactional_id, v3_and_below_producer_id, v3_and_below_producer_epoch, v3_and_below_topics))
    return items, at


def _read_add_partitions_to_txn_transaction_4(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[AddPartitionsToTxnTransaction], int]:
    items: list[AddPartitionsToTxnTransaction] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("AddPartitionsToTxnTransaction", "TransactionalId=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "AddPartitionsToTxnTransaction.TransactionalId")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("AddPartitionsToTxnTransaction.TransactionalId", n - 1, end - at)
        try:
            transactional_id = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("AddPartitionsToTxnTransaction.TransactionalId") from None
        at = stop
        if end - at < 12:
            raise cut_off("AddPartitionsToTxnTransaction", "ProducerId=8 ProducerEpoch=2 VerifyOnly=1 Topics=1", end - at)
        producer_id, producer_epoch, verify_only, n = _unpack_qhtB(data, at)
        at += 12
        if n > 127:
            n, at = long_varint(data, at, end, n, "AddPartitionsToTxnTransaction.Topics")
        n -= 1
        room[0] -= n
        if n < 0 or 3 * n > end - at or room[0] < 0:
            raise bad_count("AddPartitionsToTxnTransaction.Topics", n, end - at, room[0])
        topics, at = _read_add_partitions_to_txn_topic_3(data, at, end, room, n)
        if at >= end:
            raise cut_off("AddPartitionsToTxnTransaction", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "AddPartitionsToTxnTransaction")
        items.append(AddPartitionsToTxnTransaction(transactional_id, producer_id, producer_epoch, verify_only, topics))
    return items, at


def _read_add_partitions_to_txn_request_4(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[AddPartitionsToTxnRequest], int]:
    items: list[AddPartitionsToTxnRequest] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("AddPartitionsToTxnRequest", "Transactions=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "AddPartitionsToTxnRequest.Transactions")
        n -= 1
        room[0] -= n
        if n < 0 or 14 * n > end - at or room[0] < 0:
            raise bad_count("AddPartitionsToTxnRequest.Transactions", n, end - at, room[0])
        transactions, at = _read_add_partitions_to_txn_transaction_4(data, at, end, room, n)
        if at >= end:
            raise cut_off("AddPartitionsToTxnRequest", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "AddPartitionsToTxnRequest")
        items.append(AddPartitionsToTxnRequest(transactions))
    return items, at


def _write_add_partitions_to_txn_topic_0(items: Iterable[AddPartitionsToTxnTopic], out: list[Buffer]) -> None:
    for m in items:
        name = m.name
        content = name.encode()
        n = len(content)
        out.append(_pack_h(n))
        out.append(content)
        partitions = m.partitions
        n = len(partitions)
        out.append(_pack_i(n))
        if partitions:
            out.append(packer(len(partitions), "i")(*partitions))


def _write_add_partitions_to_txn_request_0(items: Iterable[AddPartitionsToTxnRequest], out: list[Buffer]) -> None:
    for m in items:
        v3_and_below_transactional_id = m.v3_and_below_transactional_id
        content = v3_and_below_transactional_id.encode()
        n = len(content)
        out.append(_pack_h(n))
        out.append(content)
        v3_and_below_topics = m.v3_and_below_topics
        n = len(v3_and_below_topics)
        out.append(_pack_qhi(m.v3_and_below_producer_id, m.v3_and_below_producer_epoch, n))
        if v3_and_below_topics:
            _write_add_partitions_to_txn_topic_0(v3_and_below_topics, out)


def _write_add_partitions_to_txn_topic_3(items: Iterable[AddPartitionsToTxnTopic], out: list[Buffer]) -> None:
    for m in items:
        name = m.name
        content = name.encode()
        n = len(content) + 1
        if n > 127:
            out.append(text_length_of(n))
        else:
            out.append(ONE_BYTE[n])
        out.append(content)
        partitions = m.partitions
        n = len(partitions) + 1
        if n > 127:
            out.append(varint_of(n))
        else:
            out.append(ONE_BYTE[n])
        if partitions:
            out.append(packer(len(partitions), "i")(*partitions))
        out.append(ONE_BYTE[0])


def _write_add_partitions_to_txn_request_3(items: Iterable[AddPartitionsToTxnRequest], out: list[Buffer]) -> None:
    for m in items:
        v3_and_below_transactional_id = m.v3_and_below_transactional_id
        content = v3_and_below_transactional_id.encode()
        n = len(content) + 1
        if n > 127:
            out.append(text_length_of(n))
        else:
            out.append(ONE_BYTE[n])
        out.append(content)
        v3_and_below_topics = m.v3_and_below_topics
        n = len(v3_and_below_topics) + 1
        if n > 127:
            out.append(_pack_qh(m.v3_and_below_producer_id, m.v3_and_below_producer_epoch) + varint_of(n))
        else:
            out.append(_pack_qhB(m.v3_and_below_producer_id, m.v3_and_below_producer_epoch, n))
        if v3_and_below_topics:
            _write_add_partitions_to_txn_topic_3(v3_and_below_topics, out)
        out.append(ONE_BYTE[0])


def _write_add_partitions_to_txn_transaction_4(items: Iterable[AddPartitionsToTxnTransaction], out: list[Buffer]) -> None:
    for m in items:
        transactional_id = m.transactional_id
        content = transactional_id.encode()
        n = len(content) + 1
        if n > 127:
            out.append(text_length_of(n))
        else:
            out.append(ONE_BYTE[n])
        out.append(content)
        topics = m.topics
        n = len(topics) + 1
        if n > 127:
            out.append(_pack_qht(m.producer_id, m.producer_epoch, m.verify_only) + varint_of(n))
        else:
            out.append(_pack_qhtB(m.producer_id, m.producer_epoch, m.verify_only, n))
        if topics:
            _write_add_partitions_to_txn_topic_3(topics, out)
        out.append(ONE_BYTE[0])


def _write_add_partitions_to_txn_request_4(items: Iterable[AddPartitionsToTxnRequest], out: list[Buffer]) -> None:
    for m in items:
        transactions = m.transactions
        n = len(transactions) + 1
        if n > 127:
            out.append(varint_of(n))
        else:
            out.append(ONE_BYTE[n])
        if transactions:
            _write_add_partitions_to_txn_transaction_4(transactions, out)
        out.append(ONE_BYTE[0])


AddPartitionsToTxnRequest._READERS = {
    **dict.fromkeys(range(0, 3), _read_add_partitions_to_txn_request_0),
    **dict.fromkeys(range(3, 4), _read_add_partitions_to_txn_request_3),
    **dict.fromkeys(range(4, 6), _read_add_partitions_to_txn_request_4),
}
AddPartitionsToTxnRequest._WRITERS = {
    **dict.fromkeys(range(0, 3), _write_add_partitions_to_txn_request_0),
    **dict.fromkeys(range(3, 4), _write_add_partitions_to_txn_request_3),
    **dict.fromkeys(range(4, 6), _write_add_partitions_to_txn_request_4),
}
