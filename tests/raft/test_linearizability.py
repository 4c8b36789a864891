"""The linearizability checker: known histories, and every small one against trying all orders."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations

import pytest

from tidelog.core.chance import SeededRandom
from tidelog.simulation.raft.linearizability import (
    FOREVER,
    Operation,
    complaints,
    is_linearizable,
)


def read(found: int | None, called: int, returned: int) -> Operation:
    return Operation(0, "read", 0, called, returned, found=found)


def write(value: int, called: int, returned: int = FOREVER) -> Operation:
    return Operation(0, "write", 0, called, returned, value=value)


def cas(
    expected: int | None,
    value: int,
    called: int,
    returned: int = FOREVER,
    *,
    found: int | None = None,
) -> Operation:
    is_done = returned == FOREVER or found == expected
    return Operation(
        0,
        "compare-and-set",
        0,
        called,
        returned,
        value=value,
        expected=expected,
        found=found,
        is_done=is_done,
    )


LINEARIZABLE = {
    "nothing": [],
    "read of nothing": [read(None, 1, 2)],
    "one after another": [write(1, 1, 2), read(1, 3, 4), write(2, 5, 6), read(2, 7, 8)],
    "a read beside a write sees the old value": [write(1, 1, 2), write(2, 3, 6), read(1, 4, 5)],
    "a read beside a write sees the new value": [write(1, 1, 2), write(2, 3, 6), read(2, 4, 5)],
    "two writes in either order": [write(1, 1, 4), write(2, 2, 3), read(1, 5, 6)],
    "the other order": [write(1, 1, 4), write(2, 2, 3), read(2, 5, 6)],
    "an unknown write never happened": [write(1, 1, 2), write(2, 3), read(1, 4, 5)],
    "an unknown write happened much later": [
        write(2, 1),
        write(1, 2, 3),
        read(1, 4, 5),
        read(2, 6, 7),
    ],
    "an unknown write was overwritten unseen": [write(1, 1), write(2, 2, 3), read(2, 4, 5)],
    "an unknown compare-and-set happened": [write(1, 1, 2), cas(1, 2, 3), read(2, 4, 5)],
    "a chain of unknown ones, seen at its end": [
        write(1, 1),
        cas(1, 2, 2),
        cas(2, 3, 3),
        read(3, 4, 5),
    ],
    "a compare-and-set that found another value": [write(1, 1, 2), cas(5, 2, 3, 4, found=1)],
    "of two compare-and-sets one wins": [
        write(1, 1, 2),
        cas(1, 2, 3, 6, found=1),
        cas(1, 3, 4, 5, found=2),
    ],
}

IMPOSSIBLE = {
    "a stale read": [write(1, 1, 2), write(2, 3, 4), read(1, 5, 6)],
    "a lost write": [write(1, 1, 2), read(None, 3, 4)],
    "a value nobody wrote": [write(1, 1, 2), read(7, 3, 4)],
    "new, then old": [write(1, 1, 2), write(2, 3, 8), read(2, 4, 5), read(1, 6, 7)],
    "an unknown write undone": [write(1, 1, 2), write(2, 3), read(2, 4, 5), read(1, 6, 7)],
    "seen before it was called": [read(2, 1, 2), write(2, 3)],
    "two compare-and-sets of one value": [
        write(1, 1, 2),
        cas(1, 2, 3, 6, found=1),
        cas(1, 3, 4, 5, found=1),
    ],
    "a compare-and-set missed what was there": [write(1, 1, 2), cas(1, 2, 3, 4, found=None)],
    "done on a value it did not expect": [
        write(1, 1, 2),
        replace(cas(5, 2, 3, 4, found=1), is_done=True),
    ],
    "a chain seen before its first link was called": [cas(1, 2, 1), read(2, 2, 3), write(1, 4)],
}


@pytest.mark.parametrize("name", LINEARIZABLE)
def test_history_that_some_order_explains(name: str) -> None:
    assert is_linearizable(LINEARIZABLE[name])


@pytest.mark.parametrize("name", IMPOSSIBLE)
def test_history_that_no_order_explains(name: str) -> None:
    assert not is_linearizable(IMPOSSIBLE[name])


def test_each_key_is_judged_alone_and_named() -> None:
    good = [replace(each, key=1) for each in LINEARIZABLE["one after another"]]
    bad = [replace(each, key=2) for each in IMPOSSIBLE["a stale read"]]

    assert complaints(good) == []
    (complaint,) = complaints(good + bad)
    assert complaint.startswith("key 2: no order explains 3 operations")


def test_a_value_used_twice_is_refused() -> None:
    with pytest.raises(ValueError, match="twice"):
        is_linearizable([write(1, 1, 2), write(1, 3, 4)])


def explained_by_an_order(operations: list[Operation]) -> bool:
    """The definition: every set of unknown ones that happened, every order of the calls."""
    unknown = [each for each in operations if each.is_unknown]
    known = [each for each in operations if not each.is_unknown]
    for chosen in range(1 << len(unknown)):
        happened = [each for number, each in enumerate(unknown) if chosen >> number & 1]
        if any(map(_is_right, permutations(known + happened))):
            return True
    return False


def _is_right(order: tuple[Operation, ...]) -> bool:
    value: int | None = None
    for position, each in enumerate(order):
        if any(later.returned < each.called for later in order[position + 1 :]):
            return False
        is_done = each.kind == "write" or (each.kind != "read" and value == each.expected)
        if not each.is_unknown and each.kind != "write" and each.found != value:
            return False
        if not each.is_unknown and each.kind == "compare-and-set" and each.is_done != is_done:
            return False
        value = each.value if is_done else value
    return True


def random_history(random: SeededRandom) -> list[Operation]:
    """Up to five operations with overlapping calls and answers that may be wrong."""
    count = random.randrange(2, 6)
    times = list(range(1, 2 * count + 1))
    history: list[Operation] = []
    for value in range(1, count + 1):
        called, returned = sorted(times.pop(random.randrange(0, len(times))) for _ in range(2))
        found = random.randrange(0, count + 1) or None
        match random.randrange(0, 5):
            case 0:
                history.append(write(value, called, returned))
            case 1:
                history.append(write(value, called))
            case 2:
                history.append(cas(random.randrange(0, count + 1) or None, value, called))
            case 3:
                expected = random.randrange(0, count + 1) or None
                history.append(cas(expected, value, called, returned, found=found))
            case _:
                history.append(read(found, called, returned))
    return history


def test_checker_agrees_with_the_definition_on_small_histories() -> None:
    random = SeededRandom(1)
    verdicts = {True: 0, False: 0}
    for _ in range(4000):
        history = random_history(random)
        expected = explained_by_an_order(history)
        assert is_linearizable(history) == expected, "\n".join(map(str, history))
        verdicts[expected] += 1

    assert min(verdicts.values()) > 500
