"""DescribeTransactionsResponse of Kafka's protocol.

Generated from proto/kafka/describe_transactions.schema; do not edit.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import ClassVar

import msgspec

from tidelog.kafka.message import Message
from tidelog.kafka.wire import ONE_BYTE, Buffer, bad_count, bad_length, cut_off, long_text, long_varint, not_utf8, packer, read_numbers, skip_tags, text_length_of, varint_of


class DescribeTransactionsResponse(Message, gc=False):
    """Response of API 65, versions 0."""

    API_KEY: ClassVar[int] = 65
    VERSIONS: ClassVar[range] = range(0, 1)
    FLEXIBLE: ClassVar[range] = range(0, 1)

    throttle_time_ms: int = 0
    transaction_states: list[TransactionState] = []


class TransactionState(msgspec.Struct, gc=False):
    error_code: int = 0
    transactional_id: str = ""
    transaction_state: str = ""
    transaction_timeout_ms: int = 0
    transaction_start_time_ms: int = 0
    producer_id: int = 0
    producer_epoch: int = 0
    topics: list[TopicData] = []


class TopicData(msgspec.Struct, gc=False):
    topic: str = ""
    partitions: list[int] = []


_unpack_hB = Struct(">hB").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_unpack_iqqhB = Struct(">iqqhB").unpack_from
_pack_h = Struct(">h").pack
_pack_hB = Struct(">hB").pack
_pack_i = Struct(">i").pack
_pack_iB = Struct(">iB").pack
_pack_iqqh = Struct(">iqqh").pack
_pack_iqqhB = Struct(">iqqhB").pack


def _read_topic_data_0(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[TopicData], int]:
    items: list[TopicData] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("TopicData", "Topic=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "TopicData.Topic")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("TopicData.Topic", n - 1, end - at)
        try:
            topic = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("TopicData.Topic") from None
        at = stop
        if at >= end:
            raise cut_off("TopicData", "Partitions=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "TopicData.Partitions")
        n -= 1
        room[0] -= n
        if n < 0 or 4 * n > end - at or room[0] < 0:
            raise bad_count("TopicData.Partitions", n, end - at, room[0])
        partitions = read_numbers(data, at, n, "i")
        at += 4 * n
        if at >= end:
            raise cut_off("TopicData", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "TopicData")
        items.append(TopicData(topic, partitions))
    return items, at


def _read_transaction_state_0(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[TransactionState], int]:
    items: list[TransactionState] = []
    for _ in range(count):
        if end - at < 3:
            raise cut_off("TransactionState", "ErrorCode=2 TransactionalId=1", end - at)
        error_code, n = _unpack_hB(data, at)
        at += 3
        if n > 127:
            n, at = long_text(data, at, end, n, "TransactionState.TransactionalId")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("TransactionState.TransactionalId", n - 1, end - at)
        try:
            transactional_id = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("TransactionState.TransactionalId") from None
        at = stop
        if at >= end:
            raise cut_off("TransactionState", "TransactionState=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "TransactionState.TransactionState")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("TransactionState.TransactionState", n - 1, end - at)
        try:
            transaction_state = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("TransactionState.TransactionState") from None
        at = stop
        if end - at < 23:
            raise cut_off("TransactionState", "TransactionTimeoutMs=4 TransactionStartTimeMs=8 ProducerId=8 ProducerEpoch=2 Topics=1", end - at)
        transaction_timeout_ms, transaction_start_time_ms, producer_id, producer_epoch, n = _unpack_iqqhB(data, at)
        at += 23
        if n > 127:
            n, at = long_varint(data, at, end, n, "TransactionState.Topics")
        n -= 1
        room[0] -= n
        if n < 0 or 3 * n > end - at or room[0] < 0:
            raise bad_count("TransactionState.Topics", n, end - at, room[0])
        topics, at = _read_topic_data_0(data, at, end, room, n)
        if at >= end:
            raise cut_off("TransactionState", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "TransactionState")
        items.append(TransactionState(error_code, transactional_id, transaction_state, transaction_timeout_ms, transaction_start_time_ms, producer_id, producer_epoch, topics))
    return items, at


def _read_describe_transactions_response_0(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[DescribeTransactionsResponse], int]:
    items: list[DescribeTransactionsResponse] = []
    for _ in range(count):
        if end - at < 5:
            raise cut_off("DescribeTransactionsResponse", "ThrottleTimeMs=4 TransactionStates=1", end - at)
        throttle_time_ms, n = _unpack_iB(data, at)
        at += 5
        if n > 127:
            n, at = long_varint(data, at, end, n, "DescribeTransactionsResponse.TransactionStates")
        n -= 1
        room[0] -= n
        if n < 0 or 28 * n > end - at or room[0] < 0:
            raise bad_count("DescribeTransactionsResponse.TransactionStates", n, end - at, room[0])
        transaction_states, at = _read_transaction_state_0(data, at, end, room, n)
        if at >= end:
            raise cut_off("DescribeTransactionsResponse", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "DescribeTransactionsResponse")
        items.append(DescribeTransactionsResponse(throttle_time_ms, transaction_states))
    return items, at


def _write_topic_data_0(items: Iterable[TopicData], out: list[Buffer]) -> None:
    for m in items:
        topic = m.topic
        content = topic.encode()
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


def _write_transaction_state_0(items: Iterable[TransactionState], out: list[Buffer]) -> None:
    for m in items:
        transactional_id = m.transactional_id
        content = transactional_id.encode()
        n = len(content) + 1
        if n > 127:
            out.append(_pack_h(m.error_code) + text_length_of(n))
        else:
            out.append(_pack_hB(m.error_code, n))
        out.append(content)
        transaction_state = m.transaction_state
        content = transaction_state.encode()
        n = len(content) + 1
        if n > 127:
            out.append(text_length_of(n))
        else:
            out.append(ONE_BYTE[n])
        out.append(content)
        topics = m.topics
        n = len(topics) + 1
        if n > 127:
            out.append(_pack_iqqh(m.transaction_timeout_ms, m.transaction_start_time_ms, m.producer_id, m.producer_epoch) + varint_of(n))
        else:
            out.append(_pack_iqqhB(m.transaction_timeout_ms, m.transaction_start_time_ms, m.producer_id, m.producer_epoch, n))
        if topics:
            _write_topic_data_0(topics, out)
        out.append(ONE_BYTE[0])


def _write_describe_transactions_response_0(items: Iterable[DescribeTransactionsResponse], out: list[Buffer]) -> None:
    for m in items:
        transaction_states = m.transaction_states
        n = len(transaction_states) + 1
        if n > 127:
            out.append(_pack_i(m.throttle_time_ms) + varint_of(n))
        else:
            out.append(_pack_iB(m.throttle_time_ms, n))
        if transaction_states:
            _write_transaction_state_0(transaction_states, out)
        out.append(ONE_BYTE[0])


DescribeTransactionsResponse._READERS = {
    **dict.fromkeys(range(0, 1), _read_describe_transactions_response_0),
}
DescribeTransactionsResponse._WRITERS = {
    **dict.fromkeys(range(0, 1), _write_describe_transactions_response_0),
}
