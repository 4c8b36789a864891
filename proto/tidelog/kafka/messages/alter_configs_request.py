"""AlterConfigsRequest of Kafka's protocol.

Generated from proto/kafka/alter_configs.schema; do not edit.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import ClassVar

import msgspec

from tidelog.kafka.message import Message
from tidelog.kafka.wire import ONE_BYTE, Buffer, bad_count, bad_length, cut_off, long_text, long_varint, not_utf8, skip_tags, text_length_of, varint_of


class AlterConfigsRequest(Message, gc=False):
    """Request of API 33, versions 0-2."""

    API_KEY: ClassVar[int] = 33
    VERSIONS: ClassVar[range] = range(0, 3)
    FLEXIBLE: ClassVar[range] = range(2, 3)

    resources: list[AlterConfigsResource] = []
    validate_only: bool = False


class AlterConfigsResource(msgspec.Struct, gc=False):
    resource_type: int = 0
    resource_name: str = ""
    configs: list[AlterableConfig] = []


class AlterableConfig(msgspec.Struct, gc=False):
    name: str = ""
    value: str | None = ""


_unpack_t = Struct(">?").unpack_from
_unpack_tB = Struct(">?B").unpack_from
_unpack_bB = Struct(">bB").unpack_from
_unpack_bh = Struct(">bh").unpack_from
_unpack_h = Struct(">h").unpack_from
_unpack_i = Struct(">i").unpack_from
_pack_t = Struct(">?").pack
_pack_tx = Struct(">?x").pack
_pack_b = Struct(">b").pack
_pack_bB = Struct(">bB").pack
_pack_bh = Struct(">bh").pack
_pack_h = Struct(">h").pack
_pack_i = Struct(">i").pack


def _read_alterable_config_0(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[AlterableConfig], int]:
    items: list[AlterableConfig] = []
    for _ in range(count):
        if end - at < 2:
            raise cut_off("AlterableConfig", "Name=2", end - at)
        n = _unpack_h(data, at)[0]
        at += 2
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("AlterableConfig.Name", n, end - at)
        try:
            name = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("AlterableConfig.Name") from None
        at = stop
        if end - at < 2:
            raise cut_off("AlterableConfig", "Value=2", end - at)
        n = _unpack_h(data, at)[0]
        at += 2
        if n == -1:
            value = None
        else:
            stop = at + n
            if n < 0 or stop > end:
                raise bad_length("AlterableConfig.Value", n, end - at)
            try:
                value = data[at:stop].decode()
            except UnicodeDecodeError:
                raise not_utf8("AlterableConfig.Value") from None
            at = stop
        items.append(AlterableConfig(name, value))
    return items, at


def _read_alter_configs_resource_0(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[AlterConfigsResource], int]:
    items: list[AlterConfigsResource] = []
    for _ in range(count):
        if end - at < 3:
            raise cut_off("AlterConfigsResource", "ResourceType=1 ResourceName=2", end - at)
        resource_type, n = _unpack_bh(data, at)
        at += 3
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("AlterConfigsResource.ResourceName", n, end - at)
        try:
            resource_name = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("AlterConfigsResource.ResourceName") from None
        at = stop
        if end - at < 4:
            raise cut_off("AlterConfigsResource", "Configs=4", end - at)
        n = _unpack_i(data, at)[0]
        at += 4
        room[0] -= n
        if n < 0 or 4 * n > end - at or room[0] < 0:
            raise bad_count("AlterConfigsResource.Configs", n, end - at, room[0])
        configs, at = _read_alterable_config_0(data, at, end, room, n)
        items.append(AlterConfigsResource(resource_type, resource_name, configs))
    return items, at


def _read_alter_configs_request_0(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[AlterConfigsRequest], int]:
    items: list[AlterConfigsRequest] = []
    for _ in range(count):
        if end - at < 4:
            raise cut_off("AlterConfigsRequest", "Resources=4", end - at)
        n = _unpack_i(data, at)[0]
        at += 4
        room[0] -= n
        if n < 0 or 7 * n > end - at or room[0] < 0:
            raise bad_count("AlterConfigsRequest.Resources", n, end - at, room[0])
        resources, at = _read_alter_configs_resource_0(data, at, end, room, n)
        if at >= end:
            raise cut_off("AlterConfigsRequest", "ValidateOnly=1", end - at)
        validate_only = _unpack_t(data, at)[0]
        at += 1
        items.append(AlterConfigsRequest(resources, validate_only))
    return items, at


def _read_alterable_config_2(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[AlterableConfig], int]:
    items: list[AlterableConfig] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("AlterableConfig", "Name=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "AlterableConfig.Name")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("AlterableConfig.Name", n - 1, end - at)
        try:
            name = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("AlterableConfig.Name") from None
        at = stop
        if at >= end:
            raise cut_off("AlterableConfig", "Value=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "AlterableConfig.Value")
        if n == 0:
            value = None
        else:
            stop = at + n - 1
            if n < 1 or stop > end:
                raise bad_length("AlterableConfig.Value", n - 1, end - at)
            try:
                value = data[at:stop].decode()
            except UnicodeDecodeError:
                raise not_utf8("AlterableConfig.Value") from None
            at = stop
        if at >= end:
            raise cut_off("AlterableConfig", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "AlterableConfig")
        items.append(AlterableConfig(name, value))
    return items, at


def _read_alter_configs_resource_2(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[AlterConfigsResource], int]:
    items: list[AlterConfigsResource] = []
    for _ in range(count):
        if end - at < 2:
            raise cut_off("AlterConfigsResource", "ResourceType=1 ResourceName=1", end - at)
        resource_type, n = _unpack_bB(data, at)
        at += 2
        if n > 127:
            n, at = long_text(data, at, end, n, "AlterConfigsResource.ResourceName")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("AlterConfigsResource.ResourceName", n - 1, end - at)
        try:
            resource_name = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("AlterConfigsResource.ResourceName") from None
        at = stop
        if at >= end:
            raise cut_off("AlterConfigsResource", "Configs=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "AlterConfigsResource.Configs")
        n -= 1
        room[0] -= n
        if n < 0 or 3 * n > end - at or room[0] < 0:
            raise bad_count("AlterConfigsResource.Configs", n, end - at, room[0])
        configs, at = _read_alterable_config_2(data, at, end, room, n)
        if at >= end:
            raise cut_off("AlterConfigsResource", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "AlterConfigsResource")
        items.append(AlterConfigsResource(resource_type, resource_name, configs))
    return items, at


def _read_alter_configs_request_2(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[AlterConfigsRequest], int]:
    items: list[AlterConfigsRequest] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("AlterConfigsRequest", "Resources=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "AlterConfigsRequest.Resources")
        n -= 1
        room[0] -= n
        if n < 0 or 4 * n > end - at or room[0] < 0:
            raise bad_count("AlterConfigsRequest.Resources", n, end - at, room[0])
        resources, at = _read_alter_configs_resource_2(data, at, end, room, n)
        if end - at < 2:
            raise cut_off("AlterConfigsRequest", "ValidateOnly=1 tags=1", end - at)
        validate_only, tags = _unpack_tB(data, at)
        at += 2
        if tags:
            at = skip_tags(data, at, end, tags, "AlterConfigsRequest")
        items.append(AlterConfigsRequest(resources, validate_only))
    return items, at


def _write_alterable_config_0(items: Iterable[AlterableConfig], out: list[Buffer]) -> None:
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


def _write_alter_configs_resource_0(items: Iterable[AlterConfigsResource], out: list[Buffer]) -> None:
    for m in items:
        resource_name = m.resource_name
        content = resource_name.encode()
        n = len(content)
        out.append(_pack_bh(m.resource_type, n))
        out.append(content)
        configs = m.configs
        n = len(configs)
        out.append(_pack_i(n))
        if configs:
            _write_alterable_config_0(configs, out)


def _write_alter_configs_request_0(items: Iterable[AlterConfigsRequest], out: list[Buffer]) -> None:
    for m in items:
        resources = m.resources
        n = len(resources)
        out.append(_pack_i(n))
        if resources:
            _write_alter_configs_resource_0(resources, out)
        out.append(_pack_t(m.validate_only))


def _write_alterable_config_2(items: Iterable[AlterableConfig], out: list[Buffer]) -> None:
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
        out.append(ONE_BYTE[0])


def _write_alter_configs_resource_2(items: Iterable[AlterConfigsResource], out: list[Buffer]) -> None:
    for m in items:
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
            _write_alterable_config_2(configs, out)
        out.append(ONE_BYTE[0])


def _write_alter_configs_request_2(items: Iterable[AlterConfigsRequest], out: list[Buffer]) -> None:
    for m in items:
        resources = m.resources
        n = len(resources) + 1
        if n > 127:
            out.append(varint_of(n))
        else:
            out.append(ONE_BYTE[n])
        if resources:
            _write_alter_configs_resource_2(resources, out)
        out.append(_pack_tx(m.validate_only))


AlterConfigsRequest._READERS = {
    **dict.fromkeys(range(0, 2), _read_alter_configs_request_0),
    **dict.fromkeys(range(2, 3), _read_alter_configs_request_2),
}
AlterConfigsRequest._WRITERS = {
    **dict.fromkeys(range(0, 2), _write_alter_configs_request_0),
    **dict.fromkeys(range(2, 3), _write_alter_configs_request_2),
}
