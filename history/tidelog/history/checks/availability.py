"""Availability: gaps between acknowledgements, and sends' outcomes in each interval. Pure."""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from tidelog.history.history import ACKS_ALL, Send

Span = tuple[float, float]
"""From, to: seconds."""


def longest_silence_s(sends: Iterable[Send], *, load: Span, rests: Sequence[Span] = ()) -> float:
    """The longest time within the load without an acknowledgement of acks=all.

    Times in which producers begin nothing (`rests`) do not count.
    """
    began_s, ended_s = load
    moments = sorted(
        send.ended_s
        for send in sends
        if send.outcome == "ok" and send.acks == ACKS_ALL and send.ended_s is not None
    )
    within = [began_s, *(one for one in moments if began_s < one < ended_s), ended_s]
    silences = (end - start - _overlap_s((start, end), rests) for start, end in pairwise(within))
    return max(silences, default=0.0)


def _overlap_s(span: Span, others: Iterable[Span]) -> float:
    start, end = span
    return sum(max(0.0, min(end, to) - max(start, from_)) for from_, to in others)


def quantile(values: Sequence[float], share: float) -> float | None:
    """The smallest value that at least this share of them does not exceed; None of nothing."""
    if not values:
        return None
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]
