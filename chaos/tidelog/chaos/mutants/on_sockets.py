"""Mutants that real nodes are, and the scenario that must notice each. Pure.

A few of those the simulation hunts by the dozen (docs/MUTANTS.md): they show that the eyes of a run
on sockets see, too.
"""

from __future__ import annotations

from collections.abc import Mapping

HUNTS: Mapping[str, str] = {
    "last_epoch_not_named": "F12",
    "committed_below_min_insync": "F04",
    "duplicates_appended": "F40",
    "followers_note_no_producers": "F01",
    "lost_leadership_told_as_success": "F12",
    "shrink_told_as_refusal": "F04",
    "truncated_to_high_watermark": "F01",
    "leader_without_quorum_stays": "F22",
    "unclean_election_on": "F11",
    "deposed_leader_decides": "F23",
}
"""By the mutant's name, the scenario's id."""
CONTROL = "control"
"""The scenario without a fault."""
