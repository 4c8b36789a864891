"""OffsetDeleteResponse of Kafka's protocol.

Generated from proto/kafka/offset_delete.schema; do not edit.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import ClassVar

import msgspec

from tidelog.kafka.message import Message
from tidelog.kafka.wire import Buffer, bad_count, bad_length, cut_off, not_utf8


class OffsetDeleteResponse(Message, gc=False):
    """Response of API 47, versions 0."""

    API_KEY: ClassVar[int] = 47
    VERSIONS: ClassVar[range] = range(0, 1)

    error_code: int = 0
    throttle_time_ms: int = 0
    topics: list[OffsetDeleteResponseTopic] = []


class OffsetDeleteResponseTopic(msgspec.Struct, gc=False):
    name: str = ""
    partitions: list[OffsetDeleteResponsePartition] = []


class OffsetDeleteResponsePartition(msgspec.Struct, gc=False):
    partition_index: int = 0
    error_code: int = 0


_unpack_h = Struct(">h").unpack_from
_unpack_hii = Struct(">hii").unpack_from
_unpack_i = Struct(">i").unpack_from
_unpack_ih = Struct(">ih").unpack_from
_pack_h = Struct(">h").pack
_pack_hii = Struct(">hii").pack
_pack_i = Struct(">i").pack
_pack_ih = Struct(">ih").pack


def _read_offset_delete_response_partition_0(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[OffsetDeleteResponsePartition], int]:
    items: list[OffsetDeleteResponsePartition] = []
    for _ in range(count):
        if end - at < 6:
            raise cut_off("OffsetDeleteResponsePartition", "PartitionIndex=4 ErrorCode=2", end - at)
        partition_index, error_code = _unpack_ih(data, at)
        at += 6
        items.append(OffsetDeleteResponsePartition(partition_index, error_code))
    return items, at


def _read_offset_delete_response_topic_0(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[OffsetDeleteResponseTopic], int]:
    items: list[OffsetDeleteResponseTopic] = []
    for _ in range(count):
        if end - at < 2:
            raise cut_off("OffsetDeleteResponseTopic", "Name=2", end - at)
        n = _unpack_h(data, at)[0]
        at += 2
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("OffsetDeleteResponseTopic.Name", n, end - at)
        try:
            name = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("OffsetDeleteResponseTopic.Name") from None
        at = stop
        if end - at < 4:
            raise cut_off("OffsetDeleteResponseTopic", "Partitions=4", end - at)
        n = _unpack_i(data, at)[0]
        at += 4
        room[0] -= n
        if n < 0 or 6 * n > end - at or room[0] < 0:
            raise bad_count("OffsetDeleteResponseTopic.Partitions", n, end - at, room[0])
        partitions, at = _read_offset_delete_response_partition_0(data, at, end, room, n)
        items.append(OffsetDeleteResponseTopic(name, partitions))
    return items, at


def _read_offset_delete_response_0(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[OffsetDeleteResponse], int]:
    items: list[OffsetDeleteResponse] = []
    for _ in range(count):
        if end - at < 10:
            raise cut_off("OffsetDeleteResponse", "ErrorCode=2 ThrottleTimeMs=4 Topics=4", end - at)
        error_code, throttle_time_ms, n = _unpack_hii(data, at)
        at += 10
        room[0] -= n
        if n < 0 or 6 * n > end - at or room[0] < 0:
            raise bad_count("OffsetDeleteResponse.Topics", n, end - at, room[0])
        topics, at = _read_offset_delete_response_topic_0(data, at, end, room, n)
        items.append(OffsetDeleteResponse(error_code, throttle_time_ms, topics))
    return items, at


def _write_offset_delete_response_partition_0(items: Iterable[OffsetDeleteResponsePartition], out: list[Buffer]) -> None:
    for m in items:
        out.append(_pack_ih(m.partition_index, m.error_code))


def _write_offset_delete_response_topic_0(items: Iterable[OffsetDeleteResponseTopic], out: list[Buffer]) -> None:
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
            _write_offset_delete_response_partition_0(partitions, out)


def _write_offset_delete_response_0(items: Iterable[OffsetDeleteResponse], out: list[Buffer]) -> None:
    for m in items:
        topics = m.topics
        n = len(topics)
        out.append(_pack_hii(m.error_code, m.throttle_time_ms, n))
        if topics:
            _write_offset_delete_response_topic_0(topics, out)


OffsetDeleteResponse._READERS = {
    **dict.fromkeys(range(0, 1), _read_offset_delete_response_0),
}
OffsetDeleteResponse._WRITERS = {
    **dict.fromkeys(range(0, 1), _write_offset_delete_response_0),
}
