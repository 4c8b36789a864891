"""A stream's sink on executors of a cluster: one is killed, or a task is run twice at a time.

TIDELOG_EXACTLY_ONCE_ROWS and TIDELOG_EXACTLY_ONCE_ROUNDS make a proof of it (docs/PROOFS.md).
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.integration.local_cluster import LocalCluster
from tests.spark import executor_stream
from tests.spark.spark_cluster import Standalone, driver_environment, standalone
from tests.spark.spark_rows import EXACT, account, stored
from tests.spark.spark_steps import Steps
from tests.spark.test_spark_exactly_once import ROUNDS, ROWS, renewed_topics, until

from tidelog.client import Admin

pytestmark = [pytest.mark.spark, pytest.mark.long]

HELD = "copied.write-middle"
SPECULATION = {
    "spark.speculation": "true",
    "spark.speculation.interval": "100ms",
    "spark.speculation.minTaskRuntime": "100ms",
    "spark.speculation.quantile": "0.5",
    "spark.speculation.multiplier": "1.01",
}


def started(
    spark: Standalone, bootstrap: str, folder: Path, settings: dict[str, str]
) -> subprocess.Popen[bytes]:
    arguments = (bootstrap, str(folder), str(ROWS), spark.url)
    return subprocess.Popen(
        [sys.executable, "-m", executor_stream.__name__, *arguments],
        env=driver_environment(sys.executable, cores=2, **settings),
        start_new_session=True,
    )


async def assert_rows_are_there_once(bootstrap: str) -> None:
    found = [int(one.value or b"-1") for one in await stored(bootstrap, "copied")]
    assert account(found, range(ROWS)) == EXACT
    async with Admin(bootstrap) as admin:
        assert await admin.list_transactions(["Ongoing"]) == []


@pytest.mark.parametrize("number", range(ROUNDS))
async def test_an_executor_killed_under_a_task_costs_no_row_and_repeats_none(
    running_cluster: LocalCluster, tmp_path: Path, number: int
) -> None:
    bootstrap, steps = running_cluster.bootstrap, Steps(str(tmp_path))
    await renewed_topics(bootstrap, "copied")
    steps.hold(HELD)
    with standalone(tmp_path / "spark", workers=2) as spark:
        job = started(spark, bootstrap, tmp_path, {})
        try:
            await until(job, lambda: steps.are_held(HELD))
            executor = next(one for one in spark.executors() if one in steps.ancestors(HELD))
            os.kill(executor, signal.SIGKILL)
            assert job.wait() == 0, number
        finally:
            os.killpg(job.pid, signal.SIGKILL)
    await assert_rows_are_there_once(bootstrap)


@pytest.mark.parametrize("number", range(ROUNDS))
async def test_a_task_that_speculation_runs_twice_has_its_rows_there_once(
    running_cluster: LocalCluster, tmp_path: Path, number: int
) -> None:
    """The attempt that is held never ends: without a second one the stream would not."""
    bootstrap, steps = running_cluster.bootstrap, Steps(str(tmp_path))
    await renewed_topics(bootstrap, "copied")
    steps.hold(HELD)
    with standalone(tmp_path / "spark", workers=2) as spark:
        job = started(spark, bootstrap, tmp_path, SPECULATION)
        try:
            assert job.wait() == 0, number
        finally:
            os.killpg(job.pid, signal.SIGKILL)
    assert steps.are_held(HELD)
    await assert_rows_are_there_once(bootstrap)
