"""Invariants of one replica, and of a partition's leaders, over values any run can give. Pure.

I2   a leader holds every committed record
I3   so does every member of ISR and ELR (I4: at each election, too)
I5   a leader's maximal ISR covers the ISR that the controllers committed in its epoch
I8   a leader's log never gets shorter within its epoch
I10  one leader of a partition and epoch
I9   leader epochs and their start offsets grow along a log
I11  a high watermark never falls, and is within the log of each replica that it counted
I12  a high watermark rises only while enough replicas are in sync
I15  a replica follows newer leaders

Callers say when these hold: of sound logs, of one process, of an image known at that moment. A
broken one is yielded as (invariant, what).
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

Broken = Iterable[tuple[str, str]]


class Offsets(NamedTuple):
    """Exclusive ends of a replica's log."""

    end: int
    high_watermark: int


def watermark_beyond_end(name: str, now: Offsets) -> Broken:
    """I11: committed records are in the log."""
    if now.high_watermark > now.end:
        yield "I11", f"{name}: high watermark {now.high_watermark} above {now.end}"


def watermark_beyond_counted_end(name: str, *, end: int, high_watermark: int, by: str) -> Broken:
    """I11: a replica that `by` counted for a high watermark holds what lies below it."""
    if end < high_watermark:
        yield "I11", f"{by}: high watermark {high_watermark}, {name} ends at {end}"


def fallen_high_watermark(name: str, before: Offsets, now: Offsets) -> Broken:
    """I11: committed records stay committed."""
    if now.high_watermark < before.high_watermark:
        marks = f"{before.high_watermark} to {now.high_watermark}"
        yield "I11", f"{name}: high watermark fell from {marks}, the log ends at {now.end}"


def incomplete_leader(name: str, *, end: int, committed: int, by: str) -> Broken:
    """I2: a leader holds what was committed on `by` up to the offset `committed`."""
    if end < committed:
        yield "I2", f"{name} leads up to {end}, {committed} was committed on {by}"


def incomplete_candidate(name: str, *, end: int, committed: int, by: str) -> Broken:
    """I3: a member of ISR or ELR holds what was committed, with it in `by`, up to `committed`."""
    if end < committed:
        yield "I3", f"{name} ends at {end}, {committed} was committed with it in {by}"


def rise_without_enough(
    name: str, before: Offsets, now: Offsets, *, in_sync: int, least: int
) -> Broken:
    """I12: no high watermark rises with fewer than `least` replicas in sync.

    `least` is min.insync.replicas, or all the replicas there are if they are fewer.
    """
    if now.high_watermark > before.high_watermark and in_sync < least:
        marks = f"{before.high_watermark} to {now.high_watermark}"
        yield "I12", f"{name}: high watermark rose from {marks}, {in_sync} in sync, least {least}"


def disordered_epochs(name: str, epochs: Sequence[tuple[int, int]], *, end: int) -> Broken:
    """I9: along a log leader epochs and start offsets grow, and none starts beyond its end."""
    for before, now in pairwise(epochs):
        if now[0] <= before[0] or now[1] <= before[1]:
            yield "I9", f"{name}: epoch and start {now} follow {before}"
    if epochs and epochs[-1][1] > end:
        yield "I9", f"{name}: epoch and start {epochs[-1]} lie beyond the end {end}"


def shortened_leader(name: str, before: Offsets, now: Offsets) -> Broken:
    """I8: the log of a leader only grows, so that no offset is given twice."""
    if now.end < before.end:
        yield "I8", f"{name} leads, and went from {before.end} back to {now.end}"


def fallen_leader_epoch(name: str, before: int, now: int) -> Broken:
    """I15: a replica follows newer leaders."""
    if now < before:
        yield "I15", f"{name} went from leader epoch {before} to {now}"


def uncovered_isr(name: str, *, isr: Collection[int], maximal: Collection[int]) -> Broken:
    """I5: a leader waits for every replica that the controllers count on."""
    if not set(isr) <= set(maximal):
        yield "I5", f"{name} waits for {tuple(maximal)}, the ISR is {tuple(isr)}"


class EpochLeaders:
    """I10: the first known leader of each partition and epoch."""

    def __init__(self) -> None:
        self._first: dict[tuple[Hashable, int], int] = {}

    def note(self, name: str, key: Hashable, epoch: int, leader_id: int) -> Broken:
        """Node `leader_id` leads partition `key` in this epoch."""
        first = self._first.setdefault((key, epoch), leader_id)
        if first != leader_id:
            yield "I10", f"{name}: nodes {first} and {leader_id} lead in epoch {epoch}"
