"""ListTransactionsResponse of Kafka's protocol.

Generated from proto/kafka/list_transactions.schema; do not edit.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import ClassVar

import msgspec

from tidelog.kafka.message import Message
from tidelog.kafka.wire import ONE_BYTE, Buffer, bad_count, bad_length, cut_off, long_text, long_varint, not_utf8, read_compact_texts, skip_tags, text_length_of, varint_of, write_compact_texts


class ListTransactionsResponse(Message, gc=False):
    """Response of API 66, versions 0-2."""

    API_KEY: ClassVar[int] = 66
    VERSIONS: ClassVar[range] = range(0, 3)
    FLEXIBLE: ClassVar[range] = range(0, 3)

    throttle_time_ms: int = 0
    error_code: int = 0
    unknown_state_filters: list[str] = []
    transaction_states: list[TransactionState] = []


class TransactionState(msgspec.Struct, gc=False):
    transactional_id: str = ""
    producer_id: int = 0
    transaction_state: str = ""


_unpack_ihB = Struct(">ihB").unpack_from
_unpack_qB = Struct(">qB").unpack_from
_pack_ih = Struct(">ih").pack
_pack_ihB = Struct(">ihB").pack
_pack_q = Struct(">q").pack
_pack_qB = Struct(">qB").pack


def _read_transaction_state_0(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[TransactionState], int]:
    items: list[TransactionState] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("TransactionState", "TransactionalId=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "TransactionState.TransactionalId")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("TransactionState.TransactionalId", n - 1, end - at)
        try:
            transactional_id = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("TransactionState.TransactionalId") from None
        at = stop
        if end - at < 9:
            raise cut_off("TransactionState", "ProducerId=8 TransactionState=1", end - at)
        producer_id, n = _unpack_qB(data, at)
        at += 9
        if n > 127:
            n, at = long_text(data, at, end, n, "TransactionState.TransactionState")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("TransactionState.TransactionState", n - 1, end - at)
        try:
            transaction_state = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("TransactionState.TransactionState") from None
        at = stop
        if at >= end:
            raise cut_off("TransactionState", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "TransactionState")
        items.append(TransactionState(transactional_id, producer_id, transaction_state))
    return items, at


def _read_list_transactions_response_0(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[ListTransactionsResponse], int]:
    items: list[ListTransactionsResponse] = []
    for _ in range(count):
        if end - at < 7:
            raise cut_off("ListTransactionsResponse", "ThrottleTimeMs=4 ErrorCode=2 UnknownStateFilters=1", end - at)
        throttle_time_ms, error_code, n = _unpack_ihB(data, at)
        at += 7
        if n > 127:
            n, at = long_varint(data, at, end, n, "ListTransactionsResponse.UnknownStateFilters")
        n -= 1
        room[0] -= n
        if n < 0 or n > end - at or room[0] < 0:
            raise bad_count("ListTransactionsResponse.UnknownStateFilters", n, end - at, room[0])
        unknown_state_filters, at = read_compact_texts(data, at, end, n, "ListTransactionsResponse.UnknownStateFilters")
        if at >= end:
            raise cut_off("ListTransactionsResponse", "TransactionStates=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "ListTransactionsResponse.TransactionStates")
        n -= 1
        room[0] -= n
        if n < 0 or 11 * n > end - at or room[0] < 0:
            raise bad_count("ListTransactionsResponse.TransactionStates", n, end - at, room[0])
        transaction_states, at = _read_transaction_state_0(data, at, end, room, n)
        if at >= end:
            raise cut_off("ListTransactionsResponse", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "ListTransactionsResponse")
        items.append(ListTransactionsResponse(throttle_time_ms, error_code, unknown_state_filters, transaction_states))
    return items, at


def _write_transaction_state_0(items: Iterable[TransactionState], out: list[Buffer]) -> None:
    for m in items:
        transactional_id = m.transactional_id
        content = transactional_id.encode()
        n = len(content) + 1
        if n > 127:
            out.append(text_length_of(n))
        else:
            out.append(ONE_BYTE[n])
        out.append(content)
        transaction_state = m.transaction_state
        content = transaction_state.encode()
        n = len(content) + 1
        if n > 127:
            out.append(_pack_q(m.producer_id) + text_length_of(n))
        else:
            out.append(_pack_qB(m.producer_id, n))
        out.append(content)
        out.append(ONE_BYTE[0])


def _write_list_transactions_response_0(items: Iterable[ListTransactionsResponse], out: list[Buffer]) -> None:
    for m in items:
        unknown_state_filters = m.unknown_state_filters
        n = len(unknown_state_filters) + 1
        if n > 127:
            out.append(_pack_ih(m.throttle_time_ms, m.error_code) + varint_of(n))
        else:
            out.append(_pack_ihB(m.throttle_time_ms, m.error_code, n))
        if unknown_state_filters:
            write_compact_texts(unknown_state_filters, out)
        transaction_states = m.transaction_states
        n = len(transaction_states) + 1
        if n > 127:
            out.append(varint_of(n))
        else:
            out.append(ONE_BYTE[n])
        if transaction_states:
            _write_transaction_state_0(transaction_states, out)
        out.append(ONE_BYTE[0])


ListTransactionsResponse._READERS = {
    **dict.fromkeys(range(0, 3), _read_list_transactions_response_0),
}
ListTransactionsResponse._WRITERS = {
    **dict.fromkeys(range(0, 3), _write_list_transactions_response_0),
}
