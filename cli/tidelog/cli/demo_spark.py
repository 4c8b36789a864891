"""The demo's Spark: looks for a Java that it runs on, and runs the job in a process of its own."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import click

JAVA_VERSION_MIN = 17
_REMEDY = (
    f"Spark needs Java {JAVA_VERSION_MIN} or newer (Debian: apt-get install default-jre-headless)"
)


class JobResult(NamedTuple):
    """What the job says: records read, of them with different row numbers, and how long it took."""

    read: int
    distinct: int
    seconds: float


def require_java() -> None:
    """Raise ClickException with the remedy unless there is a Java that Spark runs on."""
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    if java is None:
        raise click.ClickException(f"no Java found: {_REMEDY}")
    try:
        shown = subprocess.run([java, "-version"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise click.ClickException(f"{java} does not run ({error}): {_REMEDY}") from None
    version = re.search(r'version "(\d+)', shown.stderr)
    if version is None or int(version.group(1)) < JAVA_VERSION_MIN:
        raise click.ClickException(f"{java} is too old: {_REMEDY}")


def run_job(*, bootstrap: str, topic: str, output: Path) -> JobResult:
    """Run `tidelog.spark.flights_job`; raises ClickException with its last words."""
    options = {"--bootstrap": bootstrap, "--topic": topic, "--output": str(output)}
    job = subprocess.run(
        [
            sys.executable,
            "-m",
            "tidelog.spark.flights_job",
            *(w for o in options.items() for w in o),
        ],
        env={**os.environ, "PYSPARK_PYTHON": sys.executable},
        capture_output=True,
        text=True,
        check=False,
    )
    if job.returncode:
        (output / "spark.log").write_text(job.stderr)
        last_words = (job.stderr.strip().splitlines() or ["no word"])[-1]
        raise click.ClickException(
            f"the Spark job failed: {last_words} (all of it in {output}/spark.log)"
        )
    return JobResult(**json.loads(job.stdout.splitlines()[-1]))
