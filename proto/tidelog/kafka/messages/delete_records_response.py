"""DeleteRecordsResponse of Kafka's protocol.

Generated from proto/kafka/delete_records.schema; do not edit.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import ClassVar

import msgspec

from tidelog.kafka.message import Message
from tidelog.kafka.wire import ONE_BYTE, Buffer, bad_count, bad_length, cut_off, long_text, long_varint, not_utf8, skip_tags, text_length_of, varint_of


class DeleteRecordsResponse(Message, gc=False):
    """Response of API 21, versions 0-2."""

    API_KEY: ClassVar[int] = 21
    VERSIONS: ClassVar[range] = range(0, 3)
    FLEXIBLE: ClassVar[range] = range(2, 3)

    throttle_time_ms: int = 0
    topics: list[DeleteRecordsTopicResult] = []


class DeleteRecordsTopicResult(msgspec.Struct, gc=False):
    name: str = ""
    partitions: list[DeleteRecordsPartitionResult] = []


class DeleteRecordsPartitionResult(msgspec.Struct, gc=False):
    partition_index: int = 0
    low_watermark: int = 0
    error_code: int = 0


_unpack_h = Struct(">h").unpack_from
_unpack_i = Struct(">i").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_unpack_ii = Struct(">ii").unpack_from
_unpack_iqh = Struct(">iqh").unpack_from
_unpack_iqhB = Struct(">iqhB").unpack_from
_pack_h = Struct(">h").pack
_pack_i = Struct(">i").pack
_pack_iB = Struct(">iB").pack
_pack_ii = Struct(">ii").pack
_pack_iqh = Struct(">iqh").pack
_pack_iqhx = Struct(">iqhx").pack


def _read_delete_records_partition_result_0(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[DeleteRecordsPartitionResult], int]:
    items: list[DeleteRecordsPartitionResult] = []
    for _ in range(count):
        if end - at < 14:
            raise cut_off("DeleteRecordsPartitionResult", "PartitionIndex=4 LowWatermark=8 ErrorCode=2", end - at)
        partition_index, low_watermark, error_code = _unpack_iqh(data, at)
        at += 14
        items.append(DeleteRecordsPartitionResult(partition_index, low_watermark, error_code))
    return items, at


def _read_delete_records_topic_result_0(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[DeleteRecordsTopicResult], int]:
    items: list[DeleteRecordsTopicResult] = []
    for _ in range(count):
        if end - at < 2:
            raise cut_off("DeleteRecordsTopicResult", "Name=2", end - at)
        n = _unpack_h(data, at)[0]
        at += 2
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("DeleteRecordsTopicResult.Name", n, end - at)
        try:
            name = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("DeleteRecordsTopicResult.Name") from None
        at = stop
        if end - at < 4:
            raise cut_off("DeleteRecordsTopicResult", "Partitions=4", end - at)
        n = _unpack_i(data, at)[0]
        at += 4
        room[0] -= n
        if n < 0 or 14 * n > end - at or room[0] < 0:
            raise bad_count("DeleteRecordsTopicResult.Partitions", n, end - at, room[0])
        partitions, at = _read_delete_records_partition_result_0(data, at, end, room, n)
        items.append(DeleteRecordsTopicResult(name, partitions))
    return items, at


def _read_delete_records_response_0(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[DeleteRecordsResponse], int]:
    items: list[DeleteRecordsResponse] = []
    for _ in range(count):
        if end - at < 8:
            raise cut_off("DeleteRecordsResponse", "ThrottleTimeMs=4 Topics=4", end - at)
        throttle_time_ms, n = _unpack_ii(data, at)
        at += 8
        room[0] -= n
        if n < 0 or 6 * n > end - at or room[0] < 0:
            raise bad_count("DeleteRecordsResponse.Topics", n, end - at, room[0])
        topics, at = _read_delete_records_topic_result_0(data, at, end, room, n)
        items.append(DeleteRecordsResponse(throttle_time_ms, topics))
    return items, at


def _read_delete_records_partition_result_2(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[DeleteRecordsPartitionResult], int]:
    items: list[DeleteRecordsPartitionResult] = []
    for _ in range(count):
        if end - at < 15:
            raise cut_off("DeleteRecordsPartitionResult", "PartitionIndex=4 LowWatermark=8 ErrorCode=2 tags=1", end - at)
        partition_index, low_watermark, error_code, tags = _unpack_iqhB(data, at)
        at += 15
        if tags:
            at = skip_tags(data, at, end, tags, "DeleteRecordsPartitionResult")
        items.append(DeleteRecordsPartitionResult(partition_index, low_watermark, error_code))
    return items, at


def _read_delete_records_topic_result_2(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[DeleteRecordsTopicResult], int]:
    items: list[DeleteRecordsTopicResult] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("DeleteRecordsTopicResult", "Name=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "DeleteRecordsTopicResult.Name")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("DeleteRecordsTopicResult.Name", n - 1, end - at)
        try:
            name = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("DeleteRecordsTopicResult.Name") from None
        at = stop
        if at >= end:
            raise cut_off("DeleteRecordsTopicResult", "Partitions=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "DeleteRecordsTopicResult.Partitions")
        n -= 1
        room[0] -= n
        if n < 0 or 15 * n > end - at or room[0] < 0:
            raise bad_count("DeleteRecordsTopicResult.Partitions", n, end - at, room[0])
        partitions, at = _read_delete_records_partition_result_2(data, at, end, room, n)
        if at >= end:
            raise cut_off("DeleteRecordsTopicResult", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "DeleteRecordsTopicResult")
        items.append(DeleteRecordsTopicResult(name, partitions))
    return items, at


def _read_delete_records_response_2(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[DeleteRecordsResponse], int]:
    items: list[DeleteRecordsResponse] = []
    for _ in range(count):
        if end - at < 5:
            raise cut_off("DeleteRecordsResponse", "ThrottleTimeMs=4 Topics=1", end - at)
        throttle_time_ms, n = _unpack_iB(data, at)
        at += 5
        if n > 127:
            n, at = long_varint(data, at, end, n, "DeleteRecordsResponse.Topics")
        n -= 1
        room[0] -= n
        if n < 0 or 3 * n > end - at or room[0] < 0:
            raise bad_count("DeleteRecordsResponse.Topics", n, end - at, room[0])
        topics, at = _read_delete_records_topic_result_2(data, at, end, room, n)
        if at >= end:
            raise cut_off("DeleteRecordsResponse", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "DeleteRecordsResponse")
        items.append(DeleteRecordsResponse(throttle_time_ms, topics))
    return items, at


def _write_delete_records_partition_result_0(items: Iterable[DeleteRecordsPartitionResult], out: list[Buffer]) -> None:
    for m in items:
        out.append(_pack_iqh(m.partition_index, m.low_watermark, m.error_code))


def _write_delete_records_topic_result_0(items: Iterable[DeleteRecordsTopicResult], out: list[Buffer]) -> None:
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
            _write_delete_records_partition_result_0(partitions, out)


def _write_delete_records_response_0(items: Iterable[DeleteRecordsResponse], out: list[Buffer]) -> None:
    for m in items:
        topics = m.topics
        n = len(topics)
        out.append(_pack_ii(m.throttle_time_ms, n))
        if topics:
            _write_delete_records_topic_result_0(topics, out)


def _write_delete_records_partition_result_2(items: Iterable[DeleteRecordsPartitionResult], out: list[Buffer]) -> None:
    for m in items:
        out.append(_pack_iqhx(m.partition_index, m.low_watermark, m.error_code))


def _write_delete_records_topic_result_2(items: Iterable[DeleteRecordsTopicResult], out: list[Buffer]) -> None:
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
            _write_delete_records_partition_result_2(partitions, out)
        out.append(ONE_BYTE[0])


def _write_delete_records_response_2(items: Iterable[DeleteRecordsResponse], out: list[Buffer]) -> None:
    for m in items:
        topics = m.topics
        n = len(topics) + 1
        if n > 127:
            out.append(_pack_i(m.throttle_time_ms) + varint_of(n))
        else:
            out.append(_pack_iB(m.throttle_time_ms, n))
        if topics:
            _write_delete_records_topic_result_2(topics, out)
        out.append(ONE_BYTE[0])


DeleteRecordsResponse._READERS = {
    **dict.fromkeys(range(0, 2), _read_delete_records_response_0),
    **dict.fromkeys(range(2, 3), _read_delete_records_response_2),
}
DeleteRecordsResponse._WRITERS = {
    **dict.fromkeys(range(0, 2), _write_delete_records_response_0),
    **dict.fromkeys(range(2, 3), _write_delete_records_response_2),
}
