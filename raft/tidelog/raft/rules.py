"""Safety rules of Raft, each a named function, so that a mutant can break each one alone.

They are called as `rules.name(...)`, never imported by name. A rule that is a fact of one object is
that object's method: `Rejoiner.takes_part` and `may_follow`, `Syncing.is_kept`, `Outbox.hint`,
`LeaderState.own_index`, `Storage.sync`. Sections are those of the Raft paper
("In Search of an Understandable Consensus Algorithm"), chapters those of Ongaro's thesis. They own
nothing and never act.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from tidelog.raft.durable_state import WalEntry

LEAP_MAX = 2**20
"""Maximum increase of a term or an incarnation by one message (decision 0025)."""
CLOCK_MS_MAX = 2**44
"""Bound above every wall clock: a kernel's ends in the year 2262, this in 2527."""

# Validity of messages


def continues_own_log(cluster_named: str | None, own_cluster_id: str) -> bool:
    """Append only entries of this log's own cluster, regardless of their sender (decision 0024)."""
    return cluster_named in (None, own_cluster_id)


def is_stale(term: int, current_term: int) -> bool:
    """Messages from older terms are ignored (5.1)."""
    return term < current_term


def is_superseded(incarnation: int, known_incarnation: int) -> bool:
    """Messages from a voter's earlier process are ignored: its disk may have been replaced."""
    return incarnation < known_incarnation


# Bounds of increases


def climbed_term(heard: int, own: int) -> int:
    """Approach a far greater term in bounded steps, one per message (decision 0025)."""
    return min(heard, own + LEAP_MAX)


def climbed_incarnation(heard: int, known: int) -> int:
    """Approach a far greater incarnation likewise, above all values that clocks give (0025)."""
    return min(heard, max(known, CLOCK_MS_MAX) + LEAP_MAX)


def outgrown_incarnation(known: int, own: int, chance: float) -> int:
    """Exceed the known incarnation of another process, by `chance` in [0, 1) of half a leap.

    Later processes, unknown to this voter, may have reached greater incarnations that other voters
    know: with the next number two processes would look like one, and a new disk like its
    predecessor (0025).
    """
    reached = climbed_incarnation(known, own)
    return reached + 1 + int(chance * (LEAP_MAX // 2)) if reached == known else reached


def first_incarnation(last: int, wall_ms: int) -> int:
    """Exceed the last incarnation and the wall clock, which covers a lost disk, up to a bound."""
    return max(last + 1, min(wall_ms, CLOCK_MS_MAX))


# Elections


def may_lead(leader_id: int | None, sender_id: int) -> bool:
    """A term has one leader: any later claimant is ignored (5.2)."""
    return leader_id in (None, sender_id)


def may_vote(voted_for: int | None, candidate_id: int) -> bool:
    """A voter votes once per term, also across restarts (5.2)."""
    return voted_for in (None, candidate_id)


def is_up_to_date(theirs: tuple[int, int], mine: tuple[int, int]) -> bool:
    """A candidate that may lack committed entries gets no vote: last term, then index (5.4.1)."""
    return theirs >= mine


def hears_leader(silent_s: float, timeout_s: float) -> bool:
    """A voter that heard the leader recently does not help to depose it (thesis, 4.2.3)."""
    return silent_s < timeout_s


def has_caught_up(commit: tuple[int, int | None], heard: tuple[int, int]) -> bool:
    """A voter with a new disk has caught up when it holds all it may have helped to commit.

    Both are index and term: of the last entry committed here, and the greatest commit index in the
    other voters' answers with the term of the current leader. An entry committed in that term
    implies all of earlier terms.
    """
    return commit[0] >= heard[0] and commit[1] == heard[1]


# The log


def agreeing(entries: Sequence[WalEntry], term_at: Callable[[int], int | None]) -> int:
    """Count the leading entries already in the log: only a conflict truncates (5.3)."""
    for count, entry in enumerate(entries):
        if term_at(entry.log_index) != entry.term:
            return count
    return len(entries)


def follows(previous_term: int, term_here: int | None) -> bool:
    """Entries are appended only after the very entry they followed at the leader (5.3)."""
    return term_here == previous_term


def verified_commit(commit_index: int, verified_index: int) -> int:
    """A follower commits only as far as its log is known to match the leader's."""
    return min(commit_index, verified_index)


def next_match(match_index: int, acknowledged_index: int) -> int:
    """The match index never decreases: acknowledgements arrive in any order."""
    return max(match_index, acknowledged_index)


def quorum_index(indexes: Iterable[int]) -> int:
    """Greatest index that a majority has reached, given one value per voter."""
    descending = sorted(indexes, reverse=True)
    return descending[len(descending) // 2]


def may_commit(entry_term: int | None, current_term: int) -> bool:
    """Counting copies commits only entries of the current term, and so all before them (5.4.2)."""
    return entry_term == current_term


def keeps_log(snapshot_term: int, term_here: int | None) -> bool:
    """A snapshot keeps the log if its last entry is there; else the whole log is discarded (7)."""
    return term_here == snapshot_term


# Leadership


def has_quorum_contact(silent_s: float, timeout_s: float) -> bool:
    """A leader without answers of a majority steps down, so that clients look elsewhere (6.2)."""
    return silent_s <= timeout_s


def is_read_confirmed(read_round: int, quorum_round: int) -> bool:
    """A read is confirmed once a majority answered a later message (thesis, 6.4)."""
    return quorum_round >= read_round


def may_read(own_term_index: int, commit_index: int) -> bool:
    """A leader may read only after an entry of its own term is committed (5.4.2, 8)."""
    return commit_index >= own_term_index
