"""Atomicity of transactions (I22): each is seen whole by committed readers, or not at all. Pure.

Each check yields complaints.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Iterator

from tidelog.history.checks.complaint import Complaint
from tidelog.history.checks.evidence import Evidence
from tidelog.history.checks.group_offsets import aborted_offsets, unexplained
from tidelog.history.checks.transaction_evidence import TransactionEvidence


def torn_transactions(evidence: Evidence) -> Iterator[Complaint]:
    """A committed transaction is not passed by, not even in part; nor are its offsets."""
    for one in evidence.transactions.by_number.values():
        if one.outcome == "ok" and one.passed:
            value, poll = next(iter(one.passed.items()))
            seen = () if one.offset_seen is None else (one.offset_seen,)
            what = f"{_name(one)} is committed, {value!r} of it was passed by"
            proof = (one.call, *seen, *list(one.shown.values())[:1], poll)
            yield Complaint("torn-transaction", what, proof)
    for shared in evidence.groups.partitions.values():
        for look, missing in unexplained(evidence, shared):
            torn = None if missing is None else evidence.transactions.of(missing)
            if missing is not None and torn is not None and (torn.shown or torn.offset_seen):
                what = (
                    f"{_name(torn)} was seen, but not {missing.offset} of {shared.place},"
                    f" which it committed: {look.offset} was seen there"
                )
                yield Complaint("torn-transaction", what, (torn.call, missing, look.call))


def aborted_reads(evidence: Evidence) -> Iterator[Complaint]:
    """No committed reader is shown what was aborted, and no look-up its offset."""
    for one in evidence.transactions.by_number.values():
        if one.outcome == "fail" and one.shown:
            value, poll = next(iter(one.shown.items()))
            what = f"{value!r} was read, {_name(one)} was aborted ({one.call.reason})"
            yield Complaint("aborted-read", what, (one.call, one.by_value[value], poll))
    for shared, look, commit in aborted_offsets(evidence):
        owner = evidence.transactions.of(commit)
        if owner is not None:
            what = f"{look.offset} of {shared.place} was seen, {_name(owner)} was aborted"
            yield Complaint("aborted-read", what, (owner.call, commit, look.call))


def precommitted_reads(evidence: Evidence) -> Iterator[Complaint]:
    """No committed reader is shown a record before its transaction's commit was begun."""
    for one in evidence.transactions.by_number.values():
        if one.early:
            value, poll = next(iter(one.early.items()))
            what = f"{value!r} was read before the commit of {_name(one)} was begun"
            yield Complaint("precommitted-read", what, (one.call, one.by_value[value], poll))


def _name(one: TransactionEvidence) -> str:
    return f"transaction {one.call.number} of {one.call.transactional_id}"
