"""Findings of runs: violations, and how often required events happened. Decides nothing."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Violation:
    """An invariant that did not hold, and what was seen."""

    invariant: str
    what: str


@dataclass(slots=True)
class Findings:
    """Filled while a seed runs."""

    violations: list[Violation] = field(default_factory=list)
    coverage: Counter[str] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)

    def report(self, invariant: str, what: str) -> None:
        """An invariant does not hold. The first report counts: others may follow from it."""
        self.violations.append(Violation(invariant, what))


@dataclass(frozen=True, slots=True)
class SeedResult:
    """Result of one seed; `violation` is None when nothing is wrong."""

    seed: int
    violation: Violation | None
    faults: dict[str, int]
    coverage: dict[str, int]
    operations: int
    acknowledged: int
    steps: int
    virtual_s: float
    trace_hash: str
    counts: dict[str, int] = field(default_factory=dict)
    """Counts of the suite's own checks."""
