"""Ownership of a group's partitions, and records handed out. Each check yields complaints. Pure.

A member holds a partition from the call of its listener that it came to the return of the one that
it went. What it is handed out is what the next owner may be handed out, too, if it was not
committed: at least once.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from tidelog.history.checks.complaint import Complaint
from tidelog.history.checks.evidence import Evidence
from tidelog.history.checks.group_evidence import Holding, Shared
from tidelog.history.history import Assignment, Commit, Poll


def two_owners(evidence: Evidence) -> Iterator[Complaint]:
    """A partition comes to a member when the one before has let go of it, or hands out no more.

    A member that lost it may be late to notice, but not by a record. The one exception: for
    `History.overlaps_s` it may hand out beside the next owner.
    """
    for shared in evidence.groups.partitions.values():
        overlap_s = evidence.groups.overlaps_s.get(shared.group, 0.0)
        for older, newer in _overlapping(shared):
            since_s = newer.began_s + overlap_s
            late = next((one for one in older.polls if _is_out_after(one, since_s)), None)
            if late is not None:
                what = f"{older.process} was handed out {shared.place}/{late.records[0][0]}"
                yield _beside(what, newer, late)
            elif _is_revoked(older) and older.ended_s > since_s:
                what = f"{older.process} let go of {shared.place}"
                yield _beside(what, newer, older.ended or older.began)


def _overlapping(shared: Shared) -> Iterator[tuple[Holding, Holding]]:
    """Holdings of two members, of which one began while the other lasted; the older one first."""
    open_ones: list[Holding] = []
    for newer in shared.holdings:
        open_ones = [one for one in open_ones if one.ended_s > newer.began_s]
        for older in open_ones:
            if older.process != newer.process:
                yield older, newer
        open_ones.append(newer)


def _is_revoked(holding: Holding) -> bool:
    return holding.ended is not None and holding.ended.change == "revoked"


def _is_out_after(poll: Poll, since_s: float) -> bool:
    return bool(poll.records) and poll.ended_s > since_s


def _beside(what: str, newer: Holding, call: Poll | Assignment) -> Complaint:
    after = f"{what} after it was given to {newer.process} at {newer.began_s:g} s"
    return Complaint("two-owners", after, (newer.began, call))


def handed_out_after(evidence: Evidence) -> Iterator[Complaint]:
    """A member is handed out no record of a partition that it does not hold."""
    for shared in evidence.groups.partitions.values():
        for poll in shared.strays:
            last = [one for one in shared.holdings if one.process == poll.process]
            ended = last[-1].ended if last else None
            gone = "which it never had" if ended is None else f"which was {ended.change} before"
            what = f"{poll.process} was handed out {shared.place}/{poll.records[0][0]}, {gone}"
            yield Complaint("handed-out-after", what, (poll,) if ended is None else (ended, poll))


def epochs_back(evidence: Evidence) -> Iterator[Complaint]:
    """The epoch of a member never falls; while it has none it is 0, which does not count."""
    for process, calls in evidence.groups.by_process.items():
        known = [
            one for one in calls if isinstance(one, (Assignment, Commit, Poll)) and one.epoch > 0
        ]
        for before, call in pairwise(known):
            if (before.group, before.member) == (call.group, call.member) and (
                call.epoch < before.epoch
            ):
                what = f"{process} was at epoch {before.epoch}, then at {call.epoch}"
                yield Complaint("epoch-back", what, (before, call))
