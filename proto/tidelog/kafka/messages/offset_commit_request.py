"""OffsetCommitRequest of Kafka's protocol.

Generated from proto/kafka/offset_commit.schema; do not edit.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import ClassVar

import msgspec

from tidelog.kafka.message import Message
from tidelog.kafka.wire import NO_UUID, ONE_BYTE, Buffer, bad_count, bad_length, cut_off, long_text, long_varint, not_utf8, skip_tags, text_length_of, varint_of


class OffsetCommitRequest(Message, gc=False):
    """Request of API 8, versions 2-10."""

    API_KEY: ClassVar[int] = 8
    VERSIONS: ClassVar[range] = range(2, 11)
    FLEXIBLE: ClassVar[range] = range(8, 11)

    group_id: str = ""
    generation_id_or_member_epoch: int = -1
    member_id: str = ""
    group_instance_id: str | None = None
    retention_time_ms: int = -1
    topics: list[OffsetCommitRequestTopic] = []


class OffsetCommitRequestTopic(msgspec.Struct, gc=False):
    name: str = ""
    topic_id: bytes = NO_UUID
    partitions: list[OffsetCommitRequestPartition] = []


class OffsetCommitRequestPartition(msgspec.Struct, gc=False):
    partition_index: int = 0
    committed_offset: int = 0
    committed_leader_epoch: int = -1
    committed_metadata: str | None = ""


_unpack_16sB = Struct(">16sB").unpack_from
_unpack_h = Struct(">h").unpack_from
_unpack_i = Struct(">i").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_unpack_ih = Struct(">ih").unpack_from
_unpack_iqh = Struct(">iqh").unpack_from
_unpack_iqiB = Struct(">iqiB").unpack_from
_unpack_iqih = Struct(">iqih").unpack_from
_unpack_qi = Struct(">qi").unpack_from
_pack_16s = Struct(">16s").pack
_pack_16sB = Struct(">16sB").pack
_pack_h = Struct(">h").pack
_pack_i = Struct(">i").pack
_pack_iB = Struct(">iB").pack
_pack_ih = Struct(">ih").pack
_pack_iqh = Struct(">iqh").pack
_pack_iqi = Struct(">iqi").pack
_pack_iqiB = Struct(">iqiB").pack
_pack_iqih = Struct(">iqih").pack
_pack_qi = Struct(">qi").pack


def _read_offset_commit_request_partition_2(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[OffsetCommitRequestPartition], int]:
    items: list[OffsetCommitRequestPartition] = []
    for _ in range(count):
        if end - at < 14:
            raise cut_off("OffsetCommitRequestPartition", "PartitionIndex=4 CommittedOffset=8 CommittedMetadata=2", end - at)
        partition_index, committed_offset, n = _unpack_iqh(data, at)
        at += 14
        if n == -1:
            committed_metadata = None
        else:
            stop = at + n
            if n < 0 or stop > end:
                raise bad_length("OffsetCommitRequestPartition.CommittedMetadata", n, end - at)
            try:
                committed_metadata = data[at:stop].decode()
            except UnicodeDecodeError:
                raise not_utf8("OffsetCommitRequestPartition.CommittedMetadata") from None
            at = stop
        items.append(OffsetCommitRequestPartition(partition_index, committed_offset, -1, committed_metadata))
    return items, at


def _read_offset_commit_request_topic_2(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[OffsetCommitRequestTopic], int]:
    items: list[OffsetCommitRequestTopic] = []
    for _ in range(count):
        if end - at < 2:
            raise cut_off("OffsetCommitRequestTopic", "Name=2", end - at)
        n = _unpack_h(data, at)[0]
        at += 2
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("OffsetCommitRequestTopic.Name", n, end - at)
        try:
            name = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("OffsetCommitRequestTopic.Name") from None
        at = stop
        if end - at < 4:
            raise cut_off("OffsetCommitRequestTopic", "Partitions=4", end - at)
        n = _unpack_i(data, at)[0]
        at += 4
        room[0] -= n
        if n < 0 or 14 * n > end - at or room[0] < 0:
            raise bad_count("OffsetCommitRequestTopic.Partitions", n, end - at, room[0])
        partitions, at = _read_offset_commit_request_partition_2(data, at, end, room, n)
        items.append(OffsetCommitRequestTopic(name, NO_UUID, partitions))
    return items, at


def _read_offset_commit_request_2(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[OffsetCommitRequest], int]:
    items: list[OffsetCommitRequest] = []
    for _ in range(count):
        if end - at < 2:
            raise cut_off("OffsetCommitRequest", "GroupId=2", end - at)
        n = _unpack_h(data, at)[0]
        at += 2
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("OffsetCommitRequest.GroupId", n, end - at)
        try:
            group_id = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("OffsetCommitRequest.GroupId") from None
        at = stop
        if end - at < 6:
            raise cut_off("OffsetCommitRequest", "GenerationIdOrMemberEpoch=4 MemberId=2", end - at)
        generation_id_or_member_epoch, n = _unpack_ih(data, at)
        at += 6
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("OffsetCommitRequest.MemberId", n, end - at)
        try:
            member_id = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("OffsetCommitRequest.MemberId") from None
        at = stop
        if end - at < 12:
            raise cut_off("OffsetCommitRequest", "RetentionTimeMs=8 Topics=4", end - at)
        retention_time_ms, n = _unpack_qi(data, at)
        at += 12
        room[0] -= n
        if n < 0 or 6 * n > end - at or room[0] < 0:
            raise bad_count("OffsetCommitRequest.Topics", n, end - at, room[0])
        topics, at = _read_offset_commit_request_topic_2(data, at, end, room, n)
        items.append(OffsetCommitRequest(group_id, generation_id_or_member_epoch, member_id, None, retention_time_ms, topics))
    return items, at


def _read_offset_commit_request_5(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[OffsetCommitRequest], int]:
    items: list[OffsetCommitRequest] = []
    for _ in range(count):
        if end - at < 2:
            raise cut_off("OffsetCommitRequest", "GroupId=2", end - at)
        n = _unpack_h(data, at)[0]
        at += 2
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("OffsetCommitRequest.GroupId", n, end - at)
        try:
            group_id = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("OffsetCommitRequest.GroupId") from None
        at = stop
        if end - at < 6:
            raise cut_off("OffsetCommitRequest", "GenerationIdOrMemberEpoch=4 MemberId=2", end - at)
        generation_id_or_member_epoch, n = _unpack_ih(data, at)
        at += 6
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("OffsetCommitRequest.MemberId", n, end - at)
        try:
            member_id = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("OffsetCommitRequest.MemberId") from None
        at = stop
        if end - at < 4:
            raise cut_off("OffsetCommitRequest", "Topics=4", end - at)
        n = _unpack_i(data, at)[0]
        at += 4
        room[0] -= n
        if n < 0 or 6 * n > end - at or room[0] < 0:
            raise bad_count("OffsetCommitRequest.Topics", n, end - at, room[0])
        topics, at = _read_offset_commit_request_topic_2(data, at, end, room, n)
        items.append(OffsetCommitRequest(group_id, generation_id_or_member_epoch, member_id, None, -1, topics))
    return items, at


def _read_offset_commit_request_partition_6(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[OffsetCommitRequestPartition], int]:
    items: list[OffsetCommitRequestPartition] = []
    for _ in range(count):
        if end - at < 18:
            raise cut_off("OffsetCommitRequestPartition", "PartitionIndex=4 CommittedOffset=8 CommittedLeaderEpoch=4 CommittedMetadata=2", end - at)
        partition_index, committed_offset, committed_leader_epoch, n = _unpack_iqih(data, at)
        at += 18
        if n == -1:
            committed_metadata = None
        else:
            stop = at + n
            if n < 0 or stop > end:
                raise bad_length("OffsetCommitRequestPartition.CommittedMetadata", n, end - at)
            try:
                committed_metadata = data[at:stop].decode()
            except UnicodeDecodeError:
                raise not_utf8("OffsetCommitRequestPartition.CommittedMetadata") from None
            at = stop
        items.append(OffsetCommitRequestPartition(partition_index, committed_offset, committed_leader_epoch, committed_metadata))
    return items, at


def _read_offset_commit_request_topic_6(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[OffsetCommitRequestTopic], int]:
    items: list[OffsetCommitRequestTopic] = []
    for _ in range(count):
        if end - at < 2:
            raise cut_off("OffsetCommitRequestTopic", "Name=2", end - at)
        n = _unpack_h(data, at)[0]
        at += 2
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("OffsetCommitRequestTopic.Name", n, end - at)
        try:
            name = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("OffsetCommitRequestTopic.Name") from None
        at = stop
        if end - at < 4:
            raise cut_off("OffsetCommitRequestTopic", "Partitions=4", end - at)
        n = _unpack_i(data, at)[0]
        at += 4
        room[0] -= n
        if n < 0 or 18 * n > end - at or room[0] < 0:
            raise bad_count("OffsetCommitRequestTopic.Partitions", n, end - at, room[0])
        partitions, at = _read_offset_commit_request_partition_6(data, at, end, room, n)
        items.append(OffsetCommitRequestTopic(name, NO_UUID, partitions))
    return items, at


def _read_offset_commit_request_6(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[OffsetCommitRequest], int]:
    items: list[OffsetCommitRequest] = []
    for _ in range(count):
        if end - at < 2:
            raise cut_off("OffsetCommitRequest", "GroupId=2", end - at)
        n = _unpack_h(data, at)[0]
        at += 2
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("OffsetCommitRequest.GroupId", n, end - at)
        try:
            group_id = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("OffsetCommitRequest.GroupId") from None
        at = stop
        if end - at < 6:
            raise cut_off("OffsetCommitRequest", "GenerationIdOrMemberEpoch=4 MemberId=2", end - at)
        generation_id_or_member_epoch, n = _unpack_ih(data, at)
        at += 6
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("OffsetCommitRequest.MemberId", n, end - at)
        try:
            member_id = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("OffsetCommitRequest.MemberId") from None
        at = stop
        if end - at < 4:
            raise cut_off("OffsetCommitRequest", "Topics=4", end - at)
        n = _unpack_i(data, at)[0]
        at += 4
        room[0] -= n
        if n < 0 or 6 * n > end - at or room[0] < 0:
            raise bad_count("OffsetCommitRequest.Topics", n, end - at, room[0])
        topics, at = _read_offset_commit_request_topic_6(data, at, end, room, n)
        items.append(OffsetCommitRequest(group_id, generation_id_or_member_epoch, member_id, None, -1, topics))
    return items, at


def _read_offset_commit_request_7(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[OffsetCommitRequest], int]:
    items: list[OffsetCommitRequest] = []
    for _ in range(count):
        if end - at < 2:
            raise cut_off("OffsetCommitRequest", "GroupId=2", end - at)
        n = _unpack_h(data, at)[0]
        at += 2
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("OffsetCommitRequest.GroupId", n, end - at)
        try:
            group_id = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("OffsetCommitRequest.GroupId") from None
        at = stop
        if end - at < 6:
            raise cut_off("OffsetCommitRequest", "GenerationIdOrMemberEpoch=4 MemberId=2", end - at)
        generation_id_or_member_epoch, n = _unpack_ih(data, at)
        at += 6
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("OffsetCommitRequest.MemberId", n, end - at)
        try:
            member_id = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("OffsetCommitRequest.MemberId") from None
        at = stop
        if end - at < 2:
            raise cut_off("OffsetCommitRequest", "GroupInstanceId=2", end - at)
        n = _unpack_h(data, at)[0]
        at += 2
        if n == -1:
            group_instance_id = None
        else:
            stop = at + n
            if n < 0 or stop > end:
                raise bad_length("OffsetCommitRequest.GroupInstanceId", n, end - at)
            try:
                group_instance_id = data[at:stop].decode()
            except UnicodeDecodeError:
                raise not_utf8("OffsetCommitRequest.GroupInstanceId") from None
            at = stop
        if end - at < 4:
            raise cut_off("OffsetCommitRequest", "Topics=4", end - at)
        n = _unpack_i(data, at)[0]
        at += 4
        room[0] -= n
        if n < 0 or 6 * n > end - at or room[0] < 0:
            raise bad_count("OffsetCommitRequest.Topics", n, end - at, room[0])
        topics, at = _read_offset_commit_request_topic_6(data, at, end, room, n)
        items.append(OffsetCommitRequest(group_id, generation_id_or_member_epoch, member_id, group_instance_id, -1, topics))
    return items, at


def _read_offset_commit_request_partition_8(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[OffsetCommitRequestPartition], int]:
    items: list[OffsetCommitRequestPartition] = []
    for _ in range(count):
        if end - at < 17:
            raise cut_off("OffsetCommitRequestPartition", "PartitionIndex=4 CommittedOffset=8 CommittedLeaderEpoch=4 CommittedMetadata=1", end - at)
        partition_index, committed_offset, committed_leader_epoch, n = _unpack_iqiB(data, at)
        at += 17
        if n > 127:
            n, at = long_text(data, at, end, n, "OffsetCommitRequestPartition.CommittedMetadata")
        if n == 0:
            committed_metadata = None
        else:
            stop = at + n - 1
            if n < 1 or stop > end:
                raise bad_length("OffsetCommitRequestPartition.CommittedMetadata", n - 1, end - at)
            try:
                committed_metadata = data[at:stop].decode()
            except UnicodeDecodeError:
                raise not_utf8("OffsetCommitRequestPartition.CommittedMetadata") from None
            at = stop
        if at >= end:
            raise cut_off("OffsetCommitRequestPartition", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "OffsetCommitRequestPartition")
        items.append(OffsetCommitRequestPartition(partition_index, committed_offset, committed_leader_epoch, committed_metadata))
    return items, at


def _read_offset_commit_request_topic_8(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[OffsetCommitRequestTopic], int]:
    items: list[OffsetCommitRequestTopic] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("OffsetCommitRequestTopic", "Name=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "OffsetCommitRequestTopic.Name")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("OffsetCommitRequestTopic.Name", n - 1, end - at)
        try:
            name = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("OffsetCommitRequestTopic.Name") from None
        at = stop
        if at >= end:
            raise cut_off("OffsetCommitRequestTopic", "Partitions=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "OffsetCommitRequestTopic.Partitions")
        n -= 1
        room[0] -= n
        if n < 0 or 18 * n > end - at or room[0] < 0:
            raise bad_count("OffsetCommitRequestTopic.Partitions", n, end - at, room[0])
        partitions, at = _read_offset_commit_request_partition_8(data, at, end, room, n)
        if at >= end:
            raise cut_off("OffsetCommitRequestTopic", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "OffsetCommitRequestTopic")
        items.append(OffsetCommitRequestTopic(name, NO_UUID, partitions))
    return items, at


def _read_offset_commit_request_8(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[OffsetCommitRequest], int]:
    items: list[OffsetCommitRequest] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("OffsetCommitRequest", "GroupId=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "OffsetCommitRequest.GroupId")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("OffsetCommitRequest.GroupId", n - 1, end - at)
        try:
            group_id = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("OffsetCommitRequest.GroupId") from None
        at = stop
        if end - at < 5:
            raise cut_off("OffsetCommitRequest", "GenerationIdOrMemberEpoch=4 MemberId=1", end - at)
        generation_id_or_member_epoch, n = _unpack_iB(data, at)
        at += 5
        if n > 127:
            n, at = long_text(data, at, end, n, "OffsetCommitRequest.MemberId")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("OffsetCommitRequest.MemberId", n - 1, end - at)
        try:
            member_id = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("OffsetCommitRequest.MemberId") from None
        at = stop
        if at >= end:
            raise cut_off("OffsetCommitRequest", "GroupInstanceId=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "OffsetCommitRequest.GroupInstanceId")
        if n == 0:
            group_instance_id = None
        else:
            stop = at + n - 1
            if n < 1 or stop > end:
                raise bad_length("OffsetCommitRequest.GroupInstanceId", n - 1, end - at)
            try:
                group_instance_id = data[at:stop].decode()
            except UnicodeDecodeError:
                raise not_utf8("OffsetCommitRequest.GroupInstanceId") from None
            at = stop
        if at >= end:
            raise cut_off("OffsetCommitRequest", "Topics=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "OffsetCommitRequest.Topics")
        n -= 1
        room[0] -= n
        if n < 0 or 3 * n > end - at or room[0] < 0:
            raise bad_count("OffsetCommitRequest.Topics", n, end - at, room[0])
        topics, at = _read_offset_commit_request_topic_8(data, at, end, room, n)
        if at >= end:
            raise cut_off("OffsetCommitRequest", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "OffsetCommitRequest")
        items.append(OffsetCommitRequest(group_id, generation_id_or_member_epoch, member_id, group_instance_id, -1, topics))
    return items, at


def _read_offset_commit_request_topic_10(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[OffsetCommitRequestTopic], int]:
    items: list[OffsetCommitRequestTopic] = []
    for _ in range(count):
        if end - at < 17:
            raise cut_off("OffsetCommitRequestTopic", "TopicId=16 Partitions=1", end - at)
        topic_id, n = _unpack_16sB(data, at)
        at += 17
        if n > 127:
            n, at = long_varint(data, at, end, n, "OffsetCommitRequestTopic.Partitions")
        n -= 1
        room[0] -= n
        if n < 0 or 18 * n > end - at or room[0] < 0:
            raise bad_count("OffsetCommitRequestTopic.Partitions", n, end - at, room[0])
        partitions, at = _read_offset_commit_request_partition_8(data, at, end, room, n)
        if at >= end:
            raise cut_off("OffsetCommitRequestTopic", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "OffsetCommitRequestTopic")
        items.append(OffsetCommitRequestTopic("", topic_id, partitions))
    return items, at


def _read_offset_commit_request_10(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[OffsetCommitRequest], int]:
    items: list[OffsetCommitRequest] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("OffsetCommitRequest", "GroupId=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "OffsetCommitRequest.GroupId")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("OffsetCommitRequest.GroupId", n - 1, end - at)
        try:
            group_id = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("OffsetCommitRequest.GroupId") from None
        at = stop
        if end - at < 5:
            raise cut_off("OffsetCommitRequest", "GenerationIdOrMemberEpoch=4 MemberId=1", end - at)
        generation_id_or_member_epoch, n = _unpack_iB(data, at)
        at += 5
        if n > 127:
            n, at = long_text(data, at, end, n, "OffsetCommitRequest.MemberId")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("OffsetCommitRequest.MemberId", n - 1, end - at)
        try:
            member_id = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("OffsetCommitRequest.MemberId") from None
        at = stop
        if at >= end:
            raise cut_off("OffsetCommitRequest", "GroupInstanceId=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "OffsetCommitRequest.GroupInstanceId")
        if n == 0:
            group_instance_id = None
        else:
            stop = at + n - 1
            if n < 1 or stop > end:
                raise bad_length("OffsetCommitRequest.GroupInstanceId", n - 1, end - at)
            try:
                group_instance_id = data[at:stop].decode()
            except UnicodeDecodeError:
                raise not_utf8("OffsetCommitRequest.GroupInstanceId") from None
            at = stop
        if at >= end:
            raise cut_off("OffsetCommitRequest", "Topics=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "OffsetCommitRequest.Topics")
        n -= 1
        room[0] -= n
        if n < 0 or 18 * n > end - at or room[0] < 0:
            raise bad_count("OffsetCommitRequest.Topics", n, end - at, room[0])
        topics, at = _read_offset_commit_request_topic_10(data, at, end, room, n)
        if at >= end:
            raise cut_off("OffsetCommitRequest", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "OffsetCommitRequest")
        items.append(OffsetCommitRequest(group_id, generation_id_or_member_epoch, member_id, group_instance_id, -1, topics))
    return items, at


def _write_offset_commit_request_partition_2(items: Iterable[OffsetCommitRequestPartition], out: list[Buffer]) -> None:
    for m in items:
        committed_metadata = m.committed_metadata
        if committed_metadata is None:
            content = b""
            n = -1
        else:
            content = committed_metadata.encode()
            n = len(content)
        out.append(_pack_iqh(m.partition_index, m.committed_offset, n))
        out.append(content)


def _write_offset_commit_request_topic_2(items: Iterable[OffsetCommitRequestTopic], out: list[Buffer]) -> None:
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
            _write_offset_commit_request_partition_2(partitions, out)


def _write_offset_commit_request_2(items: Iterable[OffsetCommitRequest], out: list[Buffer]) -> None:
    for m in items:
        group_id = m.group_id
        content = group_id.encode()
        n = len(content)
        out.append(_pack_h(n))
        out.append(content)
        member_id = m.member_id
        content = member_id.encode()
        n = len(content)
        out.append(_pack_ih(m.generation_id_or_member_epoch, n))
        out.append(content)
        topics = m.topics
        n = len(topics)
        out.append(_pack_qi(m.retention_time_ms, n))
        if topics:
            _write_offset_commit_request_topic_2(topics, out)


def _write_offset_commit_request_5(items: Iterable[OffsetCommitRequest], out: list[Buffer]) -> None:
    for m in items:
        group_id = m.group_id
        content = group_id.encode()
        n = len(content)
        out.append(_pack_h(n))
        out.append(content)
        member_id = m.member_id
        content = member_id.encode()
        n = len(content)
        out.append(_pack_ih(m.generation_id_or_member_epoch, n))
        out.append(content)
        topics = m.topics
        n = len(topics)
        out.append(_pack_i(n))
        if topics:
            _write_offset_commit_request_topic_2(topics, out)


def _write_offset_commit_request_partition_6(items: Iterable[OffsetCommitRequestPartition], out: list[Buffer]) -> None:
    for m in items:
        committed_metadata = m.committed_metadata
        if committed_metadata is None:
            content = b""
            n = -1
        else:
            content = committed_metadata.encode()
            n = len(content)
        out.append(_pack_iqih(m.partition_index, m.committed_offset, m.committed_leader_epoch, n))
        out.append(content)


def _write_offset_commit_request_topic_6(items: Iterable[OffsetCommitRequestTopic], out: list[Buffer]) -> None:
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
            _write_offset_commit_request_partition_6(partitions, out)


def _write_offset_commit_request_6(items: Iterable[OffsetCommitRequest], out: list[Buffer]) -> None:
    for m in items:
        group_id = m.group_id
        content = group_id.encode()
        n = len(content)
        out.append(_pack_h(n))
        out.append(content)
        member_id = m.member_id
        content = member_id.encode()
        n = len(content)
        out.append(_pack_ih(m.generation_id_or_member_epoch, n))
        out.append(content)
        topics = m.topics
        n = len(topics)
        out.append(_pack_i(n))
        if topics:
            _write_offset_commit_request_topic_6(topics, out)


def _write_offset_commit_request_7(items: Iterable[OffsetCommitRequest], out: list[Buffer]) -> None:
    for m in items:
        group_id = m.group_id
        content = group_id.encode()
        n = len(content)
        out.append(_pack_h(n))
        out.append(content)
        member_id = m.member_id
        content = member_id.encode()
        n = len(content)
        out.append(_pack_ih(m.generation_id_or_member_epoch, n))
        out.append(content)
        group_instance_id = m.group_instance_id
        if group_instance_id is None:
            content = b""
            n = -1
        else:
            content = group_instance_id.encode()
            n = len(content)
        out.append(_pack_h(n))
        out.append(content)
        topics = m.topics
        n = len(topics)
        out.append(_pack_i(n))
        if topics:
            _write_offset_commit_request_topic_6(topics, out)


def _write_offset_commit_request_partition_8(items: Iterable[OffsetCommitRequestPartition], out: list[Buffer]) -> None:
    for m in items:
        committed_metadata = m.committed_metadata
        if committed_metadata is None:
            content = b""
            n = 0
        else:
            content = committed_metadata.encode()
            n = len(content) + 1
        if n > 127:
            out.append(_pack_iqi(m.partition_index, m.committed_offset, m.committed_leader_epoch) + text_length_of(n))
        else:
            out.append(_pack_iqiB(m.partition_index, m.committed_offset, m.committed_leader_epoch, n))
        out.append(content)
        out.append(ONE_BYTE[0])


def _write_offset_commit_request_topic_8(items: Iterable[OffsetCommitRequestTopic], out: list[Buffer]) -> None:
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
            _write_offset_commit_request_partition_8(partitions, out)
        out.append(ONE_BYTE[0])


def _write_offset_commit_request_8(items: Iterable[OffsetCommitRequest], out: list[Buffer]) -> None:
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
        content = member_id.encode()
        n = len(content) + 1
        if n > 127:
            out.append(_pack_i(m.generation_id_or_member_epoch) + text_length_of(n))
        else:
            out.append(_pack_iB(m.generation_id_or_member_epoch, n))
        out.append(content)
        group_instance_id = m.group_instance_id
        if group_instance_id is None:
            content = b""
            n = 0
        else:
            content = group_instance_id.encode()
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
            _write_offset_commit_request_topic_8(topics, out)
        out.append(ONE_BYTE[0])


def _write_offset_commit_request_topic_10(items: Iterable[OffsetCommitRequestTopic], out: list[Buffer]) -> None:
    for m in items:
        partitions = m.partitions
        n = len(partitions) + 1
        if n > 127:
            out.append(_pack_16s(m.topic_id) + varint_of(n))
        else:
            out.append(_pack_16sB(m.topic_id, n))
        if partitions:
            _write_offset_commit_request_partition_8(partitions, out)
        out.append(ONE_BYTE[0])


def _write_offset_commit_request_10(items: Iterable[OffsetCommitRequest], out: list[Buffer]) -> None:
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
        content = member_id.encode()
        n = len(content) + 1
        if n > 127:
            out.append(_pack_i(m.generation_id_or_member_epoch) + text_length_of(n))
        else:
            out.append(_pack_iB(m.generation_id_or_member_epoch, n))
        out.append(content)
        group_instance_id = m.group_instance_id
        if group_instance_id is None:
            content = b""
            n = 0
        else:
            content = group_instance_id.encode()
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
            _write_offset_commit_request_topic_10(topics, out)
        out.append(ONE_BYTE[0])


OffsetCommitRequest._READERS = {
    **dict.fromkeys(range(2, 5), _read_offset_commit_request_2),
    **dict.fromkeys(range(5, 6), _read_offset_commit_request_5),
    **dict.fromkeys(range(6, 7), _read_offset_commit_request_6),
    **dict.fromkeys(range(7, 8), _read_offset_commit_request_7),
    **dict.fromkeys(range(8, 10), _read_offset_commit_request_8),
    **dict.fromkeys(range(10, 11), _read_offset_commit_request_10),
}
OffsetCommitRequest._WRITERS = {
    **dict.fromkeys(range(2, 5), _write_offset_commit_request_2),
    **dict.fromkeys(range(5, 6), _write_offset_commit_request_5),
    **dict.fromkeys(range(6, 7), _write_offset_commit_request_6),
    **dict.fromkeys(range(7, 8), _write_offset_commit_request_7),
    **dict.fromkeys(range(8, 10), _write_offset_commit_request_8),
    **dict.fromkeys(range(10, 11), _write_offset_commit_request_10),
}
