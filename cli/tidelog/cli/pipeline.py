"""`tidelog pipeline`: the Spark job with this command line's defaults.

The job parses its arguments itself, since it also runs without this package
(`python -m tidelog.spark.pipeline`); the options here are its options.
"""

from __future__ import annotations

import os
import sys

import click

from tidelog.cli.bootstrap import bootstrap_option


@click.command()
@click.argument("columns", nargs=-1, metavar="")
@click.option("-t", "--topic", "topics", required=True, multiple=True, help="May be repeated.")
@click.option(
    "--schema", required=True, help='Fields of a record as DDL: "id long NOT NULL, amount double".'
)
@click.option("--output", required=True, help="Folder shared by driver and executors.")
@click.option(
    "--partition-by",
    multiple=True,
    metavar="COLUMN…",
    help="Columns of the schema, or _date; may be repeated.",
)
@click.option(
    "--max-records", type=click.IntRange(min=1), help="Maximum per run, over all partitions."
)
@click.option("--from-latest", is_flag=True, help="Start the first run at the latest offsets.")
@click.option(
    "--allow-data-loss", is_flag=True, help="Continue when records are gone, and record the gap."
)
@click.option(
    "--option",
    "options",
    multiple=True,
    metavar="NAME=VALUE",
    help="Option of the data source; may be repeated.",
)
@click.option("--master", help="Spark's master URL. Default: local[*].")
@bootstrap_option
def pipeline(
    *,
    columns: tuple[str, ...],
    topics: tuple[str, ...],
    schema: str,
    output: str,
    partition_by: tuple[str, ...],
    max_records: int | None,
    from_latest: bool,
    allow_data_loss: bool,
    options: tuple[str, ...],
    master: str | None,
    bootstrap: str,
) -> None:
    """Write JSON records of topics to Parquet with Spark, incrementally, each record once.

    The last line on stdout is a JSON object of counts.
    """
    if columns and not partition_by:
        raise click.UsageError(f"unexpected argument {columns[0]!r}")
    for option in options:
        if "=" not in option:
            raise click.UsageError(f"--option {option!r} is not NAME=VALUE")
    arguments = [
        *("--schema", schema, "--output", output),
        *(f"--topic={topic}" for topic in topics),
        *([] if max_records is None else ["--max-records", str(max_records)]),
        *(["--from-latest"] if from_latest else []),
        *(["--allow-data-loss"] if allow_data_loss else []),
        *(f"--option={option}" for option in options),
        *([] if master is None else ["--master", master]),
        *(["--partition-by", *partition_by, *columns] if partition_by else []),
    ]
    from tidelog.spark.pipeline.__main__ import main

    # Spark's workers need a Python with this package; by default Spark takes any python3.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    main(arguments, bootstrap=bootstrap)
