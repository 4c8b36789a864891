"""The Spark session that test modules share: a process has one JVM, and one context at a time."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from pyspark.sql import SparkSession

from tidelog.spark.session import session

LOCAL = "local[2]"
_JVM = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""No second compiler and no parallel collector: a JVM of some minutes earns neither."""
KAFKA_VARIABLE = "TIDELOG_SPARK_KAFKA_JARS"


def kafka_jars() -> list[Path]:
    """Jars of Spark's own connector for Kafka and of what they need; none if nobody names them."""
    folder = os.environ.get(KAFKA_VARIABLE)
    return sorted(Path(folder).glob("*.jar")) if folder else []


class SparkSessions:
    """Sessions of one master after another; the one of a master is kept until another is asked for.

    A context's first query costs ten times the second: classes, Python workers and their imports.
    """

    def __init__(self) -> None:
        os.environ["PYSPARK_PYTHON"] = sys.executable
        jars = ",".join(map(str, kafka_jars()))
        options = f'--driver-java-options "{_JVM}"' + (f" --jars {jars}" if jars else "")
        os.environ["PYSPARK_SUBMIT_ARGS"] = f"{options} pyspark-shell"
        self._master = LOCAL
        self._session = session("tidelog tests", master=LOCAL)
        del os.environ["PYSPARK_SUBMIT_ARGS"]  # what tests start is as a user's

    def on(self, master: str) -> SparkSession:
        """The session of this master, that of another one being stopped."""
        if master != self._master:
            self.stop()
            self._master, self._session = master, session("tidelog tests", master=master)
        return self._session

    def stop(self) -> None:
        """Stop the context and its workers; the JVM stays until this process ends."""
        self._session.stop()
