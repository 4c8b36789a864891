"""Producer state: duplicates, gaps and fencing (KIP-98, KIP-360), transactions, bounds, expiry."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tidelog.core.errors import (
    InvalidProducerEpochError,
    InvalidRecordError,
    KafkaError,
    OutOfOrderSequenceError,
)
from tidelog.log.producers import PRODUCERS_MAX, BatchMetadata, ProducerStates
from tidelog.records.batch import CONTROL_FLAG, MAGIC, TRANSACTIONAL_FLAG, BatchHeader
from tidelog.records.records import ControlMarker
from tidelog.v1 import common_pb2

MAX_SEQUENCE = 2**31 - 1
COMMIT = ControlMarker(is_commit=True, coordinator_epoch=3)


def batch(
    sequence: int,
    count: int = 1,
    *,
    offset: int = 0,
    producer: int = 7,
    epoch: int = 0,
    attributes: int = 0,
    timestamp: int = 1_000,
) -> BatchHeader:
    return BatchHeader(
        base_offset=offset,
        batch_length=100,
        partition_leader_epoch=0,
        magic=MAGIC,
        crc=0,
        attributes=attributes,
        last_offset_delta=count - 1,
        base_timestamp=timestamp,
        max_timestamp=timestamp,
        producer_id=producer,
        producer_epoch=epoch,
        base_sequence=sequence,
        records_count=count,
    )


def marker(*, offset: int = 0, producer: int = 7, epoch: int = 0) -> BatchHeader:
    attributes = TRANSACTIONAL_FLAG | CONTROL_FLAG
    return batch(-1, offset=offset, producer=producer, epoch=epoch, attributes=attributes)


def states_after(*headers: BatchHeader, producers_max: int = 100) -> ProducerStates:
    states = ProducerStates(producers_max=producers_max)
    for header in headers:
        states.update(header, now_ms=0, marker=COMMIT if header.base_sequence < 0 else None)
    return states


def ids(states: ProducerStates) -> list[int]:
    return [entry.producer_id for entry in states.entries()]


# Sequences and epochs


def test_the_next_batch_in_sequence_is_appended() -> None:
    assert states_after(batch(0, 10)).check(batch(10, 5)) is None


def test_a_batch_sent_again_is_answered_with_the_offsets_it_has() -> None:
    states = states_after(batch(0, 10, offset=40), batch(10, 5, offset=90, timestamp=77))
    assert states.check(batch(0, 10)) == BatchMetadata(0, 9, 40, 49, 1_000)
    assert states.check(batch(10, 5)) == BatchMetadata(10, 14, 90, 94, 77)


def test_the_last_five_batches_are_known_again_and_no_older_one() -> None:
    states = states_after(*(batch(n, offset=n) for n in range(6)))
    for sequence in range(1, 6):
        duplicate = states.check(batch(sequence))
        assert duplicate is not None
        assert duplicate.base_offset == sequence
    with pytest.raises(OutOfOrderSequenceError):
        states.check(batch(0))


@pytest.mark.parametrize(
    "header",
    [
        pytest.param(batch(11), id="a gap"),
        pytest.param(batch(9), id="the tail of an appended batch"),
        pytest.param(batch(0, 9), id="the head of an appended batch"),
        pytest.param(batch(0, 11), id="an appended batch and more"),
        pytest.param(batch(10, epoch=1), id="not 0 in a new epoch"),
    ],
)
def test_a_batch_that_does_not_follow_is_out_of_order(header: BatchHeader) -> None:
    with pytest.raises(OutOfOrderSequenceError):
        states_after(batch(0, 10)).check(header)


def test_an_unknown_producer_may_begin_anywhere() -> None:
    assert ProducerStates().check(batch(12_345)) is None
    assert states_after(batch(0)).check(batch(12_345, producer=8)) is None


def test_a_new_epoch_begins_at_0_and_fences_the_old_one() -> None:
    states = states_after(batch(0, 10))
    assert states.check(batch(0, epoch=1)) is None
    states.update(batch(0, epoch=1, offset=10), now_ms=0)
    for old in (batch(10), batch(0, 10)):
        with pytest.raises(InvalidProducerEpochError):
            states.check(old)
    assert states.check(batch(1, epoch=1)) is None


def test_batches_of_the_old_epoch_are_no_duplicates_in_the_new_one() -> None:
    states = states_after(batch(0), batch(1), batch(0, epoch=1))
    with pytest.raises(OutOfOrderSequenceError):
        states.check(batch(5, epoch=1))
    assert states.check(batch(1, epoch=1)) is None


@pytest.mark.parametrize(
    ("base", "count", "following"),
    [(MAX_SEQUENCE, 1, 0), (MAX_SEQUENCE - 2, 3, 0), (MAX_SEQUENCE - 1, 5, 3)],
)
def test_sequences_wrap_to_0(base: int, count: int, following: int) -> None:
    states = states_after(batch(base, count, offset=50))
    assert states.check(batch(following)) is None
    duplicate = states.check(batch(base, count))
    assert duplicate is not None
    assert duplicate.base_offset == 50
    with pytest.raises(OutOfOrderSequenceError):
        states.check(batch(following + 1))


def test_batches_without_a_producer_id_are_not_remembered() -> None:
    header = batch(-1, producer=-1, epoch=-1)
    states = states_after(header)
    assert states.check(header) is None
    assert states.entries() == ()


@pytest.mark.parametrize("header", [batch(-1), batch(0, epoch=-1)])
def test_a_producer_id_needs_an_epoch_and_a_sequence(header: BatchHeader) -> None:
    with pytest.raises(InvalidRecordError):
        ProducerStates().check(header)


# Transactions


def test_the_first_unstable_offset_is_that_of_the_oldest_open_transaction() -> None:
    states = states_after(
        batch(0, offset=10, producer=1, attributes=TRANSACTIONAL_FLAG),
        batch(0, offset=20, producer=2, attributes=TRANSACTIONAL_FLAG),
        batch(1, offset=30, producer=1, attributes=TRANSACTIONAL_FLAG),
    )
    assert states.first_unstable_offset == 10
    for producer, unstable in ((1, 20), (2, None)):
        states.update(marker(producer=producer), now_ms=0, marker=COMMIT)
        assert states.first_unstable_offset == unstable


def test_a_marker_leaves_the_sequences_as_they_are() -> None:
    states = states_after(batch(0, attributes=TRANSACTIONAL_FLAG), marker())
    assert states.check(batch(1)) is None
    assert states.check(batch(0)) is not None
    assert states.entries()[0].coordinator_epoch == COMMIT.coordinator_epoch


def test_a_marker_of_a_newer_epoch_fences_the_old_one() -> None:
    states = states_after(batch(0, attributes=TRANSACTIONAL_FLAG), marker(epoch=1))
    with pytest.raises(InvalidProducerEpochError):
        states.check(batch(1))
    assert states.check(batch(0, epoch=1)) is None


def test_a_marker_needs_no_sequence_but_no_older_epoch() -> None:
    states = states_after(batch(0, epoch=1))
    assert states.check(marker(epoch=1)) is None
    assert states.check(marker(epoch=2)) is None
    with pytest.raises(InvalidProducerEpochError):
        states.check(marker(epoch=0))


def test_a_marker_without_its_record_says_nothing() -> None:
    states = states_after(batch(0, offset=10, attributes=TRANSACTIONAL_FLAG))
    before = states.entries()
    states.update(marker(), now_ms=0)
    assert states.entries() == before
    assert states.first_unstable_offset == 10


def test_records_outside_an_open_transaction_are_refused() -> None:
    states = states_after(batch(0, attributes=TRANSACTIONAL_FLAG))
    with pytest.raises(InvalidRecordError):
        states.check(batch(1))
    assert states.check(batch(1, attributes=TRANSACTIONAL_FLAG)) is None


def test_open_transactions_outlive_a_reload_in_their_order() -> None:
    states = states_after(
        batch(0, offset=10, producer=1, attributes=TRANSACTIONAL_FLAG),
        batch(0, offset=20, producer=2, attributes=TRANSACTIONAL_FLAG),
        batch(1, offset=30, producer=1, attributes=TRANSACTIONAL_FLAG),
    )
    states = ProducerStates.from_entries(states.entries())
    assert states.first_unstable_offset == 10
    states.update(marker(producer=1), now_ms=0, marker=COMMIT)
    assert states.first_unstable_offset == 20


# Bounds and expiry


def test_the_longest_silent_producers_make_way() -> None:
    headers = [batch(0, producer=1), batch(0, producer=2), batch(1, producer=1)]
    states = states_after(*headers, batch(0, producer=3), producers_max=2)
    assert ids(states) == [1, 3]


def test_a_flood_of_producer_ids_evicts_no_open_transaction() -> None:
    headers = [batch(0, producer=0, attributes=TRANSACTIONAL_FLAG)]
    headers += [batch(0, offset=n, producer=n) for n in range(1, 50)]
    states = states_after(*headers, producers_max=3)
    assert sorted(ids(states)) == [0, 47, 48, 49]
    assert states.first_unstable_offset == 0


def test_no_more_producers_are_loaded_than_may_be_kept() -> None:
    (entry,) = states_after(batch(0)).entries()
    entries = [entry._replace(producer_id=n) for n in range(PRODUCERS_MAX + 1)]
    assert ids(ProducerStates.from_entries(entries)) == list(range(1, PRODUCERS_MAX + 1))


def test_no_transaction_begins_where_too_many_are_open() -> None:
    states = states_after(
        *(batch(0, offset=n, producer=n, attributes=TRANSACTIONAL_FLAG) for n in range(3)),
        producers_max=3,
    )
    with pytest.raises(KafkaError) as caught:
        states.check(batch(0, producer=3, attributes=TRANSACTIONAL_FLAG))
    assert caught.value.code == common_pb2.THROTTLING_QUOTA_EXCEEDED
    assert caught.value.is_retriable
    assert states.check(batch(1, producer=0, attributes=TRANSACTIONAL_FLAG)) is None
    assert states.check(batch(0, producer=3)) is None


def test_silent_producers_expire_but_no_open_transaction() -> None:
    states = ProducerStates()
    states.update(batch(0, producer=1), now_ms=100)
    states.update(batch(0, producer=2), now_ms=101)
    states.update(batch(0, producer=3, attributes=TRANSACTIONAL_FLAG), now_ms=0)
    states.expire(1_100, expiration_ms=1_000)
    assert ids(states) == [2, 3]


def test_a_loaded_producer_is_silent_from_the_start_on_whatever_its_timestamps_say() -> None:
    states = ProducerStates.from_entries(states_after(batch(0, timestamp=5)).entries())
    states.expire(9_000_000, expiration_ms=1_000)
    assert ids(states) == [7]
    states.expire(9_001_000, expiration_ms=1_000)
    assert ids(states) == []


def test_clear_forgets_everything() -> None:
    states = states_after(batch(0, attributes=TRANSACTIONAL_FLAG))
    states.clear()
    assert states.entries() == ()
    assert states.first_unstable_offset is None


# What compaction must keep


def test_only_the_newest_batch_of_a_producer_is_its_last() -> None:
    old, new = batch(0, 10, offset=5), batch(10, 2, offset=30)
    states = states_after(old, new, batch(0, offset=40, producer=8))
    assert states.is_last_batch(new)
    assert not states.is_last_batch(old)
    assert not states.is_last_batch(batch(0, offset=31, producer=9))


def test_a_marker_is_last_only_where_its_epoch_has_no_batch() -> None:
    data, same, newer = batch(0, offset=5), marker(offset=6), marker(offset=7, epoch=1)
    states = states_after(data, same)
    assert states.is_last_batch(data)
    assert not states.is_last_batch(same)
    states.update(newer, now_ms=0, marker=COMMIT)
    assert not states.is_last_batch(data)
    assert not states.is_last_batch(same)
    assert states.is_last_batch(newer)


# Against a model: the list of all that was appended


class Appended(NamedTuple):
    producer: int
    epoch: int
    base: int
    records: int
    offset: int


class Model:
    """Everything appended, in order; every question is answered from the whole list."""

    def __init__(self) -> None:
        self.appended: list[Appended] = []

    def check(self, header: BatchHeader) -> object:
        mine = [each for each in self.appended if each.producer == header.producer_id]
        if mine and header.producer_epoch < mine[-1].epoch:
            return InvalidProducerEpochError
        same = [each for each in mine if each.epoch == header.producer_epoch]
        asked = (header.base_sequence, header.records_count)
        for known in same[-5:]:
            if (known.base, known.records) == asked:
                return known.offset
        if not mine or header.base_sequence == self.following(header):
            return None
        return OutOfOrderSequenceError

    def following(self, header: BatchHeader) -> int:
        wanted = (header.producer_id, header.producer_epoch)
        same = [each for each in self.appended if each[:2] == wanted]
        return (same[-1].base + same[-1].records) % 2**31 if same else 0


def answer(states: ProducerStates, header: BatchHeader) -> object:
    try:
        duplicate = states.check(header)
    except (InvalidProducerEpochError, OutOfOrderSequenceError) as error:
        return type(error)
    return None if duplicate is None else duplicate.base_offset


def reloaded(states: ProducerStates) -> ProducerStates:
    return ProducerStates.from_entries(states.entries())


Choice = Callable[[Model, BatchHeader], int]


def the_next(model: Model, header: BatchHeader) -> int:
    return model.following(header)


def one_of_before(back: int) -> Choice:
    def choose(model: Model, header: BatchHeader) -> int:
        same = [each.base for each in model.appended if each.producer == header.producer_id]
        return same[-back] if len(same) >= back else 0

    return choose


SEQUENCES = st.one_of(
    st.just(the_next),
    st.integers(1, 7).map(one_of_before),
    st.sampled_from([0, 1, 2, MAX_SEQUENCE - 1, MAX_SEQUENCE]).map(lambda n: lambda *_: n),
)
SENT = st.tuples(st.integers(0, 2), st.integers(0, 2), SEQUENCES, st.integers(1, 3))
WRAPPED = [(0, 0, lambda *_: MAX_SEQUENCE, 2), *[(0, 0, the_next, 1)] * 6]


@given(st.lists(st.tuples(SENT, st.booleans()), max_size=40))
@example([(sent, False) for sent in WRAPPED])
def test_every_answer_is_that_of_the_whole_list(
    steps: list[tuple[tuple[int, int, Choice, int], bool]],
) -> None:
    states, model, offset = ProducerStates(), Model(), 0
    for (producer, epoch, choose, count), is_reloaded in steps:
        header = batch(0, count, offset=offset, producer=producer, epoch=epoch)
        header = header._replace(base_sequence=choose(model, header))
        before = states.entries()
        expected = model.check(header)
        assert answer(states, header) == expected
        assert states.entries() == before
        if expected is None:
            model.appended.append(Appended(producer, epoch, header.base_sequence, count, offset))
            states.update(header, now_ms=0)
            offset += count
            assert states.is_last_batch(header)
        if is_reloaded:
            states = reloaded(states)


@given(
    first=st.integers(1, MAX_SEQUENCE),
    counts=st.lists(st.integers(1, 9), min_size=5, max_size=5),
    arrivals=st.lists(st.integers(0, 4), max_size=30),
)
def test_five_in_flight_are_taken_once_and_in_order_however_they_arrive(
    first: int, counts: list[int], arrivals: list[int]
) -> None:
    states, sent, sequence = states_after(batch(first - 1)), [], first
    for count in counts:
        sent.append(batch(sequence, count))
        sequence = (sequence + count) & MAX_SEQUENCE
    taken: list[int] = []
    for place in [*arrivals, *range(5)]:
        header = sent[place]._replace(base_offset=100 + len(taken))
        if place > len(taken):
            with pytest.raises(OutOfOrderSequenceError):
                states.check(header)
        elif place == len(taken):
            assert states.check(header) is None
            states.update(header, now_ms=0)
            taken.append(header.base_offset)
        else:
            assert answer(states, header) == taken[place]
    assert len(taken) == 5


def test_a_batch_that_compaction_left_without_records_opens_no_transaction() -> None:
    empty = batch(0, attributes=TRANSACTIONAL_FLAG)._replace(records_count=0)
    states = states_after(empty)
    assert states.first_unstable_offset is None
    assert ids(states) == [7]
