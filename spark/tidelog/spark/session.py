"""A small local Spark session for the jobs and tests of this project; owns its settings."""

from __future__ import annotations

from pyspark.sql import SparkSession

from tidelog.spark.environment import check_session

_SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    "spark.driver.memory": "1g",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "4",
    "spark.sql.warehouse.dir": ".data/spark-warehouse",
    "spark.buffer.size": "524288",  # also between the JVM and its Python workers: fewer writes
}
_LOCAL_SETTINGS = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
}
"""The executors of a cluster must reach the driver from elsewhere."""


def session(name: str, *, master: str) -> SparkSession:
    """A session of this master. Errors: SetupError when Java or a package is missing.

    PYSPARK_PYTHON must name the interpreter of Spark's workers. It needs this package, except on
    the executors of a cluster, to which `pipeline.ship` sends it.
    """
    check_session(is_shipped=not is_local(master))
    builder = SparkSession.builder.appName(name).master(master)
    for key, value in (_SETTINGS | (_LOCAL_SETTINGS if is_local(master) else {})).items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def is_local(master: str) -> bool:
    """True if the driver is the only executor, so that nothing must be sent to others."""
    return master.startswith("local") and not master.startswith("local-cluster")


def local_session(name: str, *, cores: int = 2) -> SparkSession:
    """A `session` on this machine."""
    return session(name, master=f"local[{cores}]")
