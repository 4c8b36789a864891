"""DeleteTopicsRequest of Kafka's protocol.

Generated from proto/kafka/delete_topics.schema; do not edit.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import ClassVar

import msgspec

from tidelog.kafka.message import Message
from tidelog.kafka.wire import NO_UUID, ONE_BYTE, Buffer, bad_count, bad_length, cut_off, long_text, long_varint, not_utf8, read_compact_texts, read_texts, skip_tags, text_length_of, varint_of, write_compact_texts, write_texts


class DeleteTopicsRequest(Message, gc=False):
    """Request of API 20, versions 1-6."""

    API_KEY: ClassVar[int] = 20
    VERSIONS: ClassVar[range] = range(1, 7)
    FLEXIBLE: ClassVar[range] = range(4, 7)

    topics: list[DeleteTopicState] = []
    topic_names: list[str] = []
    timeout_ms: int = 0


class DeleteTopicState(msgspec.Struct, gc=False):
    name: str | None = None
    topic_id: bytes = NO_UUID


_unpack_16sB = Struct(">16sB").unpack_from
_unpack_i = Struct(">i").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_pack_16sx = Struct(">16sx").pack
_pack_i = Struct(">i").pack
_pack_ix = Struct(">ix").pack


def _read_delete_topics_request_1(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[DeleteTopicsRequest], int]:
    items: list[DeleteTopicsRequest] = []
    for _ in range(count):
        if end - at < 4:
            raise cut_off("DeleteTopicsRequest", "TopicNames=4", end - at)
        n = _unpack_i(data, at)[0]
        at += 4
        room[0] -= n
        if n < 0 or 2 * n > end - at or room[0] < 0:
            raise bad_count("DeleteTopicsRequest.TopicNames", n, end - at, room[0])
        topic_names, at = read_texts(data, at, end, n, "DeleteTopicsRequest.TopicNames")
        if end - at < 4:
            raise cut_off("DeleteTopicsRequest", "TimeoutMs=4", end - at)
        timeout_ms = _unpack_i(data, at)[0]
        at += 4
        items.append(DeleteTopicsRequest([], topic_names, timeout_ms))
    return items, at


def _read_delete_topics_request_4(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[DeleteTopicsRequest], int]:
    items: list[DeleteTopicsRequest] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("DeleteTopicsRequest", "TopicNames=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "DeleteTopicsRequest.TopicNames")
        n -= 1
        room[0] -= n
        if n < 0 or n > end - at or room[0] < 0:
            raise bad_count("DeleteTopicsRequest.TopicNames", n, end - at, room[0])
        topic_names, at = read_compact_texts(data, at, end, n, "DeleteTopicsRequest.TopicNames")
        if end - at < 5:
            raise cut_off("DeleteTopicsRequest", "TimeoutMs=4 tags=1", end - at)
        timeout_ms, tags = _unpack_iB(data, at)
        at += 5
        if tags:
            at = skip_tags(data, at, end, tags, "DeleteTopicsRequest")
        items.append(DeleteTopicsRequest([], topic_names, timeout_ms))
    return items, at


def _read_delete_topic_state_6(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[DeleteTopicState], int]:
    items: list[DeleteTopicState] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("DeleteTopicState", "Name=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "DeleteTopicState.Name")
        if n == 0:
            name = None
        else:
            stop = at + n - 1
            if n < 1 or stop > end:
                raise bad_length("DeleteTopicState.Name", n - 1, end - at)
            try:
                name = data[at:stop].decode()
            except UnicodeDecodeError:
                raise not_utf8("DeleteTopicState.Name") from None
            at = stop
        if end - at < 17:
            raise cut_off("DeleteTopicState", "TopicId=16 tags=1", end - at)
        topic_id, tags = _unpack_16sB(data, at)
        at += 17
        if tags:
            at = skip_tags(data, at, end, tags, "DeleteTopicState")
        items.append(DeleteTopicState(name, topic_id))
    return items, at


def _read_delete_topics_request_6(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[DeleteTopicsRequest], int]:
    items: list[DeleteTopicsRequest] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("DeleteTopicsRequest", "Topics=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "DeleteTopicsRequest.Topics")
        n -= 1
        room[0] -= n
        if n < 0 or 18 * n > end - at or room[0] < 0:
            raise bad_count("DeleteTopicsRequest.Topics", n, end - at, room[0])
        topics, at = _read_delete_topic_state_6(data, at, end, room, n)
        if end - at < 5:
            raise cut_off("DeleteTopicsRequest", "TimeoutMs=4 tags=1", end - at)
        timeout_ms, tags = _unpack_iB(data, at)
        at += 5
        if tags:
            at = skip_tags(data, at, end, tags, "DeleteTopicsRequest")
        items.append(DeleteTopicsRequest(topics, [], timeout_ms))
    return items, at


def _write_delete_topics_request_1(items: Iterable[DeleteTopicsRequest], out: list[Buffer]) -> None:
    for m in items:
        topic_names = m.topic_names
        n = len(topic_names)
        out.append(_pack_i(n))
        if topic_names:
            write_texts(topic_names, out)
        out.append(_pack_i(m.timeout_ms))


def _write_delete_topics_request_4(items: Iterable[DeleteTopicsRequest], out: list[Buffer]) -> None:
    for m in items:
        topic_names = m.topic_names
        n = len(topic_names) + 1
        if n > 127:
            out.append(varint_of(n))
        else:
            out.append(ONE_BYTE[n])
        if topic_names:
            write_compact_texts(topic_names, out)
        out.append(_pack_ix(m.timeout_ms))


def _write_delete_topic_state_6(items: Iterable[DeleteTopicState], out: list[Buffer]) -> None:
    for m in items:
        name = m.name
        if name is None:
            content = b""
            n = 0
        else:
            content = name.encode()
            n = len(content) + 1
        if n > 127:
            out.append(text_length_of(n))
        else:
            out.append(ONE_BYTE[n])
        out.append(content)
        out.append(_pack_16sx(m.topic_id))


def _write_delete_topics_request_6(items: Iterable[DeleteTopicsRequest], out: list[Buffer]) -> None:
    for m in items:
        topics = m.topics
        n = len(topics) + 1
        if n > 127:
            out.append(varint_of(n))
        else:
            out.append(ONE_BYTE[n])
        if topics:
            _write_delete_topic_state_6(topics, out)
        out.append(_pack_ix(m.timeout_ms))


DeleteTopicsRequest._READERS = {
    **dict.fromkeys(range(1, 4), _read_delete_topics_request_1),
    **dict.fromkeys(range(4, 6), _read_delete_topics_request_4),
    **dict.fromkeys(range(6, 7), _read_delete_topics_request_6),
}
DeleteTopicsRequest._WRITERS = {
    **dict.fromkeys(range(1, 4), _write_delete_topics_request_1),
    **dict.fromkeys(range(4, 6), _write_delete_topics_request_4),
    **dict.fromkeys(range(6, 7), _write_delete_topics_request_6),
}
