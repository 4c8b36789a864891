"""A Spark session for the tests of a module."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

from pyspark.sql import SparkSession

from tidelog.spark.session import session


def local_test_session(
    *, master: str = "local[2]", settings: dict[str, str] | None = None
) -> Iterator[SparkSession]:
    """A session that is stopped afterwards, so that the next module's has settings of its own."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    spark = session("tidelog tests", master=master)
    for name, value in (settings or {}).items():
        spark.conf.set(name, value)
    yield spark
    spark.stop()
