"""Mutants of the transactions suite, by name."""

from __future__ import annotations

from tidelog.simulation.mutants import (
    internal_defaults,
    transactions_coordinator,
    transactions_logs,
    transactions_offsets,
)
from tidelog.simulation.mutants.mutant import Mutant

ALL: dict[str, Mutant] = {
    mutant.name: mutant
    for module in (
        transactions_coordinator,
        transactions_logs,
        transactions_offsets,
        internal_defaults,
    )
    for mutant in vars(module).values()
    if isinstance(mutant, Mutant)
}

AT_ONCE: frozenset[str] = frozenset(
    {
        "epoch_not_raised",
        "markers_of_the_old_epoch",
        "prepared_commits_time_out",
        "stable_up_to_the_high_watermark",
        "aborted_left_out",
        "repeated_commits_answered",
        "missing_members_passed_over",
        "partitions_not_verified",
        "stable_past_uncommitted_markers",
    }
)
"""Noticed without any fault: they are no subtle ones, and not hunted."""

UNSEEN: frozenset[str] = frozenset(
    {
        "markers_before_commit",
        "transactions_not_confirmed",
        "older_leaderships_verified",
        "coordinator_epochs_not_compared",
        "metadata_of_now",
        "time_begins_with_the_coordinator",
    }
)
"""Not noticed by every hundred seeds. Hunted when asked for.

docs/MUTANTS.md says what it would take.
"""

MUTANTS: dict[str, Mutant] = {
    name: mutant for name, mutant in ALL.items() if name not in UNSEEN | AT_ONCE
}
"""Those that a hundred seeds are to catch; docs/MUTANTS.md says which were hunted."""
