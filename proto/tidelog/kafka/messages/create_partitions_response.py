"""CreatePartitionsResponse of Kafka's protocol.

Generated from proto/kafka/create_partitions.schema; do not edit.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import ClassVar

import msgspec

from tidelog.kafka.message import Message
from tidelog.kafka.wire import ONE_BYTE, Buffer, bad_count, bad_length, cut_off, long_text, long_varint, not_utf8, skip_tags, text_length_of, varint_of


class CreatePartitionsResponse(Message, gc=False):
    """Response of API 37, versions 0-3."""

    API_KEY: ClassVar[int] = 37
    VERSIONS: ClassVar[range] = range(0, 4)
    FLEXIBLE: ClassVar[range] = range(2, 4)

    throttle_time_ms: int = 0
    results: list[CreatePartitionsTopicResult] = []


class CreatePartitionsTopicResult(msgspec.Struct, gc=False):
    name: str = ""
    error_code: int = 0
    error_message: str | None = None


_unpack_h = Struct(">h").unpack_from
_unpack_hB = Struct(">hB").unpack_from
_unpack_hh = Struct(">hh").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_unpack_ii = Struct(">ii").unpack_from
_pack_h = Struct(">h").pack
_pack_hB = Struct(">hB").pack
_pack_hh = Struct(">hh").pack
_pack_i = Struct(">i").pack
_pack_iB = Struct(">iB").pack
_pack_ii = Struct(">ii").pack


def _read_create_partitions_topic_result_0(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[CreatePartitionsTopicResult], int]:
    items: list[CreatePartitionsTopicResult] = []
    for _ in range(count):
        if end - at < 2:
            raise cut_off("CreatePartitionsTopicResult", "Name=2", end - at)
        n = _unpack_h(data, at)[0]
        at += 2
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("CreatePartitionsTopicResult.Name", n, end - at)
        try:
            name = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("CreatePartitionsTopicResult.Name") from None
        at = stop
        if end - at < 4:
            raise cut_off("CreatePartitionsTopicResult", "ErrorCode=2 ErrorMessage=2", end - at)
        error_code, n = _unpack_hh(data, at)
        at += 4
        if n == -1:
            error_message = None
        else:
            stop = at + n
            if n < 0 or stop > end:
                raise bad_length("CreatePartitionsTopicResult.ErrorMessage", n, end - at)
            try:
                error_message = data[at:stop].decode()
            except UnicodeDecodeError:
                raise not_utf8("CreatePartitionsTopicResult.ErrorMessage") from None
            at = stop
        items.append(CreatePartitionsTopicResult(name, error_code, error_message))
    return items, at


def _read_create_partitions_response_0(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[CreatePartitionsResponse], int]:
    items: list[CreatePartitionsResponse] = []
    for _ in range(count):
        if end - at < 8:
            raise cut_off("CreatePartitionsResponse", "ThrottleTimeMs=4 Results=4", end - at)
        throttle_time_ms, n = _unpack_ii(data, at)
        at += 8
        room[0] -= n
        if n < 0 or 6 * n > end - at or room[0] < 0:
            raise bad_count("CreatePartitionsResponse.Results", n, end - at, room[0])
        results, at = _read_create_partitions_topic_result_0(data, at, end, room, n)
        items.append(CreatePartitionsResponse(throttle_time_ms, results))
    return items, at


def _read_create_partitions_topic_result_2(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[CreatePartitionsTopicResult], int]:
    items: list[CreatePartitionsTopicResult] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("CreatePartitionsTopicResult", "Name=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "CreatePartitionsTopicResult.Name")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("CreatePartitionsTopicResult.Name", n - 1, end - at)
        try:
            name = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("CreatePartitionsTopicResult.Name") from None
        at = stop
        if end - at < 3:
            raise cut_off("CreatePartitionsTopicResult", "ErrorCode=2 ErrorMessage=1", end - at)
        error_code, n = _unpack_hB(data, at)
        at += 3
        if n > 127:
            n, at = long_text(data, at, end, n, "CreatePartitionsTopicResult.ErrorMessage")
        if n == 0:
            error_message = None
        else:
            stop = at + n - 1
            if n < 1 or stop > end:
                raise bad_length("CreatePartitionsTopicResult.ErrorMessage", n - 1, end - at)
            try:
                error_message = data[at:stop].decode()
            except UnicodeDecodeError:
                raise not_utf8("CreatePartitionsTopicResult.ErrorMessage") from None
            at = stop
        if at >= end:
            raise cut_off("CreatePartitionsTopicResult", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "CreatePartitionsTopicResult")
        items.append(CreatePartitionsTopicResult(name, error_code, error_message))
    return items, at


def _read_create_partitions_response_2(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[CreatePartitionsResponse], int]:
    items: list[CreatePartitionsResponse] = []
    for _ in range(count):
        if end - at < 5:
            raise cut_off("CreatePartitionsResponse", "ThrottleTimeMs=4 Results=1", end - at)
        throttle_time_ms, n = _unpack_iB(data, at)
        at += 5
        if n > 127:
            n, at = long_varint(data, at, end, n, "CreatePartitionsResponse.Results")
        n -= 1
        room[0] -= n
        if n < 0 or 5 * n > end - at or room[0] < 0:
            raise bad_count("CreatePartitionsResponse.Results", n, end - at, room[0])
        results, at = _read_create_partitions_topic_result_2(data, at, end, room, n)
        if at >= end:
            raise cut_off("CreatePartitionsResponse", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "CreatePartitionsResponse")
        items.append(CreatePartitionsResponse(throttle_time_ms, results))
    return items, at


def _write_create_partitions_topic_result_0(items: Iterable[CreatePartitionsTopicResult], out: list[Buffer]) -> None:
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


def _write_create_partitions_response_0(items: Iterable[CreatePartitionsResponse], out: list[Buffer]) -> None:
    for m in items:
        results = m.results
        n = len(results)
        out.append(_pack_ii(m.throttle_time_ms, n))
        if results:
            _write_create_partitions_topic_result_0(results, out)


def _write_create_partitions_topic_result_2(items: Iterable[CreatePartitionsTopicResult], out: list[Buffer]) -> None:
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
        out.append(ONE_BYTE[0])


def _write_create_partitions_response_2(items: Iterable[CreatePartitionsResponse], out: list[Buffer]) -> None:
    for m in items:
        results = m.results
        n = len(results) + 1
        if n > 127:
            out.append(_pack_i(m.throttle_time_ms) + varint_of(n))
        else:
            out.append(_pack_iB(m.throttle_time_ms, n))
        if results:
            _write_create_partitions_topic_result_2(results, out)
        out.append(ONE_BYTE[0])


CreatePartitionsResponse._READERS = {
    **dict.fromkeys(range(0, 2), _read_create_partitions_response_0),
    **dict.fromkeys(range(2, 4), _read_create_partitions_response_2),
}
CreatePartitionsResponse._WRITERS = {
    **dict.fromkeys(range(0, 2), _write_create_partitions_response_0),
    **dict.fromkeys(range(2, 4), _write_create_partitions_response_2),
}
