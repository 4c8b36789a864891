"""Partitions that are named though nothing moved: few a round, however many are followed."""

from __future__ import annotations

from tidelog.broker.replication.fetch_rounds import (
    OUTSIDE_PER_ROUND_MAX,
    ROUNDS_PER_TURN,
    TURN_PER_ROUND_MAX,
    FetchRounds,
    Key,
)


def rounds_of(count: int, *, outside: int = 0) -> tuple[FetchRounds, list[list[Key]]]:
    """Rounds over so many partitions after the first has looked at all, and what they name."""
    rounds = FetchRounds()
    for number in range(count):
        rounds.add(("t", number))

    def is_outside(key: Key) -> bool:
        return key[1] < outside

    while len(rounds._outside) > outside:
        rounds.next(is_outside)
    return rounds, [rounds.next(is_outside) for _ in range(4 * ROUNDS_PER_TURN)]


def test_a_round_names_no_more_of_a_thousand_than_its_bound() -> None:
    _, named = rounds_of(1_000)
    assert {len(one) for one in named} == {TURN_PER_ROUND_MAX}


def test_everything_has_its_turn_after_a_while() -> None:
    rounds, named = rounds_of(1_000)
    while len(named) < 2 * 1_000 / TURN_PER_ROUND_MAX:
        named.append(rounds.next(lambda _: False))
    assert {key for one in named for key in one} == {("t", number) for number in range(1_000)}


def test_few_partitions_are_named_once_in_so_many_rounds_and_not_more_often() -> None:
    for count in (1, 2, 3, 7):
        _, named = rounds_of(count)
        flat = [key for one in named for key in one]
        assert {flat.count(("t", number)) for number in range(count)} == {4}


def test_who_is_outside_the_isr_is_named_in_each_round() -> None:
    _, named = rounds_of(1_000, outside=3)
    for one in named:
        assert {("t", 0), ("t", 1), ("t", 2)} <= set(one)
        assert len(one) <= 3 + TURN_PER_ROUND_MAX


def test_many_outside_the_isr_take_turns_too() -> None:
    rounds, named = rounds_of(1_000, outside=1_000)
    assert max(map(len, named)) <= OUTSIDE_PER_ROUND_MAX + TURN_PER_ROUND_MAX
    assert {key for one in named for key in one} == {("t", number) for number in range(1_000)}
    rounds.remove(("t", 7))
    again = [rounds.next(lambda _: True) for _ in range(20)]
    assert not any(("t", 7) in one for one in again)


def test_who_has_joined_is_looked_at_again_only_when_the_image_has_news() -> None:
    rounds, _ = rounds_of(1_000)
    asked: list[Key] = []

    def is_outside(key: Key) -> bool:
        asked.append(key)
        return False

    rounds.next(is_outside)
    assert not asked, "nothing changed"
    for number in (3, 500, 999):
        rounds.add(("t", number))
    rounds.next(is_outside)
    rounds.next(is_outside)
    assert asked == [("t", 3), ("t", 500), ("t", 999)]
