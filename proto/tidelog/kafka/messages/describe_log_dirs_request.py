"""DescribeLogDirsRequest of Kafka's protocol.

Generated from proto/kafka/describe_log_dirs.schema; do not edit.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import ClassVar

import msgspec

from tidelog.kafka.message import Message
from tidelog.kafka.wire import ONE_BYTE, Buffer, bad_count, bad_length, cut_off, long_text, long_varint, not_utf8, packer, read_numbers, skip_tags, text_length_of, varint_of


class DescribeLogDirsRequest(Message, gc=False):
    """Request of API 35, versions 1-5."""

    API_KEY: ClassVar[int] = 35
    VERSIONS: ClassVar[range] = range(1, 6)
    FLEXIBLE: ClassVar[range] = range(2, 6)

    topics: list[DescribableLogDirTopic] | None = []


class DescribableLogDirTopic(msgspec.Struct, gc=False):
    topic: str = ""
    partitions: list[int] = []


_unpack_h = Struct(">h").unpack_from
_unpack_i = Struct(">i").unpack_from
_pack_h = Struct(">h").pack
_pack_i = Struct(">i").pack


def _read_describable_log_dir_topic_1(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[DescribableLogDirTopic], int]:
    items: list[DescribableLogDirTopic] = []
    for _ in range(count):
        if end - at < 2:
            raise cut_off("DescribableLogDirTopic", "Topic=2", end - at)
        n = _unpack_h(data, at)[0]
        at += 2
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("DescribableLogDirTopic.Topic", n, end - at)
        try:
            topic = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("DescribableLogDirTopic.Topic") from None
        at = stop
        if end - at < 4:
            raise cut_off("DescribableLogDirTopic", "Partitions=4", end - at)
        n = _unpack_i(data, at)[0]
        at += 4
        room[0] -= n
        if n < 0 or 4 * n > end - at or room[0] < 0:
            raise bad_count("DescribableLogDirTopic.Partitions", n, end - at, room[0])
        partitions = read_numbers(data, at, n, "i")
        at += 4 * n
        items.append(DescribableLogDirTopic(topic, partitions))
    return items, at


def _read_describe_log_dirs_request_1(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[DescribeLogDirsRequest], int]:
    items: list[DescribeLogDirsRequest] = []
    for _ in range(count):
        if end - at < 4:
            raise cut_off("DescribeLogDirsRequest", "Topics=4", end - at)
        n = _unpack_i(data, at)[0]
        at += 4
        if n == -1:
            topics = None
        else:
            room[0] -= n
            if n < 0 or 6 * n > end - at or room[0] < 0:
                raise bad_count("DescribeLogDirsRequest.Topics", n, end - at, room[0])
            topics, at = _read_describable_log_dir_topic_1(data, at, end, room, n)
        items.append(DescribeLogDirsRequest(topics))
    return items, at


def _read_describable_log_dir_topic_2(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[DescribableLogDirTopic], int]:
    items: list[DescribableLogDirTopic] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("DescribableLogDirTopic", "Topic=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "DescribableLogDirTopic.Topic")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("DescribableLogDirTopic.Topic", n - 1, end - at)
        try:
            topic = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("DescribableLogDirTopic.Topic") from None
        at = stop
        if at >= end:
            raise cut_off("DescribableLogDirTopic", "Partitions=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "DescribableLogDirTopic.Partitions")
        n -= 1
        room[0] -= n
        if n < 0 or 4 * n > end - at or room[0] < 0:
            raise bad_count("DescribableLogDirTopic.Partitions", n, end - at, room[0])
        partitions = read_numbers(data, at, n, "i")
        at += 4 * n
        if at >= end:
            raise cut_off("DescribableLogDirTopic", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "DescribableLogDirTopic")
        items.append(DescribableLogDirTopic(topic, partitions))
    return items, at


def _read_describe_log_dirs_request_2(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[DescribeLogDirsRequest], int]:
    items: list[DescribeLogDirsRequest] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("DescribeLogDirsRequest", "Topics=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "DescribeLogDirsRequest.Topics")
        if n == 0:
            topics = None
        else:
            n -= 1
            room[0] -= n
            if n < 0 or 3 * n > end - at or room[0] < 0:
                raise bad_count("DescribeLogDirsRequest.Topics", n, end - at, room[0])
            topics, at = _read_describable_log_dir_topic_2(data, at, end, room, n)
        if at >= end:
            raise cut_off("DescribeLogDirsRequest", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "DescribeLogDirsRequest")
        items.append(DescribeLogDirsRequest(topics))
    return items, at


def _write_describable_log_dir_topic_1(items: Iterable[DescribableLogDirTopic], out: list[Buffer]) -> None:
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


def _write_describe_log_dirs_request_1(items: Iterable[DescribeLogDirsRequest], out: list[Buffer]) -> None:
    for m in items:
        topics = m.topics
        if topics is None:
            n = -1
        else:
            n = len(topics)
        out.append(_pack_i(n))
        if topics:
            _write_describable_log_dir_topic_1(topics, out)


def _write_describable_log_dir_topic_2(items: Iterable[DescribableLogDirTopic], out: list[Buffer]) -> None:
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


def _write_describe_log_dirs_request_2(items: Iterable[DescribeLogDirsRequest], out: list[Buffer]) -> None:
    for m in items:
        topics = m.topics
        if topics is None:
            n = 0
        else:
            n = len(topics) + 1
        if n > 127:
            out.append(varint_of(n))
        else:
            out.append(ONE_BYTE[n])
        if topics:
            _write_describable_log_dir_topic_2(topics, out)
        out.append(ONE_BYTE[0])


DescribeLogDirsRequest._READERS = {
    **dict.fromkeys(range(1, 2), _read_describe_log_dirs_request_1),
    **dict.fromkeys(range(2, 6), _read_describe_log_dirs_request_2),
}
DescribeLogDirsRequest._WRITERS = {
    **dict.fromkeys(range(1, 2), _write_describe_log_dirs_request_1),
    **dict.fromkeys(range(2, 6), _write_describe_log_dirs_request_2),
}
