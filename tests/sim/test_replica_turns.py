"""Turns of replicas at the checks: each comes in each round, and those named at once."""

from __future__ import annotations

from typing import Any

from tidelog.simulation.cluster.replica_turns import AT_ONCE, ReplicaTurns

HELD: Any = {("t", number): number for number in range(10 * AT_ONCE + 3)}


def test_each_replica_has_its_turn_in_each_round() -> None:
    turns = ReplicaTurns()
    for _ in range(3):
        seen: set[Any] = set()
        looks = 0
        while len(seen) < len(HELD):
            some = [*turns.next(HELD, ())]
            assert len(some) <= AT_ONCE
            seen.update(some)
            looks += 1
            assert looks <= 2 * len(HELD) // AT_ONCE + 4, "two rounds at most"


def test_a_named_replica_is_given_at_once_and_an_unknown_or_gone_one_never() -> None:
    turns = ReplicaTurns()
    first: Any = next(iter(turns.next(HELD, [("t", 100), ("other", 0)])))
    assert first == 100
    assert [*turns.next({}, [("t", 100)])] == []
    assert [*turns.next({}, ())] == []
