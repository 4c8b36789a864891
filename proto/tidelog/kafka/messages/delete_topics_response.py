"""DeleteTopicsResponse of Kafka's protocol.

Generated from proto/kafka/delete_topics.schema; do not edit.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import ClassVar

import msgspec

from tidelog.kafka.message import Message
from tidelog.kafka.wire import NO_UUID, ONE_BYTE, Buffer, bad_count, bad_length, cut_off, long_text, long_varint, not_utf8, null_field, skip_tags, text_length_of, varint_of


class DeleteTopicsResponse(Message, gc=False):
    """Response of API 20, versions 1-6."""

    API_KEY: ClassVar[int] = 20
    VERSIONS: ClassVar[range] = range(1, 7)
    FLEXIBLE: ClassVar[range] = range(4, 7)

    throttle_time_ms: int = 0
    responses: list[DeletableTopicResult] = []


class DeletableTopicResult(msgspec.Struct, gc=False):
    name: str | None = ""
    topic_id: bytes = NO_UUID
    error_code: int = 0
    error_message: str | None = None


_unpack_16shB = Struct(">16shB").unpack_from
_unpack_h = Struct(">h").unpack_from
_unpack_hB = Struct(">hB").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_unpack_ii = Struct(">ii").unpack_from
_pack_16sh = Struct(">16sh").pack
_pack_16shB = Struct(">16shB").pack
_pack_h = Struct(">h").pack
_pack_hB = Struct(">hB").pack
_pack_hx = Struct(">hx").pack
_pack_i = Struct(">i").pack
_pack_iB = Struct(">iB").pack
_pack_ii = Struct(">ii").pack


def _read_deletable_topic_result_1(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[DeletableTopicResult], int]:
    items: list[DeletableTopicResult] = []
    for _ in range(count):
        if end - at < 2:
            raise cut_off("DeletableTopicResult", "Name=2", end - at)
        n = _unpack_h(data, at)[0]
        at += 2
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("DeletableTopicResult.Name", n, end - at)
        try:
            name = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("DeletableTopicResult.Name") from None
        at = stop
        if end - at < 2:
            raise cut_off("DeletableTopicResult", "ErrorCode=2", end - at)
        error_code = _unpack_h(data, at)[0]
        at += 2
        items.append(DeletableTopicResult(name, NO_UUID, error_code))
    return items, at


def _read_delete_topics_response_1(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[DeleteTopicsResponse], int]:
    items: list[DeleteTopicsResponse] = []
    for _ in range(count):
        if end - at < 8:
            raise cut_off("DeleteTopicsResponse", "ThrottleTimeMs=4 Responses=4", end - at)
        throttle_time_ms, n = _unpack_ii(data, at)
        at += 8
        room[0] -= n
        if n < 0 or 4 * n > end - at or room[0] < 0:
            raise bad_count("DeleteTopicsResponse.Responses", n, end - at, room[0])
        responses, at = _read_deletable_topic_result_1(data, at, end, room, n)
        items.append(DeleteTopicsResponse(throttle_time_ms, responses))
    return items, at


def _read_deletable_topic_result_4(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[DeletableTopicResult], int]:
    items: list[DeletableTopicResult] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("DeletableTopicResult", "Name=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "DeletableTopicResult.Name")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("DeletableTopicResult.Name", n - 1, end - at)
        try:
            name = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("DeletableTopicResult.Name") from None
        at = stop
        if end - at < 3:
            raise cut_off("DeletableTopicResult", "ErrorCode=2 tags=1", end - at)
        error_code, tags = _unpack_hB(data, at)
        at += 3
        if tags:
            at = skip_tags(data, at, end, tags, "DeletableTopicResult")
        items.append(DeletableTopicResult(name, NO_UUID, error_code))
    return items, at


def _read_delete_topics_response_4(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[DeleteTopicsResponse], int]:
    items: list[DeleteTopicsResponse] = []
    for _ in range(count):
        if end - at < 5:
            raise cut_off("DeleteTopicsResponse", "ThrottleTimeMs=4 Responses=1", end - at)
        throttle_time_ms, n = _unpack_iB(data, at)
        at += 5
        if n > 127:
            n, at = long_varint(data, at, end, n, "DeleteTopicsResponse.Responses")
        n -= 1
        room[0] -= n
        if n < 0 or 4 * n > end - at or room[0] < 0:
            raise bad_count("DeleteTopicsResponse.Responses", n, end - at, room[0])
        responses, at = _read_deletable_topic_result_4(data, at, end, room, n)
        if at >= end:
            raise cut_off("DeleteTopicsResponse", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "DeleteTopicsResponse")
        items.append(DeleteTopicsResponse(throttle_time_ms, responses))
    return items, at


def _read_deletable_topic_result_5(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[DeletableTopicResult], int]:
    items: list[DeletableTopicResult] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("DeletableTopicResult", "Name=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "DeletableTopicResult.Name")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("DeletableTopicResult.Name", n - 1, end - at)
        try:
            name = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("DeletableTopicResult.Name") from None
        at = stop
        if end - at < 3:
            raise cut_off("DeletableTopicResult", "ErrorCode=2 ErrorMessage=1", end - at)
        error_code, n = _unpack_hB(data, at)
        at += 3
        if n > 127:
            n, at = long_text(data, at, end, n, "DeletableTopicResult.ErrorMessage")
        if n == 0:
            error_message = None
        else:
            stop = at + n - 1
            if n < 1 or stop > end:
                raise bad_length("DeletableTopicResult.ErrorMessage", n - 1, end - at)
            try:
                error_message = data[at:stop].decode()
            except UnicodeDecodeError:
                raise not_utf8("DeletableTopicResult.ErrorMessage") from None
            at = stop
        if at >= end:
            raise cut_off("DeletableTopicResult", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "DeletableTopicResult")
        items.append(DeletableTopicResult(name, NO_UUID, error_code, error_message))
    return items, at


def _read_delete_topics_response_5(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[DeleteTopicsResponse], int]:
    items: list[DeleteTopicsResponse] = []
    for _ in range(count):
        if end - at < 5:
            raise cut_off("DeleteTopicsResponse", "ThrottleTimeMs=4 Responses=1", end - at)
        throttle_time_ms, n = _unpack_iB(data, at)
        at += 5
        if n > 127:
            n, at = long_varint(data, at, end, n, "DeleteTopicsResponse.Responses")
        n -= 1
        room[0] -= n
        if n < 0 or 5 * n > end - at or room[0] < 0:
            raise bad_count("DeleteTopicsResponse.Responses", n, end - at, room[0])
        responses, at = _read_deletable_topic_result_5(data, at, end, room, n)
        if at >= end:
            raise cut_off("DeleteTopicsResponse", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "DeleteTopicsResponse")
        items.append(DeleteTopicsResponse(throttle_time_ms, responses))
    return items, at


def _read_deletable_topic_result_6(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[DeletableTopicResult], int]:
    items: list[DeletableTopicResult] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("DeletableTopicResult", "Name=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "DeletableTopicResult.Name")
        if n == 0:
            name = None
        else:
            stop = at + n - 1
            if n < 1 or stop > end:
                raise bad_length("DeletableTopicResult.Name", n - 1, end - at)
            try:
                name = data[at:stop].decode()
            except UnicodeDecodeError:
                raise not_utf8("DeletableTopicResult.Name") from None
            at = stop
        if end - at < 19:
            raise cut_off("DeletableTopicResult", "TopicId=16 ErrorCode=2 ErrorMessage=1", end - at)
        topic_id, error_code, n = _unpack_16shB(data, at)
        at += 19
        if n > 127:
            n, at = long_text(data, at, end, n, "DeletableTopicResult.ErrorMessage")
        if n == 0:
            error_message = None
        else:
            stop = at + n - 1
            if n < 1 or stop > end:
                raise bad_length("DeletableTopicResult.ErrorMessage", n - 1, end - at)
            try:
                error_message = data[at:stop].decode()
            except UnicodeDecodeError:
                raise not_utf8("DeletableTopicResult.ErrorMessage") from None
            at = stop
        if at >= end:
            raise cut_off("DeletableTopicResult", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "DeletableTopicResult")
        items.append(DeletableTopicResult(name, topic_id, error_code, error_message))
    return items, at


def _read_delete_topics_response_6(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[DeleteTopicsResponse], int]:
    items: list[DeleteTopicsResponse] = []
    for _ in range(count):
        if end - at < 5:
            raise cut_off("DeleteTopicsResponse", "ThrottleTimeMs=4 Responses=1", end - at)
        throttle_time_ms, n = _unpack_iB(data, at)
        at += 5
        if n > 127:
            n, at = long_varint(data, at, end, n, "DeleteTopicsResponse.Responses")
        n -= 1
        room[0] -= n
        if n < 0 or 21 * n > end - at or room[0] < 0:
            raise bad_count("DeleteTopicsResponse.Responses", n, end - at, room[0])
        responses, at = _read_deletable_topic_result_6(data, at, end, room, n)
        if at >= end:
            raise cut_off("DeleteTopicsResponse", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "DeleteTopicsResponse")
        items.append(DeleteTopicsResponse(throttle_time_ms, responses))
    return items, at


def _write_deletable_topic_result_1(items: Iterable[DeletableTopicResult], out: list[Buffer]) -> None:
    for m in items:
        name = m.name
        if name is None:
            raise null_field("DeletableTopicResult.Name")
        content = name.encode()
        n = len(content)
        out.append(_pack_h(n))
        out.append(content)
        out.append(_pack_h(m.error_code))


def _write_delete_topics_response_1(items: Iterable[DeleteTopicsResponse], out: list[Buffer]) -> None:
    for m in items:
        responses = m.responses
        n = len(responses)
        out.append(_pack_ii(m.throttle_time_ms, n))
        if responses:
            _write_deletable_topic_result_1(responses, out)


def _write_deletable_topic_result_4(items: Iterable[DeletableTopicResult], out: list[Buffer]) -> None:
    for m in items:
        name = m.name
        if name is None:
            raise null_field("DeletableTopicResult.Name")
        content = name.encode()
        n = len(content) + 1
        if n > 127:
            out.append(text_length_of(n))
        else:
            out.append(ONE_BYTE[n])
        out.append(content)
        out.append(_pack_hx(m.error_code))


def _write_delete_topics_response_4(items: Iterable[DeleteTopicsResponse], out: list[Buffer]) -> None:
    for m in items:
        responses = m.responses
        n = len(responses) + 1
        if n > 127:
            out.append(_pack_i(m.throttle_time_ms) + varint_of(n))
        else:
            out.append(_pack_iB(m.throttle_time_ms, n))
        if responses:
            _write_deletable_topic_result_4(responses, out)
        out.append(ONE_BYTE[0])


def _write_deletable_topic_result_5(items: Iterable[DeletableTopicResult], out: list[Buffer]) -> None:
    for m in items:
        name = m.name
        if name is None:
            raise null_field("DeletableTopicResult.Name")
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
        out.append(ONE_BYTE[0])


def _write_delete_topics_response_5(items: Iterable[DeleteTopicsResponse], out: list[Buffer]) -> None:
    for m in items:
        responses = m.responses
        n = len(responses) + 1
        if n > 127:
            out.append(_pack_i(m.throttle_time_ms) + varint_of(n))
        else:
            out.append(_pack_iB(m.throttle_time_ms, n))
        if responses:
            _write_deletable_topic_result_5(responses, out)
        out.append(ONE_BYTE[0])


def _write_deletable_topic_result_6(items: Iterable[DeletableTopicResult], out: list[Buffer]) -> None:
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
        out.append(ONE_BYTE[0])


def _write_delete_topics_response_6(items: Iterable[DeleteTopicsResponse], out: list[Buffer]) -> None:
    for m in items:
        responses = m.responses
        n = len(responses) + 1
        if n > 127:
            out.append(_pack_i(m.throttle_time_ms) + varint_of(n))
        else:
            out.append(_pack_iB(m.throttle_time_ms, n))
        if responses:
            _write_deletable_topic_result_6(responses, out)
        out.append(ONE_BYTE[0])


DeleteTopicsResponse._READERS = {
    **dict.fromkeys(range(1, 4), _read_delete_topics_response_1),
    **dict.fromkeys(range(4, 5), _read_delete_topics_response_4),
    **dict.fromkeys(range(5, 6), _read_delete_topics_response_5),
    **dict.fromkeys(range(6, 7), _read_delete_topics_response_6),
}
DeleteTopicsResponse._WRITERS = {
    **dict.fromkeys(range(1, 4), _write_delete_topics_response_1),
    **dict.fromkeys(range(4, 5), _write_delete_topics_response_4),
    **dict.fromkeys(range(5, 6), _write_delete_topics_response_5),
    **dict.fromkeys(range(6, 7), _write_delete_topics_response_6),
}
