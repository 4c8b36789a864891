"""AlterPartitionReassignmentsRequest of Kafka's protocol.

Generated from proto/kafka/alter_partition_reassignments.schema; do not edit.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import ClassVar

import msgspec

from tidelog.kafka.message import Message
from tidelog.kafka.wire import ONE_BYTE, Buffer, bad_count, bad_length, cut_off, long_text, long_varint, not_utf8, packer, read_numbers, skip_tags, text_length_of, varint_of


class AlterPartitionReassignmentsRequest(Message, gc=False):
    """Request of API 45, versions 0-1."""

    API_KEY: ClassVar[int] = 45
    VERSIONS: ClassVar[range] = range(0, 2)
    FLEXIBLE: ClassVar[range] = range(0, 2)

    timeout_ms: int = 60000
    allow_replication_factor_change: bool = True
    topics: list[ReassignableTopic] = []


class ReassignableTopic(msgspec.Struct, gc=False):
    name: str = ""
    partitions: list[ReassignablePartition] = []


class ReassignablePartition(msgspec.Struct, gc=False):
    partition_index: int = 0
    replicas: list[int] | None = None


_unpack_itB = Struct(">i?B").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_pack_i = Struct(">i").pack
_pack_it = Struct(">i?").pack
_pack_itB = Struct(">i?B").pack
_pack_iB = Struct(">iB").pack


def _read_reassignable_partition_0(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[ReassignablePartition], int]:
    items: list[ReassignablePartition] = []
    for _ in range(count):
        if end - at < 5:
            raise cut_off("ReassignablePartition", "PartitionIndex=4 Replicas=1", end - at)
        partition_index, n = _unpack_iB(data, at)
        at += 5
        if n > 127:
            n, at = long_varint(data, at, end, n, "ReassignablePartition.Replicas")
        if n == 0:
            replicas = None
        else:
            n -= 1
            room[0] -= n
            if n < 0 or 4 * n > end - at or room[0] < 0:
                raise bad_count("ReassignablePartition.Replicas", n, end - at, room[0])
            replicas = read_numbers(data, at, n, "i")
            at += 4 * n
        if at >= end:
            raise cut_off("ReassignablePartition", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "ReassignablePartition")
        items.append(ReassignablePartition(partition_index, replicas))
    return items, at


def _read_reassignable_topic_0(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[ReassignableTopic], int]:
    items: list[ReassignableTopic] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("ReassignableTopic", "Name=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "ReassignableTopic.Name")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("ReassignableTopic.Name", n - 1, end - at)
        try:
            name = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("ReassignableTopic.Name") from None
        at = stop
        if at >= end:
            raise cut_off("ReassignableTopic", "Partitions=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "ReassignableTopic.Partitions")
        n -= 1
        room[0] -= n
        if n < 0 or 6 * n > end - at or room[0] < 0:
            raise bad_count("ReassignableTopic.Partitions", n, end - at, room[0])
        partitions, at = _read_reassignable_partition_0(data, at, end, room, n)
        if at >= end:
            raise cut_off("ReassignableTopic", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "ReassignableTopic")
        items.append(ReassignableTopic(name, partitions))
    return items, at


def _read_alter_partition_reassignments_request_0(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[AlterPartitionReassignmentsRequest], int]:
    items: list[AlterPartitionReassignmentsRequest] = []
    for _ in range(count):
        if end - at < 5:
            raise cut_off("AlterPartitionReassignmentsRequest", "TimeoutMs=4 Topics=1", end - at)
        timeout_ms, n = _unpack_iB(data, at)
        at += 5
        if n > 127:
            n, at = long_varint(data, at, end, n, "AlterPartitionReassignmentsRequest.Topics")
        n -= 1
        room[0] -= n
        if n < 0 or 3 * n > end - at or room[0] < 0:
            raise bad_count("AlterPartitionReassignmentsRequest.Topics", n, end - at, room[0])
        topics, at = _read_reassignable_topic_0(data, at, end, room, n)
        if at >= end:
            raise cut_off("AlterPartitionReassignmentsRequest", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "AlterPartitionReassignmentsRequest")
        items.append(AlterPartitionReassignmentsRequest(timeout_ms, True, topics))
    return items, at


def _read_alter_partition_reassignments_request_1(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[AlterPartitionReassignmentsRequest], int]:
    items: list[AlterPartitionReassignmentsRequest] = []
    for _ in range(count):
        if end - at < 6:
            raise cut_off("AlterPartitionReassignmentsRequest", "TimeoutMs=4 AllowReplicationFactorChange=1 Topics=1", end - at)
        timeout_ms, allow_replication_factor_change, n = _unpack_itB(data, at)
        at += 6
        if n > 127:
            n, at = long_varint(data, at, end, n, "AlterPartitionReassignmentsRequest.Topics")
        n -= 1
        room[0] -= n
        if n < 0 or 3 * n > end - at or room[0] < 0:
            raise bad_count("AlterPartitionReassignmentsRequest.Topics", n, end - at, room[0])
        topics, at = _read_reassignable_topic_0(data, at, end, room, n)
        if at >= end:
            raise cut_off("AlterPartitionReassignmentsRequest", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "AlterPartitionReassignmentsRequest")
        items.append(AlterPartitionReassignmentsRequest(timeout_ms, allow_replication_factor_change, topics))
    return items, at


def _write_reassignable_partition_0(items: Iterable[ReassignablePartition], out: list[Buffer]) -> None:
    for m in items:
        replicas = m.replicas
        if replicas is None:
            n = 0
        else:
            n = len(replicas) + 1
        if n > 127:
            out.append(_pack_i(m.partition_index) + varint_of(n))
        else:
            out.append(_pack_iB(m.partition_index, n))
        if replicas:
            out.append(packer(len(replicas), "i")(*replicas))
        out.append(ONE_BYTE[0])


def _write_reassignable_topic_0(items: Iterable[ReassignableTopic], out: list[Buffer]) -> None:
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
            _write_reassignable_partition_0(partitions, out)
        out.append(ONE_BYTE[0])


def _write_alter_partition_reassignments_request_0(items: Iterable[AlterPartitionReassignmentsRequest], out: list[Buffer]) -> None:
    for m in items:
        topics = m.topics
        n = len(topics) + 1
        if n > 127:
            out.append(_pack_i(m.timeout_ms) + varint_of(n))
        else:
            out.append(_pack_iB(m.timeout_ms, n))
        if topics:
            _write_reassignable_topic_0(topics, out)
        out.append(ONE_BYTE[0])


def _write_alter_partition_reassignments_request_1(items: Iterable[AlterPartitionReassignmentsRequest], out: list[Buffer]) -> None:
    for m in items:
        topics = m.topics
        n = len(topics) + 1
        if n > 127:
            out.append(_pack_it(m.timeout_ms, m.allow_replication_factor_change) + varint_of(n))
        else:
            out.append(_pack_itB(m.timeout_ms, m.allow_replication_factor_change, n))
        if topics:
            _write_reassignable_topic_0(topics, out)
        out.append(ONE_BYTE[0])


AlterPartitionReassignmentsRequest._READERS = {
    **dict.fromkeys(range(0, 1), _read_alter_partition_reassignments_request_0),
    **dict.fromkeys(range(1, 2), _read_alter_partition_reassignments_request_1),
}
AlterPartitionReassignmentsRequest._WRITERS = {
    **dict.fromkeys(range(0, 1), _write_alter_partition_reassignments_request_0),
    **dict.fromkeys(range(1, 2), _write_alter_partition_reassignments_request_1),
}
