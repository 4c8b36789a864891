"""The batches of aborted transactions in an answer, found by their headers."""

from __future__ import annotations

import pytest
from tests.log.cleaned_logs import but
from tests.log.partition_logs import Producer, batch
from tests.log.transaction_logs import transactional

from tidelog.client.consuming.isolation import aborted_batches, level_of
from tidelog.client.errors import ClientConfigError
from tidelog.records.batch import (
    CONTROL_FLAG,
    TRANSACTIONAL_FLAG,
    BatchHeader,
    parse_header,
)
from tidelog.v1.data_pb2 import AbortedTransaction

ONE, TWO = 70, 71


def at(offset: int, data: bytes) -> BatchHeader:
    return parse_header(offset.to_bytes(8, "big") + data[8:], 0)


def sent(offset: int, producer_id: int, *values: bytes) -> BatchHeader:
    return at(offset, transactional(*(values or (b"x",)), producer=Producer(producer_id, 0, 0)))


def marker(offset: int, producer_id: int) -> BatchHeader:
    plain = batch(b"x", producer=Producer(producer_id, 1, -1))
    return at(offset, but(plain, attributes=TRANSACTIONAL_FLAG | CONTROL_FLAG))


def aborted(*found: tuple[int, int]) -> list[AbortedTransaction]:
    return [AbortedTransaction(producer_id=one, first_offset=offset) for one, offset in found]


def test_a_transaction_ends_at_its_producers_next_marker() -> None:
    headers = [
        sent(0, ONE),  # of an earlier, committed one
        marker(1, ONE),
        sent(2, ONE),
        sent(3, TWO),
        marker(4, TWO),
        sent(5, ONE),
        marker(6, ONE),
        sent(7, ONE),
        marker(8, ONE),
        sent(9, ONE),
    ]
    assert aborted_batches(headers, aborted((ONE, 2))) == {2, 5}
    assert aborted_batches(headers, aborted((ONE, 9), (ONE, 2), (TWO, 3))) == {2, 3, 5, 9}
    assert aborted_batches(headers, []) == set()


def test_an_answer_may_begin_within_a_transaction_or_within_its_first_batch() -> None:
    headers = [sent(10, ONE, b"x", b"y", b"z"), sent(13, TWO), marker(14, ONE), sent(15, ONE)]
    assert aborted_batches(headers, aborted((ONE, 3))) == {10}
    assert aborted_batches(headers, aborted((ONE, 10))) == {10}


def test_what_a_producer_wrote_without_a_transaction_stays() -> None:
    plain = at(5, batch(b"x", producer=Producer(ONE, 0, 0)))
    assert aborted_batches([sent(4, ONE), plain], aborted((ONE, 4))) == {4}


def test_a_level_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ClientConfigError, match='"read_uncommitted" or "read_committed"'):
        level_of("committed")
