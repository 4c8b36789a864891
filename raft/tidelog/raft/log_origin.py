"""Whose a log is, as the log itself says: every term begins with an entry that names the cluster.

So two clusters' logs never look alike, whoever brings one (decision 0024): the first entry of all
begins a term, and what a leader of another cluster appends begins one, too. Decides nothing else.

    entry that begins a term    NO_OP | cluster id, UTF-8
    snapshot                    names the cluster in its header
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Iterable

from tidelog.raft import rules
from tidelog.raft.durable_state import NO_OP, WalEntry


def term_start(cluster_id: str) -> bytes:
    """The command of the entry with which a leader of this cluster begins its term."""
    return NO_OP + cluster_id.encode()


def cluster_named(command: bytes) -> str | None:
    """The cluster an entry's command names; None: the entry begins no term."""
    if command[: len(NO_OP)] != NO_OP:
        return None
    return command[len(NO_OP) :].decode("utf-8", "replace")


def are_own(entries: Iterable[WalEntry], cluster_id: str) -> bool:
    """Whether every term that begins in `entries` began in this cluster."""
    return all(
        rules.continues_own_log(cluster_named(entry.command), cluster_id) for entry in entries
    )
