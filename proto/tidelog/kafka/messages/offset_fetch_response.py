"""OffsetFetchResponse of Kafka's protocol.

Generated from proto/kafka/offset_fetch.schema; do not edit.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import ClassVar

import msgspec

from tidelog.kafka.message import Message
from tidelog.kafka.wire import NO_UUID, ONE_BYTE, Buffer, bad_count, bad_length, cut_off, long_text, long_varint, not_utf8, skip_tags, text_length_of, varint_of


class OffsetFetchResponse(Message, gc=False):
    """Response of API 9, versions 1-10."""

    API_KEY: ClassVar[int] = 9
    VERSIONS: ClassVar[range] = range(1, 11)
    FLEXIBLE: ClassVar[range] = range(6, 11)

    throttle_time_ms: int = 0
    topics: list[OffsetFetchResponseTopic] = []
    error_code: int = 0
    groups: list[OffsetFetchResponseGroup] = []


class OffsetFetchResponseTopic(msgspec.Struct, gc=False):
    name: str = ""
    partitions: list[OffsetFetchResponsePartition] = []


class OffsetFetchResponsePartition(msgspec.Struct, gc=False):
    partition_index: int = 0
    committed_offset: int = 0
    committed_leader_epoch: int = -1
    metadata: str | None = ""
    error_code: int = 0


class OffsetFetchResponseGroup(msgspec.Struct, gc=False):
    group_id: str = ""
    topics: list[OffsetFetchResponseTopics] = []
    error_code: int = 0


class OffsetFetchResponseTopics(msgspec.Struct, gc=False):
    name: str = ""
    topic_id: bytes = NO_UUID
    partitions: list[OffsetFetchResponsePartitions] = []


class OffsetFetchResponsePartitions(msgspec.Struct, gc=False):
    partition_index: int = 0
    committed_offset: int = 0
    committed_leader_epoch: int = -1
    metadata: str | None = ""
    error_code: int = 0


_unpack_16sB = Struct(">16sB").unpack_from
_unpack_h = Struct(">h").unpack_from
_unpack_hB = Struct(">hB").unpack_from
_unpack_i = Struct(">i").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_unpack_ii = Struct(">ii").unpack_from
_unpack_iqh = Struct(">iqh").unpack_from
_unpack_iqiB = Struct(">iqiB").unpack_from
_unpack_iqih = Struct(">iqih").unpack_from
_pack_16s = Struct(">16s").pack
_pack_16sB = Struct(">16sB").pack
_pack_h = Struct(">h").pack
_pack_hx = Struct(">hx").pack
_pack_i = Struct(">i").pack
_pack_iB = Struct(">iB").pack
_pack_ii = Struct(">ii").pack
_pack_iqh = Struct(">iqh").pack
_pack_iqi = Struct(">iqi").pack
_pack_iqiB = Struct(">iqiB").pack
_pack_iqih = Struct(">iqih").pack


def _read_offset_fetch_response_partition_1(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[OffsetFetchResponsePartition], int]:
    items: list[OffsetFetchResponsePartition] = []
    for _ in range(count):
        if end - at < 14:
            raise cut_off("OffsetFetchResponsePartition", "PartitionIndex=4 CommittedOffset=8 Metadata=2", end - at)
        partition_index, committed_offset, n = _unpack_iqh(data, at)
        at += 14
        if n == -1:
            metadata = None
        else:
            stop = at + n
            if n < 0 or stop > end:
                raise bad_length("OffsetFetchResponsePartition.Metadata", n, end - at)
            try:
                metadata = data[at:stop].decode()
            except UnicodeDecodeError:
                raise not_utf8("OffsetFetchResponsePartition.Metadata") from None
            at = stop
        if end - at < 2:
            raise cut_off("OffsetFetchResponsePartition", "ErrorCode=2", end - at)
        error_code = _unpack_h(data, at)[0]
        at += 2
        items.append(OffsetFetchResponsePartition(partition_index, committed_offset, -1, metadata, error_code))
    return items, at


def _read_offset_fetch_response_topic_1(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[OffsetFetchResponseTopic], int]:
    items: list[OffsetFetchResponseTopic] = []
    for _ in range(count):
        if end - at < 2:
            raise cut_off("OffsetFetchResponseTopic", "Name=2", end - at)
        n = _unpack_h(data, at)[0]
        at += 2
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("OffsetFetchResponseTopic.Name", n, end - at)
        try:
            name = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("OffsetFetchResponseTopic.Name") from None
        at = stop
        if end - at < 4:
            raise cut_off("OffsetFetchResponseTopic", "Partitions=4", end - at)
        n = _unpack_i(data, at)[0]
        at += 4
        room[0] -= n
        if n < 0 or 16 * n > end - at or room[0] < 0:
            raise bad_count("OffsetFetchResponseTopic.Partitions", n, end - at, room[0])
        partitions, at = _read_offset_fetch_response_partition_1(data, at, end, room, n)
        items.append(OffsetFetchResponseTopic(name, partitions))
    return items, at


def _read_offset_fetch_response_1(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[OffsetFetchResponse], int]:
    items: list[OffsetFetchResponse] = []
    for _ in range(count):
        if end - at < 4:
            raise cut_off("OffsetFetchResponse", "Topics=4", end - at)
        n = _unpack_i(data, at)[0]
        at += 4
        room[0] -= n
        if n < 0 or 6 * n > end - at or room[0] < 0:
            raise bad_count("OffsetFetchResponse.Topics", n, end - at, room[0])
        topics, at = _read_offset_fetch_response_topic_1(data, at, end, room, n)
        items.append(OffsetFetchResponse(0, topics))
    return items, at


def _read_offset_fetch_response_2(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[OffsetFetchResponse], int]:
    items: list[OffsetFetchResponse] = []
    for _ in range(count):
        if end - at < 4:
            raise cut_off("OffsetFetchResponse", "Topics=4", end - at)
        n = _unpack_i(data, at)[0]
        at += 4
        room[0] -= n
        if n < 0 or 6 * n > end - at or room[0] < 0:
            raise bad_count("OffsetFetchResponse.Topics", n, end - at, room[0])
        topics, at = _read_offset_fetch_response_topic_1(data, at, end, room, n)
        if end - at < 2:
            raise cut_off("OffsetFetchResponse", "ErrorCode=2", end - at)
        error_code = _unpack_h(data, at)[0]
        at += 2
        items.append(OffsetFetchResponse(0, topics, error_code))
    return items, at


def _read_offset_fetch_response_3(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[OffsetFetchResponse], int]:
    items: list[OffsetFetchResponse] = []
    for _ in range(count):
        if end - at < 8:
            raise cut_off("OffsetFetchResponse", "ThrottleTimeMs=4 Topics=4", end - at)
        throttle_time_ms, n = _unpack_ii(data, at)
        at += 8
        room[0] -= n
        if n < 0 or 6 * n > end - at or room[0] < 0:
            raise bad_count("OffsetFetchResponse.Topics", n, end - at, room[0])
        topics, at = _read_offset_fetch_response_topic_1(data, at, end, room, n)
        if end - at < 2:
            raise cut_off("OffsetFetchResponse", "ErrorCode=2", end - at)
        error_code = _unpack_h(data, at)[0]
        at += 2
        items.append(OffsetFetchResponse(throttle_time_ms, topics, error_code))
    return items, at


def _read_offset_fetch_response_partition_5(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[OffsetFetchResponsePartition], int]:
    items: list[OffsetFetchResponsePartition] = []
    for _ in range(count):
        if end - at < 18:
            raise cut_off("OffsetFetchResponsePartition", "PartitionIndex=4 CommittedOffset=8 CommittedLeaderEpoch=4 Metadata=2", end - at)
        partition_index, committed_offset, committed_leader_epoch, n = _unpack_iqih(data, at)
        at += 18
        if n == -1:
            metadata = None
        else:
            stop = at + n
            if n < 0 or stop > end:
                raise bad_length("OffsetFetchResponsePartition.Metadata", n, end - at)
            try:
                metadata = data[at:stop].decode()
            except UnicodeDecodeError:
                raise not_utf8("OffsetFetchResponsePartition.Metadata") from None
            at = stop
        if end - at < 2:
            raise cut_off("OffsetFetchResponsePartition", "ErrorCode=2", end - at)
        error_code = _unpack_h(data, at)[0]
        at += 2
        items.append(OffsetFetchResponsePartition(partition_index, committed_offset, committed_leader_epoch, metadata, error_code))
    return items, at


def _read_offset_fetch_response_topic_5(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[OffsetFetchResponseTopic], int]:
    items: list[OffsetFetchResponseTopic] = []
    for _ in range(count):
        if end - at < 2:
            raise cut_off("OffsetFetchResponseTopic", "Name=2", end - at)
        n = _unpack_h(data, at)[0]
        at += 2
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("OffsetFetchResponseTopic.Name", n, end - at)
        try:
            name = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("OffsetFetchResponseTopic.Name") from None
        at = stop
        if end - at < 4:
            raise cut_off("OffsetFetchResponseTopic", "Partitions=4", end - at)
        n = _unpack_i(data, at)[0]
        at += 4
        room[0] -= n
        if n < 0 or 20 * n > end - at or room[0] < 0:
            raise bad_count("OffsetFetchResponseTopic.Partitions", n, end - at, room[0])
        partitions, at = _read_offset_fetch_response_partition_5(data, at, end, room, n)
        items.append(OffsetFetchResponseTopic(name, partitions))
    return items, at


def _read_offset_fetch_response_5(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[OffsetFetchResponse], int]:
    items: list[OffsetFetchResponse] = []
    for _ in range(count):
        if end - at < 8:
            raise cut_off("OffsetFetchResponse", "ThrottleTimeMs=4 Topics=4", end - at)
        throttle_time_ms, n = _unpack_ii(data, at)
        at += 8
        room[0] -= n
        if n < 0 or 6 * n > end - at or room[0] < 0:
            raise bad_count("OffsetFetchResponse.Topics", n, end - at, room[0])
        topics, at = _read_offset_fetch_response_topic_5(data, at, end, room, n)
        if end - at < 2:
            raise cut_off("OffsetFetchResponse", "ErrorCode=2", end - at)
        error_code = _unpack_h(data, at)[0]
        at += 2
        items.append(OffsetFetchResponse(throttle_time_ms, topics, error_code))
    return items, at


def _read_offset_fetch_response_partition_6(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[OffsetFetchResponsePartition], int]:
    items: list[OffsetFetchResponsePartition] = []
    for _ in range(count):
        if end - at < 17:
            raise cut_off("OffsetFetchResponsePartition", "PartitionIndex=4 CommittedOffset=8 CommittedLeaderEpoch=4 Metadata=1", end - at)
        partition_index, committed_offset, committed_leader_epoch, n = _unpack_iqiB(data, at)
        at += 17
        if n > 127:
            n, at = long_text(data, at, end, n, "OffsetFetchResponsePartition.Metadata")
        if n == 0:
            metadata = None
        else:
            stop = at + n - 1
            if n < 1 or stop > end:
                raise bad_length("OffsetFetchResponsePartition.Metadata", n - 1, end - at)
            try:
                metadata = data[at:stop].decode()
            except UnicodeDecodeError:
                raise not_utf8("OffsetFetchResponsePartition.Metadata") from None
            at = stop
        if end - at < 3:
            raise cut_off("OffsetFetchResponsePartition", "ErrorCode=2 tags=1", end - at)
        error_code, tags = _unpack_hB(data, at)
        at += 3
        if tags:
            at = skip_tags(data, at, end, tags, "OffsetFetchResponsePartition")
        items.append(OffsetFetchResponsePartition(partition_index, committed_offset, committed_leader_epoch, metadata, error_code))
    return items, at


def _read_offset_fetch_response_topic_6(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[OffsetFetchResponseTopic], int]:
    items: list[OffsetFetchResponseTopic] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("OffsetFetchResponseTopic", "Name=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "OffsetFetchResponseTopic.Name")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("OffsetFetchResponseTopic.Name", n - 1, end - at)
        try:
            name = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("OffsetFetchResponseTopic.Name") from None
        at = stop
        if at >= end:
            raise cut_off("OffsetFetchResponseTopic", "Partitions=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "OffsetFetchResponseTopic.Partitions")
        n -= 1
        room[0] -= n
        if n < 0 or 20 * n > end - at or room[0] < 0:
            raise bad_count("OffsetFetchResponseTopic.Partitions", n, end - at, room[0])
        partitions, at = _read_offset_fetch_response_partition_6(data, at, end, room, n)
        if at >= end:
            raise cut_off("OffsetFetchResponseTopic", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "OffsetFetchResponseTopic")
        items.append(OffsetFetchResponseTopic(name, partitions))
    return items, at


def _read_offset_fetch_response_6(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[OffsetFetchResponse], int]:
    items: list[OffsetFetchResponse] = []
    for _ in range(count):
        if end - at < 5:
            raise cut_off("OffsetFetchResponse", "ThrottleTimeMs=4 Topics=1", end - at)
        throttle_time_ms, n = _unpack_iB(data, at)
        at += 5
        if n > 127:
            n, at = long_varint(data, at, end, n, "OffsetFetchResponse.Topics")
        n -= 1
        room[0] -= n
        if n < 0 or 3 * n > end - at or room[0] < 0:
            raise bad_count("OffsetFetchResponse.Topics", n, end - at, room[0])
        topics, at = _read_offset_fetch_response_topic_6(data, at, end, room, n)
        if end - at < 3:
            raise cut_off("OffsetFetchResponse", "ErrorCode=2 tags=1", end - at)
        error_code, tags = _unpack_hB(data, at)
        at += 3
        if tags:
            at = skip_tags(data, at, end, tags, "OffsetFetchResponse")
        items.append(OffsetFetchResponse(throttle_time_ms, topics, error_code))
    return items, at


def _read_offset_fetch_response_partitions_8(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[OffsetFetchResponsePartitions], int]:
    items: list[OffsetFetchResponsePartitions] = []
    for _ in range(count):
        if end - at < 17:
            raise cut_off("OffsetFetchResponsePartitions", "PartitionIndex=4 CommittedOffset=8 CommittedLeaderEpoch=4 Metadata=1", end - at)
        partition_index, committed_offset, committed_leader_epoch, n = _unpack_iqiB(data, at)
        at += 17
        if n > 127:
            n, at = long_text(data, at, end, n, "OffsetFetchResponsePartitions.Metadata")
        if n == 0:
            metadata = None
        else:
            stop = at + n - 1
            if n < 1 or stop > end:
                raise bad_length("OffsetFetchResponsePartitions.Metadata", n - 1, end - at)
            try:
                metadata = data[at:stop].decode()
            except UnicodeDecodeError:
                raise not_utf8("OffsetFetchResponsePartitions.Metadata") from None
            at = stop
        if end - at < 3:
            raise cut_off("OffsetFetchResponsePartitions", "ErrorCode=2 tags=1", end - at)
        error_code, tags = _unpack_hB(data, at)
        at += 3
        if tags:
            at = skip_tags(data, at, end, tags, "OffsetFetchResponsePartitions")
        items.append(OffsetFetchResponsePartitions(partition_index, committed_offset, committed_leader_epoch, metadata, error_code))
    return items, at


def _read_offset_fetch_response_topics_8(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[OffsetFetchResponseTopics], int]:
    items: list[OffsetFetchResponseTopics] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("OffsetFetchResponseTopics", "Name=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "OffsetFetchResponseTopics.Name")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("OffsetFetchResponseTopics.Name", n - 1, end - at)
        try:
            name = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("OffsetFetchResponseTopics.Name") from None
        at = stop
        if at >= end:
            raise cut_off("OffsetFetchResponseTopics", "Partitions=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "OffsetFetchResponseTopics.Partitions")
        n -= 1
        room[0] -= n
        if n < 0 or 20 * n > end - at or room[0] < 0:
            raise bad_count("OffsetFetchResponseTopics.Partitions", n, end - at, room[0])
        partitions, at = _read_offset_fetch_response_partitions_8(data, at, end, room, n)
        if at >= end:
            raise cut_off("OffsetFetchResponseTopics", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "OffsetFetchResponseTopics")
        items.append(OffsetFetchResponseTopics(name, NO_UUID, partitions))
    return items, at


def _read_offset_fetch_response_group_8(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[OffsetFetchResponseGroup], int]:
    items: list[OffsetFetchResponseGroup] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("OffsetFetchResponseGroup", "GroupId=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "OffsetFetchResponseGroup.GroupId")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("OffsetFetchResponseGroup.GroupId", n - 1, end - at)
        try:
            group_id = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("OffsetFetchResponseGroup.GroupId") from None
        at = stop
        if at >= end:
            raise cut_off("OffsetFetchResponseGroup", "Topics=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "OffsetFetchResponseGroup.Topics")
        n -= 1
        room[0] -= n
        if n < 0 or 3 * n > end - at or room[0] < 0:
            raise bad_count("OffsetFetchResponseGroup.Topics", n, end - at, room[0])
        topics, at = _read_offset_fetch_response_topics_8(data, at, end, room, n)
        if end - at < 3:
            raise cut_off("OffsetFetchResponseGroup", "ErrorCode=2 tags=1", end - at)
        error_code, tags = _unpack_hB(data, at)
        at += 3
        if tags:
            at = skip_tags(data, at, end, tags, "OffsetFetchResponseGroup")
        items.append(OffsetFetchResponseGroup(group_id, topics, error_code))
    return items, at


def _read_offset_fetch_response_8(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[OffsetFetchResponse], int]:
    items: list[OffsetFetchResponse] = []
    for _ in range(count):
        if end - at < 5:
            raise cut_off("OffsetFetchResponse", "ThrottleTimeMs=4 Groups=1", end - at)
        throttle_time_ms, n = _unpack_iB(data, at)
        at += 5
        if n > 127:
            n, at = long_varint(data, at, end, n, "OffsetFetchResponse.Groups")
        n -= 1
        room[0] -= n
        if n < 0 or 5 * n > end - at or room[0] < 0:
            raise bad_count("OffsetFetchResponse.Groups", n, end - at, room[0])
        groups, at = _read_offset_fetch_response_group_8(data, at, end, room, n)
        if at >= end:
            raise cut_off("OffsetFetchResponse", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "OffsetFetchResponse")
        items.append(OffsetFetchResponse(throttle_time_ms, [], 0, groups))
    return items, at


def _read_offset_fetch_response_topics_10(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[OffsetFetchResponseTopics], int]:
    items: list[OffsetFetchResponseTopics] = []
    for _ in range(count):
        if end - at < 17:
            raise cut_off("OffsetFetchResponseTopics", "TopicId=16 Partitions=1", end - at)
        topic_id, n = _unpack_16sB(data, at)
        at += 17
        if n > 127:
            n, at = long_varint(data, at, end, n, "OffsetFetchResponseTopics.Partitions")
        n -= 1
        room[0] -= n
        if n < 0 or 20 * n > end - at or room[0] < 0:
            raise bad_count("OffsetFetchResponseTopics.Partitions", n, end - at, room[0])
        partitions, at = _read_offset_fetch_response_partitions_8(data, at, end, room, n)
        if at >= end:
            raise cut_off("OffsetFetchResponseTopics", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "OffsetFetchResponseTopics")
        items.append(OffsetFetchResponseTopics("", topic_id, partitions))
    return items, at


def _read_offset_fetch_response_group_10(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[OffsetFetchResponseGroup], int]:
    items: list[OffsetFetchResponseGroup] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("OffsetFetchResponseGroup", "GroupId=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "OffsetFetchResponseGroup.GroupId")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("OffsetFetchResponseGroup.GroupId", n - 1, end - at)
        try:
            group_id = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("OffsetFetchResponseGroup.GroupId") from None
        at = stop
        if at >= end:
            raise cut_off("OffsetFetchResponseGroup", "Topics=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "OffsetFetchResponseGroup.Topics")
        n -= 1
        room[0] -= n
        if n < 0 or 18 * n > end - at or room[0] < 0:
            raise bad_count("OffsetFetchResponseGroup.Topics", n, end - at, room[0])
        topics, at = _read_offset_fetch_response_topics_10(data, at, end, room, n)
        if end - at < 3:
            raise cut_off("OffsetFetchResponseGroup", "ErrorCode=2 tags=1", end - at)
        error_code, tags = _unpack_hB(data, at)
        at += 3
        if tags:
            at = skip_tags(data, at, end, tags, "OffsetFetchResponseGroup")
        items.append(OffsetFetchResponseGroup(group_id, topics, error_code))
    return items, at


def _read_offset_fetch_response_10(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[OffsetFetchResponse], int]:
    items: list[OffsetFetchResponse] = []
    for _ in range(count):
        if end - at < 5:
            raise cut_off("OffsetFetchResponse", "ThrottleTimeMs=4 Groups=1", end - at)
        throttle_time_ms, n = _unpack_iB(data, at)
        at += 5
        if n > 127:
            n, at = long_varint(data, at, end, n, "OffsetFetchResponse.Groups")
        n -= 1
        room[0] -= n
        if n < 0 or 5 * n > end - at or room[0] < 0:
            raise bad_count("OffsetFetchResponse.Groups", n, end - at, room[0])
        groups, at = _read_offset_fetch_response_group_10(data, at, end, room, n)
        if at >= end:
            raise cut_off("OffsetFetchResponse", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "OffsetFetchResponse")
        items.append(OffsetFetchResponse(throttle_time_ms, [], 0, groups))
    return items, at


def _write_offset_fetch_response_partition_1(items: Iterable[OffsetFetchResponsePartition], out: list[Buffer]) -> None:
    for m in items:
        metadata = m.metadata
        if metadata is None:
            content = b""
            n = -1
        else:
            content = metadata.encode()
            n = len(content)
        out.append(_pack_iqh(m.partition_index, m.committed_offset, n))
        out.append(content)
        out.append(_pack_h(m.error_code))


def _write_offset_fetch_response_topic_1(items: Iterable[OffsetFetchResponseTopic], out: list[Buffer]) -> None:
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
            _write_offset_fetch_response_partition_1(partitions, out)


def _write_offset_fetch_response_1(items: Iterable[OffsetFetchResponse], out: list[Buffer]) -> None:
    for m in items:
        topics = m.topics
        n = len(topics)
        out.append(_pack_i(n))
        if topics:
            _write_offset_fetch_response_topic_1(topics, out)


def _write_offset_fetch_response_2(items: Iterable[OffsetFetchResponse], out: list[Buffer]) -> None:
    for m in items:
        topics = m.topics
        n = len(topics)
        out.append(_pack_i(n))
        if topics:
            _write_offset_fetch_response_topic_1(topics, out)
        out.append(_pack_h(m.error_code))


def _write_offset_fetch_response_3(items: Iterable[OffsetFetchResponse], out: list[Buffer]) -> None:
    for m in items:
        topics = m.topics
        n = len(topics)
        out.append(_pack_ii(m.throttle_time_ms, n))
        if topics:
            _write_offset_fetch_response_topic_1(topics, out)
        out.append(_pack_h(m.error_code))


def _write_offset_fetch_response_partition_5(items: Iterable[OffsetFetchResponsePartition], out: list[Buffer]) -> None:
    for m in items:
        metadata = m.metadata
        if metadata is None:
            content = b""
            n = -1
        else:
            content = metadata.encode()
            n = len(content)
        out.append(_pack_iqih(m.partition_index, m.committed_offset, m.committed_leader_epoch, n))
        out.append(content)
        out.append(_pack_h(m.error_code))


def _write_offset_fetch_response_topic_5(items: Iterable[OffsetFetchResponseTopic], out: list[Buffer]) -> None:
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
            _write_offset_fetch_response_partition_5(partitions, out)


def _write_offset_fetch_response_5(items: Iterable[OffsetFetchResponse], out: list[Buffer]) -> None:
    for m in items:
        topics = m.topics
        n = len(topics)
        out.append(_pack_ii(m.throttle_time_ms, n))
        if topics:
            _write_offset_fetch_response_topic_5(topics, out)
        out.append(_pack_h(m.error_code))


def _write_offset_fetch_response_partition_6(items: Iterable[OffsetFetchResponsePartition], out: list[Buffer]) -> None:
    for m in items:
        metadata = m.metadata
        if metadata is None:
            content = b""
            n = 0
        else:
            content = metadata.encode()
            n = len(content) + 1
        if n > 127:
            out.append(_pack_iqi(m.partition_index, m.committed_offset, m.committed_leader_epoch) + text_length_of(n))
        else:
            out.append(_pack_iqiB(m.partition_index, m.committed_offset, m.committed_leader_epoch, n))
        out.append(content)
        out.append(_pack_hx(m.error_code))


def _write_offset_fetch_response_topic_6(items: Iterable[OffsetFetchResponseTopic], out: list[Buffer]) -> None:
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
            _write_offset_fetch_response_partition_6(partitions, out)
        out.append(ONE_BYTE[0])


def _write_offset_fetch_response_6(items: Iterable[OffsetFetchResponse], out: list[Buffer]) -> None:
    for m in items:
        topics = m.topics
        n = len(topics) + 1
        if n > 127:
            out.append(_pack_i(m.throttle_time_ms) + varint_of(n))
        else:
            out.append(_pack_iB(m.throttle_time_ms, n))
        if topics:
            _write_offset_fetch_response_topic_6(topics, out)
        out.append(_pack_hx(m.error_code))


def _write_offset_fetch_response_partitions_8(items: Iterable[OffsetFetchResponsePartitions], out: list[Buffer]) -> None:
    for m in items:
        metadata = m.metadata
        if metadata is None:
            content = b""
            n = 0
        else:
            content = metadata.encode()
            n = len(content) + 1
        if n > 127:
            out.append(_pack_iqi(m.partition_index, m.committed_offset, m.committed_leader_epoch) + text_length_of(n))
        else:
            out.append(_pack_iqiB(m.partition_index, m.committed_offset, m.committed_leader_epoch, n))
        out.append(content)
        out.append(_pack_hx(m.error_code))


def _write_offset_fetch_response_topics_8(items: Iterable[OffsetFetchResponseTopics], out: list[Buffer]) -> None:
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
            _write_offset_fetch_response_partitions_8(partitions, out)
        out.append(ONE_BYTE[0])


def _write_offset_fetch_response_group_8(items: Iterable[OffsetFetchResponseGroup], out: list[Buffer]) -> None:
    for m in items:
        group_id = m.group_id
        content = group_id.encode()
        n = len(content) + 1
        if n > 127:
            out.append(text_length_of(n))
        else:
            out.append(ONE_BYTE[n])
        out.append(content)
        topics = m.topics
        n = len(topics) + 1
        if n > 127:
            out.append(varint_of(n))
        else:
            out.append(ONE_BYTE[n])
        if topics:
            _write_offset_fetch_response_topics_8(topics, out)
        out.append(_pack_hx(m.error_code))


def _write_offset_fetch_response_8(items: Iterable[OffsetFetchResponse], out: list[Buffer]) -> None:
    for m in items:
        groups = m.groups
        n = len(groups) + 1
        if n > 127:
            out.append(_pack_i(m.throttle_time_ms) + varint_of(n))
        else:
            out.append(_pack_iB(m.throttle_time_ms, n))
        if groups:
            _write_offset_fetch_response_group_8(groups, out)
        out.append(ONE_BYTE[0])


def _write_offset_fetch_response_topics_10(items: Iterable[OffsetFetchResponseTopics], out: list[Buffer]) -> None:
    for m in items:
        partitions = m.partitions
        n = len(partitions) + 1
        if n > 127:
            out.append(_pack_16s(m.topic_id) + varint_of(n))
        else:
            out.append(_pack_16sB(m.topic_id, n))
        if partitions:
            _write_offset_fetch_response_partitions_8(partitions, out)
        out.append(ONE_BYTE[0])


def _write_offset_fetch_response_group_10(items: Iterable[OffsetFetchResponseGroup], out: list[Buffer]) -> None:
    for m in items:
        group_id = m.group_id
        content = group_id.encode()
        n = len(content) + 1
        if n > 127:
            out.append(text_length_of(n))
        else:
            out.append(ONE_BYTE[n])
        out.append(content)
        topics = m.topics
        n = len(topics) + 1
        if n > 127:
            out.append(varint_of(n))
        else:
            out.append(ONE_BYTE[n])
        if topics:
            _write_offset_fetch_response_topics_10(topics, out)
        out.append(_pack_hx(m.error_code))


def _write_offset_fetch_response_10(items: Iterable[OffsetFetchResponse], out: list[Buffer]) -> None:
    for m in items:
        groups = m.groups
        n = len(groups) + 1
        if n > 127:
            out.append(_pack_i(m.throttle_time_ms) + varint_of(n))
        else:
            out.append(_pack_iB(m.throttle_time_ms, n))
        if groups:
            _write_offset_fetch_response_group_10(groups, out)
        out.append(ONE_BYTE[0])


OffsetFetchResponse._READERS = {
    **dict.fromkeys(range(1, 2), _read_offset_fetch_response_1),
    **dict.fromkeys(range(2, 3), _read_offset_fetch_response_2),
    **dict.fromkeys(range(3, 5), _read_offset_fetch_response_3),
    **dict.fromkeys(range(5, 6), _read_offset_fetch_response_5),
    **dict.fromkeys(range(6, 8), _read_offset_fetch_response_6),
    **dict.fromkeys(range(8, 10), _read_offset_fetch_response_8),
    **dict.fromkeys(range(10, 11), _read_offset_fetch_response_10),
}
OffsetFetchResponse._WRITERS = {
    **dict.fromkeys(range(1, 2), _write_offset_fetch_response_1),
    **dict.fromkeys(range(2, 3), _write_offset_fetch_response_2),
    **dict.fromkeys(range(3, 5), _write_offset_fetch_response_3),
    **dict.fromkeys(range(5, 6), _write_offset_fetch_response_5),
    **dict.fromkeys(range(6, 8), _write_offset_fetch_response_6),
    **dict.fromkeys(range(8, 10), _write_offset_fetch_response_8),
    **dict.fromkeys(range(10, 11), _write_offset_fetch_response_10),
}
