"""Keys by the times at which each has to be looked at, the earliest first. Pure."""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

import heapq
from collections.abc import Callable, Hashable
from typing import Generic, NamedTuple, TypeVar

K = TypeVar("K", bound=Hashable)

_OUTDATED_MIN = 64


class _Entry(NamedTuple):
    """A place in the heap; outdated once its key has another time."""

    at_ms: int
    number: int  # distinguishes entries of one time: keys are not compared


class Deadlines(Generic[K]):
    """A time for each key, by a clock that only rises."""

    def __init__(self) -> None:
        self._at: dict[K, int] = {}
        self._heap: list[_Entry] = []
        self._keys: dict[int, K] = {}
        self._numbers = 0

    def __len__(self) -> int:
        return len(self._at)

    def set(self, key: K, at_ms: int | None) -> None:
        """Set the key's time, in place of the one before; None: there is none."""
        if self._at.get(key) == at_ms:
            return
        if at_ms is None:
            del self._at[key]
        else:
            self._at[key] = at_ms
            self._push(key, at_ms)
        if len(self._heap) > _OUTDATED_MIN + 2 * len(self._at):
            self._sweep()

    def discard(self, is_over: Callable[[K], bool]) -> None:
        """Forget keys."""
        self._at = {key: at_ms for key, at_ms in self._at.items() if not is_over(key)}
        self._sweep()

    @property
    def next_ms(self) -> int | None:
        """The earliest time; None: there is none."""
        while self._heap and self._is_outdated(self._heap[0]):
            del self._keys[heapq.heappop(self._heap).number]
        return self._heap[0].at_ms if self._heap else None

    def take_due(self, now_ms: int) -> list[K]:
        """Take the keys whose time has come, the earliest first."""
        due: list[K] = []
        while (next_ms := self.next_ms) is not None and next_ms <= now_ms:
            key = self._keys.pop(heapq.heappop(self._heap).number)
            del self._at[key]
            due.append(key)
        return due

    def _is_outdated(self, entry: _Entry) -> bool:
        return self._at.get(self._keys[entry.number]) != entry.at_ms

    def _push(self, key: K, at_ms: int) -> None:
        self._numbers += 1
        self._keys[self._numbers] = key
        heapq.heappush(self._heap, _Entry(at_ms, self._numbers))

    def _sweep(self) -> None:
        """Drop all outdated entries."""
        self._heap, self._keys = [], {}
        for key, at_ms in self._at.items():
            self._push(key, at_ms)
