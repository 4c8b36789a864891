"""ApiVersionsRequest of Kafka's protocol.

Generated from proto/kafka/api_versions.schema; do not edit.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import ClassVar

from tidelog.kafka.message import Message
from tidelog.kafka.wire import ONE_BYTE, Buffer, bad_length, cut_off, long_text, not_utf8, skip_tags, text_length_of


class ApiVersionsRequest(Message, gc=False):
    """Request of API 18, versions 0-4."""

    API_KEY: ClassVar[int] = 18
    VERSIONS: ClassVar[range] = range(0, 5)
    FLEXIBLE: ClassVar[range] = range(3, 5)

    client_software_name: str = ""
    client_software_version: str = ""




def _read_api_versions_request_0(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[ApiVersionsRequest], int]:
    items: list[ApiVersionsRequest] = []
    for _ in range(count):
        items.append(ApiVersionsRequest())
    return items, at


def _read_api_versions_request_3(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[ApiVersionsRequest], int]:
    items: list[ApiVersionsRequest] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("ApiVersionsRequest", "ClientSoftwareName=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "ApiVersionsRequest.ClientSoftwareName")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("ApiVersionsRequest.ClientSoftwareName", n - 1, end - at)
        try:
            client_software_name = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("ApiVersionsRequest.ClientSoftwareName") from None
        at = stop
        if at >= end:
            raise cut_off("ApiVersionsRequest", "ClientSoftwareVersion=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "ApiVersionsRequest.ClientSoftwareVersion")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("ApiVersionsRequest.ClientSoftwareVersion", n - 1, end - at)
        try:
            client_software_version = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("ApiVersionsRequest.ClientSoftwareVersion") from None
        at = stop
        if at >= end:
            raise cut_off("ApiVersionsRequest", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "ApiVersionsRequest")
        items.append(ApiVersionsRequest(client_software_name, client_software_version))
    return items, at


def _write_api_versions_request_0(items: Iterable[ApiVersionsRequest], out: list[Buffer]) -> None:
    for m in items:
        pass


def _write_api_versions_request_3(items: Iterable[ApiVersionsRequest], out: list[Buffer]) -> None:
    for m in items:
        client_software_name = m.client_software_name
        content = client_software_name.encode()
        n = len(content) + 1
        if n > 127:
            out.append(text_length_of(n))
        else:
            out.append(ONE_BYTE[n])
        out.append(content)
        client_software_version = m.client_software_version
        content = client_software_version.encode()
        n = len(content) + 1
        if n > 127:
            out.append(text_length_of(n))
        else:
            out.append(ONE_BYTE[n])
        out.append(content)
        out.append(ONE_BYTE[0])


ApiVersionsRequest._READERS = {
    **dict.fromkeys(range(0, 3), _read_api_versions_request_0),
    **dict.fromkeys(range(3, 5), _read_api_versions_request_3),
}
ApiVersionsRequest._WRITERS = {
    **dict.fromkeys(range(0, 3), _write_api_versions_request_0),
    **dict.fromkeys(range(3, 5), _write_api_versions_request_3),
}
