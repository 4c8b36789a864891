"""DescribeTopicPartitionsResponse of Kafka's protocol.

Generated from proto/kafka/describe_topic_partitions.schema; do not edit.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import ClassVar

import msgspec

from tidelog.kafka.message import Message
from tidelog.kafka.wire import NO_UUID, ONE_BYTE, Buffer, bad_count, bad_length, cut_off, long_text, long_varint, not_utf8, packer, read_numbers, skip_tags, text_length_of, varint_of


class DescribeTopicPartitionsResponse(Message, gc=False):
    """Response of API 75, versions 0."""

    API_KEY: ClassVar[int] = 75
    VERSIONS: ClassVar[range] = range(0, 1)
    FLEXIBLE: ClassVar[range] = range(0, 1)

    throttle_time_ms: int = 0
    topics: list[DescribeTopicPartitionsResponseTopic] = []
    next_cursor: Cursor | None = None


class DescribeTopicPartitionsResponseTopic(msgspec.Struct, gc=False):
    error_code: int = 0
    name: str | None = ""
    topic_id: bytes = NO_UUID
    is_internal: bool = False
    partitions: list[DescribeTopicPartitionsResponsePartition] = []
    topic_authorized_operations: int = -2147483648


class DescribeTopicPartitionsResponsePartition(msgspec.Struct, gc=False):
    error_code: int = 0
    partition_index: int = 0
    leader_id: int = 0
    leader_epoch: int = -1
    replica_nodes: list[int] = []
    isr_nodes: list[int] = []
    eligible_leader_replicas: list[int] | None = None
    last_known_elr: list[int] | None = None
    offline_replicas: list[int] = []


class Cursor(msgspec.Struct, gc=False):
    topic_name: str = ""
    partition_index: int = 0


_unpack_16stB = Struct(">16s?B").unpack_from
_unpack_b = Struct(">b").unpack_from
_unpack_hB = Struct(">hB").unpack_from
_unpack_hiiiB = Struct(">hiiiB").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_pack_16st = Struct(">16s?").pack
_pack_16stB = Struct(">16s?B").pack
_pack_b = Struct(">b").pack
_pack_h = Struct(">h").pack
_pack_hB = Struct(">hB").pack
_pack_hiii = Struct(">hiii").pack
_pack_hiiiB = Struct(">hiiiB").pack
_pack_i = Struct(">i").pack
_pack_iB = Struct(">iB").pack
_pack_ix = Struct(">ix").pack


def _read_describe_topic_partitions_response_partition_0(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[DescribeTopicPartitionsResponsePartition], int]:
    items: list[DescribeTopicPartitionsResponsePartition] = []
    for _ in range(count):
        if end - at < 15:
            raise cut_off("DescribeTopicPartitionsResponsePartition", "ErrorCode=2 PartitionIndex=4 LeaderId=4 LeaderEpoch=4 ReplicaNodes=1", end - at)
        error_code, partition_index, leader_id, leader_epoch, n = _unpack_hiiiB(data, at)
        at += 15
        if n > 127:
            n, at = long_varint(data, at, end, n, "DescribeTopicPartitionsResponsePartition.ReplicaNodes")
        n -= 1
        room[0] -= n
        if n < 0 or 4 * n > end - at or room[0] < 0:
            raise bad_count("DescribeTopicPartitionsResponsePartition.ReplicaNodes", n, end - at, room[0])
        replica_nodes = read_numbers(data, at, n, "i")
        at += 4 * n
        if at >= end:
            raise cut_off("DescribeTopicPartitionsResponsePartition", "IsrNodes=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "DescribeTopicPartitionsResponsePartition.IsrNodes")
        n -= 1
        room[0] -= n
        if n < 0 or 4 * n > end - at or room[0] < 0:
            raise bad_count("DescribeTopicPartitionsResponsePartition.IsrNodes", n, end - at, room[0])
        isr_nodes = read_numbers(data, at, n, "i")
        at += 4 * n
        if at >= end:
            raise cut_off("DescribeTopicPartitionsResponsePartition", "EligibleLeaderReplicas=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "DescribeTopicPartitionsResponsePartition.EligibleLeaderReplicas")
        if n == 0:
            eligible_leader_replicas = None
        else:
            n -= 1
            room[0] -= n
            if n < 0 or 4 * n > end - at or room[0] < 0:
                raise bad_count("DescribeTopicPartitionsResponsePartition.EligibleLeaderReplicas", n, end - at, room[0])
            eligible_leader_replicas = read_numbers(data, at, n, "i")
            at += 4 * n
        if at >= end:
            raise cut_off("DescribeTopicPartitionsResponsePartition", "LastKnownElr=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "DescribeTopicPartitionsResponsePartition.LastKnownElr")
        if n == 0:
            last_known_elr = None
        else:
            n -= 1
            room[0] -= n
            if n < 0 or 4 * n > end - at or room[0] < 0:
                raise bad_count("DescribeTopicPartitionsResponsePartition.LastKnownElr", n, end - at, room[0])
            last_known_elr = read_numbers(data, at, n, "i")
            at += 4 * n
        if at >= end:
            raise cut_off("DescribeTopicPartitionsResponsePartition", "OfflineReplicas=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "DescribeTopicPartitionsResponsePartition.OfflineReplicas")
        n -= 1
        room[0] -= n
        if n < 0 or 4 * n > end - at or room[0] < 0:
            raise bad_count("DescribeTopicPartitionsResponsePartition.OfflineReplicas", n, end - at, room[0])
        offline_replicas = read_numbers(data, at, n, "i")
        at += 4 * n
        if at >= end:
            raise cut_off("DescribeTopicPartitionsResponsePartition", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "DescribeTopicPartitionsResponsePartition")
        items.append(DescribeTopicPartitionsResponsePartition(error_code, partition_index, leader_id, leader_epoch, replica_nodes, isr_nodes, eligible_leader_replicas, last_known_elr, offline_replicas))
    return items, at


def _read_describe_topic_partitions_response_topic_0(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[DescribeTopicPartitionsResponseTopic], int]:
    items: list[DescribeTopicPartitionsResponseTopic] = []
    for _ in range(count):
        if end - at < 3:
            raise cut_off("DescribeTopicPartitionsResponseTopic", "ErrorCode=2 Name=1", end - at)
        error_code, n = _unpack_hB(data, at)
        at += 3
        if n > 127:
            n, at = long_text(data, at, end, n, "DescribeTopicPartitionsResponseTopic.Name")
        if n == 0:
            name = None
        else:
            stop = at + n - 1
            if n < 1 or stop > end:
                raise bad_length("DescribeTopicPartitionsResponseTopic.Name", n - 1, end - at)
            try:
                name = data[at:stop].decode()
            except UnicodeDecodeError:
                raise not_utf8("DescribeTopicPartitionsResponseTopic.Name") from None
            at = stop
        if end - at < 18:
            raise cut_off("DescribeTopicPartitionsResponseTopic", "TopicId=16 IsInternal=1 Partitions=1", end - at)
        topic_id, is_internal, n = _unpack_16stB(data, at)
        at += 18
        if n > 127:
            n, at = long_varint(data, at, end, n, "DescribeTopicPartitionsResponseTopic.Partitions")
        n -= 1
        room[0] -= n
        if n < 0 or 20 * n > end - at or room[0] < 0:
            raise bad_count("DescribeTopicPartitionsResponseTopic.Partitions", n, end - at, room[0])
        partitions, at = _read_describe_topic_partitions_response_partition_0(data, at, end, room, n)
        if end - at < 5:
            raise cut_off("DescribeTopicPartitionsResponseTopic", "TopicAuthorizedOperations=4 tags=1", end - at)
        topic_authorized_operations, tags = _unpack_iB(data, at)
        at += 5
        if tags:
            at = skip_tags(data, at, end, tags, "DescribeTopicPartitionsResponseTopic")
        items.append(DescribeTopicPartitionsResponseTopic(error_code, name, topic_id, is_internal, partitions, topic_authorized_operations))
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


def _read_describe_topic_partitions_response_0(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[DescribeTopicPartitionsResponse], int]:
    items: list[DescribeTopicPartitionsResponse] = []
    for _ in range(count):
        if end - at < 5:
            raise cut_off("DescribeTopicPartitionsResponse", "ThrottleTimeMs=4 Topics=1", end - at)
        throttle_time_ms, n = _unpack_iB(data, at)
        at += 5
        if n > 127:
            n, at = long_varint(data, at, end, n, "DescribeTopicPartitionsResponse.Topics")
        n -= 1
        room[0] -= n
        if n < 0 or 26 * n > end - at or room[0] < 0:
            raise bad_count("DescribeTopicPartitionsResponse.Topics", n, end - at, room[0])
        topics, at = _read_describe_topic_partitions_response_topic_0(data, at, end, room, n)
        if at >= end:
            raise cut_off("DescribeTopicPartitionsResponse", "NextCursor=1", end - at)
        n = _unpack_b(data, at)[0]
        at += 1
        if n < 0:
            next_cursor = None
        else:
            (next_cursor,), at = _read_cursor_0(data, at, end, room, 1)
        if at >= end:
            raise cut_off("DescribeTopicPartitionsResponse", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "DescribeTopicPartitionsResponse")
        items.append(DescribeTopicPartitionsResponse(throttle_time_ms, topics, next_cursor))
    return items, at


def _write_describe_topic_partitions_response_partition_0(items: Iterable[DescribeTopicPartitionsResponsePartition], out: list[Buffer]) -> None:
    for m in items:
        replica_nodes = m.replica_nodes
        n = len(replica_nodes) + 1
        if n > 127:
            out.append(_pack_hiii(m.error_code, m.partition_index, m.leader_id, m.leader_epoch) + varint_of(n))
        else:
            out.append(_pack_hiiiB(m.error_code, m.partition_index, m.leader_id, m.leader_epoch, n))
        if replica_nodes:
            out.append(packer(len(replica_nodes), "i")(*replica_nodes))
        isr_nodes = m.isr_nodes
        n = len(isr_nodes) + 1
        if n > 127:
            out.append(varint_of(n))
        else:
            out.append(ONE_BYTE[n])
        if isr_nodes:
            out.append(packer(len(isr_nodes), "i")(*isr_nodes))
        eligible_leader_replicas = m.eligible_leader_replicas
        if eligible_leader_replicas is None:
            n = 0
        else:
            n = len(eligible_leader_replicas) + 1
        if n > 127:
            out.append(varint_of(n))
        else:
            out.append(ONE_BYTE[n])
        if eligible_leader_replicas:
            out.append(packer(len(eligible_leader_replicas), "i")(*eligible_leader_replicas))
        last_known_elr = m.last_known_elr
        if last_known_elr is None:
            n = 0
        else:
            n = len(last_known_elr) + 1
        if n > 127:
            out.append(varint_of(n))
        else:
            out.append(ONE_BYTE[n])
        if last_known_elr:
            out.append(packer(len(last_known_elr), "i")(*last_known_elr))
        offline_replicas = m.offline_replicas
        n = len(offline_replicas) + 1
        if n > 127:
            out.append(varint_of(n))
        else:
            out.append(ONE_BYTE[n])
        if offline_replicas:
            out.append(packer(len(offline_replicas), "i")(*offline_replicas))
        out.append(ONE_BYTE[0])


def _write_describe_topic_partitions_response_topic_0(items: Iterable[DescribeTopicPartitionsResponseTopic], out: list[Buffer]) -> None:
    for m in items:
        name = m.name
        if name is None:
            content = b""
            n = 0
        else:
            content = name.encode()
            n = len(content) + 1
        if n > 127:
            out.append(_pack_h(m.error_code) + text_length_of(n))
        else:
            out.append(_pack_hB(m.error_code, n))
        out.append(content)
        partitions = m.partitions
        n = len(partitions) + 1
        if n > 127:
            out.append(_pack_16st(m.topic_id, m.is_internal) + varint_of(n))
        else:
            out.append(_pack_16stB(m.topic_id, m.is_internal, n))
        if partitions:
            _write_describe_topic_partitions_response_partition_0(partitions, out)
        out.append(_pack_ix(m.topic_authorized_operations))


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


def _write_describe_topic_partitions_response_0(items: Iterable[DescribeTopicPartitionsResponse], out: list[Buffer]) -> None:
    for m in items:
        topics = m.topics
        n = len(topics) + 1
        if n > 127:
            out.append(_pack_i(m.throttle_time_ms) + varint_of(n))
        else:
            out.append(_pack_iB(m.throttle_time_ms, n))
        if topics:
            _write_describe_topic_partitions_response_topic_0(topics, out)
        next_cursor = m.next_cursor
        out.append(_pack_b(-1 if next_cursor is None else 1))
        if next_cursor is not None:
            _write_cursor_0((next_cursor,), out)
        out.append(ONE_BYTE[0])


DescribeTopicPartitionsResponse._READERS = {
    **dict.fromkeys(range(0, 1), _read_describe_topic_partitions_response_0),
}
DescribeTopicPartitionsResponse._WRITERS = {
    **dict.fromkeys(range(0, 1), _write_describe_topic_partitions_response_0),
}
