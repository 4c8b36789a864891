"""The accumulator with sequences: who may fly, what keeps its numbers, and where an epoch ends."""

from __future__ import annotations

from tests.client.ready_cases import ready

from tidelog.client.producing.accumulator import Accumulator, AccumulatorConfig
from tidelog.client.producing.batches import Batch
from tidelog.client.producing.sequences import Sequences
from tidelog.client.records import TopicPartition
from tidelog.records.batch import parse_header
from tidelog.records.records import iter_records

TP = TopicPartition("t", 0)
MAX_BYTES = 1 << 20
VALUE_BYTES = 150


class Stage:
    """One partition, batches of one record each; the log knows the producer already."""

    def __init__(self, *, is_known: bool = True) -> None:
        self.sequences = Sequences()
        self.sequences.adopt(7, 0)
        if is_known:
            self.sequences.number(TP, 1)
            self.sequences.note_acknowledged(TP)
        config = AccumulatorConfig(
            batch_size=250, linger_ms=0, buffer_memory=1 << 20, delivery_timeout_ms=1000
        )
        self.accumulator: Accumulator[str] = Accumulator(config, self.sequences)

    def put(self, count: int, *, now_ms: int = 0) -> None:
        records = [(None, b"x" * VALUE_BYTES)] * count
        self.accumulator.append(TP, records, timestamp_ms=1, waiter="w", now_ms=now_ms)

    def take(self, *, now_ms: int = 0, max_bytes: int = MAX_BYTES) -> list[Batch[str]]:
        assert ready(self.accumulator, now_ms) == [TP]
        return self.accumulator.take(TP, max_bytes=max_bytes)


def numbers(batches: list[Batch[str]]) -> list[tuple[int, int]]:
    """Epoch and base sequence, as the header says them."""
    found = []
    for batch in batches:
        header = parse_header(batch.data)
        assert batch.numbers == (header.producer_id, header.producer_epoch, header.base_sequence)
        found.append((header.producer_epoch, header.base_sequence))
    return found


def test_batches_are_numbered_when_they_are_first_taken_five_at_most() -> None:
    stage = Stage()
    stage.put(8)
    taken = stage.take()
    assert numbers(taken) == [(0, 1), (0, 2), (0, 3), (0, 4), (0, 5)]
    stage.accumulator.complete(taken)
    assert numbers(stage.take()) == [(0, 6), (0, 7), (0, 8)]


def test_until_the_log_knows_the_epoch_one_flies_alone() -> None:
    stage = Stage(is_known=False)
    stage.put(3)
    taken = stage.take()
    assert numbers(taken) == [(0, 0)]
    stage.accumulator.retry(taken, at_ms=0)
    assert stage.take() == taken
    stage.sequences.note_acknowledged(TP)
    stage.accumulator.complete(taken)
    assert numbers(stage.take()) == [(0, 1), (0, 2)]


def test_what_comes_again_keeps_its_numbers_and_its_place_before_the_others() -> None:
    stage = Stage()
    stage.put(4)
    first, second, third, fourth = stage.take()
    stage.put(3)
    for batch in (fourth, third, first):
        stage.accumulator.retry([batch], at_ms=5)
    stage.accumulator.complete([second])
    assert ready(stage.accumulator, 4) == []
    again = stage.take(now_ms=5)
    assert again[:3] == [first, third, fourth]
    assert numbers(again) == [(0, 1), (0, 3), (0, 4), (0, 5)], "a sixth: the log forgets the first"
    stage.accumulator.complete([first])
    assert numbers(stage.take(now_ms=5)) == [(0, 6), (0, 7)]


def test_the_pause_of_the_first_to_come_again_counts() -> None:
    stage = Stage()
    stage.put(2)
    first, second = stage.take()
    stage.accumulator.retry([second], at_ms=3)
    stage.accumulator.retry([first], at_ms=9)
    assert ready(stage.accumulator, 8) == []
    assert stage.take(now_ms=9) == [first, second]


