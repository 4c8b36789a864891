"""A run of the pipeline from the command line; the last line on stdout is a JSON object.

`tidelog pipeline` is this with defaults; `python -m tidelog.spark.pipeline` needs no `tidelog.cli`.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from tidelog.core.errors import TidelogError
from tidelog.core.system import SystemClock, SystemDisk
from tidelog.spark.environment import SetupError, check_packages
from tidelog.spark.pipeline.settings import Settings, parse
from tidelog.spark.pipeline.summary import chart, summary

if TYPE_CHECKING:
    from tidelog.spark.pipeline.job import Outcome


def main(arguments: Sequence[str], *, bootstrap: str | None = None) -> None:
    """Run the job; `bootstrap` is the default for arguments that name none.

    Exits with 1 and one line that gives the reason of a failure, with 2 for wrong usage.
    """
    settings = parse(arguments, bootstrap=bootstrap)
    try:
        check_packages()
        outcome = _run(settings)
    except (TidelogError, SetupError) as error:
        sys.exit(f"tidelog pipeline: {error}")
    for line in chart(outcome.partitions):
        _print_line(line)
    _print_line(f"Parquet: {settings.output}/records, bad records: {settings.output}/quarantine")
    said = {"committed": outcome.is_committed, **summary(outcome.run, outcome.partitions)}
    sys.stdout.write(json.dumps(said) + "\n")


def _run(settings: Settings) -> Outcome:
    from tidelog.spark.pipeline.job import Job
    from tidelog.spark.pipeline.ship import ship
    from tidelog.spark.session import is_local, session

    with closing(SystemDisk()) as disk, tempfile.TemporaryDirectory(prefix="tidelog-") as folder:
        spark = session("tidelog pipeline", master=settings.master)
        try:
            if not is_local(settings.master):
                ship(spark, Path(folder))
            return Job(spark, settings, disk=disk, clock=SystemClock()).run(report=_print_line)
        finally:
            spark.stop()


def _print_line(line: str) -> None:
    sys.stderr.write(f"{line}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
