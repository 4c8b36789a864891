"""DescribeTransactionsRequest of Kafka's protocol.

Generated from proto/kafka/describe_transactions.schema; do not edit.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import ClassVar

from tidelog.kafka.message import Message
from tidelog.kafka.wire import ONE_BYTE, Buffer, bad_count, cut_off, long_varint, read_compact_texts, skip_tags, varint_of, write_compact_texts


class DescribeTransactionsRequest(Message, gc=False):
    """Request of API 65, versions 0."""

    API_KEY: ClassVar[int] = 65
    VERSIONS: ClassVar[range] = range(0, 1)
    FLEXIBLE: ClassVar[range] = range(0, 1)

    transactional_ids: list[str] = []




def _read_describe_transactions_request_0(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[DescribeTransactionsRequest], int]:
    items: list[DescribeTransactionsRequest] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("DescribeTransactionsRequest", "TransactionalIds=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "DescribeTransactionsRequest.TransactionalIds")
        n -= 1
        room[0] -= n
        if n < 0 or n > end - at or room[0] < 0:
            raise bad_count("DescribeTransactionsRequest.TransactionalIds", n, end - at, room[0])
        transactional_ids, at = read_compact_texts(data, at, end, n, "DescribeTransactionsRequest.TransactionalIds")
        if at >= end:
            raise cut_off("DescribeTransactionsRequest", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "DescribeTransactionsRequest")
        items.append(DescribeTransactionsRequest(transactional_ids))
    return items, at


def _write_describe_transactions_request_0(items: Iterable[DescribeTransactionsRequest], out: list[Buffer]) -> None:
    for m in items:
        transactional_ids = m.transactional_ids
        n = len(transactional_ids) + 1
        if n > 127:
            out.append(varint_of(n))
        else:
            out.append(ONE_BYTE[n])
        if transactional_ids:
            write_compact_texts(transactional_ids, out)
        out.append(ONE_BYTE[0])


DescribeTransactionsRequest._READERS = {
    **dict.fromkeys(range(0, 1), _read_describe_transactions_request_0),
}
DescribeTransactionsRequest._WRITERS = {
    **dict.fromkeys(range(0, 1), _write_describe_transactions_request_0),
}
