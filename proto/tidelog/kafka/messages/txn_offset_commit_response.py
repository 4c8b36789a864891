"""TxnOffsetCommitResponse of Kafka's protocol.

Generated from proto/kafka/txn_offset_commit.schema; do not edit.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import ClassVar

import msgspec

from tidelog.kafka.message import Message
from tidelog.kafka.wire import ONE_BYTE, Buffer, bad_count, bad_length, cut_off, long_text, long_varint, not_utf8, skip_tags, text_length_of, varint_of


class TxnOffsetCommitResponse(Message, gc=False):
    """Response of API 28, versions 0-5."""

    API_KEY: ClassVar[int] = 28
    VERSIONS: ClassVar[range] = range(0, 6)
    FLEXIBLE: ClassVar[range] = range(3, 6)

    throttle_time_ms: int = 0
    topics: list[TxnOffsetCommitResponseTopic] = []


class TxnOffsetCommitResponseTopic(msgspec.Struct, gc=False):
    name: str = ""
    partitions: list[TxnOffsetCommitResponsePartition] = []


class TxnOffsetCommitResponsePartition(msgspec.Struct, gc=False):
    partition_index: int = 0
    error_code: int = 0


_unpack_h = Struct(">h").unpack_from
_unpack_i = Struct(">i").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_unpack_ih = Struct(">ih").unpack_from
_unpack_ihB = Struct(">ihB").unpack_from
_unpack_ii = Struct(">ii").unpack_from
_pack_h = Struct(">h").pack
_pack_i = Struct(">i").pack
_pack_iB = Struct(">iB").pack
_pack_ih = Struct(">ih").pack
_pack_ihx = Struct(">ihx").pack
_pack_ii = Struct(">ii").pack


def _read_txn_offset_commit_response_partition_0(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[TxnOffsetCommitResponsePartition], int]:
    items: list[TxnOffsetCommitResponsePartition] = []
    for _ in range(count):
        if end - at < 6:
            raise cut_off("TxnOffsetCommitResponsePartition", "PartitionIndex=4 ErrorCode=2", end - at)
        partition_index, error_code = _unpack_ih(data, at)
        at += 6
        items.append(TxnOffsetCommitResponsePartition(partition_index, error_code))
    return items, at


def _read_txn_offset_commit_response_topic_0(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[TxnOffsetCommitResponseTopic], int]:
    items: list[TxnOffsetCommitResponseTopic] = []
    for _ in range(count):
        if end - at < 2:
            raise cut_off("TxnOffsetCommitResponseTopic", "Name=2", end - at)
        n = _unpack_h(data, at)[0]
        at += 2
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("TxnOffsetCommitResponseTopic.Name", n, end - at)
        try:
            name = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("TxnOffsetCommitResponseTopic.Name") from None
        at = stop
        if end - at < 4:
            raise cut_off("TxnOffsetCommitResponseTopic", "Partitions=4", end - at)
        n = _unpack_i(data, at)[0]
        at += 4
        room[0] -= n
        if n < 0 or 6 * n > end - at or room[0] < 0:
            raise bad_count("TxnOffsetCommitResponseTopic.Partitions", n, end - at, room[0])
        partitions, at = _read_txn_offset_commit_response_partition_0(data, at, end, room, n)
        items.append(TxnOffsetCommitResponseTopic(name, partitions))
    return items, at


def _read_txn_offset_commit_response_0(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[TxnOffsetCommitResponse], int]:
    items: list[TxnOffsetCommitResponse] = []
    for _ in range(count):
        if end - at < 8:
            raise cut_off("TxnOffsetCommitResponse", "ThrottleTimeMs=4 Topics=4", end - at)
        throttle_time_ms, n = _unpack_ii(data, at)
        at += 8
        room[0] -= n
        if n < 0 or 6 * n > end - at or room[0] < 0:
            raise bad_count("TxnOffsetCommitResponse.Topics", n, end - at, room[0])
        topics, at = _read_txn_offset_commit_response_topic_0(data, at, end, room, n)
        items.append(TxnOffsetCommitResponse(throttle_time_ms, topics))
    return items, at


def _read_txn_offset_commit_response_partition_3(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[TxnOffsetCommitResponsePartition], int]:
    items: list[TxnOffsetCommitResponsePartition] = []
    for _ in range(count):
        if end - at < 7:
            raise cut_off("TxnOffsetCommitResponsePartition", "PartitionIndex=4 ErrorCode=2 tags=1", end - at)
        partition_index, error_code, tags = _unpack_ihB(data, at)
        at += 7
        if tags:
            at = skip_tags(data, at, end, tags, "TxnOffsetCommitResponsePartition")
        items.append(TxnOffsetCommitResponsePartition(partition_index, error_code))
    return items, at


def _read_txn_offset_commit_response_topic_3(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[TxnOffsetCommitResponseTopic], int]:
    items: list[TxnOffsetCommitResponseTopic] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("TxnOffsetCommitResponseTopic", "Name=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "TxnOffsetCommitResponseTopic.Name")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("TxnOffsetCommitResponseTopic.Name", n - 1, end - at)
        try:
            name = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("TxnOffsetCommitResponseTopic.Name") from None
        at = stop
        if at >= end:
            raise cut_off("TxnOffsetCommitResponseTopic", "Partitions=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "TxnOffsetCommitResponseTopic.Partitions")
        n -= 1
        room[0] -= n
        if n < 0 or 7 * n > end - at or room[0] < 0:
            raise bad_count("TxnOffsetCommitResponseTopic.Partitions", n, end - at, room[0])
        partitions, at = _read_txn_offset_commit_response_partition_3(data, at, end, room, n)
        if at >= end:
            raise cut_off("TxnOffsetCommitResponseTopic", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "TxnOffsetCommitResponseTopic")
        items.append(TxnOffsetCommitResponseTopic(name, partitions))
    return items, at


def _read_txn_offset_commit_response_3(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[TxnOffsetCommitResponse], int]:
    items: list[TxnOffsetCommitResponse] = []
    for _ in range(count):
        if end - at < 5:
            raise cut_off("TxnOffsetCommitResponse", "ThrottleTimeMs=4 Topics=1", end - at)
        throttle_time_ms, n = _unpack_iB(data, at)
        at += 5
        if n > 127:
            n, at = long_varint(data, at, end, n, "TxnOffsetCommitResponse.Topics")
        n -= 1
        room[0] -= n
        if n < 0 or 3 * n > end - at or room[0] < 0:
            raise bad_count("TxnOffsetCommitResponse.Topics", n, end - at, room[0])
        topics, at = _read_txn_offset_commit_response_topic_3(data, at, end, room, n)
        if at >= end:
            raise cut_off("TxnOffsetCommitResponse", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "TxnOffsetCommitResponse")
        items.append(TxnOffsetCommitResponse(throttle_time_ms, topics))
    return items, at


def _write_txn_offset_commit_response_partition_0(items: Iterable[TxnOffsetCommitResponsePartition], out: list[Buffer]) -> None:
    for m in items:
        out.append(_pack_ih(m.partition_index, m.error_code))


def _write_txn_offset_commit_response_topic_0(items: Iterable[TxnOffsetCommitResponseTopic], out: list[Buffer]) -> None:
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
            _write_txn_offset_commit_response_partition_0(partitions, out)


def _write_txn_offset_commit_response_0(items: Iterable[TxnOffsetCommitResponse], out: list[Buffer]) -> None:
    for m in items:
        topics = m.topics
        n = len(topics)
        out.append(_pack_ii(m.throttle_time_ms, n))
        if topics:
            _write_txn_offset_commit_response_topic_0(topics, out)


def _write_txn_offset_commit_response_partition_3(items: Iterable[TxnOffsetCommitResponsePartition], out: list[Buffer]) -> None:
    for m in items:
        out.append(_pack_ihx(m.partition_index, m.error_code))


def _write_txn_offset_commit_response_topic_3(items: Iterable[TxnOffsetCommitResponseTopic], out: list[Buffer]) -> None:
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
            _write_txn_offset_commit_response_partition_3(partitions, out)
        out.append(ONE_BYTE[0])


def _write_txn_offset_commit_response_3(items: Iterable[TxnOffsetCommitResponse], out: list[Buffer]) -> None:
    for m in items:
        topics = m.topics
        n = len(topics) + 1
        if n > 127:
            out.append(_pack_i(m.throttle_time_ms) + varint_of(n))
        else:
            out.append(_pack_iB(m.throttle_time_ms, n))
        if topics:
            _write_txn_offset_commit_response_topic_3(topics, out)
        out.append(ONE_BYTE[0])


TxnOffsetCommitResponse._READERS = {
    **dict.fromkeys(range(0, 3), _read_txn_offset_commit_response_0),
    **dict.fromkeys(range(3, 6), _read_txn_offset_commit_response_3),
}
TxnOffsetCommitResponse._WRITERS = {
    **dict.fromkeys(range(0, 3), _write_txn_offset_commit_response_0),
    **dict.fromkeys(range(3, 6), _write_txn_offset_commit_response_3),
}
