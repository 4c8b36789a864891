"""Verdict of a run: every promise kept, something broken, or nothing proven. Pure.

violation     something that must not be: a check's complaint, an invariant, a promise
inconclusive  the fault was not observed, the run itself failed, or there was nothing to judge
ok            neither
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tidelog.chaos.report.record import Anomaly, Verdict
from tidelog.history.checks.complaint import Complaint
from tidelog.history.history import ACKS_ALL, History

UNOBSERVED, FAILED = "unobserved", "failed"
"""Kinds of anomalies that prove nothing: of the story's fault, and of the run itself."""
PROVES_NOTHING = frozenset({UNOBSERVED, FAILED})
DUPLICATED = frozenset({"duplicate"})
REORDERED = frozenset({"nonmonotonic-send", "realtime-order"})


@dataclass(frozen=True, slots=True)
class Tally:
    """Counts of records with acks=all by idempotent producers, except where stated otherwise."""

    operations: int
    """Sends and polls of all clients."""
    acknowledged: int
    lost: int
    duplicated: int
    reordered: int
    lost_acks_1: int
    """Acknowledged with acks=1, and not there at the end: what acks=1 may do."""
    lost_unclean: int
    """Acknowledged, and lost by unclean elections, in topics that allow them."""


def tally(history: History, complaints: Iterable[Complaint], counts: Mapping[str, int]) -> Tally:
    """`counts` are `checks.delivery.counts` of the same history."""
    kinds = [complaint.kind for complaint in complaints]
    return Tally(
        operations=counts["operations"],
        acknowledged=sum(
            send.outcome == "ok" and send.acks == ACKS_ALL and send.is_idempotent
            for send in history.sends
        ),
        lost=counts["lost"],
        duplicated=sum(kind in DUPLICATED for kind in kinds),
        reordered=sum(kind in REORDERED for kind in kinds),
        lost_acks_1=counts["lost_acks_1"],
        lost_unclean=counts["lost_unclean"],
    )


def verdict_of(anomalies: Iterable[Anomaly]) -> Verdict:
    """The verdict of one run."""
    kinds = {anomaly.kind for anomaly in anomalies}
    if kinds - PROVES_NOTHING:
        return "violation"
    return "inconclusive" if kinds else "ok"


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """The verdict of several runs: one that proves nothing is no ok. Without runs: inconclusive."""
    known = set(verdicts)
    if "violation" in known:
        return "violation"
    return "ok" if known == {"ok"} else "inconclusive"
