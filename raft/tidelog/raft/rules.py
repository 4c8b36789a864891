"""The rules on which Raft's safety rests, each alone and named, so that each can be broken alone.

They are called as `rules.name(...)`, never imported by name. Sections are those of the Raft paper
("In Search of an Understandable Consensus Algorithm"), chapters those of Ongaro's thesis. They own
nothing and never act.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from tidelog.raft.durable_state import WalEntry

LEAP_MAX = 2**20
"""How far one message moves a term or an incarnation at most (decision 0025)."""
CLOCK_MS_MAX = 2**44
"""Above every wall clock: a kernel's ends in the year 2262, this in 2527."""

# What a message is worth


def continues_own_log(cluster_named: str | None, own_cluster_id: str) -> bool:
    """A log goes on with what its own cluster wrote, whoever sends it (decision 0024)."""
    return cluster_named in (None, own_cluster_id)


def is_stale(term: int, current_term: int) -> bool:
    """What was said in an older term counts no more (5.1)."""
    return term < current_term


def is_superseded(incarnation: int, known_incarnation: int) -> bool:
    """What an earlier process of a voter said counts no more: its disk may be another."""
    return incarnation < known_incarnation


# How far numbers go


def climbed_term(heard: int, own: int) -> int:
    """Climb to a term that is far ahead, from message to message: none leaps there (0025)."""
    return min(heard, own + LEAP_MAX)


def climbed_incarnation(heard: int, known: int) -> int:
    """Climb likewise to an incarnation, above all that clocks give to begin with (0025)."""
    return min(heard, max(known, CLOCK_MS_MAX) + LEAP_MAX)


def outgrown_incarnation(known: int, own: int, chance: float) -> int:
    """Climb above the known incarnation of another process, by `chance` in [0, 1) of half a leap.

    Later processes may have grown beyond what this voter was told of, and others know them: on the
    next number two would be taken for one, and an emptied disk for the one before it (0025).
    """
    reached = climbed_incarnation(known, own)
    return reached + 1 + int(chance * (LEAP_MAX // 2)) if reached == known else reached


def first_incarnation(last: int, wall_ms: int) -> int:
    """Grow at every start, by the clock after the disk was lost; no clock takes it to an end."""
    return max(last + 1, min(wall_ms, CLOCK_MS_MAX))


# Elections


def may_lead(leader_id: int | None, sender_id: int) -> bool:
    """A term has one leader: who else claims it is none, and the first one stays (5.2)."""
    return leader_id in (None, sender_id)


def may_vote(voted_for: int | None, candidate_id: int) -> bool:
    """One vote in a term, also across restarts (5.2)."""
    return voted_for in (None, candidate_id)


def is_up_to_date(theirs: tuple[int, int], mine: tuple[int, int]) -> bool:
    """Last term, then last index: who lacks what may be committed gets no vote (5.4.1)."""
    return theirs >= mine


def hears_leader(silent_s: float, timeout_s: float) -> bool:
    """Who heard the leader just now helps nobody to depose it (thesis, 4.2.3)."""
    return silent_s < timeout_s


def takes_part(is_rejoining: bool) -> bool:  # noqa: FBT001  # a rule of one fact
    """A voter whose disk is new may have forgotten votes and entries (decision 0011)."""
    return not is_rejoining


def may_follow(is_asking: bool) -> bool:  # noqa: FBT001  # a rule of one fact
    """Until every other voter knows of the new disk, old promises may still be counted on."""
    return not is_asking


def has_caught_up(commit: tuple[int, int | None], heard: tuple[int, int]) -> bool:
    """A voter with a new disk holds again all it may have helped to commit.

    Both are index and term: of what is committed here, and the commit index the others knew with
    the term of the present leader. Committed in that term is behind all of earlier terms.
    """
    return commit[0] >= heard[0] and commit[1] == heard[1]


# The log


def agreeing(entries: Sequence[WalEntry], term_at: Callable[[int], int | None]) -> int:
    """How many of the entries are held already: only a contradiction truncates (5.3)."""
    for count, entry in enumerate(entries):
        if term_at(entry.log_index) != entry.term:
            return count
    return len(entries)


def follows(previous_term: int, term_here: int | None) -> bool:
    """Entries are taken only behind the very entry they followed at the leader (5.3)."""
    return term_here == previous_term


def verified_commit(commit_index: int, verified_index: int) -> int:
    """What the leader committed is committed here as far as this log is known to be the same."""
    return min(commit_index, verified_index)


def next_match(match_index: int, acknowledged_index: int) -> int:
    """Acknowledgements arrive in any order; what was acknowledged stays so."""
    return max(match_index, acknowledged_index)


def quorum_index(indexes: Iterable[int]) -> int:
    """The greatest that a majority has reached, of one value for every voter."""
    descending = sorted(indexes, reverse=True)
    return descending[len(descending) // 2]


def may_commit(entry_term: int | None, current_term: int) -> bool:
    """Counting copies commits only what this term appended, and all before it (5.4.2)."""
    return entry_term == current_term


def keeps_log(snapshot_term: int, term_here: int | None) -> bool:
    """A snapshot leaves the log alone if its last entry is there; else all of it is void (7)."""
    return term_here == snapshot_term


# Leadership


def has_quorum_contact(silent_s: float, timeout_s: float) -> bool:
    """A leader that no majority answers steps down, so that its clients look further (6.2)."""
    return silent_s <= timeout_s


def is_read_confirmed(read_round: int, quorum_round: int) -> bool:
    """A majority followed this leader after the read was asked for (thesis, 6.4)."""
    return quorum_round >= read_round


def may_read(own_term_index: int, commit_index: int) -> bool:
    """Before an entry of its own term is committed a leader does not know what is (5.4.2, 8)."""
    return commit_index >= own_term_index


# Storage


def must_sync(has_unsynced: bool) -> bool:  # noqa: FBT001  # a rule of one fact
    """What is written is put on stable storage (5.2, 5.3)."""
    return has_unsynced


def may_promise(is_stored: bool) -> bool:  # noqa: FBT001  # a rule of one fact
    """Nothing is promised that a crash could take back: votes, acknowledgements (5.2, 5.3)."""
    return is_stored


def may_hint(is_stamp_durable: bool) -> bool:  # noqa: FBT001  # a rule of one fact
    """Who forgets its term or its incarnation in a crash has told nobody of it."""
    return is_stamp_durable


def own_copy(durable_index: int, _last_index: int) -> int:
    """A leader counts of its own log what is on stable storage, as it does of others' (10.2.1)."""
    return durable_index
