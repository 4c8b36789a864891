"""Evidence of groups, by group and partition: owners, records handed out, commits.

One pass over the calls of groups. Judges nothing.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from math import inf
from operator import attrgetter
from typing import NamedTuple, TypeAlias

from tidelog.history.history import Assignment, Commit, Committed, History, Poll

Move: TypeAlias = tuple[int, int, tuple[Poll, ...]]
"""Expected offset, actual one, and the polls that show it."""
OfGroup: TypeAlias = Assignment | Commit | Committed | Poll


@dataclass
class Holding:
    """A time in which a member held a partition, as the member saw it."""

    began: Assignment
    ended: Assignment | None = None
    """None: it holds it still."""
    polls: list[Poll] = field(default_factory=list)

    @property
    def process(self) -> str:
        """The member's consumer."""
        return self.began.process

    @property
    def began_s(self) -> float:
        """When it came."""
        return self.began.at_s

    @property
    def ended_s(self) -> float:
        """When it had gone."""
        return inf if self.ended is None else self.ended.at_s


class Seen(NamedTuple):
    """An offset that a look-up returned, or at which a member began to read."""

    offset: int | None
    invoked_s: float
    ended_s: float
    call: Committed | Poll

    @property
    def is_stable(self) -> bool:
        """True if no transaction's offset was pending."""
        call = self.call
        return call.is_committed if isinstance(call, Poll) else call.is_stable or call.is_final


@dataclass
class Shared:
    """A partition of one incarnation of a topic, as one group reads it."""

    group: str
    topic: str
    incarnation: int
    partition: int
    holdings: list[Holding] = field(default_factory=list)
    """In the order in which they began."""
    strays: list[Poll] = field(default_factory=list)
    """Polls with records, of members that did not hold it."""
    commits: list[Commit] = field(default_factory=list)
    committed: list[Committed] = field(default_factory=list)
    handed_out_s: dict[int, float] = field(default_factory=dict)
    """By offset, when some member got the record first."""
    repeats: int = 0
    """Records that a member got and another one, or itself, had got before."""

    @property
    def place(self) -> str:
        """For people."""
        again = f" (incarnation {self.incarnation})" if self.incarnation else ""
        return f"{self.topic}-{self.partition}{again} of group {self.group}"

    @cached_property
    def key(self) -> tuple[str, int, int]:
        """Its place among partitions without groups."""
        return self.topic, self.incarnation, self.partition

    def last_holding(self, process: str, at_s: float) -> Holding | None:
        """The last holding of a member that began before then."""
        own = (one for one in reversed(self.holdings) if one.process == process)
        return next((one for one in own if one.began_s <= at_s), None)

    def moves(self) -> Iterator[Move]:
        """Jumps of a member to another offset than follows, while it holds the partition."""
        for holding in self.holdings:
            expected, before = None, None
            for poll in holding.polls:
                if before is not None and poll.position != expected and not poll.is_rewound:
                    yield expected or 0, poll.position, (before, poll)
                before = poll
                expected = poll.next_position

    def seen(self) -> Iterator[Seen]:
        """Committed offsets that were seen."""
        for one in self.committed:
            yield Seen(one.offset, one.invoked_s, one.ended_s, one)
        for holding in self.holdings:
            if holding.polls:
                first = holding.polls[0]
                yield Seen(first.position, holding.began_s, holding.began_s, first)

    def _note_poll(self, holding: Holding | None, poll: Poll) -> None:
        if holding is not None:
            holding.polls.append(poll)
        elif poll.records:
            self.strays.append(poll)
        for offset, _ in poll.records:
            self.repeats += offset in self.handed_out_s
            first_s = self.handed_out_s.get(offset, inf)
            self.handed_out_s[offset] = min(first_s, poll.ended_s)


class GroupEvidence:
    """The calls of all groups."""

    def __init__(self, history: History) -> None:
        self.partitions: dict[tuple[str, str, int, int], Shared] = {}
        self.by_process: defaultdict[str, list[OfGroup]] = defaultdict(list)
        """Calls of each member, in order."""
        self.overlaps_s = history.overlaps_s
        calls: Iterable[OfGroup] = chain(
            history.assignments,
            history.commits,
            history.committed,
            (poll for poll in history.polls if poll.group),
        )
        held: dict[tuple[str, str, str, int, int], Holding] = {}
        for call in sorted(calls, key=attrgetter("number")):
            self.by_process[call.process].append(call)
            key = call.group, call.topic, call.incarnation, call.partition
            shared = self.partitions.get(key) or self.partitions.setdefault(key, Shared(*key))
            match call:
                case Assignment():
                    _note_change(shared, held, call)
                case Poll():
                    shared._note_poll(held.get((call.process, *key)), call)  # noqa: SLF001
                case Commit():
                    shared.commits.append(call)
                case Committed():
                    shared.committed.append(call)
        for shared in self.partitions.values():
            shared.holdings.sort(key=attrgetter("began_s"))

    def count_repeats(self) -> int:
        """Count records that a group got more than once."""
        return sum(shared.repeats for shared in self.partitions.values())


def _note_change(
    shared: Shared, held: dict[tuple[str, str, str, int, int], Holding], call: Assignment
) -> None:
    key = call.process, shared.group, *shared.key
    if call.change == "assigned":
        held[key] = Holding(call)
        shared.holdings.append(held[key])
    elif (holding := held.pop(key, None)) is not None:
        holding.ended = call
