"""ListOffsetsResponse of Kafka's protocol.

Generated from proto/kafka/list_offsets.schema; do not edit.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import ClassVar

import msgspec

from tidelog.kafka.message import Message
from tidelog.kafka.wire import ONE_BYTE, Buffer, bad_count, bad_length, cut_off, long_text, long_varint, not_utf8, skip_tags, text_length_of, varint_of


class ListOffsetsResponse(Message, gc=False):
    """Response of API 2, versions 1-11."""

    API_KEY: ClassVar[int] = 2
    VERSIONS: ClassVar[range] = range(1, 12)
    FLEXIBLE: ClassVar[range] = range(6, 12)

    throttle_time_ms: int = 0
    topics: list[ListOffsetsTopicResponse] = []


class ListOffsetsTopicResponse(msgspec.Struct, gc=False):
    name: str = ""
    partitions: list[ListOffsetsPartitionResponse] = []


class ListOffsetsPartitionResponse(msgspec.Struct, gc=False):
    partition_index: int = 0
    error_code: int = 0
    timestamp: int = -1
    offset: int = -1
    leader_epoch: int = -1


_unpack_h = Struct(">h").unpack_from
_unpack_i = Struct(">i").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_unpack_ihqq = Struct(">ihqq").unpack_from
_unpack_ihqqi = Struct(">ihqqi").unpack_from
_unpack_ihqqiB = Struct(">ihqqiB").unpack_from
_unpack_ii = Struct(">ii").unpack_from
_pack_h = Struct(">h").pack
_pack_i = Struct(">i").pack
_pack_iB = Struct(">iB").pack
_pack_ihqq = Struct(">ihqq").pack
_pack_ihqqi = Struct(">ihqqi").pack
_pack_ihqqix = Struct(">ihqqix").pack
_pack_ii = Struct(">ii").pack


def _read_list_offsets_partition_response_1(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[ListOffsetsPartitionResponse], int]:
    items: list[ListOffsetsPartitionResponse] = []
    for _ in range(count):
        if end - at < 22:
            raise cut_off("ListOffsetsPartitionResponse", "PartitionIndex=4 ErrorCode=2 Timestamp=8 Offset=8", end - at)
        partition_index, error_code, timestamp, offset = _unpack_ihqq(data, at)
        at += 22
        items.append(ListOffsetsPartitionResponse(partition_index, error_code, timestamp, offset))
    return items, at


def _read_list_offsets_topic_response_1(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[ListOffsetsTopicResponse], int]:
    items: list[ListOffsetsTopicResponse] = []
    for _ in range(count):
        if end - at < 2:
            raise cut_off("ListOffsetsTopicResponse", "Name=2", end - at)
        n = _unpack_h(data, at)[0]
        at += 2
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("ListOffsetsTopicResponse.Name", n, end - at)
        try:
            name = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("ListOffsetsTopicResponse.Name") from None
        at = stop
        if end - at < 4:
            raise cut_off("ListOffsetsTopicResponse", "Partitions=4", end - at)
        n = _unpack_i(data, at)[0]
        at += 4
        room[0] -= n
        if n < 0 or 22 * n > end - at or room[0] < 0:
            raise bad_count("ListOffsetsTopicResponse.Partitions", n, end - at, room[0])
        partitions, at = _read_list_offsets_partition_response_1(data, at, end, room, n)
        items.append(ListOffsetsTopicResponse(name, partitions))
    return items, at


def _read_list_offsets_response_1(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[ListOffsetsResponse], int]:
    items: list[ListOffsetsResponse] = []
    for _ in range(count):
        if end - at < 4:
            raise cut_off("ListOffsetsResponse", "Topics=4", end - at)
        n = _unpack_i(data, at)[0]
        at += 4
        room[0] -= n
        if n < 0 or 6 * n > end - at or room[0] < 0:
            raise bad_count("ListOffsetsResponse.Topics", n, end - at, room[0])
        topics, at = _read_list_offsets_topic_response_1(data, at, end, room, n)
        items.append(ListOffsetsResponse(0, topics))
    return items, at


def _read_list_offsets_response_2(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[ListOffsetsResponse], int]:
    items: list[ListOffsetsResponse] = []
    for _ in range(count):
        if end - at < 8:
            raise cut_off("ListOffsetsResponse", "ThrottleTimeMs=4 Topics=4", end - at)
        throttle_time_ms, n = _unpack_ii(data, at)
        at += 8
        room[0] -= n
        if n < 0 or 6 * n > end - at or room[0] < 0:
            raise bad_count("ListOffsetsResponse.Topics", n, end - at, room[0])
        topics, at = _read_list_offsets_topic_response_1(data, at, end, room, n)
        items.append(ListOffsetsResponse(throttle_time_ms, topics))
    return items, at


def _read_list_offsets_partition_response_4(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[ListOffsetsPartitionResponse], int]:
    items: list[ListOffsetsPartitionResponse] = []
    for _ in range(count):
        if end - at < 26:
            raise cut_off("ListOffsetsPartitionResponse", "PartitionIndex=4 ErrorCode=2 Timestamp=8 Offset=8 LeaderEpoch=4", end - at)
        partition_index, error_code, timestamp, offset, leader_epoch = _unpack_ihqqi(data, at)
        at += 26
        items.append(ListOffsetsPartitionResponse(partition_index, error_code, timestamp, offset, leader_epoch))
    return items, at


def _read_list_offsets_topic_response_4(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[ListOffsetsTopicResponse], int]:
    items: list[ListOffsetsTopicResponse] = []
    for _ in range(count):
        if end - at < 2:
            raise cut_off("ListOffsetsTopicResponse", "Name=2", end - at)
        n = _unpack_h(data, at)[0]
        at += 2
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("ListOffsetsTopicResponse.Name", n, end - at)
        try:
            name = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("ListOffsetsTopicResponse.Name") from None
        at = stop
        if end - at < 4:
            raise cut_off("ListOffsetsTopicResponse", "Partitions=4", end - at)
        n = _unpack_i(data, at)[0]
        at += 4
        room[0] -= n
        if n < 0 or 26 * n > end - at or room[0] < 0:
            raise bad_count("ListOffsetsTopicResponse.Partitions", n, end - at, room[0])
        partitions, at = _read_list_offsets_partition_response_4(data, at, end, room, n)
        items.append(ListOffsetsTopicResponse(name, partitions))
    return items, at


def _read_list_offsets_response_4(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[ListOffsetsResponse], int]:
    items: list[ListOffsetsResponse] = []
    for _ in range(count):
        if end - at < 8:
            raise cut_off("ListOffsetsResponse", "ThrottleTimeMs=4 Topics=4", end - at)
        throttle_time_ms, n = _unpack_ii(data, at)
        at += 8
        room[0] -= n
        if n < 0 or 6 * n > end - at or room[0] < 0:
            raise bad_count("ListOffsetsResponse.Topics", n, end - at, room[0])
        topics, at = _read_list_offsets_topic_response_4(data, at, end, room, n)
        items.append(ListOffsetsResponse(throttle_time_ms, topics))
    return items, at


def _read_list_offsets_partition_response_6(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[ListOffsetsPartitionResponse], int]:
    items: list[ListOffsetsPartitionResponse] = []
    for _ in range(count):
        if end - at < 27:
            raise cut_off("ListOffsetsPartitionResponse", "PartitionIndex=4 ErrorCode=2 Timestamp=8 Offset=8 LeaderEpoch=4 tags=1", end - at)
        partition_index, error_code, timestamp, offset, leader_epoch, tags = _unpack_ihqqiB(data, at)
        at += 27
        if tags:
            at = skip_tags(data, at, end, tags, "ListOffsetsPartitionResponse")
        items.append(ListOffsetsPartitionResponse(partition_index, error_code, timestamp, offset, leader_epoch))
    return items, at


def _read_list_offsets_topic_response_6(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[ListOffsetsTopicResponse], int]:
    items: list[ListOffsetsTopicResponse] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("ListOffsetsTopicResponse", "Name=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "ListOffsetsTopicResponse.Name")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("ListOffsetsTopicResponse.Name", n - 1, end - at)
        try:
            name = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("ListOffsetsTopicResponse.Name") from None
        at = stop
        if at >= end:
            raise cut_off("ListOffsetsTopicResponse", "Partitions=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "ListOffsetsTopicResponse.Partitions")
        n -= 1
        room[0] -= n
        if n < 0 or 27 * n > end - at or room[0] < 0:
            raise bad_count("ListOffsetsTopicResponse.Partitions", n, end - at, room[0])
        partitions, at = _read_list_offsets_partition_response_6(data, at, end, room, n)
        if at >= end:
            raise cut_off("ListOffsetsTopicResponse", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "ListOffsetsTopicResponse")
        items.append(ListOffsetsTopicResponse(name, partitions))
    return items, at


def _read_list_offsets_response_6(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[ListOffsetsResponse], int]:
    items: list[ListOffsetsResponse] = []
    for _ in range(count):
        if end - at < 5:
            raise cut_off("ListOffsetsResponse", "ThrottleTimeMs=4 Topics=1", end - at)
        throttle_time_ms, n = _unpack_iB(data, at)
        at += 5
        if n > 127:
            n, at = long_varint(data, at, end, n, "ListOffsetsResponse.Topics")
        n -= 1
        room[0] -= n
        if n < 0 or 3 * n > end - at or room[0] < 0:
            raise bad_count("ListOffsetsResponse.Topics", n, end - at, room[0])
        topics, at = _read_list_offsets_topic_response_6(data, at, end, room, n)
        if at >= end:
            raise cut_off("ListOffsetsResponse", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "ListOffsetsResponse")
        items.append(ListOffsetsResponse(throttle_time_ms, topics))
    return items, at


def _write_list_offsets_partition_response_1(items: Iterable[ListOffsetsPartitionResponse], out: list[Buffer]) -> None:
    for m in items:
        out.append(_pack_ihqq(m.partition_index, m.error_code, m.timestamp, m.offset))


def _write_list_offsets_topic_response_1(items: Iterable[ListOffsetsTopicResponse], out: list[Buffer]) -> None:
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
            _write_list_offsets_partition_response_1(partitions, out)


def _write_list_offsets_response_1(items: Iterable[ListOffsetsResponse], out: list[Buffer]) -> None:
    for m in items:
        topics = m.topics
        n = len(topics)
        out.append(_pack_i(n))
        if topics:
            _write_list_offsets_topic_response_1(topics, out)


def _write_list_offsets_response_2(items: Iterable[ListOffsetsResponse], out: list[Buffer]) -> None:
    for m in items:
        topics = m.topics
        n = len(topics)
        out.append(_pack_ii(m.throttle_time_ms, n))
        if topics:
            _write_list_offsets_topic_response_1(topics, out)


def _write_list_offsets_partition_response_4(items: Iterable[ListOffsetsPartitionResponse], out: list[Buffer]) -> None:
    for m in items:
        out.append(_pack_ihqqi(m.partition_index, m.error_code, m.timestamp, m.offset, m.leader_epoch))


def _write_list_offsets_topic_response_4(items: Iterable[ListOffsetsTopicResponse], out: list[Buffer]) -> None:
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
            _write_list_offsets_partition_response_4(partitions, out)


def _write_list_offsets_response_4(items: Iterable[ListOffsetsResponse], out: list[Buffer]) -> None:
    for m in items:
        topics = m.topics
        n = len(topics)
        out.append(_pack_ii(m.throttle_time_ms, n))
        if topics:
            _write_list_offsets_topic_response_4(topics, out)


def _write_list_offsets_partition_response_6(items: Iterable[ListOffsetsPartitionResponse], out: list[Buffer]) -> None:
    for m in items:
        out.append(_pack_ihqqix(m.partition_index, m.error_code, m.timestamp, m.offset, m.leader_epoch))


def _write_list_offsets_topic_response_6(items: Iterable[ListOffsetsTopicResponse], out: list[Buffer]) -> None:
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
            _write_list_offsets_partition_response_6(partitions, out)
        out.append(ONE_BYTE[0])


def _write_list_offsets_response_6(items: Iterable[ListOffsetsResponse], out: list[Buffer]) -> None:
    for m in items:
        topics = m.topics
        n = len(topics) + 1
        if n > 127:
            out.append(_pack_i(m.throttle_time_ms) + varint_of(n))
        else:
            out.append(_pack_iB(m.throttle_time_ms, n))
        if topics:
            _write_list_offsets_topic_response_6(topics, out)
        out.append(ONE_BYTE[0])


ListOffsetsResponse._READERS = {
    **dict.fromkeys(range(1, 2), _read_list_offsets_response_1),
    **dict.fromkeys(range(2, 4), _read_list_offsets_response_2),
    **dict.fromkeys(range(4, 6), _read_list_offsets_response_4),
    **dict.fromkeys(range(6, 12), _read_list_offsets_response_6),
}
ListOffsetsResponse._WRITERS = {
    **dict.fromkeys(range(1, 2), _write_list_offsets_response_1),
    **dict.fromkeys(range(2, 4), _write_list_offsets_response_2),
    **dict.fromkeys(range(4, 6), _write_list_offsets_response_4),
    **dict.fromkeys(range(6, 12), _write_list_offsets_response_6),
}
