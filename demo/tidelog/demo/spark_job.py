"""The demo's Spark job, in a process of its own, and the check of its requirements."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from tidelog.demo.errors import DemoError
from tidelog.spark.environment import SetupError, check_java, check_packages


class JobResult(NamedTuple):
    """The figures of the job: records read, distinct row numbers among them, and its duration."""

    read: int
    distinct: int
    seconds: float


def require_spark() -> None:
    """Raise DemoError with the remedy unless this machine has PySpark and a Java for it."""
    try:
        check_packages()
        check_java()
    except SetupError as error:
        raise DemoError(str(error)) from None


def run_job(*, bootstrap: str, topic: str, output: Path) -> JobResult:
    """Run `tidelog.demo.flights_job`. Errors: DemoError with the last line of its stderr."""
    options = {"--bootstrap": bootstrap, "--topic": topic, "--output": str(output)}
    job = subprocess.run(
        [
            sys.executable,
            "-m",
            "tidelog.demo.flights_job",
            *(w for o in options.items() for w in o),
        ],
        env={**os.environ, "PYSPARK_PYTHON": sys.executable},
        capture_output=True,
        text=True,
        check=False,
    )
    if job.returncode:
        (output / "spark.log").write_text(job.stderr)
        last_words = (job.stderr.strip().splitlines() or ["no message"])[-1]
        raise DemoError(
            f"the Spark job failed: {last_words} (its whole output is in {output}/spark.log)"
        )
    return JobResult(**json.loads(job.stdout.splitlines()[-1]))
