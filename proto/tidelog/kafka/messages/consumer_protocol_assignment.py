"""ConsumerProtocolAssignment of Kafka's protocol.

Generated from proto/kafka/consumer_protocol.schema; do not edit.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import ClassVar

import msgspec

from tidelog.kafka.message import Message
from tidelog.kafka.wire import Buffer, bad_count, bad_length, cut_off, not_utf8, packer, read_numbers


class ConsumerProtocolAssignment(Message, gc=False):
    """Data, versions 0-3."""

    VERSIONS: ClassVar[range] = range(0, 4)

    assigned_partitions: list[TopicPartition] = []
    user_data: bytes | None = None


class TopicPartition(msgspec.Struct, gc=False):
    topic: str = ""
    partitions: list[int] = []


_unpack_h = Struct(">h").unpack_from
_unpack_i = Struct(">i").unpack_from
_pack_h = Struct(">h").pack
_pack_i = Struct(">i").pack


def _read_topic_partition_0(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[TopicPartition], int]:
    items: list[TopicPartition] = []
    for _ in range(count):
        if end - at < 2:
            raise cut_off("TopicPartition", "Topic=2", end - at)
        n = _unpack_h(data, at)[0]
        at += 2
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("TopicPartition.Topic", n, end - at)
        try:
            topic = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("TopicPartition.Topic") from None
        at = stop
        if end - at < 4:
            raise cut_off("TopicPartition", "Partitions=4", end - at)
        n = _unpack_i(data, at)[0]
        at += 4
        room[0] -= n
        if n < 0 or 4 * n > end - at or room[0] < 0:
            raise bad_count("TopicPartition.Partitions", n, end - at, room[0])
        partitions = read_numbers(data, at, n, "i")
        at += 4 * n
        items.append(TopicPartition(topic, partitions))
    return items, at


def _read_consumer_protocol_assignment_0(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[ConsumerProtocolAssignment], int]:
    items: list[ConsumerProtocolAssignment] = []
    for _ in range(count):
        if end - at < 4:
            raise cut_off("ConsumerProtocolAssignment", "AssignedPartitions=4", end - at)
        n = _unpack_i(data, at)[0]
        at += 4
        room[0] -= n
        if n < 0 or 6 * n > end - at or room[0] < 0:
            raise bad_count("ConsumerProtocolAssignment.AssignedPartitions", n, end - at, room[0])
        assigned_partitions, at = _read_topic_partition_0(data, at, end, room, n)
        if end - at < 4:
            raise cut_off("ConsumerProtocolAssignment", "UserData=4", end - at)
        n = _unpack_i(data, at)[0]
        at += 4
        if n == -1:
            user_data = None
        else:
            stop = at + n
            if n < 0 or stop > end:
                raise bad_length("ConsumerProtocolAssignment.UserData", n, end - at)
            user_data = data[at:stop]
            at = stop
        items.append(ConsumerProtocolAssignment(assigned_partitions, user_data))
    return items, at


def _write_topic_partition_0(items: Iterable[TopicPartition], out: list[Buffer]) -> None:
    for m in items:
        topic = m.topic
        content = topic.encode()
        n = len(content)
        out.append(_pack_h(n))
        out.append(content)
        partitions = m.partitions
        n = len(partitions)
        out.append(_pack_i(n))
        if partitions:
            out.append(packer(len(partitions), "i")(*partitions))


def _write_consumer_protocol_assignment_0(items: Iterable[ConsumerProtocolAssignment], out: list[Buffer]) -> None:
    for m in items:
        assigned_partitions = m.assigned_partitions
        n = len(assigned_partitions)
        out.append(_pack_i(n))
        if assigned_partitions:
            _write_topic_partition_0(assigned_partitions, out)
        user_data = m.user_data
        if user_data is None:
            n = -1
        else:
            n = len(user_data)
        out.append(_pack_i(n))
        if user_data is not None:
            out.append(user_data)


ConsumerProtocolAssignment._READERS = {
    **dict.fromkeys(range(0, 4), _read_consumer_protocol_assignment_0),
}
ConsumerProtocolAssignment._WRITERS = {
    **dict.fromkeys(range(0, 4), _write_consumer_protocol_assignment_0),
}
