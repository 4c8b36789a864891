"""ListConfigResourcesResponse of Kafka's protocol.

Generated from proto/kafka/list_config_resources.schema; do not edit.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import ClassVar

import msgspec

from tidelog.kafka.message import Message
from tidelog.kafka.wire import ONE_BYTE, Buffer, bad_count, bad_length, cut_off, long_text, long_varint, not_utf8, skip_tags, text_length_of, varint_of


class ListConfigResourcesResponse(Message, gc=False):
    """Response of API 74, versions 0-1."""

    API_KEY: ClassVar[int] = 74
    VERSIONS: ClassVar[range] = range(0, 2)
    FLEXIBLE: ClassVar[range] = range(0, 2)

    throttle_time_ms: int = 0
    error_code: int = 0
    config_resources: list[ConfigResource] = []


class ConfigResource(msgspec.Struct, gc=False):
    resource_name: str = ""
    resource_type: int = 16


_unpack_bB = Struct(">bB").unpack_from
_unpack_ihB = Struct(">ihB").unpack_from
_pack_bx = Struct(">bx").pack
_pack_ih = Struct(">ih").pack
_pack_ihB = Struct(">ihB").pack


def _read_config_resource_0(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[ConfigResource], int]:
    items: list[ConfigResource] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("ConfigResource", "ResourceName=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "ConfigResource.ResourceName")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("ConfigResource.ResourceName", n - 1, end - at)
        try:
            resource_name = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("ConfigResource.ResourceName") from None
        at = stop
        if at >= end:
            raise cut_off("ConfigResource", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "ConfigResource")
        items.append(ConfigResource(resource_name))
    return items, at


def _read_list_config_resources_response_0(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[ListConfigResourcesResponse], int]:
    items: list[ListConfigResourcesResponse] = []
    for _ in range(count):
        if end - at < 7:
            raise cut_off("ListConfigResourcesResponse", "ThrottleTimeMs=4 ErrorCode=2 ConfigResources=1", end - at)
        throttle_time_ms, error_code, n = _unpack_ihB(data, at)
        at += 7
        if n > 127:
            n, at = long_varint(data, at, end, n, "ListConfigResourcesResponse.ConfigResources")
        n -= 1
        room[0] -= n
        if n < 0 or 2 * n > end - at or room[0] < 0:
            raise bad_count("ListConfigResourcesResponse.ConfigResources", n, end - at, room[0])
        config_resources, at = _read_config_resource_0(data, at, end, room, n)
        if at >= end:
            raise cut_off("ListConfigResourcesResponse", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "ListConfigResourcesResponse")
        items.append(ListConfigResourcesResponse(throttle_time_ms, error_code, config_resources))
    return items, at


def _read_config_resource_1(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[ConfigResource], int]:
    items: list[ConfigResource] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("ConfigResource", "ResourceName=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "ConfigResource.ResourceName")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("ConfigResource.ResourceName", n - 1, end - at)
        try:
            resource_name = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("ConfigResource.ResourceName") from None
        at = stop
        if end - at < 2:
            raise cut_off("ConfigResource", "ResourceType=1 tags=1", end - at)
        resource_type, tags = _unpack_bB(data, at)
        at += 2
        if tags:
            at = skip_tags(data, at, end, tags, "ConfigResource")
        items.append(ConfigResource(resource_name, resource_type))
    return items, at


def _read_list_config_resources_response_1(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[ListConfigResourcesResponse], int]:
    items: list[ListConfigResourcesResponse] = []
    for _ in range(count):
        if end - at < 7:
            raise cut_off("ListConfigResourcesResponse", "ThrottleTimeMs=4 ErrorCode=2 ConfigResources=1", end - at)
        throttle_time_ms, error_code, n = _unpack_ihB(data, at)
        at += 7
        if n > 127:
            n, at = long_varint(data, at, end, n, "ListConfigResourcesResponse.ConfigResources")
        n -= 1
        room[0] -= n
        if n < 0 or 3 * n > end - at or room[0] < 0:
            raise bad_count("ListConfigResourcesResponse.ConfigResources", n, end - at, room[0])
        config_resources, at = _read_config_resource_1(data, at, end, room, n)
        if at >= end:
            raise cut_off("ListConfigResourcesResponse", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "ListConfigResourcesResponse")
        items.append(ListConfigResourcesResponse(throttle_time_ms, error_code, config_resources))
    return items, at


def _write_config_resource_0(items: Iterable[ConfigResource], out: list[Buffer]) -> None:
    for m in items:
        resource_name = m.resource_name
        content = resource_name.encode()
        n = len(content) + 1
        if n > 127:
            out.append(text_length_of(n))
        else:
            out.append(ONE_BYTE[n])
        out.append(content)
        out.append(ONE_BYTE[0])


def _write_list_config_resources_response_0(items: Iterable[ListConfigResourcesResponse], out: list[Buffer]) -> None:
    for m in items:
        config_resources = m.config_resources
        n = len(config_resources) + 1
        if n > 127:
            out.append(_pack_ih(m.throttle_time_ms, m.error_code) + varint_of(n))
        else:
            out.append(_pack_ihB(m.throttle_time_ms, m.error_code, n))
        if config_resources:
            _write_config_resource_0(config_resources, out)
        out.append(ONE_BYTE[0])


def _write_config_resource_1(items: Iterable[ConfigResource], out: list[Buffer]) -> None:
    for m in items:
        resource_name = m.resource_name
        content = resource_name.encode()
        n = len(content) + 1
        if n > 127:
            out.append(text_length_of(n))
        else:
            out.append(ONE_BYTE[n])
        out.append(content)
        out.append(_pack_bx(m.resource_type))


def _write_list_config_resources_response_1(items: Iterable[ListConfigResourcesResponse], out: list[Buffer]) -> None:
    for m in items:
        config_resources = m.config_resources
        n = len(config_resources) + 1
        if n > 127:
            out.append(_pack_ih(m.throttle_time_ms, m.error_code) + varint_of(n))
        else:
            out.append(_pack_ihB(m.throttle_time_ms, m.error_code, n))
        if config_resources:
            _write_config_resource_1(config_resources, out)
        out.append(ONE_BYTE[0])


ListConfigResourcesResponse._READERS = {
    **dict.fromkeys(range(0, 1), _read_list_config_resources_response_0),
    **dict.fromkeys(range(1, 2), _read_list_config_resources_response_1),
}
ListConfigResourcesResponse._WRITERS = {
    **dict.fromkeys(range(0, 1), _write_list_config_resources_response_0),
    **dict.fromkeys(range(1, 2), _write_list_config_resources_response_1),
}
