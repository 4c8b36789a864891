"""A driver for tests, to be killed: streams that copy a topic, each held at another moment.

    python -m tests.spark.exactly_once_streams BOOTSTRAP FOLDER

Each copies topic `rows` into the topic of its name, in several batches, exactly once; it is held in
its batch 1 at the moment of its name. FOLDER/<name> has its checkpoint.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql.streaming.readwriter import DataStreamWriter
from tests.spark.patient_starts import GAVE_UP, Query, patient
from tests.spark.spark_steps import Steps, stepped_source

from tidelog.spark.session import session

MOMENTS = {
    "writing": "write-middle",
    "written": "write-end",
    "marked": "marked-1",
    "sent": "sent-1",
    "ended": "ended-1",
    "committed": "committed-1",
}
"""Topic, and the step at which its stream is held: its task's, or its driver's in batch 1."""
OF_TASKS = ("writing", "written")
BATCHES = 4


def copying(
    spark: SparkSession, bootstrap: str, folder: Path, name: str, *, rows: int
) -> DataStreamWriter:
    """The stream into this topic."""
    source = spark.readStream.format("tidelog").option("bootstrap.servers", bootstrap)
    source = source.options(
        subscribe="rows", startingOffsets="earliest", maxOffsetsPerTrigger=str(rows // BATCHES)
    )
    writer = source.load().select("value").writeStream.format("tidelog")
    writer = writer.option("bootstrap.servers", bootstrap).option("topic", name)
    return writer.option("checkpointLocation", str(folder / name))


def main() -> None:
    bootstrap, folder, rows = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
    steps = Steps(str(folder))
    steps.hold(*(f"{name}.{step}" for name, step in MOMENTS.items() if name not in OF_TASKS))
    # A thread for each: one that is held keeps its own.
    spark = session("killed", master="local[8]")
    spark.dataSource.register(stepped_source(steps))
    queries: dict[str, Query] = {}
    while True:
        for name in MOMENTS:
            query = queries.get(name)
            if query is None or not query.isActive:
                check_patiently(query)
                writer = copying(spark, bootstrap, folder, name, rows=rows)
                queries[name] = patient(writer.start)()
        time.sleep(0.2)


def check_patiently(query: Query | None) -> None:
    """Raise why a query ended, unless Spark did not wait for its own Python worker."""
    if query is not None and (error := query.exception()) and GAVE_UP not in str(error):
        raise error


if __name__ == "__main__":
    main()
