"""Where replicas go: on different brokers, in different racks, evenly."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.metadata.placement import BrokerSlot, next_start, place_replicas, unevenness

START = st.integers(0, 11)
BROKERS_MAX = 7


@pytest.mark.parametrize("count", range(1, BROKERS_MAX + 1))
def test_leaders_and_replicas_are_even_without_racks(count: int) -> None:
    slots = [BrokerSlot(10 * broker) for broker in range(count)]
    brokers = [slot.broker_id for slot in slots]
    for factor in range(1, count + 1):
        for partitions in range(1, 2 * count + 2):
            for shift in range(count):
                placed = place_replicas(
                    slots,
                    partitions=partitions,
                    replication_factor=factor,
                    start=shift + 1,
                    shift=shift,
                )
                assert len(placed) == partitions
                assert all(len(set(one)) == len(one) == factor for one in placed)
                assert unevenness(brokers, placed) <= 1
                assert unevenness(brokers, [one[:1] for one in placed]) <= 1


@given(
    racks=st.integers(2, 4),
    in_rack=st.integers(1, 3),
    partitions=st.integers(1, 30),
    start=START,
    shift=START,
    data=st.data(),
)
def test_equal_racks_are_all_used_and_evenly(
    racks: int, in_rack: int, partitions: int, start: int, shift: int, data: st.DataObject
) -> None:
    slots = [BrokerSlot(number, f"r{number % racks}") for number in range(racks * in_rack)]
    factor = data.draw(st.integers(1, len(slots)))
    placed = place_replicas(
        slots, partitions=partitions, replication_factor=factor, start=start, shift=shift
    )
    for replicas in placed:
        assert len(set(replicas)) == factor
        assert len({one % racks for one in replicas}) == min(factor, racks)
    assert unevenness(range(len(slots)), placed) <= 1
    assert unevenness(range(len(slots)), [one[:1] for one in placed]) <= 1


@given(
    slots=st.lists(
        st.tuples(st.sampled_from(["", "a", "b", "c"]), st.booleans()), min_size=1, max_size=8
    ),
    partitions=st.integers(1, 20),
    start=START,
    shift=START,
    data=st.data(),
)
def test_whatever_the_racks_and_whoever_lives(
    slots: list[tuple[str, bool]], partitions: int, start: int, shift: int, data: st.DataObject
) -> None:
    every = [BrokerSlot(number, rack, is_live) for number, (rack, is_live) in enumerate(slots)]
    live = [slot.broker_id for slot in every if slot.is_live]
    if not live:
        return
    factor = data.draw(st.integers(1, len(every)))
    placed = place_replicas(
        every, partitions=partitions, replication_factor=factor, start=start, shift=shift
    )
    has_racks = any(slot.rack for slot in every)
    for replicas in placed:
        assert len(set(replicas)) == factor
        own_count = min(factor, len(live))
        assert set(replicas[:own_count]) <= set(live), "the fenced ones come last"
        assert own_count == len(live) or set(replicas) <= set(live)
        if has_racks:
            racks = {every[one].rack for one in replicas[:own_count]}
            assert len(racks) == min(own_count, len({every[one].rack for one in live}))
    assert unevenness(live, [one[:1] for one in placed]) <= 1


def test_racks_take_turns_in_leading() -> None:
    slots = [BrokerSlot(1, "a"), BrokerSlot(2, "a"), BrokerSlot(3, "b"), BrokerSlot(4, "b")]
    placed = place_replicas(slots, partitions=4, replication_factor=2, start=0, shift=0)
    assert [one[0] for one in placed] == [1, 3, 2, 4]


def test_the_followers_of_one_broker_are_spread_over_all_others() -> None:
    slots = [BrokerSlot(broker) for broker in range(6)]
    placed = place_replicas(slots, partitions=30, replication_factor=3, start=0, shift=0)
    pairs = Counter((one[0], follower) for one in placed for follower in one[1:])
    assert set(pairs.values()) == {2}
    assert len(pairs) == 30


def test_a_round_goes_on_after_the_broker_that_had_the_last_turn() -> None:
    slots = [BrokerSlot(1), BrokerSlot(2), BrokerSlot(3), BrokerSlot(4, is_live=False)]
    assert [next_start(slots, last) for last in (1, 3, 4, 9)] == [1, 3, 0, 0]
