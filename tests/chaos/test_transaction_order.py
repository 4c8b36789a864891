"""The order of transactions in a log: each rule speaks when it is broken, only then."""

from __future__ import annotations

import pytest

from tidelog.chaos.invariants.transaction_order import TransactionOrder, rebuilt_aborted
from tidelog.records.batch import CONTROL_FLAG, TRANSACTIONAL_FLAG, BatchHeader, parse_header
from tidelog.records.records import ControlMarker, Record, encode_batch, encode_marker

PRODUCER = 7


def a_batch(
    offset: int, epoch: int, sequence: int = 0, *, flags: int = TRANSACTIONAL_FLAG
) -> BatchHeader:
    """One record of the producer."""
    plain = parse_header(encode_batch([Record(0, 0, None, b"v")]))
    return plain._replace(
        base_offset=offset,
        attributes=flags,
        producer_id=PRODUCER,
        producer_epoch=epoch,
        base_sequence=sequence,
    )


def a_marker(offset: int, epoch: int) -> BatchHeader:
    flags = TRANSACTIONAL_FLAG | CONTROL_FLAG
    return a_batch(offset, epoch, -1, flags=flags)


def broken(*headers: BatchHeader) -> list[str]:
    order = TransactionOrder()
    return [invariant for one in headers for invariant, _ in order.follow("t-0", one)]


RIGHT = (a_batch(0, 0), a_batch(1, 0, 1), a_marker(2, 1), a_batch(3, 1), a_marker(4, 2))


def test_transactions_in_order_are_right() -> None:
    assert broken(*RIGHT) == []
    assert broken(*RIGHT, a_marker(5, 2), a_batch(6, 2)) == []  # where nothing was open
    assert broken(a_batch(0, 0, flags=0), a_batch(1, 0, 1, flags=0)) == []


@pytest.mark.parametrize(
    ("headers", "invariant"),
    [
        ((a_batch(0, 0), a_marker(1, 0)), "I21"),
        ((*RIGHT, a_batch(5, 1)), "I21"),
        ((*RIGHT, a_marker(5, 1)), "I21"),
        ((a_batch(0, 0), a_batch(1, 1)), "I22"),
        ((a_batch(0, 0), a_batch(1, 0, 1, flags=0)), "I22"),
        ((*RIGHT, a_batch(5, 2, 1)), "I20"),
        ((a_batch(0, 0), a_batch(1, 0)), "I20"),
    ],
    ids=[
        "a marker of the old epoch",
        "a batch of an epoch that ended",
        "a marker of an epoch that ended",
        "two epochs in one transaction",
        "a batch beside its producer's transaction",
        "an epoch that begins at 1",
        "a sequence twice",
    ],
)
def test_each_rule_speaks(headers: tuple[BatchHeader, ...], invariant: str) -> None:
    assert broken(*headers) == [invariant]


def test_a_transaction_is_open_until_its_marker() -> None:
    order = TransactionOrder()
    for header in RIGHT[:2]:
        assert list(order.follow("t-0", header)) == []
    assert order.first_open_offset == 0
    list(order.follow("t-0", RIGHT[2]))
    assert order.first_open_offset is None


def test_aborted_transactions_are_rebuilt_from_their_batches() -> None:
    def marker(offset: int, epoch: int, *, is_commit: bool) -> tuple[BatchHeader, memoryview]:
        batch = encode_marker(
            ControlMarker(is_commit, 1), producer_id=PRODUCER, producer_epoch=epoch, timestamp_ms=0
        )
        return parse_header(batch)._replace(base_offset=offset), memoryview(batch)

    nothing = memoryview(b"")
    batches = [
        (a_batch(0, 0), nothing),
        marker(1, 1, is_commit=True),
        (a_batch(2, 1), nothing),
        marker(3, 2, is_commit=False),
        marker(4, 3, is_commit=False),
    ]

    assert rebuilt_aborted(batches) == [(PRODUCER, 2)]
