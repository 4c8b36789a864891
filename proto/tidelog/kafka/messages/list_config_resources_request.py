"""ListConfigResourcesRequest of Kafka's protocol.

Generated from proto/kafka/list_config_resources.schema; do not edit.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import ClassVar

from tidelog.kafka.message import Message
from tidelog.kafka.wire import ONE_BYTE, Buffer, bad_count, cut_off, long_varint, packer, read_numbers, skip_tags, varint_of


class ListConfigResourcesRequest(Message, gc=False):
    """Request of API 74, versions 0-1."""

    API_KEY: ClassVar[int] = 74
    VERSIONS: ClassVar[range] = range(0, 2)
    FLEXIBLE: ClassVar[range] = range(0, 2)

    resource_types: list[int] = []




def _read_list_config_resources_request_0(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[ListConfigResourcesRequest], int]:
    items: list[ListConfigResourcesRequest] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("ListConfigResourcesRequest", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "ListConfigResourcesRequest")
        items.append(ListConfigResourcesRequest())
    return items, at


def _read_list_config_resources_request_1(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[ListConfigResourcesRequest], int]:
    items: list[ListConfigResourcesRequest] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("ListConfigResourcesRequest", "ResourceTypes=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "ListConfigResourcesRequest.ResourceTypes")
        n -= 1
        room[0] -= n
        if n < 0 or n > end - at or room[0] < 0:
            raise bad_count("ListConfigResourcesRequest.ResourceTypes", n, end - at, room[0])
        resource_types = read_numbers(data, at, n, "b")
        at += n
        if at >= end:
            raise cut_off("ListConfigResourcesRequest", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "ListConfigResourcesRequest")
        items.append(ListConfigResourcesRequest(resource_types))
    return items, at


def _write_list_config_resources_request_0(items: Iterable[ListConfigResourcesRequest], out: list[Buffer]) -> None:
    for m in items:
        out.append(ONE_BYTE[0])


def _write_list_config_resources_request_1(items: Iterable[ListConfigResourcesRequest], out: list[Buffer]) -> None:
    for m in items:
        resource_types = m.resource_types
        n = len(resource_types) + 1
        if n > 127:
            out.append(varint_of(n))
        else:
            out.append(ONE_BYTE[n])
        if resource_types:
            out.append(packer(len(resource_types), "b")(*resource_types))
        out.append(ONE_BYTE[0])


ListConfigResourcesRequest._READERS = {
    **dict.fromkeys(range(0, 1), _read_list_config_resources_request_0),
    **dict.fromkeys(range(1, 2), _read_list_config_resources_request_1),
}
ListConfigResourcesRequest._WRITERS = {
    **dict.fromkeys(range(0, 1), _write_list_config_resources_request_0),
    **dict.fromkeys(range(1, 2), _write_list_config_resources_request_1),
}
