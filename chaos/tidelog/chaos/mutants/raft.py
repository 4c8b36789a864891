"""All mutants of the Raft suite, by name."""

from __future__ import annotations

from tidelog.chaos.mutants import raft_engine, raft_rules, raft_storage
from tidelog.chaos.mutants.mutant import Mutant

MUTANTS: dict[str, Mutant] = {
    mutant.name: mutant
    for module in (raft_rules, raft_engine, raft_storage)
    for mutant in vars(module).values()
    if isinstance(mutant, Mutant)
}


class UnknownMutantError(Exception):
    """There is none of this name; the message lists those there are."""


def mutant_named(name: str) -> Mutant:
    """The mutant. Errors: `UnknownMutantError`."""
    if name not in MUTANTS:
        raise UnknownMutantError(f"no mutant is named {name!r}; there are {', '.join(MUTANTS)}")
    return MUTANTS[name]
