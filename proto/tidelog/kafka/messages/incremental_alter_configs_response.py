"""IncrementalAlterConfigsResponse of Kafka's protocol.

Generated from proto/kafka/incremental_alter_configs.schema; do not edit.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import ClassVar

import msgspec

from tidelog.kafka.message import Message
from tidelog.kafka.wire import ONE_BYTE, Buffer, bad_count, bad_length, cut_off, long_text, long_varint, not_utf8, skip_tags, text_length_of, varint_of


class IncrementalAlterConfigsResponse(Message, gc=False):
    """Response of API 44, versions 0-1."""

    API_KEY: ClassVar[int] = 44
    VERSIONS: ClassVar[range] = range(0, 2)
    FLEXIBLE: ClassVar[range] = range(1, 2)

    throttle_time_ms: int = 0
    responses: list[AlterConfigsResourceResponse] = []


class AlterConfigsResourceResponse(msgspec.Struct, gc=False):
    error_code: int = 0
    error_message: str | None = ""
    resource_type: int = 0
    resource_name: str = ""


_unpack_bB = Struct(">bB").unpack_from
_unpack_bh = Struct(">bh").unpack_from
_unpack_hB = Struct(">hB").unpack_from
_unpack_hh = Struct(">hh").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_unpack_ii = Struct(">ii").unpack_from
_pack_b = Struct(">b").pack
_pack_bB = Struct(">bB").pack
_pack_bh = Struct(">bh").pack
_pack_h = Struct(">h").pack
_pack_hB = Struct(">hB").pack
_pack_hh = Struct(">hh").pack
_pack_i = Struct(">i").pack
_pack_iB = Struct(">iB").pack
_pack_ii = Struct(">ii").pack


def _read_alter_configs_resource_response_0(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[AlterConfigsResourceResponse], int]:
    items: list[AlterConfigsResourceResponse] = []
    for _ in range(count):
        if end - at < 4:
            raise cut_off("AlterConfigsResourceResponse", "ErrorCode=2 ErrorMessage=2", end - at)
        error_code, n = _unpack_hh(data, at)
        at += 4
        if n == -1:
            error_message = None
        else:
            stop = at + n
            if n < 0 or stop > end:
                raise bad_length("AlterConfigsResourceResponse.ErrorMessage", n, end - at)
            try:
                error_message = data[at:stop].decode()
            except UnicodeDecodeError:
                raise not_utf8("AlterConfigsResourceResponse.ErrorMessage") from None
            at = stop
        if end - at < 3:
            raise cut_off("AlterConfigsResourceResponse", "ResourceType=1 ResourceName=2", end - at)
        resource_type, n = _unpack_bh(data, at)
        at += 3
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("AlterConfigsResourceResponse.ResourceName", n, end - at)
        try:
            resource_name = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("AlterConfigsResourceResponse.ResourceName") from None
        at = stop
        items.append(AlterConfigsResourceResponse(error_code, error_message, resource_type, resource_name))
    return items, at


def _read_incremental_alter_configs_response_0(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[IncrementalAlterConfigsResponse], int]:
    items: list[IncrementalAlterConfigsResponse] = []
    for _ in range(count):
        if end - at < 8:
            raise cut_off("IncrementalAlterConfigsResponse", "ThrottleTimeMs=4 Responses=4", end - at)
        throttle_time_ms, n = _unpack_ii(data, at)
        at += 8
        room[0] -= n
        if n < 0 or 7 * n > end - at or room[0] < 0:
            raise bad_count("IncrementalAlterConfigsResponse.Responses", n, end - at, room[0])
        responses, at = _read_alter_configs_resource_response_0(data, at, end, room, n)
        items.append(IncrementalAlterConfigsResponse(throttle_time_ms, responses))
    return items, at


def _read_alter_configs_resource_response_1(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[AlterConfigsResourceResponse], int]:
    items: list[AlterConfigsResourceResponse] = []
    for _ in range(count):
        if end - at < 3:
            raise cut_off("AlterConfigsResourceResponse", "ErrorCode=2 ErrorMessage=1", end - at)
        error_code, n = _unpack_hB(data, at)
        at += 3
        if n > 127:
            n, at = long_text(data, at, end, n, "AlterConfigsResourceResponse.ErrorMessage")
        if n == 0:
            error_message = None
        else:
            stop = at + n - 1
            if n < 1 or stop > end:
                raise bad_length("AlterConfigsResourceResponse.ErrorMessage", n - 1, end - at)
            try:
                error_message = data[at:stop].decode()
            except UnicodeDecodeError:
                raise not_utf8("AlterConfigsResourceResponse.ErrorMessage") from None
            at = stop
        if end - at < 2:
            raise cut_off("AlterConfigsResourceResponse", "ResourceType=1 ResourceName=1", end - at)
        resource_type, n = _unpack_bB(data, at)
        at += 2
        if n > 127:
            n, at = long_text(data, at, end, n, "AlterConfigsResourceResponse.ResourceName")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("AlterConfigsResourceResponse.ResourceName", n - 1, end - at)
        try:
            resource_name = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("AlterConfigsResourceResponse.ResourceName") from None
        at = stop
        if at >= end:
            raise cut_off("AlterConfigsResourceResponse", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "AlterConfigsResourceResponse")
        items.append(AlterConfigsResourceResponse(error_code, error_message, resource_type, resource_name))
    return items, at


def _read_incremental_alter_configs_response_1(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[IncrementalAlterConfigsResponse], int]:
    items: list[IncrementalAlterConfigsResponse] = []
    for _ in range(count):
        if end - at < 5:
            raise cut_off("IncrementalAlterConfigsResponse", "ThrottleTimeMs=4 Responses=1", end - at)
        throttle_time_ms, n = _unpack_iB(data, at)
        at += 5
        if n > 127:
            n, at = long_varint(data, at, end, n, "IncrementalAlterConfigsResponse.Responses")
        n -= 1
        room[0] -= n
        if n < 0 or 6 * n > end - at or room[0] < 0:
            raise bad_count("IncrementalAlterConfigsResponse.Responses", n, end - at, room[0])
        responses, at = _read_alter_configs_resource_response_1(data, at, end, room, n)
        if at >= end:
            raise cut_off("IncrementalAlterConfigsResponse", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "IncrementalAlterConfigsResponse")
        items.append(IncrementalAlterConfigsResponse(throttle_time_ms, responses))
    return items, at


def _write_alter_configs_resource_response_0(items: Iterable[AlterConfigsResourceResponse], out: list[Buffer]) -> None:
    for m in items:
        error_message = m.error_message
        if error_message is None:
            content = b""
            n = -1
        else:
            content = error_message.encode()
            n = len(content)
        out.append(_pack_hh(m.error_code, n))
        out.append(content)
        resource_name = m.resource_name
        content = resource_name.encode()
        n = len(content)
        out.append(_pack_bh(m.resource_type, n))
        out.append(content)


def _write_incremental_alter_configs_response_0(items: Iterable[IncrementalAlterConfigsResponse], out: list[Buffer]) -> None:
    for m in items:
        responses = m.responses
        n = len(responses)
        out.append(_pack_ii(m.throttle_time_ms, n))
        if responses:
            _write_alter_configs_resource_response_0(responses, out)


def _write_alter_configs_resource_response_1(items: Iterable[AlterConfigsResourceResponse], out: list[Buffer]) -> None:
    for m in items:
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
        resource_name = m.resource_name
        content = resource_name.encode()
        n = len(content) + 1
        if n > 127:
            out.append(_pack_b(m.resource_type) + text_length_of(n))
        else:
            out.append(_pack_bB(m.resource_type, n))
        out.append(content)
        out.append(ONE_BYTE[0])


def _write_incremental_alter_configs_response_1(items: Iterable[IncrementalAlterConfigsResponse], out: list[Buffer]) -> None:
    for m in items:
        responses = m.responses
        n = len(responses) + 1
        if n > 127:
            out.append(_pack_i(m.throttle_time_ms) + varint_of(n))
        else:
            out.append(_pack_iB(m.throttle_time_ms, n))
        if responses:
            _write_alter_configs_resource_response_1(responses, out)
        out.append(ONE_BYTE[0])


IncrementalAlterConfigsResponse._READERS = {
    **dict.fromkeys(range(0, 1), _read_incremental_alter_configs_response_0),
    **dict.fromkeys(range(1, 2), _read_incremental_alter_configs_response_1),
}
IncrementalAlterConfigsResponse._WRITERS = {
    **dict.fromkeys(range(0, 1), _write_incremental_alter_configs_response_0),
    **dict.fromkeys(range(1, 2), _write_incremental_alter_configs_response_1),
}
