"""ConsumerGroupDescribeRequest of Kafka's protocol.

Generated from proto/kafka/consumer_group_describe.schema; do not edit.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import ClassVar

from tidelog.kafka.message import Message
from tidelog.kafka.wire import ONE_BYTE, Buffer, bad_count, cut_off, long_varint, read_compact_texts, skip_tags, varint_of, write_compact_texts


class ConsumerGroupDescribeRequest(Message, gc=False):
    """Request of API 69, versions 0-1."""

    API_KEY: ClassVar[int] = 69
    VERSIONS: ClassVar[range] = range(0, 2)
    FLEXIBLE: ClassVar[range] = range(0, 2)

    group_ids: list[str] = []
    include_authorized_operations: bool = False


_unpack_tB = Struct(">?B").unpack_from
_pack_tx = Struct(">?x").pack


def _read_consumer_group_describe_request_0(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[ConsumerGroupDescribeRequest], int]:
    items: list[ConsumerGroupDescribeRequest] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("ConsumerGroupDescribeRequest", "GroupIds=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "ConsumerGroupDescribeRequest.GroupIds")
        n -= 1
        room[0] -= n
        if n < 0 or n > end - at or room[0] < 0:
            raise bad_count("ConsumerGroupDescribeRequest.GroupIds", n, end - at, room[0])
        group_ids, at = read_compact_texts(data, at, end, n, "ConsumerGroupDescribeRequest.GroupIds")
        if end - at < 2:
            raise cut_off("ConsumerGroupDescribeRequest", "IncludeAuthorizedOperations=1 tags=1", end - at)
        include_authorized_operations, tags = _unpack_tB(data, at)
        at += 2
        if tags:
            at = skip_tags(data, at, end, tags, "ConsumerGroupDescribeRequest")
        items.append(ConsumerGroupDescribeRequest(group_ids, include_authorized_operations))
    return items, at


def _write_consumer_group_describe_request_0(items: Iterable[ConsumerGroupDescribeRequest], out: list[Buffer]) -> None:
    for m in items:
        group_ids = m.group_ids
        n = len(group_ids) + 1
        if n > 127:
            out.append(varint_of(n))
        else:
            out.append(ONE_BYTE[n])
        if group_ids:
            write_compact_texts(group_ids, out)
        out.append(_pack_tx(m.include_authorized_operations))


ConsumerGroupDescribeRequest._READERS = {
    **dict.fromkeys(range(0, 2), _read_consumer_group_describe_request_0),
}
ConsumerGroupDescribeRequest._WRITERS = {
    **dict.fromkeys(range(0, 2), _write_consumer_group_describe_request_0),
}
