"""RequestHeader of Kafka's protocol.

Generated from proto/kafka/headers.schema; do not edit.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import ClassVar

from tidelog.kafka.message import Message
from tidelog.kafka.wire import ONE_BYTE, Buffer, bad_length, cut_off, not_utf8, skip_tags


class RequestHeader(Message, gc=False):
    """Header, versions 1-2."""

    VERSIONS: ClassVar[range] = range(1, 3)
    FLEXIBLE: ClassVar[range] = range(2, 3)

    request_api_key: int = 0
    request_api_version: int = 0
    correlation_id: int = 0
    client_id: str | None = ""


_unpack_hhih = Struct(">hhih").unpack_from
_pack_hhih = Struct(">hhih").pack


def _read_request_header_1(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[RequestHeader], int]:
    items: list[RequestHeader] = []
    for _ in range(count):
        if end - at < 10:
            raise cut_off("RequestHeader", "RequestApiKey=2 RequestApiVersion=2 CorrelationId=4 ClientId=2", end - at)
        request_api_key, request_api_version, correlation_id, n = _unpack_hhih(data, at)
        at += 10
        if n == -1:
            client_id = None
        else:
            stop = at + n
            if n < 0 or stop > end:
                raise bad_length("RequestHeader.ClientId", n, end - at)
            try:
                client_id = data[at:stop].decode()
            except UnicodeDecodeError:
                raise not_utf8("RequestHeader.ClientId") from None
            at = stop
        items.append(RequestHeader(request_api_key, request_api_version, correlation_id, client_id))
    return items, at


def _read_request_header_2(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[RequestHeader], int]:
    items: list[RequestHeader] = []
    for _ in range(count):
        if end - at < 10:
            raise cut_off("RequestHeader", "RequestApiKey=2 RequestApiVersion=2 CorrelationId=4 ClientId=2", end - at)
        request_api_key, request_api_version, correlation_id, n = _unpack_hhih(data, at)
        at += 10
        if n == -1:
            client_id = None
        else:
            stop = at + n
            if n < 0 or stop > end:
                raise bad_length("RequestHeader.ClientId", n, end - at)
            try:
                client_id = data[at:stop].decode()
            except UnicodeDecodeError:
                raise not_utf8("RequestHeader.ClientId") from None
            at = stop
        if at >= end:
            raise cut_off("RequestHeader", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "RequestHeader")
        items.append(RequestHeader(request_api_key, request_api_version, correlation_id, client_id))
    return items, at


def _write_request_header_1(items: Iterable[RequestHeader], out: list[Buffer]) -> None:
    for m in items:
        client_id = m.client_id
        if client_id is None:
            content = b""
            n = -1
        else:
            content = client_id.encode()
            n = len(content)
        out.append(_pack_hhih(m.request_api_key, m.request_api_version, m.correlation_id, n))
        out.append(content)


def _write_request_header_2(items: Iterable[RequestHeader], out: list[Buffer]) -> None:
    for m in items:
        client_id = m.client_id
        if client_id is None:
            content = b""
            n = -1
        else:
            content = client_id.encode()
            n = len(content)
        out.append(_pack_hhih(m.request_api_key, m.request_api_version, m.correlation_id, n))
        out.append(content)
        out.append(ONE_BYTE[0])


RequestHeader._READERS = {
    **dict.fromkeys(range(1, 2), _read_request_header_1),
    **dict.fromkeys(range(2, 3), _read_request_header_2),
}
RequestHeader._WRITERS = {
    **dict.fromkeys(range(1, 2), _write_request_header_1),
    **dict.fromkeys(range(2, 3), _write_request_header_2),
}
