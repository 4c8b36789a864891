"""Mutants of the rules in `tidelog.raft.rules` and those that are methods: each answers wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from tidelog.net import own_cluster
from tidelog.raft import rules
from tidelog.raft.durable_state import WalEntry
from tidelog.raft.rejoiner import Rejoiner
from tidelog.simulation.mutants.mutant import replaces

# What a message is worth


@replaces(own_cluster, "is_of_this_cluster")
def foreign_messages_heard(_cluster_id: str, _own_cluster_id: str) -> bool:
    """Messages of a node of another cluster count, since its log matches."""
    return True


@replaces(rules, "continues_own_log")
def foreign_entries_taken(_cluster_named: str | None, _own_cluster_id: str) -> bool:
    """Entries of another cluster are appended to the own log."""
    return True


@replaces(rules, "is_stale")
def stale_terms_accepted(_term: int, _current_term: int) -> bool:
    """Messages from older terms still count."""
    return False


@replaces(rules, "is_superseded")
def old_incarnations_accepted(_incarnation: int, _known_incarnation: int) -> bool:
    """Messages of an earlier process of a voter still count."""
    return False


# How far numbers go


@replaces(rules, "climbed_term")
def term_leaps_taken(heard: int, _own: int) -> int:
    """A term from nowhere is entered, up to the last one that is well-formed."""
    return heard


@replaces(rules, "climbed_incarnation")
def incarnation_leaps_taken(heard: int, _known: int) -> int:
    """An incarnation from nowhere is believed, up to the last one that is well-formed."""
    return heard


@replaces(rules, "outgrown_incarnation")
def next_incarnation_taken(known: int, own: int, _chance: float) -> int:
    """A new disk takes the number after the known one, which a later life of the old one had."""
    reached = rules.climbed_incarnation(known, own)
    return reached + 1 if reached == known else reached


# Elections


@replaces(rules, "may_vote")
def two_votes_a_term(_voted_for: int | None, _candidate_id: int) -> bool:
    """Every candidate gets a vote."""
    return True


@replaces(rules, "is_up_to_date")
def logs_not_compared_in_votes(_theirs: tuple[int, int], _mine: tuple[int, int]) -> bool:
    """A candidate may lack what is committed."""
    return True


@replaces(rules, "is_up_to_date")
def longer_log_wins_votes(theirs: tuple[int, int], mine: tuple[int, int]) -> bool:
    """The last index counts, whatever its term."""
    return theirs[1] >= mine[1]


@replaces(rules, "hears_leader")
def leader_not_sticky(_silent_s: float, _timeout_s: float) -> bool:
    """A voter that hears a leader helps to depose it."""
    return False


@replaces(Rejoiner, "takes_part")
def new_disk_votes_at_once(_self: Rejoiner) -> bool:
    """A voter whose disk is new votes and campaigns."""
    return True


@replaces(Rejoiner, "may_follow")
def new_disk_follows_at_once(_self: Rejoiner) -> bool:
    """A voter whose disk is new acknowledges before the others know of it."""
    return True


@replaces(rules, "has_caught_up")
def rejoined_too_early(_commit: tuple[int, int | None], _heard: tuple[int, int]) -> bool:
    """A voter whose disk is new takes part at its first message from a leader."""
    return True


# The log


@replaces(rules, "agreeing")
def entries_truncate_always(
    _entries: Sequence[WalEntry], _term_at: Callable[[int], int | None]
) -> int:
    """Entries that are there already are taken as contradictions."""
    return 0


@replaces(rules, "agreeing")
def conflicts_kept(entries: Sequence[WalEntry], term_at: Callable[[int], int | None]) -> int:
    """An entry of another term at the same index is taken as the same entry."""
    return sum(term_at(entry.log_index) is not None for entry in entries)


@replaces(rules, "follows")
def previous_entry_not_compared(_previous_term: int, term_here: int | None) -> bool:
    """Entries are taken behind any entry of the same index."""
    return term_here is not None


@replaces(rules, "quorum_index")
def minority_is_enough(indexes: Iterable[int]) -> int:
    """A majority is one voter less than it should be."""
    descending = sorted(indexes, reverse=True)
    return descending[len(descending) // 2 - 1]


@replaces(rules, "may_commit")
def older_terms_committed_by_counting(_entry_term: int | None, _current_term: int) -> bool:
    """Copies are counted of any term's entries."""
    return True


@replaces(rules, "keeps_log")
def snapshot_keeps_any_log(_snapshot_term: int, term_here: int | None) -> bool:
    """A log that contradicts the snapshot stays."""
    return term_here is not None


@replaces(rules, "keeps_log")
def snapshot_replaces_any_log(_snapshot_term: int, _term_here: int | None) -> bool:
    """A snapshot takes with it the acknowledged entries behind it."""
    return False


# Leadership


@replaces(rules, "has_quorum_contact")
def leader_without_quorum_stays(_silent_s: float, _timeout_s: float) -> bool:
    """A leader that nobody answers goes on."""
    return True


@replaces(rules, "is_read_confirmed")
def read_without_round(_read_round: int, _quorum_round: int) -> bool:
    """A leader answers reads without asking whether it still leads."""
    return True


@replaces(rules, "may_read")
def read_before_own_term(_own_term_index: int, _commit_index: int) -> bool:
    """A new leader answers reads before it knows what is committed."""
    return True
