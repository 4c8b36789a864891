"""DescribeProducersRequest of Kafka's protocol.

Generated from proto/kafka/describe_producers.schema; do not edit.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import ClassVar

import msgspec

from tidelog.kafka.message import Message
from tidelog.kafka.wire import ONE_BYTE, Buffer, bad_count, bad_length, cut_off, long_text, long_varint, not_utf8, packer, read_numbers, skip_tags, text_length_of, varint_of


class DescribeProducersRequest(Message, gc=False):
    """Request of API 61, versions 0."""

    API_KEY: ClassVar[int] = 61
    VERSIONS: ClassVar[range] = range(0, 1)
    FLEXIBLE: ClassVar[range] = range(0, 1)

    topics: list[TopicRequest] = []


class TopicRequest(msgspec.Struct, gc=False):
    name: str = ""
    partition_indexes: list[int] = []




def _read_topic_request_0(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[TopicRequest], int]:
    items: list[TopicRequest] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("TopicRequest", "Name=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "TopicRequest.Name")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("TopicRequest.Name", n - 1, end - at)
        try:
            name = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("TopicRequest.Name") from None
        at = stop
        if at >= end:
            raise cut_off("TopicRequest", "PartitionIndexes=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "TopicRequest.PartitionIndexes")
        n -= 1
        room[0] -= n
        if n < 0 or 4 * n > end - at or room[0] < 0:
            raise bad_count("TopicRequest.PartitionIndexes", n, end - at, room[0])
        partition_indexes = read_numbers(data, at, n, "i")
        at += 4 * n
        if at >= end:
            raise cut_off("TopicRequest", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "TopicRequest")
        items.append(TopicRequest(name, partition_indexes))
    return items, at


def _read_describe_producers_request_0(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[DescribeProducersRequest], int]:
    items: list[DescribeProducersRequest] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("DescribeProducersRequest", "Topics=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "DescribeProducersRequest.Topics")
        n -= 1
        room[0] -= n
        if n < 0 or 3 * n > end - at or room[0] < 0:
            raise bad_count("DescribeProducersRequest.Topics", n, end - at, room[0])
        topics, at = _read_topic_request_0(data, at, end, room, n)
        if at >= end:
            raise cut_off("DescribeProducersRequest", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "DescribeProducersRequest")
        items.append(DescribeProducersRequest(topics))
    return items, at


def _write_topic_request_0(items: Iterable[TopicRequest], out: list[Buffer]) -> None:
    for m in items:
        name = m.name
        content = name.encode()
        n = len(content) + 1
        if n > 127:
            out.append(text_length_of(n))
        else:
            out.append(ONE_BYTE[n])
        out.append(content)
        partition_indexes = m.partition_indexes
        n = len(partition_indexes) + 1
        if n > 127:
            out.append(varint_of(n))
        else:
            out.append(ONE_BYTE[n])
        if partition_indexes:
            out.append(packer(len(partition_indexes), "i")(*partition_indexes))
        out.append(ONE_BYTE[0])


def _write_describe_producers_request_0(items: Iterable[DescribeProducersRequest], out: list[Buffer]) -> None:
    for m in items:
        topics = m.topics
        n = len(topics) + 1
        if n > 127:
            out.append(varint_of(n))
        else:
            out.append(ONE_BYTE[n])
        if topics:
            _write_topic_request_0(topics, out)
        out.append(ONE_BYTE[0])


DescribeProducersRequest._READERS = {
    **dict.fromkeys(range(0, 1), _read_describe_producers_request_0),
}
DescribeProducersRequest._WRITERS = {
    **dict.fromkeys(range(0, 1), _write_describe_producers_request_0),
}
