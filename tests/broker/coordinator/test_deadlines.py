"""Keys by the times at which each has to be looked at."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tidelog.broker.coordinator.deadlines import _OUTDATED_MIN, Deadlines

KEYS = st.sampled_from("abcd")
TIMES = st.integers(0, 9)


@given(st.lists(st.tuples(KEYS, st.none() | TIMES) | st.tuples(st.just("look"), TIMES)))
def test_each_key_is_due_at_its_newest_time(steps: list[tuple[str, int | None]]) -> None:
    deadlines: Deadlines[str] = Deadlines()
    expected: dict[str, int] = {}
    for key, at_ms in steps:
        if key == "look":
            assert at_ms is not None
            due = deadlines.take_due(at_ms)
            times = [expected.pop(one) for one in due]
            assert times == sorted(times)
            assert all(one <= at_ms for one in times)
            assert all(one > at_ms for one in expected.values())
        else:
            deadlines.set(key, at_ms)
            expected.pop(key, None)
            if at_ms is not None:
                expected[key] = at_ms
        assert deadlines.next_ms == min(expected.values(), default=None)
        assert len(deadlines) == len(expected)


def test_outdated_times_take_no_memory() -> None:
    deadlines: Deadlines[str] = Deadlines()
    for at_ms in range(10_000, 0, -1):
        deadlines.set("a", at_ms)
        deadlines.set("b", 20_000 + at_ms)
    assert len(deadlines._heap) == len(deadlines._keys) <= _OUTDATED_MIN + 5
    assert deadlines.take_due(1) == ["a"]
    assert deadlines.next_ms == 20_001


def test_keys_that_are_discarded_are_never_due() -> None:
    deadlines: Deadlines[str] = Deadlines()
    for number, key in enumerate("abcd"):
        deadlines.set(key, number)
    deadlines.discard(lambda one: one in "ac")
    assert deadlines.take_due(9) == ["b", "d"]
