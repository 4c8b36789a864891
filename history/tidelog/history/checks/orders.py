"""In which order things lie and are read. Each check yields its complaints. Pure."""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Iterator
from itertools import accumulate, chain
from math import inf
from operator import attrgetter

from tidelog.history.checks.complaint import Complaint
from tidelog.history.checks.evidence import Evidence
from tidelog.history.checks.partition_evidence import Partition
from tidelog.history.history import ACKS_ALL, Poll, Send


def poll_skips(evidence: Evidence) -> Iterator[Complaint]:
    """A consumer sees every offset from its first position on."""
    return (one for one in _polls_out_of_order(evidence) if one.kind == "poll-skip")


def nonmonotonic_polls(evidence: Evidence) -> Iterator[Complaint]:
    """A consumer never goes back, unless it learned that its position is gone."""
    return (one for one in _polls_out_of_order(evidence) if one.kind == "nonmonotonic-poll")


def nonmonotonic_sends(evidence: Evidence) -> Iterator[Complaint]:
    """An idempotent producer's acknowledged writes lie in the order they were sent."""
    for before, send in sends_out_of_order(evidence):
        if send.is_idempotent:
            yield _reversed("nonmonotonic-send", before, send)


def sends_out_of_order(evidence: Evidence) -> list[tuple[Send, Send]]:
    """Each acknowledged write that lies at or below an earlier one of its producer, with that."""
    return [pair for one in evidence.partitions.values() for pair in one.reversals]


def realtime_order(evidence: Evidence) -> Iterator[Complaint]:
    """A write acknowledged before another was sent lies below it.

    Those of one idempotent producer are `nonmonotonic_sends`'s.
    """
    for partition in evidence.partitions.values():
        if _is_in_realtime_order(partition):
            continue
        for before, send in _overtaken(partition):
            if before.process != send.process or not send.is_idempotent:
                yield _reversed("realtime-order", before, send)


def worst_lag_s(evidence: Evidence) -> float:
    """The longest that a poll ended below what had been acknowledged with acks=all, in seconds."""
    return max(chain([0.0], *map(_lags_s, evidence.partitions.values())))


def _polls_out_of_order(evidence: Evidence) -> Iterator[Complaint]:
    for partition in evidence.partitions.values():
        for move in partition.moves:
            if _is_wrong(partition, *move):
                yield _misread(partition.name, *move)
    for key, shared in evidence.groups.partitions.items():
        for move in shared.moves():
            if _is_wrong(evidence.partitions.get(key[1:]), *move):
                yield _misread(shared.place, *move)


def _is_wrong(
    partition: Partition | None, expected: int, offset: int, calls: tuple[Poll, ...]
) -> bool:
    return (
        offset < expected
        or partition is None
        or not partition.may_skip(expected, offset, calls[-1])
    )


def _misread(place: str, expected: int, offset: int, calls: tuple[Poll, ...]) -> Complaint:
    kind = "poll-skip" if offset > expected else "nonmonotonic-poll"
    what = f"{calls[-1].process} went to {place}/{offset} from {expected}"
    return Complaint(kind, what, calls)


def _overtaken(partition: Partition) -> Iterator[tuple[Send, Send]]:
    """Each lasting write that lies at or below one that had ended before it began, with that."""
    ends = deque(sorted(partition.lasting, key=_ended_s))
    highest: Send | None = None
    for send in sorted(partition.lasting, key=attrgetter("invoked_s")):
        while ends and _ended_s(ends[0]) < send.invoked_s:
            ended = ends.popleft()
            highest = ended if highest is None or _offset(ended) > _offset(highest) else highest
        if highest is not None and _offset(send) <= _offset(highest):
            yield highest, send


def _is_in_realtime_order(partition: Partition) -> bool:
    """True if surely no lasting write had ended before one at or below it began."""
    earliest_s, above = inf, None
    for send in reversed(partition.by_offset):
        offset, ended_s = send.offset, send.ended_s
        if offset == above or earliest_s < send.invoked_s:
            return False
        above = offset
        if ended_s is not None and ended_s < earliest_s:
            earliest_s = ended_s
    return True


def _lags_s(partition: Partition) -> Iterator[float]:
    """Time each poll's end had been below an acknowledged offset when it was invoked."""
    known = partition.by_offset
    if partition.is_lossy:
        known = [send for send in partition.acknowledged() if send.offset is not None]
        known.sort(key=attrgetter("offset"))
    known = [send for send in known if send.acks == ACKS_ALL]
    offsets = list(map(attrgetter("offset"), known))
    # By place in `offsets`: when something there or further up was first acknowledged.
    ends_s = [inf if send.ended_s is None else send.ended_s for send in reversed(known)]
    since_s = list(accumulate(ends_s, min))[::-1]
    for poll in partition.polls:
        if poll.group or poll.transaction is not None:
            continue  # it reads again what was not committed
        at = bisect_left(offsets, poll.next_position)
        if at < len(offsets):
            yield poll.invoked_s - since_s[at]


def _reversed(kind: str, before: Send, send: Send) -> Complaint:
    what = (
        f"{send.value!r} lies at {send.topic}-{send.partition}/{send.offset},"
        f" not above {before.value!r}, which was there before"
    )
    return Complaint(kind, what, (before, send))


def _ended_s(send: Send) -> float:
    return inf if send.ended_s is None else send.ended_s


def _offset(send: Send) -> int:
    """The offset of a send that has one."""
    return -1 if send.offset is None else send.offset
