"""Turns of a node's replicas at the checks: a broad topic's are not looked at after every step.

A look at each replica after each step costs as much as the storm itself times the replicas.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from itertools import islice

from tidelog.broker.partition.partition import Partition
from tidelog.chaos.node_inside import Held

FEW = 100
"""A node with more replicas has them looked at in turns."""
AT_ONCE = 16
NARROW = 8
"""Replicas of topics that have no more here are looked at after every step all the same."""
Key = tuple[str, int]
"""A topic, and a partition's number."""


class ReplicaTurns:
    """The replicas of a node whose turn it is, round after round."""

    def __init__(self) -> None:
        self._narrow: list[Key] = []
        self._round: Iterator[Key] = iter(())

    def always(self, held: Held) -> Iterator[Partition]:
        """Yield the replicas of narrow topics, as of the beginning of this round."""
        return _present(held, self._narrow)

    def next(self, held: Held, named: Collection[Key]) -> Iterator[Partition]:
        """Yield those that are `named`, and some others; a new round begins after the last."""
        some = [*islice(self._round, AT_ONCE)]
        if len(some) < AT_ONCE:
            sizes = Counter(topic for topic, _ in held)
            self._narrow = [key for key in held if sizes[key[0]] <= NARROW]
            self._round = iter([key for key in held if sizes[key[0]] > NARROW])
        return _present(held, (*named, *some))


def _present(held: Held, keys: Iterable[Key]) -> Iterator[Partition]:
    return (held[key] for key in keys if key in held)
