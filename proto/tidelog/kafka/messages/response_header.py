"""ResponseHeader of Kafka's protocol.

Generated from proto/kafka/headers.schema; do not edit.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import ClassVar

from tidelog.kafka.message import Message
from tidelog.kafka.wire import Buffer, cut_off, skip_tags


class ResponseHeader(Message, gc=False):
    """Header, versions 0-1."""

    VERSIONS: ClassVar[range] = range(0, 2)
    FLEXIBLE: ClassVar[range] = range(1, 2)

    correlation_id: int = 0


_unpack_i = Struct(">i").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_pack_i = Struct(">i").pack
_pack_ix = Struct(">ix").pack


def _read_response_header_0(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[ResponseHeader], int]:
    items: list[ResponseHeader] = []
    for _ in range(count):
        if end - at < 4:
            raise cut_off("ResponseHeader", "CorrelationId=4", end - at)
        correlation_id = _unpack_i(data, at)[0]
        at += 4
        items.append(ResponseHeader(correlation_id))
    return items, at


def _read_response_header_1(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[ResponseHeader], int]:
    items: list[ResponseHeader] = []
    for _ in range(count):
        if end - at < 5:
            raise cut_off("ResponseHeader", "CorrelationId=4 tags=1", end - at)
        correlation_id, tags = _unpack_iB(data, at)
        at += 5
        if tags:
            at = skip_tags(data, at, end, tags, "ResponseHeader")
        items.append(ResponseHeader(correlation_id))
    return items, at


def _write_response_header_0(items: Iterable[ResponseHeader], out: list[Buffer]) -> None:
    for m in items:
        out.append(_pack_i(m.correlation_id))


def _write_response_header_1(items: Iterable[ResponseHeader], out: list[Buffer]) -> None:
    for m in items:
        out.append(_pack_ix(m.correlation_id))


ResponseHeader._READERS = {
    **dict.fromkeys(range(0, 1), _read_response_header_0),
    **dict.fromkeys(range(1, 2), _read_response_header_1),
}
ResponseHeader._WRITERS = {
    **dict.fromkeys(range(0, 1), _write_response_header_0),
    **dict.fromkeys(range(1, 2), _write_response_header_1),
}
