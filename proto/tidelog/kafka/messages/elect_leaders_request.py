"""ElectLeadersRequest of Kafka's protocol.

Generated from proto/kafka/elect_leaders.schema; do not edit.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import ClassVar

import msgspec

from tidelog.kafka.message import Message
from tidelog.kafka.wire import ONE_BYTE, Buffer, bad_count, bad_length, cut_off, long_text, long_varint, not_utf8, packer, read_numbers, skip_tags, text_length_of, varint_of


class ElectLeadersRequest(Message, gc=False):
    """Request of API 43, versions 0-2."""

    API_KEY: ClassVar[int] = 43
    VERSIONS: ClassVar[range] = range(0, 3)
    FLEXIBLE: ClassVar[range] = range(2, 3)

    election_type: int = 0
    topic_partitions: list[TopicPartitions] | None = []
    timeout_ms: int = 60000


class TopicPartitions(msgspec.Struct, gc=False):
    topic: str = ""
    partitions: list[int] = []


_unpack_bB = Struct(">bB").unpack_from
_unpack_bi = Struct(">bi").unpack_from
_unpack_h = Struct(">h").unpack_from
_unpack_i = Struct(">i").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_pack_b = Struct(">b").pack
_pack_bB = Struct(">bB").pack
_pack_bi = Struct(">bi").pack
_pack_h = Struct(">h").pack
_pack_i = Struct(">i").pack
_pack_ix = Struct(">ix").pack


def _read_topic_partitions_0(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[TopicPartitions], int]:
    items: list[TopicPartitions] = []
    for _ in range(count):
        if end - at < 2:
            raise cut_off("TopicPartitions", "Topic=2", end - at)
        n = _unpack_h(data, at)[0]
        at += 2
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("TopicPartitions.Topic", n, end - at)
        try:
            topic = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("TopicPartitions.Topic") from None
        at = stop
        if end - at < 4:
            raise cut_off("TopicPartitions", "Partitions=4", end - at)
        n = _unpack_i(data, at)[0]
        at += 4
        room[0] -= n
        if n < 0 or 4 * n > end - at or room[0] < 0:
            raise bad_count("TopicPartitions.Partitions", n, end - at, room[0])
        partitions = read_numbers(data, at, n, "i")
        at += 4 * n
        items.append(TopicPartitions(topic, partitions))
    return items, at


def _read_elect_leaders_request_0(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[ElectLeadersRequest], int]:
    items: list[ElectLeadersRequest] = []
    for _ in range(count):
        if end - at < 4:
            raise cut_off("ElectLeadersRequest", "TopicPartitions=4", end - at)
        n = _unpack_i(data, at)[0]
        at += 4
        if n == -1:
            topic_partitions = None
        else:
            room[0] -= n
            if n < 0 or 6 * n > end - at or room[0] < 0:
                raise bad_count("ElectLeadersRequest.TopicPartitions", n, end - at, room[0])
            topic_partitions, at = _read_topic_partitions_0(data, at, end, room, n)
        if end - at < 4:
            raise cut_off("ElectLeadersRequest", "TimeoutMs=4", end - at)
        timeout_ms = _unpack_i(data, at)[0]
        at += 4
        items.append(ElectLeadersRequest(0, topic_partitions, timeout_ms))
    return items, at


def _read_elect_leaders_request_1(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[ElectLeadersRequest], int]:
    items: list[ElectLeadersRequest] = []
    for _ in range(count):
        if end - at < 5:
            raise cut_off("ElectLeadersRequest", "ElectionType=1 TopicPartitions=4", end - at)
        election_type, n = _unpack_bi(data, at)
        at += 5
        if n == -1:
            topic_partitions = None
        else:
            room[0] -= n
            if n < 0 or 6 * n > end - at or room[0] < 0:
                raise bad_count("ElectLeadersRequest.TopicPartitions", n, end - at, room[0])
            topic_partitions, at = _read_topic_partitions_0(data, at, end, room, n)
        if end - at < 4:
            raise cut_off("ElectLeadersRequest", "TimeoutMs=4", end - at)
        timeout_ms = _unpack_i(data, at)[0]
        at += 4
        items.append(ElectLeadersRequest(election_type, topic_partitions, timeout_ms))
    return items, at


def _read_topic_partitions_2(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[TopicPartitions], int]:
    items: list[TopicPartitions] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("TopicPartitions", "Topic=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "TopicPartitions.Topic")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("TopicPartitions.Topic", n - 1, end - at)
        try:
            topic = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("TopicPartitions.Topic") from None
        at = stop
        if at >= end:
            raise cut_off("TopicPartitions", "Partitions=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "TopicPartitions.Partitions")
        n -= 1
        room[0] -= n
        if n < 0 or 4 * n > end - at or room[0] < 0:
            raise bad_count("TopicPartitions.Partitions", n, end - at, room[0])
        partitions = read_numbers(data, at, n, "i")
        at += 4 * n
        if at >= end:
            raise cut_off("TopicPartitions", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "TopicPartitions")
        items.append(TopicPartitions(topic, partitions))
    return items, at


def _read_elect_leaders_request_2(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[ElectLeadersRequest], int]:
    items: list[ElectLeadersRequest] = []
    for _ in range(count):
        if end - at < 2:
            raise cut_off("ElectLeadersRequest", "ElectionType=1 TopicPartitions=1", end - at)
        election_type, n = _unpack_bB(data, at)
        at += 2
        if n > 127:
            n, at = long_varint(data, at, end, n, "ElectLeadersRequest.TopicPartitions")
        if n == 0:
            topic_partitions = None
        else:
            n -= 1
            room[0] -= n
            if n < 0 or 3 * n > end - at or room[0] < 0:
                raise bad_count("ElectLeadersRequest.TopicPartitions", n, end - at, room[0])
            topic_partitions, at = _read_topic_partitions_2(data, at, end, room, n)
        if end - at < 5:
            raise cut_off("ElectLeadersRequest", "TimeoutMs=4 tags=1", end - at)
        timeout_ms, tags = _unpack_iB(data, at)
        at += 5
        if tags:
            at = skip_tags(data, at, end, tags, "ElectLeadersRequest")
        items.append(ElectLeadersRequest(election_type, topic_partitions, timeout_ms))
    return items, at


def _write_topic_partitions_0(items: Iterable[TopicPartitions], out: list[Buffer]) -> None:
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
            out.append(packer(len(partitions), "i")(*partitions))


def _write_elect_leaders_request_0(items: Iterable[ElectLeadersRequest], out: list[Buffer]) -> None:
    for m in items:
        topic_partitions = m.topic_partitions
        if topic_partitions is None:
            n = -1
        else:
            n = len(topic_partitions)
        out.append(_pack_i(n))
        if topic_partitions:
            _write_topic_partitions_0(topic_partitions, out)
        out.append(_pack_i(m.timeout_ms))


def _write_elect_leaders_request_1(items: Iterable[ElectLeadersRequest], out: list[Buffer]) -> None:
    for m in items:
        topic_partitions = m.topic_partitions
        if topic_partitions is None:
            n = -1
        else:
            n = len(topic_partitions)
        out.append(_pack_bi(m.election_type, n))
        if topic_partitions:
            _write_topic_partitions_0(topic_partitions, out)
        out.append(_pack_i(m.timeout_ms))


def _write_topic_partitions_2(items: Iterable[TopicPartitions], out: list[Buffer]) -> None:
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
            out.append(packer(len(partitions), "i")(*partitions))
        out.append(ONE_BYTE[0])


def _write_elect_leaders_request_2(items: Iterable[ElectLeadersRequest], out: list[Buffer]) -> None:
    for m in items:
        topic_partitions = m.topic_partitions
        if topic_partitions is None:
            n = 0
        else:
            n = len(topic_partitions) + 1
        if n > 127:
            out.append(_pack_b(m.election_type) + varint_of(n))
        else:
            out.append(_pack_bB(m.election_type, n))
        if topic_partitions:
            _write_topic_partitions_2(topic_partitions, out)
        out.append(_pack_ix(m.timeout_ms))


ElectLeadersRequest._READERS = {
    **dict.fromkeys(range(0, 1), _read_elect_leaders_request_0),
    **dict.fromkeys(range(1, 2), _read_elect_leaders_request_1),
    **dict.fromkeys(range(2, 3), _read_elect_leaders_request_2),
}
ElectLeadersRequest._WRITERS = {
    **dict.fromkeys(range(0, 1), _write_elect_leaders_request_0),
    **dict.fromkeys(range(1, 2), _write_elect_leaders_request_1),
    **dict.fromkeys(range(2, 3), _write_elect_leaders_request_2),
}
