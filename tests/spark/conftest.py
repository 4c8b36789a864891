"""One Spark session, and one cluster, for all modules of Spark's tests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from tests.spark.spark_sessions import SparkSessions


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put modules with a master of their own last: each change of master starts a context."""
    items.sort(key=lambda item: hasattr(getattr(item, "module", None), "MASTER"))


@pytest.fixture(scope="session")
def spark_sessions() -> Iterator[SparkSessions]:
    """Start Java before any client of this process: gRPC's threads disturb the fork."""
    from pyspark.sql.streaming.readwriter import DataStreamWriter
    from tests.spark.patient_starts import patient
    from tests.spark.spark_sessions import SparkSessions

    sessions = SparkSessions()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DataStreamWriter, "start", patient(DataStreamWriter.start))
        yield sessions
    sessions.stop()


@pytest.fixture(scope="module")
def spark(spark_sessions: SparkSessions) -> SparkSession:
    """The session that modules share: whatever a test sets or registers there, it takes back."""
    from tests.spark.spark_sessions import LOCAL

    return spark_sessions.on(LOCAL)
