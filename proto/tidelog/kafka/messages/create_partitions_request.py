"""CreatePartitionsRequest of Kafka's protocol.

Generated from proto/kafka/create_partitions.schema; do not edit.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import ClassVar

import msgspec

from tidelog.kafka.message import Message
from tidelog.kafka.wire import ONE_BYTE, Buffer, bad_count, bad_length, cut_off, long_text, long_varint, not_utf8, packer, read_numbers, skip_tags, text_length_of, varint_of


class CreatePartitionsRequest(Message, gc=False):
    """Request of API 37, versions 0-3."""

    API_KEY: ClassVar[int] = 37
    VERSIONS: ClassVar[range] = range(0, 4)
    FLEXIBLE: ClassVar[range] = range(2, 4)

    topics: list[CreatePartitionsTopic] = []
    timeout_ms: int = 0
    validate_only: bool = False


class CreatePartitionsTopic(msgspec.Struct, gc=False):
    name: str = ""
    count: int = 0
    assignments: list[CreatePartitionsAssignment] | None = []


class CreatePartitionsAssignment(msgspec.Struct, gc=False):
    broker_ids: list[int] = []


_unpack_h = Struct(">h").unpack_from
_unpack_i = Struct(">i").unpack_from
_unpack_it = Struct(">i?").unpack_from
_unpack_itB = Struct(">i?B").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_unpack_ii = Struct(">ii").unpack_from
_pack_h = Struct(">h").pack
_pack_i = Struct(">i").pack
_pack_it = Struct(">i?").pack
_pack_itx = Struct(">i?x").pack
_pack_iB = Struct(">iB").pack
_pack_ii = Struct(">ii").pack


def _read_create_partitions_assignment_0(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[CreatePartitionsAssignment], int]:
    items: list[CreatePartitionsAssignment] = []
    for _ in range(count):
        if end - at < 4:
            raise cut_off("CreatePartitionsAssignment", "BrokerIds=4", end - at)
        n = _unpack_i(data, at)[0]
        at += 4
        room[0] -= n
        if n < 0 or 4 * n > end - at or room[0] < 0:
            raise bad_count("CreatePartitionsAssignment.BrokerIds", n, end - at, room[0])
        broker_ids = read_numbers(data, at, n, "i")
        at += 4 * n
        items.append(CreatePartitionsAssignment(broker_ids))
    return items, at


def _read_create_partitions_topic_0(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[CreatePartitionsTopic], int]:
    items: list[CreatePartitionsTopic] = []
    for _ in range(count):
        if end - at < 2:
            raise cut_off("CreatePartitionsTopic", "Name=2", end - at)
        n = _unpack_h(data, at)[0]
        at += 2
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("CreatePartitionsTopic.Name", n, end - at)
        try:
            name = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("CreatePartitionsTopic.Name") from None
        at = stop
        if end - at < 8:
            raise cut_off("CreatePartitionsTopic", "Count=4 Assignments=4", end - at)
        count_, n = _unpack_ii(data, at)
        at += 8
        if n == -1:
            assignments = None
        else:
            room[0] -= n
            if n < 0 or 4 * n > end - at or room[0] < 0:
                raise bad_count("CreatePartitionsTopic.Assignments", n, end - at, room[0])
            assignments, at = _read_create_partitions_assignment_0(data, at, end, room, n)
        items.append(CreatePartitionsTopic(name, count_, assignments))
    return items, at


def _read_create_partitions_request_0(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[CreatePartitionsRequest], int]:
    items: list[CreatePartitionsRequest] = []
    for _ in range(count):
        if end - at < 4:
            raise cut_off("CreatePartitionsRequest", "Topics=4", end - at)
        n = _unpack_i(data, at)[0]
        at += 4
        room[0] -= n
        if n < 0 or 10 * n > end - at or room[0] < 0:
            raise bad_count("CreatePartitionsRequest.Topics", n, end - at, room[0])
        topics, at = _read_create_partitions_topic_0(data, at, end, room, n)
        if end - at < 5:
            raise cut_off("CreatePartitionsRequest", "TimeoutMs=4 ValidateOnly=1", end - at)
        timeout_ms, validate_only = _unpack_it(data, at)
        at += 5
        items.append(CreatePartitionsRequest(topics, timeout_ms, validate_only))
    return items, at


def _read_create_partitions_assignment_2(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[CreatePartitionsAssignment], int]:
    items: list[CreatePartitionsAssignment] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("CreatePartitionsAssignment", "BrokerIds=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "CreatePartitionsAssignment.BrokerIds")
        n -= 1
        room[0] -= n
        if n < 0 or 4 * n > end - at or room[0] < 0:
            raise bad_count("CreatePartitionsAssignment.BrokerIds", n, end - at, room[0])
        broker_ids = read_numbers(data, at, n, "i")
        at += 4 * n
        if at >= end:
            raise cut_off("CreatePartitionsAssignment", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "CreatePartitionsAssignment")
        items.append(CreatePartitionsAssignment(broker_ids))
    return items, at


def _read_create_partitions_topic_2(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[CreatePartitionsTopic], int]:
    items: list[CreatePartitionsTopic] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("CreatePartitionsTopic", "Name=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "CreatePartitionsTopic.Name")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("CreatePartitionsTopic.Name", n - 1, end - at)
        try:
            name = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("CreatePartitionsTopic.Name") from None
        at = stop
        if end - at < 5:
            raise cut_off("CreatePartitionsTopic", "Count=4 Assignments=1", end - at)
        count_, n = _unpack_iB(data, at)
        at += 5
        if n > 127:
            n, at = long_varint(data, at, end, n, "CreatePartitionsTopic.Assignments")
        if n == 0:
            assignments = None
        else:
            n -= 1
            room[0] -= n
            if n < 0 or 2 * n > end - at or room[0] < 0:
                raise bad_count("CreatePartitionsTopic.Assignments", n, end - at, room[0])
            assignments, at = _read_create_partitions_assignment_2(data, at, end, room, n)
        if at >= end:
            raise cut_off("CreatePartitionsTopic", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "CreatePartitionsTopic")
        items.append(CreatePartitionsTopic(name, count_, assignments))
    return items, at


def _read_create_partitions_request_2(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[CreatePartitionsRequest], int]:
    items: list[CreatePartitionsRequest] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("CreatePartitionsRequest", "Topics=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "CreatePartitionsRequest.Topics")
        n -= 1
        room[0] -= n
        if n < 0 or 7 * n > end - at or room[0] < 0:
            raise bad_count("CreatePartitionsRequest.Topics", n, end - at, room[0])
        topics, at = _read_create_partitions_topic_2(data, at, end, room, n)
        if end - at < 6:
            raise cut_off("CreatePartitionsRequest", "TimeoutMs=4 ValidateOnly=1 tags=1", end - at)
        timeout_ms, validate_only, tags = _unpack_itB(data, at)
        at += 6
        if tags:
            at = skip_tags(data, at, end, tags, "CreatePartitionsRequest")
        items.append(CreatePartitionsRequest(topics, timeout_ms, validate_only))
    return items, at


def _write_create_partitions_assignment_0(items: Iterable[CreatePartitionsAssignment], out: list[Buffer]) -> None:
    for m in items:
        broker_ids = m.broker_ids
        n = len(broker_ids)
        out.append(_pack_i(n))
        if broker_ids:
            out.append(packer(len(broker_ids), "i")(*broker_ids))


def _write_create_partitions_topic_0(items: Iterable[CreatePartitionsTopic], out: list[Buffer]) -> None:
    for m in items:
        name = m.name
        content = name.encode()
        n = len(content)
        out.append(_pack_h(n))
        out.append(content)
        assignments = m.assignments
        if assignments is None:
            n = -1
        else:
            n = len(assignments)
        out.append(_pack_ii(m.count, n))
        if assignments:
            _write_create_partitions_assignment_0(assignments, out)


def _write_create_partitions_request_0(items: Iterable[CreatePartitionsRequest], out: list[Buffer]) -> None:
    for m in items:
        topics = m.topics
        n = len(topics)
        out.append(_pack_i(n))
        if topics:
            _write_create_partitions_topic_0(topics, out)
        out.append(_pack_it(m.timeout_ms, m.validate_only))


def _write_create_partitions_assignment_2(items: Iterable[CreatePartitionsAssignment], out: list[Buffer]) -> None:
    for m in items:
        broker_ids = m.broker_ids
        n = len(broker_ids) + 1
        if n > 127:
            out.append(varint_of(n))
        else:
            out.append(ONE_BYTE[n])
        if broker_ids:
            out.append(packer(len(broker_ids), "i")(*broker_ids))
        out.append(ONE_BYTE[0])


def _write_create_partitions_topic_2(items: Iterable[CreatePartitionsTopic], out: list[Buffer]) -> None:
    for m in items:
        name = m.name
        content = name.encode()
        n = len(content) + 1
        if n > 127:
            out.append(text_length_of(n))
        else:
            out.append(ONE_BYTE[n])
        out.append(content)
        assignments = m.assignments
        if assignments is None:
            n = 0
        else:
            n = len(assignments) + 1
        if n > 127:
            out.append(_pack_i(m.count) + varint_of(n))
        else:
            out.append(_pack_iB(m.count, n))
        if assignments:
            _write_create_partitions_assignment_2(assignments, out)
        out.append(ONE_BYTE[0])


def _write_create_partitions_request_2(items: Iterable[CreatePartitionsRequest], out: list[Buffer]) -> None:
    for m in items:
        topics = m.topics
        n = len(topics) + 1
        if n > 127:
            out.append(varint_of(n))
        else:
            out.append(ONE_BYTE[n])
        if topics:
            _write_create_partitions_topic_2(topics, out)
        out.append(_pack_itx(m.timeout_ms, m.validate_only))


CreatePartitionsRequest._READERS = {
    **dict.fromkeys(range(0, 2), _read_create_partitions_request_0),
    **dict.fromkeys(range(2, 4), _read_create_partitions_request_2),
}
CreatePartitionsRequest._WRITERS = {
    **dict.fromkeys(range(0, 2), _write_create_partitions_request_0),
    **dict.fromkeys(range(2, 4), _write_create_partitions_request_2),
}
