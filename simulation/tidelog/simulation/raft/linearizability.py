"""True if a history of reads, writes and compare-and-sets could be that of one register a key.

The search is Wing and Gong's with Lowe's memory of what was tried ("Testing for linearizability",
2017): take any operation that no other one had to precede, see whether the register answers as the
history says, go on; never search twice from the same set of done operations and the same value.

Keys are independent, so each is judged alone (linearizability is local). An operation whose outcome
nobody knows may have happened at any time after its call, or never. Values are never used twice and
every completed operation but a write returns the value it found, so that (`_without_unseen`)

- an unknown write that nobody saw can be left out: no operation that answered stood between it and
  the next change, else it would have seen it;
- one that was seen did happen, before the answer of the first that saw it.

This leaves no operation open, and the search short. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

FOREVER = 1 << 62


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation of one client; `called` and `returned` are places in one order of events.

    A write sets `value`. A compare-and-set sets it if it finds `expected`. `found` is the value
    that a read or a compare-and-set answered to have found. `returned` is `FOREVER` while nobody
    knows the outcome; `found` and `is_done` say nothing then. Reads without an answer do not count:
    leave them out.
    """

    number: int
    kind: Literal["read", "write", "compare-and-set"]
    key: int
    called: int
    returned: int = FOREVER
    value: int | None = None
    expected: int | None = None
    found: int | None = None
    is_done: bool = True

    @property
    def is_unknown(self) -> bool:
        """True if nobody knows if it happened."""
        return self.returned == FOREVER

    def __str__(self) -> str:
        what = {
            "read": f"read {self.found}",
            "write": f"write {self.value}",
            "compare-and-set": f"{self.expected}->{self.value}, found {self.found}",
        }[self.kind]
        end = "unknown" if self.is_unknown else str(self.returned)
        return f"#{self.number} key {self.key} {what} [{self.called}, {end}]"


class _Step(NamedTuple):
    """A way to go on: the value after it, None if the register cannot have answered so."""

    is_possible: bool
    value: int | None


def complaints(history: Iterable[Operation]) -> list[str]:
    """A line for each key whose operations no order explains; empty: linearizable."""
    by_key: dict[int, list[Operation]] = {}
    for operation in history:
        by_key.setdefault(operation.key, []).append(operation)
    return [
        f"key {key}: no order explains {len(operations)} operations: {_last(operations)}"
        for key, operations in sorted(by_key.items())
        if not is_linearizable(operations)
    ]


def is_linearizable(operations: Sequence[Operation]) -> bool:
    """True if one register, None at first, can have answered these operations of one key."""
    closed = _without_unseen(operations)
    return closed is not None and _is_explained(closed)


def _last(operations: Sequence[Operation]) -> str:
    known = [operation for operation in operations if not operation.is_unknown]
    return "; ".join(map(str, sorted(known, key=lambda each: each.returned)[-6:]))


# Unknown outcomes


def _without_unseen(operations: Sequence[Operation]) -> list[Operation] | None:
    """The operations with unknown ones left out or ended; None if one found what nobody wrote."""
    written = [each.value for each in operations if each.kind != "read"]
    if len(written) != len(set(written)):
        raise ValueError("a value was used twice")
    seen_by = _first_seen(operations)
    unknown = {each.value: each for each in operations if each.is_unknown and each.kind != "read"}
    ends: dict[int | None, int] = {}
    for value, returned in seen_by.items():
        _end_chain(value, returned, unknown, ends)
    if not seen_by.keys() <= {None, *written}:
        return None
    known = [each for each in operations if not each.is_unknown]
    return known + [
        replace(each, returned=ends[value], found=each.expected)
        for value, each in unknown.items()
        if value in ends
    ]


def _first_seen(operations: Sequence[Operation]) -> dict[int | None, int]:
    """By value: when the first operation that found it answered."""
    seen: dict[int | None, int] = {}
    for each in operations:
        if each.kind != "write" and not each.is_unknown:
            seen[each.found] = min(seen.get(each.found, FOREVER), each.returned)
    return seen


def _end_chain(
    value: int | None,
    returned: int,
    unknown: dict[int | None, Operation],
    ends: dict[int | None, int],
) -> None:
    """The setter of `value` came before `returned`; so did that of the value it expected."""
    while value in unknown and returned < ends.get(value, FOREVER):
        ends[value] = returned
        value = unknown[value].expected


# The search


def _is_explained(operations: list[Operation]) -> bool:
    operations = sorted(operations, key=lambda each: each.called)
    all_done = (1 << len(operations)) - 1
    seen: set[tuple[int, int | None]] = {(0, None)}
    todo: list[tuple[int, int | None]] = [(0, None)]
    while todo:
        done, value = todo.pop()
        if done == all_done:
            return True
        for position in _candidates(operations, done):
            step = _step(operations[position], value)
            state = done | 1 << position, step.value
            if step.is_possible and state not in seen:
                seen.add(state)
                todo.append(state)
    return False


def _candidates(operations: list[Operation], done: int) -> list[int]:
    """Operations that can come next: called before any that is not done had returned."""
    found: list[int] = []
    first_return = FOREVER + 1
    for position in range(_lowest_clear_bit(done), len(operations)):
        each = operations[position]
        if each.called > first_return:
            break
        if not done >> position & 1:
            found.append(position)
            first_return = min(first_return, each.returned)
    return found


def _lowest_clear_bit(number: int) -> int:
    return ((number + 1) & ~number).bit_length() - 1


def _step(operation: Operation, value: int | None) -> _Step:
    match operation.kind:
        case "read":
            return _Step(operation.found == value, value)
        case "write":
            return _Step(is_possible=True, value=operation.value)
        case _:
            is_done = value == operation.expected
            is_possible = operation.found == value and operation.is_done == is_done
            return _Step(is_possible, operation.value if is_done else value)
