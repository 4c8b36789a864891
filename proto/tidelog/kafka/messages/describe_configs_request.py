"""DescribeConfigsRequest of Kafka's protocol.

Generated from proto/kafka/describe_configs.schema; do not edit.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import ClassVar

import msgspec

from tidelog.kafka.message import Message
from tidelog.kafka.wire import ONE_BYTE, Buffer, bad_count, bad_length, cut_off, long_text, long_varint, not_utf8, read_compact_texts, read_texts, skip_tags, text_length_of, varint_of, write_compact_texts, write_texts


class DescribeConfigsRequest(Message, gc=False):
    """Request of API 32, versions 1-4."""

    API_KEY: ClassVar[int] = 32
    VERSIONS: ClassVar[range] = range(1, 5)
    FLEXIBLE: ClassVar[range] = range(4, 5)

    resources: list[DescribeConfigsResource] = []
    include_synonyms: bool = False
    include_documentation: bool = False


class DescribeConfigsResource(msgspec.Struct, gc=False):
    resource_type: int = 0
    resource_name: str = ""
    configuration_keys: list[str] | None = []


_unpack_t = Struct(">?").unpack_from
_unpack_tt = Struct(">??").unpack_from
_unpack_ttB = Struct(">??B").unpack_from
_unpack_bB = Struct(">bB").unpack_from
_unpack_bh = Struct(">bh").unpack_from
_unpack_i = Struct(">i").unpack_from
_pack_t = Struct(">?").pack
_pack_tt = Struct(">??").pack
_pack_ttx = Struct(">??x").pack
_pack_b = Struct(">b").pack
_pack_bB = Struct(">bB").pack
_pack_bh = Struct(">bh").pack
_pack_i = Struct(">i").pack


def _read_describe_configs_resource_1(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[DescribeConfigsResource], int]:
    items: list[DescribeConfigsResource] = []
    for _ in range(count):
        if end - at < 3:
            raise cut_off("DescribeConfigsResource", "ResourceType=1 ResourceName=2", end - at)
        resource_type, n = _unpack_bh(data, at)
        at += 3
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("DescribeConfigsResource.ResourceName", n, end - at)
        try:
            resource_name = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("DescribeConfigsResource.ResourceName") from None
        at = stop
        if end - at < 4:
            raise cut_off("DescribeConfigsResource", "ConfigurationKeys=4", end - at)
        n = _unpack_i(data, at)[0]
        at += 4
        if n == -1:
            configuration_keys = None
        else:
            room[0] -= n
            if n < 0 or 2 * n > end - at or room[0] < 0:
                raise bad_count("DescribeConfigsResource.ConfigurationKeys", n, end - at, room[0])
            configuration_keys, at = read_texts(data, at, end, n, "DescribeConfigsResource.ConfigurationKeys")
        items.append(DescribeConfigsResource(resource_type, resource_name, configuration_keys))
    return items, at


def _read_describe_configs_request_1(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[DescribeConfigsRequest], int]:
    items: list[DescribeConfigsRequest] = []
    for _ in range(count):
        if end - at < 4:
            raise cut_off("DescribeConfigsRequest", "Resources=4", end - at)
        n = _unpack_i(data, at)[0]
        at += 4
        room[0] -= n
        if n < 0 or 7 * n > end - at or room[0] < 0:
            raise bad_count("DescribeConfigsRequest.Resources", n, end - at, room[0])
        resources, at = _read_describe_configs_resource_1(data, at, end, room, n)
        if at >= end:
            raise cut_off("DescribeConfigsRequest", "IncludeSynonyms=1", end - at)
        include_synonyms = _unpack_t(data, at)[0]
        at += 1
        items.append(DescribeConfigsRequest(resources, include_synonyms))
    return items, at


def _read_describe_configs_request_3(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[DescribeConfigsRequest], int]:
    items: list[DescribeConfigsRequest] = []
    for _ in range(count):
        if end - at < 4:
            raise cut_off("DescribeConfigsRequest", "Resources=4", end - at)
        n = _unpack_i(data, at)[0]
        at += 4
        room[0] -= n
        if n < 0 or 7 * n > end - at or room[0] < 0:
            raise bad_count("DescribeConfigsRequest.Resources", n, end - at, room[0])
        resources, at = _read_describe_configs_resource_1(data, at, end, room, n)
        if end - at < 2:
            raise cut_off("DescribeConfigsRequest", "IncludeSynonyms=1 IncludeDocumentation=1", end - at)
        include_synonyms, include_documentation = _unpack_tt(data, at)
        at += 2
        items.append(DescribeConfigsRequest(resources, include_synonyms, include_documentation))
    return items, at


def _read_describe_configs_resource_4(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[DescribeConfigsResource], int]:
    items: list[DescribeConfigsResource] = []
    for _ in range(count):
        if end - at < 2:
            raise cut_off("DescribeConfigsResource", "ResourceType=1 ResourceName=1", end - at)
        resource_type, n = _unpack_bB(data, at)
        at += 2
        if n > 127:
            n, at = long_text(data, at, end, n, "DescribeConfigsResource.ResourceName")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("DescribeConfigsResource.ResourceName", n - 1, end - at)
        try:
            resource_name = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("DescribeConfigsResource.ResourceName") from None
        at = stop
        if at >= end:
            raise cut_off("DescribeConfigsResource", "ConfigurationKeys=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "DescribeConfigsResource.ConfigurationKeys")
        if n == 0:
            configuration_keys = None
        else:
            n -= 1
            room[0] -= n
            if n < 0 or n > end - at or room[0] < 0:
                raise bad_count("DescribeConfigsResource.ConfigurationKeys", n, end - at, room[0])
            configuration_keys, at = read_compact_texts(data, at, end, n, "DescribeConfigsResource.ConfigurationKeys")
        if at >= end:
            raise cut_off("DescribeConfigsResource", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "DescribeConfigsResource")
        items.append(DescribeConfigsResource(resource_type, resource_name, configuration_keys))
    return items, at


def _read_describe_configs_request_4(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[DescribeConfigsRequest], int]:
    items: list[DescribeConfigsRequest] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("DescribeConfigsRequest", "Resources=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "DescribeConfigsRequest.Resources")
        n -= 1
        room[0] -= n
        if n < 0 or 4 * n > end - at or room[0] < 0:
            raise bad_count("DescribeConfigsRequest.Resources", n, end - at, room[0])
        resources, at = _read_describe_configs_resource_4(data, at, end, room, n)
        if end - at < 3:
            raise cut_off("DescribeConfigsRequest", "IncludeSynonyms=1 IncludeDocumentation=1 tags=1", end - at)
        include_synonyms, include_documentation, tags = _unpack_ttB(data, at)
        at += 3
        if tags:
            at = skip_tags(data, at, end, tags, "DescribeConfigsRequest")
        items.append(DescribeConfigsRequest(resources, include_synonyms, include_documentation))
    return items, at


def _write_describe_configs_resource_1(items: Iterable[DescribeConfigsResource], out: list[Buffer]) -> None:
    for m in items:
        resource_name = m.resource_name
        content = resource_name.encode()
        n = len(content)
        out.append(_pack_bh(m.resource_type, n))
        out.append(content)
        configuration_keys = m.configuration_keys
        if configuration_keys is None:
            n = -1
        else:
            n = len(configuration_keys)
        out.append(_pack_i(n))
        if configuration_keys:
            write_texts(configuration_keys, out)


def _write_describe_configs_request_1(items: Iterable[DescribeConfigsRequest], out: list[Buffer]) -> None:
    for m in items:
        resources = m.resources
        n = len(resources)
        out.append(_pack_i(n))
        if resources:
            _write_describe_configs_resource_1(resources, out)
        out.append(_pack_t(m.include_synonyms))


def _write_describe_configs_request_3(items: Iterable[DescribeConfigsRequest], out: list[Buffer]) -> None:
    for m in items:
        resources = m.resources
        n = len(resources)
        out.append(_pack_i(n))
        if resources:
            _write_describe_configs_resource_1(resources, out)
        out.append(_pack_tt(m.include_synonyms, m.include_documentation))


def _write_describe_configs_resource_4(items: Iterable[DescribeConfigsResource], out: list[Buffer]) -> None:
    for m in items:
        resource_name = m.resource_name
        content = resource_name.encode()
        n = len(content) + 1
        if n > 127:
            out.append(_pack_b(m.resource_type) + text_length_of(n))
        else:
            out.append(_pack_bB(m.resource_type, n))
        out.append(content)
        configuration_keys = m.configuration_keys
        if configuration_keys is None:
            n = 0
        else:
            n = len(configuration_keys) + 1
        if n > 127:
            out.append(varint_of(n))
        else:
            out.append(ONE_BYTE[n])
        if configuration_keys:
            write_compact_texts(configuration_keys, out)
        out.append(ONE_BYTE[0])


def _write_describe_configs_request_4(items: Iterable[DescribeConfigsRequest], out: list[Buffer]) -> None:
    for m in items:
        resources = m.resources
        n = len(resources) + 1
        if n > 127:
            out.append(varint_of(n))
        else:
            out.append(ONE_BYTE[n])
        if resources:
            _write_describe_configs_resource_4(resources, out)
        out.append(_pack_ttx(m.include_synonyms, m.include_documentation))


DescribeConfigsRequest._READERS = {
    **dict.fromkeys(range(1, 3), _read_describe_configs_request_1),
    **dict.fromkeys(range(3, 4), _read_describe_configs_request_3),
    **dict.fromkeys(range(4, 5), _read_describe_configs_request_4),
}
DescribeConfigsRequest._WRITERS = {
    **dict.fromkeys(range(1, 3), _write_describe_configs_request_1),
    **dict.fromkeys(range(3, 4), _write_describe_configs_request_3),
    **dict.fromkeys(range(4, 5), _write_describe_configs_request_4),
}
