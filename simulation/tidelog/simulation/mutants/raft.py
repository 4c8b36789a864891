"""Mutants of the Raft suite, by name."""

from __future__ import annotations

from tidelog.simulation.mutants import raft_engine, raft_rules, raft_storage
from tidelog.simulation.mutants.mutant import Mutant

ALL: dict[str, Mutant] = {
    mutant.name: mutant
    for module in (raft_rules, raft_engine, raft_storage)
    for mutant in vars(module).values()
    if isinstance(mutant, Mutant)
}

UNSEEN = frozenset(
    {
        *("match_outlives_the_disk", "names_not_synced_at_open", "torn_tail_not_cleared"),
        *("stands_still_while_syncing", "next_incarnation_taken"),
    }
)
"""Not noticed by every hundred seeds: too many things must go wrong at once, or it is no loss but
too many elections. Hunted when asked for.

docs/MUTANTS.md says what it would take.
"""

MUTANTS: dict[str, Mutant] = {name: mutant for name, mutant in ALL.items() if name not in UNSEEN}
"""Those that any hundred seeds must catch."""
