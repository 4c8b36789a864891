"""Turns of a node's replicas at the checks: of few replicas each after every step, of many some.

A look at each replica after each step costs as much as the storm itself times the replicas.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from itertools import islice

from tidelog.broker.partition.partition import Partition
from tidelog.chaos.node_inside import Held

FEW = 100
"""A node with more replicas has them looked at in turns."""
AT_ONCE = 16
Key = tuple[str, int]
"""A topic, and a partition's number."""


class ReplicaTurns:
    """`next` gives the replicas of a node whose turn it is, round after round."""

    def __init__(self) -> None:
        self._round: Iterator[Key] = iter(())

    def next(self, held: Held, named: Collection[Key]) -> Iterable[Partition]:
        """Yield those that are `named`, and some others."""
        for key in (*named, *self._some(held)):
            hosted = held.get(key)
            if hosted is not None:
                yield hosted

    def _some(self, held: Held) -> list[Key]:
        """Give the next ones, and begin again after the last."""
        some = [*islice(self._round, AT_ONCE)]
        if len(some) < AT_ONCE:
            self._round = iter(list(held))
        return some
