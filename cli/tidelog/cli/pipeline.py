"""`tidelog pipeline`: the Spark job with this command line's defaults.

The job parses its options itself, since it also runs without this package
(`python -m tidelog.spark.pipeline`).
"""

from __future__ import annotations

import os
import sys

import click

from tidelog.cli.bootstrap import DEFAULT_BOOTSTRAP


@click.command(add_help_option=False, context_settings={"ignore_unknown_options": True})
@click.argument("options", nargs=-1, type=click.UNPROCESSED)
def pipeline(options: tuple[str, ...]) -> None:
    """Write JSON records of topics to Parquet with Spark, incrementally, each record once."""
    from tidelog.spark.pipeline.__main__ import main

    # Spark's workers need a Python with this package; by default Spark takes any python3.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    main(options, bootstrap=os.environ.get("TIDELOG_BOOTSTRAP", DEFAULT_BOOTSTRAP))
