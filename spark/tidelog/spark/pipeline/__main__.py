"""`python -m tidelog.spark.pipeline`: one run; the last line on stdout is a JSON object."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path

from tidelog.log.errors import TidelogError
from tidelog.log.system import SystemClock, SystemDisk
from tidelog.spark.pipeline.job import Job, Outcome, Settings
from tidelog.spark.pipeline.plan import Limits
from tidelog.spark.pipeline.ship import write_package
from tidelog.spark.pipeline.summary import chart, summary
from tidelog.spark.session import session

LOCAL = "local[*]"


def main() -> None:
    """Run the job with arguments of the command line; exit 1 with one line that says why not."""
    arguments = _parser().parse_args()
    try:
        outcome = _run(arguments)
    except TidelogError as error:
        sys.exit(f"tidelog pipeline: {error}")
    for line in chart(outcome.partitions):
        sys.stderr.write(f"{line}\n")
    said = {"committed": outcome.is_committed, **summary(outcome.run, outcome.partitions)}
    sys.stdout.write(json.dumps(said) + "\n")


def _run(arguments: argparse.Namespace) -> Outcome:
    settings = Settings(
        bootstrap=arguments.bootstrap,
        topics=arguments.topic,
        schema=arguments.schema,
        output=str(Path(arguments.output).absolute()),
        partition_by=arguments.partition_by,
        limits=Limits(
            records_max=arguments.max_records,
            from_latest=arguments.from_latest,
            is_loss_allowed=arguments.allow_data_loss,
        ),
        options=dict(option.split("=", 1) for option in arguments.option),
    )
    disk = SystemDisk()
    spark = session("tidelog pipeline", master=arguments.master)
    try:
        with tempfile.TemporaryDirectory(prefix="tidelog-") as folder:
            if not arguments.master.startswith("local"):
                spark.sparkContext.addPyFile(str(write_package(Path(folder) / "tidelog.zip")))
            job = Job(spark, settings, disk=disk, clock=SystemClock())
            return job.run(tell=_tell)
    finally:
        spark.stop()
        disk.close()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="tidelog pipeline",
        description="JSON records of topics into partitioned Parquet, run after run, each once",
    )
    add = parser.add_argument
    add("--bootstrap", required=True, metavar="HOST:PORT[,…]", help="brokers to begin with")
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
        help="of the source",
    )
    add("--master", default=LOCAL, help=f"Spark's; {LOCAL} unless told")
    return parser


def _tell(line: str) -> None:
    sys.stderr.write(f"{line}\n")


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is less than 1")
    return number


def _option(text: str) -> str:
    if "=" not in text:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE")
    return text


if __name__ == "__main__":
    main()
