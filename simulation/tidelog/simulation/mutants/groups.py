"""Mutants of the groups suite, by name."""

from __future__ import annotations

from tidelog.simulation.mutants import (
    groups_classic,
    groups_coordinator,
    groups_fenced,
    groups_members,
    internal_defaults,
)
from tidelog.simulation.mutants.mutant import Mutant

ALL: dict[str, Mutant] = {
    mutant.name: mutant
    for module in (
        groups_coordinator,
        groups_fenced,
        groups_members,
        groups_classic,
        internal_defaults,
    )
    for mutant in vars(module).values()
    if isinstance(mutant, Mutant)
}

UNSEEN: frozenset[str] = frozenset(
    {
        "assigned_under_a_newer_epoch",
        "late_commits_taken",
        "stuck_members_removed_at_once",
        "late_heartbeats_taken",
        "replaced_members_not_fenced",
        "waiting_members_expire",
    }
)
"""Not noticed by every hundred seeds. Hunted when asked for.

docs/MUTANTS.md says what it would take.
"""

MUTANTS: dict[str, Mutant] = {name: mutant for name, mutant in ALL.items() if name not in UNSEEN}
"""Those that a hundred seeds are to catch; docs/MUTANTS.md says which were hunted."""
