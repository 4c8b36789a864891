"""All mutants of the cluster suite, by name."""

from __future__ import annotations

from tidelog.chaos.mutants import (
    cluster_clients,
    cluster_controllers,
    cluster_followers,
    cluster_leaders,
    cluster_logs,
)
from tidelog.chaos.mutants.mutant import Mutant

ALL: dict[str, Mutant] = {
    mutant.name: mutant
    for module in (
        cluster_followers,
        cluster_leaders,
        cluster_controllers,
        cluster_logs,
        cluster_clients,
    )
    for mutant in vars(module).values()
    if isinstance(mutant, Mutant)
}

UNSEEN: frozenset[str] = frozenset()
"""Not noticed by every hundred seeds. Hunted when asked for.

docs/MUTANTS.md says what it would take.
"""

MUTANTS: dict[str, Mutant] = {name: mutant for name, mutant in ALL.items() if name not in UNSEEN}
"""Those that any hundred seeds must catch."""
