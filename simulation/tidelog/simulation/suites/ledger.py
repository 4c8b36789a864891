"""The record of suite runs: a JSON object a line, append-only. Decides nothing."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

from tidelog.core.env import Clock
from tidelog.simulation.suites.suite import SuiteResult

_SECONDS_TO_MS = 1000


def append(path: Path, result: SuiteResult, *, commit: str, clock: Clock) -> None:
    """Add a run of `commit`, which ended now."""
    config = result.config
    line = {
        "commit": commit,
        "date": datetime.fromtimestamp(clock.wall_ms() / _SECONDS_TO_MS, UTC).isoformat(
            "T", "seconds"
        ),
        "suite": config.suite.name,
        "scenario": config.chosen,
        "engine": config.engine,
        "seeds": f"{config.seeds.start}:{config.seeds.stop}",
        "result": {
            "run": result.seeds,
            "steps": result.steps,
            "operations": result.operations,
            "violations": [
                {"seed": seed, "invariant": violation.invariant}
                for seed, violation in result.violations
            ],
            "uncovered": result.missing_coverage(),
        },
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")
