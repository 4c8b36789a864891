"""What a run found: what did not hold, and how often what must happen did. Decides nothing."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

COVERAGE = (
    "elections",
    "truncated_entries",
    "snapshot_installs",
    "lossy_crashes",
    "torn_writes",
    "rejoins",
    "unknown_outcomes",
    "reads",
    "pauses",
    "one_way",
    "crashes_at_a_write",
    "retried_commands",
    "refused_commands",
)
"""What a hundred seeds must each have made happen at least once."""

NOT_OF_PYSYNCOBJ = frozenset({"snapshot_installs", "rejoins"})
"""The second engine has neither snapshots nor a way back for an emptied voter."""


@dataclass(frozen=True, slots=True)
class Violation:
    """An invariant that did not hold, and what was seen."""

    invariant: str
    what: str


@dataclass(slots=True)
class Findings:
    """Filled while a seed runs."""

    violations: list[Violation] = field(default_factory=list)
    coverage: Counter[str] = field(default_factory=lambda: Counter(dict.fromkeys(COVERAGE, 0)))
    faults: Counter[str] = field(default_factory=Counter)

    def report(self, invariant: str, what: str) -> None:
        """An invariant does not hold. The first report counts: others may follow from it."""
        self.violations.append(Violation(invariant, what))
