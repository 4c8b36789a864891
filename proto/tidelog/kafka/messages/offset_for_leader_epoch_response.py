"""OffsetForLeaderEpochResponse of Kafka's protocol.

Generated from proto/kafka/offset_for_leader_epoch.schema; do not edit.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import ClassVar

import msgspec

from tidelog.kafka.message import Message
from tidelog.kafka.wire import ONE_BYTE, Buffer, bad_count, bad_length, cut_off, long_text, long_varint, not_utf8, skip_tags, text_length_of, varint_of


class OffsetForLeaderEpochResponse(Message, gc=False):
    """Response of API 23, versions 2-4."""

    API_KEY: ClassVar[int] = 23
    VERSIONS: ClassVar[range] = range(2, 5)
    FLEXIBLE: ClassVar[range] = range(4, 5)

    throttle_time_ms: int = 0
    topics: list[OffsetForLeaderTopicResult] = []


class OffsetForLeaderTopicResult(msgspec.Struct, gc=False):
    topic: str = ""
    partitions: list[EpochEndOffset] = []


class EpochEndOffset(msgspec.Struct, gc=False):
    error_code: int = 0
    partition: int = 0
    leader_epoch: int = -1
    end_offset: int = -1


_unpack_h = Struct(">h").unpack_from
_unpack_hiiq = Struct(">hiiq").unpack_from
_unpack_hiiqB = Struct(">hiiqB").unpack_from
_unpack_i = Struct(">i").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_unpack_ii = Struct(">ii").unpack_from
_pack_h = Struct(">h").pack
_pack_hiiq = Struct(">hiiq").pack
_pack_hiiqx = Struct(">hiiqx").pack
_pack_i = Struct(">i").pack
_pack_iB = Struct(">iB").pack
_pack_ii = Struct(">ii").pack


def _read_epoch_end_offset_2(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[EpochEndOffset], int]:
    items: list[EpochEndOffset] = []
    for _ in range(count):
        if end - at < 18:
            raise cut_off("EpochEndOffset", "ErrorCode=2 Partition=4 LeaderEpoch=4 EndOffset=8", end - at)
        error_code, partition, leader_epoch, end_offset = _unpack_hiiq(data, at)
        at += 18
        items.append(EpochEndOffset(error_code, partition, leader_epoch, end_offset))
    return items, at


def _read_offset_for_leader_topic_result_2(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[OffsetForLeaderTopicResult], int]:
    items: list[OffsetForLeaderTopicResult] = []
    for _ in range(count):
        if end - at < 2:
            raise cut_off("OffsetForLeaderTopicResult", "Topic=2", end - at)
        n = _unpack_h(data, at)[0]
        at += 2
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("OffsetForLeaderTopicResult.Topic", n, end - at)
        try:
            topic = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("OffsetForLeaderTopicResult.Topic") from None
        at = stop
        if end - at < 4:
            raise cut_off("OffsetForLeaderTopicResult", "Partitions=4", end - at)
        n = _unpack_i(data, at)[0]
        at += 4
        room[0] -= n
        if n < 0 or 18 * n > end - at or room[0] < 0:
            raise bad_count("OffsetForLeaderTopicResult.Partitions", n, end - at, room[0])
        partitions, at = _read_epoch_end_offset_2(data, at, end, room, n)
        items.append(OffsetForLeaderTopicResult(topic, partitions))
    return items, at


def _read_offset_for_leader_epoch_response_2(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[OffsetForLeaderEpochResponse], int]:
    items: list[OffsetForLeaderEpochResponse] = []
    for _ in range(count):
        if end - at < 8:
            raise cut_off("OffsetForLeaderEpochResponse", "ThrottleTimeMs=4 Topics=4", end - at)
        throttle_time_ms, n = _unpack_ii(data, at)
        at += 8
        room[0] -= n
        if n < 0 or 6 * n > end - at or room[0] < 0:
            raise bad_count("OffsetForLeaderEpochResponse.Topics", n, end - at, room[0])
        topics, at = _read_offset_for_leader_topic_result_2(data, at, end, room, n)
        items.append(OffsetForLeaderEpochResponse(throttle_time_ms, topics))
    return items, at


def _read_epoch_end_offset_4(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[EpochEndOffset], int]:
    items: list[EpochEndOffset] = []
    for _ in range(count):
        if end - at < 19:
            raise cut_off("EpochEndOffset", "ErrorCode=2 Partition=4 LeaderEpoch=4 EndOffset=8 tags=1", end - at)
        error_code, partition, leader_epoch, end_offset, tags = _unpack_hiiqB(data, at)
        at += 19
        if tags:
            at = skip_tags(data, at, end, tags, "EpochEndOffset")
        items.append(EpochEndOffset(error_code, partition, leader_epoch, end_offset))
    return items, at


def _read_offset_for_leader_topic_result_4(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[OffsetForLeaderTopicResult], int]:
    items: list[OffsetForLeaderTopicResult] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("OffsetForLeaderTopicResult", "Topic=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "OffsetForLeaderTopicResult.Topic")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("OffsetForLeaderTopicResult.Topic", n - 1, end - at)
        try:
            topic = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("OffsetForLeaderTopicResult.Topic") from None
        at = stop
        if at >= end:
            raise cut_off("OffsetForLeaderTopicResult", "Partitions=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "OffsetForLeaderTopicResult.Partitions")
        n -= 1
        room[0] -= n
        if n < 0 or 19 * n > end - at or room[0] < 0:
            raise bad_count("OffsetForLeaderTopicResult.Partitions", n, end - at, room[0])
        partitions, at = _read_epoch_end_offset_4(data, at, end, room, n)
        if at >= end:
            raise cut_off("OffsetForLeaderTopicResult", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "OffsetForLeaderTopicResult")
        items.append(OffsetForLeaderTopicResult(topic, partitions))
    return items, at


def _read_offset_for_leader_epoch_response_4(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[OffsetForLeaderEpochResponse], int]:
    items: list[OffsetForLeaderEpochResponse] = []
    for _ in range(count):
        if end - at < 5:
            raise cut_off("OffsetForLeaderEpochResponse", "ThrottleTimeMs=4 Topics=1", end - at)
        throttle_time_ms, n = _unpack_iB(data, at)
        at += 5
        if n > 127:
            n, at = long_varint(data, at, end, n, "OffsetForLeaderEpochResponse.Topics")
        n -= 1
        room[0] -= n
        if n < 0 or 3 * n > end - at or room[0] < 0:
            raise bad_count("OffsetForLeaderEpochResponse.Topics", n, end - at, room[0])
        topics, at = _read_offset_for_leader_topic_result_4(data, at, end, room, n)
        if at >= end:
            raise cut_off("OffsetForLeaderEpochResponse", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "OffsetForLeaderEpochResponse")
        items.append(OffsetForLeaderEpochResponse(throttle_time_ms, topics))
    return items, at


def _write_epoch_end_offset_2(items: Iterable[EpochEndOffset], out: list[Buffer]) -> None:
    for m in items:
        out.append(_pack_hiiq(m.error_code, m.partition, m.leader_epoch, m.end_offset))


def _write_offset_for_leader_topic_result_2(items: Iterable[OffsetForLeaderTopicResult], out: list[Buffer]) -> None:
    for m in items:
        topic = m.topic
        content = topic.encode()
        n = len(content)
        out.append(_pack_h(n))
        out.append(content)
        partitions = m.partitions
        n = len(partitions)
        out.append(_pack_i(n))
        if partitions:
            _write_epoch_end_offset_2(partitions, out)


def _write_offset_for_leader_epoch_response_2(items: Iterable[OffsetForLeaderEpochResponse], out: list[Buffer]) -> None:
    for m in items:
        topics = m.topics
        n = len(topics)
        out.append(_pack_ii(m.throttle_time_ms, n))
        if topics:
            _write_offset_for_leader_topic_result_2(topics, out)


def _write_epoch_end_offset_4(items: Iterable[EpochEndOffset], out: list[Buffer]) -> None:
    for m in items:
        out.append(_pack_hiiqx(m.error_code, m.partition, m.leader_epoch, m.end_offset))


def _write_offset_for_leader_topic_result_4(items: Iterable[OffsetForLeaderTopicResult], out: list[Buffer]) -> None:
    for m in items:
        topic = m.topic
        content = topic.encode()
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
            _write_epoch_end_offset_4(partitions, out)
        out.append(ONE_BYTE[0])


def _write_offset_for_leader_epoch_response_4(items: Iterable[OffsetForLeaderEpochResponse], out: list[Buffer]) -> None:
    for m in items:
        topics = m.topics
        n = len(topics) + 1
        if n > 127:
            out.append(_pack_i(m.throttle_time_ms) + varint_of(n))
        else:
            out.append(_pack_iB(m.throttle_time_ms, n))
        if topics:
            _write_offset_for_leader_topic_result_4(topics, out)
        out.append(ONE_BYTE[0])


OffsetForLeaderEpochResponse._READERS = {
    **dict.fromkeys(range(2, 4), _read_offset_for_leader_epoch_response_2),
    **dict.fromkeys(range(4, 5), _read_offset_for_leader_epoch_response_4),
}
OffsetForLeaderEpochResponse._WRITERS = {
    **dict.fromkeys(range(2, 4), _write_offset_for_leader_epoch_response_2),
    **dict.fromkeys(range(4, 5), _write_offset_for_leader_epoch_response_4),
}
