"""DescribeQuorumResponse of Kafka's protocol.

Generated from proto/kafka/describe_quorum.schema; do not edit.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import ClassVar

import msgspec

from tidelog.kafka.message import Message
from tidelog.kafka.wire import NO_UUID, ONE_BYTE, Buffer, bad_count, bad_length, cut_off, long_text, long_varint, not_utf8, skip_tags, text_length_of, varint_of


class DescribeQuorumResponse(Message, gc=False):
    """Response of API 55, versions 0-2."""

    API_KEY: ClassVar[int] = 55
    VERSIONS: ClassVar[range] = range(0, 3)
    FLEXIBLE: ClassVar[range] = range(0, 3)

    error_code: int = 0
    error_message: str | None = ""
    topics: list[TopicData] = []
    nodes: list[Node] = []


class ReplicaState(msgspec.Struct, gc=False):
    replica_id: int = 0
    replica_directory_id: bytes = NO_UUID
    log_end_offset: int = 0
    last_fetch_timestamp: int = -1
    last_caught_up_timestamp: int = -1


class TopicData(msgspec.Struct, gc=False):
    topic_name: str = ""
    partitions: list[PartitionData] = []


class PartitionData(msgspec.Struct, gc=False):
    partition_index: int = 0
    error_code: int = 0
    error_message: str | None = ""
    leader_id: int = 0
    leader_epoch: int = 0
    high_watermark: int = 0
    current_voters: list[ReplicaState] = []
    observers: list[ReplicaState] = []


class Node(msgspec.Struct, gc=False):
    node_id: int = 0
    listeners: list[Listener] = []


class Listener(msgspec.Struct, gc=False):
    name: str = ""
    host: str = ""
    port: int = 0


_unpack_HB = Struct(">HB").unpack_from
_unpack_hB = Struct(">hB").unpack_from
_unpack_i16sqqqB = Struct(">i16sqqqB").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_unpack_ihB = Struct(">ihB").unpack_from
_unpack_ihiiqB = Struct(">ihiiqB").unpack_from
_unpack_iiqB = Struct(">iiqB").unpack_from
_unpack_iqB = Struct(">iqB").unpack_from
_unpack_iqqqB = Struct(">iqqqB").unpack_from
_pack_Hx = Struct(">Hx").pack
_pack_h = Struct(">h").pack
_pack_hB = Struct(">hB").pack
_pack_i = Struct(">i").pack
_pack_i16sqqqx = Struct(">i16sqqqx").pack
_pack_iB = Struct(">iB").pack
_pack_ih = Struct(">ih").pack
_pack_ihB = Struct(">ihB").pack
_pack_ihiiq = Struct(">ihiiq").pack
_pack_ihiiqB = Struct(">ihiiqB").pack
_pack_iiq = Struct(">iiq").pack
_pack_iiqB = Struct(">iiqB").pack
_pack_iqqqx = Struct(">iqqqx").pack
_pack_iqx = Struct(">iqx").pack


def _read_replica_state_0(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[ReplicaState], int]:
    items: list[ReplicaState] = []
    for _ in range(count):
        if end - at < 13:
            raise cut_off("ReplicaState", "ReplicaId=4 LogEndOffset=8 tags=1", end - at)
        replica_id, log_end_offset, tags = _unpack_iqB(data, at)
        at += 13
        if tags:
            at = skip_tags(data, at, end, tags, "ReplicaState")
        items.append(ReplicaState(replica_id, NO_UUID, log_end_offset))
    return items, at


def _read_partition_data_0(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[PartitionData], int]:
    items: list[PartitionData] = []
    for _ in range(count):
        if end - at < 23:
            raise cut_off("PartitionData", "PartitionIndex=4 ErrorCode=2 LeaderId=4 LeaderEpoch=4 HighWatermark=8 CurrentVoters=1", end - at)
        partition_index, error_code, leader_id, leader_epoch, high_watermark, n = _unpack_ihiiqB(data, at)
        at += 23
        if n > 127:
            n, at = long_varint(data, at, end, n, "PartitionData.CurrentVoters")
        n -= 1
        room[0] -= n
        if n < 0 or 13 * n > end - at or room[0] < 0:
            raise bad_count("PartitionData.CurrentVoters", n, end - at, room[0])
        current_voters, at = _read_replica_state_0(data, at, end, room, n)
        if at >= end:
            raise cut_off("PartitionData", "Observers=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "PartitionData.Observers")
        n -= 1
        room[0] -= n
        if n < 0 or 13 * n > end - at or room[0] < 0:
            raise bad_count("PartitionData.Observers", n, end - at, room[0])
        observers, at = _read_replica_state_0(data, at, end, room, n)
        if at >= end:
            raise cut_off("PartitionData", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "PartitionData")
        items.append(PartitionData(partition_index, error_code, "", leader_id, leader_epoch, high_watermark, current_voters, observers))
    return items, at


def _read_topic_data_0(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[TopicData], int]:
    items: list[TopicData] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("TopicData", "TopicName=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "TopicData.TopicName")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("TopicData.TopicName", n - 1, end - at)
        try:
            topic_name = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("TopicData.TopicName") from None
        at = stop
        if at >= end:
            raise cut_off("TopicData", "Partitions=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "TopicData.Partitions")
        n -= 1
        room[0] -= n
        if n < 0 or 25 * n > end - at or room[0] < 0:
            raise bad_count("TopicData.Partitions", n, end - at, room[0])
        partitions, at = _read_partition_data_0(data, at, end, room, n)
        if at >= end:
            raise cut_off("TopicData", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "TopicData")
        items.append(TopicData(topic_name, partitions))
    return items, at


def _read_describe_quorum_response_0(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[DescribeQuorumResponse], int]:
    items: list[DescribeQuorumResponse] = []
    for _ in range(count):
        if end - at < 3:
            raise cut_off("DescribeQuorumResponse", "ErrorCode=2 Topics=1", end - at)
        error_code, n = _unpack_hB(data, at)
        at += 3
        if n > 127:
            n, at = long_varint(data, at, end, n, "DescribeQuorumResponse.Topics")
        n -= 1
        room[0] -= n
        if n < 0 or 3 * n > end - at or room[0] < 0:
            raise bad_count("DescribeQuorumResponse.Topics", n, end - at, room[0])
        topics, at = _read_topic_data_0(data, at, end, room, n)
        if at >= end:
            raise cut_off("DescribeQuorumResponse", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "DescribeQuorumResponse")
        items.append(DescribeQuorumResponse(error_code, "", topics))
    return items, at


def _read_replica_state_1(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[ReplicaState], int]:
    items: list[ReplicaState] = []
    for _ in range(count):
        if end - at < 29:
            raise cut_off("ReplicaState", "ReplicaId=4 LogEndOffset=8 LastFetchTimestamp=8 LastCaughtUpTimestamp=8 tags=1", end - at)
        replica_id, log_end_offset, last_fetch_timestamp, last_caught_up_timestamp, tags = _unpack_iqqqB(data, at)
        at += 29
        if tags:
            at = skip_tags(data, at, end, tags, "ReplicaState")
        items.append(ReplicaState(replica_id, NO_UUID, log_end_offset, last_fetch_timestamp, last_caught_up_timestamp))
    return items, at


def _read_partition_data_1(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[PartitionData], int]:
    items: list[PartitionData] = []
    for _ in range(count):
        if end - at < 23:
            raise cut_off("PartitionData", "PartitionIndex=4 ErrorCode=2 LeaderId=4 LeaderEpoch=4 HighWatermark=8 CurrentVoters=1", end - at)
        partition_index, error_code, leader_id, leader_epoch, high_watermark, n = _unpack_ihiiqB(data, at)
        at += 23
        if n > 127:
            n, at = long_varint(data, at, end, n, "PartitionData.CurrentVoters")
        n -= 1
        room[0] -= n
        if n < 0 or 29 * n > end - at or room[0] < 0:
            raise bad_count("PartitionData.CurrentVoters", n, end - at, room[0])
        current_voters, at = _read_replica_state_1(data, at, end, room, n)
        if at >= end:
            raise cut_off("PartitionData", "Observers=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "PartitionData.Observers")
        n -= 1
        room[0] -= n
        if n < 0 or 29 * n > end - at or room[0] < 0:
            raise bad_count("PartitionData.Observers", n, end - at, room[0])
        observers, at = _read_replica_state_1(data, at, end, room, n)
        if at >= end:
            raise cut_off("PartitionData", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "PartitionData")
        items.append(PartitionData(partition_index, error_code, "", leader_id, leader_epoch, high_watermark, current_voters, observers))
    return items, at


def _read_topic_data_1(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[TopicData], int]:
    items: list[TopicData] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("TopicData", "TopicName=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "TopicData.TopicName")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("TopicData.TopicName", n - 1, end - at)
        try:
            topic_name = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("TopicData.TopicName") from None
        at = stop
        if at >= end:
            raise cut_off("TopicData", "Partitions=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "TopicData.Partitions")
        n -= 1
        room[0] -= n
        if n < 0 or 25 * n > end - at or room[0] < 0:
            raise bad_count("TopicData.Partitions", n, end - at, room[0])
        partitions, at = _read_partition_data_1(data, at, end, room, n)
        if at >= end:
            raise cut_off("TopicData", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "TopicData")
        items.append(TopicData(topic_name, partitions))
    return items, at


def _read_describe_quorum_response_1(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[DescribeQuorumResponse], int]:
    items: list[DescribeQuorumResponse] = []
    for _ in range(count):
        if end - at < 3:
            raise cut_off("DescribeQuorumResponse", "ErrorCode=2 Topics=1", end - at)
        error_code, n = _unpack_hB(data, at)
        at += 3
        if n > 127:
            n, at = long_varint(data, at, end, n, "DescribeQuorumResponse.Topics")
        n -= 1
        room[0] -= n
        if n < 0 or 3 * n > end - at or room[0] < 0:
            raise bad_count("DescribeQuorumResponse.Topics", n, end - at, room[0])
        topics, at = _read_topic_data_1(data, at, end, room, n)
        if at >= end:
            raise cut_off("DescribeQuorumResponse", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "DescribeQuorumResponse")
        items.append(DescribeQuorumResponse(error_code, "", topics))
    return items, at


def _read_replica_state_2(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[ReplicaState], int]:
    items: list[ReplicaState] = []
    for _ in range(count):
        if end - at < 45:
            raise cut_off("ReplicaState", "ReplicaId=4 ReplicaDirectoryId=16 LogEndOffset=8 LastFetchTimestamp=8 LastCaughtUpTimestamp=8 tags=1", end - at)
        replica_id, replica_directory_id, log_end_offset, last_fetch_timestamp, last_caught_up_timestamp, tags = _unpack_i16sqqqB(data, at)
        at += 45
        if tags:
            at = skip_tags(data, at, end, tags, "ReplicaState")
        items.append(ReplicaState(replica_id, replica_directory_id, log_end_offset, last_fetch_timestamp, last_caught_up_timestamp))
    return items, at


def _read_partition_data_2(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[PartitionData], int]:
    items: list[PartitionData] = []
    for _ in range(count):
        if end - at < 7:
            raise cut_off("PartitionData", "PartitionIndex=4 ErrorCode=2 ErrorMessage=1", end - at)
        partition_index, error_code, n = _unpack_ihB(data, at)
        at += 7
        if n > 127:
            n, at = long_text(data, at, end, n, "PartitionData.ErrorMessage")
        if n == 0:
            error_message = None
        else:
            stop = at + n - 1
            if n < 1 or stop > end:
                raise bad_length("PartitionData.ErrorMessage", n - 1, end - at)
            try:
                error_message = data[at:stop].decode()
            except UnicodeDecodeError:
                raise not_utf8("PartitionData.ErrorMessage") from None
            at = stop
        if end - at < 17:
            raise cut_off("PartitionData", "LeaderId=4 LeaderEpoch=4 HighWatermark=8 CurrentVoters=1", end - at)
        leader_id, leader_epoch, high_watermark, n = _unpack_iiqB(data, at)
        at += 17
        if n > 127:
            n, at = long_varint(data, at, end, n, "PartitionData.CurrentVoters")
        n -= 1
        room[0] -= n
        if n < 0 or 45 * n > end - at or room[0] < 0:
            raise bad_count("PartitionData.CurrentVoters", n, end - at, room[0])
        current_voters, at = _read_replica_state_2(data, at, end, room, n)
        if at >= end:
            raise cut_off("PartitionData", "Observers=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "PartitionData.Observers")
        n -= 1
        room[0] -= n
        if n < 0 or 45 * n > end - at or room[0] < 0:
            raise bad_count("PartitionData.Observers", n, end - at, room[0])
        observers, at = _read_replica_state_2(data, at, end, room, n)
        if at >= end:
            raise cut_off("PartitionData", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "PartitionData")
        items.append(PartitionData(partition_index, error_code, error_message, leader_id, leader_epoch, high_watermark, current_voters, observers))
    return items, at


def _read_topic_data_2(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[TopicData], int]:
    items: list[TopicData] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("TopicData", "TopicName=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "TopicData.TopicName")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("TopicData.TopicName", n - 1, end - at)
        try:
            topic_name = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("TopicData.TopicName") from None
        at = stop
        if at >= end:
            raise cut_off("TopicData", "Partitions=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "TopicData.Partitions")
        n -= 1
        room[0] -= n
        if n < 0 or 26 * n > end - at or room[0] < 0:
            raise bad_count("TopicData.Partitions", n, end - at, room[0])
        partitions, at = _read_partition_data_2(data, at, end, room, n)
        if at >= end:
            raise cut_off("TopicData", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "TopicData")
        items.append(TopicData(topic_name, partitions))
    return items, at


def _read_listener_2(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[Listener], int]:
    items: list[Listener] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("Listener", "Name=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "Listener.Name")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("Listener.Name", n - 1, end - at)
        try:
            name = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("Listener.Name") from None
        at = stop
        if at >= end:
            raise cut_off("Listener", "Host=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "Listener.Host")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("Listener.Host", n - 1, end - at)
        try:
            host = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("Listener.Host") from None
        at = stop
        if end - at < 3:
            raise cut_off("Listener", "Port=2 tags=1", end - at)
        port, tags = _unpack_HB(data, at)
        at += 3
        if tags:
            at = skip_tags(data, at, end, tags, "Listener")
        items.append(Listener(name, host, port))
    return items, at


def _read_node_2(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[Node], int]:
    items: list[Node] = []
    for _ in range(count):
        if end - at < 5:
            raise cut_off("Node", "NodeId=4 Listeners=1", end - at)
        node_id, n = _unpack_iB(data, at)
        at += 5
        if n > 127:
            n, at = long_varint(data, at, end, n, "Node.Listeners")
        n -= 1
        room[0] -= n
        if n < 0 or 5 * n > end - at or room[0] < 0:
            raise bad_count("Node.Listeners", n, end - at, room[0])
        listeners, at = _read_listener_2(data, at, end, room, n)
        if at >= end:
            raise cut_off("Node", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "Node")
        items.append(Node(node_id, listeners))
    return items, at


def _read_describe_quorum_response_2(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[DescribeQuorumResponse], int]:
    items: list[DescribeQuorumResponse] = []
    for _ in range(count):
        if end - at < 3:
            raise cut_off("DescribeQuorumResponse", "ErrorCode=2 ErrorMessage=1", end - at)
        error_code, n = _unpack_hB(data, at)
        at += 3
        if n > 127:
            n, at = long_text(data, at, end, n, "DescribeQuorumResponse.ErrorMessage")
        if n == 0:
            error_message = None
        else:
            stop = at + n - 1
            if n < 1 or stop > end:
                raise bad_length("DescribeQuorumResponse.ErrorMessage", n - 1, end - at)
            try:
                error_message = data[at:stop].decode()
            except UnicodeDecodeError:
                raise not_utf8("DescribeQuorumResponse.ErrorMessage") from None
            at = stop
        if at >= end:
            raise cut_off("DescribeQuorumResponse", "Topics=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "DescribeQuorumResponse.Topics")
        n -= 1
        room[0] -= n
        if n < 0 or 3 * n > end - at or room[0] < 0:
            raise bad_count("DescribeQuorumResponse.Topics", n, end - at, room[0])
        topics, at = _read_topic_data_2(data, at, end, room, n)
        if at >= end:
            raise cut_off("DescribeQuorumResponse", "Nodes=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "DescribeQuorumResponse.Nodes")
        n -= 1
        room[0] -= n
        if n < 0 or 6 * n > end - at or room[0] < 0:
            raise bad_count("DescribeQuorumResponse.Nodes", n, end - at, room[0])
        nodes, at = _read_node_2(data, at, end, room, n)
        if at >= end:
            raise cut_off("DescribeQuorumResponse", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "DescribeQuorumResponse")
        items.append(DescribeQuorumResponse(error_code, error_message, topics, nodes))
    return items, at


def _write_replica_state_0(items: Iterable[ReplicaState], out: list[Buffer]) -> None:
    for m in items:
        out.append(_pack_iqx(m.replica_id, m.log_end_offset))


def _write_partition_data_0(items: Iterable[PartitionData], out: list[Buffer]) -> None:
    for m in items:
        current_voters = m.current_voters
        n = len(current_voters) + 1
        if n > 127:
            out.append(_pack_ihiiq(m.partition_index, m.error_code, m.leader_id, m.leader_epoch, m.high_watermark) + varint_of(n))
        else:
            out.append(_pack_ihiiqB(m.partition_index, m.error_code, m.leader_id, m.leader_epoch, m.high_watermark, n))
        if current_voters:
            _write_replica_state_0(current_voters, out)
        observers = m.observers
        n = len(observers) + 1
        if n > 127:
            out.append(varint_of(n))
        else:
            out.append(ONE_BYTE[n])
        if observers:
            _write_replica_state_0(observers, out)
        out.append(ONE_BYTE[0])


def _write_topic_data_0(items: Iterable[TopicData], out: list[Buffer]) -> None:
    for m in items:
        topic_name = m.topic_name
        content = topic_name.encode()
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
            _write_partition_data_0(partitions, out)
        out.append(ONE_BYTE[0])


def _write_describe_quorum_response_0(items: Iterable[DescribeQuorumResponse], out: list[Buffer]) -> None:
    for m in items:
        topics = m.topics
        n = len(topics) + 1
        if n > 127:
            out.append(_pack_h(m.error_code) + varint_of(n))
        else:
            out.append(_pack_hB(m.error_code, n))
        if topics:
            _write_topic_data_0(topics, out)
        out.append(ONE_BYTE[0])


def _write_replica_state_1(items: Iterable[ReplicaState], out: list[Buffer]) -> None:
    for m in items:
        out.append(_pack_iqqqx(m.replica_id, m.log_end_offset, m.last_fetch_timestamp, m.last_caught_up_timestamp))


def _write_partition_data_1(items: Iterable[PartitionData], out: list[Buffer]) -> None:
    for m in items:
        current_voters = m.current_voters
        n = len(current_voters) + 1
        if n > 127:
            out.append(_pack_ihiiq(m.partition_index, m.error_code, m.leader_id, m.leader_epoch, m.high_watermark) + varint_of(n))
        else:
            out.append(_pack_ihiiqB(m.partition_index, m.error_code, m.leader_id, m.leader_epoch, m.high_watermark, n))
        if current_voters:
            _write_replica_state_1(current_voters, out)
        observers = m.observers
        n = len(observers) + 1
        if n > 127:
            out.append(varint_of(n))
        else:
            out.append(ONE_BYTE[n])
        if observers:
            _write_replica_state_1(observers, out)
        out.append(ONE_BYTE[0])


def _write_topic_data_1(items: Iterable[TopicData], out: list[Buffer]) -> None:
    for m in items:
        topic_name = m.topic_name
        content = topic_name.encode()
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
            _write_partition_data_1(partitions, out)
        out.append(ONE_BYTE[0])


def _write_describe_quorum_response_1(items: Iterable[DescribeQuorumResponse], out: list[Buffer]) -> None:
    for m in items:
        topics = m.topics
        n = len(topics) + 1
        if n > 127:
            out.append(_pack_h(m.error_code) + varint_of(n))
        else:
            out.append(_pack_hB(m.error_code, n))
        if topics:
            _write_topic_data_1(topics, out)
        out.append(ONE_BYTE[0])


def _write_replica_state_2(items: Iterable[ReplicaState], out: list[Buffer]) -> None:
    for m in items:
        out.append(_pack_i16sqqqx(m.replica_id, m.replica_directory_id, m.log_end_offset, m.last_fetch_timestamp, m.last_caught_up_timestamp))


def _write_partition_data_2(items: Iterable[PartitionData], out: list[Buffer]) -> None:
    for m in items:
        error_message = m.error_message
        if error_message is None:
            content = b""
            n = 0
        else:
            content = error_message.encode()
            n = len(content) + 1
        if n > 127:
            out.append(_pack_ih(m.partition_index, m.error_code) + text_length_of(n))
        else:
            out.append(_pack_ihB(m.partition_index, m.error_code, n))
        out.append(content)
        current_voters = m.current_voters
        n = len(current_voters) + 1
        if n > 127:
            out.append(_pack_iiq(m.leader_id, m.leader_epoch, m.high_watermark) + varint_of(n))
        else:
            out.append(_pack_iiqB(m.leader_id, m.leader_epoch, m.high_watermark, n))
        if current_voters:
            _write_replica_state_2(current_voters, out)
        observers = m.observers
        n = len(observers) + 1
        if n > 127:
            out.append(varint_of(n))
        else:
            out.append(ONE_BYTE[n])
        if observers:
            _write_replica_state_2(observers, out)
        out.append(ONE_BYTE[0])


def _write_topic_data_2(items: Iterable[TopicData], out: list[Buffer]) -> None:
    for m in items:
        topic_name = m.topic_name
        content = topic_name.encode()
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
            _write_partition_data_2(partitions, out)
        out.append(ONE_BYTE[0])


def _write_listener_2(items: Iterable[Listener], out: list[Buffer]) -> None:
    for m in items:
        name = m.name
        content = name.encode()
        n = len(content) + 1
        if n > 127:
            out.append(text_length_of(n))
        else:
            out.append(ONE_BYTE[n])
        out.append(content)
        host = m.host
        content = host.encode()
        n = len(content) + 1
        if n > 127:
            out.append(text_length_of(n))
        else:
            out.append(ONE_BYTE[n])
        out.append(content)
        out.append(_pack_Hx(m.port))


def _write_node_2(items: Iterable[Node], out: list[Buffer]) -> None:
    for m in items:
        listeners = m.listeners
        n = len(listeners) + 1
        if n > 127:
            out.append(_pack_i(m.node_id) + varint_of(n))
        else:
            out.append(_pack_iB(m.node_id, n))
        if listeners:
            _write_listener_2(listeners, out)
        out.append(ONE_BYTE[0])


def _write_describe_quorum_response_2(items: Iterable[DescribeQuorumResponse], out: list[Buffer]) -> None:
    for m in items:
        error_message = m.error_message
        if error_message is None:
            content = b""
            n = 0
        else:
            content = error_message.encode()
            n = len(content) + 1
        if n > 127:
            out.append(_pack_h(m.error_code) + text_length_of(n))
        else:
            out.append(_pack_hB(m.error_code, n))
        out.append(content)
        topics = m.topics
        n = len(topics) + 1
        if n > 127:
            out.append(varint_of(n))
        else:
            out.append(ONE_BYTE[n])
        if topics:
            _write_topic_data_2(topics, out)
        nodes = m.nodes
        n = len(nodes) + 1
        if n > 127:
            out.append(varint_of(n))
        else:
            out.append(ONE_BYTE[n])
        if nodes:
            _write_node_2(nodes, out)
        out.append(ONE_BYTE[0])


DescribeQuorumResponse._READERS = {
    **dict.fromkeys(range(0, 1), _read_describe_quorum_response_0),
    **dict.fromkeys(range(1, 2), _read_describe_quorum_response_1),
    **dict.fromkeys(range(2, 3), _read_describe_quorum_response_2),
}
DescribeQuorumResponse._WRITERS = {
    **dict.fromkeys(range(0, 1), _write_describe_quorum_response_0),
    **dict.fromkeys(range(1, 2), _write_describe_quorum_response_1),
    **dict.fromkeys(range(2, 3), _write_describe_quorum_response_2),
}