def test_an_epoch_ends_when_nothing_of_it_is_in_flight_any_more() -> None:
    stage = Stage()
    stage.put(3)
    taken = stage.take()
    stage.accumulator.retry(taken, at_ms=0)
    (flying,) = stage.take(max_bytes=len(taken[0].data))
    stage.put(1, now_ms=1)
    assert stage.accumulator.expire(1000) == taken[1:]
    stage.sequences.break_off(TP)
    assert stage.accumulator.renumber(TP) == []
    assert stage.sequences.is_broken(TP)
    stage.accumulator.complete([flying])
    assert stage.accumulator.renumber(TP) == []
    assert numbers([flying, *stage.take(now_ms=1000)]) == [(0, 1), (1, 0)]


def test_the_next_epoch_is_for_what_was_certainly_not_appended() -> None:
    stage = Stage()
    stage.put(4)
    taken = stage.take()
    taken[1].is_outcome_unknown = taken[2].is_outcome_unknown = True
    stage.accumulator.retry(taken, at_ms=0)
    stage.sequences.break_off(TP)
    assert stage.accumulator.renumber(TP) == taken[1:3]
    again = stage.take()
    assert again == [taken[0]], "the log does not know the next epoch yet"
    stage.sequences.note_acknowledged(TP)
    stage.accumulator.complete(again)
    again += stage.take()
    assert numbers(again) == [(1, 0), (1, 1)]
    stage.accumulator.complete(again[1:])
    assert stage.accumulator.incomplete == []
    assert stage.accumulator.has_room(1 << 20)


def test_an_epoch_may_end_where_nothing_waits() -> None:
    stage = Stage()
    stage.put(1)
    stage.accumulator.complete(stage.take())
    stage.sequences.break_off(TP)
    assert stage.accumulator.renumber(TP) == []
    stage.put(1)
    assert numbers(stage.take()) == [(1, 0)]


def test_halves_share_the_sequences_of_the_whole() -> None:
    stage = Stage()
    records = [(None, b"%d" % n) for n in range(5)]
    stage.accumulator.append(TP, records, timestamp_ms=1, waiter="w", now_ms=0)
    (batch,) = stage.take()
    assert numbers([batch]) == [(0, 1)]
    stage.accumulator.split(batch)
    stage.put(1)
    halves = stage.take()
    assert numbers(halves) == [(0, 1), (0, 3), (0, 6)]
    values = [record.value for half in halves[:2] for record in iter_records(half.data)]
    assert values == [value for _, value in records]


def test_more_are_taken_while_others_fly_until_five_have_no_outcome() -> None:
    stage = Stage()
    stage.put(7)
    one = len(stage.accumulator.incomplete[0].data)
    first = stage.take(max_bytes=one)
    rest = stage.take()
    assert numbers(first + rest) == [(0, 1), (0, 2), (0, 3), (0, 4), (0, 5)]
    assert ready(stage.accumulator, 0) == []
    stage.accumulator.complete(rest[:3])
    assert ready(stage.accumulator, 0) == [], "the log must know the first one again"
    stage.accumulator.complete(first)
    assert numbers(stage.take()) == [(0, 6), (0, 7)]


def test_what_comes_again_waits_while_one_before_it_flies() -> None:
    stage = Stage()
    stage.put(3)
    first, second, third = stage.take()
    stage.accumulator.retry([third], at_ms=0)
    stage.accumulator.retry([first], at_ms=0)
    assert stage.take() == [first], "the third would be refused before the second is"
    stage.accumulator.retry([second], at_ms=0)
    assert ready(stage.accumulator, 0) == []
    stage.accumulator.complete([first])
    assert stage.take() == [second, third]


def test_a_batch_knows_whether_one_before_it_had_no_outcome_when_it_was_sent() -> None:
    stage = Stage()
    stage.put(2)
    first, second = stage.take()
    assert (first.is_after_another, second.is_after_another) == (False, True)
    stage.accumulator.complete([first])
    assert second.is_after_another, "its refusal may be as old as its sending"
    stage.accumulator.retry([second], at_ms=0)
    stage.take()
    assert not second.is_after_another


