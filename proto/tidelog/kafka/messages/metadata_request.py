"""MetadataRequest of Kafka's protocol.

Generated from proto/kafka/metadata.schema; do not edit.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import ClassVar

import msgspec

from tidelog.kafka.message import Message
from tidelog.kafka.wire import NO_UUID, ONE_BYTE, Buffer, bad_count, bad_length, cut_off, long_text, long_varint, not_utf8, null_field, skip_tags, text_length_of, varint_of


class MetadataRequest(Message, gc=False):
    """Request of API 3, versions 0-13."""

    API_KEY: ClassVar[int] = 3
    VERSIONS: ClassVar[range] = range(0, 14)
    FLEXIBLE: ClassVar[range] = range(9, 14)

    topics: list[MetadataRequestTopic] | None = []
    allow_auto_topic_creation: bool = True
    include_cluster_authorized_operations: bool = False
    include_topic_authorized_operations: bool = False


class MetadataRequestTopic(msgspec.Struct, gc=False):
    topic_id: bytes = NO_UUID
    name: str | None = ""


_unpack_16sB = Struct(">16sB").unpack_from
_unpack_t = Struct(">?").unpack_from
_unpack_ttt = Struct(">???").unpack_from
_unpack_tttB = Struct(">???B").unpack_from
_unpack_ttB = Struct(">??B").unpack_from
_unpack_h = Struct(">h").unpack_from
_unpack_i = Struct(">i").unpack_from
_pack_16s = Struct(">16s").pack
_pack_16sB = Struct(">16sB").pack
_pack_t = Struct(">?").pack
_pack_ttt = Struct(">???").pack
_pack_tttx = Struct(">???x").pack
_pack_ttx = Struct(">??x").pack
_pack_h = Struct(">h").pack
_pack_i = Struct(">i").pack


def _read_metadata_request_topic_0(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[MetadataRequestTopic], int]:
    items: list[MetadataRequestTopic] = []
    for _ in range(count):
        if end - at < 2:
            raise cut_off("MetadataRequestTopic", "Name=2", end - at)
        n = _unpack_h(data, at)[0]
        at += 2
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("MetadataRequestTopic.Name", n, end - at)
        try:
            name = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("MetadataRequestTopic.Name") from None
        at = stop
        items.append(MetadataRequestTopic(NO_UUID, name))
    return items, at


def _read_metadata_request_0(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[MetadataRequest], int]:
    items: list[MetadataRequest] = []
    for _ in range(count):
        if end - at < 4:
            raise cut_off("MetadataRequest", "Topics=4", end - at)
        n = _unpack_i(data, at)[0]
        at += 4
        room[0] -= n
        if n < 0 or 2 * n > end - at or room[0] < 0:
            raise bad_count("MetadataRequest.Topics", n, end - at, room[0])
        topics, at = _read_metadata_request_topic_0(data, at, end, room, n)
        items.append(MetadataRequest(topics))
    return items, at


def _read_metadata_request_1(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[MetadataRequest], int]:
    items: list[MetadataRequest] = []
    for _ in range(count):
        if end - at < 4:
            raise cut_off("MetadataRequest", "Topics=4", end - at)
        n = _unpack_i(data, at)[0]
        at += 4
        if n == -1:
            topics = None
        else:
            room[0] -= n
            if n < 0 or 2 * n > end - at or room[0] < 0:
                raise bad_count("MetadataRequest.Topics", n, end - at, room[0])
            topics, at = _read_metadata_request_topic_0(data, at, end, room, n)
        items.append(MetadataRequest(topics))
    return items, at


def _read_metadata_request_4(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[MetadataRequest], int]:
    items: list[MetadataRequest] = []
    for _ in range(count):
        if end - at < 4:
            raise cut_off("MetadataRequest", "Topics=4", end - at)
        n = _unpack_i(data, at)[0]
        at += 4
        if n == -1:
            topics = None
        else:
            room[0] -= n
            if n < 0 or 2 * n > end - at or room[0] < 0:
                raise bad_count("MetadataRequest.Topics", n, end - at, room[0])
            topics, at = _read_metadata_request_topic_0(data, at, end, room, n)
        if at >= end:
            raise cut_off("MetadataRequest", "AllowAutoTopicCreation=1", end - at)
        allow_auto_topic_creation = _unpack_t(data, at)[0]
        at += 1
        items.append(MetadataRequest(topics, allow_auto_topic_creation))
    return items, at


def _read_metadata_request_8(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[MetadataRequest], int]:
    items: list[MetadataRequest] = []
    for _ in range(count):
        if end - at < 4:
            raise cut_off("MetadataRequest", "Topics=4", end - at)
        n = _unpack_i(data, at)[0]
        at += 4
        if n == -1:
            topics = None
        else:
            room[0] -= n
            if n < 0 or 2 * n > end - at or room[0] < 0:
                raise bad_count("MetadataRequest.Topics", n, end - at, room[0])
            topics, at = _read_metadata_request_topic_0(data, at, end, room, n)
        if end - at < 3:
            raise cut_off("MetadataRequest", "AllowAutoTopicCreation=1 IncludeClusterAuthorizedOperations=1 IncludeTopicAuthorizedOperations=1", end - at)
        allow_auto_topic_creation, include_cluster_authorized_operations, include_topic_authorized_operations = _unpack_ttt(data, at)
        at += 3
        items.append(MetadataRequest(topics, allow_auto_topic_creation, include_cluster_authorized_operations, include_topic_authorized_operations))
    return items, at


def _read_metadata_request_topic_9(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[MetadataRequestTopic], int]:
    items: list[MetadataRequestTopic] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("MetadataRequestTopic", "Name=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "MetadataRequestTopic.Name")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("MetadataRequestTopic.Name", n - 1, end - at)
        try:
            name = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("MetadataRequestTopic.Name") from None
        at = stop
        if at >= end:
            raise cut_off("MetadataRequestTopic", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "MetadataRequestTopic")
        items.append(MetadataRequestTopic(NO_UUID, name))
    return items, at


def _read_metadata_request_9(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[MetadataRequest], int]:
    items: list[MetadataRequest] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("MetadataRequest", "Topics=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "MetadataRequest.Topics")
        if n == 0:
            topics = None
        else:
            n -= 1
            room[0] -= n
            if n < 0 or 2 * n > end - at or room[0] < 0:
                raise bad_count("MetadataRequest.Topics", n, end - at, room[0])
            topics, at = _read_metadata_request_topic_9(data, at, end, room, n)
        if end - at < 4:
            raise cut_off("MetadataRequest", "AllowAutoTopicCreation=1 IncludeClusterAuthorizedOperations=1 IncludeTopicAuthorizedOperations=1 tags=1", end - at)
        allow_auto_topic_creation, include_cluster_authorized_operations, include_topic_authorized_operations, tags = _unpack_tttB(data, at)
        at += 4
        if tags:
            at = skip_tags(data, at, end, tags, "MetadataRequest")
        items.append(MetadataRequest(topics, allow_auto_topic_creation, include_cluster_authorized_operations, include_topic_authorized_operations))
    return items, at


def _read_metadata_request_topic_10(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[MetadataRequestTopic], int]:
    items: list[MetadataRequestTopic] = []
    for _ in range(count):
        if end - at < 17:
            raise cut_off("MetadataRequestTopic", "TopicId=16 Name=1", end - at)
        topic_id, n = _unpack_16sB(data, at)
        at += 17
        if n > 127:
            n, at = long_text(data, at, end, n, "MetadataRequestTopic.Name")
        if n == 0:
            name = None
        else:
            stop = at + n - 1
            if n < 1 or stop > end:
                raise bad_length("MetadataRequestTopic.Name", n - 1, end - at)
            try:
                name = data[at:stop].decode()
            except UnicodeDecodeError:
                raise not_utf8("MetadataRequestTopic.Name") from None
            at = stop
        if at >= end:
            raise cut_off("MetadataRequestTopic", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "MetadataRequestTopic")
        items.append(MetadataRequestTopic(topic_id, name))
    return items, at


def _read_metadata_request_10(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[MetadataRequest], int]:
    items: list[MetadataRequest] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("MetadataRequest", "Topics=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "MetadataRequest.Topics")
        if n == 0:
            topics = None
        else:
            n -= 1
            room[0] -= n
            if n < 0 or 18 * n > end - at or room[0] < 0:
                raise bad_count("MetadataRequest.Topics", n, end - at, room[0])
            topics, at = _read_metadata_request_topic_10(data, at, end, room, n)
        if end - at < 4:
            raise cut_off("MetadataRequest", "AllowAutoTopicCreation=1 IncludeClusterAuthorizedOperations=1 IncludeTopicAuthorizedOperations=1 tags=1", end - at)
        allow_auto_topic_creation, include_cluster_authorized_operations, include_topic_authorized_operations, tags = _unpack_tttB(data, at)
        at += 4
        if tags:
            at = skip_tags(data, at, end, tags, "MetadataRequest")
        items.append(MetadataRequest(topics, allow_auto_topic_creation, include_cluster_authorized_operations, include_topic_authorized_operations))
    return items, at


def _read_metadata_request_11(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[MetadataRequest], int]:
    items: list[MetadataRequest] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("MetadataRequest", "Topics=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "MetadataRequest.Topics")
        if n == 0:
            topics = None
        else:
            n -= 1
            room[0] -= n
            if n < 0 or 18 * n > end - at or room[0] < 0:
                raise bad_count("MetadataRequest.Topics", n, end - at, room[0])
            topics, at = _read_metadata_request_topic_10(data, at, end, room, n)
        if end - at < 3:
            raise cut_off("MetadataRequest", "AllowAutoTopicCreation=1 IncludeTopicAuthorizedOperations=1 tags=1", end - at)
        allow_auto_topic_creation, include_topic_authorized_operations, tags = _unpack_ttB(data, at)
        at += 3
        if tags:
            at = skip_tags(data, at, end, tags, "MetadataRequest")
        items.append(MetadataRequest(topics, allow_auto_topic_creation, False, include_topic_authorized_operations))
    return items, at


def _write_metadata_request_topic_0(items: Iterable[MetadataRequestTopic], out: list[Buffer]) -> None:
    for m in items:
        name = m.name
        if name is None:
            raise null_field("MetadataRequestTopic.Name")
        content = name.encode()
        n = len(content)
        out.append(_pack_h(n))
        out.append(content)


def _write_metadata_request_0(items: Iterable[MetadataRequest], out: list[Buffer]) -> None:
    for m in items:
        topics = m.topics
        if topics is None:
            raise null_field("MetadataRequest.Topics")
        n = len(topics)
        out.append(_pack_i(n))
        if topics:
            _write_metadata_request_topic_0(topics, out)


def _write_metadata_request_1(items: Iterable[MetadataRequest], out: list[Buffer]) -> None:
    for m in items:
        topics = m.topics
        if topics is None:
            n = -1
        else:
            n = len(topics)
        out.append(_pack_i(n))
        if topics:
            _write_metadata_request_topic_0(topics, out)


def _write_metadata_request_4(items: Iterable[MetadataRequest], out: list[Buffer]) -> None:
    for m in items:
        topics = m.topics
        if topics is None:
            n = -1
        else:
            n = len(topics)
        out.append(_pack_i(n))
        if topics:
            _write_metadata_request_topic_0(topics, out)
        out.append(_pack_t(m.allow_auto_topic_creation))


def _write_metadata_request_8(items: Iterable[MetadataRequest], out: list[Buffer]) -> None:
    for m in items:
        topics = m.topics
        if topics is None:
            n = -1
        else:
            n = len(topics)
        out.append(_pack_i(n))
        if topics:
            _write_metadata_request_topic_0(topics, out)
        out.append(_pack_ttt(m.allow_auto_topic_creation, m.include_cluster_authorized_operations, m.include_topic_authorized_operations))


def _write_metadata_request_topic_9(items: Iterable[MetadataRequestTopic], out: list[Buffer]) -> None:
    for m in items:
        name = m.name
        if name is None:
            raise null_field("MetadataRequestTopic.Name")
        content = name.encode()
        n = len(content) + 1
        if n > 127:
            out.append(text_length_of(n))
        else:
            out.append(ONE_BYTE[n])
        out.append(content)
        out.append(ONE_BYTE[0])


def _write_metadata_request_9(items: Iterable[MetadataRequest], out: list[Buffer]) -> None:
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
            _write_metadata_request_topic_9(topics, out)
        out.append(_pack_tttx(m.allow_auto_topic_creation, m.include_cluster_authorized_operations, m.include_topic_authorized_operations))


def _write_metadata_request_topic_10(items: Iterable[MetadataRequestTopic], out: list[Buffer]) -> None:
    for m in items:
        name = m.name
        if name is None:
            content = b""
            n = 0
        else:
            content = name.encode()
            n = len(content) + 1
        if n > 127:
            out.append(_pack_16s(m.topic_id) + text_length_of(n))
        else:
            out.append(_pack_16sB(m.topic_id, n))
        out.append(content)
        out.append(ONE_BYTE[0])


def _write_metadata_request_10(items: Iterable[MetadataRequest], out: list[Buffer]) -> None:
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
            _write_metadata_request_topic_10(topics, out)
        out.append(_pack_tttx(m.allow_auto_topic_creation, m.include_cluster_authorized_operations, m.include_topic_authorized_operations))


def _write_metadata_request_11(items: Iterable[MetadataRequest], out: list[Buffer]) -> None:
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
            _write_metadata_request_topic_10(topics, out)
        out.append(_pack_ttx(m.allow_auto_topic_creation, m.include_topic_authorized_operations))


MetadataRequest._READERS = {
    **dict.fromkeys(range(0, 1), _read_metadata_request_0),
    **dict.fromkeys(range(1, 4), _read_metadata_request_1),
    **dict.fromkeys(range(4, 8), _read_metadata_request_4),
    **dict.fromkeys(range(8, 9), _read_metadata_request_8),
    **dict.fromkeys(range(9, 10), _read_metadata_request_9),
    **dict.fromkeys(range(10, 11), _read_metadata_request_10),
    **dict.fromkeys(range(11, 14), _read_metadata_request_11),
}
MetadataRequest._WRITERS = {
    **dict.fromkeys(range(0, 1), _write_metadata_request_0),
    **dict.fromkeys(range(1, 4), _write_metadata_request_1),
    **dict.fromkeys(range(4, 8), _write_metadata_request_4),
    **dict.fromkeys(range(8, 9), _write_metadata_request_8),
    **dict.fromkeys(range(9, 10), _write_metadata_request_9),
    **dict.fromkeys(range(10, 11), _write_metadata_request_10),
    **dict.fromkeys(range(11, 14), _write_metadata_request_11),
}
