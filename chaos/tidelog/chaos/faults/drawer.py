"""Drawer of random faults: which kinds, at which moments, for how long, and whom they strike.

Storms of stories and the random suites of the simulation draw through these functions, from chance
that is given. A table of `Kind` rows says what there is, a `Plan` how often it strikes:

    rounds   a storm of stories (`storm_plan`): a few kinds at once, drawn in advance with moment
             and duration; a round is over before the next, and rows exclude each other, since on
             processes two toxics of a kind on one link take back each other
    swarm    a random suite: some kinds for the whole seed (swarm testing: each also strikes nearly
             alone), then one strike after another while earlier ones last. A simulated network
             counts cuts, so strikes may overlap; duration and victim are drawn at the strike, from
             the state then
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

from tidelog.core.chance import one_of
from tidelog.core.env import Random

LEADER_SHARE, CONTROLLER_SHARE = 0.4, 0.6
"""Below the first the leader is struck, below the second the active controller, else anyone."""

T = TypeVar("T")
Draw = TypeVar("Draw")
NodeOrNone = Callable[[], int | None]


class Span(NamedTuple):
    """Range that a fault draws from, in seconds: `[low, high)`."""

    low: float
    high: float

    def draw(self, random: Random) -> float:
        """Draw a time."""
        return self.low + (self.high - self.low) * random.random()


class Sometimes(NamedTuple):
    """Usually one span, with some probability the other."""

    probability: float
    other: Span
    usual: Span

    def draw(self, random: Random) -> float:
        """Draw a time."""
        is_other = random.random() < self.probability
        return (self.other if is_other else self.usual).draw(random)


@dataclass(frozen=True, slots=True)
class Kind(Generic[Draw]):
    """Row of a table of faults: its name, how it is drawn, and what it goes together with."""

    name: str
    draw: Draw
    """Draws the fault from the state at the strike; some kinds of the suites act by themselves."""
    lasts: Span | Sometimes | None = None
    """None: the plan says it, or the fault ends by itself."""
    group: str = ""
    excludes: frozenset[str] = frozenset()
    """Names and groups that are never drawn together with it."""
    may_repeat: bool = False
    """True if it may be drawn together with itself."""
    weight: int = 1
    nodes_min: int = 1
    brokers_min: int = 1
    """Smallest cluster in which a strike does anything."""

    def is_excluded_by(self, other: Kind[Draw]) -> bool:
        """True if the two are never drawn together, whichever is drawn first."""
        if self.name == other.name and not self.may_repeat:
            return True
        mine, theirs = {self.name, self.group}, {other.name, other.group}
        return bool(theirs & self.excludes or mine & other.excludes)


@dataclass(frozen=True, slots=True)
class Plan:
    """Number of kinds of a table that are drawn together, and the gap before each strike."""

    kinds_min: int
    kinds_max: int | None
    """None: as many as the table has."""
    gap: Span

    def draw_kinds(self, random: Random, table: Sequence[Kind[Draw]]) -> Iterator[Kind[Draw]]:
        """Yield kinds that go together, fewer than drawn if no more are left."""
        most = len(table) if self.kinds_max is None else self.kinds_max
        left = list(table)
        for _ in range(random.randrange(self.kinds_min, most + 1)):
            if not left:
                return
            kind = one_of(random, left)
            left = [one for one in left if not one.is_excluded_by(kind)]
            yield kind


def possible(kinds: Sequence[Kind[Draw]], *, nodes: int, brokers: int) -> list[Kind[Draw]]:
    """Select the kinds that can strike a cluster of this size."""
    return [one for one in kinds if one.nodes_min <= nodes and one.brokers_min <= brokers]


def weighted(kinds: Sequence[Kind[Draw]]) -> list[Kind[Draw]]:
    """Repeat each kind as often as it weighs, to draw one from; the heavy ones' repeats last."""
    heaviest = max((kind.weight for kind in kinds), default=0)
    return [kind for times in range(heaviest) for kind in kinds if kind.weight > times]


def draw_victim(
    random: Random,
    node_ids: Sequence[int],
    *,
    leader: NodeOrNone,
    controller: NodeOrNone,
    held: Collection[int] = (),
    tries_next: bool = True,
) -> int | None:
    """Draw a leader, the active controller, or anyone; None: every node is `held`.

    `leader` and `controller` are asked when it is their turn, as they may draw, too. Where the one
    drawn is unknown or held, it is anyone, with `tries_next` first the controller in place of a
    leader.
    """
    drawn = random.random()
    for share, find in ((LEADER_SHARE, leader), (CONTROLLER_SHARE, controller)):
        if drawn < share:
            found = find()
            if found is not None and found not in held:
                return found
            if not tries_next:
                break
    free = [one for one in node_ids if one not in held]
    return one_of(random, free) if free else None


async def strike_repeatedly(
    random: Random,
    kinds: Sequence[T],
    begin: Callable[[T], Awaitable[None]],
    *,
    gap: Span,
    is_over: Callable[[], bool],
) -> None:
    """Begin one of the kinds after each gap; `begin` returns when the next gap may begin."""
    while not is_over():
        await asyncio.sleep(gap.draw(random))
        await begin(one_of(random, kinds))
