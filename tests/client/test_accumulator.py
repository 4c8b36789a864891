"""The accumulator: when batches are due, their order under retry, what the buffer holds."""

from __future__ import annotations

import pytest
from tests.client.ready_cases import ready

from tidelog.client.producing.accumulator import Accumulator, AccumulatorConfig
from tidelog.client.producing.batches import Batch
from tidelog.client.records import TopicPartition
from tidelog.records.batch import validate_batches
from tidelog.records.records import iter_records

TP = TopicPartition("t", 0)
OTHER = TopicPartition("t", 1)
MAX_BYTES = 1 << 20


def make(
    *, batch_size: int = 10_000, linger_ms: int = 5, buffer_memory: int = 100_000
) -> Accumulator[str]:
    return Accumulator(
        AccumulatorConfig(
            batch_size=batch_size,
            linger_ms=linger_ms,
            buffer_memory=buffer_memory,
            delivery_timeout_ms=1000,
        )
    )


def put(
    accumulator: Accumulator[str],
    *values: bytes,
    tp: TopicPartition = TP,
    now_ms: int = 0,
    waiter: str = "w",
) -> bool:
    return accumulator.append(
        tp, [(None, value) for value in values], timestamp_ms=7, waiter=waiter, now_ms=now_ms
    )


def values(batches: list[Batch[str]]) -> list[bytes | None]:
    return [record.value for batch in batches for record in iter_records(batch.data)]


def test_batch_is_ready_when_its_linger_is_over_and_not_before() -> None:
    accumulator = make(linger_ms=5)
    assert put(accumulator, b"a", now_ms=100)
    assert ready(accumulator, 104) == []
    assert accumulator.next_event_ms() == 105
    assert ready(accumulator, 105) == [TP]


def test_full_batch_is_ready_at_once() -> None:
    accumulator = make(batch_size=300, linger_ms=60_000)
    put(accumulator, b"x" * 100)
    assert ready(accumulator, 0) == []
    assert put(accumulator, b"x" * 100)
    assert ready(accumulator, 0) == [TP]


def test_records_join_the_open_batch_and_wake_nobody() -> None:
    accumulator = make()
    assert put(accumulator, b"a")
    assert not put(accumulator, b"b")
    accumulator.advance(5)
    assert values(accumulator.take(TP, max_bytes=MAX_BYTES)) == [b"a", b"b"]


def test_batches_never_exceed_the_batch_size_unless_one_record_does() -> None:
    accumulator = make(batch_size=500, linger_ms=0)
    put(accumulator, *[b"x" * 150] * 9, b"y" * 2000)
    accumulator.advance(0)
    batches = accumulator.take(TP, max_bytes=MAX_BYTES)
    assert all(len(b.data) <= 500 for b in batches[:-1])
    assert batches[-1].records_count == 1
    for batch in batches:
        validate_batches(batch.data, max_message_bytes=MAX_BYTES)


def test_while_a_batch_is_in_flight_nothing_else_of_its_partition_is_ready() -> None:
    accumulator = make(linger_ms=0)
    put(accumulator, b"a")
    put(accumulator, b"x", tp=OTHER)
    assert ready(accumulator, 0) == [TP, OTHER]
    taken = accumulator.take(TP, max_bytes=MAX_BYTES)
    put(accumulator, b"b")
    assert ready(accumulator, 1) == [OTHER]
    accumulator.complete(taken)
    assert TP in ready(accumulator, 1)


def test_failed_batch_goes_first_again_and_no_later_one_overtakes_it() -> None:
    accumulator = make(linger_ms=0)
    put(accumulator, b"a")
    accumulator.advance(0)
    taken = accumulator.take(TP, max_bytes=MAX_BYTES)
    put(accumulator, b"b", now_ms=1)
    accumulator.retry(taken, at_ms=50)
    assert ready(accumulator, 49) == []
    assert ready(accumulator, 50) == [TP]
    assert values(accumulator.take(TP, max_bytes=MAX_BYTES)) == [b"a", b"b"]


def test_take_bundles_batches_up_to_the_limit_in_order() -> None:
    accumulator = make(batch_size=300, linger_ms=0)
    put(accumulator, *[bytes([65 + i]) * 150 for i in range(6)])
    accumulator.advance(0)
    first = accumulator.take(TP, max_bytes=500)
    assert sum(len(b.data) for b in first) <= 500
    assert len(first) > 1
    accumulator.complete(first)
    rest = accumulator.take(TP, max_bytes=MAX_BYTES)
    assert values(first + rest) == [bytes([65 + i]) * 150 for i in range(6)]


