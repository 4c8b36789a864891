"""A small local Spark session for the jobs and tests of this project; owns its settings."""

from __future__ import annotations

from pyspark.sql import SparkSession

from tidelog.spark.environment import check_session

_SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "1g",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "4",
    "spark.sql.warehouse.dir": ".data/spark-warehouse",
}


def session(name: str, *, master: str) -> SparkSession:
    """A session of this master; raises SetupError where Java or a package is missing.

    PYSPARK_PYTHON must name the interpreter that has this package: Spark's workers run on it.
    """
    check_session()
    builder = SparkSession.builder.appName(name).master(master)
    for key, value in _SETTINGS.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def local_session(name: str, *, cores: int = 2) -> SparkSession:
    """As `session`, on this machine."""
    return session(name, master=f"local[{cores}]")
