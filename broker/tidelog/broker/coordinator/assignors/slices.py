"""Steps of work, counted, so that a generator yields after each slice of them."""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Generator
from typing import TypeVar

SLICE_STEPS = 2_000

T = TypeVar("T")
Sliced = Generator[None, None, T]
"""Work that yields after each slice and returns a `T`: to be read with `yield from`."""


class Steps:
    """Steps since the last yield; a step is a microsecond or less."""

    def __init__(self) -> None:
        self._done = 0

    def fill_slice(self, steps: int = 1) -> bool:
        """Count the steps; true when the slice is full: the caller yields, a new slice begins."""
        self._done += steps
        if self._done < SLICE_STEPS:
            return False
        self._done = 0
        return True