def test_a_later_one_that_comes_again_does_not_end_the_pause_of_the_first() -> None:
    stage = Stage()
    stage.put(2)
    first, second = stage.take()
    stage.accumulator.retry([first], at_ms=9)
    stage.accumulator.retry([second], at_ms=3)
    assert ready(stage.accumulator, 8) == []
    assert stage.take(now_ms=9) == [first, second]


def test_nothing_is_sent_in_an_epoch_that_is_to_end() -> None:
    stage = Stage()
    stage.put(3)
    one = len(stage.accumulator.incomplete[0].data)
    (first,) = stage.take(max_bytes=one)
    (second,) = stage.take(max_bytes=one)
    stage.accumulator.complete([first])
    stage.sequences.break_off(TP)
    assert stage.accumulator.renumber(TP) == []
    assert ready(stage.accumulator, 0) == []
    stage.accumulator.retry([second], at_ms=0)
    assert stage.accumulator.renumber(TP) == []
    assert numbers(stage.take()) == [(1, 0)]


def test_halves_stand_where_the_whole_stood() -> None:
    stage = Stage()
    records = [(None, b"%d" % n) for n in range(4)]
    stage.accumulator.append(TP, records, timestamp_ms=1, waiter="w", now_ms=0)
    (whole,) = stage.take()
    stage.put(1)
    (after,) = stage.take()
    stage.accumulator.retry([after], at_ms=0)
    stage.accumulator.split(whole)
    halves = stage.take()
    assert numbers(halves) == [(0, 1), (0, 3), (0, 5)]
    assert halves[2] is after


def test_what_comes_again_counts_as_full_however_many_there_are() -> None:
    stage = Stage()
    stage.put(5)
    taken = stage.take()
    records = [(None, b"x")] * 2
    stage.accumulator.append(TP, records, timestamp_ms=1, waiter="w", now_ms=0)
    stage.accumulator.retry(taken[1:], at_ms=0)
    stage.accumulator.complete(taken[:1])
    stage.put(1)
    assert ready(stage.accumulator, 0) == [TP]
    assert stage.accumulator.full_bytes(TP, 10**6) >= 4 * len(taken[1].data)


def test_what_is_meant_for_another_incarnation_waits_for_all_of_the_one_before() -> None:
    stage = Stage()
    stage.sequences.begin(TP, b"old")
    stage.sequences.note_acknowledged(TP)
    for topic_id in (b"old", b"new"):
        stage.accumulator.append(
            TP, [(None, b"v")], timestamp_ms=1, waiter="w", now_ms=0, topic_id=topic_id
        )
    taken = stage.take()
    assert [batch.topic_id for batch in taken] == [b"old"]
    assert ready(stage.accumulator, 0) == []
    stage.accumulator.complete(taken)
    assert [batch.topic_id for batch in stage.take()] == [b"new"]


def test_full_batches_are_counted_as_far_as_they_may_be_sent() -> None:
    stage = Stage()
    stage.put(9)
    assert ready(stage.accumulator, 0) == [TP]
    one = len(stage.accumulator.incomplete[0].data)
    assert stage.accumulator.full_bytes(TP, 10**6) == 5 * one
    stage.take(max_bytes=2 * one)
    assert stage.accumulator.full_bytes(TP, 10**6) == 3 * one
    assert stage.accumulator.full_bytes(TP, 1) == one, "no more than is asked for"


def test_a_batch_that_still_takes_records_is_not_counted_as_full() -> None:
    stage = Stage()
    stage.accumulator.append(TP, [(None, b"v")], timestamp_ms=1, waiter="w", now_ms=0)
    assert ready(stage.accumulator, 0) == [TP]
    assert stage.accumulator.full_bytes(TP, 10**6) == 0
