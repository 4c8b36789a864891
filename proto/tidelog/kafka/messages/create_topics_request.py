"""CreateTopicsRequest of Kafka's protocol.

Generated from proto/kafka/create_topics.schema; do not edit.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import ClassVar

import msgspec

from tidelog.kafka.message import Message
from tidelog.kafka.wire import ONE_BYTE, Buffer, bad_count, bad_length, cut_off, long_text, long_varint, not_utf8, packer, read_numbers, skip_tags, text_length_of, varint_of


class CreateTopicsRequest(Message, gc=False):
    """Request of API 19, versions 2-7."""

    API_KEY: ClassVar[int] = 19
    VERSIONS: ClassVar[range] = range(2, 8)
    FLEXIBLE: ClassVar[range] = range(5, 8)

    topics: list[CreatableTopic] = []
    timeout_ms: int = 60000
    validate_only: bool = False


class CreatableTopic(msgspec.Struct, gc=False):
    name: str = ""
    num_partitions: int = 0
    replication_factor: int = 0
    assignments: list[CreatableReplicaAssignment] = []
    configs: list[CreatableTopicConfig] = []


class CreatableReplicaAssignment(msgspec.Struct, gc=False):
    partition_index: int = 0
    broker_ids: list[int] = []


class CreatableTopicConfig(msgspec.Struct, gc=False):
    name: str = ""
    value: str | None = ""


_unpack_h = Struct(">h").unpack_from
_unpack_i = Struct(">i").unpack_from
_unpack_it = Struct(">i?").unpack_from
_unpack_itB = Struct(">i?B").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_unpack_ihB = Struct(">ihB").unpack_from
_unpack_ihi = Struct(">ihi").unpack_from
_unpack_ii = Struct(">ii").unpack_from
_pack_h = Struct(">h").pack
_pack_i = Struct(">i").pack
_pack_it = Struct(">i?").pack
_pack_itx = Struct(">i?x").pack
_pack_iB = Struct(">iB").pack
_pack_ih = Struct(">ih").pack
_pack_ihB = Struct(">ihB").pack
_pack_ihi = Struct(">ihi").pack
_pack_ii = Struct(">ii").pack


def _read_creatable_replica_assignment_2(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[CreatableReplicaAssignment], int]:
    items: list[CreatableReplicaAssignment] = []
    for _ in range(count):
        if end - at < 8:
            raise cut_off("CreatableReplicaAssignment", "PartitionIndex=4 BrokerIds=4", end - at)
        partition_index, n = _unpack_ii(data, at)
        at += 8
        room[0] -= n
        if n < 0 or 4 * n > end - at or room[0] < 0:
            raise bad_count("CreatableReplicaAssignment.BrokerIds", n, end - at, room[0])
        broker_ids = read_numbers(data, at, n, "i")
        at += 4 * n
        items.append(CreatableReplicaAssignment(partition_index, broker_ids))
    return items, at


def _read_creatable_topic_config_2(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[CreatableTopicConfig], int]:
    items: list[CreatableTopicConfig] = []
    for _ in range(count):
        if end - at < 2:
            raise cut_off("CreatableTopicConfig", "Name=2", end - at)
        n = _unpack_h(data, at)[0]
        at += 2
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("CreatableTopicConfig.Name", n, end - at)
        try:
            name = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("CreatableTopicConfig.Name") from None
        at = stop
        if end - at < 2:
            raise cut_off("CreatableTopicConfig", "Value=2", end - at)
        n = _unpack_h(data, at)[0]
        at += 2
        if n == -1:
            value = None
        else:
            stop = at + n
            if n < 0 or stop > end:
                raise bad_length("CreatableTopicConfig.Value", n, end - at)
            try:
                value = data[at:stop].decode()
            except UnicodeDecodeError:
                raise not_utf8("CreatableTopicConfig.Value") from None
            at = stop
        items.append(CreatableTopicConfig(name, value))
    return items, at


def _read_creatable_topic_2(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[CreatableTopic], int]:
    items: list[CreatableTopic] = []
    for _ in range(count):
        if end - at < 2:
            raise cut_off("CreatableTopic", "Name=2", end - at)
        n = _unpack_h(data, at)[0]
        at += 2
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("CreatableTopic.Name", n, end - at)
        try:
            name = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("CreatableTopic.Name") from None
        at = stop
        if end - at < 10:
            raise cut_off("CreatableTopic", "NumPartitions=4 ReplicationFactor=2 Assignments=4", end - at)
        num_partitions, replication_factor, n = _unpack_ihi(data, at)
        at += 10
        room[0] -= n
        if n < 0 or 8 * n > end - at or room[0] < 0:
            raise bad_count("CreatableTopic.Assignments", n, end - at, room[0])
        assignments, at = _read_creatable_replica_assignment_2(data, at, end, room, n)
        if end - at < 4:
            raise cut_off("CreatableTopic", "Configs=4", end - at)
        n = _unpack_i(data, at)[0]
        at += 4
        room[0] -= n
        if n < 0 or 4 * n > end - at or room[0] < 0:
            raise bad_count("CreatableTopic.Configs", n, end - at, room[0])
        configs, at = _read_creatable_topic_config_2(data, at, end, room, n)
        items.append(CreatableTopic(name, num_partitions, replication_factor, assignments, configs))
    return items, at


def _read_create_topics_request_2(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[CreateTopicsRequest], int]:
    items: list[CreateTopicsRequest] = []
    for _ in range(count):
        if end - at < 4:
            raise cut_off("CreateTopicsRequest", "Topics=4", end - at)
        n = _unpack_i(data, at)[0]
        at += 4
        room[0] -= n
        if n < 0 or 16 * n > end - at or room[0] < 0:
            raise bad_count("CreateTopicsRequest.Topics", n, end - at, room[0])
        topics, at = _read_creatable_topic_2(data, at, end, room, n)
        if end - at < 5:
            raise cut_off("CreateTopicsRequest", "timeoutMs=4 validateOnly=1", end - at)
        timeout_ms, validate_only = _unpack_it(data, at)
        at += 5
        items.append(CreateTopicsRequest(topics, timeout_ms, validate_only))
    return items, at


def _read_creatable_replica_assignment_5(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[CreatableReplicaAssignment], int]:
    items: list[CreatableReplicaAssignment] = []
    for _ in range(count):
        if end - at < 5:
            raise cut_off("CreatableReplicaAssignment", "PartitionIndex=4 BrokerIds=1", end - at)
        partition_index, n = _unpack_iB(data, at)
        at += 5
        if n > 127:
            n, at = long_varint(data, at, end, n, "CreatableReplicaAssignment.BrokerIds")
        n -= 1
        room[0] -= n
        if n < 0 or 4 * n > end - at or room[0] < 0:
            raise bad_count("CreatableReplicaAssignment.BrokerIds", n, end - at, room[0])
        broker_ids = read_numbers(data, at, n, "i")
        at += 4 * n
        if at >= end:
            raise cut_off("CreatableReplicaAssignment", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "CreatableReplicaAssignment")
        items.append(CreatableReplicaAssignment(partition_index, broker_ids))
    return items, at


def _read_creatable_topic_config_5(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[CreatableTopicConfig], int]:
    items: list[CreatableTopicConfig] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("CreatableTopicConfig", "Name=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "CreatableTopicConfig.Name")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("CreatableTopicConfig.Name", n - 1, end - at)
        try:
            name = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("CreatableTopicConfig.Name") from None
        at = stop
        if at >= end:
            raise cut_off("CreatableTopicConfig", "Value=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "CreatableTopicConfig.Value")
        if n == 0:
            value = None
        else:
            stop = at + n - 1
            if n < 1 or stop > end:
                raise bad_length("CreatableTopicConfig.Value", n - 1, end - at)
            try:
                value = data[at:stop].decode()
            except UnicodeDecodeError:
                raise not_utf8("CreatableTopicConfig.Value") from None
            at = stop
        if at >= end:
            raise cut_off("CreatableTopicConfig", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "CreatableTopicConfig")
        items.append(CreatableTopicConfig(name, value))
    return items, at


def _read_creatable_topic_5(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[CreatableTopic], int]:
    items: list[CreatableTopic] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("CreatableTopic", "Name=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "CreatableTopic.Name")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("CreatableTopic.Name", n - 1, end - at)
        try:
            name = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("CreatableTopic.Name") from None
        at = stop
        if end - at < 7:
            raise cut_off("CreatableTopic", "NumPartitions=4 ReplicationFactor=2 Assignments=1", end - at)
        num_partitions, replication_factor, n = _unpack_ihB(data, at)
        at += 7
        if n > 127:
            n, at = long_varint(data, at, end, n, "CreatableTopic.Assignments")
        n -= 1
        room[0] -= n
        if n < 0 or 6 * n > end - at or room[0] < 0:
            raise bad_count("CreatableTopic.Assignments", n, end - at, room[0])
        assignments, at = _read_creatable_replica_assignment_5(data, at, end, room, n)
        if at >= end:
            raise cut_off("CreatableTopic", "Configs=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "CreatableTopic.Configs")
        n -= 1
        room[0] -= n
        if n < 0 or 3 * n > end - at or room[0] < 0:
            raise bad_count("CreatableTopic.Configs", n, end - at, room[0])
        configs, at = _read_creatable_topic_config_5(data, at, end, room, n)
        if at >= end:
            raise cut_off("CreatableTopic", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "CreatableTopic")
        items.append(CreatableTopic(name, num_partitions, replication_factor, assignments, configs))
    return items, at


def _read_create_topics_request_5(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[CreateTopicsRequest], int]:
    items: list[CreateTopicsRequest] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("CreateTopicsRequest", "Topics=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "CreateTopicsRequest.Topics")
        n -= 1
        room[0] -= n
        if n < 0 or 10 * n > end - at or room[0] < 0:
            raise bad_count("CreateTopicsRequest.Topics", n, end - at, room[0])
        topics, at = _read_creatable_topic_5(data, at, end, room, n)
        if end - at < 6:
            raise cut_off("CreateTopicsRequest", "timeoutMs=4 validateOnly=1 tags=1", end - at)
        timeout_ms, validate_only, tags = _unpack_itB(data, at)
        at += 6
        if tags:
            at = skip_tags(data, at, end, tags, "CreateTopicsRequest")
        items.append(CreateTopicsRequest(topics, timeout_ms, validate_only))
    return items, at


def _write_creatable_replica_assignment_2(items: Iterable[CreatableReplicaAssignment], out: list[Buffer]) -> None:
    for m in items:
        broker_ids = m.broker_ids
        n = len(broker_ids)
        out.append(_pack_ii(m.partition_index, n))
        if broker_ids:
            out.append(packer(len(broker_ids), "i")(*broker_ids))


def _write_creatable_topic_config_2(items: Iterable[CreatableTopicConfig], out: list[Buffer]) -> None:
    for m in items:
        name = m.name
        content = name.encode()
        n = len(content)
        out.append(_pack_h(n))
        out.append(content)
        value = m.value
        if value is None:
            content = b""
            n = -1
        else:
            content = value.encode()
            n = len(content)
        out.append(_pack_h(n))
        out.append(content)


def _write_creatable_topic_2(items: Iterable[CreatableTopic], out: list[Buffer]) -> None:
    for m in items:
        name = m.name
        content = name.encode()
        n = len(content)
        out.append(_pack_h(n))
        out.append(content)
        assignments = m.assignments
        n = len(assignments)
        out.append(_pack_ihi(m.num_partitions, m.replication_factor, n))
        if assignments:
            _write_creatable_replica_assignment_2(assignments, out)
        configs = m.configs
        n = len(configs)
        out.append(_pack_i(n))
        if configs:
            _write_creatable_topic_config_2(configs, out)


def _write_create_topics_request_2(items: Iterable[CreateTopicsRequest], out: list[Buffer]) -> None:
    for m in items:
        topics = m.topics
        n = len(topics)
        out.append(_pack_i(n))
        if topics:
            _write_creatable_topic_2(topics, out)
        out.append(_pack_it(m.timeout_ms, m.validate_only))


def _write_creatable_replica_assignment_5(items: Iterable[CreatableReplicaAssignment], out: list[Buffer]) -> None:
    for m in items:
        broker_ids = m.broker_ids
        n = len(broker_ids) + 1
        if n > 127:
            out.append(_pack_i(m.partition_index) + varint_of(n))
        else:
            out.append(_pack_iB(m.partition_index, n))
        if broker_ids:
            out.append(packer(len(broker_ids), "i")(*broker_ids))
        out.append(ONE_BYTE[0])


def _write_creatable_topic_config_5(items: Iterable[CreatableTopicConfig], out: list[Buffer]) -> None:
    for m in items:
        name = m.name
        content = name.encode()
        n = len(content) + 1
        if n > 127:
            out.append(text_length_of(n))
        else:
            out.append(ONE_BYTE[n])
        out.append(content)
        value = m.value
        if value is None:
            content = b""
            n = 0
        else:
            content = value.encode()
            n = len(content) + 1
        if n > 127:
            out.append(text_length_of(n))
        else:
            out.append(ONE_BYTE[n])
        out.append(content)
        out.append(ONE_BYTE[0])


def _write_creatable_topic_5(items: Iterable[CreatableTopic], out: list[Buffer]) -> None:
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
        n = len(assignments) + 1
        if n > 127:
            out.append(_pack_ih(m.num_partitions, m.replication_factor) + varint_of(n))
        else:
            out.append(_pack_ihB(m.num_partitions, m.replication_factor, n))
        if assignments:
            _write_creatable_replica_assignment_5(assignments, out)
        configs = m.configs
        n = len(configs) + 1
        if n > 127:
            out.append(varint_of(n))
        else:
            out.append(ONE_BYTE[n])
        if configs:
            _write_creatable_topic_config_5(configs, out)
        out.append(ONE_BYTE[0])


def _write_create_topics_request_5(items: Iterable[CreateTopicsRequest], out: list[Buffer]) -> None:
    for m in items:
        topics = m.topics
        n = len(topics) + 1
        if n > 127:
            out.append(varint_of(n))
        else:
            out.append(ONE_BYTE[n])
        if topics:
            _write_creatable_topic_5(topics, out)
        out.append(_pack_itx(m.timeout_ms, m.validate_only))


CreateTopicsRequest._READERS = {
    **dict.fromkeys(range(2, 5), _read_create_topics_request_2),
    **dict.fromkeys(range(5, 8), _read_create_topics_request_5),
}
CreateTopicsRequest._WRITERS = {
    **dict.fromkeys(range(2, 5), _write_create_topics_request_2),
    **dict.fromkeys(range(5, 8), _write_create_topics_request_5),
}
