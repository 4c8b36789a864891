"""The record of suite runs: a JSON object a line, append-only. Decides nothing."""

from __future__ import annotations

import json
import subprocess
from datetime import UTC, datetime
from pathlib import Path

from tidelog.chaos.sim_raft.suite import NAME, SuiteResult
from tidelog.log.env import Clock

_SECONDS_TO_MS = 1000


def append(path: Path, result: SuiteResult, clock: Clock) -> None:
    """Add a run of the checked-out commit; `+` after it: the tree had changes."""
    seeds = result.config.seeds
    line = {
        "commit": _commit(),
        "date": datetime.fromtimestamp(clock.wall_ms() / _SECONDS_TO_MS, UTC).isoformat(
            "T", "seconds"
        ),
        "suite": NAME,
        "engine": result.config.engine,
        "seeds": f"{seeds.start}:{seeds.stop}",
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


def _commit() -> str:
    commit = _git("rev-parse", "--short=12", "HEAD")
    changes = _git("status", "--porcelain", "--untracked-files=no")
    return commit + "+" if changes else commit


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], capture_output=True, text=True, check=True)
    return done.stdout.strip()
