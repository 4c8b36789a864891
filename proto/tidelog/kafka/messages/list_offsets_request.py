"""ListOffsetsRequest of Kafka's protocol.

Generated from proto/kafka/list_offsets.schema; do not edit.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import ClassVar

import msgspec

from tidelog.kafka.message import Message
from tidelog.kafka.wire import ONE_BYTE, Buffer, bad_count, bad_length, cut_off, long_text, long_varint, not_utf8, skip_tags, text_length_of, varint_of


class ListOffsetsRequest(Message, gc=False):
    """Request of API 2, versions 1-11."""

    API_KEY: ClassVar[int] = 2
    VERSIONS: ClassVar[range] = range(1, 12)
    FLEXIBLE: ClassVar[range] = range(6, 12)

    replica_id: int = 0
    isolation_level: int = 0
    topics: list[ListOffsetsTopic] = []
    timeout_ms: int = 0


class ListOffsetsTopic(msgspec.Struct, gc=False):
    name: str = ""
    partitions: list[ListOffsetsPartition] = []


class ListOffsetsPartition(msgspec.Struct, gc=False):
    partition_index: int = 0
    current_leader_epoch: int = -1
    timestamp: int = 0


_unpack_h = Struct(">h").unpack_from
_unpack_i = Struct(">i").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_unpack_ibB = Struct(">ibB").unpack_from
_unpack_ibi = Struct(">ibi").unpack_from
_unpack_ii = Struct(">ii").unpack_from
_unpack_iiq = Struct(">iiq").unpack_from
_unpack_iiqB = Struct(">iiqB").unpack_from
_unpack_iq = Struct(">iq").unpack_from
_pack_h = Struct(">h").pack
_pack_i = Struct(">i").pack
_pack_ib = Struct(">ib").pack
_pack_ibB = Struct(">ibB").pack
_pack_ibi = Struct(">ibi").pack
_pack_ii = Struct(">ii").pack
_pack_iiq = Struct(">iiq").pack
_pack_iiqx = Struct(">iiqx").pack
_pack_iq = Struct(">iq").pack
_pack_ix = Struct(">ix").pack


def _read_list_offsets_partition_1(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[ListOffsetsPartition], int]:
    items: list[ListOffsetsPartition] = []
    for _ in range(count):
        if end - at < 12:
            raise cut_off("ListOffsetsPartition", "PartitionIndex=4 Timestamp=8", end - at)
        partition_index, timestamp = _unpack_iq(data, at)
        at += 12
        items.append(ListOffsetsPartition(partition_index, -1, timestamp))
    return items, at


def _read_list_offsets_topic_1(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[ListOffsetsTopic], int]:
    items: list[ListOffsetsTopic] = []
    for _ in range(count):
        if end - at < 2:
            raise cut_off("ListOffsetsTopic", "Name=2", end - at)
        n = _unpack_h(data, at)[0]
        at += 2
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("ListOffsetsTopic.Name", n, end - at)
        try:
            name = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("ListOffsetsTopic.Name") from None
        at = stop
        if end - at < 4:
            raise cut_off("ListOffsetsTopic", "Partitions=4", end - at)
        n = _unpack_i(data, at)[0]
        at += 4
        room[0] -= n
        if n < 0 or 12 * n > end - at or room[0] < 0:
            raise bad_count("ListOffsetsTopic.Partitions", n, end - at, room[0])
        partitions, at = _read_list_offsets_partition_1(data, at, end, room, n)
        items.append(ListOffsetsTopic(name, partitions))
    return items, at


def _read_list_offsets_request_1(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[ListOffsetsRequest], int]:
    items: list[ListOffsetsRequest] = []
    for _ in range(count):
        if end - at < 8:
            raise cut_off("ListOffsetsRequest", "ReplicaId=4 Topics=4", end - at)
        replica_id, n = _unpack_ii(data, at)
        at += 8
        room[0] -= n
        if n < 0 or 6 * n > end - at or room[0] < 0:
            raise bad_count("ListOffsetsRequest.Topics", n, end - at, room[0])
        topics, at = _read_list_offsets_topic_1(data, at, end, room, n)
        items.append(ListOffsetsRequest(replica_id, 0, topics))
    return items, at


def _read_list_offsets_request_2(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[ListOffsetsRequest], int]:
    items: list[ListOffsetsRequest] = []
    for _ in range(count):
        if end - at < 9:
            raise cut_off("ListOffsetsRequest", "ReplicaId=4 IsolationLevel=1 Topics=4", end - at)
        replica_id, isolation_level, n = _unpack_ibi(data, at)
        at += 9
        room[0] -= n
        if n < 0 or 6 * n > end - at or room[0] < 0:
            raise bad_count("ListOffsetsRequest.Topics", n, end - at, room[0])
        topics, at = _read_list_offsets_topic_1(data, at, end, room, n)
        items.append(ListOffsetsRequest(replica_id, isolation_level, topics))
    return items, at


def _read_list_offsets_partition_4(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[ListOffsetsPartition], int]:
    items: list[ListOffsetsPartition] = []
    for _ in range(count):
        if end - at < 16:
            raise cut_off("ListOffsetsPartition", "PartitionIndex=4 CurrentLeaderEpoch=4 Timestamp=8", end - at)
        partition_index, current_leader_epoch, timestamp = _unpack_iiq(data, at)
        at += 16
        items.append(ListOffsetsPartition(partition_index, current_leader_epoch, timestamp))
    return items, at


def _read_list_offsets_topic_4(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[ListOffsetsTopic], int]:
    items: list[ListOffsetsTopic] = []
    for _ in range(count):
        if end - at < 2:
            raise cut_off("ListOffsetsTopic", "Name=2", end - at)
        n = _unpack_h(data, at)[0]
        at += 2
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("ListOffsetsTopic.Name", n, end - at)
        try:
            name = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("ListOffsetsTopic.Name") from None
        at = stop
        if end - at < 4:
            raise cut_off("ListOffsetsTopic", "Partitions=4", end - at)
        n = _unpack_i(data, at)[0]
        at += 4
        room[0] -= n
        if n < 0 or 16 * n > end - at or room[0] < 0:
            raise bad_count("ListOffsetsTopic.Partitions", n, end - at, room[0])
        partitions, at = _read_list_offsets_partition_4(data, at, end, room, n)
        items.append(ListOffsetsTopic(name, partitions))
    return items, at


def _read_list_offsets_request_4(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[ListOffsetsRequest], int]:
    items: list[ListOffsetsRequest] = []
    for _ in range(count):
        if end - at < 9:
            raise cut_off("ListOffsetsRequest", "ReplicaId=4 IsolationLevel=1 Topics=4", end - at)
        replica_id, isolation_level, n = _unpack_ibi(data, at)
        at += 9
        room[0] -= n
        if n < 0 or 6 * n > end - at or room[0] < 0:
            raise bad_count("ListOffsetsRequest.Topics", n, end - at, room[0])
        topics, at = _read_list_offsets_topic_4(data, at, end, room, n)
        items.append(ListOffsetsRequest(replica_id, isolation_level, topics))
    return items, at


def _read_list_offsets_partition_6(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[ListOffsetsPartition], int]:
    items: list[ListOffsetsPartition] = []
    for _ in range(count):
        if end - at < 17:
            raise cut_off("ListOffsetsPartition", "PartitionIndex=4 CurrentLeaderEpoch=4 Timestamp=8 tags=1", end - at)
        partition_index, current_leader_epoch, timestamp, tags = _unpack_iiqB(data, at)
        at += 17
        if tags:
            at = skip_tags(data, at, end, tags, "ListOffsetsPartition")
        items.append(ListOffsetsPartition(partition_index, current_leader_epoch, timestamp))
    return items, at


def _read_list_offsets_topic_6(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[ListOffsetsTopic], int]:
    items: list[ListOffsetsTopic] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("ListOffsetsTopic", "Name=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "ListOffsetsTopic.Name")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("ListOffsetsTopic.Name", n - 1, end - at)
        try:
            name = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("ListOffsetsTopic.Name") from None
        at = stop
        if at >= end:
            raise cut_off("ListOffsetsTopic", "Partitions=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "ListOffsetsTopic.Partitions")
        n -= 1
        room[0] -= n
        if n < 0 or 17 * n > end - at or room[0] < 0:
            raise bad_count("ListOffsetsTopic.Partitions", n, end - at, room[0])
        partitions, at = _read_list_offsets_partition_6(data, at, end, room, n)
        if at >= end:
            raise cut_off("ListOffsetsTopic", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "ListOffsetsTopic")
        items.append(ListOffsetsTopic(name, partitions))
    return items, at


def _read_list_offsets_request_6(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[ListOffsetsRequest], int]:
    items: list[ListOffsetsRequest] = []
    for _ in range(count):
        if end - at < 6:
            raise cut_off("ListOffsetsRequest", "ReplicaId=4 IsolationLevel=1 Topics=1", end - at)
        replica_id, isolation_level, n = _unpack_ibB(data, at)
        at += 6
        if n > 127:
            n, at = long_varint(data, at, end, n, "ListOffsetsRequest.Topics")
        n -= 1
        room[0] -= n
        if n < 0 or 3 * n > end - at or room[0] < 0:
            raise bad_count("ListOffsetsRequest.Topics", n, end - at, room[0])
        topics, at = _read_list_offsets_topic_6(data, at, end, room, n)
        if at >= end:
            raise cut_off("ListOffsetsRequest", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "ListOffsetsRequest")
        items.append(ListOffsetsRequest(replica_id, isolation_level, topics))
    return items, at


def _read_list_offsets_request_10(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[ListOffsetsRequest], int]:
    items: list[ListOffsetsRequest] = []
    for _ in range(count):
        if end - at < 6:
            raise cut_off("ListOffsetsRequest", "ReplicaId=4 IsolationLevel=1 Topics=1", end - at)
        replica_id, isolation_level, n = _unpack_ibB(data, at)
        at += 6
        if n > 127:
            n, at = long_varint(data, at, end, n, "ListOffsetsRequest.Topics")
        n -= 1
        room[0] -= n
        if n < 0 or 3 * n > end - at or room[0] < 0:
            raise bad_count("ListOffsetsRequest.Topics", n, end - at, room[0])
        topics, at = _read_list_offsets_topic_6(data, at, end, room, n)
        if end - at < 5:
            raise cut_off("ListOffsetsRequest", "TimeoutMs=4 tags=1", end - at)
        timeout_ms, tags = _unpack_iB(data, at)
        at += 5
        if tags:
            at = skip_tags(data, at, end, tags, "ListOffsetsRequest")
        items.append(ListOffsetsRequest(replica_id, isolation_level, topics, timeout_ms))
    return items, at


def _write_list_offsets_partition_1(items: Iterable[ListOffsetsPartition], out: list[Buffer]) -> None:
    for m in items:
        out.append(_pack_iq(m.partition_index, m.timestamp))


def _write_list_offsets_topic_1(items: Iterable[ListOffsetsTopic], out: list[Buffer]) -> None:
    for m in items:
        name = m.name
        content = name.encode()
        n = len(content)
        out.append(_pack_h(n))
        out.append(content)
        partitions = m.partitions
        n = len(partitions)
        out.append(_pack_i(n))
        if partitions:
            _write_list_offsets_partition_1(partitions, out)


def _write_list_offsets_request_1(items: Iterable[ListOffsetsRequest], out: list[Buffer]) -> None:
    for m in items:
        topics = m.topics
        n = len(topics)
        out.append(_pack_ii(m.replica_id, n))
        if topics:
            _write_list_offsets_topic_1(topics, out)


def _write_list_offsets_request_2(items: Iterable[ListOffsetsRequest], out: list[Buffer]) -> None:
    for m in items:
        topics = m.topics
        n = len(topics)
        out.append(_pack_ibi(m.replica_id, m.isolation_level, n))
        if topics:
            _write_list_offsets_topic_1(topics, out)


def _write_list_offsets_partition_4(items: Iterable[ListOffsetsPartition], out: list[Buffer]) -> None:
    for m in items:
        out.append(_pack_iiq(m.partition_index, m.current_leader_epoch, m.timestamp))


def _write_list_offsets_topic_4(items: Iterable[ListOffsetsTopic], out: list[Buffer]) -> None:
    for m in items:
        name = m.name
        content = name.encode()
        n = len(content)
        out.append(_pack_h(n))
        out.append(content)
        partitions = m.partitions
        n = len(partitions)
        out.append(_pack_i(n))
        if partitions:
            _write_list_offsets_partition_4(partitions, out)


def _write_list_offsets_request_4(items: Iterable[ListOffsetsRequest], out: list[Buffer]) -> None:
    for m in items:
        topics = m.topics
        n = len(topics)
        out.append(_pack_ibi(m.replica_id, m.isolation_level, n))
        if topics:
            _write_list_offsets_topic_4(topics, out)


def _write_list_offsets_partition_6(items: Iterable[ListOffsetsPartition], out: list[Buffer]) -> None:
    for m in items:
        out.append(_pack_iiqx(m.partition_index, m.current_leader_epoch, m.timestamp))


def _write_list_offsets_topic_6(items: Iterable[ListOffsetsTopic], out: list[Buffer]) -> None:
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
            _write_list_offsets_partition_6(partitions, out)
        out.append(ONE_BYTE[0])


def _write_list_offsets_request_6(items: Iterable[ListOffsetsRequest], out: list[Buffer]) -> None:
    for m in items:
        topics = m.topics
        n = len(topics) + 1
        if n > 127:
            out.append(_pack_ib(m.replica_id, m.isolation_level) + varint_of(n))
        else:
            out.append(_pack_ibB(m.replica_id, m.isolation_level, n))
        if topics:
            _write_list_offsets_topic_6(topics, out)
        out.append(ONE_BYTE[0])


def _write_list_offsets_request_10(items: Iterable[ListOffsetsRequest], out: list[Buffer]) -> None:
    for m in items:
        topics = m.topics
        n = len(topics) + 1
        if n > 127:
            out.append(_pack_ib(m.replica_id, m.isolation_level) + varint_of(n))
        else:
            out.append(_pack_ibB(m.replica_id, m.isolation_level, n))
        if topics:
            _write_list_offsets_topic_6(topics, out)
        out.append(_pack_ix(m.timeout_ms))


ListOffsetsRequest._READERS = {
    **dict.fromkeys(range(1, 2), _read_list_offsets_request_1),
    **dict.fromkeys(range(2, 4), _read_list_offsets_request_2),
    **dict.fromkeys(range(4, 6), _read_list_offsets_request_4),
    **dict.fromkeys(range(6, 10), _read_list_offsets_request_6),
    **dict.fromkeys(range(10, 12), _read_list_offsets_request_10),
}
ListOffsetsRequest._WRITERS = {
    **dict.fromkeys(range(1, 2), _write_list_offsets_request_1),
    **dict.fromkeys(range(2, 4), _write_list_offsets_request_2),
    **dict.fromkeys(range(4, 6), _write_list_offsets_request_4),
    **dict.fromkeys(range(6, 10), _write_list_offsets_request_6),
    **dict.fromkeys(range(10, 12), _write_list_offsets_request_10),
}
