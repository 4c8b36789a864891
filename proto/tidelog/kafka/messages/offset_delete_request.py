"""OffsetDeleteRequest of Kafka's protocol.

Generated from proto/kafka/offset_delete.schema; do not edit.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import ClassVar

import msgspec

from tidelog.kafka.message import Message
from tidelog.kafka.wire import Buffer, bad_count, bad_length, cut_off, not_utf8


class OffsetDeleteRequest(Message, gc=False):
    """Request of API 47, versions 0."""

    API_KEY: ClassVar[int] = 47
    VERSIONS: ClassVar[range] = range(0, 1)

    group_id: str = ""
    topics: list[OffsetDeleteRequestTopic] = []


class OffsetDeleteRequestTopic(msgspec.Struct, gc=False):
    name: str = ""
    partitions: list[OffsetDeleteRequestPartition] = []


class OffsetDeleteRequestPartition(msgspec.Struct, gc=False):
    partition_index: int = 0


_unpack_h = Struct(">h").unpack_from
_unpack_i = Struct(">i").unpack_from
_pack_h = Struct(">h").pack
_pack_i = Struct(">i").pack


def _read_offset_delete_request_partition_0(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[OffsetDeleteRequestPartition], int]:
    items: list[OffsetDeleteRequestPartition] = []
    for _ in range(count):
        if end - at < 4:
            raise cut_off("OffsetDeleteRequestPartition", "PartitionIndex=4", end - at)
        partition_index = _unpack_i(data, at)[0]
        at += 4
        items.append(OffsetDeleteRequestPartition(partition_index))
    return items, at


def _read_offset_delete_request_topic_0(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[OffsetDeleteRequestTopic], int]:
    items: list[OffsetDeleteRequestTopic] = []
    for _ in range(count):
        if end - at < 2:
            raise cut_off("OffsetDeleteRequestTopic", "Name=2", end - at)
        n = _unpack_h(data, at)[0]
        at += 2
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("OffsetDeleteRequestTopic.Name", n, end - at)
        try:
            name = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("OffsetDeleteRequestTopic.Name") from None
        at = stop
        if end - at < 4:
            raise cut_off("OffsetDeleteRequestTopic", "Partitions=4", end - at)
        n = _unpack_i(data, at)[0]
        at += 4
        room[0] -= n
        if n < 0 or 4 * n > end - at or room[0] < 0:
            raise bad_count("OffsetDeleteRequestTopic.Partitions", n, end - at, room[0])
        partitions, at = _read_offset_delete_request_partition_0(data, at, end, room, n)
        items.append(OffsetDeleteRequestTopic(name, partitions))
    return items, at


def _read_offset_delete_request_0(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[OffsetDeleteRequest], int]:
    items: list[OffsetDeleteRequest] = []
    for _ in range(count):
        if end - at < 2:
            raise cut_off("OffsetDeleteRequest", "GroupId=2", end - at)
        n = _unpack_h(data, at)[0]
        at += 2
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("OffsetDeleteRequest.GroupId", n, end - at)
        try:
            group_id = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("OffsetDeleteRequest.GroupId") from None
        at = stop
        if end - at < 4:
            raise cut_off("OffsetDeleteRequest", "Topics=4", end - at)
        n = _unpack_i(data, at)[0]
        at += 4
        room[0] -= n
        if n < 0 or 6 * n > end - at or room[0] < 0:
            raise bad_count("OffsetDeleteRequest.Topics", n, end - at, room[0])
        topics, at = _read_offset_delete_request_topic_0(data, at, end, room, n)
        items.append(OffsetDeleteRequest(group_id, topics))
    return items, at


def _write_offset_delete_request_partition_0(items: Iterable[OffsetDeleteRequestPartition], out: list[Buffer]) -> None:
    for m in items:
        out.append(_pack_i(m.partition_index))


def _write_offset_delete_request_topic_0(items: Iterable[OffsetDeleteRequestTopic], out: list[Buffer]) -> None:
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
            _write_offset_delete_request_partition_0(partitions, out)


def _write_offset_delete_request_0(items: Iterable[OffsetDeleteRequest], out: list[Buffer]) -> None:
    for m in items:
        group_id = m.group_id
        content = group_id.encode()
        n = len(content)
        out.append(_pack_h(n))
        out.append(content)
        topics = m.topics
        n = len(topics)
        out.append(_pack_i(n))
        if topics:
            _write_offset_delete_request_topic_0(topics, out)


OffsetDeleteRequest._READERS = {
    **dict.fromkeys(range(0, 1), _read_offset_delete_request_0),
}
OffsetDeleteRequest._WRITERS = {
    **dict.fromkeys(range(0, 1), _write_offset_delete_request_0),
}
