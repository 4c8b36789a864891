"""Committed offsets of groups (I25), and what was handed out when they were committed. Pure.

An offset that is seen, by a look-up or as the place where a member begins, is one of the newest
commits: none that was acknowledged before it was looked up may be missing. Each check yields
complaints.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from math import inf
from operator import itemgetter

from tidelog.history.checks.complaint import Complaint
from tidelog.history.checks.evidence import Evidence
from tidelog.history.checks.group_evidence import Holding, Seen, Shared
from tidelog.history.history import Commit


def lost_commits(evidence: Evidence) -> Iterator[Complaint]:
    """An acknowledged commit is seen by all later look-ups, unless a later one took its place."""
    for shared in evidence.groups.partitions.values():
        for seen, missing in unexplained(evidence, shared):
            if missing is not None and not _refused_at(evidence, shared, seen):
                what = f"{shared.place}: {missing.offset} was committed, {seen.offset} was seen"
                yield Complaint("commit-lost", what, (missing, seen.call))


def refused_commits(evidence: Evidence) -> Iterator[Complaint]:
    """A commit that was refused is never seen."""
    for shared in evidence.groups.partitions.values():
        for seen, _ in unexplained(evidence, shared):
            for refused in _refused_at(evidence, shared, seen)[:1]:
                if refused.outcome != "fail":
                    continue  # Its transaction was aborted: an aborted-read.
                what = f"{shared.place}: {refused.offset} was refused ({refused.reason}), and seen"
                yield Complaint("refused-commit", what, (refused, seen.call))


def aborted_offsets(evidence: Evidence) -> Iterator[tuple[Shared, Seen, Commit]]:
    """Offsets seen that only a commit has whose transaction was aborted."""
    for shared in evidence.groups.partitions.values():
        for seen, _ in unexplained(evidence, shared):
            for refused in _refused_at(evidence, shared, seen)[:1]:
                if refused.outcome != "fail":
                    yield shared, seen, refused


def _refused_at(evidence: Evidence, shared: Shared, seen: Seen) -> list[Commit]:
    return [
        one
        for one in shared.commits
        if one.offset == seen.offset
        and one.invoked_s < seen.ended_s
        and evidence.transactions.effect(one).outcome == "fail"
    ]


def unexplained(evidence: Evidence, shared: Shared) -> Iterator[tuple[Seen, Commit | None]]:
    """Offsets seen that are those of no commit that may be the newest, with one that is newer."""
    effects = [(one, evidence.transactions.effect(one)) for one in shared.commits]
    tried = [one for one, effect in effects if effect.outcome != "fail"]
    sure = [(one, effect.known_s) for one, effect in effects if effect.outcome == "ok"]
    for seen in shared.seen():
        before = [
            one
            for one, known_s in sure
            if known_s < seen.invoked_s and (one.transaction is None or seen.is_stable)
        ]
        # The last of them to begin: whatever had ended before it was overtaken.
        newest = max(before, key=lambda one: one.invoked_s, default=None)
        if newest is None:
            is_refused = seen.offset is not None and _refused_at(evidence, shared, seen)
            if is_refused and not _may_be(tried, seen):
                yield seen, None
        elif not _may_be((one for one in tried if not _is_overtaken(one, newest)), seen):
            yield seen, newest


def _may_be(commits: Iterable[Commit], seen: Seen) -> bool:
    return any(one.offset == seen.offset and one.invoked_s < seen.ended_s for one in commits)


def _is_overtaken(commit: Commit, newest: Commit) -> bool:
    """True if it can have no effect after the newest one: its caller had given it up before.

    What a member asked for before comes late and is refused, and so is another member's.
    """
    gave_up_s = commit.invoked_s if commit.ended_s is None else commit.ended_s
    return commit is not newest and gave_up_s < newest.invoked_s


def stale_commits(evidence: Evidence) -> Iterator[Complaint]:
    """No commit is acknowledged under an older epoch than one before, or of another's partition."""
    for shared in evidence.groups.partitions.values():
        acknowledged = [one for one in shared.commits if one.outcome == "ok" and one.member]
        acknowledged.sort(key=lambda one: one.invoked_s)
        for commit in acknowledged:
            other = _holder_since(shared, commit)
            if other is not None:
                what = f"{commit.process} committed {shared.place}, of {other.process} then"
                yield Complaint("stale-commit", what, (other.began, commit))
        yield from _behind_newer_epochs(shared, acknowledged)


