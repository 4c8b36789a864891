"""ConsumerGroupHeartbeatResponse of Kafka's protocol.

Generated from proto/kafka/consumer_group_heartbeat.schema; do not edit.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import ClassVar

import msgspec

from tidelog.kafka.message import Message
from tidelog.kafka.wire import NO_UUID, ONE_BYTE, Buffer, bad_count, bad_length, cut_off, long_text, long_varint, not_utf8, packer, read_numbers, skip_tags, text_length_of, varint_of


class ConsumerGroupHeartbeatResponse(Message, gc=False):
    """Response of API 68, versions 0-1."""

    API_KEY: ClassVar[int] = 68
    VERSIONS: ClassVar[range] = range(0, 2)
    FLEXIBLE: ClassVar[range] = range(0, 2)

    throttle_time_ms: int = 0
    error_code: int = 0
    error_message: str | None = None
    member_id: str | None = None
    member_epoch: int = 0
    heartbeat_interval_ms: int = 0
    assignment: Assignment | None = None


class TopicPartitions(msgspec.Struct, gc=False):
    topic_id: bytes = NO_UUID
    partitions: list[int] = []


class Assignment(msgspec.Struct, gc=False):
    topic_partitions: list[TopicPartitions] = []


_unpack_16sB = Struct(">16sB").unpack_from
_unpack_ihB = Struct(">ihB").unpack_from
_unpack_iib = Struct(">iib").unpack_from
_pack_16s = Struct(">16s").pack
_pack_16sB = Struct(">16sB").pack
_pack_ih = Struct(">ih").pack
_pack_ihB = Struct(">ihB").pack
_pack_iib = Struct(">iib").pack


def _read_topic_partitions_0(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[TopicPartitions], int]:
    items: list[TopicPartitions] = []
    for _ in range(count):
        if end - at < 17:
            raise cut_off("TopicPartitions", "TopicId=16 Partitions=1", end - at)
        topic_id, n = _unpack_16sB(data, at)
        at += 17
        if n > 127:
            n, at = long_varint(data, at, end, n, "TopicPartitions.Partitions")
        n -= 1
        room[0] -= n
        if n < 0 or 4 * n > end - at or room[0] < 0:
            raise bad_count("TopicPartitions.Partitions", n, end - at, room[0])
        partitions = read_numbers(data, at, n, "i")
        at += 4 * n
        if at >= end:
            raise cut_off("TopicPartitions", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "TopicPartitions")
        items.append(TopicPartitions(topic_id, partitions))
    return items, at


def _read_assignment_0(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[Assignment], int]:
    items: list[Assignment] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("Assignment", "TopicPartitions=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "Assignment.TopicPartitions")
        n -= 1
        room[0] -= n
        if n < 0 or 18 * n > end - at or room[0] < 0:
            raise bad_count("Assignment.TopicPartitions", n, end - at, room[0])
        topic_partitions, at = _read_topic_partitions_0(data, at, end, room, n)
        if at >= end:
            raise cut_off("Assignment", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "Assignment")
        items.append(Assignment(topic_partitions))
    return items, at


def _read_consumer_group_heartbeat_response_0(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[ConsumerGroupHeartbeatResponse], int]:
    items: list[ConsumerGroupHeartbeatResponse] = []
    for _ in range(count):
        if end - at < 7:
            raise cut_off("ConsumerGroupHeartbeatResponse", "ThrottleTimeMs=4 ErrorCode=2 ErrorMessage=1", end - at)
        throttle_time_ms, error_code, n = _unpack_ihB(data, at)
        at += 7
        if n > 127:
            n, at = long_text(data, at, end, n, "ConsumerGroupHeartbeatResponse.ErrorMessage")
        if n == 0:
            error_message = None
        else:
            stop = at + n - 1
            if n < 1 or stop > end:
                raise bad_length("ConsumerGroupHeartbeatResponse.ErrorMessage", n - 1, end - at)
            try:
                error_message = data[at:stop].decode()
            except UnicodeDecodeError:
                raise not_utf8("ConsumerGroupHeartbeatResponse.ErrorMessage") from None
            at = stop
        if at >= end:
            raise cut_off("ConsumerGroupHeartbeatResponse", "MemberId=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "ConsumerGroupHeartbeatResponse.MemberId")
        if n == 0:
            member_id = None
        else:
            stop = at + n - 1
            if n < 1 or stop > end:
                raise bad_length("ConsumerGroupHeartbeatResponse.MemberId", n - 1, end - at)
            try:
                member_id = data[at:stop].decode()
            except UnicodeDecodeError:
                raise not_utf8("ConsumerGroupHeartbeatResponse.MemberId") from None
            at = stop
        if end - at < 9:
            raise cut_off("ConsumerGroupHeartbeatResponse", "MemberEpoch=4 HeartbeatIntervalMs=4 Assignment=1", end - at)
        member_epoch, heartbeat_interval_ms, n = _unpack_iib(data, at)
        at += 9
        if n < 0:
            assignment = None
        else:
            (assignment,), at = _read_assignment_0(data, at, end, room, 1)
        if at >= end:
            raise cut_off("ConsumerGroupHeartbeatResponse", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "ConsumerGroupHeartbeatResponse")
        items.append(ConsumerGroupHeartbeatResponse(throttle_time_ms, error_code, error_message, member_id, member_epoch, heartbeat_interval_ms, assignment))
    return items, at


def _write_topic_partitions_0(items: Iterable[TopicPartitions], out: list[Buffer]) -> None:
    for m in items:
        partitions = m.partitions
        n = len(partitions) + 1
        if n > 127:
            out.append(_pack_16s(m.topic_id) + varint_of(n))
        else:
            out.append(_pack_16sB(m.topic_id, n))
        if partitions:
            out.append(packer(len(partitions), "i")(*partitions))
        out.append(ONE_BYTE[0])


def _write_assignment_0(items: Iterable[Assignment], out: list[Buffer]) -> None:
    for m in items:
        topic_partitions = m.topic_partitions
        n = len(topic_partitions) + 1
        if n > 127:
            out.append(varint_of(n))
        else:
            out.append(ONE_BYTE[n])
        if topic_partitions:
            _write_topic_partitions_0(topic_partitions, out)
        out.append(ONE_BYTE[0])


def _write_consumer_group_heartbeat_response_0(items: Iterable[ConsumerGroupHeartbeatResponse], out: list[Buffer]) -> None:
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
        assignment = m.assignment
        out.append(_pack_iib(m.member_epoch, m.heartbeat_interval_ms, -1 if assignment is None else 1))
        if assignment is not None:
            _write_assignment_0((assignment,), out)
        out.append(ONE_BYTE[0])


ConsumerGroupHeartbeatResponse._READERS = {
    **dict.fromkeys(range(0, 2), _read_consumer_group_heartbeat_response_0),
}
ConsumerGroupHeartbeatResponse._WRITERS = {
    **dict.fromkeys(range(0, 2), _write_consumer_group_heartbeat_response_0),
}
