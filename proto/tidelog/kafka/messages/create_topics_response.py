"""CreateTopicsResponse of Kafka's protocol.

Generated from proto/kafka/create_topics.schema; do not edit.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import ClassVar

import msgspec

from tidelog.kafka.message import Message
from tidelog.kafka.wire import NO_UUID, ONE_BYTE, Buffer, bad_count, bad_length, bad_tag, cut_off, long_text, long_varint, not_utf8, skip_tags, tag_count, tag_head, text_length_of, varint_of, write_tags


class CreateTopicsResponse(Message, gc=False):
    """Response of API 19, versions 2-7."""

    API_KEY: ClassVar[int] = 19
    VERSIONS: ClassVar[range] = range(2, 8)
    FLEXIBLE: ClassVar[range] = range(5, 8)

    throttle_time_ms: int = 0
    topics: list[CreatableTopicResult] = []


class CreatableTopicResult(msgspec.Struct, gc=False):
    name: str = ""
    topic_id: bytes = NO_UUID
    error_code: int = 0
    error_message: str | None = ""
    topic_config_error_code: int = 0
    num_partitions: int = -1
    replication_factor: int = -1
    configs: list[CreatableTopicConfigs] | None = []


class CreatableTopicConfigs(msgspec.Struct, gc=False):
    name: str = ""
    value: str | None = ""
    read_only: bool = False
    config_source: int = -1
    is_sensitive: bool = False


_unpack_16shB = Struct(">16shB").unpack_from
_unpack_tbtB = Struct(">?b?B").unpack_from
_unpack_h = Struct(">h").unpack_from
_unpack_hB = Struct(">hB").unpack_from
_unpack_hh = Struct(">hh").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_unpack_ihB = Struct(">ihB").unpack_from
_unpack_ii = Struct(">ii").unpack_from
_pack_16sh = Struct(">16sh").pack
_pack_16shB = Struct(">16shB").pack
_pack_tbtx = Struct(">?b?x").pack
_pack_h = Struct(">h").pack
_pack_hB = Struct(">hB").pack
_pack_hh = Struct(">hh").pack
_pack_i = Struct(">i").pack
_pack_iB = Struct(">iB").pack
_pack_ih = Struct(">ih").pack
_pack_ihB = Struct(">ihB").pack
_pack_ii = Struct(">ii").pack


def _read_creatable_topic_result_2(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[CreatableTopicResult], int]:
    items: list[CreatableTopicResult] = []
    for _ in range(count):
        if end - at < 2:
            raise cut_off("CreatableTopicResult", "Name=2", end - at)
        n = _unpack_h(data, at)[0]
        at += 2
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("CreatableTopicResult.Name", n, end - at)
        try:
            name = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("CreatableTopicResult.Name") from None
        at = stop
        if end - at < 4:
            raise cut_off("CreatableTopicResult", "ErrorCode=2 ErrorMessage=2", end - at)
        error_code, n = _unpack_hh(data, at)
        at += 4
        if n == -1:
            error_message = None
        else:
            stop = at + n
            if n < 0 or stop > end:
                raise bad_length("CreatableTopicResult.ErrorMessage", n, end - at)
            try:
                error_message = data[at:stop].decode()
            except UnicodeDecodeError:
                raise not_utf8("CreatableTopicResult.ErrorMessage") from None
            at = stop
        items.append(CreatableTopicResult(name, NO_UUID, error_code, error_message))
    return items, at


def _read_create_topics_response_2(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[CreateTopicsResponse], int]:
    items: list[CreateTopicsResponse] = []
    for _ in range(count):
        if end - at < 8:
            raise cut_off("CreateTopicsResponse", "ThrottleTimeMs=4 Topics=4", end - at)
        throttle_time_ms, n = _unpack_ii(data, at)
        at += 8
        room[0] -= n
        if n < 0 or 6 * n > end - at or room[0] < 0:
            raise bad_count("CreateTopicsResponse.Topics", n, end - at, room[0])
        topics, at = _read_creatable_topic_result_2(data, at, end, room, n)
        items.append(CreateTopicsResponse(throttle_time_ms, topics))
    return items, at


def _read_creatable_topic_configs_5(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[CreatableTopicConfigs], int]:
    items: list[CreatableTopicConfigs] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("CreatableTopicConfigs", "Name=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "CreatableTopicConfigs.Name")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("CreatableTopicConfigs.Name", n - 1, end - at)
        try:
            name = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("CreatableTopicConfigs.Name") from None
        at = stop
        if at >= end:
            raise cut_off("CreatableTopicConfigs", "Value=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "CreatableTopicConfigs.Value")
        if n == 0:
            value = None
        else:
            stop = at + n - 1
            if n < 1 or stop > end:
                raise bad_length("CreatableTopicConfigs.Value", n - 1, end - at)
            try:
                value = data[at:stop].decode()
            except UnicodeDecodeError:
                raise not_utf8("CreatableTopicConfigs.Value") from None
            at = stop
        if end - at < 4:
            raise cut_off("CreatableTopicConfigs", "ReadOnly=1 ConfigSource=1 IsSensitive=1 tags=1", end - at)
        read_only, config_source, is_sensitive, tags = _unpack_tbtB(data, at)
        at += 4
        if tags:
            at = skip_tags(data, at, end, tags, "CreatableTopicConfigs")
        items.append(CreatableTopicConfigs(name, value, read_only, config_source, is_sensitive))
    return items, at


def _read_creatable_topic_result_5(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[CreatableTopicResult], int]:
    items: list[CreatableTopicResult] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("CreatableTopicResult", "Name=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "CreatableTopicResult.Name")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("CreatableTopicResult.Name", n - 1, end - at)
        try:
            name = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("CreatableTopicResult.Name") from None
        at = stop
        if end - at < 3:
            raise cut_off("CreatableTopicResult", "ErrorCode=2 ErrorMessage=1", end - at)
        error_code, n = _unpack_hB(data, at)
        at += 3
        if n > 127:
            n, at = long_text(data, at, end, n, "CreatableTopicResult.ErrorMessage")
        if n == 0:
            error_message = None
        else:
            stop = at + n - 1
            if n < 1 or stop > end:
                raise bad_length("CreatableTopicResult.ErrorMessage", n - 1, end - at)
            try:
                error_message = data[at:stop].decode()
            except UnicodeDecodeError:
                raise not_utf8("CreatableTopicResult.ErrorMessage") from None
            at = stop
        if end - at < 7:
            raise cut_off("CreatableTopicResult", "NumPartitions=4 ReplicationFactor=2 Configs=1", end - at)
        num_partitions, replication_factor, n = _unpack_ihB(data, at)
        at += 7
        if n > 127:
            n, at = long_varint(data, at, end, n, "CreatableTopicResult.Configs")
        if n == 0:
            configs = None
        else:
            n -= 1
            room[0] -= n
            if n < 0 or 6 * n > end - at or room[0] < 0:
                raise bad_count("CreatableTopicResult.Configs", n, end - at, room[0])
            configs, at = _read_creatable_topic_configs_5(data, at, end, room, n)
        if at >= end:
            raise cut_off("CreatableTopicResult", "tags=1", end - at)
        tags = data[at]
        at += 1
        topic_config_error_code: int = 0
        if tags:
            tags, at = tag_count(data, at, end, tags, "CreatableTopicResult")
            for _ in range(tags):
                tag, size, at = tag_head(data, at, end, "CreatableTopicResult")
                tag_end = at + size
                if tag == 0:
                    if tag_end - at < 2:
                        raise cut_off("CreatableTopicResult", "TopicConfigErrorCode=2", tag_end - at)
                    topic_config_error_code = _unpack_h(data, at)[0]
                    at += 2
                    if at != tag_end:
                        raise bad_tag("CreatableTopicResult.TopicConfigErrorCode")
                else:
                    at = tag_end
        items.append(CreatableTopicResult(name, NO_UUID, error_code, error_message, topic_config_error_code, num_partitions, replication_factor, configs))
    return items, at


def _read_create_topics_response_5(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[CreateTopicsResponse], int]:
    items: list[CreateTopicsResponse] = []
    for _ in range(count):
        if end - at < 5:
            raise cut_off("CreateTopicsResponse", "ThrottleTimeMs=4 Topics=1", end - at)
        throttle_time_ms, n = _unpack_iB(data, at)
        at += 5
        if n > 127:
            n, at = long_varint(data, at, end, n, "CreateTopicsResponse.Topics")
        n -= 1
        room[0] -= n
        if n < 0 or 12 * n > end - at or room[0] < 0:
            raise bad_count("CreateTopicsResponse.Topics", n, end - at, room[0])
        topics, at = _read_creatable_topic_result_5(data, at, end, room, n)
        if at >= end:
            raise cut_off("CreateTopicsResponse", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "CreateTopicsResponse")
        items.append(CreateTopicsResponse(throttle_time_ms, topics))
    return items, at


def _read_creatable_topic_result_7(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[CreatableTopicResult], int]:
    items: list[CreatableTopicResult] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("CreatableTopicResult", "Name=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "CreatableTopicResult.Name")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("CreatableTopicResult.Name", n - 1, end - at)
        try:
            name = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("CreatableTopicResult.Name") from None
        at = stop
        if end - at < 19:
            raise cut_off("CreatableTopicResult", "TopicId=16 ErrorCode=2 ErrorMessage=1", end - at)
        topic_id, error_code, n = _unpack_16shB(data, at)
        at += 19
        if n > 127:
            n, at = long_text(data, at, end, n, "CreatableTopicResult.ErrorMessage")
        if n == 0:
            error_message = None
        else:
            stop = at + n - 1
            if n < 1 or stop > end:
                raise bad_length("CreatableTopicResult.ErrorMessage", n - 1, end - at)
            try:
                error_message = data[at:stop].decode()
            except UnicodeDecodeError:
                raise not_utf8("CreatableTopicResult.ErrorMessage") from None
            at = stop
        if end - at < 7:
            raise cut_off("CreatableTopicResult", "NumPartitions=4 ReplicationFactor=2 Configs=1", end - at)
        num_partitions, replication_factor, n = _unpack_ihB(data, at)
        at += 7
        if n > 127:
            n, at = long_varint(data, at, end, n, "CreatableTopicResult.Configs")
        if n == 0:
            configs = None
        else:
            n -= 1
            room[0] -= n
            if n < 0 or 6 * n > end - at or room[0] < 0:
                raise bad_count("CreatableTopicResult.Configs", n, end - at, room[0])
            configs, at = _read_creatable_topic_configs_5(data, at, end, room, n)
        if at >= end:
            raise cut_off("CreatableTopicResult", "tags=1", end - at)
        tags = data[at]
        at += 1
        topic_config_error_code: int = 0
        if tags:
            tags, at = tag_count(data, at, end, tags, "CreatableTopicResult")
            for _ in range(tags):
                tag, size, at = tag_head(data, at, end, "CreatableTopicResult")
                tag_end = at + size
                if tag == 0:
                    if tag_end - at < 2:
                        raise cut_off("CreatableTopicResult", "TopicConfigErrorCode=2", tag_end - at)
                    topic_config_error_code = _unpack_h(data, at)[0]
                    at += 2
                    if at != tag_end:
                        raise bad_tag("CreatableTopicResult.TopicConfigErrorCode")
                else:
                    at = tag_end
        items.append(CreatableTopicResult(name, topic_id, error_code, error_message, topic_config_error_code, num_partitions, replication_factor, configs))
    return items, at


def _read_create_topics_response_7(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[CreateTopicsResponse], int]:
    items: list[CreateTopicsResponse] = []
    for _ in range(count):
        if end - at < 5:
            raise cut_off("CreateTopicsResponse", "ThrottleTimeMs=4 Topics=1", end - at)
        throttle_time_ms, n = _unpack_iB(data, at)
        at += 5
        if n > 127:
            n, at = long_varint(data, at, end, n, "CreateTopicsResponse.Topics")
        n -= 1
        room[0] -= n
        if n < 0 or 28 * n > end - at or room[0] < 0:
            raise bad_count("CreateTopicsResponse.Topics", n, end - at, room[0])
        topics, at = _read_creatable_topic_result_7(data, at, end, room, n)
        if at >= end:
            raise cut_off("CreateTopicsResponse", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "CreateTopicsResponse")
        items.append(CreateTopicsResponse(throttle_time_ms, topics))
    return items, at


def _write_creatable_topic_result_2(items: Iterable[CreatableTopicResult], out: list[Buffer]) -> None:
    for m in items:
        name = m.name
        content = name.encode()
        n = len(content)
        out.append(_pack_h(n))
        out.append(content)
        error_message = m.error_message
        if error_message is None:
            content = b""
            n = -1
        else:
            content = error_message.encode()
            n = len(content)
        out.append(_pack_hh(m.error_code, n))
        out.append(content)


def _write_create_topics_response_2(items: Iterable[CreateTopicsResponse], out: list[Buffer]) -> None:
    for m in items:
        topics = m.topics
        n = len(topics)
        out.append(_pack_ii(m.throttle_time_ms, n))
        if topics:
            _write_creatable_topic_result_2(topics, out)


def _write_creatable_topic_configs_5(items: Iterable[CreatableTopicConfigs], out: list[Buffer]) -> None:
    for m in items:
        name = m.name
        content = name.encode()
        n = len(content) + 1
        if n > 127:
            out.append(text_length_of(n))
        else:
            out.append(ONE_BYTE[n])
        out.append(content)
        value = m.value
        if value is None:
            content = b""
            n = 0
        else:
            content = value.encode()
            n = len(content) + 1
        if n > 127:
            out.append(text_length_of(n))
        else:
            out.append(ONE_BYTE[n])
        out.append(content)
        out.append(_pack_tbtx(m.read_only, m.config_source, m.is_sensitive))


def _write_creatable_topic_result_5(items: Iterable[CreatableTopicResult], out: list[Buffer]) -> None:
    for m in items:
        name = m.name
        content = name.encode()
        n = len(content) + 1
        if n > 127:
            out.append(text_length_of(n))
        else:
            out.append(ONE_BYTE[n])
        out.append(content)
        error_message = m.error_message
        if error_message is None:
            content = b""
            n = 0
        else:
            content = error_message.encode()
            n = len(content) + 1
        if n > 127:
            out.append(_pack_h(m.error_code) + text_length_of(n))
        else:
            out.append(_pack_hB(m.error_code, n))
        out.append(content)
        configs = m.configs
        if configs is None:
            n = 0
        else:
            n = len(configs) + 1
        if n > 127:
            out.append(_pack_ih(m.num_partitions, m.replication_factor) + varint_of(n))
        else:
            out.append(_pack_ihB(m.num_partitions, m.replication_factor, n))
        if configs:
            _write_creatable_topic_configs_5(configs, out)
        if m.topic_config_error_code == 0:
            out.append(ONE_BYTE[0])
            continue
        tags: list[tuple[int, list[Buffer]]] = []
        part: list[Buffer] = []
        part.append(_pack_h(m.topic_config_error_code))
        tags.append((0, part))
        write_tags(tags, out)


def _write_create_topics_response_5(items: Iterable[CreateTopicsResponse], out: list[Buffer]) -> None:
    for m in items:
        topics = m.topics
        n = len(topics) + 1
        if n > 127:
            out.append(_pack_i(m.throttle_time_ms) + varint_of(n))
        else:
            out.append(_pack_iB(m.throttle_time_ms, n))
        if topics:
            _write_creatable_topic_result_5(topics, out)
        out.append(ONE_BYTE[0])


def _write_creatable_topic_result_7(items: Iterable[CreatableTopicResult], out: list[Buffer]) -> None:
    for m in items:
        name = m.name
        content = name.encode()
        n = len(content) + 1
        if n > 127:
            out.append(text_length_of(n))
        else:
            out.append(ONE_BYTE[n])
        out.append(content)
        error_message = m.error_message
        if error_message is None:
            content = b""
            n = 0
        else:
            content = error_message.encode()
            n = len(content) + 1
        if n > 127:
            out.append(_pack_16sh(m.topic_id, m.error_code) + text_length_of(n))
        else:
            out.append(_pack_16shB(m.topic_id, m.error_code, n))
        out.append(content)
        configs = m.configs
        if configs is None:
            n = 0
        else:
            n = len(configs) + 1
        if n > 127:
            out.append(_pack_ih(m.num_partitions, m.replication_factor) + varint_of(n))
        else:
            out.append(_pack_ihB(m.num_partitions, m.replication_factor, n))
        if configs:
            _write_creatable_topic_configs_5(configs, out)
        if m.topic_config_error_code == 0:
            out.append(ONE_BYTE[0])
            continue
        tags: list[tuple[int, list[Buffer]]] = []
        part: list[Buffer] = []
        part.append(_pack_h(m.topic_config_error_code))
        tags.append((0, part))
        write_tags(tags, out)


def _write_create_topics_response_7(items: Iterable[CreateTopicsResponse], out: list[Buffer]) -> None:
    for m in items:
        topics = m.topics
        n = len(topics) + 1
        if n > 127:
            out.append(_pack_i(m.throttle_time_ms) + varint_of(n))
        else:
            out.append(_pack_iB(m.throttle_time_ms, n))
        if topics:
            _write_creatable_topic_result_7(topics, out)
        out.append(ONE_BYTE[0])


CreateTopicsResponse._READERS = {
    **dict.fromkeys(range(2, 5), _read_create_topics_response_2),
    **dict.fromkeys(range(5, 7), _read_create_topics_response_5),
    **dict.fromkeys(range(7, 8), _read_create_topics_response_7),
}
CreateTopicsResponse._WRITERS = {
    **dict.fromkeys(range(2, 5), _write_create_topics_response_2),
    **dict.fromkeys(range(5, 7), _write_create_topics_response_5),
    **dict.fromkeys(range(7, 8), _write_create_topics_response_7),
}