def _holder_since(shared: Shared, commit: Commit) -> Holding | None:
    """Find who was given the partition after the commit's member, and before the commit."""
    own = shared.last_holding(commit.process, commit.invoked_s)
    if own is None:
        return None
    for other in shared.holdings:
        if other.process != commit.process and own.began_s < other.began_s < commit.invoked_s:
            return other
    return None


def _behind_newer_epochs(shared: Shared, commits: list[Commit]) -> Iterator[Complaint]:
    """`commits` are acknowledged ones in the order in which they began."""
    ended = sorted(commits, key=_ended_s)
    at, newest = 0, None
    for commit in commits:
        while at < len(ended) and _ended_s(ended[at]) < commit.invoked_s:
            if newest is None or ended[at].epoch > newest.epoch:
                newest = ended[at]
            at += 1
        if newest is not None and commit.epoch < newest.epoch:
            epochs = f"epoch {commit.epoch}, after one of {newest.epoch}"
            what = f"{shared.place}: a commit under {epochs} was acknowledged"
            yield Complaint("stale-commit", what, (newest, commit))


def commits_ahead(evidence: Evidence) -> Iterator[Complaint]:
    """A member commits no record that its group was not handed out."""
    for shared in evidence.groups.partitions.values():
        commits = [one for one in shared.commits if one.member and one.outcome != "fail"]
        if not commits:
            continue
        complete_s = _complete_s(shared, _known(evidence, shared))
        if _has_transactions(evidence, shared):
            complete_s.pop()  # Behind the last record there may be markers.
        for commit in commits:
            at = bisect_right(complete_s, commit.invoked_s, key=itemgetter(1))
            if at < len(complete_s) and (missing := complete_s[at][0]) < commit.offset:
                what = f"{shared.place}: {commit.offset} was committed before {missing} was read"
                yield Complaint("commit-ahead", what, (commit,))
                break


def _complete_s(shared: Shared, offsets: Iterable[int]) -> list[tuple[int, float]]:
    """Offsets at which the time rises from which on all up to there was handed out.

    The last is the first offset without a record.
    """
    found: list[tuple[int, float]] = []
    highest_s, end = -inf, 0
    for offset in sorted(offsets):
        end = offset + 1
        at_s = shared.handed_out_s.get(offset, inf)
        if at_s > highest_s:
            highest_s = at_s
            found.append((offset, at_s))
    return [*found, (end, inf)]


def not_handed_out(evidence: Evidence) -> Iterator[Complaint]:
    """At rest every record was handed out, and is committed."""
    for shared in evidence.groups.partitions.values():
        last = max(
            (one for one in shared.committed if one.is_final),
            key=lambda one: one.number,
            default=None,
        )
        if last is None or shared.topic in evidence.history.lossy_topics:
            continue
        known = _known(evidence, shared)
        missing = [offset for offset in sorted(known) if offset not in shared.handed_out_s]
        if missing:
            what = f"{shared.place}: {len(missing)} records, {missing[0]} first, came to no member"
            yield Complaint("not-handed-out", what, (last,))
        elif known and max(known) >= (last.offset or 0):
            what = f"{shared.place}: {last.offset} is committed at rest, {max(known)} is there"
            yield Complaint("not-handed-out", what, (last,))


def _known(evidence: Evidence, shared: Shared) -> Iterable[int]:
    """Offsets of records that are there at the end, or that somebody read."""
    partition = evidence.partitions.get(shared.key)
    if partition is None:
        return frozenset()
    known = partition.read if partition.last_final is None else partition.final
    if not partition.has_transactions:
        return known.keys()
    return [
        offset
        for offset, value in known.items()
        if (send := partition.writers.get(value)) is None
        or send.transaction not in partition.uncommitted
    ]


def _has_transactions(evidence: Evidence, shared: Shared) -> bool:
    partition = evidence.partitions.get(shared.key)
    return partition is not None and partition.has_transactions


def _ended_s(commit: Commit) -> float:
    return inf if commit.ended_s is None else commit.ended_s
