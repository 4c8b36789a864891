"""DescribeProducersResponse of Kafka's protocol.

Generated from proto/kafka/describe_producers.schema; do not edit.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import ClassVar

import msgspec

from tidelog.kafka.message import Message
from tidelog.kafka.wire import ONE_BYTE, Buffer, bad_count, bad_length, cut_off, long_text, long_varint, not_utf8, skip_tags, text_length_of, varint_of


class DescribeProducersResponse(Message, gc=False):
    """Response of API 61, versions 0."""

    API_KEY: ClassVar[int] = 61
    VERSIONS: ClassVar[range] = range(0, 1)
    FLEXIBLE: ClassVar[range] = range(0, 1)

    throttle_time_ms: int = 0
    topics: list[TopicResponse] = []


class TopicResponse(msgspec.Struct, gc=False):
    name: str = ""
    partitions: list[PartitionResponse] = []


class PartitionResponse(msgspec.Struct, gc=False):
    partition_index: int = 0
    error_code: int = 0
    error_message: str | None = None
    active_producers: list[ProducerState] = []


class ProducerState(msgspec.Struct, gc=False):
    producer_id: int = 0
    producer_epoch: int = 0
    last_sequence: int = -1
    last_timestamp: int = -1
    coordinator_epoch: int = 0
    current_txn_start_offset: int = -1


_unpack_iB = Struct(">iB").unpack_from
_unpack_ihB = Struct(">ihB").unpack_from
_unpack_qiiqiqB = Struct(">qiiqiqB").unpack_from
_pack_i = Struct(">i").pack
_pack_iB = Struct(">iB").pack
_pack_ih = Struct(">ih").pack
_pack_ihB = Struct(">ihB").pack
_pack_qiiqiqx = Struct(">qiiqiqx").pack


def _read_producer_state_0(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[ProducerState], int]:
    items: list[ProducerState] = []
    for _ in range(count):
        if end - at < 37:
            raise cut_off("ProducerState", "ProducerId=8 ProducerEpoch=4 LastSequence=4 LastTimestamp=8 CoordinatorEpoch=4 CurrentTxnStartOffset=8 tags=1", end - at)
        producer_id, producer_epoch, last_sequence, last_timestamp, coordinator_epoch, current_txn_start_offset, tags = _unpack_qiiqiqB(data, at)
        at += 37
        if tags:
            at = skip_tags(data, at, end, tags, "ProducerState")
        items.append(ProducerState(producer_id, producer_epoch, last_sequence, last_timestamp, coordinator_epoch, current_txn_start_offset))
    return items, at


def _read_partition_response_0(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[PartitionResponse], int]:
    items: list[PartitionResponse] = []
    for _ in range(count):
        if end - at < 7:
            raise cut_off("PartitionResponse", "PartitionIndex=4 ErrorCode=2 ErrorMessage=1", end - at)
        partition_index, error_code, n = _unpack_ihB(data, at)
        at += 7
        if n > 127:
            n, at = long_text(data, at, end, n, "PartitionResponse.ErrorMessage")
        if n == 0:
            error_message = None
        else:
            stop = at + n - 1
            if n < 1 or stop > end:
                raise bad_length("PartitionResponse.ErrorMessage", n - 1, end - at)
            try:
                error_message = data[at:stop].decode()
            except UnicodeDecodeError:
                raise not_utf8("PartitionResponse.ErrorMessage") from None
            at = stop
        if at >= end:
            raise cut_off("PartitionResponse", "ActiveProducers=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "PartitionResponse.ActiveProducers")
        n -= 1
        room[0] -= n
        if n < 0 or 37 * n > end - at or room[0] < 0:
            raise bad_count("PartitionResponse.ActiveProducers", n, end - at, room[0])
        active_producers, at = _read_producer_state_0(data, at, end, room, n)
        if at >= end:
            raise cut_off("PartitionResponse", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "PartitionResponse")
        items.append(PartitionResponse(partition_index, error_code, error_message, active_producers))
    return items, at


def _read_topic_response_0(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[TopicResponse], int]:
    items: list[TopicResponse] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("TopicResponse", "Name=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "TopicResponse.Name")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("TopicResponse.Name", n - 1, end - at)
        try:
            name = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("TopicResponse.Name") from None
        at = stop
        if at >= end:
            raise cut_off("TopicResponse", "Partitions=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "TopicResponse.Partitions")
        n -= 1
        room[0] -= n
        if n < 0 or 9 * n > end - at or room[0] < 0:
            raise bad_count("TopicResponse.Partitions", n, end - at, room[0])
        partitions, at = _read_partition_response_0(data, at, end, room, n)
        if at >= end:
            raise cut_off("TopicResponse", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "TopicResponse")
        items.append(TopicResponse(name, partitions))
    return items, at


def _read_describe_producers_response_0(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[DescribeProducersResponse], int]:
    items: list[DescribeProducersResponse] = []
    for _ in range(count):
        if end - at < 5:
            raise cut_off("DescribeProducersResponse", "ThrottleTimeMs=4 Topics=1", end - at)
        throttle_time_ms, n = _unpack_iB(data, at)
        at += 5
        if n > 127:
            n, at = long_varint(data, at, end, n, "DescribeProducersResponse.Topics")
        n -= 1
        room[0] -= n
        if n < 0 or 3 * n > end - at or room[0] < 0:
            raise bad_count("DescribeProducersResponse.Topics", n, end - at, room[0])
        topics, at = _read_topic_response_0(data, at, end, room, n)
        if at >= end:
            raise cut_off("DescribeProducersResponse", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "DescribeProducersResponse")
        items.append(DescribeProducersResponse(throttle_time_ms, topics))
    return items, at


def _write_producer_state_0(items: Iterable[ProducerState], out: list[Buffer]) -> None:
    for m in items:
        out.append(_pack_qiiqiqx(m.producer_id, m.producer_epoch, m.last_sequence, m.last_timestamp, m.coordinator_epoch, m.current_txn_start_offset))


def _write_partition_response_0(items: Iterable[PartitionResponse], out: list[Buffer]) -> None:
    for m in items:
        error_message = m.error_message
        if error_message is None:
            content = b""
            n = 0
        else:
            content = error_message.encode()
            n = len(content) + 1
        if n > 127:
            out.append(_pack_ih(m.partition_index, m.error_code) + text_length_of(n))
        else:
            out.append(_pack_ihB(m.partition_index, m.error_code, n))
        out.append(content)
        active_producers = m.active_producers
        n = len(active_producers) + 1
        if n > 127:
            out.append(varint_of(n))
        else:
            out.append(ONE_BYTE[n])
        if active_producers:
            _write_producer_state_0(active_producers, out)
        out.append(ONE_BYTE[0])


def _write_topic_response_0(items: Iterable[TopicResponse], out: list[Buffer]) -> None:
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
            _write_partition_response_0(partitions, out)
        out.append(ONE_BYTE[0])


def _write_describe_producers_response_0(items: Iterable[DescribeProducersResponse], out: list[Buffer]) -> None:
    for m in items:
        topics = m.topics
        n = len(topics) + 1
        if n > 127:
            out.append(_pack_i(m.throttle_time_ms) + varint_of(n))
        else:
            out.append(_pack_iB(m.throttle_time_ms, n))
        if topics:
            _write_topic_response_0(topics, out)
        out.append(ONE_BYTE[0])


DescribeProducersResponse._READERS = {
    **dict.fromkeys(range(0, 1), _read_describe_producers_response_0),
}
DescribeProducersResponse._WRITERS = {
    **dict.fromkeys(range(0, 1), _write_describe_producers_response_0),
}
