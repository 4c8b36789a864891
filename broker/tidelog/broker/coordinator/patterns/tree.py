"""A subscription's pattern as a tree. Pure."""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn, TypeAlias

from tidelog.core.errors import InvalidRegularExpressionError

SHOWN_CHARACTERS = 60
"""Characters of a pattern that an error repeats."""
ASCII = 128
ALL = (1 << ASCII) - 1


@dataclass(frozen=True, slots=True)
class Characters:
    """A character of a set: bit n stands for the ASCII code n; 0: none of them matches."""

    mask: int


@dataclass(frozen=True, slots=True)
class Sequence:
    """Parts one after another; none: the empty text."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """A choice of several."""

    options: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """A part `least` to `most` times; None: without bound."""

    body: Node
    least: int
    most: int | None


@dataclass(frozen=True, slots=True)
class Edge:
    """An end of the name; `offset` is its place in the pattern."""

    is_start: bool
    offset: int


Node: TypeAlias = Characters | Sequence | Choice | Repeat | Edge

EMPTY = Sequence(())


def mask_of(characters: str) -> int:
    """Set of characters; those beyond ASCII are in none."""
    mask = 0
    for one in characters:
        if ord(one) < ASCII:
            mask |= 1 << ord(one)
    return mask


def refuse(pattern: str, what: str) -> NoReturn:
    """Raise `InvalidRegularExpressionError`."""
    shown = pattern
    if len(pattern) > SHOWN_CHARACTERS:
        shown = f"{pattern[:SHOWN_CHARACTERS]}…"
    raise InvalidRegularExpressionError(f"pattern {shown!r}: {what}")
