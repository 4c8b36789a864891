"""Evidence of one partition: what was read and acknowledged where. Pure; judges nothing.

Millions of calls must fit: per record nothing is kept but the offset and the value it was read
with; which call showed it first is looked up when somebody asks.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from math import inf
from operator import attrgetter, itemgetter
from typing import NamedTuple

from tidelog.history.checks.removals import Known, Removals
from tidelog.history.history import ACKS_ALL, Deletion, Keeping, Poll, Send


class Place(NamedTuple):
    """A value at an offset, and the first call that showed it there."""

    offset: int
    value: bytes
    call: Send | Poll


@dataclass
class Partition:
    """A partition of one incarnation of a topic, with its calls in their order."""

    topic: str
    incarnation: int
    partition: int
    is_lossy: bool
    is_newest: bool = True
    """The topic was not created again: what it holds was there to be read at the end."""
    sends: list[Send] = field(default_factory=list)
    polls: list[Poll] = field(default_factory=list)
    writers: dict[bytes, Send] = field(default_factory=dict)
    """The send of each value."""
    read: dict[int, bytes] = field(default_factory=dict)
    """By offset, what some poll showed first."""
    final: dict[int, bytes] = field(default_factory=dict)
    """By offset, what the final polls showed first."""
    final_end: int | None = None
    """The offset after the final polls; None: there were none."""
    last_final: Poll | None = None
    """The final poll that ended there."""
    is_read_alike: bool = True
    """No two polls showed another value at one offset."""
    uncommitted: frozenset[int] = frozenset()
    """Transactions that are not surely committed: nobody has to be shown their records."""
    strange: list[Place] = field(default_factory=list)
    """Read, and explained by no write that was sent here before and not refused."""
    altered: list[tuple[Place, str]] = field(default_factory=list)
    """Read with other parts than it was sent with, and which they are."""

    keeping: Keeping | None = None
    """Rules by which its records may go."""
    deletions: list[Deletion] = field(default_factory=list)
    wall_s: float = 0.0
    """Seconds since the Unix epoch when the history's clock is 0."""

    @property
    def name(self) -> str:
        """For people."""
        again = f" (incarnation {self.incarnation})" if self.incarnation else ""
        return f"{self.topic}-{self.partition}{again}"

    @property
    def is_kept(self) -> bool:
        """True if all that was acknowledged in it must be there at the end."""
        return self.is_newest and not self.is_lossy

    @cached_property
    def first_call_s(self) -> float:
        """When the first call was made, in seconds."""
        calls: Iterable[Send | Poll] = chain(self.sends, self.polls)
        return min((call.invoked_s for call in calls), default=inf)

    @cached_property
    def final_values(self) -> frozenset[bytes]:
        """Values of the final polls, in any partition."""
        return frozenset(self.final.values())

    @cached_property
    def final_polls(self) -> dict[int, Poll]:
        """By offset, the first final poll that showed it."""
        return _first_polls(poll for poll in self.polls if poll.is_final)

    @cached_property
    def first_polls(self) -> dict[int, Poll]:
        """By offset, the first poll that showed it."""
        return _first_polls(self.polls)

    @cached_property
    def missing(self) -> list[Send]:
        """Acknowledged sends that the final polls did not show at their offset.

        acks=1 and lossy topics: not anywhere.
        """
        final, is_sure = self.final, not self.is_lossy
        return [
            send
            for send in self.sends
            if send.outcome == "ok"
            and send.transaction not in self.uncommitted
            and not self.may_be_gone(send.offset, self.final_s)
            and (send.offset is None or final.get(send.offset) != send.value)
            and (
                (is_sure and send.acks == ACKS_ALL and send.offset is not None)
                or send.value not in self.final_values
            )
        ]

    @cached_property
    def lasting(self) -> list[Send]:
        """Acknowledged writes whose place is known for good, in the order of their numbers.

        acks=all promises it; the others must have been read there at the end.
        """
        is_sure, final = not self.is_lossy, self.final
        return [
            send
            for send in self.sends
            if send.outcome == "ok"
            and send.offset is not None
            and ((is_sure and send.acks == ACKS_ALL) or final.get(send.offset) == send.value)
        ]

    @cached_property
    def by_offset(self) -> list[Send]:
        """Sends that are `lasting`, by offset."""
        # Nearly sorted: that takes little more than one pass.
        return sorted(self.lasting, key=attrgetter("offset"))

    @cached_property
    def reversals(self) -> list[tuple[Send, Send]]:
        """Each of `lasting` that lies at or below an earlier one of its producer, with that."""
        found = []
        last: dict[str, tuple[int, Send]] = {}
        for send in self.lasting:
            offset = -1 if send.offset is None else send.offset
            before = last.get(send.process)
            if before is not None and offset <= before[0]:
                found.append((before[1], send))
            last[send.process] = offset, send
        return found

    @cached_property
    def moves(self) -> list[tuple[int, int, tuple[Poll, ...]]]:
        """Jumps of a consumer to another offset than follows: expected, actual, the polls."""
        found: list[tuple[int, int, tuple[Poll, ...]]] = []
        last: dict[tuple[str, bool], tuple[int, Poll]] = {}
        for poll in self.polls:
            # A member begins elsewhere after each assignment: `group_evidence` follows those.
            reader = poll.process, poll.is_final
            before, expected = None if poll.group else last.get(reader), poll.position
            if before is not None and before[0] != expected and not self._may_move(poll, before[0]):
                found.append((before[0], expected, (before[1], poll)))
            for offset, _ in poll.records:
                if offset != expected:
                    found.append((expected, offset, (poll,)))
                expected = offset + 1
            last[reader] = poll.next_position, poll
        return found

    def _may_move(self, poll: Poll, expected: int) -> bool:
        """Truncation moves a consumer back; forward, past records, only where they may be lost."""
        return poll.is_rewound and (self.is_lossy or poll.position < expected)

    @cached_property
    def has_transactions(self) -> bool:
        """True if some offsets may be those of markers, which nobody is shown."""
        return any(send.transaction is not None for send in self.sends)

    @cached_property
    def removals(self) -> Removals | None:
        """Records that may be gone; None: all of them must stay."""
        if self.keeping is None and not self.deletions:
            return None
        found = {
            send.offset or 0: Known(send.value, send, send.parts)
            for send in self.lasting
            if send.transaction not in self.uncommitted
        }
        for poll in self.polls:
            for at, (offset, value) in enumerate(poll.records):
                if offset not in found:
                    writer = self.writers.get(value)
                    noted = poll.parts[at] if poll.parts else None
                    parts = noted if writer is None or noted is not None else writer.parts
                    found[offset] = Known(value, writer, parts)
        placed = {one.value for one in found.values()}
        unplaced = [
            send for send in self.sends if send.outcome != "fail" and send.value not in placed
        ]
        keeping = Keeping() if self.keeping is None else self.keeping
        return Removals(found, keeping, self.wall_s, self.deletions, unplaced)

    @property
    def final_s(self) -> float:
        """When the final reading ended, in seconds; infinity without any."""
        return inf if self.last_final is None else self.last_final.ended_s

    def may_be_gone(self, offset: int | None, at_s: float) -> bool:
        """True if what lay there need not be served any more at this time."""
        removals = self.removals
        return removals is not None and offset is not None and removals.may_be_gone(offset, at_s)

    @cached_property
    def _known(self) -> list[tuple[int, int | None]]:
        """Offsets known to hold a record, in order, each with its transaction."""
        found = {send.offset or 0: send.transaction for send in self.lasting}
        for offset, value in self.read.items():
            if offset not in found:
                writer = self.writers.get(value)
                found[offset] = None if writer is None else writer.transaction
        return sorted(found.items(), key=itemgetter(0))

    @cached_property
    def placed(self) -> list[Send]:
        """Sends in transactions whose place is known for good, by offset."""
        places = {send.offset or 0: send for send in self.lasting if send.transaction is not None}
        for offset, value in self.read.items():
            writer = self.writers.get(value)
            if writer is not None and writer.transaction is not None:
                places.setdefault(offset, writer)
        return [send for _, send in sorted(places.items(), key=itemgetter(0))]

    def may_skip(self, start: int, end: int, poll: Poll) -> bool:
        """True if no offset from `start` to `end` holds a record that `poll` must show.

        In a topic whose records may go some are gone.
        Without transactions each does. Else some hold markers, and committed readers are not
        shown what was aborted; in a lossy topic also not what was committed, once an unclean
        election took its marker and it was aborted as hanging.
        """
        if not self.has_transactions and self.removals is None:
            return start >= end
        known = self._known
        for at in range(bisect_left(known, start, key=itemgetter(0)), len(known)):
            offset, transaction = known[at]
            if offset >= end:
                break
            if self.may_be_gone(offset, poll.ended_s):
                continue
            is_lost = self.is_lossy and transaction is not None
            if not (poll.is_committed and (is_lost or transaction in self.uncommitted)):
                return False
        return True

    def final_place(self, offset: int) -> Place | None:
        """The first value that the final polls showed at an offset."""
        value = self.final.get(offset)
        return None if value is None else Place(offset, value, self.final_polls[offset])

    def acknowledged(self) -> Iterator[Send]:
        """Sends that producers got acknowledged."""
        return (send for send in self.sends if send.outcome == "ok")

    def places(self) -> Iterator[Place]:
        """Every place that must hold what it was shown to hold, from all polls and acks=all.

        Of a lossy topic only what the final polls showed: offsets are reused there.
        """
        if not self.is_lossy:
            for send in self.acknowledged():
                if send.acks == ACKS_ALL and send.offset is not None:
                    yield Place(send.offset, send.value, send)
        for poll in self.polls:
            if poll.is_final or not self.is_lossy:
                for offset, value in poll.records:
                    yield Place(offset, value, poll)

    @cached_property
    def is_one_to_one(self) -> bool:
        """True if, over all `places`, each offset has one value and each value one offset."""
        if not self.is_read_alike:
            return False
        values = dict(self.final if self.is_lossy else self.read)
        for send in () if self.is_lossy else self.lasting:
            if send.offset is not None and values.setdefault(send.offset, send.value) != send.value:
                return False
        return len(set(values.values())) == len(values)


def _first_polls(polls: Iterator[Poll] | list[Poll]) -> dict[int, Poll]:
    found: dict[int, Poll] = {}
    for poll in polls:
        for offset, _ in poll.records:
            found.setdefault(offset, poll)
    return found
