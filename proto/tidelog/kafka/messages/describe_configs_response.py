"""DescribeConfigsResponse of Kafka's protocol.

Generated from proto/kafka/describe_configs.schema; do not edit.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import ClassVar

import msgspec

from tidelog.kafka.message import Message
from tidelog.kafka.wire import ONE_BYTE, Buffer, bad_count, bad_length, cut_off, long_text, long_varint, not_utf8, skip_tags, text_length_of, varint_of


class DescribeConfigsResponse(Message, gc=False):
    """Response of API 32, versions 1-4."""

    API_KEY: ClassVar[int] = 32
    VERSIONS: ClassVar[range] = range(1, 5)
    FLEXIBLE: ClassVar[range] = range(4, 5)

    throttle_time_ms: int = 0
    results: list[DescribeConfigsResult] = []


class DescribeConfigsResult(msgspec.Struct, gc=False):
    error_code: int = 0
    error_message: str | None = ""
    resource_type: int = 0
    resource_name: str = ""
    configs: list[DescribeConfigsResourceResult] = []


class DescribeConfigsResourceResult(msgspec.Struct, gc=False):
    name: str = ""
    value: str | None = ""
    read_only: bool = False
    config_source: int = -1
    is_sensitive: bool = False
    synonyms: list[DescribeConfigsSynonym] = []
    config_type: int = 0
    documentation: str | None = ""


class DescribeConfigsSynonym(msgspec.Struct, gc=False):
    name: str = ""
    value: str | None = ""
    source: int = 0


_unpack_tbtB = Struct(">?b?B").unpack_from
_unpack_tbti = Struct(">?b?i").unpack_from
_unpack_b = Struct(">b").unpack_from
_unpack_bB = Struct(">bB").unpack_from
_unpack_bh = Struct(">bh").unpack_from
_unpack_h = Struct(">h").unpack_from
_unpack_hB = Struct(">hB").unpack_from
_unpack_hh = Struct(">hh").unpack_from
_unpack_i = Struct(">i").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_unpack_ii = Struct(">ii").unpack_from
_pack_tbt = Struct(">?b?").pack
_pack_tbtB = Struct(">?b?B").pack
_pack_tbti = Struct(">?b?i").pack
_pack_b = Struct(">b").pack
_pack_bB = Struct(">bB").pack
_pack_bh = Struct(">bh").pack
_pack_bx = Struct(">bx").pack
_pack_h = Struct(">h").pack
_pack_hB = Struct(">hB").pack
_pack_hh = Struct(">hh").pack
_pack_i = Struct(">i").pack
_pack_iB = Struct(">iB").pack
_pack_ii = Struct(">ii").pack


def _read_describe_configs_synonym_1(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[DescribeConfigsSynonym], int]:
    items: list[DescribeConfigsSynonym] = []
    for _ in range(count):
        if end - at < 2:
            raise cut_off("DescribeConfigsSynonym", "Name=2", end - at)
        n = _unpack_h(data, at)[0]
        at += 2
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("DescribeConfigsSynonym.Name", n, end - at)
        try:
            name = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("DescribeConfigsSynonym.Name") from None
        at = stop
        if end - at < 2:
            raise cut_off("DescribeConfigsSynonym", "Value=2", end - at)
        n = _unpack_h(data, at)[0]
        at += 2
        if n == -1:
            value = None
        else:
            stop = at + n
            if n < 0 or stop > end:
                raise bad_length("DescribeConfigsSynonym.Value", n, end - at)
            try:
                value = data[at:stop].decode()
            except UnicodeDecodeError:
                raise not_utf8("DescribeConfigsSynonym.Value") from None
            at = stop
        if at >= end:
            raise cut_off("DescribeConfigsSynonym", "Source=1", end - at)
        source = _unpack_b(data, at)[0]
        at += 1
        items.append(DescribeConfigsSynonym(name, value, source))
    return items, at


def _read_describe_configs_resource_result_1(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[DescribeConfigsResourceResult], int]:
    items: list[DescribeConfigsResourceResult] = []
    for _ in range(count):
        if end - at < 2:
            raise cut_off("DescribeConfigsResourceResult", "Name=2", end - at)
        n = _unpack_h(data, at)[0]
        at += 2
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("DescribeConfigsResourceResult.Name", n, end - at)
        try:
            name = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("DescribeConfigsResourceResult.Name") from None
        at = stop
        if end - at < 2:
            raise cut_off("DescribeConfigsResourceResult", "Value=2", end - at)
        n = _unpack_h(data, at)[0]
        at += 2
        if n == -1:
            value = None
        else:
            stop = at + n
            if n < 0 or stop > end:
                raise bad_length("DescribeConfigsResourceResult.Value", n, end - at)
            try:
                value = data[at:stop].decode()
            except UnicodeDecodeError:
                raise not_utf8("DescribeConfigsResourceResult.Value") from None
            at = stop
        if end - at < 7:
            raise cut_off("DescribeConfigsResourceResult", "ReadOnly=1 ConfigSource=1 IsSensitive=1 Synonyms=4", end - at)
        read_only, config_source, is_sensitive, n = _unpack_tbti(data, at)
        at += 7
        room[0] -= n
        if n < 0 or 5 * n > end - at or room[0] < 0:
            raise bad_count("DescribeConfigsResourceResult.Synonyms", n, end - at, room[0])
        synonyms, at = _read_describe_configs_synonym_1(data, at, end, room, n)
        items.append(DescribeConfigsResourceResult(name, value, read_only, config_source, is_sensitive, synonyms))
    return items, at


def _read_describe_configs_result_1(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[DescribeConfigsResult], int]:
    items: list[DescribeConfigsResult] = []
    for _ in range(count):
        if end - at < 4:
            raise cut_off("DescribeConfigsResult", "ErrorCode=2 ErrorMessage=2", end - at)
        error_code, n = _unpack_hh(data, at)
        at += 4
        if n == -1:
            error_message = None
        else:
            stop = at + n
            if n < 0 or stop > end:
                raise bad_length("DescribeConfigsResult.ErrorMessage", n, end - at)
            try:
                error_message = data[at:stop].decode()
            except UnicodeDecodeError:
                raise not_utf8("DescribeConfigsResult.ErrorMessage") from None
            at = stop
        if end - at < 3:
            raise cut_off("DescribeConfigsResult", "ResourceType=1 ResourceName=2", end - at)
        resource_type, n = _unpack_bh(data, at)
        at += 3
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("DescribeConfigsResult.ResourceName", n, end - at)
        try:
            resource_name = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("DescribeConfigsResult.ResourceName") from None
        at = stop
        if end - at < 4:
            raise cut_off("DescribeConfigsResult", "Configs=4", end - at)
        n = _unpack_i(data, at)[0]
        at += 4
        room[0] -= n
        if n < 0 or 11 * n > end - at or room[0] < 0:
            raise bad_count("DescribeConfigsResult.Configs", n, end - at, room[0])
        configs, at = _read_describe_configs_resource_result_1(data, at, end, room, n)
        items.append(DescribeConfigsResult(error_code, error_message, resource_type, resource_name, configs))
    return items, at


def _read_describe_configs_response_1(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[DescribeConfigsResponse], int]:
    items: list[DescribeConfigsResponse] = []
    for _ in range(count):
        if end - at < 8:
            raise cut_off("DescribeConfigsResponse", "ThrottleTimeMs=4 Results=4", end - at)
        throttle_time_ms, n = _unpack_ii(data, at)
        at += 8
        room[0] -= n
        if n < 0 or 11 * n > end - at or room[0] < 0:
            raise bad_count("DescribeConfigsResponse.Results", n, end - at, room[0])
        results, at = _read_describe_configs_result_1(data, at, end, room, n)
        items.append(DescribeConfigsResponse(throttle_time_ms, results))
    return items, at


def _read_describe_configs_resource_result_3(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[DescribeConfigsResourceResult], int]:
    items: list[DescribeConfigsResourceResult] = []
    for _ in range(count):
        if end - at < 2:
            raise cut_off("DescribeConfigsResourceResult", "Name=2", end - at)
        n = _unpack_h(data, at)[0]
        at += 2
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("DescribeConfigsResourceResult.Name", n, end - at)
        try:
            name = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("DescribeConfigsResourceResult.Name") from None
        at = stop
        if end - at < 2:
            raise cut_off("DescribeConfigsResourceResult", "Value=2", end - at)
        n = _unpack_h(data, at)[0]
        at += 2
        if n == -1:
            value = None
        else:
            stop = at + n
            if n < 0 or stop > end:
                raise bad_length("DescribeConfigsResourceResult.Value", n, end - at)
            try:
                value = data[at:stop].decode()
            except UnicodeDecodeError:
                raise not_utf8("DescribeConfigsResourceResult.Value") from None
            at = stop
        if end - at < 7:
            raise cut_off("DescribeConfigsResourceResult", "ReadOnly=1 ConfigSource=1 IsSensitive=1 Synonyms=4", end - at)
        read_only, config_source, is_sensitive, n = _unpack_tbti(data, at)
        at += 7
        room[0] -= n
        if n < 0 or 5 * n > end - at or room[0] < 0:
            raise bad_count("DescribeConfigsResourceResult.Synonyms", n, end - at, room[0])
        synonyms, at = _read_describe_configs_synonym_1(data, at, end, room, n)
        if end - at < 3:
            raise cut_off("DescribeConfigsResourceResult", "ConfigType=1 Documentation=2", end - at)
        config_type, n = _unpack_bh(data, at)
        at += 3
        if n == -1:
            documentation = None
        else:
            stop = at + n
            if n < 0 or stop > end:
                raise bad_length("DescribeConfigsResourceResult.Documentation", n, end - at)
            try:
                documentation = data[at:stop].decode()
            except UnicodeDecodeError:
                raise not_utf8("DescribeConfigsResourceResult.Documentation") from None
            at = stop
        items.append(DescribeConfigsResourceResult(name, value, read_only, config_source, is_sensitive, synonyms, config_type, documentation))
    return items, at


def _read_describe_configs_result_3(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[DescribeConfigsResult], int]:
    items: list[DescribeConfigsResult] = []
    for _ in range(count):
        if end - at < 4:
            raise cut_off("DescribeConfigsResult", "ErrorCode=2 ErrorMessage=2", end - at)
        error_code, n = _unpack_hh(data, at)
        at += 4
        if n == -1:
            error_message = None
        else:
            stop = at + n
            if n < 0 or stop > end:
                raise bad_length("DescribeConfigsResult.ErrorMessage", n, end - at)
            try:
                error_message = data[at:stop].decode()
            except UnicodeDecodeError:
                raise not_utf8("DescribeConfigsResult.ErrorMessage") from None
            at = stop
        if end - at < 3:
            raise cut_off("DescribeConfigsResult", "ResourceType=1 ResourceName=2", end - at)
        resource_type, n = _unpack_bh(data, at)
        at += 3
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("DescribeConfigsResult.ResourceName", n, end - at)
        try:
            resource_name = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("DescribeConfigsResult.ResourceName") from None
        at = stop
        if end - at < 4:
            raise cut_off("DescribeConfigsResult", "Configs=4", end - at)
        n = _unpack_i(data, at)[0]
        at += 4
        room[0] -= n
        if n < 0 or 14 * n > end - at or room[0] < 0:
            raise bad_count("DescribeConfigsResult.Configs", n, end - at, room[0])
        configs, at = _read_describe_configs_resource_result_3(data, at, end, room, n)
        items.append(DescribeConfigsResult(error_code, error_message, resource_type, resource_name, configs))
    return items, at


def _read_describe_configs_response_3(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[DescribeConfigsResponse], int]:
    items: list[DescribeConfigsResponse] = []
    for _ in range(count):
        if end - at < 8:
            raise cut_off("DescribeConfigsResponse", "ThrottleTimeMs=4 Results=4", end - at)
        throttle_time_ms, n = _unpack_ii(data, at)
        at += 8
        room[0] -= n
        if n < 0 or 11 * n > end - at or room[0] < 0:
            raise bad_count("DescribeConfigsResponse.Results", n, end - at, room[0])
        results, at = _read_describe_configs_result_3(data, at, end, room, n)
        items.append(DescribeConfigsResponse(throttle_time_ms, results))
    return items, at


def _read_describe_configs_synonym_4(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[DescribeConfigsSynonym], int]:
    items: list[DescribeConfigsSynonym] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("DescribeConfigsSynonym", "Name=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "DescribeConfigsSynonym.Name")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("DescribeConfigsSynonym.Name", n - 1, end - at)
        try:
            name = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("DescribeConfigsSynonym.Name") from None
        at = stop
        if at >= end:
            raise cut_off("DescribeConfigsSynonym", "Value=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "DescribeConfigsSynonym.Value")
        if n == 0:
            value = None
        else:
            stop = at + n - 1
            if n < 1 or stop > end:
                raise bad_length("DescribeConfigsSynonym.Value", n - 1, end - at)
            try:
                value = data[at:stop].decode()
            except UnicodeDecodeError:
                raise not_utf8("DescribeConfigsSynonym.Value") from None
            at = stop
        if end - at < 2:
            raise cut_off("DescribeConfigsSynonym", "Source=1 tags=1", end - at)
        source, tags = _unpack_bB(data, at)
        at += 2
        if tags:
            at = skip_tags(data, at, end, tags, "DescribeConfigsSynonym")
        items.append(DescribeConfigsSynonym(name, value, source))
    return items, at


def _read_describe_configs_resource_result_4(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[DescribeConfigsResourceResult], int]:
    items: list[DescribeConfigsResourceResult] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("DescribeConfigsResourceResult", "Name=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "DescribeConfigsResourceResult.Name")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("DescribeConfigsResourceResult.Name", n - 1, end - at)
        try:
            name = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("DescribeConfigsResourceResult.Name") from None
        at = stop
        if at >= end:
            raise cut_off("DescribeConfigsResourceResult", "Value=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "DescribeConfigsResourceResult.Value")
        if n == 0:
            value = None
        else:
            stop = at + n - 1
            if n < 1 or stop > end:
                raise bad_length("DescribeConfigsResourceResult.Value", n - 1, end - at)
            try:
                value = data[at:stop].decode()
            except UnicodeDecodeError:
                raise not_utf8("DescribeConfigsResourceResult.Value") from None
            at = stop
        if end - at < 4:
            raise cut_off("DescribeConfigsResourceResult", "ReadOnly=1 ConfigSource=1 IsSensitive=1 Synonyms=1", end - at)
        read_only, config_source, is_sensitive, n = _unpack_tbtB(data, at)
        at += 4
        if n > 127:
            n, at = long_varint(data, at, end, n, "DescribeConfigsResourceResult.Synonyms")
        n -= 1
        room[0] -= n
        if n < 0 or 4 * n > end - at or room[0] < 0:
            raise bad_count("DescribeConfigsResourceResult.Synonyms", n, end - at, room[0])
        synonyms, at = _read_describe_configs_synonym_4(data, at, end, room, n)
        if end - at < 2:
            raise cut_off("DescribeConfigsResourceResult", "ConfigType=1 Documentation=1", end - at)
        config_type, n = _unpack_bB(data, at)
        at += 2
        if n > 127:
            n, at = long_text(data, at, end, n, "DescribeConfigsResourceResult.Documentation")
        if n == 0:
            documentation = None
        else:
            stop = at + n - 1
            if n < 1 or stop > end:
                raise bad_length("DescribeConfigsResourceResult.Documentation", n - 1, end - at)
            try:
                documentation = data[at:stop].decode()
            except UnicodeDecodeError:
                raise not_utf8("DescribeConfigsResourceResult.Documentation") from None
            at = stop
        if at >= end:
            raise cut_off("DescribeConfigsResourceResult", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "DescribeConfigsResourceResult")
        items.append(DescribeConfigsResourceResult(name, value, read_only, config_source, is_sensitive, synonyms, config_type, documentation))
    return items, at


def _read_describe_configs_result_4(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[DescribeConfigsResult], int]:
    items: list[DescribeConfigsResult] = []
    for _ in range(count):
        if end - at < 3:
            raise cut_off("DescribeConfigsResult", "ErrorCode=2 ErrorMessage=1", end - at)
        error_code, n = _unpack_hB(data, at)
        at += 3
        if n > 127:
            n, at = long_text(data, at, end, n, "DescribeConfigsResult.ErrorMessage")
        if n == 0:
            error_message = None
        else:
            stop = at + n - 1
            if n < 1 or stop > end:
                raise bad_length("DescribeConfigsResult.ErrorMessage", n - 1, end - at)
            try:
                error_message = data[at:stop].decode()
            except UnicodeDecodeError:
                raise not_utf8("DescribeConfigsResult.ErrorMessage") from None
            at = stop
        if end - at < 2:
            raise cut_off("DescribeConfigsResult", "ResourceType=1 ResourceName=1", end - at)
        resource_type, n = _unpack_bB(data, at)
        at += 2
        if n > 127:
            n, at = long_text(data, at, end, n, "DescribeConfigsResult.ResourceName")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("DescribeConfigsResult.ResourceName", n - 1, end - at)
        try:
            resource_name = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("DescribeConfigsResult.ResourceName") from None
        at = stop
        if at >= end:
            raise cut_off("DescribeConfigsResult", "Configs=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "DescribeConfigsResult.Configs")
        n -= 1
        room[0] -= n
        if n < 0 or 9 * n > end - at or room[0] < 0:
            raise bad_count("DescribeConfigsResult.Configs", n, end - at, room[0])
        configs, at = _read_describe_configs_resource_result_4(data, at, end, room, n)
        if at >= end:
            raise cut_off("DescribeConfigsResult", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "DescribeConfigsResult")
        items.append(DescribeConfigsResult(error_code, error_message, resource_type, resource_name, configs))
    return items, at


def _read_describe_configs_response_4(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[DescribeConfigsResponse], int]:
    items: list[DescribeConfigsResponse] = []
    for _ in range(count):
        if end - at < 5:
            raise cut_off("DescribeConfigsResponse", "ThrottleTimeMs=4 Results=1", end - at)
        throttle_time_ms, n = _unpack_iB(data, at)
        at += 5
        if n > 127:
            n, at = long_varint(data, at, end, n, "DescribeConfigsResponse.Results")
        n -= 1
        room[0] -= n
        if n < 0 or 7 * n > end - at or room[0] < 0:
            raise bad_count("DescribeConfigsResponse.Results", n, end - at, room[0])
        results, at = _read_describe_configs_result_4(data, at, end, room, n)
        if at >= end:
            raise cut_off("DescribeConfigsResponse", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "DescribeConfigsResponse")
        items.append(DescribeConfigsResponse(throttle_time_ms, results))
    return items, at


def _write_describe_configs_synonym_1(items: Iterable[DescribeConfigsSynonym], out: list[Buffer]) -> None:
    for m in items:
        name = m.name
        content = name.encode()
        n = len(content)
        out.append(_pack_h(n))
        out.append(content)
        value = m.value
        if value is None:
            content = b""
            n = -1
        else:
            content = value.encode()
            n = len(content)
        out.append(_pack_h(n))
        out.append(content)
        out.append(_pack_b(m.source))


def _write_describe_configs_resource_result_1(items: Iterable[DescribeConfigsResourceResult], out: list[Buffer]) -> None:
    for m in items:
        name = m.name
        content = name.encode()
        n = len(content)
        out.append(_pack_h(n))
        out.append(content)
        value = m.value
        if value is None:
            content = b""
            n = -1
        else:
            content = value.encode()
            n = len(content)
        out.append(_pack_h(n))
        out.append(content)
        synonyms = m.synonyms
        n = len(synonyms)
        out.append(_pack_tbti(m.read_only, m.config_source, m.is_sensitive, n))
        if synonyms:
            _write_describe_configs_synonym_1(synonyms, out)


def _write_describe_configs_result_1(items: Iterable[DescribeConfigsResult], out: list[Buffer]) -> None:
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
        configs = m.configs
        n = len(configs)
        out.append(_pack_i(n))
        if configs:
            _write_describe_configs_resource_result_1(configs, out)


def _write_describe_configs_response_1(items: Iterable[DescribeConfigsResponse], out: list[Buffer]) -> None:
    for m in items:
        results = m.results
        n = len(results)
        out.append(_pack_ii(m.throttle_time_ms, n))
        if results:
            _write_describe_configs_result_1(results, out)


def _write_describe_configs_resource_result_3(items: Iterable[DescribeConfigsResourceResult], out: list[Buffer]) -> None:
    for m in items:
        name = m.name
        content = name.encode()
        n = len(content)
        out.append(_pack_h(n))
        out.append(content)
        value = m.value
        if value is None:
            content = b""
            n = -1
        else:
            content = value.encode()
            n = len(content)
        out.append(_pack_h(n))
        out.append(content)
        synonyms = m.synonyms
        n = len(synonyms)
        out.append(_pack_tbti(m.read_only, m.config_source, m.is_sensitive, n))
        if synonyms:
            _write_describe_configs_synonym_1(synonyms, out)
        documentation = m.documentation
        if documentation is None:
            content = b""
            n = -1
        else:
            content = documentation.encode()
            n = len(content)
        out.append(_pack_bh(m.config_type, n))
        out.append(content)


def _write_describe_configs_result_3(items: Iterable[DescribeConfigsResult], out: list[Buffer]) -> None:
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
        configs = m.configs
        n = len(configs)
        out.append(_pack_i(n))
        if configs:
            _write_describe_configs_resource_result_3(configs, out)


def _write_describe_configs_response_3(items: Iterable[DescribeConfigsResponse], out: list[Buffer]) -> None:
    for m in items:
        results = m.results
        n = len(results)
        out.append(_pack_ii(m.throttle_time_ms, n))
        if results:
            _write_describe_configs_result_3(results, out)


def _write_describe_configs_synonym_4(items: Iterable[DescribeConfigsSynonym], out: list[Buffer]) -> None:
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
        out.append(_pack_bx(m.source))


def _write_describe_configs_resource_result_4(items: Iterable[DescribeConfigsResourceResult], out: list[Buffer]) -> None:
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
        synonyms = m.synonyms
        n = len(synonyms) + 1
        if n > 127:
            out.append(_pack_tbt(m.read_only, m.config_source, m.is_sensitive) + varint_of(n))
        else:
            out.append(_pack_tbtB(m.read_only, m.config_source, m.is_sensitive, n))
        if synonyms:
            _write_describe_configs_synonym_4(synonyms, out)
        documentation = m.documentation
        if documentation is None:
            content = b""
            n = 0
        else:
            content = documentation.encode()
            n = len(content) + 1
        if n > 127:
            out.append(_pack_b(m.config_type) + text_length_of(n))
        else:
            out.append(_pack_bB(m.config_type, n))
        out.append(content)
        out.append(ONE_BYTE[0])


def _write_describe_configs_result_4(items: Iterable[DescribeConfigsResult], out: list[Buffer]) -> None:
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
        configs = m.configs
        n = len(configs) + 1
        if n > 127:
            out.append(varint_of(n))
        else:
            out.append(ONE_BYTE[n])
        if configs:
            _write_describe_configs_resource_result_4(configs, out)
        out.append(ONE_BYTE[0])


def _write_describe_configs_response_4(items: Iterable[DescribeConfigsResponse], out: list[Buffer]) -> None:
    for m in items:
        results = m.results
        n = len(results) + 1
        if n > 127:
            out.append(_pack_i(m.throttle_time_ms) + varint_of(n))
        else:
            out.append(_pack_iB(m.throttle_time_ms, n))
        if results:
            _write_describe_configs_result_4(results, out)
        out.append(ONE_BYTE[0])


DescribeConfigsResponse._READERS = {
    **dict.fromkeys(range(1, 3), _read_describe_configs_response_1),
    **dict.fromkeys(range(3, 4), _read_describe_configs_response_3),
    **dict.fromkeys(range(4, 5), _read_describe_configs_response_4),
}
DescribeConfigsResponse._WRITERS = {
    **dict.fromkeys(range(1, 3), _write_describe_configs_response_1),
    **dict.fromkeys(range(3, 4), _write_describe_configs_response_3),
    **dict.fromkeys(range(4, 5), _write_describe_configs_response_4),
}
