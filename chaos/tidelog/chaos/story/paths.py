"""Paths between sides, and their description for people. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tidelog.chaos.story.cluster_port import Path, Side


def between(side: Iterable[Side], others: Iterable[Side]) -> list[Path]:
    """Every path between two sides, both ways."""
    far = list(others)
    there: list[Path] = [(one, other) for one in side for other in far if one != other]
    return there + [path[::-1] for path in there]


def words_for(paths: Sequence[Path], *, one_way: str = "↛", both_ways: str = "↮") -> str:
    """For people: `4 ↮ 5, 6; 4 ↛ clients`, the arrows of a cut."""
    heard: dict[str, list[str]] = {}
    done: set[Path] = set()
    for source, target in paths:
        if (target, source) not in done:
            arrow = both_ways if (target, source) in paths else one_way
            heard.setdefault(f"{source} {arrow}", []).append(str(target))
            done.add((source, target))
    return "; ".join(f"{sides} {', '.join(targets)}" for sides, targets in heard.items())


def struck(paths: Iterable[Path]) -> list[int]:
    """The nodes a cut is about: those at an end of each path."""
    ends = [set(path) for path in paths]
    sides = set.intersection(*ends) if ends else set()
    return sorted(side for side in sides if isinstance(side, int))
