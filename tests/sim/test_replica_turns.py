"""Turns of replicas at the checks: each comes in each round, and those named at once."""

from __future__ import annotations

from typing import Any

from tidelog.simulation.cluster.replica_turns import AT_ONCE, NARROW, ReplicaTurns

NARROW_ONES: Any = {("few", number): f"few-{number}" for number in range(NARROW)}
BROAD_ONES: Any = {("t", number): number for number in range(10 * AT_ONCE + 3)}
HELD: Any = {**BROAD_ONES, **NARROW_ONES}


def test_each_replica_of_a_broad_topic_has_its_turn_in_each_round() -> None:
    turns = ReplicaTurns()
    for _ in range(3):
        seen: set[Any] = set()
        looks = 0
        while len(seen) < len(BROAD_ONES):
            some = [*turns.next(HELD, ())]
            assert len(some) <= AT_ONCE
            seen.update(some)
            looks += 1
            assert looks <= 2 * len(HELD) // AT_ONCE + 4, "two rounds at most"
        assert seen == {*BROAD_ONES.values()}


def test_replicas_of_narrow_topics_are_looked_at_always() -> None:
    turns = ReplicaTurns()
    assert [*turns.next(HELD, ())] == [], "a round begins"
    for _ in range(30):
        assert [*turns.always(HELD)] == [*NARROW_ONES.values()]
        assert not {*turns.next(HELD, ())} & {*NARROW_ONES.values()}
    assert [*turns.always({})] == []


def test_a_named_replica_is_given_at_once_and_an_unknown_or_gone_one_never() -> None:
    turns = ReplicaTurns()
    first: Any = next(turns.next(HELD, [("t", 100), ("other", 0)]))
    assert first == 100
    assert [*turns.next({}, [("t", 100)])] == []
