"""Hand-outs: who was given which record, and what applications are done with. From outside.

What must hold at each hand-out: its partition was assigned to the member and neither revoked nor
lost since; the member's lease lasts; no later owner has handed out records of the partition. One
exception, of docs/GROUPS.md: where only the coordinator saw the member's connection break.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from tidelog.chaos.invariants.invariant import Report
from tidelog.client.records import TopicPartition

I24 = "I24"
LET_GO, LEASE = "handed-after-let-go", "handed-after-lease"


class Place(NamedTuple):
    """A partition of one incarnation of a topic."""

    topic: str
    incarnation: int
    partition: int


class Owner(Protocol):
    """A member process, as the checks see it."""

    name: str
    assigned_at: dict[TopicPartition, int]
    """By partition that it has, the number of its assignment."""

    def why_over(self) -> str | None:
        """Say why its lease is over; None: it lasts."""

    @property
    def is_excused(self) -> bool:
        """True if the coordinator saw its connection break, and itself not, or later."""


@dataclass(slots=True)
class Progress:
    """Hand-outs of one partition."""

    newest_owner: int = 0
    """Number of the newest assignment under which a record was handed out."""
    handed: Counter[int] = field(default_factory=Counter)
    done: set[int] = field(default_factory=set)
    """Offsets that an application is done with; only asked, never gone through."""
    done_below: int = 0
    """Exclusive end of the offsets that are done without a gap."""

    def finish(self, offset: int) -> None:
        """An application is done with a record."""
        self.done.add(offset)
        while self.done_below in self.done:
            self.done_below += 1


class Handouts:
    """Every hand-out of a run. Reports what must not be."""

    def __init__(self, report: Report, count: Callable[[str], None]) -> None:
        self._report = report
        self._count = count
        self._progress: dict[Place, Progress] = {}
        self._assignments = 0
        self.total = 0

    def next_assignment(self) -> int:
        """Number of the next assignment of a partition, in the order of `assigned` calls."""
        self._assignments += 1
        return self._assignments

    def hand(self, owner: Owner, place: Place, offset: int) -> None:
        """A record is handed out."""
        self.total += 1
        progress = self.progress(place)
        tp = TopicPartition(place.topic, place.partition)
        what = f"{owner.name} handed out {tp.topic}-{tp.partition}/{offset}"
        assigned_at = owner.assigned_at.get(tp)
        if assigned_at is None:
            self._report(LET_GO, f"{what}, which it has let go of")
            return
        over = owner.why_over()
        if over is not None:
            self._report(LEASE, f"{what}, and owns nothing: {over}")
        if assigned_at < progress.newest_owner:
            if owner.is_excused:
                self._count("excused_handouts")
            else:
                self._report(I24, f"{what} beside the next owner")
        progress.newest_owner = max(progress.newest_owner, assigned_at)
        if progress.handed[offset]:
            self._count("handed_again")
        progress.handed[offset] += 1

    def finish(self, place: Place, offset: int) -> None:
        """The application that was given it is done with it."""
        self.progress(place).finish(offset)

    def progress(self, place: Place) -> Progress:
        """Progress in a partition."""
        return self._progress.setdefault(place, Progress())
