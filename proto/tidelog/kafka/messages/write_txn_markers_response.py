"""WriteTxnMarkersResponse of Kafka's protocol.

Generated from proto/kafka/write_txn_markers.schema; do not edit.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import ClassVar

import msgspec

from tidelog.kafka.message import Message
from tidelog.kafka.wire import ONE_BYTE, Buffer, bad_count, bad_length, cut_off, long_text, long_varint, not_utf8, skip_tags, text_length_of, varint_of


class WriteTxnMarkersResponse(Message, gc=False):
    """Response of API 27, versions 1-2."""

    API_KEY: ClassVar[int] = 27
    VERSIONS: ClassVar[range] = range(1, 3)
    FLEXIBLE: ClassVar[range] = range(1, 3)

    markers: list[WritableTxnMarkerResult] = []


class WritableTxnMarkerResult(msgspec.Struct, gc=False):
    producer_id: int = 0
    topics: list[WritableTxnMarkerTopicResult] = []


class WritableTxnMarkerTopicResult(msgspec.Struct, gc=False):
    name: str = ""
    partitions: list[WritableTxnMarkerPartitionResult] = []


class WritableTxnMarkerPartitionResult(msgspec.Struct, gc=False):
    partition_index: int = 0
    error_code: int = 0


_unpack_ihB = Struct(">ihB").unpack_from
_unpack_qB = Struct(">qB").unpack_from
_pack_ihx = Struct(">ihx").pack
_pack_q = Struct(">q").pack
_pack_qB = Struct(">qB").pack


def _read_writable_txn_marker_partition_result_1(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[WritableTxnMarkerPartitionResult], int]:
    items: list[WritableTxnMarkerPartitionResult] = []
    for _ in range(count):
        if end - at < 7:
            raise cut_off("WritableTxnMarkerPartitionResult", "PartitionIndex=4 ErrorCode=2 tags=1", end - at)
        partition_index, error_code, tags = _unpack_ihB(data, at)
        at += 7
        if tags:
            at = skip_tags(data, at, end, tags, "WritableTxnMarkerPartitionResult")
        items.append(WritableTxnMarkerPartitionResult(partition_index, error_code))
    return items, at


def _read_writable_txn_marker_topic_result_1(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[WritableTxnMarkerTopicResult], int]:
    items: list[WritableTxnMarkerTopicResult] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("WritableTxnMarkerTopicResult", "Name=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "WritableTxnMarkerTopicResult.Name")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("WritableTxnMarkerTopicResult.Name", n - 1, end - at)
        try:
            name = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("WritableTxnMarkerTopicResult.Name") from None
        at = stop
        if at >= end:
            raise cut_off("WritableTxnMarkerTopicResult", "Partitions=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "WritableTxnMarkerTopicResult.Partitions")
        n -= 1
        room[0] -= n
        if n < 0 or 7 * n > end - at or room[0] < 0:
            raise bad_count("WritableTxnMarkerTopicResult.Partitions", n, end - at, room[0])
        partitions, at = _read_writable_txn_marker_partition_result_1(data, at, end, room, n)
        if at >= end:
            raise cut_off("WritableTxnMarkerTopicResult", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "WritableTxnMarkerTopicResult")
        items.append(WritableTxnMarkerTopicResult(name, partitions))
    return items, at


def _read_writable_txn_marker_result_1(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[WritableTxnMarkerResult], int]:
    items: list[WritableTxnMarkerResult] = []
    for _ in range(count):
        if end - at < 9:
            raise cut_off("WritableTxnMarkerResult", "ProducerId=8 Topics=1", end - at)
        producer_id, n = _unpack_qB(data, at)
        at += 9
        if n > 127:
            n, at = long_varint(data, at, end, n, "WritableTxnMarkerResult.Topics")
        n -= 1
        room[0] -= n
        if n < 0 or 3 * n > end - at or room[0] < 0:
            raise bad_count("WritableTxnMarkerResult.Topics", n, end - at, room[0])
        topics, at = _read_writable_txn_marker_topic_result_1(data, at, end, room, n)
        if at >= end:
            raise cut_off("WritableTxnMarkerResult", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "WritableTxnMarkerResult")
        items.append(WritableTxnMarkerResult(producer_id, topics))
    return items, at


def _read_write_txn_markers_response_1(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[WriteTxnMarkersResponse], int]:
    items: list[WriteTxnMarkersResponse] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("WriteTxnMarkersResponse", "Markers=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "WriteTxnMarkersResponse.Markers")
        n -= 1
        room[0] -= n
        if n < 0 or 10 * n > end - at or room[0] < 0:
            raise bad_count("WriteTxnMarkersResponse.Markers", n, end - at, room[0])
        markers, at = _read_writable_txn_marker_result_1(data, at, end, room, n)
        if at >= end:
            raise cut_off("WriteTxnMarkersResponse", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "WriteTxnMarkersResponse")
        items.append(WriteTxnMarkersResponse(markers))
    return items, at


def _write_writable_txn_marker_partition_result_1(items: Iterable[WritableTxnMarkerPartitionResult], out: list[Buffer]) -> None:
    for m in items:
        out.append(_pack_ihx(m.partition_index, m.error_code))


def _write_writable_txn_marker_topic_result_1(items: Iterable[WritableTxnMarkerTopicResult], out: list[Buffer]) -> None:
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
            _write_writable_txn_marker_partition_result_1(partitions, out)
        out.append(ONE_BYTE[0])


def _write_writable_txn_marker_result_1(items: Iterable[WritableTxnMarkerResult], out: list[Buffer]) -> None:
    for m in items:
        topics = m.topics
        n = len(topics) + 1
        if n > 127:
            out.append(_pack_q(m.producer_id) + varint_of(n))
        else:
            out.append(_pack_qB(m.producer_id, n))
        if topics:
            _write_writable_txn_marker_topic_result_1(topics, out)
        out.append(ONE_BYTE[0])


def _write_write_txn_markers_response_1(items: Iterable[WriteTxnMarkersResponse], out: list[Buffer]) -> None:
    for m in items:
        markers = m.markers
        n = len(markers) + 1
        if n > 127:
            out.append(varint_of(n))
        else:
            out.append(ONE_BYTE[n])
        if markers:
            _write_writable_txn_marker_result_1(markers, out)
        out.append(ONE_BYTE[0])


WriteTxnMarkersResponse._READERS = {
    **dict.fromkeys(range(1, 3), _read_write_txn_markers_response_1),
}
WriteTxnMarkersResponse._WRITERS = {
    **dict.fromkeys(range(1, 3), _write_write_txn_markers_response_1),
}
