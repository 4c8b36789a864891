"""The hunt for mutants: whether the random suite notices that a rule of the product is broken.

Each mutant first runs without faults, on a network that keeps order: there it must go unnoticed,
or it is no subtle one. Then it runs seed after seed until an invariant does not hold. No seed knows
of a mutant. Owns the order of runs and what a verdict holds.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from tidelog.simulation.mutants.mutant import Mutant
from tidelog.simulation.suites.findings import Violation
from tidelog.simulation.suites.suite import Suite, SuiteConfig, run_suite

CONTROL_SEEDS = range(1, 4, 2)
"""Control seeds of a network that keeps order; their first candidate meets no other."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Verdict on one mutant."""

    name: str
    seeds: int
    """Run with faults until it was caught; all of them if it was not."""
    violation: Violation | None = None
    """The violation that caught it."""
    control: Violation | None = None
    """The violation without any fault; the mutant is not hunted then."""

    @property
    def is_caught(self) -> bool:
        """By the faults, and only by them."""
        return self.violation is not None and self.control is None

    def summary(self) -> dict[str, Any]:  # a JSON object
        """Its part of the command's last line."""
        invariant = self.violation.invariant if self.violation else None
        return {
            "name": self.name,
            "caught": self.is_caught,
            "seeds": self.seeds,
            "invariant": invariant,
        }

    def __str__(self) -> str:
        if self.control is not None:
            return f"{self.name}: no mutant: without faults, {_violation_text(self.control)}"
        if self.violation is None:
            return f"{self.name}: NOT CAUGHT in {self.seeds} seeds"
        return (
            f"{self.name}: caught by seed {self.seeds} of them: {_violation_text(self.violation)}"
        )


async def hunt(
    suite: Suite,
    mutants: Iterable[Mutant],
    seeds: range,
    *,
    workers: int,
    on_verdict: Callable[[Verdict], None] = lambda _: None,
) -> list[Verdict]:
    """Hunt them all, so many at a time; verdicts come in the mutants' order.

    Errors: `WorkerError`.
    """
    room = asyncio.Semaphore(workers)

    async def judge(mutant: Mutant) -> Verdict:
        async with room:
            verdict = await _judge(suite, mutant, seeds)
        on_verdict(verdict)
        return verdict

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(judge(mutant)) for mutant in mutants]
    return [task.result() for task in tasks]


async def _judge(suite: Suite, mutant: Mutant, seeds: range) -> Verdict:
    control = await run_suite(_config(suite, mutant, CONTROL_SEEDS, has_faults=False))
    if control.violations:
        return Verdict(mutant.name, 0, control=control.violations[0][1])
    storm = await run_suite(_config(suite, mutant, seeds, has_faults=True))
    if not storm.violations:
        return Verdict(mutant.name, storm.seeds)
    seed, violation = storm.violations[0]
    return Verdict(mutant.name, seeds.index(seed) + 1, violation)


def _config(suite: Suite, mutant: Mutant, seeds: range, *, has_faults: bool) -> SuiteConfig:
    """Use one worker, so that the first seed that catches it is the same at every run."""
    return SuiteConfig(
        suite,
        seeds,
        has_faults=has_faults,
        patch=mutant.patch,
        workers=1,
        stops_at_violation=True,
    )


def summary(suite: Suite, verdicts: Iterable[Verdict]) -> dict[str, Any]:  # a JSON object
    """The command's last line."""
    return {"suite": suite.name, "mutants": [verdict.summary() for verdict in verdicts]}


def _violation_text(violation: Violation) -> str:
    return f"{violation.invariant}: {violation.what}"
