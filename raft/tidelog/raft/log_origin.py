"""Cluster of a log, stored in the log itself: every term begins with an entry that names it.

So two clusters' logs never look alike, regardless of the sender (decision 0024): the very first
entry begins a term, and so does the first one appended by a leader of another cluster. Decides
nothing else.

    entry that begins a term    NO_OP | cluster id, UTF-8
    snapshot                    names the cluster in its header
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Iterable

from tidelog.raft import rules
from tidelog.raft.durable_state import NO_OP, WalEntry


def term_start(cluster_id: str) -> bytes:
    """Build the command of the entry with which a leader of this cluster begins its term."""
    return NO_OP + cluster_id.encode()


def cluster_named(command: bytes) -> str | None:
    """Cluster named by an entry's command; None: the entry does not begin a term."""
    if command[: len(NO_OP)] != NO_OP:
        return None
    return command[len(NO_OP) :].decode("utf-8", "replace")


def are_own(entries: Iterable[WalEntry], cluster_id: str) -> bool:
    """True when every term that begins in `entries` began in this cluster."""
    return all(
        rules.continues_own_log(cluster_named(entry.command), cluster_id) for entry in entries
    )
