"""MetadataResponse of Kafka's protocol.

Generated from proto/kafka/metadata.schema; do not edit.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import ClassVar

import msgspec

from tidelog.kafka.message import Message, Part
from tidelog.kafka.wire import NO_UUID, ONE_BYTE, Buffer, bad_count, bad_length, cut_off, long_text, long_varint, not_utf8, null_field, packer, read_numbers, skip_tags, text_length_of, varint_of


class MetadataResponse(Message, gc=False):
    """Response of API 3, versions 0-13."""

    API_KEY: ClassVar[int] = 3
    VERSIONS: ClassVar[range] = range(0, 14)
    FLEXIBLE: ClassVar[range] = range(9, 14)

    throttle_time_ms: int = 0
    brokers: list[MetadataResponseBroker] = []
    cluster_id: str | None = None
    controller_id: int = -1
    topics: list[MetadataResponseTopic] = []
    cluster_authorized_operations: int = -2147483648
    error_code: int = 0


class MetadataResponseBroker(msgspec.Struct, gc=False):
    node_id: int = 0
    host: str = ""
    port: int = 0
    rack: str | None = None


class MetadataResponseTopic(Part, gc=False):
    error_code: int = 0
    name: str | None = ""
    topic_id: bytes = NO_UUID
    is_internal: bool = False
    partitions: list[MetadataResponsePartition] = []
    topic_authorized_operations: int = -2147483648
    encoded: bytes = b""
    """What `encode` made of such a struct: written instead of all fields."""


class MetadataResponsePartition(msgspec.Struct, gc=False):
    error_code: int = 0
    partition_index: int = 0
    leader_id: int = 0
    leader_epoch: int = -1
    replica_nodes: list[int] = []
    isr_nodes: list[int] = []
    offline_replicas: list[int] = []


_unpack_16stB = Struct(">16s?B").unpack_from
_unpack_tB = Struct(">?B").unpack_from
_unpack_ti = Struct(">?i").unpack_from
_unpack_h = Struct(">h").unpack_from
_unpack_hB = Struct(">hB").unpack_from
_unpack_hh = Struct(">hh").unpack_from
_unpack_hiii = Struct(">hiii").unpack_from
_unpack_hiiiB = Struct(">hiiiB").unpack_from
_unpack_hiiii = Struct(">hiiii").unpack_from
_unpack_i = Struct(">i").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_unpack_ih = Struct(">ih").unpack_from
_unpack_ii = Struct(">ii").unpack_from
_pack_16st = Struct(">16s?").pack
_pack_16stB = Struct(">16s?B").pack
_pack_t = Struct(">?").pack
_pack_tB = Struct(">?B").pack
_pack_ti = Struct(">?i").pack
_pack_h = Struct(">h").pack
_pack_hB = Struct(">hB").pack
_pack_hh = Struct(">hh").pack
_pack_hiii = Struct(">hiii").pack
_pack_hiiiB = Struct(">hiiiB").pack
_pack_hiiii = Struct(">hiiii").pack
_pack_hx = Struct(">hx").pack
_pack_i = Struct(">i").pack
_pack_iB = Struct(">iB").pack
_pack_ih = Struct(">ih").pack
_pack_ii = Struct(">ii").pack
_pack_ix = Struct(">ix").pack


def _read_metadata_response_broker_0(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[MetadataResponseBroker], int]:
    items: list[MetadataResponseBroker] = []
    for _ in range(count):
        if end - at < 6:
            raise cut_off("MetadataResponseBroker", "NodeId=4 Host=2", end - at)
        node_id, n = _unpack_ih(data, at)
        at += 6
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("MetadataResponseBroker.Host", n, end - at)
        try:
            host = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("MetadataResponseBroker.Host") from None
        at = stop
        if end - at < 4:
            raise cut_off("MetadataResponseBroker", "Port=4", end - at)
        port = _unpack_i(data, at)[0]
        at += 4
        items.append(MetadataResponseBroker(node_id, host, port))
    return items, at


def _read_metadata_response_partition_0(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[MetadataResponsePartition], int]:
    items: list[MetadataResponsePartition] = []
    for _ in range(count):
        if end - at < 14:
            raise cut_off("MetadataResponsePartition", "ErrorCode=2 PartitionIndex=4 LeaderId=4 ReplicaNodes=4", end - at)
        error_code, partition_index, leader_id, n = _unpack_hiii(data, at)
        at += 14
        room[0] -= n
        if n < 0 or 4 * n > end - at or room[0] < 0:
            raise bad_count("MetadataResponsePartition.ReplicaNodes", n, end - at, room[0])
        replica_nodes = read_numbers(data, at, n, "i")
        at += 4 * n
        if end - at < 4:
            raise cut_off("MetadataResponsePartition", "IsrNodes=4", end - at)
        n = _unpack_i(data, at)[0]
        at += 4
        room[0] -= n
        if n < 0 or 4 * n > end - at or room[0] < 0:
            raise bad_count("MetadataResponsePartition.IsrNodes", n, end - at, room[0])
        isr_nodes = read_numbers(data, at, n, "i")
        at += 4 * n
        items.append(MetadataResponsePartition(error_code, partition_index, leader_id, -1, replica_nodes, isr_nodes))
    return items, at


def _read_metadata_response_topic_0(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[MetadataResponseTopic], int]:
    items: list[MetadataResponseTopic] = []
    for _ in range(count):
        if end - at < 4:
            raise cut_off("MetadataResponseTopic", "ErrorCode=2 Name=2", end - at)
        error_code, n = _unpack_hh(data, at)
        at += 4
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("MetadataResponseTopic.Name", n, end - at)
        try:
            name = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("MetadataResponseTopic.Name") from None
        at = stop
        if end - at < 4:
            raise cut_off("MetadataResponseTopic", "Partitions=4", end - at)
        n = _unpack_i(data, at)[0]
        at += 4
        room[0] -= n
        if n < 0 or 18 * n > end - at or room[0] < 0:
            raise bad_count("MetadataResponseTopic.Partitions", n, end - at, room[0])
        partitions, at = _read_metadata_response_partition_0(data, at, end, room, n)
        items.append(MetadataResponseTopic(error_code, name, NO_UUID, False, partitions))
    return items, at


def _read_metadata_response_0(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[MetadataResponse], int]:
    items: list[MetadataResponse] = []
    for _ in range(count):
        if end - at < 4:
            raise cut_off("MetadataResponse", "Brokers=4", end - at)
        n = _unpack_i(data, at)[0]
        at += 4
        room[0] -= n
        if n < 0 or 10 * n > end - at or room[0] < 0:
            raise bad_count("MetadataResponse.Brokers", n, end - at, room[0])
        brokers, at = _read_metadata_response_broker_0(data, at, end, room, n)
        if end - at < 4:
            raise cut_off("MetadataResponse", "Topics=4", end - at)
        n = _unpack_i(data, at)[0]
        at += 4
        room[0] -= n
        if n < 0 or 8 * n > end - at or room[0] < 0:
            raise bad_count("MetadataResponse.Topics", n, end - at, room[0])
        topics, at = _read_metadata_response_topic_0(data, at, end, room, n)
        items.append(MetadataResponse(0, brokers, None, -1, topics))
    return items, at


def _read_metadata_response_broker_1(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[MetadataResponseBroker], int]:
    items: list[MetadataResponseBroker] = []
    for _ in range(count):
        if end - at < 6:
            raise cut_off("MetadataResponseBroker", "NodeId=4 Host=2", end - at)
        node_id, n = _unpack_ih(data, at)
        at += 6
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("MetadataResponseBroker.Host", n, end - at)
        try:
            host = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("MetadataResponseBroker.Host") from None
        at = stop
        if end - at < 6:
            raise cut_off("MetadataResponseBroker", "Port=4 Rack=2", end - at)
        port, n = _unpack_ih(data, at)
        at += 6
        if n == -1:
            rack = None
        else:
            stop = at + n
            if n < 0 or stop > end:
                raise bad_length("MetadataResponseBroker.Rack", n, end - at)
            try:
                rack = data[at:stop].decode()
            except UnicodeDecodeError:
                raise not_utf8("MetadataResponseBroker.Rack") from None
            at = stop
        items.append(MetadataResponseBroker(node_id, host, port, rack))
    return items, at


def _read_metadata_response_topic_1(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[MetadataResponseTopic], int]:
    items: list[MetadataResponseTopic] = []
    for _ in range(count):
        if end - at < 4:
            raise cut_off("MetadataResponseTopic", "ErrorCode=2 Name=2", end - at)
        error_code, n = _unpack_hh(data, at)
        at += 4
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("MetadataResponseTopic.Name", n, end - at)
        try:
            name = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("MetadataResponseTopic.Name") from None
        at = stop
        if end - at < 5:
            raise cut_off("MetadataResponseTopic", "IsInternal=1 Partitions=4", end - at)
        is_internal, n = _unpack_ti(data, at)
        at += 5
        room[0] -= n
        if n < 0 or 18 * n > end - at or room[0] < 0:
            raise bad_count("MetadataResponseTopic.Partitions", n, end - at, room[0])
        partitions, at = _read_metadata_response_partition_0(data, at, end, room, n)
        items.append(MetadataResponseTopic(error_code, name, NO_UUID, is_internal, partitions))
    return items, at


def _read_metadata_response_1(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[MetadataResponse], int]:
    items: list[MetadataResponse] = []
    for _ in range(count):
        if end - at < 4:
            raise cut_off("MetadataResponse", "Brokers=4", end - at)
        n = _unpack_i(data, at)[0]
        at += 4
        room[0] -= n
        if n < 0 or 12 * n > end - at or room[0] < 0:
            raise bad_count("MetadataResponse.Brokers", n, end - at, room[0])
        brokers, at = _read_metadata_response_broker_1(data, at, end, room, n)
        if end - at < 8:
            raise cut_off("MetadataResponse", "ControllerId=4 Topics=4", end - at)
        controller_id, n = _unpack_ii(data, at)
        at += 8
        room[0] -= n
        if n < 0 or 9 * n > end - at or room[0] < 0:
            raise bad_count("MetadataResponse.Topics", n, end - at, room[0])
        topics, at = _read_metadata_response_topic_1(data, at, end, room, n)
        items.append(MetadataResponse(0, brokers, None, controller_id, topics))
    return items, at


def _read_metadata_response_2(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[MetadataResponse], int]:
    items: list[MetadataResponse] = []
    for _ in range(count):
        if end - at < 4:
            raise cut_off("MetadataResponse", "Brokers=4", end - at)
        n = _unpack_i(data, at)[0]
        at += 4
        room[0] -= n
        if n < 0 or 12 * n > end - at or room[0] < 0:
            raise bad_count("MetadataResponse.Brokers", n, end - at, room[0])
        brokers, at = _read_metadata_response_broker_1(data, at, end, room, n)
        if end - at < 2:
            raise cut_off("MetadataResponse", "ClusterId=2", end - at)
        n = _unpack_h(data, at)[0]
        at += 2
        if n == -1:
            cluster_id = None
        else:
            stop = at + n
            if n < 0 or stop > end:
                raise bad_length("MetadataResponse.ClusterId", n, end - at)
            try:
                cluster_id = data[at:stop].decode()
            except UnicodeDecodeError:
                raise not_utf8("MetadataResponse.ClusterId") from None
            at = stop
        if end - at < 8:
            raise cut_off("MetadataResponse", "ControllerId=4 Topics=4", end - at)
        controller_id, n = _unpack_ii(data, at)
        at += 8
        room[0] -= n
        if n < 0 or 9 * n > end - at or room[0] < 0:
            raise bad_count("MetadataResponse.Topics", n, end - at, room[0])
        topics, at = _read_metadata_response_topic_1(data, at, end, room, n)
        items.append(MetadataResponse(0, brokers, cluster_id, controller_id, topics))
    return items, at


def _read_metadata_response_3(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[MetadataResponse], int]:
    items: list[MetadataResponse] = []
    for _ in range(count):
        if end - at < 8:
            raise cut_off("MetadataResponse", "ThrottleTimeMs=4 Brokers=4", end - at)
        throttle_time_ms, n = _unpack_ii(data, at)
        at += 8
        room[0] -= n
        if n < 0 or 12 * n > end - at or room[0] < 0:
            raise bad_count("MetadataResponse.Brokers", n, end - at, room[0])
        brokers, at = _read_metadata_response_broker_1(data, at, end, room, n)
        if end - at < 2:
            raise cut_off("MetadataResponse", "ClusterId=2", end - at)
        n = _unpack_h(data, at)[0]
        at += 2
        if n == -1:
            cluster_id = None
        else:
            stop = at + n
            if n < 0 or stop > end:
                raise bad_length("MetadataResponse.ClusterId", n, end - at)
            try:
                cluster_id = data[at:stop].decode()
            except UnicodeDecodeError:
                raise not_utf8("MetadataResponse.ClusterId") from None
            at = stop
        if end - at < 8:
            raise cut_off("MetadataResponse", "ControllerId=4 Topics=4", end - at)
        controller_id, n = _unpack_ii(data, at)
        at += 8
        room[0] -= n
        if n < 0 or 9 * n > end - at or room[0] < 0:
            raise bad_count("MetadataResponse.Topics", n, end - at, room[0])
        topics, at = _read_metadata_response_topic_1(data, at, end, room, n)
        items.append(MetadataResponse(throttle_time_ms, brokers, cluster_id, controller_id, topics))
    return items, at


def _read_metadata_response_partition_5(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[MetadataResponsePartition], int]:
    items: list[MetadataResponsePartition] = []
    for _ in range(count):
        if end - at < 14:
            raise cut_off("MetadataResponsePartition", "ErrorCode=2 PartitionIndex=4 LeaderId=4 ReplicaNodes=4", end - at)
        error_code, partition_index, leader_id, n = _unpack_hiii(data, at)
        at += 14
        room[0] -= n
        if n < 0 or 4 * n > end - at or room[0] < 0:
            raise bad_count("MetadataResponsePartition.ReplicaNodes", n, end - at, room[0])
        replica_nodes = read_numbers(data, at, n, "i")
        at += 4 * n
        if end - at < 4:
            raise cut_off("MetadataResponsePartition", "IsrNodes=4", end - at)
        n = _unpack_i(data, at)[0]
        at += 4
        room[0] -= n
        if n < 0 or 4 * n > end - at or room[0] < 0:
            raise bad_count("MetadataResponsePartition.IsrNodes", n, end - at, room[0])
        isr_nodes = read_numbers(data, at, n, "i")
        at += 4 * n
        if end - at < 4:
            raise cut_off("MetadataResponsePartition", "OfflineReplicas=4", end - at)
        n = _unpack_i(data, at)[0]
        at += 4
        room[0] -= n
        if n < 0 or 4 * n > end - at or room[0] < 0:
            raise bad_count("MetadataResponsePartition.OfflineReplicas", n, end - at, room[0])
        offline_replicas = read_numbers(data, at, n, "i")
        at += 4 * n
        items.append(MetadataResponsePartition(error_code, partition_index, leader_id, -1, replica_nodes, isr_nodes, offline_replicas))
    return items, at


def _read_metadata_response_topic_5(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[MetadataResponseTopic], int]:
    items: list[MetadataResponseTopic] = []
    for _ in range(count):
        if end - at < 4:
            raise cut_off("MetadataResponseTopic", "ErrorCode=2 Name=2", end - at)
        error_code, n = _unpack_hh(data, at)
        at += 4
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("MetadataResponseTopic.Name", n, end - at)
        try:
            name = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("MetadataResponseTopic.Name") from None
        at = stop
        if end - at < 5:
            raise cut_off("MetadataResponseTopic", "IsInternal=1 Partitions=4", end - at)
        is_internal, n = _unpack_ti(data, at)
        at += 5
        room[0] -= n
        if n < 0 or 22 * n > end - at or room[0] < 0:
            raise bad_count("MetadataResponseTopic.Partitions", n, end - at, room[0])
        partitions, at = _read_metadata_response_partition_5(data, at, end, room, n)
        items.append(MetadataResponseTopic(error_code, name, NO_UUID, is_internal, partitions))
    return items, at


def _read_metadata_response_5(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[MetadataResponse], int]:
    items: list[MetadataResponse] = []
    for _ in range(count):
        if end - at < 8:
            raise cut_off("MetadataResponse", "ThrottleTimeMs=4 Brokers=4", end - at)
        throttle_time_ms, n = _unpack_ii(data, at)
        at += 8
        room[0] -= n
        if n < 0 or 12 * n > end - at or room[0] < 0:
            raise bad_count("MetadataResponse.Brokers", n, end - at, room[0])
        brokers, at = _read_metadata_response_broker_1(data, at, end, room, n)
        if end - at < 2:
            raise cut_off("MetadataResponse", "ClusterId=2", end - at)
        n = _unpack_h(data, at)[0]
        at += 2
        if n == -1:
            cluster_id = None
        else:
            stop = at + n
            if n < 0 or stop > end:
                raise bad_length("MetadataResponse.ClusterId", n, end - at)
            try:
                cluster_id = data[at:stop].decode()
            except UnicodeDecodeError:
                raise not_utf8("MetadataResponse.ClusterId") from None
            at = stop
        if end - at < 8:
            raise cut_off("MetadataResponse", "ControllerId=4 Topics=4", end - at)
        controller_id, n = _unpack_ii(data, at)
        at += 8
        room[0] -= n
        if n < 0 or 9 * n > end - at or room[0] < 0:
            raise bad_count("MetadataResponse.Topics", n, end - at, room[0])
        topics, at = _read_metadata_response_topic_5(data, at, end, room, n)
        items.append(MetadataResponse(throttle_time_ms, brokers, cluster_id, controller_id, topics))
    return items, at


def _read_metadata_response_partition_7(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[MetadataResponsePartition], int]:
    items: list[MetadataResponsePartition] = []
    for _ in range(count):
        if end - at < 18:
            raise cut_off("MetadataResponsePartition", "ErrorCode=2 PartitionIndex=4 LeaderId=4 LeaderEpoch=4 ReplicaNodes=4", end - at)
        error_code, partition_index, leader_id, leader_epoch, n = _unpack_hiiii(data, at)
        at += 18
        room[0] -= n
        if n < 0 or 4 * n > end - at or room[0] < 0:
            raise bad_count("MetadataResponsePartition.ReplicaNodes", n, end - at, room[0])
        replica_nodes = read_numbers(data, at, n, "i")
        at += 4 * n
        if end - at < 4:
            raise cut_off("MetadataResponsePartition", "IsrNodes=4", end - at)
        n = _unpack_i(data, at)[0]
        at += 4
        room[0] -= n
        if n < 0 or 4 * n > end - at or room[0] < 0:
            raise bad_count("MetadataResponsePartition.IsrNodes", n, end - at, room[0])
        isr_nodes = read_numbers(data, at, n, "i")
        at += 4 * n
        if end - at < 4:
            raise cut_off("MetadataResponsePartition", "OfflineReplicas=4", end - at)
        n = _unpack_i(data, at)[0]
        at += 4
        room[0] -= n
        if n < 0 or 4 * n > end - at or room[0] < 0:
            raise bad_count("MetadataResponsePartition.OfflineReplicas", n, end - at, room[0])
        offline_replicas = read_numbers(data, at, n, "i")
        at += 4 * n
        items.append(MetadataResponsePartition(error_code, partition_index, leader_id, leader_epoch, replica_nodes, isr_nodes, offline_replicas))
    return items, at


def _read_metadata_response_topic_7(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[MetadataResponseTopic], int]:
    items: list[MetadataResponseTopic] = []
    for _ in range(count):
        if end - at < 4:
            raise cut_off("MetadataResponseTopic", "ErrorCode=2 Name=2", end - at)
        error_code, n = _unpack_hh(data, at)
        at += 4
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("MetadataResponseTopic.Name", n, end - at)
        try:
            name = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("MetadataResponseTopic.Name") from None
        at = stop
        if end - at < 5:
            raise cut_off("MetadataResponseTopic", "IsInternal=1 Partitions=4", end - at)
        is_internal, n = _unpack_ti(data, at)
        at += 5
        room[0] -= n
        if n < 0 or 26 * n > end - at or room[0] < 0:
            raise bad_count("MetadataResponseTopic.Partitions", n, end - at, room[0])
        partitions, at = _read_metadata_response_partition_7(data, at, end, room, n)
        items.append(MetadataResponseTopic(error_code, name, NO_UUID, is_internal, partitions))
    return items, at


def _read_metadata_response_7(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[MetadataResponse], int]:
    items: list[MetadataResponse] = []
    for _ in range(count):
        if end - at < 8:
            raise cut_off("MetadataResponse", "ThrottleTimeMs=4 Brokers=4", end - at)
        throttle_time_ms, n = _unpack_ii(data, at)
        at += 8
        room[0] -= n
        if n < 0 or 12 * n > end - at or room[0] < 0:
            raise bad_count("MetadataResponse.Brokers", n, end - at, room[0])
        brokers, at = _read_metadata_response_broker_1(data, at, end, room, n)
        if end - at < 2:
            raise cut_off("MetadataResponse", "ClusterId=2", end - at)
        n = _unpack_h(data, at)[0]
        at += 2
        if n == -1:
            cluster_id = None
        else:
            stop = at + n
            if n < 0 or stop > end:
                raise bad_length("MetadataResponse.ClusterId", n, end - at)
            try:
                cluster_id = data[at:stop].decode()
            except UnicodeDecodeError:
                raise not_utf8("MetadataResponse.ClusterId") from None
            at = stop
        if end - at < 8:
            raise cut_off("MetadataResponse", "ControllerId=4 Topics=4", end - at)
        controller_id, n = _unpack_ii(data, at)
        at += 8
        room[0] -= n
        if n < 0 or 9 * n > end - at or room[0] < 0:
            raise bad_count("MetadataResponse.Topics", n, end - at, room[0])
        topics, at = _read_metadata_response_topic_7(data, at, end, room, n)
        items.append(MetadataResponse(throttle_time_ms, brokers, cluster_id, controller_id, topics))
    return items, at


def _read_metadata_response_topic_8(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[MetadataResponseTopic], int]:
    items: list[MetadataResponseTopic] = []
    for _ in range(count):
        if end - at < 4:
            raise cut_off("MetadataResponseTopic", "ErrorCode=2 Name=2", end - at)
        error_code, n = _unpack_hh(data, at)
        at += 4
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("MetadataResponseTopic.Name", n, end - at)
        try:
            name = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("MetadataResponseTopic.Name") from None
        at = stop
        if end - at < 5:
            raise cut_off("MetadataResponseTopic", "IsInternal=1 Partitions=4", end - at)
        is_internal, n = _unpack_ti(data, at)
        at += 5
        room[0] -= n
        if n < 0 or 26 * n > end - at or room[0] < 0:
            raise bad_count("MetadataResponseTopic.Partitions", n, end - at, room[0])
        partitions, at = _read_metadata_response_partition_7(data, at, end, room, n)
        if end - at < 4:
            raise cut_off("MetadataResponseTopic", "TopicAuthorizedOperations=4", end - at)
        topic_authorized_operations = _unpack_i(data, at)[0]
        at += 4
        items.append(MetadataResponseTopic(error_code, name, NO_UUID, is_internal, partitions, topic_authorized_operations))
    return items, at


def _read_metadata_response_8(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[MetadataResponse], int]:
    items: list[MetadataResponse] = []
    for _ in range(count):
        if end - at < 8:
            raise cut_off("MetadataResponse", "ThrottleTimeMs=4 Brokers=4", end - at)
        throttle_time_ms, n = _unpack_ii(data, at)
        at += 8
        room[0] -= n
        if n < 0 or 12 * n > end - at or room[0] < 0:
            raise bad_count("MetadataResponse.Brokers", n, end - at, room[0])
        brokers, at = _read_metadata_response_broker_1(data, at, end, room, n)
        if end - at < 2:
            raise cut_off("MetadataResponse", "ClusterId=2", end - at)
        n = _unpack_h(data, at)[0]
        at += 2
        if n == -1:
            cluster_id = None
        else:
            stop = at + n
            if n < 0 or stop > end:
                raise bad_length("MetadataResponse.ClusterId", n, end - at)
            try:
                cluster_id = data[at:stop].decode()
            except UnicodeDecodeError:
                raise not_utf8("MetadataResponse.ClusterId") from None
            at = stop
        if end - at < 8:
            raise cut_off("MetadataResponse", "ControllerId=4 Topics=4", end - at)
        controller_id, n = _unpack_ii(data, at)
        at += 8
        room[0] -= n
        if n < 0 or 13 * n > end - at or room[0] < 0:
            raise bad_count("MetadataResponse.Topics", n, end - at, room[0])
        topics, at = _read_metadata_response_topic_8(data, at, end, room, n)
        if end - at < 4:
            raise cut_off("MetadataResponse", "ClusterAuthorizedOperations=4", end - at)
        cluster_authorized_operations = _unpack_i(data, at)[0]
        at += 4
        items.append(MetadataResponse(throttle_time_ms, brokers, cluster_id, controller_id, topics, cluster_authorized_operations))
    return items, at


def _read_metadata_response_broker_9(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[MetadataResponseBroker], int]:
    items: list[MetadataResponseBroker] = []
    for _ in range(count):
        if end - at < 5:
            raise cut_off("MetadataResponseBroker", "NodeId=4 Host=1", end - at)
        node_id, n = _unpack_iB(data, at)
        at += 5
        if n > 127:
            n, at = long_text(data, at, end, n, "MetadataResponseBroker.Host")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("MetadataResponseBroker.Host", n - 1, end - at)
        try:
            host = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("MetadataResponseBroker.Host") from None
        at = stop
        if end - at < 5:
            raise cut_off("MetadataResponseBroker", "Port=4 Rack=1", end - at)
        port, n = _unpack_iB(data, at)
        at += 5
        if n > 127:
            n, at = long_text(data, at, end, n, "MetadataResponseBroker.Rack")
        if n == 0:
            rack = None
        else:
            stop = at + n - 1
            if n < 1 or stop > end:
                raise bad_length("MetadataResponseBroker.Rack", n - 1, end - at)
            try:
                rack = data[at:stop].decode()
            except UnicodeDecodeError:
                raise not_utf8("MetadataResponseBroker.Rack") from None
            at = stop
        if at >= end:
            raise cut_off("MetadataResponseBroker", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "MetadataResponseBroker")
        items.append(MetadataResponseBroker(node_id, host, port, rack))
    return items, at


def _read_metadata_response_partition_9(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[MetadataResponsePartition], int]:
    items: list[MetadataResponsePartition] = []
    for _ in range(count):
        if end - at < 15:
            raise cut_off("MetadataResponsePartition", "ErrorCode=2 PartitionIndex=4 LeaderId=4 LeaderEpoch=4 ReplicaNodes=1", end - at)
        error_code, partition_index, leader_id, leader_epoch, n = _unpack_hiiiB(data, at)
        at += 15
        if n > 127:
            n, at = long_varint(data, at, end, n, "MetadataResponsePartition.ReplicaNodes")
        n -= 1
        room[0] -= n
        if n < 0 or 4 * n > end - at or room[0] < 0:
            raise bad_count("MetadataResponsePartition.ReplicaNodes", n, end - at, room[0])
        replica_nodes = read_numbers(data, at, n, "i")
        at += 4 * n
        if at >= end:
            raise cut_off("MetadataResponsePartition", "IsrNodes=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "MetadataResponsePartition.IsrNodes")
        n -= 1
        room[0] -= n
        if n < 0 or 4 * n > end - at or room[0] < 0:
            raise bad_count("MetadataResponsePartition.IsrNodes", n, end - at, room[0])
        isr_nodes = read_numbers(data, at, n, "i")
        at += 4 * n
        if at >= end:
            raise cut_off("MetadataResponsePartition", "OfflineReplicas=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "MetadataResponsePartition.OfflineReplicas")
        n -= 1
        room[0] -= n
        if n < 0 or 4 * n > end - at or room[0] < 0:
            raise bad_count("MetadataResponsePartition.OfflineReplicas", n, end - at, room[0])
        offline_replicas = read_numbers(data, at, n, "i")
        at += 4 * n
        if at >= end:
            raise cut_off("MetadataResponsePartition", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "MetadataResponsePartition")
        items.append(MetadataResponsePartition(error_code, partition_index, leader_id, leader_epoch, replica_nodes, isr_nodes, offline_replicas))
    return items, at


def _read_metadata_response_topic_9(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[MetadataResponseTopic], int]:
    items: list[MetadataResponseTopic] = []
    for _ in range(count):
        if end - at < 3:
            raise cut_off("MetadataResponseTopic", "ErrorCode=2 Name=1", end - at)
        error_code, n = _unpack_hB(data, at)
        at += 3
        if n > 127:
            n, at = long_text(data, at, end, n, "MetadataResponseTopic.Name")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("MetadataResponseTopic.Name", n - 1, end - at)
        try:
            name = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("MetadataResponseTopic.Name") from None
        at = stop
        if end - at < 2:
            raise cut_off("MetadataResponseTopic", "IsInternal=1 Partitions=1", end - at)
        is_internal, n = _unpack_tB(data, at)
        at += 2
        if n > 127:
            n, at = long_varint(data, at, end, n, "MetadataResponseTopic.Partitions")
        n -= 1
        room[0] -= n
        if n < 0 or 18 * n > end - at or room[0] < 0:
            raise bad_count("MetadataResponseTopic.Partitions", n, end - at, room[0])
        partitions, at = _read_metadata_response_partition_9(data, at, end, room, n)
        if end - at < 5:
            raise cut_off("MetadataResponseTopic", "TopicAuthorizedOperations=4 tags=1", end - at)
        topic_authorized_operations, tags = _unpack_iB(data, at)
        at += 5
        if tags:
            at = skip_tags(data, at, end, tags, "MetadataResponseTopic")
        items.append(MetadataResponseTopic(error_code, name, NO_UUID, is_internal, partitions, topic_authorized_operations))
    return items, at


def _read_metadata_response_9(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[MetadataResponse], int]:
    items: list[MetadataResponse] = []
    for _ in range(count):
        if end - at < 5:
            raise cut_off("MetadataResponse", "ThrottleTimeMs=4 Brokers=1", end - at)
        throttle_time_ms, n = _unpack_iB(data, at)
        at += 5
        if n > 127:
            n, at = long_varint(data, at, end, n, "MetadataResponse.Brokers")
        n -= 1
        room[0] -= n
        if n < 0 or 11 * n > end - at or room[0] < 0:
            raise bad_count("MetadataResponse.Brokers", n, end - at, room[0])
        brokers, at = _read_metadata_response_broker_9(data, at, end, room, n)
        if at >= end:
            raise cut_off("MetadataResponse", "ClusterId=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "MetadataResponse.ClusterId")
        if n == 0:
            cluster_id = None
        else:
            stop = at + n - 1
            if n < 1 or stop > end:
                raise bad_length("MetadataResponse.ClusterId", n - 1, end - at)
            try:
                cluster_id = data[at:stop].decode()
            except UnicodeDecodeError:
                raise not_utf8("MetadataResponse.ClusterId") from None
            at = stop
        if end - at < 5:
            raise cut_off("MetadataResponse", "ControllerId=4 Topics=1", end - at)
        controller_id, n = _unpack_iB(data, at)
        at += 5
        if n > 127:
            n, at = long_varint(data, at, end, n, "MetadataResponse.Topics")
        n -= 1
        room[0] -= n
        if n < 0 or 10 * n > end - at or room[0] < 0:
            raise bad_count("MetadataResponse.Topics", n, end - at, room[0])
        topics, at = _read_metadata_response_topic_9(data, at, end, room, n)
        if end - at < 5:
            raise cut_off("MetadataResponse", "ClusterAuthorizedOperations=4 tags=1", end - at)
        cluster_authorized_operations, tags = _unpack_iB(data, at)
        at += 5
        if tags:
            at = skip_tags(data, at, end, tags, "MetadataResponse")
        items.append(MetadataResponse(throttle_time_ms, brokers, cluster_id, controller_id, topics, cluster_authorized_operations))
    return items, at


def _read_metadata_response_topic_10(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[MetadataResponseTopic], int]:
    items: list[MetadataResponseTopic] = []
    for _ in range(count):
        if end - at < 3:
            raise cut_off("MetadataResponseTopic", "ErrorCode=2 Name=1", end - at)
        error_code, n = _unpack_hB(data, at)
        at += 3
        if n > 127:
            n, at = long_text(data, at, end, n, "MetadataResponseTopic.Name")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("MetadataResponseTopic.Name", n - 1, end - at)
        try:
            name = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("MetadataResponseTopic.Name") from None
        at = stop
        if end - at < 18:
            raise cut_off("MetadataResponseTopic", "TopicId=16 IsInternal=1 Partitions=1", end - at)
        topic_id, is_internal, n = _unpack_16stB(data, at)
        at += 18
        if n > 127:
            n, at = long_varint(data, at, end, n, "MetadataResponseTopic.Partitions")
        n -= 1
        room[0] -= n
        if n < 0 or 18 * n > end - at or room[0] < 0:
            raise bad_count("MetadataResponseTopic.Partitions", n, end - at, room[0])
        partitions, at = _read_metadata_response_partition_9(data, at, end, room, n)
        if end - at < 5:
            raise cut_off("MetadataResponseTopic", "TopicAuthorizedOperations=4 tags=1", end - at)
        topic_authorized_operations, tags = _unpack_iB(data, at)
        at += 5
        if tags:
            at = skip_tags(data, at, end, tags, "MetadataResponseTopic")
        items.append(MetadataResponseTopic(error_code, name, topic_id, is_internal, partitions, topic_authorized_operations))
    return items, at


def _read_metadata_response_10(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[MetadataResponse], int]:
    items: list[MetadataResponse] = []
    for _ in range(count):
        if end - at < 5:
            raise cut_off("MetadataResponse", "ThrottleTimeMs=4 Brokers=1", end - at)
        throttle_time_ms, n = _unpack_iB(data, at)
        at += 5
        if n > 127:
            n, at = long_varint(data, at, end, n, "MetadataResponse.Brokers")
        n -= 1
        room[0] -= n
        if n < 0 or 11 * n > end - at or room[0] < 0:
            raise bad_count("MetadataResponse.Brokers", n, end - at, room[0])
        brokers, at = _read_metadata_response_broker_9(data, at, end, room, n)
        if at >= end:
            raise cut_off("MetadataResponse", "ClusterId=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "MetadataResponse.ClusterId")
        if n == 0:
            cluster_id = None
        else:
            stop = at + n - 1
            if n < 1 or stop > end:
                raise bad_length("MetadataResponse.ClusterId", n - 1, end - at)
            try:
                cluster_id = data[at:stop].decode()
            except UnicodeDecodeError:
                raise not_utf8("MetadataResponse.ClusterId") from None
            at = stop
        if end - at < 5:
            raise cut_off("MetadataResponse", "ControllerId=4 Topics=1", end - at)
        controller_id, n = _unpack_iB(data, at)
        at += 5
        if n > 127:
            n, at = long_varint(data, at, end, n, "MetadataResponse.Topics")
        n -= 1
        room[0] -= n
        if n < 0 or 26 * n > end - at or room[0] < 0:
            raise bad_count("MetadataResponse.Topics", n, end - at, room[0])
        topics, at = _read_metadata_response_topic_10(data, at, end, room, n)
        if end - at < 5:
            raise cut_off("MetadataResponse", "ClusterAuthorizedOperations=4 tags=1", end - at)
        cluster_authorized_operations, tags = _unpack_iB(data, at)
        at += 5
        if tags:
            at = skip_tags(data, at, end, tags, "MetadataResponse")
        items.append(MetadataResponse(throttle_time_ms, brokers, cluster_id, controller_id, topics, cluster_authorized_operations))
    return items, at


def _read_metadata_response_11(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[MetadataResponse], int]:
    items: list[MetadataResponse] = []
    for _ in range(count):
        if end - at < 5:
            raise cut_off("MetadataResponse", "ThrottleTimeMs=4 Brokers=1", end - at)
        throttle_time_ms, n = _unpack_iB(data, at)
        at += 5
        if n > 127:
            n, at = long_varint(data, at, end, n, "MetadataResponse.Brokers")
        n -= 1
        room[0] -= n
        if n < 0 or 11 * n > end - at or room[0] < 0:
            raise bad_count("MetadataResponse.Brokers", n, end - at, room[0])
        brokers, at = _read_metadata_response_broker_9(data, at, end, room, n)
        if at >= end:
            raise cut_off("MetadataResponse", "ClusterId=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "MetadataResponse.ClusterId")
        if n == 0:
            cluster_id = None
        else:
            stop = at + n - 1
            if n < 1 or stop > end:
                raise bad_length("MetadataResponse.ClusterId", n - 1, end - at)
            try:
                cluster_id = data[at:stop].decode()
            except UnicodeDecodeError:
                raise not_utf8("MetadataResponse.ClusterId") from None
            at = stop
        if end - at < 5:
            raise cut_off("MetadataResponse", "ControllerId=4 Topics=1", end - at)
        controller_id, n = _unpack_iB(data, at)
        at += 5
        if n > 127:
            n, at = long_varint(data, at, end, n, "MetadataResponse.Topics")
        n -= 1
        room[0] -= n
        if n < 0 or 26 * n > end - at or room[0] < 0:
            raise bad_count("MetadataResponse.Topics", n, end - at, room[0])
        topics, at = _read_metadata_response_topic_10(data, at, end, room, n)
        if at >= end:
            raise cut_off("MetadataResponse", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "MetadataResponse")
        items.append(MetadataResponse(throttle_time_ms, brokers, cluster_id, controller_id, topics))
    return items, at


def _read_metadata_response_topic_12(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[MetadataResponseTopic], int]:
    items: list[MetadataResponseTopic] = []
    for _ in range(count):
        if end - at < 3:
            raise cut_off("MetadataResponseTopic", "ErrorCode=2 Name=1", end - at)
        error_code, n = _unpack_hB(data, at)
        at += 3
        if n > 127:
            n, at = long_text(data, at, end, n, "MetadataResponseTopic.Name")
        if n == 0:
            name = None
        else:
            stop = at + n - 1
            if n < 1 or stop > end:
                raise bad_length("MetadataResponseTopic.Name", n - 1, end - at)
            try:
                name = data[at:stop].decode()
            except UnicodeDecodeError:
                raise not_utf8("MetadataResponseTopic.Name") from None
            at = stop
        if end - at < 18:
            raise cut_off("MetadataResponseTopic", "TopicId=16 IsInternal=1 Partitions=1", end - at)
        topic_id, is_internal, n = _unpack_16stB(data, at)
        at += 18
        if n > 127:
            n, at = long_varint(data, at, end, n, "MetadataResponseTopic.Partitions")
        n -= 1
        room[0] -= n
        if n < 0 or 18 * n > end - at or room[0] < 0:
            raise bad_count("MetadataResponseTopic.Partitions", n, end - at, room[0])
        partitions, at = _read_metadata_response_partition_9(data, at, end, room, n)
        if end - at < 5:
            raise cut_off("MetadataResponseTopic", "TopicAuthorizedOperations=4 tags=1", end - at)
        topic_authorized_operations, tags = _unpack_iB(data, at)
        at += 5
        if tags:
            at = skip_tags(data, at, end, tags, "MetadataResponseTopic")
        items.append(MetadataResponseTopic(error_code, name, topic_id, is_internal, partitions, topic_authorized_operations))
    return items, at


def _read_metadata_response_12(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[MetadataResponse], int]:
    items: list[MetadataResponse] = []
    for _ in range(count):
        if end - at < 5:
            raise cut_off("MetadataResponse", "ThrottleTimeMs=4 Brokers=1", end - at)
        throttle_time_ms, n = _unpack_iB(data, at)
        at += 5
        if n > 127:
            n, at = long_varint(data, at, end, n, "MetadataResponse.Brokers")
        n -= 1
        room[0] -= n
        if n < 0 or 11 * n > end - at or room[0] < 0:
            raise bad_count("MetadataResponse.Brokers", n, end - at, room[0])
        brokers, at = _read_metadata_response_broker_9(data, at, end, room, n)
        if at >= end:
            raise cut_off("MetadataResponse", "ClusterId=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "MetadataResponse.ClusterId")
        if n == 0:
            cluster_id = None
        else:
            stop = at + n - 1
            if n < 1 or stop > end:
                raise bad_length("MetadataResponse.ClusterId", n - 1, end - at)
            try:
                cluster_id = data[at:stop].decode()
            except UnicodeDecodeError:
                raise not_utf8("MetadataResponse.ClusterId") from None
            at = stop
        if end - at < 5:
            raise cut_off("MetadataResponse", "ControllerId=4 Topics=1", end - at)
        controller_id, n = _unpack_iB(data, at)
        at += 5
        if n > 127:
            n, at = long_varint(data, at, end, n, "MetadataResponse.Topics")
        n -= 1
        room[0] -= n
        if n < 0 or 26 * n > end - at or room[0] < 0:
            raise bad_count("MetadataResponse.Topics", n, end - at, room[0])
        topics, at = _read_metadata_response_topic_12(data, at, end, room, n)
        if at >= end:
            raise cut_off("MetadataResponse", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "MetadataResponse")
        items.append(MetadataResponse(throttle_time_ms, brokers, cluster_id, controller_id, topics))
    return items, at


def _read_metadata_response_13(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[MetadataResponse], int]:
    items: list[MetadataResponse] = []
    for _ in range(count):
        if end - at < 5:
            raise cut_off("MetadataResponse", "ThrottleTimeMs=4 Brokers=1", end - at)
        throttle_time_ms, n = _unpack_iB(data, at)
        at += 5
        if n > 127:
            n, at = long_varint(data, at, end, n, "MetadataResponse.Brokers")
        n -= 1
        room[0] -= n
        if n < 0 or 11 * n > end - at or room[0] < 0:
            raise bad_count("MetadataResponse.Brokers", n, end - at, room[0])
        brokers, at = _read_metadata_response_broker_9(data, at, end, room, n)
        if at >= end:
            raise cut_off("MetadataResponse", "ClusterId=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "MetadataResponse.ClusterId")
        if n == 0:
            cluster_id = None
        else:
            stop = at + n - 1
            if n < 1 or stop > end:
                raise bad_length("MetadataResponse.ClusterId", n - 1, end - at)
            try:
                cluster_id = data[at:stop].decode()
            except UnicodeDecodeError:
                raise not_utf8("MetadataResponse.ClusterId") from None
            at = stop
        if end - at < 5:
            raise cut_off("MetadataResponse", "ControllerId=4 Topics=1", end - at)
        controller_id, n = _unpack_iB(data, at)
        at += 5
        if n > 127:
            n, at = long_varint(data, at, end, n, "MetadataResponse.Topics")
        n -= 1
        room[0] -= n
        if n < 0 or 26 * n > end - at or room[0] < 0:
            raise bad_count("MetadataResponse.Topics", n, end - at, room[0])
        topics, at = _read_metadata_response_topic_12(data, at, end, room, n)
        if end - at < 3:
            raise cut_off("MetadataResponse", "ErrorCode=2 tags=1", end - at)
        error_code, tags = _unpack_hB(data, at)
        at += 3
        if tags:
            at = skip_tags(data, at, end, tags, "MetadataResponse")
        items.append(MetadataResponse(throttle_time_ms, brokers, cluster_id, controller_id, topics, -2147483648, error_code))
    return items, at


def _write_metadata_response_broker_0(items: Iterable[MetadataResponseBroker], out: list[Buffer]) -> None:
    for m in items:
        host = m.host
        content = host.encode()
        n = len(content)
        out.append(_pack_ih(m.node_id, n))
        out.append(content)
        out.append(_pack_i(m.port))


def _write_metadata_response_partition_0(items: Iterable[MetadataResponsePartition], out: list[Buffer]) -> None:
    for m in items:
        replica_nodes = m.replica_nodes
        n = len(replica_nodes)
        out.append(_pack_hiii(m.error_code, m.partition_index, m.leader_id, n))
        if replica_nodes:
            out.append(packer(len(replica_nodes), "i")(*replica_nodes))
        isr_nodes = m.isr_nodes
        n = len(isr_nodes)
        out.append(_pack_i(n))
        if isr_nodes:
            out.append(packer(len(isr_nodes), "i")(*isr_nodes))


def _write_metadata_response_topic_0(items: Iterable[MetadataResponseTopic], out: list[Buffer]) -> None:
    for m in items:
        if m.encoded:
            out.append(m.encoded)
            continue
        name = m.name
        if name is None:
            raise null_field("MetadataResponseTopic.Name")
        content = name.encode()
        n = len(content)
        out.append(_pack_hh(m.error_code, n))
        out.append(content)
        partitions = m.partitions
        n = len(partitions)
        out.append(_pack_i(n))
        if partitions:
            _write_metadata_response_partition_0(partitions, out)


def _write_metadata_response_0(items: Iterable[MetadataResponse], out: list[Buffer]) -> None:
    for m in items:
        brokers = m.brokers
        n = len(brokers)
        out.append(_pack_i(n))
        if brokers:
            _write_metadata_response_broker_0(brokers, out)
        topics = m.topics
        n = len(topics)
        out.append(_pack_i(n))
        if topics:
            _write_metadata_response_topic_0(topics, out)


def _write_metadata_response_broker_1(items: Iterable[MetadataResponseBroker], out: list[Buffer]) -> None:
    for m in items:
        host = m.host
        content = host.encode()
        n = len(content)
        out.append(_pack_ih(m.node_id, n))
        out.append(content)
        rack = m.rack
        if rack is None:
            content = b""
            n = -1
        else:
            content = rack.encode()
            n = len(content)
        out.append(_pack_ih(m.port, n))
        out.append(content)


def _write_metadata_response_topic_1(items: Iterable[MetadataResponseTopic], out: list[Buffer]) -> None:
    for m in items:
        if m.encoded:
            out.append(m.encoded)
            continue
        name = m.name
        if name is None:
            raise null_field("MetadataResponseTopic.Name")
        content = name.encode()
        n = len(content)
        out.append(_pack_hh(m.error_code, n))
        out.append(content)
        partitions = m.partitions
        n = len(partitions)
        out.append(_pack_ti(m.is_internal, n))
        if partitions:
            _write_metadata_response_partition_0(partitions, out)


def _write_metadata_response_1(items: Iterable[MetadataResponse], out: list[Buffer]) -> None:
    for m in items:
        brokers = m.brokers
        n = len(brokers)
        out.append(_pack_i(n))
        if brokers:
            _write_metadata_response_broker_1(brokers, out)
        topics = m.topics
        n = len(topics)
        out.append(_pack_ii(m.controller_id, n))
        if topics:
            _write_metadata_response_topic_1(topics, out)


def _write_metadata_response_2(items: Iterable[MetadataResponse], out: list[Buffer]) -> None:
    for m in items:
        brokers = m.brokers
        n = len(brokers)
        out.append(_pack_i(n))
        if brokers:
            _write_metadata_response_broker_1(brokers, out)
        cluster_id = m.cluster_id
        if cluster_id is None:
            content = b""
            n = -1
        else:
            content = cluster_id.encode()
            n = len(content)
        out.append(_pack_h(n))
        out.append(content)
        topics = m.topics
        n = len(topics)
        out.append(_pack_ii(m.controller_id, n))
        if topics:
            _write_metadata_response_topic_1(topics, out)


def _write_metadata_response_3(items: Iterable[MetadataResponse], out: list[Buffer]) -> None:
    for m in items:
        brokers = m.brokers
        n = len(brokers)
        out.append(_pack_ii(m.throttle_time_ms, n))
        if brokers:
            _write_metadata_response_broker_1(brokers, out)
        cluster_id = m.cluster_id
        if cluster_id is None:
            content = b""
            n = -1
        else:
            content = cluster_id.encode()
            n = len(content)
        out.append(_pack_h(n))
        out.append(content)
        topics = m.topics
        n = len(topics)
        out.append(_pack_ii(m.controller_id, n))
        if topics:
            _write_metadata_response_topic_1(topics, out)


def _write_metadata_response_partition_5(items: Iterable[MetadataResponsePartition], out: list[Buffer]) -> None:
    for m in items:
        replica_nodes = m.replica_nodes
        n = len(replica_nodes)
        out.append(_pack_hiii(m.error_code, m.partition_index, m.leader_id, n))
        if replica_nodes:
            out.append(packer(len(replica_nodes), "i")(*replica_nodes))
        isr_nodes = m.isr_nodes
        n = len(isr_nodes)
        out.append(_pack_i(n))
        if isr_nodes:
            out.append(packer(len(isr_nodes), "i")(*isr_nodes))
        offline_replicas = m.offline_replicas
        n = len(offline_replicas)
        out.append(_pack_i(n))
        if offline_replicas:
            out.append(packer(len(offline_replicas), "i")(*offline_replicas))


def _write_metadata_response_topic_5(items: Iterable[MetadataResponseTopic], out: list[Buffer]) -> None:
    for m in items:
        if m.encoded:
            out.append(m.encoded)
            continue
        name = m.name
        if name is None:
            raise null_field("MetadataResponseTopic.Name")
        content = name.encode()
        n = len(content)
        out.append(_pack_hh(m.error_code, n))
        out.append(content)
        partitions = m.partitions
        n = len(partitions)
        out.append(_pack_ti(m.is_internal, n))
        if partitions:
            _write_metadata_response_partition_5(partitions, out)


def _write_metadata_response_5(items: Iterable[MetadataResponse], out: list[Buffer]) -> None:
    for m in items:
        brokers = m.brokers
        n = len(brokers)
        out.append(_pack_ii(m.throttle_time_ms, n))
        if brokers:
            _write_metadata_response_broker_1(brokers, out)
        cluster_id = m.cluster_id
        if cluster_id is None:
            content = b""
            n = -1
        else:
            content = cluster_id.encode()
            n = len(content)
        out.append(_pack_h(n))
        out.append(content)
        topics = m.topics
        n = len(topics)
        out.append(_pack_ii(m.controller_id, n))
        if topics:
            _write_metadata_response_topic_5(topics, out)


def _write_metadata_response_partition_7(items: Iterable[MetadataResponsePartition], out: list[Buffer]) -> None:
    for m in items:
        replica_nodes = m.replica_nodes
        n = len(replica_nodes)
        out.append(_pack_hiiii(m.error_code, m.partition_index, m.leader_id, m.leader_epoch, n))
        if replica_nodes:
            out.append(packer(len(replica_nodes), "i")(*replica_nodes))
        isr_nodes = m.isr_nodes
        n = len(isr_nodes)
        out.append(_pack_i(n))
        if isr_nodes:
            out.append(packer(len(isr_nodes), "i")(*isr_nodes))
        offline_replicas = m.offline_replicas
        n = len(offline_replicas)
        out.append(_pack_i(n))
        if offline_replicas:
            out.append(packer(len(offline_replicas), "i")(*offline_replicas))


def _write_metadata_response_topic_7(items: Iterable[MetadataResponseTopic], out: list[Buffer]) -> None:
    for m in items:
        if m.encoded:
            out.append(m.encoded)
            continue
        name = m.name
        if name is None:
            raise null_field("MetadataResponseTopic.Name")
        content = name.encode()
        n = len(content)
        out.append(_pack_hh(m.error_code, n))
        out.append(content)
        partitions = m.partitions
        n = len(partitions)
        out.append(_pack_ti(m.is_internal, n))
        if partitions:
            _write_metadata_response_partition_7(partitions, out)


def _write_metadata_response_7(items: Iterable[MetadataResponse], out: list[Buffer]) -> None:
    for m in items:
        brokers = m.brokers
        n = len(brokers)
        out.append(_pack_ii(m.throttle_time_ms, n))
        if brokers:
            _write_metadata_response_broker_1(brokers, out)
        cluster_id = m.cluster_id
        if cluster_id is None:
            content = b""
            n = -1
        else:
            content = cluster_id.encode()
            n = len(content)
        out.append(_pack_h(n))
        out.append(content)
        topics = m.topics
        n = len(topics)
        out.append(_pack_ii(m.controller_id, n))
        if topics:
            _write_metadata_response_topic_7(topics, out)


def _write_metadata_response_topic_8(items: Iterable[MetadataResponseTopic], out: list[Buffer]) -> None:
    for m in items:
        if m.encoded:
            out.append(m.encoded)
            continue
        name = m.name
        if name is None:
            raise null_field("MetadataResponseTopic.Name")
        content = name.encode()
        n = len(content)
        out.append(_pack_hh(m.error_code, n))
        out.append(content)
        partitions = m.partitions
        n = len(partitions)
        out.append(_pack_ti(m.is_internal, n))
        if partitions:
            _write_metadata_response_partition_7(partitions, out)
        out.append(_pack_i(m.topic_authorized_operations))


def _write_metadata_response_8(items: Iterable[MetadataResponse], out: list[Buffer]) -> None:
    for m in items:
        brokers = m.brokers
        n = len(brokers)
        out.append(_pack_ii(m.throttle_time_ms, n))
        if brokers:
            _write_metadata_response_broker_1(brokers, out)
        cluster_id = m.cluster_id
        if cluster_id is None:
            content = b""
            n = -1
        else:
            content = cluster_id.encode()
            n = len(content)
        out.append(_pack_h(n))
        out.append(content)
        topics = m.topics
        n = len(topics)
        out.append(_pack_ii(m.controller_id, n))
        if topics:
            _write_metadata_response_topic_8(topics, out)
        out.append(_pack_i(m.cluster_authorized_operations))


def _write_metadata_response_broker_9(items: Iterable[MetadataResponseBroker], out: list[Buffer]) -> None:
    for m in items:
        host = m.host
        content = host.encode()
        n = len(content) + 1
        if n > 127:
            out.append(_pack_i(m.node_id) + text_length_of(n))
        else:
            out.append(_pack_iB(m.node_id, n))
        out.append(content)
        rack = m.rack
        if rack is None:
            content = b""
            n = 0
        else:
            content = rack.encode()
            n = len(content) + 1
        if n > 127:
            out.append(_pack_i(m.port) + text_length_of(n))
        else:
            out.append(_pack_iB(m.port, n))
        out.append(content)
        out.append(ONE_BYTE[0])


def _write_metadata_response_partition_9(items: Iterable[MetadataResponsePartition], out: list[Buffer]) -> None:
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
        offline_replicas = m.offline_replicas
        n = len(offline_replicas) + 1
        if n > 127:
            out.append(varint_of(n))
        else:
            out.append(ONE_BYTE[n])
        if offline_replicas:
            out.append(packer(len(offline_replicas), "i")(*offline_replicas))
        out.append(ONE_BYTE[0])


def _write_metadata_response_topic_9(items: Iterable[MetadataResponseTopic], out: list[Buffer]) -> None:
    for m in items:
        if m.encoded:
            out.append(m.encoded)
            continue
        name = m.name
        if name is None:
            raise null_field("MetadataResponseTopic.Name")
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
            out.append(_pack_t(m.is_internal) + varint_of(n))
        else:
            out.append(_pack_tB(m.is_internal, n))
        if partitions:
            _write_metadata_response_partition_9(partitions, out)
        out.append(_pack_ix(m.topic_authorized_operations))


def _write_metadata_response_9(items: Iterable[MetadataResponse], out: list[Buffer]) -> None:
    for m in items:
        brokers = m.brokers
        n = len(brokers) + 1
        if n > 127:
            out.append(_pack_i(m.throttle_time_ms) + varint_of(n))
        else:
            out.append(_pack_iB(m.throttle_time_ms, n))
        if brokers:
            _write_metadata_response_broker_9(brokers, out)
        cluster_id = m.cluster_id
        if cluster_id is None:
            content = b""
            n = 0
        else:
            content = cluster_id.encode()
            n = len(content) + 1
        if n > 127:
            out.append(text_length_of(n))
        else:
            out.append(ONE_BYTE[n])
        out.append(content)
        topics = m.topics
        n = len(topics) + 1
        if n > 127:
            out.append(_pack_i(m.controller_id) + varint_of(n))
        else:
            out.append(_pack_iB(m.controller_id, n))
        if topics:
            _write_metadata_response_topic_9(topics, out)
        out.append(_pack_ix(m.cluster_authorized_operations))


def _write_metadata_response_topic_10(items: Iterable[MetadataResponseTopic], out: list[Buffer]) -> None:
    for m in items:
        if m.encoded:
            out.append(m.encoded)
            continue
        name = m.name
        if name is None:
            raise null_field("MetadataResponseTopic.Name")
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
            _write_metadata_response_partition_9(partitions, out)
        out.append(_pack_ix(m.topic_authorized_operations))


def _write_metadata_response_10(items: Iterable[MetadataResponse], out: list[Buffer]) -> None:
    for m in items:
        brokers = m.brokers
        n = len(brokers) + 1
        if n > 127:
            out.append(_pack_i(m.throttle_time_ms) + varint_of(n))
        else:
            out.append(_pack_iB(m.throttle_time_ms, n))
        if brokers:
            _write_metadata_response_broker_9(brokers, out)
        cluster_id = m.cluster_id
        if cluster_id is None:
            content = b""
            n = 0
        else:
            content = cluster_id.encode()
            n = len(content) + 1
        if n > 127:
            out.append(text_length_of(n))
        else:
            out.append(ONE_BYTE[n])
        out.append(content)
        topics = m.topics
        n = len(topics) + 1
        if n > 127:
            out.append(_pack_i(m.controller_id) + varint_of(n))
        else:
            out.append(_pack_iB(m.controller_id, n))
        if topics:
            _write_metadata_response_topic_10(topics, out)
        out.append(_pack_ix(m.cluster_authorized_operations))


def _write_metadata_response_11(items: Iterable[MetadataResponse], out: list[Buffer]) -> None:
    for m in items:
        brokers = m.brokers
        n = len(brokers) + 1
        if n > 127:
            out.append(_pack_i(m.throttle_time_ms) + varint_of(n))
        else:
            out.append(_pack_iB(m.throttle_time_ms, n))
        if brokers:
            _write_metadata_response_broker_9(brokers, out)
        cluster_id = m.cluster_id
        if cluster_id is None:
            content = b""
            n = 0
        else:
            content = cluster_id.encode()
            n = len(content) + 1
        if n > 127:
            out.append(text_length_of(n))
        else:
            out.append(ONE_BYTE[n])
        out.append(content)
        topics = m.topics
        n = len(topics) + 1
        if n > 127:
            out.append(_pack_i(m.controller_id) + varint_of(n))
        else:
            out.append(_pack_iB(m.controller_id, n))
        if topics:
            _write_metadata_response_topic_10(topics, out)
        out.append(ONE_BYTE[0])


def _write_metadata_response_topic_12(items: Iterable[MetadataResponseTopic], out: list[Buffer]) -> None:
    for m in items:
        if m.encoded:
            out.append(m.encoded)
            continue
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
            _write_metadata_response_partition_9(partitions, out)
        out.append(_pack_ix(m.topic_authorized_operations))


def _write_metadata_response_12(items: Iterable[MetadataResponse], out: list[Buffer]) -> None:
    for m in items:
        brokers = m.brokers
        n = len(brokers) + 1
        if n > 127:
            out.append(_pack_i(m.throttle_time_ms) + varint_of(n))
        else:
            out.append(_pack_iB(m.throttle_time_ms, n))
        if brokers:
            _write_metadata_response_broker_9(brokers, out)
        cluster_id = m.cluster_id
        if cluster_id is None:
            content = b""
            n = 0
        else:
            content = cluster_id.encode()
            n = len(content) + 1
        if n > 127:
            out.append(text_length_of(n))
        else:
            out.append(ONE_BYTE[n])
        out.append(content)
        topics = m.topics
        n = len(topics) + 1
        if n > 127:
            out.append(_pack_i(m.controller_id) + varint_of(n))
        else:
            out.append(_pack_iB(m.controller_id, n))
        if topics:
            _write_metadata_response_topic_12(topics, out)
        out.append(ONE_BYTE[0])


def _write_metadata_response_13(items: Iterable[MetadataResponse], out: list[Buffer]) -> None:
    for m in items:
        brokers = m.brokers
        n = len(brokers) + 1
        if n > 127:
            out.append(_pack_i(m.throttle_time_ms) + varint_of(n))
        else:
            out.append(_pack_iB(m.throttle_time_ms, n))
        if brokers:
            _write_metadata_response_broker_9(brokers, out)
        cluster_id = m.cluster_id
        if cluster_id is None:
            content = b""
            n = 0
        else:
            content = cluster_id.encode()
            n = len(content) + 1
        if n > 127:
            out.append(text_length_of(n))
        else:
            out.append(ONE_BYTE[n])
        out.append(content)
        topics = m.topics
        n = len(topics) + 1
        if n > 127:
            out.append(_pack_i(m.controller_id) + varint_of(n))
        else:
            out.append(_pack_iB(m.controller_id, n))
        if topics:
            _write_metadata_response_topic_12(topics, out)
        out.append(_pack_hx(m.error_code))


MetadataResponse._READERS = {
    **dict.fromkeys(range(0, 1), _read_metadata_response_0),
    **dict.fromkeys(range(1, 2), _read_metadata_response_1),
    **dict.fromkeys(range(2, 3), _read_metadata_response_2),
    **dict.fromkeys(range(3, 5), _read_metadata_response_3),
    **dict.fromkeys(range(5, 7), _read_metadata_response_5),
    **dict.fromkeys(range(7, 8), _read_metadata_response_7),
    **dict.fromkeys(range(8, 9), _read_metadata_response_8),
    **dict.fromkeys(range(9, 10), _read_metadata_response_9),
    **dict.fromkeys(range(10, 11), _read_metadata_response_10),
    **dict.fromkeys(range(11, 12), _read_metadata_response_11),
    **dict.fromkeys(range(12, 13), _read_metadata_response_12),
    **dict.fromkeys(range(13, 14), _read_metadata_response_13),
}
MetadataResponse._WRITERS = {
    **dict.fromkeys(range(0, 1), _write_metadata_response_0),
    **dict.fromkeys(range(1, 2), _write_metadata_response_1),
    **dict.fromkeys(range(2, 3), _write_metadata_response_2),
    **dict.fromkeys(range(3, 5), _write_metadata_response_3),
    **dict.fromkeys(range(5, 7), _write_metadata_response_5),
    **dict.fromkeys(range(7, 8), _write_metadata_response_7),
    **dict.fromkeys(range(8, 9), _write_metadata_response_8),
    **dict.fromkeys(range(9, 10), _write_metadata_response_9),
    **dict.fromkeys(range(10, 11), _write_metadata_response_10),
    **dict.fromkeys(range(11, 12), _write_metadata_response_11),
    **dict.fromkeys(range(12, 13), _write_metadata_response_12),
    **dict.fromkeys(range(13, 14), _write_metadata_response_13),
}
MetadataResponseTopic._WRITERS = {
    **dict.fromkeys(range(0, 1), _write_metadata_response_topic_0),
    **dict.fromkeys(range(1, 5), _write_metadata_response_topic_1),
    **dict.fromkeys(range(5, 7), _write_metadata_response_topic_5),
    **dict.fromkeys(range(7, 8), _write_metadata_response_topic_7),
    **dict.fromkeys(range(8, 9), _write_metadata_response_topic_8),
    **dict.fromkeys(range(9, 10), _write_metadata_response_topic_9),
    **dict.fromkeys(range(10, 12), _write_metadata_response_topic_10),
    **dict.fromkeys(range(12, 14), _write_metadata_response_topic_12),
}
