"""Which connection gives way to a newcomer: the longest idle one, of the address with most."""

from __future__ import annotations

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from tidelog.broker.kafka.crowd import (
    CROWDED_MAX,
    CROWDED_MS,
    IDLE_MS_MIN,
    LOOKED_AT_MAX,
    Crowd,
)

LATER_S = IDLE_MS_MIN / 1000


def crowd(*hosts: str, connections_max: int | None = None) -> Crowd[int]:
    """Connections that have come one each millisecond."""
    of: Crowd[int] = Crowd(len(hosts) if connections_max is None else connections_max)
    for number, host in enumerate(hosts):
        of.add(number, host, number / 1000)
    return of


def test_the_longest_idle_one_gives_way_when_it_was_idle_for_long() -> None:
    of = crowd("a", "b", "c")
    assert of.gives_way("d", LATER_S - 0.001) is None
    assert of.gives_way("d", LATER_S) == 0
    of.note_busy(0)
    assert of.gives_way("d", LATER_S) is None
    assert of.gives_way("d", LATER_S + 0.001) == 1
    of.note_idle(0, 1)
    of.remove(1)
    assert of.gives_way("d", LATER_S + 1) == 2


def test_an_address_with_most_connections_gives_way_first() -> None:
    of = crowd("a", "b", "b", "c")
    assert of.gives_way("d", 2 * LATER_S) == 1


def test_a_newcomer_takes_no_place_of_an_address_that_has_fewer() -> None:
    of = crowd("a", "b", "b")
    of.note_busy(1)
    of.note_busy(2)
    assert of.gives_way("a", 2 * LATER_S) == 0
    assert of.gives_way("b", 2 * LATER_S) is None


def test_an_address_with_more_than_half_gives_way_to_another_at_once_and_to_itself_later() -> None:
    of = crowd("a", "b", "b", "b")
    assert of.gives_way("a", 0.01) == 1
    assert of.gives_way("b", 0.01) is None
    assert of.gives_way("b", 2 * LATER_S) == 1


def test_the_oldest_of_a_crowded_address_is_found_behind_any_number_of_others() -> None:
    few = [f"{number}" for number in range(2 * LOOKED_AT_MAX)]
    of = crowd(*few, *["many"] * 50)
    assert of.gives_way("many", 2 * LATER_S) == len(few), "the first of its own"
    of.remove(len(few))
    assert of.gives_way("many", 2 * LATER_S + CROWDED_MS / 1000) == len(few) + 1


def test_idle_ones_of_more_addresses_than_are_looked_at_give_way() -> None:
    busy = [f"{number}" for number in range(2 * CROWDED_MAX) for _ in range(2)]
    of = crowd(*busy, "idle")
    for number in range(len(busy)):
        of.note_busy(number)
    assert of.gives_way("new", 2 * LATER_S) == len(busy)


@settings(max_examples=30)
@given(st.integers(0, 1 << 32))
def test_any_story_leaves_nothing_and_takes_no_busy_one(seed: int) -> None:
    random_, of = random.Random(seed), Crowd[int](20)
    there: dict[int, bool] = {}
    for number in range(300):
        now_s = number / 2
        act = random_.random()
        if act < 0.4 or not there:
            if len(there) == 20:
                going = of.gives_way(random_.choice("abc"), now_s)
                if going is not None:
                    assert there.pop(going)
                    of.remove(going)
            there[number] = True
            of.add(number, random_.choice("abc"), now_s)
            continue
        one = random_.choice(list(there))
        if act < 0.6:
            of.remove(one)
            del there[one]
        elif there[one]:
            of.note_busy(one)
            there[one] = False
        else:
            of.note_idle(one, now_s)
            there[one] = True
    for one in list(there):
        of.remove(one)
    left = of.by_host, of._hosts, of._idle, of._idle_by_host
    assert not any(left)
