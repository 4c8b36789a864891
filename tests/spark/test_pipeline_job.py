"""The pipeline on a cluster of processes: each record once, whatever kills a run."""

from __future__ import annotations

import json
import os
import runpy
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from tests.integration.local_cluster import LocalCluster
from tests.spark.spark_cluster import (
    driver_environment,
    executors_with,
    python_without_the_package,
    standalone,
)

from tidelog.client import Admin, Producer, require_all
from tidelog.client.admin.descriptions import NewTopic
from tidelog.core.system import SystemClock, SystemDisk, lock_directory
from tidelog.spark.pipeline.job import Job
from tidelog.spark.pipeline.plan import Limits, PipelineError
from tidelog.spark.pipeline.runs import RUNS
from tidelog.spark.pipeline.settings import Settings
from tidelog.spark.pipeline.summary import summary

pytestmark = pytest.mark.spark

EXAMPLE = Path(__file__).parents[2] / "docs/examples/spark_topics.py"
SCHEMA = "id long NOT NULL, amount double, shop string"
RECORDS = 3_000
DRIVER = """
import sys
sys.path[:0] = {path}
from tidelog.spark.pipeline.__main__ import main
main(sys.argv[1:])
"""
"""As `python -m` does, with this package from a path that no process of Spark inherits."""
BAD = {
    b"": "the value is not JSON",
    b"{": "the value is not JSON",
    b"\xff": "the value is not UTF-8",
    b'{"id": "x"}': "the value does not fit the schema",
    b'{"amount": 1.5}': "a required field is missing: id",
}


def good(number: int) -> bytes:
    return json.dumps({"id": number, "amount": number / 2, "shop": f"s{number % 3}"}).encode()


async def send(cluster: LocalCluster, topic: str, numbers: range) -> None:
    async with Producer(cluster.bootstrap) as producer:
        for partition in (0, 1, 2):
            values = [good(number) for number in numbers if number % 3 == partition]
            await producer.send_many(topic, values, partition=partition)


async def create(cluster: LocalCluster, topic: str) -> None:
    async with Admin(cluster.bootstrap) as admin:
        require_all(await admin.create_topics([NewTopic(topic, 3, 3)]))


