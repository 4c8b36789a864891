"""A dictionary of an image, copied when it is first written to: most batches change few of them."""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Mapping
from typing import Generic, TypeVar

_K = TypeVar("_K")
_V = TypeVar("_V")


class Copied(Generic[_K, _V]):
    """A frozen mapping and, once it was written to, its changed copy."""

    __slots__ = ("_copy", "now")

    def __init__(self, of_image: Mapping[_K, _V]) -> None:
        self.now: Mapping[_K, _V] = of_image
        """The mapping after the records so far."""
        self._copy: dict[_K, _V] | None = None

    @property
    def changed(self) -> dict[_K, _V]:
        """The copy, to write to."""
        if self._copy is None:
            self.now = self._copy = dict(self.now)
        return self._copy
