"""Mutants that real nodes are, and the scenario that must notice each. Pure.

A few of those the simulation hunts by the dozen (docs/MUTANTS.md): they show that the eyes of a run
on sockets see, too.
"""

from __future__ import annotations

from collections.abc import Mapping

HUNTS: Mapping[str, str] = {
    "last_epoch_not_named": "F12",
    "cut_to_own_end": "F12",
    "lost_leadership_answered_as_success": "F12",
    "committed_below_min_insync": "F04",
    "duplicates_appended": "F40",
    "producers_forgotten_at_a_start": "F61",
    "leader_without_quorum_stays": "F22",
    "damage_not_acted_on": "F33",
    "records_not_walked": "F55",
    "unread_responses_unbounded": "unread",
    "stands_still_while_syncing": "slow-majority",
    "commit_epochs_not_compared": "F46",
    "groups_answered_before_commit": "coordinator-cut-off",
}
"""By the mutant's name, the scenario's id."""
CONTROL = "control"
"""The scenario without a fault."""
