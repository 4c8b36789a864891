"""A stream's sink whose driver is killed at each moment: every row once, no batch in part.

TIDELOG_EXACTLY_ONCE_ROWS and TIDELOG_EXACTLY_ONCE_ROUNDS make a proof of it (docs/PROOFS.md).
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from tests.integration.local_cluster import LocalCluster
from tests.spark import exactly_once_streams
from tests.spark.exactly_once_streams import MOMENTS, OF_TASKS, copying
from tests.spark.spark_rows import EXACT, account, stored
from tests.spark.spark_sessions import SparkSessions
from tests.spark.spark_steps import Steps

from tidelog.client import Admin, Producer, require_all
from tidelog.client.admin.descriptions import NewTopic
from tidelog.spark import TidelogDataSource

pytestmark = [pytest.mark.spark, pytest.mark.long]

ROWS = int(os.environ.get("TIDELOG_EXACTLY_ONCE_ROWS", "8000"))
ROUNDS = int(os.environ.get("TIDELOG_EXACTLY_ONCE_ROUNDS", "1"))


@pytest.fixture
def spark(spark_sessions: SparkSessions) -> SparkSession:
    session = spark_sessions.on("local[4]")
    session.dataSource.register(TidelogDataSource)
    return session


@pytest.mark.parametrize("number", range(ROUNDS))
async def test_a_driver_killed_at_each_moment_has_every_row_there_once(
    running_cluster: LocalCluster, spark: SparkSession, tmp_path: Path, number: int
) -> None:
    bootstrap = running_cluster.bootstrap
    await renewed_topics(bootstrap, *MOMENTS)
    await killed_driver(bootstrap, tmp_path)
    at_rest = {name: len(await stored(bootstrap, name)) for name in MOMENTS}
    batch = ROWS // exactly_once_streams.BATCHES
    assert {count % batch for count in at_rest.values()} == {0}, "a batch is there in part"
    for name in MOMENTS:
        writer = copying(spark, bootstrap, tmp_path, name, rows=ROWS)
        writer.trigger(availableNow=True).start().awaitTermination()
        found = [int(one.value or b"-1") for one in await stored(bootstrap, name)]
        assert account(found, range(ROWS)) == EXACT, (number, name)
    async with Admin(bootstrap) as admin:
        assert await admin.list_transactions(["Ongoing"]) == []


async def renewed_topics(bootstrap: str, *names: str) -> None:
    """Make topic `rows` with all rows in it, and these topics, which are empty."""
    async with Admin(bootstrap) as admin:
        wanted = ("rows", *names)
        existing = [name for name in await admin.list_topics() if name in wanted]
        require_all(await admin.delete_topics(existing))
        require_all(await admin.create_topics([NewTopic(name, 2, 3) for name in wanted]))
    async with Producer(bootstrap) as producer:
        for partition in (0, 1):
            values = [b"%d" % number for number in range(partition, ROWS, 2)]
            await producer.send_many("rows", values, partition=partition)


async def killed_driver(bootstrap: str, folder: Path) -> None:
    """Kill driver, JVM and workers at once, when all streams are held."""
    steps = Steps(str(folder))
    job = started_driver(bootstrap, folder)
    try:
        for name in OF_TASKS:
            await until(job, (folder / name / "commits" / "0").exists)
            steps.hold(f"{name}.{MOMENTS[name]}")
        held = [f"{name}.{step}" for name, step in MOMENTS.items()]
        await until(job, lambda: steps.are_held(*held))
    finally:
        os.killpg(job.pid, signal.SIGKILL)
        job.wait()


def started_driver(bootstrap: str, folder: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", exactly_once_streams.__name__, bootstrap, str(folder), str(ROWS)],
        env={**os.environ, "PYSPARK_PYTHON": sys.executable},
        start_new_session=True,
    )


async def until(job: subprocess.Popen[bytes], is_so: Callable[[], bool]) -> None:
    while not is_so():
        assert job.poll() is None, "the driver ended by itself"
        await asyncio.sleep(0.05)
