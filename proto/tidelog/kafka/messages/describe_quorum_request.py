"""DescribeQuorumRequest of Kafka's protocol.

Generated from proto/kafka/describe_quorum.schema; do not edit.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import ClassVar

import msgspec

from tidelog.kafka.message import Message
from tidelog.kafka.wire import ONE_BYTE, Buffer, bad_count, bad_length, cut_off, long_text, long_varint, not_utf8, skip_tags, text_length_of, varint_of


class DescribeQuorumRequest(Message, gc=False):
    """Request of API 55, versions 0-2."""

    API_KEY: ClassVar[int] = 55
    VERSIONS: ClassVar[range] = range(0, 3)
    FLEXIBLE: ClassVar[range] = range(0, 3)

    topics: list[TopicData] = []


class TopicData(msgspec.Struct, gc=False):
    topic_name: str = ""
    partitions: list[PartitionData] = []


class PartitionData(msgspec.Struct, gc=False):
    partition_index: int = 0


_unpack_iB = Struct(">iB").unpack_from
_pack_ix = Struct(">ix").pack


def _read_partition_data_0(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[PartitionData], int]:
    items: list[PartitionData] = []
    for _ in range(count):
        if end - at < 5:
            raise cut_off("PartitionData", "PartitionIndex=4 tags=1", end - at)
        partition_index, tags = _unpack_iB(data, at)
        at += 5
        if tags:
            at = skip_tags(data, at, end, tags, "PartitionData")
        items.append(PartitionData(partition_index))
    return items, at


def _read_topic_data_0(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[TopicData], int]:
    items: list[TopicData] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("TopicData", "TopicName=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "TopicData.TopicName")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("TopicData.TopicName", n - 1, end - at)
        try:
            topic_name = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("TopicData.TopicName") from None
        at = stop
        if at >= end:
            raise cut_off("TopicData", "Partitions=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "TopicData.Partitions")
        n -= 1
        room[0] -= n
        if n < 0 or 5 * n > end - at or room[0] < 0:
            raise bad_count("TopicData.Partitions", n, end - at, room[0])
        partitions, at = _read_partition_data_0(data, at, end, room, n)
        if at >= end:
            raise cut_off("TopicData", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "TopicData")
        items.append(TopicData(topic_name, partitions))
    return items, at


def _read_describe_quorum_request_0(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[DescribeQuorumRequest], int]:
    items: list[DescribeQuorumRequest] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("DescribeQuorumRequest", "Topics=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "DescribeQuorumRequest.Topics")
        n -= 1
        room[0] -= n
        if n < 0 or 3 * n > end - at or room[0] < 0:
            raise bad_count("DescribeQuorumRequest.Topics", n, end - at, room[0])
        topics, at = _read_topic_data_0(data, at, end, room, n)
        if at >= end:
            raise cut_off("DescribeQuorumRequest", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "DescribeQuorumRequest")
        items.append(DescribeQuorumRequest(topics))
    return items, at


def _write_partition_data_0(items: Iterable[PartitionData], out: list[Buffer]) -> None:
    for m in items:
        out.append(_pack_ix(m.partition_index))


def _write_topic_data_0(items: Iterable[TopicData], out: list[Buffer]) -> None:
    for m in items:
        topic_name = m.topic_name
        content = topic_name.encode()
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
            _write_partition_data_0(partitions, out)
        out.append(ONE_BYTE[0])


def _write_describe_quorum_request_0(items: Iterable[DescribeQuorumRequest], out: list[Buffer]) -> None:
    for m in items:
        topics = m.topics
        n = len(topics) + 1
        if n > 127:
            out.append(varint_of(n))
        else:
            out.append(ONE_BYTE[n])
        if topics:
            _write_topic_data_0(topics, out)
        out.append(ONE_BYTE[0])


DescribeQuorumRequest._READERS = {
    **dict.fromkeys(range(0, 3), _read_describe_quorum_request_0),
}
DescribeQuorumRequest._WRITERS = {
    **dict.fromkeys(range(0, 3), _write_describe_quorum_request_0),
}
