"""Mutants: one small function of the product, replaced by a wrong one under a name.

Owns how a patch is applied and taken back. Only the launcher of a simulation applies one, in its
worker process: the product knows no mutant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Mutant:
    """`owner`, a module or a class, with `replacement` in the place of a function or property."""

    owner: Any  # a module or a class: whatever has functions as attributes
    attribute: str
    replacement: Callable[..., Any]
    beside: Mutant | None = None
    """A second lock on the same door, removed with it."""

    @property
    def name(self) -> str:
        """As in reports and on the command line."""
        return self.replacement.__name__

    @property
    def patch(self) -> str:
        """`module:function` for a worker."""
        return f"{self.replacement.__module__}:{self.name}"

    @property
    def claim(self) -> str:
        """The broken rule, in a sentence."""
        return (self.replacement.__doc__ or "").partition("\n")[0]

    def __call__(self) -> None:
        """Be wrong for the rest of the process: what a worker's `--patch` calls."""
        if self.beside is not None:
            self.beside()
        original = vars(self.owner)[self.attribute]  # what is replaced must be there
        is_property = isinstance(original, property)
        wrong = property(self.replacement) if is_property else self.replacement
        setattr(self.owner, self.attribute, wrong)

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Wrong inside, right again after."""
        original = vars(self.owner)[self.attribute]
        with nullcontext() if self.beside is None else self.beside.applied():
            self()
            try:
                yield
            finally:
                setattr(self.owner, self.attribute, original)


def replaces(
    owner: object, attribute: str, *, beside: Mutant | None = None
) -> Callable[[Callable[..., Any]], Mutant]:
    """Make the decorated function the mutant of this name of `owner`'s function."""

    def make(replacement: Callable[..., Any]) -> Mutant:
        return Mutant(owner, attribute, replacement, beside)

    return make
