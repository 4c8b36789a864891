"""OffsetForLeaderEpochRequest of Kafka's protocol.

Generated from proto/kafka/offset_for_leader_epoch.schema; do not edit.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import ClassVar

import msgspec

from tidelog.kafka.message import Message
from tidelog.kafka.wire import ONE_BYTE, Buffer, bad_count, bad_length, cut_off, long_text, long_varint, not_utf8, skip_tags, text_length_of, varint_of


class OffsetForLeaderEpochRequest(Message, gc=False):
    """Request of API 23, versions 2-4."""

    API_KEY: ClassVar[int] = 23
    VERSIONS: ClassVar[range] = range(2, 5)
    FLEXIBLE: ClassVar[range] = range(4, 5)

    replica_id: int = -2
    topics: list[OffsetForLeaderTopic] = []


class OffsetForLeaderTopic(msgspec.Struct, gc=False):
    topic: str = ""
    partitions: list[OffsetForLeaderPartition] = []


class OffsetForLeaderPartition(msgspec.Struct, gc=False):
    partition: int = 0
    current_leader_epoch: int = -1
    leader_epoch: int = 0


_unpack_h = Struct(">h").unpack_from
_unpack_i = Struct(">i").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_unpack_ii = Struct(">ii").unpack_from
_unpack_iii = Struct(">iii").unpack_from
_unpack_iiiB = Struct(">iiiB").unpack_from
_pack_h = Struct(">h").pack
_pack_i = Struct(">i").pack
_pack_iB = Struct(">iB").pack
_pack_ii = Struct(">ii").pack
_pack_iii = Struct(">iii").pack
_pack_iiix = Struct(">iiix").pack


def _read_offset_for_leader_partition_2(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[OffsetForLeaderPartition], int]:
    items: list[OffsetForLeaderPartition] = []
    for _ in range(count):
        if end - at < 12:
            raise cut_off("OffsetForLeaderPartition", "Partition=4 CurrentLeaderEpoch=4 LeaderEpoch=4", end - at)
        partition, current_leader_epoch, leader_epoch = _unpack_iii(data, at)
        at += 12
        items.append(OffsetForLeaderPartition(partition, current_leader_epoch, leader_epoch))
    return items, at


def _read_offset_for_leader_topic_2(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[OffsetForLeaderTopic], int]:
    items: list[OffsetForLeaderTopic] = []
    for _ in range(count):
        if end - at < 2:
            raise cut_off("OffsetForLeaderTopic", "Topic=2", end - at)
        n = _unpack_h(data, at)[0]
        at += 2
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("OffsetForLeaderTopic.Topic", n, end - at)
        try:
            topic = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("OffsetForLeaderTopic.Topic") from None
        at = stop
        if end - at < 4:
            raise cut_off("OffsetForLeaderTopic", "Partitions=4", end - at)
        n = _unpack_i(data, at)[0]
        at += 4
        room[0] -= n
        if n < 0 or 12 * n > end - at or room[0] < 0:
            raise bad_count("OffsetForLeaderTopic.Partitions", n, end - at, room[0])
        partitions, at = _read_offset_for_leader_partition_2(data, at, end, room, n)
        items.append(OffsetForLeaderTopic(topic, partitions))
    return items, at


def _read_offset_for_leader_epoch_request_2(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[OffsetForLeaderEpochRequest], int]:
    items: list[OffsetForLeaderEpochRequest] = []
    for _ in range(count):
        if end - at < 4:
            raise cut_off("OffsetForLeaderEpochRequest", "Topics=4", end - at)
        n = _unpack_i(data, at)[0]
        at += 4
        room[0] -= n
        if n < 0 or 6 * n > end - at or room[0] < 0:
            raise bad_count("OffsetForLeaderEpochRequest.Topics", n, end - at, room[0])
        topics, at = _read_offset_for_leader_topic_2(data, at, end, room, n)
        items.append(OffsetForLeaderEpochRequest(-2, topics))
    return items, at


def _read_offset_for_leader_epoch_request_3(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[OffsetForLeaderEpochRequest], int]:
    items: list[OffsetForLeaderEpochRequest] = []
    for _ in range(count):
        if end - at < 8:
            raise cut_off("OffsetForLeaderEpochRequest", "ReplicaId=4 Topics=4", end - at)
        replica_id, n = _unpack_ii(data, at)
        at += 8
        room[0] -= n
        if n < 0 or 6 * n > end - at or room[0] < 0:
            raise bad_count("OffsetForLeaderEpochRequest.Topics", n, end - at, room[0])
        topics, at = _read_offset_for_leader_topic_2(data, at, end, room, n)
        items.append(OffsetForLeaderEpochRequest(replica_id, topics))
    return items, at


def _read_offset_for_leader_partition_4(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[OffsetForLeaderPartition], int]:
    items: list[OffsetForLeaderPartition] = []
    for _ in range(count):
        if end - at < 13:
            raise cut_off("OffsetForLeaderPartition", "Partition=4 CurrentLeaderEpoch=4 LeaderEpoch=4 tags=1", end - at)
        partition, current_leader_epoch, leader_epoch, tags = _unpack_iiiB(data, at)
        at += 13
        if tags:
            at = skip_tags(data, at, end, tags, "OffsetForLeaderPartition")
        items.append(OffsetForLeaderPartition(partition, current_leader_epoch, leader_epoch))
    return items, at


def _read_offset_for_leader_topic_4(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[OffsetForLeaderTopic], int]:
    items: list[OffsetForLeaderTopic] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("OffsetForLeaderTopic", "Topic=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "OffsetForLeaderTopic.Topic")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("OffsetForLeaderTopic.Topic", n - 1, end - at)
        try:
            topic = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("OffsetForLeaderTopic.Topic") from None
        at = stop
        if at >= end:
            raise cut_off("OffsetForLeaderTopic", "Partitions=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "OffsetForLeaderTopic.Partitions")
        n -= 1
        room[0] -= n
        if n < 0 or 13 * n > end - at or room[0] < 0:
            raise bad_count("OffsetForLeaderTopic.Partitions", n, end - at, room[0])
        partitions, at = _read_offset_for_leader_partition_4(data, at, end, room, n)
        if at >= end:
            raise cut_off("OffsetForLeaderTopic", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "OffsetForLeaderTopic")
        items.append(OffsetForLeaderTopic(topic, partitions))
    return items, at


def _read_offset_for_leader_epoch_request_4(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[OffsetForLeaderEpochRequest], int]:
    items: list[OffsetForLeaderEpochRequest] = []
    for _ in range(count):
        if end - at < 5:
            raise cut_off("OffsetForLeaderEpochRequest", "ReplicaId=4 Topics=1", end - at)
        replica_id, n = _unpack_iB(data, at)
        at += 5
        if n > 127:
            n, at = long_varint(data, at, end, n, "OffsetForLeaderEpochRequest.Topics")
        n -= 1
        room[0] -= n
        if n < 0 or 3 * n > end - at or room[0] < 0:
            raise bad_count("OffsetForLeaderEpochRequest.Topics", n, end - at, room[0])
        topics, at = _read_offset_for_leader_topic_4(data, at, end, room, n)
        if at >= end:
            raise cut_off("OffsetForLeaderEpochRequest", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "OffsetForLeaderEpochRequest")
        items.append(OffsetForLeaderEpochRequest(replica_id, topics))
    return items, at


def _write_offset_for_leader_partition_2(items: Iterable[OffsetForLeaderPartition], out: list[Buffer]) -> None:
    for m in items:
        out.append(_pack_iii(m.partition, m.current_leader_epoch, m.leader_epoch))


def _write_offset_for_leader_topic_2(items: Iterable[OffsetForLeaderTopic], out: list[Buffer]) -> None:
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
            _write_offset_for_leader_partition_2(partitions, out)


def _write_offset_for_leader_epoch_request_2(items: Iterable[OffsetForLeaderEpochRequest], out: list[Buffer]) -> None:
    for m in items:
        topics = m.topics
        n = len(topics)
        out.append(_pack_i(n))
        if topics:
            _write_offset_for_leader_topic_2(topics, out)


def _write_offset_for_leader_epoch_request_3(items: Iterable[OffsetForLeaderEpochRequest], out: list[Buffer]) -> None:
    for m in items:
        topics = m.topics
        n = len(topics)
        out.append(_pack_ii(m.replica_id, n))
        if topics:
            _write_offset_for_leader_topic_2(topics, out)


def _write_offset_for_leader_partition_4(items: Iterable[OffsetForLeaderPartition], out: list[Buffer]) -> None:
    for m in items:
        out.append(_pack_iiix(m.partition, m.current_leader_epoch, m.leader_epoch))


def _write_offset_for_leader_topic_4(items: Iterable[OffsetForLeaderTopic], out: list[Buffer]) -> None:
    for m in items:
        topic = m.topic
        content = topic.encode()
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
            _write_offset_for_leader_partition_4(partitions, out)
        out.append(ONE_BYTE[0])


def _write_offset_for_leader_epoch_request_4(items: Iterable[OffsetForLeaderEpochRequest], out: list[Buffer]) -> None:
    for m in items:
        topics = m.topics
        n = len(topics) + 1
        if n > 127:
            out.append(_pack_i(m.replica_id) + varint_of(n))
        else:
            out.append(_pack_iB(m.replica_id, n))
        if topics:
            _write_offset_for_leader_topic_4(topics, out)
        out.append(ONE_BYTE[0])


OffsetForLeaderEpochRequest._READERS = {
    **dict.fromkeys(range(2, 3), _read_offset_for_leader_epoch_request_2),
    **dict.fromkeys(range(3, 4), _read_offset_for_leader_epoch_request_3),
    **dict.fromkeys(range(4, 5), _read_offset_for_leader_epoch_request_4),
}
OffsetForLeaderEpochRequest._WRITERS = {
    **dict.fromkeys(range(2, 3), _write_offset_for_leader_epoch_request_2),
    **dict.fromkeys(range(3, 4), _write_offset_for_leader_epoch_request_3),
    **dict.fromkeys(range(4, 5), _write_offset_for_leader_epoch_request_4),
}
