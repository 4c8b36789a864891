"""Repeats on which an engine that backtracks may take time without bound, as (a+)+ or (a|a)*. Pure.

The coordinator's own automaton takes linear time on them, too. They are refused all the same:
consumers without a group, tools and clients of Kafka match the same patterns by engines that
backtrack. A repeat is safe when each character alone decides how the match goes on, within the
repeat and into its next round: no two positions that may come next share a character, and none
comes next in two ways. (Brüggemann-Klein and Wood: "one-unambiguous regular languages".)
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from tidelog.broker.coordinator.patterns.positions import Positions, bits_of
from tidelog.broker.coordinator.patterns.tree import Choice, Node, Repeat, Sequence, refuse

COUNT_UNCHECKED_MAX = 10
"""Highest count of a repeat that is not looked at: it multiplies the work by a constant."""


def check_repeats(pattern: str, node: Node) -> None:
    """Raise `InvalidRegularExpressionError` for a repeat that may backtrack without bound."""
    match node:
        case Repeat(body, _, most) if most is None or most > COUNT_UNCHECKED_MAX:
            if not _is_unambiguous(pattern, body):
                refuse(
                    pattern,
                    "a repeat of what can match in several ways may backtrack without bound: "
                    "write (a+)+ as a+, (a|ab)* as (ab?)*, and end each round with a character "
                    "that begins nothing else, as in ([a-z]+-)*",
                )
        case Repeat(body, _, _):
            check_repeats(pattern, body)
        case Sequence(parts) | Choice(parts):
            for part in parts:
                check_repeats(pattern, part)
        case _:
            return


def _is_unambiguous(pattern: str, body: Node) -> bool:
    positions = Positions(pattern, Repeat(body, 0, None))
    nexts = [positions.whole.first, *positions.follow]
    return not positions.is_linked_twice and all(_is_distinct(positions, one) for one in nexts)


def _is_distinct(positions: Positions, choices: int) -> bool:
    """True if no two of the positions share a character."""
    seen = 0
    for position in bits_of(choices):
        mask = positions.masks[position]
        if seen & mask:
            return False
        seen |= mask
    return True
