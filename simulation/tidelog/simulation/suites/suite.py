"""Suites of simulated seeds: their runs over worker processes, and the summary.

It owns the split into processes and the sums; a worker (`tidelog.simulation.suites.worker`)
runs its seeds one by one and writes a JSON line for each. A worker may apply a patch by
name first: that is how mutants of safety rules get in, and the only way.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from importlib import import_module
from typing import Any, Protocol

from tidelog.raft.config import ENGINES
from tidelog.simulation.suites.findings import SeedResult, Violation

NAMES = ("raft", "cluster", "groups", "wire", "transactions")
WORKERS = 2
COVERAGE_JUDGED_FROM_SEEDS = 100
_LINE_BYTES_MAX = 16 * 1024 * 1024


class WorkerError(Exception):
    """A worker process ended without running its seeds; its own words are on stderr."""


class RunSeed(Protocol):
    """Run one seed of a suite, in this process."""

    def __call__(
        self,
        seed: int,
        *,
        choice: str,
        engine: str,
        has_faults: bool,
        timeline_sink: Callable[[str], None] | None,
    ) -> SeedResult:
        """Run it; without faults it is the control that every mutant must pass."""


@dataclass(frozen=True, slots=True)
class Suite:
    """A simulation that seeds decide."""

    name: str
    run_seed: RunSeed
    coverage: tuple[str, ...]
    """Events that a hundred seeds must each meet at least once."""
    choices: tuple[str, ...]
    """Its scenarios: the random storm first, which is run when nothing is said, then stories."""
    not_covered: Mapping[str, frozenset[str]]
    """By choice: what it never makes happen."""

    @property
    def default(self) -> str:
        """The usual choice."""
        return self.choices[0]


def suite_named(name: str) -> Suite:
    """The suite of one of `NAMES`; only its own modules are imported."""
    suite: Suite = import_module(f"tidelog.simulation.{name}.suite").SUITE
    return suite


@dataclass(frozen=True, slots=True)
class SuiteConfig:
    """Configuration of a run. `patch` is `module:function`, called in each worker at its start."""

    suite: Suite
    seeds: range
    choice: str = ""
    """A scenario of the suite; empty: the usual one."""
    engine: str = ENGINES[0]
    """Which implementation of Raft the controllers run."""
    has_faults: bool = True
    patch: str | None = None
    workers: int = WORKERS
    stops_at_violation: bool = False

    @property
    def chosen(self) -> str:
        """The choice, whether it was named or not."""
        return self.choice or self.suite.default


@dataclass(slots=True)
class SuiteResult:
    """The sums over the seeds that were run."""

    config: SuiteConfig
    seeds: int = 0
    steps: int = 0
    operations: int = 0
    faults: Counter[str] = field(default_factory=Counter)
    coverage: Counter[str] = field(default_factory=Counter)
    counts: Counter[str] = field(default_factory=Counter)
    violations: list[tuple[int, Violation]] = field(default_factory=list)

    def add(self, result: SeedResult) -> None:
        """Count one seed."""
        self.seeds += 1
        self.steps += result.steps
        self.operations += result.operations
        self.faults.update(result.faults)
        self.coverage.update(result.coverage)
        self.counts.update(result.counts)
        if result.violation is not None:
            self.violations.append((result.seed, result.violation))

    def missing_coverage(self) -> list[str]:
        """Counters left at 0 by enough seeds to say so."""
        suite = self.config.suite
        if self.seeds < COVERAGE_JUDGED_FROM_SEEDS or not self.config.has_faults:
            return []
        exempt = suite.not_covered.get(self.config.chosen, frozenset())
        return [name for name in suite.coverage if not self.coverage[name] and name not in exempt]

    @property
    def is_good(self) -> bool:
        """No violation, nothing left untried."""
        return not self.violations and not self.missing_coverage()

    def summary(self) -> dict[str, Any]:  # the JSON object of the command's last line
        """The last line of `tidelog sim run`."""
        suite = self.config.suite
        counts = {"counts": dict(sorted(self.counts.items()))} if self.counts else {}
        return {
            "suite": suite.name,
            "seeds": self.seeds,
            "steps": self.steps,
            "faults": dict(sorted(self.faults.items())),
            "coverage": {name: self.coverage[name] for name in suite.coverage},
            **counts,
            "violations": [
                {"seed": seed, "invariant": violation.invariant, "replay": self.replay(seed)}
                for seed, violation in sorted(self.violations, key=lambda item: item[0])
            ],
        }

    def replay(self, seed: int) -> str:
        """The command that shows what happened."""
        suite, chosen, engine = self.config.suite, self.config.chosen, self.config.engine
        scenario = "" if chosen == suite.default else f" --scenario {chosen}"
        engine = "" if engine == ENGINES[0] else f" --engine {engine}"
        return f"tidelog sim replay --suite {suite.name} --seed {seed}{scenario}{engine}"


async def run_suite(
    config: SuiteConfig, on_result: Callable[[SeedResult], None] = lambda _: None
) -> SuiteResult:
    """Run all seeds, or up to the first violation; `on_result` hears of each as it ends.

    Errors: `WorkerError`.
    """
    result = SuiteResult(config)
    workers = [await _start_worker(config, number) for number in range(config.workers)]

    def take(one: SeedResult) -> None:
        result.add(one)
        on_result(one)
        if one.violation is not None and config.stops_at_violation:
            for worker in workers:
                if worker.returncode is None:
                    worker.terminate()

    try:
        await asyncio.gather(*(_read(worker, take) for worker in workers))
    finally:
        for worker in workers:
            if worker.returncode is None:
                worker.kill()
            await worker.wait()
    if not (config.stops_at_violation and result.violations):
        _check_exits(workers, result)
    return result


async def _start_worker(config: SuiteConfig, number: int) -> asyncio.subprocess.Process:
    seeds = config.seeds[number :: config.workers]
    options = [
        f"--suite={config.suite.name}",
        f"--seeds={seeds.start}:{seeds.stop}:{seeds.step}",
        f"--choice={config.chosen}",
        f"--engine={config.engine}",
    ]
    if config.patch is not None:
        options.append(f"--patch={config.patch}")
    if not config.has_faults:
        options.append("--no-faults")
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tidelog.simulation.suites.worker", *options),
        stdout=asyncio.subprocess.PIPE,
        limit=_LINE_BYTES_MAX,
    )


async def _read(worker: asyncio.subprocess.Process, take: Callable[[SeedResult], None]) -> None:
    if worker.stdout is None:
        raise WorkerError("a worker without a pipe")
    while line := await worker.stdout.readline():
        take(from_line(line))
    await worker.wait()


def _check_exits(workers: list[asyncio.subprocess.Process], result: SuiteResult) -> None:
    codes = [worker.returncode for worker in workers]
    wanted = len(result.config.seeds)
    if any(codes) or result.seeds != wanted:
        raise WorkerError(f"workers ended with {codes} after {result.seeds} of {wanted} seeds")


def to_line(result: SeedResult) -> str:
    """A worker's line."""
    return json.dumps(asdict(result))


def from_line(line: bytes) -> SeedResult:
    """Parse the output of `to_line`."""
    fields = json.loads(line)
    if fields["violation"] is not None:
        fields["violation"] = Violation(**fields["violation"])
    return SeedResult(**fields)
