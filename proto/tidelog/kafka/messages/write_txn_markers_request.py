"""WriteTxnMarkersRequest of Kafka's protocol.

Generated from proto/kafka/write_txn_markers.schema; do not edit.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import ClassVar

import msgspec

from tidelog.kafka.message import Message
from tidelog.kafka.wire import ONE_BYTE, Buffer, bad_count, bad_length, cut_off, long_text, long_varint, not_utf8, packer, read_numbers, skip_tags, text_length_of, varint_of


class WriteTxnMarkersRequest(Message, gc=False):
    """Request of API 27, versions 1-2."""

    API_KEY: ClassVar[int] = 27
    VERSIONS: ClassVar[range] = range(1, 3)
    FLEXIBLE: ClassVar[range] = range(1, 3)

    markers: list[WritableTxnMarker] = []


class WritableTxnMarker(msgspec.Struct, gc=False):
    producer_id: int = 0
    producer_epoch: int = 0
    transaction_result: bool = False
    topics: list[WritableTxnMarkerTopic] = []
    coordinator_epoch: int = 0
    transaction_version: int = 0


class WritableTxnMarkerTopic(msgspec.Struct, gc=False):
    name: str = ""
    partition_indexes: list[int] = []


_unpack_iB = Struct(">iB").unpack_from
_unpack_ibB = Struct(">ibB").unpack_from
_unpack_qhtB = Struct(">qh?B").unpack_from
_pack_ibx = Struct(">ibx").pack
_pack_ix = Struct(">ix").pack
_pack_qht = Struct(">qh?").pack
_pack_qhtB = Struct(">qh?B").pack


def _read_writable_txn_marker_topic_1(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[WritableTxnMarkerTopic], int]:
    items: list[WritableTxnMarkerTopic] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("WritableTxnMarkerTopic", "Name=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "WritableTxnMarkerTopic.Name")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("WritableTxnMarkerTopic.Name", n - 1, end - at)
        try:
            name = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("WritableTxnMarkerTopic.Name") from None
        at = stop
        if at >= end:
            raise cut_off("WritableTxnMarkerTopic", "PartitionIndexes=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "WritableTxnMarkerTopic.PartitionIndexes")
        n -= 1
        room[0] -= n
        if n < 0 or 4 * n > end - at or room[0] < 0:
            raise bad_count("WritableTxnMarkerTopic.PartitionIndexes", n, end - at, room[0])
        partition_indexes = read_numbers(data, at, n, "i")
        at += 4 * n
        if at >= end:
            raise cut_off("WritableTxnMarkerTopic", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "WritableTxnMarkerTopic")
        items.append(WritableTxnMarkerTopic(name, partition_indexes))
    return items, at


def _read_writable_txn_marker_1(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[WritableTxnMarker], int]:
    items: list[WritableTxnMarker] = []
    for _ in range(count):
        if end - at < 12:
            raise cut_off("WritableTxnMarker", "ProducerId=8 ProducerEpoch=2 TransactionResult=1 Topics=1", end - at)
        producer_id, producer_epoch, transaction_result, n = _unpack_qhtB(data, at)
        at += 12
        if n > 127:
            n, at = long_varint(data, at, end, n, "WritableTxnMarker.Topics")
        n -= 1
        room[0] -= n
        if n < 0 or 3 * n > end - at or room[0] < 0:
            raise bad_count("WritableTxnMarker.Topics", n, end - at, room[0])
        topics, at = _read_writable_txn_marker_topic_1(data, at, end, room, n)
        if end - at < 5:
            raise cut_off("WritableTxnMarker", "CoordinatorEpoch=4 tags=1", end - at)
        coordinator_epoch, tags = _unpack_iB(data, at)
        at += 5
        if tags:
            at = skip_tags(data, at, end, tags, "WritableTxnMarker")
        items.append(WritableTxnMarker(producer_id, producer_epoch, transaction_result, topics, coordinator_epoch))
    return items, at


def _read_write_txn_markers_request_1(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[WriteTxnMarkersRequest], int]:
    items: list[WriteTxnMarkersRequest] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("WriteTxnMarkersRequest", "Markers=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "WriteTxnMarkersRequest.Markers")
        n -= 1
        room[0] -= n
        if n < 0 or 17 * n > end - at or room[0] < 0:
            raise bad_count("WriteTxnMarkersRequest.Markers", n, end - at, room[0])
        markers, at = _read_writable_txn_marker_1(data, at, end, room, n)
        if at >= end:
            raise cut_off("WriteTxnMarkersRequest", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "WriteTxnMarkersRequest")
        items.append(WriteTxnMarkersRequest(markers))
    return items, at


def _read_writable_txn_marker_2(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[WritableTxnMarker], int]:
    items: list[WritableTxnMarker] = []
    for _ in range(count):
        if end - at < 12:
            raise cut_off("WritableTxnMarker", "ProducerId=8 ProducerEpoch=2 TransactionResult=1 Topics=1", end - at)
        producer_id, producer_epoch, transaction_result, n = _unpack_qhtB(data, at)
        at += 12
        if n > 127:
            n, at = long_varint(data, at, end, n, "WritableTxnMarker.Topics")
        n -= 1
        room[0] -= n
        if n < 0 or 3 * n > end - at or room[0] < 0:
            raise bad_count("WritableTxnMarker.Topics", n, end - at, room[0])
        topics, at = _read_writable_txn_marker_topic_1(data, at, end, room, n)
        if end - at < 6:
            raise cut_off("WritableTxnMarker", "CoordinatorEpoch=4 TransactionVersion=1 tags=1", end - at)
        coordinator_epoch, transaction_version, tags = _unpack_ibB(data, at)
        at += 6
        if tags:
            at = skip_tags(data, at, end, tags, "WritableTxnMarker")
        items.append(WritableTxnMarker(producer_id, producer_epoch, transaction_result, topics, coordinator_epoch, transaction_version))
    return items, at


def _read_write_txn_markers_request_2(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[WriteTxnMarkersRequest], int]:
    items: list[WriteTxnMarkersRequest] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("WriteTxnMarkersRequest", "Markers=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "WriteTxnMarkersRequest.Markers")
        n -= 1
        room[0] -= n
        if n < 0 or 18 * n > end - at or room[0] < 0:
            raise bad_count("WriteTxnMarkersRequest.Markers", n, end - at, room[0])
        markers, at = _read_writable_txn_marker_2(data, at, end, room, n)
        if at >= end:
            raise cut_off("WriteTxnMarkersRequest", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "WriteTxnMarkersRequest")
        items.append(WriteTxnMarkersRequest(markers))
    return items, at


def _write_writable_txn_marker_topic_1(items: Iterable[WritableTxnMarkerTopic], out: list[Buffer]) -> None:
    for m in items:
        name = m.name
        content = name.encode()
        n = len(content) + 1
        if n > 127:
            out.append(text_length_of(n))
        else:
            out.append(ONE_BYTE[n])
        out.append(content)
        partition_indexes = m.partition_indexes
        n = len(partition_indexes) + 1
        if n > 127:
            out.append(varint_of(n))
        else:
            out.append(ONE_BYTE[n])
        if partition_indexes:
            out.append(packer(len(partition_indexes), "i")(*partition_indexes))
        out.append(ONE_BYTE[0])


def _write_writable_txn_marker_1(items: Iterable[WritableTxnMarker], out: list[Buffer]) -> None:
    for m in items:
        topics = m.topics
        n = len(topics) + 1
        if n > 127:
            out.append(_pack_qht(m.producer_id, m.producer_epoch, m.transaction_result) + varint_of(n))
        else:
            out.append(_pack_qhtB(m.producer_id, m.producer_epoch, m.transaction_result, n))
        if topics:
            _write_writable_txn_marker_topic_1(topics, out)
        out.append(_pack_ix(m.coordinator_epoch))


def _write_write_txn_markers_request_1(items: Iterable[WriteTxnMarkersRequest], out: list[Buffer]) -> None:
    for m in items:
        markers = m.markers
        n = len(markers) + 1
        if n > 127:
            out.append(varint_of(n))
        else:
            out.append(ONE_BYTE[n])
        if markers:
            _write_writable_txn_marker_1(markers, out)
        out.append(ONE_BYTE[0])


def _write_writable_txn_marker_2(items: Iterable[WritableTxnMarker], out: list[Buffer]) -> None:
    for m in items:
        topics = m.topics
        n = len(topics) + 1
        if n > 127:
            out.append(_pack_qht(m.producer_id, m.producer_epoch, m.transaction_result) + varint_of(n))
        else:
            out.append(_pack_qhtB(m.producer_id, m.producer_epoch, m.transaction_result, n))
        if topics:
            _write_writable_txn_marker_topic_1(topics, out)
        out.append(_pack_ibx(m.coordinator_epoch, m.transaction_version))


def _write_write_txn_markers_request_2(items: Iterable[WriteTxnMarkersRequest], out: list[Buffer]) -> None:
    for m in items:
        markers = m.markers
        n = len(markers) + 1
        if n > 127:
            out.append(varint_of(n))
        else:
            out.append(ONE_BYTE[n])
        if markers:
            _write_writable_txn_marker_2(markers, out)
        out.append(ONE_BYTE[0])


WriteTxnMarkersRequest._READERS = {
    **dict.fromkeys(range(1, 2), _read_write_txn_markers_request_1),
    **dict.fromkeys(range(2, 3), _read_write_txn_markers_request_2),
}
WriteTxnMarkersRequest._WRITERS = {
    **dict.fromkeys(range(1, 2), _write_write_txn_markers_request_1),
    **dict.fromkeys(range(2, 3), _write_write_txn_markers_request_2),
}
