"""OffsetFetchRequest of Kafka's protocol.

Generated from proto/kafka/offset_fetch.schema; do not edit.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import ClassVar

import msgspec

from tidelog.kafka.message import Message
from tidelog.kafka.wire import NO_UUID, ONE_BYTE, Buffer, bad_count, bad_length, cut_off, long_text, long_varint, not_utf8, null_field, packer, read_numbers, skip_tags, text_length_of, varint_of


class OffsetFetchRequest(Message, gc=False):
    """Request of API 9, versions 1-10."""

    API_KEY: ClassVar[int] = 9
    VERSIONS: ClassVar[range] = range(1, 11)
    FLEXIBLE: ClassVar[range] = range(6, 11)

    group_id: str = ""
    topics: list[OffsetFetchRequestTopic] | None = []
    groups: list[OffsetFetchRequestGroup] = []
    require_stable: bool = False


class OffsetFetchRequestTopic(msgspec.Struct, gc=False):
    name: str = ""
    partition_indexes: list[int] = []


class OffsetFetchRequestGroup(msgspec.Struct, gc=False):
    group_id: str = ""
    member_id: str | None = None
    member_epoch: int = -1
    topics: list[OffsetFetchRequestTopics] | None = []


class OffsetFetchRequestTopics(msgspec.Struct, gc=False):
    name: str = ""
    topic_id: bytes = NO_UUID
    partition_indexes: list[int] = []


_unpack_16sB = Struct(">16sB").unpack_from
_unpack_tB = Struct(">?B").unpack_from
_unpack_h = Struct(">h").unpack_from
_unpack_i = Struct(">i").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_pack_16s = Struct(">16s").pack
_pack_16sB = Struct(">16sB").pack
_pack_tx = Struct(">?x").pack
_pack_h = Struct(">h").pack
_pack_i = Struct(">i").pack
_pack_iB = Struct(">iB").pack


def _read_offset_fetch_request_topic_1(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[OffsetFetchRequestTopic], int]:
    items: list[OffsetFetchRequestTopic] = []
    for _ in range(count):
        if end - at < 2:
            raise cut_off("OffsetFetchRequestTopic", "Name=2", end - at)
        n = _unpack_h(data, at)[0]
        at += 2
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("OffsetFetchRequestTopic.Name", n, end - at)
        try:
            name = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("OffsetFetchRequestTopic.Name") from None
        at = stop
        if end - at < 4:
            raise cut_off("OffsetFetchRequestTopic", "PartitionIndexes=4", end - at)
        n = _unpack_i(data, at)[0]
        at += 4
        room[0] -= n
        if n < 0 or 4 * n > end - at or room[0] < 0:
            raise bad_count("OffsetFetchRequestTopic.PartitionIndexes", n, end - at, room[0])
        partition_indexes = read_numbers(data, at, n, "i")
        at += 4 * n
        items.append(OffsetFetchRequestTopic(name, partition_indexes))
    return items, at


def _read_offset_fetch_request_1(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[OffsetFetchRequest], int]:
    items: list[OffsetFetchRequest] = []
    for _ in range(count):
        if end - at < 2:
            raise cut_off("OffsetFetchRequest", "GroupId=2", end - at)
        n = _unpack_h(data, at)[0]
        at += 2
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("OffsetFetchRequest.GroupId", n, end - at)
        try:
            group_id = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("OffsetFetchRequest.GroupId") from None
        at = stop
        if end - at < 4:
            raise cut_off("OffsetFetchRequest", "Topics=4", end - at)
        n = _unpack_i(data, at)[0]
        at += 4
        room[0] -= n
        if n < 0 or 6 * n > end - at or room[0] < 0:
            raise bad_count("OffsetFetchRequest.Topics", n, end - at, room[0])
        topics, at = _read_offset_fetch_request_topic_1(data, at, end, room, n)
        items.append(OffsetFetchRequest(group_id, topics))
    return items, at


def _read_offset_fetch_request_2(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[OffsetFetchRequest], int]:
    items: list[OffsetFetchRequest] = []
    for _ in range(count):
        if end - at < 2:
            raise cut_off("OffsetFetchRequest", "GroupId=2", end - at)
        n = _unpack_h(data, at)[0]
        at += 2
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("OffsetFetchRequest.GroupId", n, end - at)
        try:
            group_id = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("OffsetFetchRequest.GroupId") from None
        at = stop
        if end - at < 4:
            raise cut_off("OffsetFetchRequest", "Topics=4", end - at)
        n = _unpack_i(data, at)[0]
        at += 4
        if n == -1:
            topics = None
        else:
            room[0] -= n
            if n < 0 or 6 * n > end - at or room[0] < 0:
                raise bad_count("OffsetFetchRequest.Topics", n, end - at, room[0])
            topics, at = _read_offset_fetch_request_topic_1(data, at, end, room, n)
        items.append(OffsetFetchRequest(group_id, topics))
    return items, at


def _read_offset_fetch_request_topic_6(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[OffsetFetchRequestTopic], int]:
    items: list[OffsetFetchRequestTopic] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("OffsetFetchRequestTopic", "Name=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "OffsetFetchRequestTopic.Name")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("OffsetFetchRequestTopic.Name", n - 1, end - at)
        try:
            name = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("OffsetFetchRequestTopic.Name") from None
        at = stop
        if at >= end:
            raise cut_off("OffsetFetchRequestTopic", "PartitionIndexes=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "OffsetFetchRequestTopic.PartitionIndexes")
        n -= 1
        room[0] -= n
        if n < 0 or 4 * n > end - at or room[0] < 0:
            raise bad_count("OffsetFetchRequestTopic.PartitionIndexes", n, end - at, room[0])
        partition_indexes = read_numbers(data, at, n, "i")
        at += 4 * n
        if at >= end:
            raise cut_off("OffsetFetchRequestTopic", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "OffsetFetchRequestTopic")
        items.append(OffsetFetchRequestTopic(name, partition_indexes))
    return items, at


def _read_offset_fetch_request_6(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[OffsetFetchRequest], int]:
    items: list[OffsetFetchRequest] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("OffsetFetchRequest", "GroupId=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "OffsetFetchRequest.GroupId")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("OffsetFetchRequest.GroupId", n - 1, end - at)
        try:
            group_id = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("OffsetFetchRequest.GroupId") from None
        at = stop
        if at >= end:
            raise cut_off("OffsetFetchRequest", "Topics=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "OffsetFetchRequest.Topics")
        if n == 0:
            topics = None
        else:
            n -= 1
            room[0] -= n
            if n < 0 or 3 * n > end - at or room[0] < 0:
                raise bad_count("OffsetFetchRequest.Topics", n, end - at, room[0])
            topics, at = _read_offset_fetch_request_topic_6(data, at, end, room, n)
        if at >= end:
            raise cut_off("OffsetFetchRequest", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "OffsetFetchRequest")
        items.append(OffsetFetchRequest(group_id, topics))
    return items, at


def _read_offset_fetch_request_7(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[OffsetFetchRequest], int]:
    items: list[OffsetFetchRequest] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("OffsetFetchRequest", "GroupId=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "OffsetFetchRequest.GroupId")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("OffsetFetchRequest.GroupId", n - 1, end - at)
        try:
            group_id = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("OffsetFetchRequest.GroupId") from None
        at = stop
        if at >= end:
            raise cut_off("OffsetFetchRequest", "Topics=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "OffsetFetchRequest.Topics")
        if n == 0:
            topics = None
        else:
            n -= 1
            room[0] -= n
            if n < 0 or 3 * n > end - at or room[0] < 0:
                raise bad_count("OffsetFetchRequest.Topics", n, end - at, room[0])
            topics, at = _read_offset_fetch_request_topic_6(data, at, end, room, n)
        if end - at < 2:
            raise cut_off("OffsetFetchRequest", "RequireStable=1 tags=1", end - at)
        require_stable, tags = _unpack_tB(data, at)
        at += 2
        if tags:
            at = skip_tags(data, at, end, tags, "OffsetFetchRequest")
        items.append(OffsetFetchRequest(group_id, topics, [], require_stable))
    return items, at


def _read_offset_fetch_request_topics_8(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[OffsetFetchRequestTopics], int]:
    items: list[OffsetFetchRequestTopics] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("OffsetFetchRequestTopics", "Name=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "OffsetFetchRequestTopics.Name")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("OffsetFetchRequestTopics.Name", n - 1, end - at)
        try:
            name = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("OffsetFetchRequestTopics.Name") from None
        at = stop
        if at >= end:
            raise cut_off("OffsetFetchRequestTopics", "PartitionIndexes=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "OffsetFetchRequestTopics.PartitionIndexes")
        n -= 1
        room[0] -= n
        if n < 0 or 4 * n > end - at or room[0] < 0:
            raise bad_count("OffsetFetchRequestTopics.PartitionIndexes", n, end - at, room[0])
        partition_indexes = read_numbers(data, at, n, "i")
        at += 4 * n
        if at >= end:
            raise cut_off("OffsetFetchRequestTopics", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "OffsetFetchRequestTopics")
        items.append(OffsetFetchRequestTopics(name, NO_UUID, partition_indexes))
    return items, at


def _read_offset_fetch_request_group_8(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[OffsetFetchRequestGroup], int]:
    items: list[OffsetFetchRequestGroup] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("OffsetFetchRequestGroup", "GroupId=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "OffsetFetchRequestGroup.GroupId")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("OffsetFetchRequestGroup.GroupId", n - 1, end - at)
        try:
            group_id = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("OffsetFetchRequestGroup.GroupId") from None
        at = stop
        if at >= end:
            raise cut_off("OffsetFetchRequestGroup", "Topics=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "OffsetFetchRequestGroup.Topics")
        if n == 0:
            topics = None
        else:
            n -= 1
            room[0] -= n
            if n < 0 or 3 * n > end - at or room[0] < 0:
                raise bad_count("OffsetFetchRequestGroup.Topics", n, end - at, room[0])
            topics, at = _read_offset_fetch_request_topics_8(data, at, end, room, n)
        if at >= end:
            raise cut_off("OffsetFetchRequestGroup", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "OffsetFetchRequestGroup")
        items.append(OffsetFetchRequestGroup(group_id, None, -1, topics))
    return items, at


def _read_offset_fetch_request_8(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[OffsetFetchRequest], int]:
    items: list[OffsetFetchRequest] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("OffsetFetchRequest", "Groups=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "OffsetFetchRequest.Groups")
        n -= 1
        room[0] -= n
        if n < 0 or 3 * n > end - at or room[0] < 0:
            raise bad_count("OffsetFetchRequest.Groups", n, end - at, room[0])
        groups, at = _read_offset_fetch_request_group_8(data, at, end, room, n)
        if end - at < 2:
            raise cut_off("OffsetFetchRequest", "RequireStable=1 tags=1", end - at)
        require_stable, tags = _unpack_tB(data, at)
        at += 2
        if tags:
            at = skip_tags(data, at, end, tags, "OffsetFetchRequest")
        items.append(OffsetFetchRequest("", [], groups, require_stable))
    return items, at


def _read_offset_fetch_request_group_9(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[OffsetFetchRequestGroup], int]:
    items: list[OffsetFetchRequestGroup] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("OffsetFetchRequestGroup", "GroupId=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "OffsetFetchRequestGroup.GroupId")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("OffsetFetchRequestGroup.GroupId", n - 1, end - at)
        try:
            group_id = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("OffsetFetchRequestGroup.GroupId") from None
        at = stop
        if at >= end:
            raise cut_off("OffsetFetchRequestGroup", "MemberId=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "OffsetFetchRequestGroup.MemberId")
        if n == 0:
            member_id = None
        else:
            stop = at + n - 1
            if n < 1 or stop > end:
                raise bad_length("OffsetFetchRequestGroup.MemberId", n - 1, end - at)
            try:
                member_id = data[at:stop].decode()
            except UnicodeDecodeError:
                raise not_utf8("OffsetFetchRequestGroup.MemberId") from None
            at = stop
        if end - at < 5:
            raise cut_off("OffsetFetchRequestGroup", "MemberEpoch=4 Topics=1", end - at)
        member_epoch, n = _unpack_iB(data, at)
        at += 5
        if n > 127:
            n, at = long_varint(data, at, end, n, "OffsetFetchRequestGroup.Topics")
        if n == 0:
            topics = None
        else:
            n -= 1
            room[0] -= n
            if n < 0 or 3 * n > end - at or room[0] < 0:
                raise bad_count("OffsetFetchRequestGroup.Topics", n, end - at, room[0])
            topics, at = _read_offset_fetch_request_topics_8(data, at, end, room, n)
        if at >= end:
            raise cut_off("OffsetFetchRequestGroup", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "OffsetFetchRequestGroup")
        items.append(OffsetFetchRequestGroup(group_id, member_id, member_epoch, topics))
    return items, at


def _read_offset_fetch_request_9(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[OffsetFetchRequest], int]:
    items: list[OffsetFetchRequest] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("OffsetFetchRequest", "Groups=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "OffsetFetchRequest.Groups")
        n -= 1
        room[0] -= n
        if n < 0 or 8 * n > end - at or room[0] < 0:
            raise bad_count("OffsetFetchRequest.Groups", n, end - at, room[0])
        groups, at = _read_offset_fetch_request_group_9(data, at, end, room, n)
        if end - at < 2:
            raise cut_off("OffsetFetchRequest", "RequireStable=1 tags=1", end - at)
        require_stable, tags = _unpack_tB(data, at)
        at += 2
        if tags:
            at = skip_tags(data, at, end, tags, "OffsetFetchRequest")
        items.append(OffsetFetchRequest("", [], groups, require_stable))
    return items, at


def _read_offset_fetch_request_topics_10(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[OffsetFetchRequestTopics], int]:
    items: list[OffsetFetchRequestTopics] = []
    for _ in range(count):
        if end - at < 17:
            raise cut_off("OffsetFetchRequestTopics", "TopicId=16 PartitionIndexes=1", end - at)
        topic_id, n = _unpack_16sB(data, at)
        at += 17
        if n > 127:
            n, at = long_varint(data, at, end, n, "OffsetFetchRequestTopics.PartitionIndexes")
        n -= 1
        room[0] -= n
        if n < 0 or 4 * n > end - at or room[0] < 0:
            raise bad_count("OffsetFetchRequestTopics.PartitionIndexes", n, end - at, room[0])
        partition_indexes = read_numbers(data, at, n, "i")
        at += 4 * n
        if at >= end:
            raise cut_off("OffsetFetchRequestTopics", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "OffsetFetchRequestTopics")
        items.append(OffsetFetchRequestTopics("", topic_id, partition_indexes))
    return items, at


def _read_offset_fetch_request_group_10(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[OffsetFetchRequestGroup], int]:
    items: list[OffsetFetchRequestGroup] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("OffsetFetchRequestGroup", "GroupId=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "OffsetFetchRequestGroup.GroupId")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("OffsetFetchRequestGroup.GroupId", n - 1, end - at)
        try:
            group_id = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("OffsetFetchRequestGroup.GroupId") from None
        at = stop
        if at >= end:
            raise cut_off("OffsetFetchRequestGroup", "MemberId=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "OffsetFetchRequestGroup.MemberId")
        if n == 0:
            member_id = None
        else:
            stop = at + n - 1
            if n < 1 or stop > end:
                raise bad_length("OffsetFetchRequestGroup.MemberId", n - 1, end - at)
            try:
                member_id = data[at:stop].decode()
            except UnicodeDecodeError:
                raise not_utf8("OffsetFetchRequestGroup.MemberId") from None
            at = stop
        if end - at < 5:
            raise cut_off("OffsetFetchRequestGroup", "MemberEpoch=4 Topics=1", end - at)
        member_epoch, n = _unpack_iB(data, at)
        at += 5
        if n > 127:
            n, at = long_varint(data, at, end, n, "OffsetFetchRequestGroup.Topics")
        if n == 0:
            topics = None
        else:
            n -= 1
            room[0] -= n
            if n < 0 or 18 * n > end - at or room[0] < 0:
                raise bad_count("OffsetFetchRequestGroup.Topics", n, end - at, room[0])
            topics, at = _read_offset_fetch_request_topics_10(data, at, end, room, n)
        if at >= end:
            raise cut_off("OffsetFetchRequestGroup", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "OffsetFetchRequestGroup")
        items.append(OffsetFetchRequestGroup(group_id, member_id, member_epoch, topics))
    return items, at


def _read_offset_fetch_request_10(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[OffsetFetchRequest], int]:
    items: list[OffsetFetchRequest] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("OffsetFetchRequest", "Groups=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "OffsetFetchRequest.Groups")
        n -= 1
        room[0] -= n
        if n < 0 or 8 * n > end - at or room[0] < 0:
            raise bad_count("OffsetFetchRequest.Groups", n, end - at, room[0])
        groups, at = _read_offset_fetch_request_group_10(data, at, end, room, n)
        if end - at < 2:
            raise cut_off("OffsetFetchRequest", "RequireStable=1 tags=1", end - at)
        require_stable, tags = _unpack_tB(data, at)
        at += 2
        if tags:
            at = skip_tags(data, at, end, tags, "OffsetFetchRequest")
        items.append(OffsetFetchRequest("", [], groups, require_stable))
    return items, at


def _write_offset_fetch_request_topic_1(items: Iterable[OffsetFetchRequestTopic], out: list[Buffer]) -> None:
    for m in items:
        name = m.name
        content = name.encode()
        n = len(content)
        out.append(_pack_h(n))
        out.append(content)
        partition_indexes = m.partition_indexes
        n = len(partition_indexes)
        out.append(_pack_i(n))
        if partition_indexes:
            out.append(packer(len(partition_indexes), "i")(*partition_indexes))


def _write_offset_fetch_request_1(items: Iterable[OffsetFetchRequest], out: list[Buffer]) -> None:
    for m in items:
        group_id = m.group_id
        content = group_id.encode()
        n = len(content)
        out.append(_pack_h(n))
        out.append(content)
        topics = m.topics
        if topics is None:
            raise null_field("OffsetFetchRequest.Topics")
        n = len(topics)
        out.append(_pack_i(n))
        if topics:
            _write_offset_fetch_request_topic_1(topics, out)


def _write_offset_fetch_request_2(items: Iterable[OffsetFetchRequest], out: list[Buffer]) -> None:
    for m in items:
        group_id = m.group_id
        content = group_id.encode()
        n = len(content)
        out.append(_pack_h(n))
        out.append(content)
        topics = m.topics
        if topics is None:
            n = -1
        else:
            n = len(topics)
        out.append(_pack_i(n))
        if topics:
            _write_offset_fetch_request_topic_1(topics, out)


def _write_offset_fetch_request_topic_6(items: Iterable[OffsetFetchRequestTopic], out: list[Buffer]) -> None:
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


def _write_offset_fetch_request_6(items: Iterable[OffsetFetchRequest], out: list[Buffer]) -> None:
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
        if topics is None:
            n = 0
        else:
            n = len(topics) + 1
        if n > 127:
            out.append(varint_of(n))
        else:
            out.append(ONE_BYTE[n])
        if topics:
            _write_offset_fetch_request_topic_6(topics, out)
        out.append(ONE_BYTE[0])


def _write_offset_fetch_request_7(items: Iterable[OffsetFetchRequest], out: list[Buffer]) -> None:
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
        if topics is None:
            n = 0
        else:
            n = len(topics) + 1
        if n > 127:
            out.append(varint_of(n))
        else:
            out.append(ONE_BYTE[n])
        if topics:
            _write_offset_fetch_request_topic_6(topics, out)
        out.append(_pack_tx(m.require_stable))


def _write_offset_fetch_request_topics_8(items: Iterable[OffsetFetchRequestTopics], out: list[Buffer]) -> None:
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


def _write_offset_fetch_request_group_8(items: Iterable[OffsetFetchRequestGroup], out: list[Buffer]) -> None:
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
        if topics is None:
            n = 0
        else:
            n = len(topics) + 1
        if n > 127:
            out.append(varint_of(n))
        else:
            out.append(ONE_BYTE[n])
        if topics:
            _write_offset_fetch_request_topics_8(topics, out)
        out.append(ONE_BYTE[0])


def _write_offset_fetch_request_8(items: Iterable[OffsetFetchRequest], out: list[Buffer]) -> None:
    for m in items:
        groups = m.groups
        n = len(groups) + 1
        if n > 127:
            out.append(varint_of(n))
        else:
            out.append(ONE_BYTE[n])
        if groups:
            _write_offset_fetch_request_group_8(groups, out)
        out.append(_pack_tx(m.require_stable))


def _write_offset_fetch_request_group_9(items: Iterable[OffsetFetchRequestGroup], out: list[Buffer]) -> None:
    for m in items:
        group_id = m.group_id
        content = group_id.encode()
        n = len(content) + 1
        if n > 127:
            out.append(text_length_of(n))
        else:
            out.append(ONE_BYTE[n])
        out.append(content)
        member_id = m.member_id
        if member_id is None:
            content = b""
            n = 0
        else:
            content = member_id.encode()
            n = len(content) + 1
        if n > 127:
            out.append(text_length_of(n))
        else:
            out.append(ONE_BYTE[n])
        out.append(content)
        topics = m.topics
        if topics is None:
            n = 0
        else:
            n = len(topics) + 1
        if n > 127:
            out.append(_pack_i(m.member_epoch) + varint_of(n))
        else:
            out.append(_pack_iB(m.member_epoch, n))
        if topics:
            _write_offset_fetch_request_topics_8(topics, out)
        out.append(ONE_BYTE[0])


def _write_offset_fetch_request_9(items: Iterable[OffsetFetchRequest], out: list[Buffer]) -> None:
    for m in items:
        groups = m.groups
        n = len(groups) + 1
        if n > 127:
            out.append(varint_of(n))
        else:
            out.append(ONE_BYTE[n])
        if groups:
            _write_offset_fetch_request_group_9(groups, out)
        out.append(_pack_tx(m.require_stable))


def _write_offset_fetch_request_topics_10(items: Iterable[OffsetFetchRequestTopics], out: list[Buffer]) -> None:
    for m in items:
        partition_indexes = m.partition_indexes
        n = len(partition_indexes) + 1
        if n > 127:
            out.append(_pack_16s(m.topic_id) + varint_of(n))
        else:
            out.append(_pack_16sB(m.topic_id, n))
        if partition_indexes:
            out.append(packer(len(partition_indexes), "i")(*partition_indexes))
        out.append(ONE_BYTE[0])


def _write_offset_fetch_request_group_10(items: Iterable[OffsetFetchRequestGroup], out: list[Buffer]) -> None:
    for m in items:
        group_id = m.group_id
        content = group_id.encode()
        n = len(content) + 1
        if n > 127:
            out.append(text_length_of(n))
        else:
            out.append(ONE_BYTE[n])
        out.append(content)
        member_id = m.member_id
        if member_id is None:
            content = b""
            n = 0
        else:
            content = member_id.encode()
            n = len(content) + 1
        if n > 127:
            out.append(text_length_of(n))
        else:
            out.append(ONE_BYTE[n])
        out.append(content)
        topics = m.topics
        if topics is None:
            n = 0
        else:
            n = len(topics) + 1
        if n > 127:
            out.append(_pack_i(m.member_epoch) + varint_of(n))
        else:
            out.append(_pack_iB(m.member_epoch, n))
        if topics:
            _write_offset_fetch_request_topics_10(topics, out)
        out.append(ONE_BYTE[0])


def _write_offset_fetch_request_10(items: Iterable[OffsetFetchRequest], out: list[Buffer]) -> None:
    for m in items:
        groups = m.groups
        n = len(groups) + 1
        if n > 127:
            out.append(varint_of(n))
        else:
            out.append(ONE_BYTE[n])
        if groups:
            _write_offset_fetch_request_group_10(groups, out)
        out.append(_pack_tx(m.require_stable))


OffsetFetchRequest._READERS = {
    **dict.fromkeys(range(1, 2), _read_offset_fetch_request_1),
    **dict.fromkeys(range(2, 6), _read_offset_fetch_request_2),
    **dict.fromkeys(range(6, 7), _read_offset_fetch_request_6),
    **dict.fromkeys(range(7, 8), _read_offset_fetch_request_7),
    **dict.fromkeys(range(8, 9), _read_offset_fetch_request_8),
    **dict.fromkeys(range(9, 10), _read_offset_fetch_request_9),
    **dict.fromkeys(range(10, 11), _read_offset_fetch_request_10),
}
OffsetFetchRequest._WRITERS = {
    **dict.fromkeys(range(1, 2), _write_offset_fetch_request_1),
    **dict.fromkeys(range(2, 6), _write_offset_fetch_request_2),
    **dict.fromkeys(range(6, 7), _write_offset_fetch_request_6),
    **dict.fromkeys(range(7, 8), _write_offset_fetch_request_7),
    **dict.fromkeys(range(8, 9), _write_offset_fetch_request_8),
    **dict.fromkeys(range(9, 10), _write_offset_fetch_request_9),
    **dict.fromkeys(range(10, 11), _write_offset_fetch_request_10),
}
