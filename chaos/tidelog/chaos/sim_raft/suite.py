"""Many seeds of the Raft suite over worker processes, and what they add up to.

It owns the split into processes and the sums; a worker (`python -m tidelog.chaos.sim_raft.worker`)
runs its seeds one by one and writes a JSON line for each. A worker may be told to apply a patch by
name first: that is how mutants of safety rules get in, and the only way.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

from tidelog.chaos.sim_raft.findings import COVERAGE, NOT_OF_PYSYNCOBJ, Violation
from tidelog.chaos.sim_raft.seed_run import ENGINES, SeedResult

NAME = "raft"
WORKERS = 2
COVERAGE_JUDGED_FROM_SEEDS = 100
_LINE_BYTES_MAX = 16 * 1024 * 1024


class WorkerError(Exception):
    """A worker process ended without running its seeds; its own words are on stderr."""


@dataclass(frozen=True, slots=True)
class SuiteConfig:
    """What to run. `patch` is `module:function`, called in each worker before its first seed."""

    seeds: range
    engine: str = ENGINES[0]
    has_faults: bool = True
    patch: str | None = None
    workers: int = WORKERS
    stops_at_violation: bool = False


@dataclass(slots=True)
class SuiteResult:
    """The sums over the seeds that were run."""

    config: SuiteConfig
    seeds: int = 0
    steps: int = 0
    operations: int = 0
    faults: Counter[str] = field(default_factory=Counter)
    coverage: Counter[str] = field(default_factory=lambda: Counter(dict.fromkeys(COVERAGE, 0)))
    violations: list[tuple[int, Violation]] = field(default_factory=list)

    def add(self, result: SeedResult) -> None:
        """Count one seed."""
        self.seeds += 1
        self.steps += result.steps
        self.operations += result.operations
        self.faults.update(result.faults)
        self.coverage.update(result.coverage)
        if result.violation is not None:
            self.violations.append((result.seed, result.violation))

    def missing_coverage(self) -> list[str]:
        """Counters left at 0 by enough seeds to say so."""
        if self.seeds < COVERAGE_JUDGED_FROM_SEEDS or not self.config.has_faults:
            return []
        exempt = NOT_OF_PYSYNCOBJ if self.config.engine == "pysyncobj" else frozenset()
        return [name for name in COVERAGE if not self.coverage[name] and name not in exempt]

    @property
    def is_good(self) -> bool:
        """No violation, nothing left untried."""
        return not self.violations and not self.missing_coverage()

    def summary(self) -> dict[str, Any]:  # the JSON object of the command's last line
        """What `tidelog sim run` ends with."""
        return {
            "suite": NAME,
            "seeds": self.seeds,
            "steps": self.steps,
            "faults": dict(sorted(self.faults.items())),
            "coverage": dict(self.coverage),
            "violations": [
                {"seed": seed, "invariant": violation.invariant, "replay": self._replay(seed)}
                for seed, violation in sorted(self.violations, key=lambda item: item[0])
            ],
        }

    def _replay(self, seed: int) -> str:
        engine = "" if self.config.engine == ENGINES[0] else f" --engine {self.config.engine}"
        return f"tidelog sim replay --suite {NAME} --seed {seed}{engine}"


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
    options = [f"--seeds={seeds.start}:{seeds.stop}:{seeds.step}", f"--engine={config.engine}"]
    if config.patch is not None:
        options.append(f"--patch={config.patch}")
    if not config.has_faults:
        options.append("--no-faults")
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tidelog.chaos.sim_raft.worker", *options),
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
    """What `to_line` wrote."""
    fields = json.loads(line)
    if fields["violation"] is not None:
        fields["violation"] = Violation(**fields["violation"])
    return SeedResult(**fields)
