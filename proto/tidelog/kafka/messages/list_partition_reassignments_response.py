"""ListPartitionReassignmentsResponse of Kafka's protocol.

Generated from proto/kafka/list_partition_reassignments.schema; do not edit.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import ClassVar

import msgspec

from tidelog.kafka.message import Message
from tidelog.kafka.wire import ONE_BYTE, Buffer, bad_count, bad_length, cut_off, long_text, long_varint, not_utf8, packer, read_numbers, skip_tags, text_length_of, varint_of


class ListPartitionReassignmentsResponse(Message, gc=False):
    """Response of API 46, versions 0."""

    API_KEY: ClassVar[int] = 46
    VERSIONS: ClassVar[range] = range(0, 1)
    FLEXIBLE: ClassVar[range] = range(0, 1)

    throttle_time_ms: int = 0
    error_code: int = 0
    error_message: str | None = ""
    topics: list[OngoingTopicReassignment] = []


class OngoingTopicReassignment(msgspec.Struct, gc=False):
    name: str = ""
    partitions: list[OngoingPartitionReassignment] = []


class OngoingPartitionReassignment(msgspec.Struct, gc=False):
    partition_index: int = 0
    replicas: list[int] = []
    adding_replicas: list[int] = []
    removing_replicas: list[int] = []


_unpack_iB = Struct(">iB").unpack_from
_unpack_ihB = Struct(">ihB").unpack_from
_pack_i = Struct(">i").pack
_pack_iB = Struct(">iB").pack
_pack_ih = Struct(">ih").pack
_pack_ihB = Struct(">ihB").pack


def _read_ongoing_partition_reassignment_0(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[OngoingPartitionReassignment], int]:
    items: list[OngoingPartitionReassignment] = []
    for _ in range(count):
        if end - at < 5:
            raise cut_off("OngoingPartitionReassignment", "PartitionIndex=4 Replicas=1", end - at)
        partition_index, n = _unpack_iB(data, at)
        at += 5
        if n > 127:
            n, at = long_varint(data, at, end, n, "OngoingPartitionReassignment.Replicas")
        n -= 1
        room[0] -= n
        if n < 0 or 4 * n > end - at or room[0] < 0:
            raise bad_count("OngoingPartitionReassignment.Replicas", n, end - at, room[0])
        replicas = read_numbers(data, at, n, "i")
        at += 4 * n
        if at >= end:
            raise cut_off("OngoingPartitionReassignment", "AddingReplicas=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "OngoingPartitionReassignment.AddingReplicas")
        n -= 1
        room[0] -= n
        if n < 0 or 4 * n > end - at or room[0] < 0:
            raise bad_count("OngoingPartitionReassignment.AddingReplicas", n, end - at, room[0])
        adding_replicas = read_numbers(data, at, n, "i")
        at += 4 * n
        if at >= end:
            raise cut_off("OngoingPartitionReassignment", "RemovingReplicas=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "OngoingPartitionReassignment.RemovingReplicas")
        n -= 1
        room[0] -= n
        if n < 0 or 4 * n > end - at or room[0] < 0:
            raise bad_count("OngoingPartitionReassignment.RemovingReplicas", n, end - at, room[0])
        removing_replicas = read_numbers(data, at, n, "i")
        at += 4 * n
        if at >= end:
            raise cut_off("OngoingPartitionReassignment", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "OngoingPartitionReassignment")
        items.append(OngoingPartitionReassignment(partition_index, replicas, adding_replicas, removing_replicas))
    return items, at


def _read_ongoing_topic_reassignment_0(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[OngoingTopicReassignment], int]:
    items: list[OngoingTopicReassignment] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("OngoingTopicReassignment", "Name=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "OngoingTopicReassignment.Name")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("OngoingTopicReassignment.Name", n - 1, end - at)
        try:
            name = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("OngoingTopicReassignment.Name") from None
        at = stop
        if at >= end:
            raise cut_off("OngoingTopicReassignment", "Partitions=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "OngoingTopicReassignment.Partitions")
        n -= 1
        room[0] -= n
        if n < 0 or 8 * n > end - at or room[0] < 0:
            raise bad_count("OngoingTopicReassignment.Partitions", n, end - at, room[0])
        partitions, at = _read_ongoing_partition_reassignment_0(data, at, end, room, n)
        if at >= end:
            raise cut_off("OngoingTopicReassignment", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "OngoingTopicReassignment")
        items.append(OngoingTopicReassignment(name, partitions))
    return items, at


def _read_list_partition_reassignments_response_0(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[ListPartitionReassignmentsResponse], int]:
    items: list[ListPartitionReassignmentsResponse] = []
    for _ in range(count):
        if end - at < 7:
            raise cut_off("ListPartitionReassignmentsResponse", "ThrottleTimeMs=4 ErrorCode=2 ErrorMessage=1", end - at)
        throttle_time_ms, error_code, n = _unpack_ihB(data, at)
        at += 7
        if n > 127:
            n, at = long_text(data, at, end, n, "ListPartitionReassignmentsResponse.ErrorMessage")
        if n == 0:
            error_message = None
        else:
            stop = at + n - 1
            if n < 1 or stop > end:
                raise bad_length("ListPartitionReassignmentsResponse.ErrorMessage", n - 1, end - at)
            try:
                error_message = data[at:stop].decode()
            except UnicodeDecodeError:
                raise not_utf8("ListPartitionReassignmentsResponse.ErrorMessage") from None
            at = stop
        if at >= end:
            raise cut_off("ListPartitionReassignmentsResponse", "Topics=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "ListPartitionReassignmentsResponse.Topics")
        n -= 1
        room[0] -= n
        if n < 0 or 3 * n > end - at or room[0] < 0:
            raise bad_count("ListPartitionReassignmentsResponse.Topics", n, end - at, room[0])
        topics, at = _read_ongoing_topic_reassignment_0(data, at, end, room, n)
        if at >= end:
            raise cut_off("ListPartitionReassignmentsResponse", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "ListPartitionReassignmentsResponse")
        items.append(ListPartitionReassignmentsResponse(throttle_time_ms, error_code, error_message, topics))
    return items, at


def _write_ongoing_partition_reassignment_0(items: Iterable[OngoingPartitionReassignment], out: list[Buffer]) -> None:
    for m in items:
        replicas = m.replicas
        n = len(replicas) + 1
        if n > 127:
            out.append(_pack_i(m.partition_index) + varint_of(n))
        else:
            out.append(_pack_iB(m.partition_index, n))
        if replicas:
            out.append(packer(len(replicas), "i")(*replicas))
        adding_replicas = m.adding_replicas
        n = len(adding_replicas) + 1
        if n > 127:
            out.append(varint_of(n))
        else:
            out.append(ONE_BYTE[n])
        if adding_replicas:
            out.append(packer(len(adding_replicas), "i")(*adding_replicas))
        removing_replicas = m.removing_replicas
        n = len(removing_replicas) + 1
        if n > 127:
            out.append(varint_of(n))
        else:
            out.append(ONE_BYTE[n])
        if removing_replicas:
            out.append(packer(len(removing_replicas), "i")(*removing_replicas))
        out.append(ONE_BYTE[0])


def _write_ongoing_topic_reassignment_0(items: Iterable[OngoingTopicReassignment], out: list[Buffer]) -> None:
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
            _write_ongoing_partition_reassignment_0(partitions, out)
        out.append(ONE_BYTE[0])


def _write_list_partition_reassignments_response_0(items: Iterable[ListPartitionReassignmentsResponse], out: list[Buffer]) -> None:
    for m in items:
        error_message = m.error_message
        if error_message is None:
            content = b""
            n = 0
        else:
            content = error_message.encode()
            n = len(content) + 1
        if n > 127:
            out.append(_pack_ih(m.throttle_time_ms, m.error_code) + text_length_of(n))
        else:
            out.append(_pack_ihB(m.throttle_time_ms, m.error_code, n))
        out.append(content)
        topics = m.topics
        n = len(topics) + 1
        if n > 127:
            out.append(varint_of(n))
        else:
            out.append(ONE_BYTE[n])
        if topics:
            _write_ongoing_topic_reassignment_0(topics, out)
        out.append(ONE_BYTE[0])


ListPartitionReassignmentsResponse._READERS = {
    **dict.fromkeys(range(0, 1), _read_list_partition_reassignments_response_0),
}
ListPartitionReassignmentsResponse._WRITERS = {
    **dict.fromkeys(range(0, 1), _write_list_partition_reassignments_response_0),
}
