"""What a user asks of the pipeline, and the one parser of its command line.

Imports no PySpark: help and refusals of wrong usage need no Spark.
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
    """What to do; `output` is an absolute path that the driver and all executors share."""

    bootstrap: str
    topics: Sequence[str]
    schema: str
    """Fields as DDL; those that are NOT NULL must be there."""
    output: str
    partition_by: Sequence[str] = ()
    limits: Limits = field(default_factory=Limits)
    options: Mapping[str, str] = field(default_factory=dict)
    """More of the source's, like minPartitions."""
    master: str = LOCAL
    """Of Spark."""


def parse(arguments: Sequence[str], *, bootstrap: str | None) -> Settings:
    """Settings of a command line; `bootstrap` is for one that names none.

    Ends the process: with help and 0 where that was asked for, with usage and 2 where it is wrong.
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
        description="JSON records of topics into partitioned Parquet, run after run, each once.",
        allow_abbrev=False,
    )
    add = parser.add_argument
    add(
        "--bootstrap",
        required=bootstrap is None,
        default=bootstrap,
        metavar="HOST:PORT[,…]",
        help="brokers to begin with" + (f"; {bootstrap} unless told" if bootstrap else ""),
    )
    add("--topic", required=True, action="append", help="to read; may be given several times")
    add("--schema", required=True, help='fields, as DDL: "id long NOT NULL, amount double"')
    add("--output", required=True, help="a folder that driver and executors share")
    add("--partition-by", nargs="*", default=[], metavar="COLUMN", help="of the schema, or _date")
    add("--max-records", type=_positive, help="of one run, over all partitions")
    add("--from-latest", action="store_true", help="the first run begins with what comes after it")
    add(
        "--allow-data-loss",
        action="store_true",
        help="go on where records are gone; write down which",
    )
    add(
        "--option",
        action="append",
        default=[],
        type=_option,
        metavar="NAME=VALUE",
        help="of the source; may be given several times",
    )
    add("--master", default=LOCAL, help=f"Spark's; {LOCAL} unless told")
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
