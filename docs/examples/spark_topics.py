"""Topics in Spark: written from a table, read in SQL, followed by a stream; and read without Spark.

    python docs/examples/spark_topics.py [127.0.0.1:9192]

Needs `tidelog[spark]`, and Java 17 or newer.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from uuid import uuid4

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from tidelog.client.arrow import read_table, write_table
from tidelog.client.results import require_all
from tidelog.client.sync import Admin

ORDERS = 1_000
SHOPS = ("north", "east", "south", "west")


def send_orders(bootstrap: str, topic: str) -> None:
    """Write a JSON record per order, keyed by shop, out of an Arrow table."""
    orders = [{"id": n, "shop": SHOPS[n % 4], "amount": n / 4} for n in range(ORDERS)]
    table = pa.table(
        {
            "key": [order["shop"] for order in orders],
            "value": [json.dumps(order) for order in orders],
        }
    )
    print(f"{write_table(table, topic, bootstrap=bootstrap).records} orders are acknowledged")


def orders_of(spark: SparkSession, bootstrap: str, topic: str) -> DataFrame:
    """The topic as a table with the fields of its JSON."""
    records = (
        spark.read.format("tidelog")
        .option("bootstrap.servers", bootstrap)
        .option("subscribe", topic)
        .load()
    )
    order = f.from_json(f.col("value").cast("string"), "id long, shop string, amount double")
    return records.select("partition", "offset", order.alias("order")).select("*", "order.*")


def copy(spark: SparkSession, bootstrap: str, source: str, target: str) -> None:
    """Copy a topic's records to another topic; with a lasting checkpoint, only the new ones."""
    with tempfile.TemporaryDirectory() as checkpoint:
        (
            spark.readStream.format("tidelog")
            .option("bootstrap.servers", bootstrap)
            .option("subscribe", source)
            .option("startingOffsets", "earliest")
            .load()
            .select("key", "value")
            .writeStream.format("tidelog")
            .option("bootstrap.servers", bootstrap)
            .option("topic", target)
            .option("checkpointLocation", checkpoint)
            .trigger(availableNow=True)
            .start()
            .awaitTermination()
        )


def main(bootstrap: str) -> None:
    """Run every example, on topics that are deleted at the end."""
    # Spark's workers run on this Python, which has the package; without a word on any python3.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    spark = SparkSession.builder.master("local[2]").getOrCreate()
    orders, copies = (f"{name}-{uuid4().hex[:8]}" for name in ("orders", "copies"))
    with Admin(bootstrap) as admin:
        for topic in (orders, copies):
            admin.create_topic(topic, partitions=2, replication_factor=3)
        send_orders(bootstrap, orders)
        orders_of(spark, bootstrap, orders).createOrReplaceTempView("orders")
        totals = spark.sql("SELECT shop, sum(amount) AS total FROM orders GROUP BY shop")
        print(totals.toPandas())
        copy(spark, bootstrap, orders, copies)
        frame = read_table(copies, bootstrap=bootstrap, columns=["key", "value"]).to_pandas()
        assert frame.groupby("key").size().to_dict() == {name.encode(): 250 for name in SHOPS}
        print(f"{len(frame)} of them are copied")
        require_all(admin.delete_topics([orders, copies]))


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "127.0.0.1:9192")
