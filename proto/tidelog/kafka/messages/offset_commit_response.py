"""OffsetCommitResponse of Kafka's protocol.

Generated from proto/kafka/offset_commit.schema; do not edit.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import ClassVar

import msgspec

from tidelog.kafka.message import Message
from tidelog.kafka.wire import NO_UUID, ONE_BYTE, Buffer, bad_count, bad_length, cut_off, long_text, long_varint, not_utf8, skip_tags, text_length_of, varint_of


class OffsetCommitResponse(Message, gc=False):
    """Response of API 8, versions 2-10."""

    API_KEY: ClassVar[int] = 8
    VERSIONS: ClassVar[range] = range(2, 11)
    FLEXIBLE: ClassVar[range] = range(8, 11)

    throttle_time_ms: int = 0
    topics: list[OffsetCommitResponseTopic] = []


class OffsetCommitResponseTopic(msgspec.Struct, gc=False):
    name: str = ""
    topic_id: bytes = NO_UUID
    partitions: list[OffsetCommitResponsePartition] = []


class OffsetCommitResponsePartition(msgspec.Struct, gc=False):
    partition_index: int = 0
    error_code: int = 0


_unpack_16sB = Struct(">16sB").unpack_from
_unpack_h = Struct(">h").unpack_from
_unpack_i = Struct(">i").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_unpack_ih = Struct(">ih").unpack_from
_unpack_ihB = Struct(">ihB").unpack_from
_unpack_ii = Struct(">ii").unpack_from
_pack_16s = Struct(">16s").pack
_pack_16sB = Struct(">16sB").pack
_pack_h = Struct(">h").pack
_pack_i = Struct(">i").pack
_pack_iB = Struct(">iB").pack
_pack_ih = Struct(">ih").pack
_pack_ihx = Struct(">ihx").pack
_pack_ii = Struct(">ii").pack


def _read_offset_commit_response_partition_2(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[OffsetCommitResponsePartition], int]:
    items: list[OffsetCommitResponsePartition] = []
    for _ in range(count):
        if end - at < 6:
            raise cut_off("OffsetCommitResponsePartition", "PartitionIndex=4 ErrorCode=2", end - at)
        partition_index, error_code = _unpack_ih(data, at)
        at += 6
        items.append(OffsetCommitResponsePartition(partition_index, error_code))
    return items, at


def _read_offset_commit_response_topic_2(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[OffsetCommitResponseTopic], int]:
    items: list[OffsetCommitResponseTopic] = []
    for _ in range(count):
        if end - at < 2:
            raise cut_off("OffsetCommitResponseTopic", "Name=2", end - at)
        n = _unpack_h(data, at)[0]
        at += 2
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("OffsetCommitResponseTopic.Name", n, end - at)
        try:
            name = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("OffsetCommitResponseTopic.Name") from None
        at = stop
        if end - at < 4:
            raise cut_off("OffsetCommitResponseTopic", "Partitions=4", end - at)
        n = _unpack_i(data, at)[0]
        at += 4
        room[0] -= n
        if n < 0 or 6 * n > end - at or room[0] < 0:
            raise bad_count("OffsetCommitResponseTopic.Partitions", n, end - at, room[0])
        partitions, at = _read_offset_commit_response_partition_2(data, at, end, room, n)
        items.append(OffsetCommitResponseTopic(name, NO_UUID, partitions))
    return items, at


def _read_offset_commit_response_2(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[OffsetCommitResponse], int]:
    items: list[OffsetCommitResponse] = []
    for _ in range(count):
        if end - at < 4:
            raise cut_off("OffsetCommitResponse", "Topics=4", end - at)
        n = _unpack_i(data, at)[0]
        at += 4
        room[0] -= n
        if n < 0 or 6 * n > end - at or room[0] < 0:
            raise bad_count("OffsetCommitResponse.Topics", n, end - at, room[0])
        topics, at = _read_offset_commit_response_topic_2(data, at, end, room, n)
        items.append(OffsetCommitResponse(0, topics))
    return items, at


def _read_offset_commit_response_3(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[OffsetCommitResponse], int]:
    items: list[OffsetCommitResponse] = []
    for _ in range(count):
        if end - at < 8:
            raise cut_off("OffsetCommitResponse", "ThrottleTimeMs=4 Topics=4", end - at)
        throttle_time_ms, n = _unpack_ii(data, at)
        at += 8
        room[0] -= n
        if n < 0 or 6 * n > end - at or room[0] < 0:
            raise bad_count("OffsetCommitResponse.Topics", n, end - at, room[0])
        topics, at = _read_offset_commit_response_topic_2(data, at, end, room, n)
        items.append(OffsetCommitResponse(throttle_time_ms, topics))
    return items, at


def _read_offset_commit_response_partition_8(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[OffsetCommitResponsePartition], int]:
    items: list[OffsetCommitResponsePartition] = []
    for _ in range(count):
        if end - at < 7:
            raise cut_off("OffsetCommitResponsePartition", "PartitionIndex=4 ErrorCode=2 tags=1", end - at)
        partition_index, error_code, tags = _unpack_ihB(data, at)
        at += 7
        if tags:
            at = skip_tags(data, at, end, tags, "OffsetCommitResponsePartition")
        items.append(OffsetCommitResponsePartition(partition_index, error_code))
    return items, at


def _read_offset_commit_response_topic_8(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[OffsetCommitResponseTopic], int]:
    items: list[OffsetCommitResponseTopic] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("OffsetCommitResponseTopic", "Name=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "OffsetCommitResponseTopic.Name")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("OffsetCommitResponseTopic.Name", n - 1, end - at)
        try:
            name = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("OffsetCommitResponseTopic.Name") from None
        at = stop
        if at >= end:
            raise cut_off("OffsetCommitResponseTopic", "Partitions=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "OffsetCommitResponseTopic.Partitions")
        n -= 1
        room[0] -= n
        if n < 0 or 7 * n > end - at or room[0] < 0:
            raise bad_count("OffsetCommitResponseTopic.Partitions", n, end - at, room[0])
        partitions, at = _read_offset_commit_response_partition_8(data, at, end, room, n)
        if at >= end:
            raise cut_off("OffsetCommitResponseTopic", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "OffsetCommitResponseTopic")
        items.append(OffsetCommitResponseTopic(name, NO_UUID, partitions))
    return items, at


def _read_offset_commit_response_8(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[OffsetCommitResponse], int]:
    items: list[OffsetCommitResponse] = []
    for _ in range(count):
        if end - at < 5:
            raise cut_off("OffsetCommitResponse", "ThrottleTimeMs=4 Topics=1", end - at)
        throttle_time_ms, n = _unpack_iB(data, at)
        at += 5
        if n > 127:
            n, at = long_varint(data, at, end, n, "OffsetCommitResponse.Topics")
        n -= 1
        room[0] -= n
        if n < 0 or 3 * n > end - at or room[0] < 0:
            raise bad_count("OffsetCommitResponse.Topics", n, end - at, room[0])
        topics, at = _read_offset_commit_response_topic_8(data, at, end, room, n)
        if at >= end:
            raise cut_off("OffsetCommitResponse", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "OffsetCommitResponse")
        items.append(OffsetCommitResponse(throttle_time_ms, topics))
    return items, at


def _read_offset_commit_response_topic_10(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[OffsetCommitResponseTopic], int]:
    items: list[OffsetCommitResponseTopic] = []
    for _ in range(count):
        if end - at < 17:
            raise cut_off("OffsetCommitResponseTopic", "TopicId=16 Partitions=1", end - at)
        topic_id, n = _unpack_16sB(data, at)
        at += 17
        if n > 127:
            n, at = long_varint(data, at, end, n, "OffsetCommitResponseTopic.Partitions")
        n -= 1
        room[0] -= n
        if n < 0 or 7 * n > end - at or room[0] < 0:
            raise bad_count("OffsetCommitResponseTopic.Partitions", n, end - at, room[0])
        partitions, at = _read_offset_commit_response_partition_8(data, at, end, room, n)
        if at >= end:
            raise cut_off("OffsetCommitResponseTopic", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "OffsetCommitResponseTopic")
        items.append(OffsetCommitResponseTopic("", topic_id, partitions))
    return items, at


def _read_offset_commit_response_10(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[OffsetCommitResponse], int]:
    items: list[OffsetCommitResponse] = []
    for _ in range(count):
        if end - at < 5:
            raise cut_off("OffsetCommitResponse", "ThrottleTimeMs=4 Topics=1", end - at)
        throttle_time_ms, n = _unpack_iB(data, at)
        at += 5
        if n > 127:
            n, at = long_varint(data, at, end, n, "OffsetCommitResponse.Topics")
        n -= 1
        room[0] -= n
        if n < 0 or 18 * n > end - at or room[0] < 0:
            raise bad_count("OffsetCommitResponse.Topics", n, end - at, room[0])
        topics, at = _read_offset_commit_response_topic_10(data, at, end, room, n)
        if at >= end:
            raise cut_off("OffsetCommitResponse", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "OffsetCommitResponse")
        items.append(OffsetCommitResponse(throttle_time_ms, topics))
    return items, at


def _write_offset_commit_response_partition_2(items: Iterable[OffsetCommitResponsePartition], out: list[Buffer]) -> None:
    for m in items:
        out.append(_pack_ih(m.partition_index, m.error_code))


def _write_offset_commit_response_topic_2(items: Iterable[OffsetCommitResponseTopic], out: list[Buffer]) -> None:
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
            _write_offset_commit_response_partition_2(partitions, out)


def _write_offset_commit_response_2(items: Iterable[OffsetCommitResponse], out: list[Buffer]) -> None:
    for m in items:
        topics = m.topics
        n = len(topics)
        out.append(_pack_i(n))
        if topics:
            _write_offset_commit_response_topic_2(topics, out)


def _write_offset_commit_response_3(items: Iterable[OffsetCommitResponse], out: list[Buffer]) -> None:
    for m in items:
        topics = m.topics
        n = len(topics)
        out.append(_pack_ii(m.throttle_time_ms, n))
        if topics:
            _write_offset_commit_response_topic_2(topics, out)


def _write_offset_commit_response_partition_8(items: Iterable[OffsetCommitResponsePartition], out: list[Buffer]) -> None:
    for m in items:
        out.append(_pack_ihx(m.partition_index, m.error_code))


def _write_offset_commit_response_topic_8(items: Iterable[OffsetCommitResponseTopic], out: list[Buffer]) -> None:
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
            _write_offset_commit_response_partition_8(partitions, out)
        out.append(ONE_BYTE[0])


def _write_offset_commit_response_8(items: Iterable[OffsetCommitResponse], out: list[Buffer]) -> None:
    for m in items:
        topics = m.topics
        n = len(topics) + 1
        if n > 127:
            out.append(_pack_i(m.throttle_time_ms) + varint_of(n))
        else:
            out.append(_pack_iB(m.throttle_time_ms, n))
        if topics:
            _write_offset_commit_response_topic_8(topics, out)
        out.append(ONE_BYTE[0])


def _write_offset_commit_response_topic_10(items: Iterable[OffsetCommitResponseTopic], out: list[Buffer]) -> None:
    for m in items:
        partitions = m.partitions
        n = len(partitions) + 1
        if n > 127:
            out.append(_pack_16s(m.topic_id) + varint_of(n))
        else:
            out.append(_pack_16sB(m.topic_id, n))
        if partitions:
            _write_offset_commit_response_partition_8(partitions, out)
        out.append(ONE_BYTE[0])


def _write_offset_commit_response_10(items: Iterable[OffsetCommitResponse], out: list[Buffer]) -> None:
    for m in items:
        topics = m.topics
        n = len(topics) + 1
        if n > 127:
            out.append(_pack_i(m.throttle_time_ms) + varint_of(n))
        else:
            out.append(_pack_iB(m.throttle_time_ms, n))
        if topics:
            _write_offset_commit_response_topic_10(topics, out)
        out.append(ONE_BYTE[0])


OffsetCommitResponse._READERS = {
    **dict.fromkeys(range(2, 3), _read_offset_commit_response_2),
    **dict.fromkeys(range(3, 8), _read_offset_commit_response_3),
    **dict.fromkeys(range(8, 10), _read_offset_commit_response_8),
    **dict.fromkeys(range(10, 11), _read_offset_commit_response_10),
}
OffsetCommitResponse._WRITERS = {
    **dict.fromkeys(range(2, 3), _write_offset_commit_response_2),
    **dict.fromkeys(range(3, 8), _write_offset_commit_response_3),
    **dict.fromkeys(range(8, 10), _write_offset_commit_response_8),
    **dict.fromkeys(range(10, 11), _write_offset_commit_response_10),
}