class Pipeline:
    """Runs of one topic into one folder: in this process, or in one of its own."""

    def __init__(self, cluster: LocalCluster, topic: str, output: Path) -> None:
        self._cluster = cluster
        self._topic = topic
        self.output = output

    def run(self, spark: SparkSession, **limits: Any) -> dict[str, Any]:
        """The summary of a run in this process."""
        settings = Settings(
            bootstrap=self._cluster.bootstrap,
            topics=[self._topic],
            schema=SCHEMA,
            output=str(self.output),
            partition_by=["shop"],
            limits=Limits(**limits),
        )
        disk = SystemDisk()
        try:
            job = Job(spark, settings, disk=disk, clock=SystemClock())
            outcome = job.run(report=lambda _: None)
        finally:
            disk.close()
        return {"committed": outcome.is_committed, **summary(outcome.run, outcome.partitions)}

    def start(self, *, master: str, env: dict[str, str]) -> subprocess.Popen[str]:
        """A run in a process; `env` is all it gets, and need not lead to this package."""
        return subprocess.Popen(
            [
                *(sys.executable, "-c", DRIVER.format(path=sys.path), "--master", master),
                *("--bootstrap", self._cluster.bootstrap, "--topic", self._topic),
                *("--schema", SCHEMA, "--output", str(self.output)),
                *("--partition-by", "shop"),
            ],
            env=env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def kill_when(self, says: str) -> None:
        """A run that is killed, with all its processes, when it says this."""
        job = self.start(master="local[2]", env={**os.environ, "PYSPARK_PYTHON": sys.executable})
        wait_until_it_says(says, job)
        os.killpg(job.pid, signal.SIGKILL)
        job.communicate()


def wait_until_it_says(text: str, job: subprocess.Popen[str]) -> None:
    assert job.stderr is not None
    assert any(text in line for line in job.stderr), f"it ended without: {text}"


def ids(output: Path) -> list[int]:
    """Of all records that are to be read, repeats included."""
    found: list[int] = pq.read_table(output / "records", columns=["id"]).column("id").to_pylist()
    return sorted(found)


@pytest.fixture
def output(tmp_path: Path) -> Path:
    return tmp_path / "out"


@pytest.mark.turns(3)
async def test_runs_follow_each_other_and_bad_records_are_kept_apart(
    running_cluster: LocalCluster, spark: SparkSession, output: Path
) -> None:
    await create(running_cluster, "sales")
    await send(running_cluster, "sales", range(RECORDS))
    async with Producer(running_cluster.bootstrap) as producer:
        for value in (None, *BAD):
            await producer.send("sales", value=value, key=b"k", partition=1)
    run = partial(Pipeline(running_cluster, "sales", output).run, spark)

    first = run(records_max=2000)
    assert (first["run"], first["committed"], first["read"]) == (1, True, 2000)
    assert first["lag"] == RECORDS + 1 + len(BAD) - 2000
    second = run()
    assert (second["run"], second["lag"], second["repeated"]) == (2, 0, 0)
    assert ids(output) == list(range(RECORDS))
    assert first["quarantined"] + second["quarantined"] == 1 + len(BAD)

    apart = pq.read_table(output / "quarantine").to_pylist()
    reasons = {(row["value"], row["reason"]) for row in apart}
    assert reasons == {*BAD.items(), (None, "the record has no value")}
    assert {row["_partition"] for row in apart} == {1}
    assert {row["key"] for row in apart} == {b"k"}

    third = run()
    assert (third["committed"], third["read"], third["run"]) == (False, 0, 3)
    await send(running_cluster, "sales", range(RECORDS, RECORDS + 10))
    fourth = run()
    assert (fourth["run"], fourth["written"]) == (3, 10)
    assert ids(output) == list(range(RECORDS + 10))


async def test_a_second_job_of_one_output_is_refused(
    running_cluster: LocalCluster, spark: SparkSession, output: Path
) -> None:
    await create(running_cluster, "one-at-a-time")
    pipeline = Pipeline(running_cluster, "one-at-a-time", output)
    (output / RUNS).mkdir(parents=True)
    with (
        lock_directory(str(output / RUNS)),
        pytest.raises(PipelineError, match="another job writes to this output"),
    ):
        pipeline.run(spark)

    assert not pipeline.run(spark)["committed"]


@pytest.mark.turns(3)
def test_the_example_runs_and_clears_up(
    running_cluster: LocalCluster,
    spark: SparkSession,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def topics() -> list[str]:
        """But those of the product."""
        listed = running_cluster.run("topics", "list", "--names").stdout.split()
        return [name for name in listed if not name.startswith("__")]

    before = topics()
    monkeypatch.setattr(sys, "argv", [str(EXAMPLE), running_cluster.bootstrap])
    runpy.run_path(str(EXAMPLE), run_name="__main__")  # in this session, and does not stop it

    assert "1000 of them are copied" in capsys.readouterr().out
    assert topics() == before


@pytest.mark.long
@pytest.mark.parametrize("says", ["records, 0 of them bad", "committed"])
async def test_a_run_that_is_killed_repeats_and_loses_nothing(
    running_cluster: LocalCluster, spark: SparkSession, output: Path, says: str
) -> None:
    topic = f"killed-{says.split(maxsplit=1)[0].strip(',')}"
    await create(running_cluster, topic)
    await send(running_cluster, topic, range(RECORDS))
    pipeline = Pipeline(running_cluster, topic, output)

    pipeline.kill_when(says)
    pipeline.run(spark)

    assert ids(output) == list(range(RECORDS))


@pytest.mark.long
async def test_executors_of_a_cluster_run_without_the_package_and_one_killed_costs_nothing(
    running_cluster: LocalCluster, output: Path, tmp_path: Path
) -> None:
    await create(running_cluster, "shipped")
    await send(running_cluster, "shipped", range(RECORDS))
    python = python_without_the_package(tmp_path / "python")
    pipeline = Pipeline(running_cluster, "shipped", output)

    with standalone(tmp_path, workers=2) as spark:
        job = pipeline.start(master=spark.url, env=driver_environment(python, cores=2))
        wait_until_it_says("records, 0 of them bad", job)
        assert executors_with("tidelog.zip", tmp_path) == 2
        # It keeps half of the records that were read, which are to be written now.
        os.kill(spark.executors()[0], signal.SIGKILL)
        out, err = job.communicate()
    assert job.returncode == 0, err
    said = json.loads(out.splitlines()[-1])
    assert (said["committed"], said["written"], said["lag"]) == (True, RECORDS, 0)
    assert ids(output) == list(range(RECORDS))