def test_first_batch_is_taken_even_above_the_limit() -> None:
    accumulator = make(linger_ms=0)
    put(accumulator, b"x" * 5000)
    accumulator.advance(0)
    assert len(accumulator.take(TP, max_bytes=10)) == 1


def test_buffer_is_full_until_batches_complete() -> None:
    accumulator = make(buffer_memory=1000, linger_ms=0)
    assert accumulator.has_room(5000), "an empty buffer takes anything"
    put(accumulator, b"x" * 700)
    assert not accumulator.has_room(400)
    accumulator.advance(0)
    taken = accumulator.take(TP, max_bytes=MAX_BYTES)
    assert not accumulator.has_room(400)
    accumulator.complete(taken)
    assert accumulator.has_room(1000)


def test_expired_batches_leave_and_those_in_flight_stay() -> None:
    accumulator = make(linger_ms=0)
    put(accumulator, b"a", now_ms=0)
    accumulator.advance(0)
    taken = accumulator.take(TP, max_bytes=MAX_BYTES)
    put(accumulator, b"b", now_ms=1)
    put(accumulator, b"c", tp=OTHER, now_ms=2)
    assert accumulator.expire(1000) == []
    expired = accumulator.expire(1001)
    assert [b.tp for b in expired] == [TP]
    assert [b.place for b in expired] != [taken[0].place]
    accumulator.retry(taken, at_ms=1001)
    assert [b.place for b in accumulator.expire(1001)] == [taken[0].place]
    assert ready(accumulator, 1001) == [OTHER]


def test_each_waiter_has_the_runs_of_its_records() -> None:
    accumulator = make(batch_size=500, linger_ms=0)
    put(accumulator, b"a", waiter="first")
    put(accumulator, *[b"x" * 150] * 4, waiter="second")
    accumulator.advance(0)
    batches = accumulator.take(TP, max_bytes=MAX_BYTES)
    runs = [(run.waiter, run.first, run.records_count) for b in batches for run in b.runs]
    assert runs[0] == ("first", 0, 1)
    assert sum(count for waiter, _, count in runs if waiter == "second") == 4
    for batch in batches:
        assert sum(run.records_count for run in batch.runs) == batch.records_count


def test_split_halves_keep_order_waiters_and_buffer() -> None:
    accumulator = make(linger_ms=0)
    put(accumulator, b"a", b"b", waiter="first")
    put(accumulator, b"c", waiter="second")
    accumulator.advance(0)
    (batch,) = accumulator.take(TP, max_bytes=MAX_BYTES)
    accumulator.split(batch)
    assert ready(accumulator, 0) == [TP]
    halves = accumulator.take(TP, max_bytes=MAX_BYTES)
    assert [b.records_count for b in halves] == [1, 2]
    assert values(halves) == [b"a", b"b", b"c"]
    runs = [(run.waiter, run.first, run.records_count) for b in halves for run in b.runs]
    assert runs == [("first", 0, 1), ("first", 0, 1), ("second", 1, 1)]
    accumulator.complete(halves)
    assert accumulator.has_room(100_000)
    assert accumulator.incomplete == []


def test_flush_makes_everything_due_at_once() -> None:
    accumulator = make(linger_ms=60_000)
    put(accumulator, b"a")
    put(accumulator, b"b", tp=OTHER)
    accumulator.make_all_due()
    assert ready(accumulator, 0) == [TP, OTHER]


@pytest.mark.parametrize("key", [None, b"k" * 10])
def test_size_bound_is_never_below_the_encoded_size(key: bytes | None) -> None:
    accumulator = make(batch_size=1 << 20, linger_ms=0)
    headers = (("näme", b"v" * 300), ("n", None))
    for number in range(300):
        accumulator.append(
            TP,
            [(key, b"v" * number)],
            timestamp_ms=number * 10**9,
            headers=headers,
            waiter="w",
            now_ms=0,
        )
    accumulator.advance(0)
    for batch in accumulator.take(TP, max_bytes=1 << 22):
        assert len(batch.data) <= batch.size_bytes
