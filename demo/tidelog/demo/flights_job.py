"""The demo's Spark batch job: flights per carrier and month from a topic of JSON records.

    PYSPARK_PYTHON=.venv/bin/python .venv/bin/python -m tidelog.demo.flights_job \
        --bootstrap 127.0.0.1:9192 --topic flights --output .data/demo

Reads the topic once, drops repeats by row number and writes two Parquet folders to the output:
`summary` and `rows`, the row numbers read. Its last line on stdout is one JSON object: `read`,
`distinct`, `seconds`. `tidelog demo` compares these with the records sent.
"""

from __future__ import annotations

import argparse
import json
import sys

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from tidelog.core.system import SystemClock
from tidelog.spark.session import local_session

FLIGHT = "row long, carrier string, month int, dep_time double, dep_delay double"
"""The fields of a record that the job uses."""


def read_flights(spark: SparkSession, *, bootstrap: str, topic: str) -> DataFrame:
    """Every record of the topic, repeats included."""
    records = (
        spark.read.format("tidelog")
        .option("bootstrap.servers", bootstrap)
        .option("subscribe", topic)
        .load()
    )
    parsed = f.from_json(f.col("value").cast("string"), FLIGHT)
    return records.select(parsed.alias("flight")).select("flight.*")


def summarise(flights: DataFrame) -> DataFrame:
    """Flights, mean departure delay in minutes and cancelled share per carrier and month."""
    return (
        flights.groupBy("carrier", "month")
        .agg(
            f.count("*").alias("flights"),
            f.avg("dep_delay").alias("mean_dep_delay"),
            f.avg(f.col("dep_time").isNull().cast("double")).alias("cancelled_share"),
        )
        .orderBy("carrier", "month")
    )


def run(spark: SparkSession, *, bootstrap: str, topic: str, output: str) -> dict[str, float]:
    """Write `summary` and `rows` below `output`; returns `read`, `distinct` and `seconds`."""
    clock = SystemClock()
    started_ms = clock.monotonic_ms()
    flights = read_flights(spark, bootstrap=bootstrap, topic=topic).persist()
    distinct = flights.dropDuplicates(["row"]).persist()
    summarise(distinct).coalesce(1).write.mode("overwrite").parquet(f"{output}/summary")
    distinct.select("row").coalesce(1).write.mode("overwrite").parquet(f"{output}/rows")
    return {
        "read": flights.count(),
        "distinct": distinct.count(),
        "seconds": (clock.monotonic_ms() - started_ms) / 1000,
    }


def main() -> None:
    """Run the job with the arguments of the command line."""
    parser = argparse.ArgumentParser(description="Flights per carrier and month from a topic.")
    for option in ("--bootstrap", "--topic", "--output"):
        parser.add_argument(option, required=True)
    arguments = parser.parse_args()
    spark = local_session("tidelog flights")
    try:
        result = run(
            spark,
            bootstrap=arguments.bootstrap,
            topic=arguments.topic,
            output=arguments.output,
        )
    finally:
        spark.stop()
    sys.stdout.write(json.dumps(result) + "\n")


if __name__ == "__main__":
    main()
