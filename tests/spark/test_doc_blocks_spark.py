"""Blocks of README and docs/SPARK.md run in the session of Spark's tests, as they stand there."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import SparkSession
from tests.doc_blocks import IN_SPARK, block
from tests.integration.local_cluster import LocalCluster

from tidelog.client.arrow import read_table

pytestmark = pytest.mark.spark


def at(cluster: LocalCluster, text: str) -> str:
    """The text with this cluster's addresses."""
    for written, address in zip((9192, 9193, 9194), cluster.addresses, strict=True):
        text = text.replace(f"127.0.0.1:{written}", address)
    return text


def run(cluster: LocalCluster, page: str, first_line: str, **names: Any) -> dict[str, Any]:
    """Run a block; the names it has at the end."""
    assert (page, first_line) in IN_SPARK
    exec(compile(at(cluster, block(page, first_line).text), page, "exec"), names)
    return names


def test_the_blocks_of_spark_run(
    running_cluster: LocalCluster, spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        for topic, line in (("greetings", "hello\n"), ("orders", "an order\n")):
            # Other tests leave topics of these names in the cluster that all share.
            running_cluster.run("topics", "delete", topic)
            assert running_cluster.run("produce", topic, stdin=line).returncode == 0
        run(running_cluster, "README.md", "import os, sys")
        assert "hello" in capsys.readouterr().out

        found = run(running_cluster, "docs/SPARK.md", "orders = (", spark=spark)
        frame = found["orders"]
        assert [bytes(row.value) for row in frame.collect()] == [b"an order"]
        spark.sql(at(running_cluster, view()))
        assert spark.sql("SELECT count(*) FROM orders").first() == (1,)
        found = run(running_cluster, "docs/SPARK.md", "stream = (", spark=spark)
        assert found["stream"].isStreaming
        run(running_cluster, "docs/SPARK.md", "(", frame=frame)
        table = read_table("orders", bootstrap=running_cluster.bootstrap)
        assert table["value"].to_pylist() == [b"an order"] * 2
    finally:
        spark.catalog.dropTempView("orders")
        running_cluster.run("topics", "delete", "greetings", "orders")


def view() -> str:
    """The statement of the page, without the end that only a shell needs."""
    return block("docs/SPARK.md", "CREATE TEMPORARY VIEW").text.rstrip().removesuffix(";")
