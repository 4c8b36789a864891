"""DescribeTopicPartitionsRequest of Kafka's protocol.

Generated from proto/kafka/describe_topic_partitions.schema; do not edit.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import ClassVar

import msgspec

from tidelog.kafka.message import Message
from tidelog.kafka.wire import ONE_BYTE, Buffer, bad_count, bad_length, cut_off, long_text, long_varint, not_utf8, skip_tags, text_length_of, varint_of


class DescribeTopicPartitionsRequest(Message, gc=False):
    """Request of API 75, versions 0."""

    API_KEY: ClassVar[int] = 75
    VERSIONS: ClassVar[range] = range(0, 1)
    FLEXIBLE: ClassVar[range] = range(0, 1)

    topics: list[TopicRequest] = []
    response_partition_limit: int = 2000
    cursor: Cursor | None = None


class TopicRequest(msgspec.Struct, gc=False):
    name: str = ""


class Cursor(msgspec.Struct, gc=False):
    topic_name: str = ""
    partition_index: int = 0


_unpack_iB = Struct(">iB").unpack_from
_unpack_ib = Struct(">ib").unpack_from
_pack_ib = Struct(">ib").pack
_pack_ix = Struct(">ix").pack


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
            raise cut_off("TopicRequest", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "TopicRequest")
        items.append(TopicRequest(name))
    return items, at


def _read_cursor_0(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[Cursor], int]:
    items: list[Cursor] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("Cursor", "TopicName=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "Cursor.TopicName")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("Cursor.TopicName", n - 1, end - at)
        try:
            topic_name = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("Cursor.TopicName") from None
        at = stop
        if end - at < 5:
            raise cut_off("Cursor", "PartitionIndex=4 tags=1", end - at)
        partition_index, tags = _unpack_iB(data, at)
        at += 5
        if tags:
            at = skip_tags(data, at, end, tags, "Cursor")
        items.append(Cursor(topic_name, partition_index))
    return items, at


def _read_describe_topic_partitions_request_0(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[DescribeTopicPartitionsRequest], int]:
    items: list[DescribeTopicPartitionsRequest] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("DescribeTopicPartitionsRequest", "Topics=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "DescribeTopicPartitionsRequest.Topics")
        n -= 1
        room[0] -= n
        if n < 0 or 2 * n > end - at or room[0] < 0:
            raise bad_count("DescribeTopicPartitionsRequest.Topics", n, end - at, room[0])
        topics, at = _read_topic_request_0(data, at, end, room, n)
        if end - at < 5:
            raise cut_off("DescribeTopicPartitionsRequest", "ResponsePartitionLimit=4 Cursor=1", end - at)
        response_partition_limit, n = _unpack_ib(data, at)
        at += 5
        if n < 0:
            cursor = None
        else:
            (cursor,), at = _read_cursor_0(data, at, end, room, 1)
        if at >= end:
            raise cut_off("DescribeTopicPartitionsRequest", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "DescribeTopicPartitionsRequest")
        items.append(DescribeTopicPartitionsRequest(topics, response_partition_limit, cursor))
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
        out.append(ONE_BYTE[0])


def _write_cursor_0(items: Iterable[Cursor], out: list[Buffer]) -> None:
    for m in items:
        topic_name = m.topic_name
        content = topic_name.encode()
        n = len(content) + 1
        if n > 127:
            out.append(text_length_of(n))
        else:
            out.append(ONE_BYTE[n])
        out.append(content)
        out.append(_pack_ix(m.partition_index))


def _write_describe_topic_partitions_request_0(items: Iterable[DescribeTopicPartitionsRequest], out: list[Buffer]) -> None:
    for m in items:
        topics = m.topics
        n = len(topics) + 1
        if n > 127:
            out.append(varint_of(n))
        else:
            out.append(ONE_BYTE[n])
        if topics:
            _write_topic_request_0(topics, out)
        cursor = m.cursor
        out.append(_pack_ib(m.response_partition_limit, -1 if cursor is None else 1))
        if cursor is not None:
            _write_cursor_0((cursor,), out)
        out.append(ONE_BYTE[0])


DescribeTopicPartitionsRequest._READERS = {
    **dict.fromkeys(range(0, 1), _read_describe_topic_partitions_request_0),
}
DescribeTopicPartitionsRequest._WRITERS = {
    **dict.fromkeys(range(0, 1), _write_describe_topic_partitions_request_0),
}
