"""Reach of a toxic: which links, in which direction, and which share of their connections. Pure.

A path `a, b` is what `a` says to `b`, no matter which side connected: the upstream of the links
a ▶ b and the downstream of the links b ▶ a.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tidelog.chaos.faults.fault import require
from tidelog.chaos.story.cluster_port import Path, Side
from tidelog.chaos.story.paths import between, words_for
from tidelog.chaos.topology import Direction, Link, Role, node_name

EVERY_ROLE: frozenset[Role] = frozenset({"broker", "controller", "raft", "kafka"})


@dataclass(frozen=True, slots=True)
class Reach:
    """Paths, narrowed to links to some roles of their target.

    `toxicity` is the share of *connections* struck; a gRPC channel has one for all its calls.
    """

    paths: tuple[Path, ...]
    roles: frozenset[Role] = EVERY_ROLE
    toxicity: float = 1.0

    def __post_init__(self) -> None:
        require(self.paths, "a fault of links needs a path at least")
        require(self.roles and self.roles <= EVERY_ROLE, f"roles are {sorted(EVERY_ROLE)}")
        require(0 < self.toxicity <= 1, f"toxicity is a share in (0, 1], not {self.toxicity}")

    def streams(self, links: Iterable[Link]) -> dict[Direction, list[Link]]:
        """The links among these that carry these paths, by direction."""
        return streams(self.paths, (link for link in links if link.role in self.roles))

    def links(self, links: Iterable[Link]) -> list[Link]:
        """The links among these that carry any of these paths."""
        return sorted({one for stream in self.streams(links).values() for one in stream})

    def __str__(self) -> str:
        text = words_for(self.paths, one_way="▶", both_ways="◀▶")
        roles = "" if self.roles == EVERY_ROLE else f" ({', '.join(sorted(self.roles))})"
        share = "" if self.toxicity == 1 else f", {self.toxicity:.0%} of connections"
        return f"{text}{roles}{share}"


def streams(paths: Iterable[Path], links: Iterable[Link]) -> dict[Direction, list[Link]]:
    """Which of the links carry what is said on these paths, by direction."""
    said = {(_name(source), _name(target)) for source, target in paths}
    there = list(links)
    return {
        "upstream": [one for one in there if (one.source, node_name(one.target)) in said],
        "downstream": [one for one in there if (node_name(one.target), one.source) in said],
    }


def both_ways(side: Sequence[Side], others: Sequence[Side]) -> tuple[Path, ...]:
    """Every path between two sides."""
    return tuple(between(side, others))


def one_way(sources: Sequence[Side], targets: Sequence[Side]) -> tuple[Path, ...]:
    """Every path from one side to the other."""
    return tuple((one, other) for one in sources for other in targets if one != other)


def _name(side: Side) -> str:
    return side if isinstance(side, str) else node_name(side)
