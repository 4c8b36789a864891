"""The settings of the pipeline, and the parser of its command line.

Imports no PySpark: help and usage errors need no Spark.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tidelog.spark.pipeline.plan import Limits

LOCAL = "local[*]"


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of a run; `output` is an absolute path shared by driver and executors."""

    bootstrap: str
    topics: Sequence[str]
    schema: str
    """Fields as DDL; fields with NOT NULL are required."""
    output: str
    partition_by: Sequence[str] = ()
    limits: Limits = field(default_factory=Limits)
    options: Mapping[str, str] = field(default_factory=dict)
    """Further options of the data source, like minPartitions."""
    master: str = LOCAL
    """Spark's master URL."""


def parse(arguments: Sequence[str], *, bootstrap: str | None) -> Settings:
    """Parse a command line; `bootstrap` is the default for one that names none.

    Exits with help and 0 for --help, with usage and 2 for a wrong command line.
    """
    asked = _parser(bootstrap).parse_args(arguments)
    return Settings(
        bootstrap=asked.bootstrap,
        topics=asked.topic,
        schema=asked.schema,
        output=str(Path(asked.output).absolute()),
        partition_by=asked.partition_by,
        limits=Limits(
            records_max=asked.max_records,
            from_latest=asked.from_latest,
            is_loss_allowed=asked.allow_data_loss,
        ),
        options=dict(option.split("=", 1) for option in asked.option),
        master=asked.master,
    )


def _parser(bootstrap: str | None) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="tidelog pipeline",
        description="Write JSON records of topics to partitioned Parquet, run by run, once each.",
        allow_abbrev=False,
    )
    add = parser.add_argument
    add(
        "--bootstrap",
        required=bootstrap is None,
        default=bootstrap,
        metavar="HOST:PORT[,…]",
        help="broker addresses" + (f"; default: {bootstrap}" if bootstrap else ""),
    )
    add("--topic", required=True, action="append", help="topic to read; may be repeated")
    add("--schema", required=True, help='fields as DDL: "id long NOT NULL, amount double"')
    add("--output", required=True, help="folder shared by driver and executors")
    add(
        "--partition-by",
        nargs="*",
        default=[],
        metavar="COLUMN",
        help="columns of the schema, or _date",
    )
    add("--max-records", type=_positive, help="maximum per run, over all partitions")
    add("--from-latest", action="store_true", help="start the first run at the latest offsets")
    add(
        "--allow-data-loss",
        action="store_true",
        help="continue when records are gone, and record the gap",
    )
    add(
        "--option",
        action="append",
        default=[],
        type=_option,
        metavar="NAME=VALUE",
        help="option of the data source; may be repeated",
    )
    add("--master", default=LOCAL, help=f"Spark's master URL; default: {LOCAL}")
    return parser


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is less than 1")
    return number


def _option(text: str) -> str:
    if "=" not in text:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE")
    return text
