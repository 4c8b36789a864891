"""Cycles of a directed graph: Tarjan's strongly connected components, without recursion. Pure."""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field


@dataclass(slots=True)
class _Walk:
    """Numbers of nodes in the order in which they are found, and how far back each leads."""

    number: list[int]
    lowest: list[int]
    path: list[int] = field(default_factory=list)
    """Nodes whose component is not known yet."""
    is_on_path: set[int] = field(default_factory=set)
    count: int = 0

    def enter(self, node: int) -> None:
        self.number[node] = self.lowest[node] = self.count
        self.count += 1
        self.path.append(node)
        self.is_on_path.add(node)

    def leave(self, node: int) -> list[int]:
        """Take the component whose first node this is; empty if it is not."""
        found: list[int] = []
        if self.lowest[node] != self.number[node]:
            return found
        while not found or found[-1] != node:
            found.append(self.path.pop())
        self.is_on_path.difference_update(found)
        return found


def strong_components(edges: Sequence[Sequence[int]]) -> list[list[int]]:
    """Components of more than one node: in each, every node leads to every other.

    `edges` holds, by node, those to which it leads. Time is that of nodes and edges (R. Tarjan,
    Depth-first search and linear graph algorithms, 1972).
    """
    walk = _Walk([-1] * len(edges), [0] * len(edges))
    found = []
    for root in range(len(edges)):
        if walk.number[root] < 0:
            found += [one for one in _components_from(root, edges, walk) if len(one) > 1]
    return found


def _components_from(root: int, edges: Sequence[Sequence[int]], walk: _Walk) -> Iterator[list[int]]:
    walk.enter(root)
    calls = [(root, iter(edges[root]))]
    while calls:
        node, rest = calls[-1]
        for after in rest:
            if walk.number[after] < 0:
                walk.enter(after)
                calls.append((after, iter(edges[after])))
                break
            if after in walk.is_on_path:
                walk.lowest[node] = min(walk.lowest[node], walk.number[after])
        else:
            calls.pop()
            if calls:
                above = calls[-1][0]
                walk.lowest[above] = min(walk.lowest[above], walk.lowest[node])
            yield walk.leave(node)


def cycle_in(component: Sequence[int], edges: Sequence[Sequence[int]]) -> list[int]:
    """A shortest cycle through the first node of a strong component, beginning there."""
    start, within = component[0], set(component)
    came_from: dict[int, int] = {}
    waiting = deque([start])
    while waiting:
        node = waiting.popleft()
        for after in edges[node]:
            if after == start:
                return _way_to(node, start, came_from)
            if after in within and after not in came_from:
                came_from[after] = node
                waiting.append(after)
    return [start]


def _way_to(node: int, start: int, came_from: dict[int, int]) -> list[int]:
    way = [node]
    while way[-1] != start:
        way.append(came_from[way[-1]])
    return way[::-1]
