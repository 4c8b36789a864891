"""ListPartitionReassignmentsRequest of Kafka's protocol.

Generated from proto/kafka/list_partition_reassignments.schema; do not edit.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import ClassVar

import msgspec

from tidelog.kafka.message import Message
from tidelog.kafka.wire import ONE_BYTE, Buffer, bad_count, bad_length, cut_off, long_text, long_varint, not_utf8, packer, read_numbers, skip_tags, text_length_of, varint_of


class ListPartitionReassignmentsRequest(Message, gc=False):
    """Request of API 46, versions 0."""

    API_KEY: ClassVar[int] = 46
    VERSIONS: ClassVar[range] = range(0, 1)
    FLEXIBLE: ClassVar[range] = range(0, 1)

    timeout_ms: int = 60000
    topics: list[ListPartitionReassignmentsTopics] | None = None


class ListPartitionReassignmentsTopics(msgspec.Struct, gc=False):
    name: str = ""
    partition_indexes: list[int] = []


_unpack_iB = Struct(">iB").unpack_from
_pack_i = Struct(">i").pack
_pack_iB = Struct(">iB").pack


def _read_list_partition_reassignments_topics_0(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[ListPartitionReassignmentsTopics], int]:
    items: list[ListPartitionReassignmentsTopics] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("ListPartitionReassignmentsTopics", "Name=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "ListPartitionReassignmentsTopics.Name")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("ListPartitionReassignmentsTopics.Name", n - 1, end - at)
        try:
            name = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("ListPartitionReassignmentsTopics.Name") from None
        at = stop
        if at >= end:
            raise cut_off("ListPartitionReassignmentsTopics", "PartitionIndexes=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "ListPartitionReassignmentsTopics.PartitionIndexes")
        n -= 1
        room[0] -= n
        if n < 0 or 4 * n > end - at or room[0] < 0:
            raise bad_count("ListPartitionReassignmentsTopics.PartitionIndexes", n, end - at, room[0])
        partition_indexes = read_numbers(data, at, n, "i")
        at += 4 * n
        if at >= end:
            raise cut_off("ListPartitionReassignmentsTopics", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "ListPartitionReassignmentsTopics")
        items.append(ListPartitionReassignmentsTopics(name, partition_indexes))
    return items, at


def _read_list_partition_reassignments_request_0(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[ListPartitionReassignmentsRequest], int]:
    items: list[ListPartitionReassignmentsRequest] = []
    for _ in range(count):
        if end - at < 5:
            raise cut_off("ListPartitionReassignmentsRequest", "TimeoutMs=4 Topics=1", end - at)
        timeout_ms, n = _unpack_iB(data, at)
        at += 5
        if n > 127:
            n, at = long_varint(data, at, end, n, "ListPartitionReassignmentsRequest.Topics")
        if n == 0:
            topics = None
        else:
            n -= 1
            room[0] -= n
            if n < 0 or 3 * n > end - at or room[0] < 0:
                raise bad_count("ListPartitionReassignmentsRequest.Topics", n, end - at, room[0])
            topics, at = _read_list_partition_reassignments_topics_0(data, at, end, room, n)
        if at >= end:
            raise cut_off("ListPartitionReassignmentsRequest", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "ListPartitionReassignmentsRequest")
        items.append(ListPartitionReassignmentsRequest(timeout_ms, topics))
    return items, at


def _write_list_partition_reassignments_topics_0(items: Iterable[ListPartitionReassignmentsTopics], out: list[Buffer]) -> None:
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


def _write_list_partition_reassignments_request_0(items: Iterable[ListPartitionReassignmentsRequest], out: list[Buffer]) -> None:
    for m in items:
        topics = m.topics
        if topics is None:
            n = 0
        else:
            n = len(topics) + 1
        if n > 127:
            out.append(_pack_i(m.timeout_ms) + varint_of(n))
        else:
            out.append(_pack_iB(m.timeout_ms, n))
        if topics:
            _write_list_partition_reassignments_topics_0(topics, out)
        out.append(ONE_BYTE[0])


ListPartitionReassignmentsRequest._READERS = {
    **dict.fromkeys(range(0, 1), _read_list_partition_reassignments_request_0),
}
ListPartitionReassignmentsRequest._WRITERS = {
    **dict.fromkeys(range(0, 1), _write_list_partition_reassignments_request_0),
}
