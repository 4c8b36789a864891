"""ProduceRequest of Kafka's protocol.

Generated from proto/kafka/produce.schema; do not edit.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import ClassVar

import msgspec

from tidelog.kafka.message import RecordsMessage
from tidelog.kafka.wire import COPIED_RECORDS_BYTES, NO_UUID, ONE_BYTE, Buffer, bad_count, bad_length, cut_off, long_text, long_varint, not_utf8, skip_tags, text_length_of, varint_of


class ProduceRequest(RecordsMessage, gc=False):
    """Request of API 0, versions 3-13."""

    API_KEY: ClassVar[int] = 0
    VERSIONS: ClassVar[range] = range(3, 14)
    FLEXIBLE: ClassVar[range] = range(9, 14)

    transactional_id: str | None = None
    acks: int = 0
    timeout_ms: int = 0
    topic_data: list[TopicProduceData] = []


class TopicProduceData(msgspec.Struct, gc=False):
    name: str = ""
    topic_id: bytes = NO_UUID
    partition_data: list[PartitionProduceData] = []


class PartitionProduceData(msgspec.Struct, gc=False):
    index: int = 0
    records: Buffer | None = None


_unpack_16sB = Struct(">16sB").unpack_from
_unpack_h = Struct(">h").unpack_from
_unpack_hiB = Struct(">hiB").unpack_from
_unpack_hii = Struct(">hii").unpack_from
_unpack_i = Struct(">i").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_unpack_ii = Struct(">ii").unpack_from
_pack_16s = Struct(">16s").pack
_pack_16sB = Struct(">16sB").pack
_pack_h = Struct(">h").pack
_pack_hi = Struct(">hi").pack
_pack_hiB = Struct(">hiB").pack
_pack_hii = Struct(">hii").pack
_pack_i = Struct(">i").pack
_pack_iB = Struct(">iB").pack
_pack_ii = Struct(">ii").pack


def _read_partition_produce_data_3(data: memoryview, at: int, end: int, room: list[int], count: int) -> tuple[list[PartitionProduceData], int]:
    items: list[PartitionProduceData] = []
    for _ in range(count):
        if end - at < 8:
            raise cut_off("PartitionProduceData", "Index=4 Records=4", end - at)
        index, n = _unpack_ii(data, at)
        at += 8
        if n == -1:
            records = None
        else:
            stop = at + n
            if n < 0 or stop > end:
                raise bad_length("PartitionProduceData.Records", n, end - at)
            records = data[at:stop]
            at = stop
        items.append(PartitionProduceData(index, records))
    return items, at


def _read_topic_produce_data_3(data: memoryview, at: int, end: int, room: list[int], count: int) -> tuple[list[TopicProduceData], int]:
    items: list[TopicProduceData] = []
    for _ in range(count):
        if end - at < 2:
            raise cut_off("TopicProduceData", "Name=2", end - at)
        n = _unpack_h(data, at)[0]
        at += 2
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("TopicProduceData.Name", n, end - at)
        try:
            name = data[at:stop].tobytes().decode()
        except UnicodeDecodeError:
            raise not_utf8("TopicProduceData.Name") from None
        at = stop
        if end - at < 4:
            raise cut_off("TopicProduceData", "PartitionData=4", end - at)
        n = _unpack_i(data, at)[0]
        at += 4
        room[0] -= n
        if n < 0 or 8 * n > end - at or room[0] < 0:
            raise bad_count("TopicProduceData.PartitionData", n, end - at, room[0])
        partition_data, at = _read_partition_produce_data_3(data, at, end, room, n)
        items.append(TopicProduceData(name, NO_UUID, partition_data))
    return items, at


def _read_produce_request_3(data: memoryview, at: int, end: int, room: list[int], count: int) -> tuple[list[ProduceRequest], int]:
    items: list[ProduceRequest] = []
    for _ in range(count):
        if end - at < 2:
            raise cut_off("ProduceRequest", "TransactionalId=2", end - at)
        n = _unpack_h(data, at)[0]
        at += 2
        if n == -1:
            transactional_id = None
        else:
            stop = at + n
            if n < 0 or stop > end:
                raise bad_length("ProduceRequest.TransactionalId", n, end - at)
            try:
                transactional_id = data[at:stop].tobytes().decode()
            except UnicodeDecodeError:
                raise not_utf8("ProduceRequest.TransactionalId") from None
            at = stop
        if end - at < 10:
            raise cut_off("ProduceRequest", "Acks=2 TimeoutMs=4 TopicData=4", end - at)
        acks, timeout_ms, n = _unpack_hii(data, at)
        at += 10
        room[0] -= n
        if n < 0 or 6 * n > end - at or room[0] < 0:
            raise bad_count("ProduceRequest.TopicData", n, end - at, room[0])
        topic_data, at = _read_topic_produce_data_3(data, at, end, room, n)
        items.append(ProduceRequest(transactional_id, acks, timeout_ms, topic_data))
    return items, at


def _read_partition_produce_data_9(data: memoryview, at: int, end: int, room: list[int], count: int) -> tuple[list[PartitionProduceData], int]:
    items: list[PartitionProduceData] = []
    for _ in range(count):
        if end - at < 5:
            raise cut_off("PartitionProduceData", "Index=4 Records=1", end - at)
        index, n = _unpack_iB(data, at)
        at += 5
        if n > 127:
            n, at = long_varint(data, at, end, n, "PartitionProduceData.Records")
        if n == 0:
            records = None
        else:
            stop = at + n - 1
            if n < 1 or stop > end:
                raise bad_length("PartitionProduceData.Records", n - 1, end - at)
            records = data[at:stop]
            at = stop
        if at >= end:
            raise cut_off("PartitionProduceData", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "PartitionProduceData")
        items.append(PartitionProduceData(index, records))
    return items, at


def _read_topic_produce_data_9(data: memoryview, at: int, end: int, room: list[int], count: int) -> tuple[list[TopicProduceData], int]:
    items: list[TopicProduceData] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("TopicProduceData", "Name=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "TopicProduceData.Name")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("TopicProduceData.Name", n - 1, end - at)
        try:
            name = data[at:stop].tobytes().decode()
        except UnicodeDecodeError:
            raise not_utf8("TopicProduceData.Name") from None
        at = stop
        if at >= end:
            raise cut_off("TopicProduceData", "PartitionData=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "TopicProduceData.PartitionData")
        n -= 1
        room[0] -= n
        if n < 0 or 6 * n > end - at or room[0] < 0:
            raise bad_count("TopicProduceData.PartitionData", n, end - at, room[0])
        partition_data, at = _read_partition_produce_data_9(data, at, end, room, n)
        if at >= end:
            raise cut_off("TopicProduceData", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "TopicProduceData")
        items.append(TopicProduceData(name, NO_UUID, partition_data))
    return items, at


def _read_produce_request_9(data: memoryview, at: int, end: int, room: list[int], count: int) -> tuple[list[ProduceRequest], int]:
    items: list[ProduceRequest] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("ProduceRequest", "TransactionalId=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "ProduceRequest.TransactionalId")
        if n == 0:
            transactional_id = None
        else:
            stop = at + n - 1
            if n < 1 or stop > end:
                raise bad_length("ProduceRequest.TransactionalId", n - 1, end - at)
            try:
                transactional_id = data[at:stop].tobytes().decode()
            except UnicodeDecodeError:
                raise not_utf8("ProduceRequest.TransactionalId") from None
            at = stop
        if end - at < 7:
            raise cut_off("ProduceRequest", "Acks=2 TimeoutMs=4 TopicData=1", end - at)
        acks, timeout_ms, n = _unpack_hiB(data, at)
        at += 7
        if n > 127:
            n, at = long_varint(data, at, end, n, "ProduceRequest.TopicData")
        n -= 1
        room[0] -= n
        if n < 0 or 3 * n > end - at or room[0] < 0:
            raise bad_count("ProduceRequest.TopicData", n, end - at, room[0])
        topic_data, at = _read_topic_produce_data_9(data, at, end, room, n)
        if at >= end:
            raise cut_off("ProduceRequest", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "ProduceRequest")
        items.append(ProduceRequest(transactional_id, acks, timeout_ms, topic_data))
    return items, at


def _read_topic_produce_data_13(data: memoryview, at: int, end: int, room: list[int], count: int) -> tuple[list[TopicProduceData], int]:
    items: list[TopicProduceData] = []
    for _ in range(count):
        if end - at < 17:
            raise cut_off("TopicProduceData", "TopicId=16 PartitionData=1", end - at)
        topic_id, n = _unpack_16sB(data, at)
        at += 17
        if n > 127:
            n, at = long_varint(data, at, end, n, "TopicProduceData.PartitionData")
        n -= 1
        room[0] -= n
        if n < 0 or 6 * n > end - at or room[0] < 0:
            raise bad_count("TopicProduceData.PartitionData", n, end - at, room[0])
        partition_data, at = _read_partition_produce_data_9(data, at, end, room, n)
        if at >= end:
            raise cut_off("TopicProduceData", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "TopicProduceData")
        items.append(TopicProduceData("", topic_id, partition_data))
    return items, at


def _read_produce_request_13(data: memoryview, at: int, end: int, room: list[int], count: int) -> tuple[list[ProduceRequest], int]:
    items: list[ProduceRequest] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("ProduceRequest", "TransactionalId=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "ProduceRequest.TransactionalId")
        if n == 0:
            transactional_id = None
        else:
            stop = at + n - 1
            if n < 1 or stop > end:
                raise bad_length("ProduceRequest.TransactionalId", n - 1, end - at)
            try:
                transactional_id = data[at:stop].tobytes().decode()
            except UnicodeDecodeError:
                raise not_utf8("ProduceRequest.TransactionalId") from None
            at = stop
        if end - at < 7:
            raise cut_off("ProduceRequest", "Acks=2 TimeoutMs=4 TopicData=1", end - at)
        acks, timeout_ms, n = _unpack_hiB(data, at)
        at += 7
        if n > 127:
            n, at = long_varint(data, at, end, n, "ProduceRequest.TopicData")
        n -= 1
        room[0] -= n
        if n < 0 or 18 * n > end - at or room[0] < 0:
            raise bad_count("ProduceRequest.TopicData", n, end - at, room[0])
        topic_data, at = _read_topic_produce_data_13(data, at, end, room, n)
        if at >= end:
            raise cut_off("ProduceRequest", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "ProduceRequest")
        items.append(ProduceRequest(transactional_id, acks, timeout_ms, topic_data))
    return items, at


def _write_partition_produce_data_3(items: Iterable[PartitionProduceData], out: list[Buffer], buffers: list[Buffer]) -> None:
    for m in items:
        records = m.records
        if records is None:
            n = -1
        else:
            n = len(records)
        out.append(_pack_ii(m.index, n))
        if records is None:
            pass
        elif n < COPIED_RECORDS_BYTES:
            out.append(records)
        else:
            buffers.append(b"".join(out))
            out.clear()
            buffers.append(records)


def _write_topic_produce_data_3(items: Iterable[TopicProduceData], out: list[Buffer], buffers: list[Buffer]) -> None:
    for m in items:
        name = m.name
        content = name.encode()
        n = len(content)
        out.append(_pack_h(n))
        out.append(content)
        partition_data = m.partition_data
        n = len(partition_data)
        out.append(_pack_i(n))
        if partition_data:
            _write_partition_produce_data_3(partition_data, out, buffers)


def _write_produce_request_3(items: Iterable[ProduceRequest], out: list[Buffer], buffers: list[Buffer]) -> None:
    for m in items:
        transactional_id = m.transactional_id
        if transactional_id is None:
            content = b""
            n = -1
        else:
            content = transactional_id.encode()
            n = len(content)
        out.append(_pack_h(n))
        out.append(content)
        topic_data = m.topic_data
        n = len(topic_data)
        out.append(_pack_hii(m.acks, m.timeout_ms, n))
        if topic_data:
            _write_topic_produce_data_3(topic_data, out, buffers)


def _write_partition_produce_data_9(items: Iterable[PartitionProduceData], out: list[Buffer], buffers: list[Buffer]) -> None:
    for m in items:
        records = m.records
        if records is None:
            n = 0
        else:
            n = len(records) + 1
        if n > 127:
            out.append(_pack_i(m.index) + varint_of(n))
        else:
            out.append(_pack_iB(m.index, n))
        if records is None:
            pass
        elif n < COPIED_RECORDS_BYTES:
            out.append(records)
        else:
            buffers.append(b"".join(out))
            out.clear()
            buffers.append(records)
        out.append(ONE_BYTE[0])


def _write_topic_produce_data_9(items: Iterable[TopicProduceData], out: list[Buffer], buffers: list[Buffer]) -> None:
    for m in items:
        name = m.name
        content = name.encode()
        n = len(content) + 1
        if n > 127:
            out.append(text_length_of(n))
        else:
            out.append(ONE_BYTE[n])
        out.append(content)
        partition_data = m.partition_data
        n = len(partition_data) + 1
        if n > 127:
            out.append(varint_of(n))
        else:
            out.append(ONE_BYTE[n])
        if partition_data:
            _write_partition_produce_data_9(partition_data, out, buffers)
        out.append(ONE_BYTE[0])


def _write_produce_request_9(items: Iterable[ProduceRequest], out: list[Buffer], buffers: list[Buffer]) -> None:
    for m in items:
        transactional_id = m.transactional_id
        if transactional_id is None:
            content = b""
            n = 0
        else:
            content = transactional_id.encode()
            n = len(content) + 1
        if n > 127:
            out.append(text_length_of(n))
        else:
            out.append(ONE_BYTE[n])
        out.append(content)
        topic_data = m.topic_data
        n = len(topic_data) + 1
        if n > 127:
            out.append(_pack_hi(m.acks, m.timeout_ms) + varint_of(n))
        else:
            out.append(_pack_hiB(m.acks, m.timeout_ms, n))
        if topic_data:
            _write_topic_produce_data_9(topic_data, out, buffers)
        out.append(ONE_BYTE[0])


def _write_topic_produce_data_13(items: Iterable[TopicProduceData], out: list[Buffer], buffers: list[Buffer]) -> None:
    for m in items:
        partition_data = m.partition_data
        n = len(partition_data) + 1
        if n > 127:
            out.append(_pack_16s(m.topic_id) + varint_of(n))
        else:
            out.append(_pack_16sB(m.topic_id, n))
        if partition_data:
            _write_partition_produce_data_9(partition_data, out, buffers)
        out.append(ONE_BYTE[0])


def _write_produce_request_13(items: Iterable[ProduceRequest], out: list[Buffer], buffers: list[Buffer]) -> None:
    for m in items:
        transactional_id = m.transactional_id
        if transactional_id is None:
            content = b""
            n = 0
        else:
            content = transactional_id.encode()
            n = len(content) + 1
        if n > 127:
            out.append(text_length_of(n))
        else:
            out.append(ONE_BYTE[n])
        out.append(content)
        topic_data = m.topic_data
        n = len(topic_data) + 1
        if n > 127:
            out.append(_pack_hi(m.acks, m.timeout_ms) + varint_of(n))
        else:
            out.append(_pack_hiB(m.acks, m.timeout_ms, n))
        if topic_data:
            _write_topic_produce_data_13(topic_data, out, buffers)
        out.append(ONE_BYTE[0])


ProduceRequest._READERS = {
    **dict.fromkeys(range(3, 9), _read_produce_request_3),
    **dict.fromkeys(range(9, 13), _read_produce_request_9),
    **dict.fromkeys(range(13, 14), _read_produce_request_13),
}
ProduceRequest._WRITERS = {
    **dict.fromkeys(range(3, 9), _write_produce_request_3),
    **dict.fromkeys(range(9, 13), _write_produce_request_9),
    **dict.fromkeys(range(13, 14), _write_produce_request_13),
}
