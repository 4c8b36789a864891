"""A pattern's tree as an automaton of its characters' positions (Glushkov's construction). Pure.

A *position* is a character of the pattern, counted repeats written out: `a{2}b` has three. The
automaton says which positions may come first, which may follow each, and behind which the name may
end. Sets of positions are bits of integers.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, NoReturn

from tidelog.broker.coordinator.patterns.tree import (
    EMPTY,
    Characters,
    Choice,
    Edge,
    Node,
    Repeat,
    Sequence,
    refuse,
)

POSITIONS_MAX = 1_000
"""Most positions of a pattern."""
LINKS_MAX = 5_000
"""Most pairs of a position and what it was linked to: they bound the work of making them."""


class Part(NamedTuple):
    """Positions of a part of the pattern that may come first in it and last."""

    first: int
    last: int
    is_nullable: bool
    """True if it matches the empty text, too."""


_NOTHING = Part(0, 0, is_nullable=True)


class Positions:
    """Positions of a pattern. Raises `InvalidRegularExpressionError` where it is too large."""

    def __init__(self, pattern: str, node: Node) -> None:
        self.masks: list[int] = []
        """Characters of each position, see `tree.Characters`."""
        self.follow: list[int] = []
        """Positions that may follow each."""
        self.is_linked_twice = False
        """True if a position may follow another in two ways, as in (a+)+."""
        self._pattern = pattern
        self._links = 0
        self.whole = self._add(node)

    def _add(self, node: Node) -> Part:
        match node:
            case Characters(mask):
                return self._add_position(mask)
            case Sequence(parts):
                whole = _NOTHING
                for part in parts:
                    whole = self._chain(whole, self._add(part))
                return whole
            case Choice(options):
                added = [self._add(one) for one in options]
                return Part(
                    _union(one.first for one in added),
                    _union(one.last for one in added),
                    is_nullable=any(one.is_nullable for one in added),
                )
            case Repeat(body, least, most):
                return self._repeat(body, least, most)
            case Edge():
                return _NOTHING

    def _add_position(self, mask: int) -> Part:
        if len(self.masks) == POSITIONS_MAX:
            self._refuse_size()
        bit = 1 << len(self.masks)
        self.masks.append(mask)
        self.follow.append(0)
        return Part(bit, bit, is_nullable=False)

    def _repeat(self, body: Node, least: int, most: int | None) -> Part:
        whole = _NOTHING
        for number in range(max(least, 1) if most is None else most):
            part = self._add(body)
            if not part.first:
                return _NOTHING  # of the empty text: any number of them
            if most is None and number == max(least, 1) - 1:
                self._link(part.last, part.first)
            is_nullable = part.is_nullable or number >= least
            whole = self._chain(whole, part._replace(is_nullable=is_nullable))
        return whole

    def _chain(self, left: Part, right: Part) -> Part:
        self._link(left.last, right.first)
        return Part(
            left.first | right.first if left.is_nullable else left.first,
            left.last | right.last if right.is_nullable else right.last,
            is_nullable=left.is_nullable and right.is_nullable,
        )

    def _link(self, before: int, after: int) -> None:
        if not after:
            return
        self._links += before.bit_count()
        if self._links > LINKS_MAX:
            self._refuse_size()
        for position in bits_of(before):
            if self.follow[position] & after:
                self.is_linked_twice = True
            self.follow[position] |= after

    def _refuse_size(self) -> NoReturn:
        refuse(
            self._pattern,
            f"it has more than {POSITIONS_MAX} characters with its repeats written out, or too "
            "many of them are optional: write less, or subscribe to topics by their names",
        )


def without_edges(pattern: str, node: Node) -> Node:
    """Leave ^ and $ out, which say nothing where a whole name is matched.

    Raises `InvalidRegularExpressionError` for one that is not at the end of the pattern: it would
    match no name.
    """
    return _inner(pattern, node, is_at_start=True, is_at_end=True)


def _inner(pattern: str, node: Node, *, is_at_start: bool, is_at_end: bool) -> Node:
    match node:
        case Edge(is_start, offset):
            if not (is_at_start if is_start else is_at_end):
                refuse(
                    pattern,
                    f"at character {offset}: ^ and $ stand at the ends of a pattern, since it is "
                    "matched with the whole name: leave it out",
                )
            return EMPTY
        case Sequence(parts):
            solid = [number for number, part in enumerate(parts) if not isinstance(part, Edge)]
            first, last = (solid[0], solid[-1]) if solid else (len(parts), -1)
            return Sequence(
                tuple(
                    _inner(
                        pattern,
                        part,
                        is_at_start=is_at_start and number <= first,
                        is_at_end=is_at_end and number >= last,
                    )
                    for number, part in enumerate(parts)
                )
            )
        case Choice(options):
            return Choice(
                tuple(
                    _inner(pattern, one, is_at_start=is_at_start, is_at_end=is_at_end)
                    for one in options
                )
            )
        case Repeat(body, least, most):
            is_once = most == 1
            return Repeat(
                _inner(
                    pattern,
                    body,
                    is_at_start=is_at_start and is_once,
                    is_at_end=is_at_end and is_once,
                ),
                least,
                most,
            )
        case Characters():
            return node


def bits_of(positions: int) -> Iterator[int]:
    """Iterate over the positions of a set."""
    while positions:
        lowest = positions & -positions
        yield lowest.bit_length() - 1
        positions ^= lowest


def _union(sets: Iterator[int]) -> int:
    union = 0
    for one in sets:
        union |= one
    return union
