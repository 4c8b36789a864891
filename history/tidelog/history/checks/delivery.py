"""Promises of the log to its clients, judged by a history alone.

`docs/HISTORY.md` says what each kind of complaint means; they have the names of Jepsen's Kafka
workload where it has them. Counted, no complaint: duplicates and reordering of producers without
idempotence; acks=1 writes that were lost; all that an unclean election may do to a lossy topic; how
far polls lagged.

Time and room are in proportion to the history, but for sorting what is nearly sorted: a check first
asks in one pass whether a partition can hold what it looks for, and looks closely only there.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from operator import attrgetter

from tidelog.history.checks.complaint import Complaint
from tidelog.history.checks.dependencies import count_write_cycles, dependency_cycles
from tidelog.history.checks.evidence import Evidence
from tidelog.history.checks.group_offsets import (
    commits_ahead,
    lost_commits,
    not_handed_out,
    refused_commits,
    stale_commits,
)
from tidelog.history.checks.groups import epochs_back, handed_out_after, two_owners
from tidelog.history.checks.identities import (
    altered_records,
    duplicates,
    failed_writes_read,
    inconsistent_offsets,
    old_incarnations_read,
    stored_again,
    unwritten_reads,
)
from tidelog.history.checks.losses import (
    lost_writes,
    resurrected_records,
    undeleted_records,
    unseen_writes,
    vanished_reads,
)
from tidelog.history.checks.orders import (
    nonmonotonic_polls,
    nonmonotonic_sends,
    poll_skips,
    realtime_order,
    sends_out_of_order,
    worst_lag_s,
)
from tidelog.history.checks.transactions import (
    aborted_reads,
    precommitted_reads,
    torn_transactions,
)
from tidelog.history.history import ACKS_ALL, History

Check = Callable[[Evidence], Iterator[Complaint]]

CHECKS: dict[str, Check] = {
    "lost-write": lost_writes,
    "unseen": unseen_writes,
    "vanished": vanished_reads,
    "undeleted": undeleted_records,
    "resurrected": resurrected_records,
    "inconsistent-offsets": inconsistent_offsets,
    "duplicate": duplicates,
    "G1a": failed_writes_read,
    "unwritten": unwritten_reads,
    "altered-record": altered_records,
    "old-incarnation": old_incarnations_read,
    "poll-skip": poll_skips,
    "nonmonotonic-poll": nonmonotonic_polls,
    "nonmonotonic-send": nonmonotonic_sends,
    "realtime-order": realtime_order,
    "two-owners": two_owners,
    "handed-out-after": handed_out_after,
    "epoch-back": epochs_back,
    "commit-lost": lost_commits,
    "refused-commit": refused_commits,
    "stale-commit": stale_commits,
    "commit-ahead": commits_ahead,
    "not-handed-out": not_handed_out,
    "torn-transaction": torn_transactions,
    "aborted-read": aborted_reads,
    "precommitted-read": precommitted_reads,
    "G1c": dependency_cycles,
}
"""By the kind of its complaints."""


def judge(history: History) -> tuple[list[Complaint], dict[str, int]]:
    """`complaints` and `counts` at the price of one."""
    evidence = Evidence(history)
    found = _complaints(evidence)
    return found, _counts(evidence, overtaken=sum(one.kind == "realtime-order" for one in found))


def complaints(history: History) -> list[Complaint]:
    """Run every check and collect the complaints."""
    return _complaints(Evidence(history))


def counts(history: History) -> dict[str, int]:
    """Counts of records; `lost`, without `lost_…`, is of acks=all and no lossy topic."""
    evidence = Evidence(history)
    return _counts(evidence, overtaken=sum(1 for _ in realtime_order(evidence)))


def _complaints(evidence: Evidence) -> list[Complaint]:
    return [complaint for check in CHECKS.values() for complaint in check(evidence)]


def _counts(evidence: Evidence, *, overtaken: int) -> dict[str, int]:
    history = evidence.history
    outcomes = Counter(map(attrgetter("outcome"), history.sends))
    return {
        "operations": len(history.sends) + len(history.polls) + len(history.commits),
        "acknowledged": outcomes["ok"],
        "failed": outcomes["fail"],
        "unknown": outcomes["unknown"],
        "read": sum(len(partition.final) for partition in evidence.partitions.values()),
        **_losses(evidence),
        "duplicated": sum(1 for _ in stored_again(evidence)),
        "reordered": len(sends_out_of_order(evidence)) + overtaken,
        "commits": sum(one.outcome == "ok" for one in history.commits),
        "commits_refused": sum(one.outcome == "fail" for one in history.commits),
        "handed_out_again": evidence.groups.count_repeats(),
        **_transactions(evidence),
        "worst_lag_ms": round(worst_lag_s(evidence) * 1000),
    }


def _transactions(evidence: Evidence) -> dict[str, int]:
    outcomes = Counter(one.outcome for one in evidence.transactions.by_number.values())
    return {
        "transactions_committed": outcomes["ok"],
        "transactions_aborted": outcomes["fail"],
        "transactions_unknown": outcomes["unknown"],
        "G0": count_write_cycles(evidence),
    }


def _losses(evidence: Evidence) -> dict[str, int]:
    lost = {"lost": 0, "lost_acks_1": 0, "lost_unclean": 0}
    for partition in evidence.partitions.values():
        for send in partition.missing if partition.is_newest else ():
            if send.acks == 0:
                continue
            if partition.is_lossy:
                lost["lost_unclean"] += 1
            else:
                lost["lost" if send.acks == ACKS_ALL else "lost_acks_1"] += 1
    return lost
