"""All mutants of the cluster suite, by name."""

from __future__ import annotations

from types import ModuleType

from tidelog.chaos.mutants.mutant import Mutant

MODULES: tuple[ModuleType, ...] = ()

ALL: dict[str, Mutant] = {
    mutant.name: mutant
    for module in MODULES
    for mutant in vars(module).values()
    if isinstance(mutant, Mutant)
}

MUTANTS: dict[str, Mutant] = ALL
"""Those that any hundred seeds must catch."""
