"""ListTransactionsRequest of Kafka's protocol.

Generated from proto/kafka/list_transactions.schema; do not edit.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import ClassVar

from tidelog.kafka.message import Message
from tidelog.kafka.wire import ONE_BYTE, Buffer, bad_count, bad_length, cut_off, long_text, long_varint, not_utf8, packer, read_compact_texts, read_numbers, skip_tags, text_length_of, varint_of, write_compact_texts


class ListTransactionsRequest(Message, gc=False):
    """Request of API 66, versions 0-2."""

    API_KEY: ClassVar[int] = 66
    VERSIONS: ClassVar[range] = range(0, 3)
    FLEXIBLE: ClassVar[range] = range(0, 3)

    state_filters: list[str] = []
    producer_id_filters: list[int] = []
    duration_filter: int = -1
    transactional_id_pattern: str | None = None


_unpack_qB = Struct(">qB").unpack_from
_pack_q = Struct(">q").pack
_pack_qB = Struct(">qB").pack
_pack_qx = Struct(">qx").pack


def _read_list_transactions_request_0(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[ListTransactionsRequest], int]:
    items: list[ListTransactionsRequest] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("ListTransactionsRequest", "StateFilters=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "ListTransactionsRequest.StateFilters")
        n -= 1
        room[0] -= n
        if n < 0 or n > end - at or room[0] < 0:
            raise bad_count("ListTransactionsRequest.StateFilters", n, end - at, room[0])
        state_filters, at = read_compact_texts(data, at, end, n, "ListTransactionsRequest.StateFilters")
        if at >= end:
            raise cut_off("ListTransactionsRequest", "ProducerIdFilters=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "ListTransactionsRequest.ProducerIdFilters")
        n -= 1
        room[0] -= n
        if n < 0 or 8 * n > end - at or room[0] < 0:
            raise bad_count("ListTransactionsRequest.ProducerIdFilters", n, end - at, room[0])
        producer_id_filters = read_numbers(data, at, n, "q")
        at += 8 * n
        if at >= end:
            raise cut_off("ListTransactionsRequest", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "ListTransactionsRequest")
        items.append(ListTransactionsRequest(state_filters, producer_id_filters))
    return items, at


def _read_list_transactions_request_1(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[ListTransactionsRequest], int]:
    items: list[ListTransactionsRequest] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("ListTransactionsRequest", "StateFilters=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "ListTransactionsRequest.StateFilters")
        n -= 1
        room[0] -= n
        if n < 0 or n > end - at or room[0] < 0:
            raise bad_count("ListTransactionsRequest.StateFilters", n, end - at, room[0])
        state_filters, at = read_compact_texts(data, at, end, n, "ListTransactionsRequest.StateFilters")
        if at >= end:
            raise cut_off("ListTransactionsRequest", "ProducerIdFilters=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "ListTransactionsRequest.ProducerIdFilters")
        n -= 1
        room[0] -= n
        if n < 0 or 8 * n > end - at or room[0] < 0:
            raise bad_count("ListTransactionsRequest.ProducerIdFilters", n, end - at, room[0])
        producer_id_filters = read_numbers(data, at, n, "q")
        at += 8 * n
        if end - at < 9:
            raise cut_off("ListTransactionsRequest", "DurationFilter=8 tags=1", end - at)
        duration_filter, tags = _unpack_qB(data, at)
        at += 9
        if tags:
            at = skip_tags(data, at, end, tags, "ListTransactionsRequest")
        items.append(ListTransactionsRequest(state_filters, producer_id_filters, duration_filter))
    return items, at


def _read_list_transactions_request_2(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[ListTransactionsRequest], int]:
    items: list[ListTransactionsRequest] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("ListTransactionsRequest", "StateFilters=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "ListTransactionsRequest.StateFilters")
        n -= 1
        room[0] -= n
        if n < 0 or n > end - at or room[0] < 0:
            raise bad_count("ListTransactionsRequest.StateFilters", n, end - at, room[0])
        state_filters, at = read_compact_texts(data, at, end, n, "ListTransactionsRequest.StateFilters")
        if at >= end:
            raise cut_off("ListTransactionsRequest", "ProducerIdFilters=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "ListTransactionsRequest.ProducerIdFilters")
        n -= 1
        room[0] -= n
        if n < 0 or 8 * n > end - at or room[0] < 0:
            raise bad_count("ListTransactionsRequest.ProducerIdFilters", n, end - at, room[0])
        producer_id_filters = read_numbers(data, at, n, "q")
        at += 8 * n
        if end - at < 9:
            raise cut_off("ListTransactionsRequest", "DurationFilter=8 TransactionalIdPattern=1", end - at)
        duration_filter, n = _unpack_qB(data, at)
        at += 9
        if n > 127:
            n, at = long_text(data, at, end, n, "ListTransactionsRequest.TransactionalIdPattern")
        if n == 0:
            transactional_id_pattern = None
        else:
            stop = at + n - 1
            if n < 1 or stop > end:
                raise bad_length("ListTransactionsRequest.TransactionalIdPattern", n - 1, end - at)
            try:
                transactional_id_pattern = data[at:stop].decode()
            except UnicodeDecodeError:
                raise not_utf8("ListTransactionsRequest.TransactionalIdPattern") from None
            at = stop
        if at >= end:
            raise cut_off("ListTransactionsRequest", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "ListTransactionsRequest")
        items.append(ListTransactionsRequest(state_filters, producer_id_filters, duration_filter, transactional_id_pattern))
    return items, at


def _write_list_transactions_request_0(items: Iterable[ListTransactionsRequest], out: list[Buffer]) -> None:
    for m in items:
        state_filters = m.state_filters
        n = len(state_filters) + 1
        if n > 127:
            out.append(varint_of(n))
        else:
            out.append(ONE_BYTE[n])
        if state_filters:
            write_compact_texts(state_filters, out)
        producer_id_filters = m.producer_id_filters
        n = len(producer_id_filters) + 1
        if n > 127:
            out.append(varint_of(n))
        else:
            out.append(ONE_BYTE[n])
        if producer_id_filters:
            out.append(packer(len(producer_id_filters), "q")(*producer_id_filters))
        out.append(ONE_BYTE[0])


def _write_list_transactions_request_1(items: Iterable[ListTransactionsRequest], out: list[Buffer]) -> None:
    for m in items:
        state_filters = m.state_filters
        n = len(state_filters) + 1
        if n > 127:
            out.append(varint_of(n))
        else:
            out.append(ONE_BYTE[n])
        if state_filters:
            write_compact_texts(state_filters, out)
        producer_id_filters = m.producer_id_filters
        n = len(producer_id_filters) + 1
        if n > 127:
            out.append(varint_of(n))
        else:
            out.append(ONE_BYTE[n])
        if producer_id_filters:
            out.append(packer(len(producer_id_filters), "q")(*producer_id_filters))
        out.append(_pack_qx(m.duration_filter))


def _write_list_transactions_request_2(items: Iterable[ListTransactionsRequest], out: list[Buffer]) -> None:
    for m in items:
        state_filters = m.state_filters
        n = len(state_filters) + 1
        if n > 127:
            out.append(varint_of(n))
        else:
            out.append(ONE_BYTE[n])
        if state_filters:
            write_compact_texts(state_filters, out)
        producer_id_filters = m.producer_id_filters
        n = len(producer_id_filters) + 1
        if n > 127:
            out.append(varint_of(n))
        else:
            out.append(ONE_BYTE[n])
        if producer_id_filters:
            out.append(packer(len(producer_id_filters), "q")(*producer_id_filters))
        transactional_id_pattern = m.transactional_id_pattern
        if transactional_id_pattern is None:
            content = b""
            n = 0
        else:
            content = transactional_id_pattern.encode()
            n = len(content) + 1
        if n > 127:
            out.append(_pack_q(m.duration_filter) + text_length_of(n))
        else:
            out.append(_pack_qB(m.duration_filter, n))
        out.append(content)
        out.append(ONE_BYTE[0])


ListTransactionsRequest._READERS = {
    **dict.fromkeys(range(0, 1), _read_list_transactions_request_0),
    **dict.fromkeys(range(1, 2), _read_list_transactions_request_1),
    **dict.fromkeys(range(2, 3), _read_list_transactions_request_2),
}
ListTransactionsRequest._WRITERS = {
    **dict.fromkeys(range(0, 1), _write_list_transactions_request_0),
    **dict.fromkeys(range(1, 2), _write_list_transactions_request_1),
    **dict.fromkeys(range(2, 3), _write_list_transactions_request_2),
}
