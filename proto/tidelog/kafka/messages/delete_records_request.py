"""DeleteRecordsRequest of Kafka's protocol.

Generated from proto/kafka/delete_records.schema; do not edit.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import ClassVar

import msgspec

from tidelog.kafka.message import Message
from tidelog.kafka.wire import ONE_BYTE, Buffer, bad_count, bad_length, cut_off, long_text, long_varint, not_utf8, skip_tags, text_length_of, varint_of


class DeleteRecordsRequest(Message, gc=False):
    """Request of API 21, versions 0-2."""

    API_KEY: ClassVar[int] = 21
    VERSIONS: ClassVar[range] = range(0, 3)
    FLEXIBLE: ClassVar[range] = range(2, 3)

    topics: list[DeleteRecordsTopic] = []
    timeout_ms: int = 0


class DeleteRecordsTopic(msgspec.Struct, gc=False):
    name: str = ""
    partitions: list[DeleteRecordsPartition] = []


class DeleteRecordsPartition(msgspec.Struct, gc=False):
    partition_index: int = 0
    offset: int = 0


_unpack_h = Struct(">h").unpack_from
_unpack_i = Struct(">i").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_unpack_iq = Struct(">iq").unpack_from
_unpack_iqB = Struct(">iqB").unpack_from
_pack_h = Struct(">h").pack
_pack_i = Struct(">i").pack
_pack_iq = Struct(">iq").pack
_pack_iqx = Struct(">iqx").pack
_pack_ix = Struct(">ix").pack


def _read_delete_records_partition_0(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[DeleteRecordsPartition], int]:
    items: list[DeleteRecordsPartition] = []
    for _ in range(count):
        if end - at < 12:
            raise cut_off("DeleteRecordsPartition", "PartitionIndex=4 Offset=8", end - at)
        partition_index, offset = _unpack_iq(data, at)
        at += 12
        items.append(DeleteRecordsPartition(partition_index, offset))
    return items, at


def _read_delete_records_topic_0(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[DeleteRecordsTopic], int]:
    items: list[DeleteRecordsTopic] = []
    for _ in range(count):
        if end - at < 2:
            raise cut_off("DeleteRecordsTopic", "Name=2", end - at)
        n = _unpack_h(data, at)[0]
        at += 2
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("DeleteRecordsTopic.Name", n, end - at)
        try:
            name = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("DeleteRecordsTopic.Name") from None
        at = stop
        if end - at < 4:
            raise cut_off("DeleteRecordsTopic", "Partitions=4", end - at)
        n = _unpack_i(data, at)[0]
        at += 4
        room[0] -= n
        if n < 0 or 12 * n > end - at or room[0] < 0:
            raise bad_count("DeleteRecordsTopic.Partitions", n, end - at, room[0])
        partitions, at = _read_delete_records_partition_0(data, at, end, room, n)
        items.append(DeleteRecordsTopic(name, partitions))
    return items, at


def _read_delete_records_request_0(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[DeleteRecordsRequest], int]:
    items: list[DeleteRecordsRequest] = []
    for _ in range(count):
        if end - at < 4:
            raise cut_off("DeleteRecordsRequest", "Topics=4", end - at)
        n = _unpack_i(data, at)[0]
        at += 4
        room[0] -= n
        if n < 0 or 6 * n > end - at or room[0] < 0:
            raise bad_count("DeleteRecordsRequest.Topics", n, end - at, room[0])
        topics, at = _read_delete_records_topic_0(data, at, end, room, n)
        if end - at < 4:
            raise cut_off("DeleteRecordsRequest", "TimeoutMs=4", end - at)
        timeout_ms = _unpack_i(data, at)[0]
        at += 4
        items.append(DeleteRecordsRequest(topics, timeout_ms))
    return items, at


def _read_delete_records_partition_2(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[DeleteRecordsPartition], int]:
    items: list[DeleteRecordsPartition] = []
    for _ in range(count):
        if end - at < 13:
            raise cut_off("DeleteRecordsPartition", "PartitionIndex=4 Offset=8 tags=1", end - at)
        partition_index, offset, tags = _unpack_iqB(data, at)
        at += 13
        if tags:
            at = skip_tags(data, at, end, tags, "DeleteRecordsPartition")
        items.append(DeleteRecordsPartition(partition_index, offset))
    return items, at


def _read_delete_records_topic_2(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[DeleteRecordsTopic], int]:
    items: list[DeleteRecordsTopic] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("DeleteRecordsTopic", "Name=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "DeleteRecordsTopic.Name")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("DeleteRecordsTopic.Name", n - 1, end - at)
        try:
            name = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("DeleteRecordsTopic.Name") from None
        at = stop
        if at >= end:
            raise cut_off("DeleteRecordsTopic", "Partitions=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "DeleteRecordsTopic.Partitions")
        n -= 1
        room[0] -= n
        if n < 0 or 13 * n > end - at or room[0] < 0:
            raise bad_count("DeleteRecordsTopic.Partitions", n, end - at, room[0])
        partitions, at = _read_delete_records_partition_2(data, at, end, room, n)
        if at >= end:
            raise cut_off("DeleteRecordsTopic", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "DeleteRecordsTopic")
        items.append(DeleteRecordsTopic(name, partitions))
    return items, at


def _read_delete_records_request_2(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[DeleteRecordsRequest], int]:
    items: list[DeleteRecordsRequest] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("DeleteRecordsRequest", "Topics=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "DeleteRecordsRequest.Topics")
        n -= 1
        room[0] -= n
        if n < 0 or 3 * n > end - at or room[0] < 0:
            raise bad_count("DeleteRecordsRequest.Topics", n, end - at, room[0])
        topics, at = _read_delete_records_topic_2(data, at, end, room, n)
        if end - at < 5:
            raise cut_off("DeleteRecordsRequest", "TimeoutMs=4 tags=1", end - at)
        timeout_ms, tags = _unpack_iB(data, at)
        at += 5
        if tags:
            at = skip_tags(data, at, end, tags, "DeleteRecordsRequest")
        items.append(DeleteRecordsRequest(topics, timeout_ms))
    return items, at


def _write_delete_records_partition_0(items: Iterable[DeleteRecordsPartition], out: list[Buffer]) -> None:
    for m in items:
        out.append(_pack_iq(m.partition_index, m.offset))


def _write_delete_records_topic_0(items: Iterable[DeleteRecordsTopic], out: list[Buffer]) -> None:
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
            _write_delete_records_partition_0(partitions, out)


def _write_delete_records_request_0(items: Iterable[DeleteRecordsRequest], out: list[Buffer]) -> None:
    for m in items:
        topics = m.topics
        n = len(topics)
        out.append(_pack_i(n))
        if topics:
            _write_delete_records_topic_0(topics, out)
        out.append(_pack_i(m.timeout_ms))


def _write_delete_records_partition_2(items: Iterable[DeleteRecordsPartition], out: list[Buffer]) -> None:
    for m in items:
        out.append(_pack_iqx(m.partition_index, m.offset))


def _write_delete_records_topic_2(items: Iterable[DeleteRecordsTopic], out: list[Buffer]) -> None:
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
            _write_delete_records_partition_2(partitions, out)
        out.append(ONE_BYTE[0])


def _write_delete_records_request_2(items: Iterable[DeleteRecordsRequest], out: list[Buffer]) -> None:
    for m in items:
        topics = m.topics
        n = len(topics) + 1
        if n > 127:
            out.append(varint_of(n))
        else:
            out.append(ONE_BYTE[n])
        if topics:
            _write_delete_records_topic_2(topics, out)
        out.append(_pack_ix(m.timeout_ms))


DeleteRecordsRequest._READERS = {
    **dict.fromkeys(range(0, 2), _read_delete_records_request_0),
    **dict.fromkeys(range(2, 3), _read_delete_records_request_2),
}
DeleteRecordsRequest._WRITERS = {
    **dict.fromkeys(range(0, 2), _write_delete_records_request_0),
    **dict.fromkeys(range(2, 3), _write_delete_records_request_2),
}
