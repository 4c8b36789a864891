"""The pipeline on a cluster of processes: each record once, whatever kills a run."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from local_cluster import LocalCluster
from pyspark.sql import SparkSession
from spark_sessions import local_test_session

from tidelog.client import Admin, Producer
from tidelog.client.descriptions import NewTopic
from tidelog.log.system import SystemClock, SystemDisk, lock_directory
from tidelog.spark.pipeline.job import Job, Outcome, Settings
from tidelog.spark.pipeline.plan import Limits, PipelineError
from tidelog.spark.pipeline.runs import RUNS
from tidelog.spark.pipeline.summary import summary

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]

SCHEMA = "id long NOT NULL, amount double, shop string"
RECORDS = 3_000
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
        await admin.create_topics([NewTopic(topic, 3, 3)])


class Pipeline:
    """Runs of one topic into one folder, each in a process of its own."""

    def __init__(self, cluster: LocalCluster, topic: str, output: Path) -> None:
        self._cluster = cluster
        self._topic = topic
        self.output = output

    def start(self, *options: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [
                *(sys.executable, "-m", "tidelog.spark.pipeline"),
                *("--bootstrap", self._cluster.bootstrap, "--topic", self._topic),
                *("--schema", SCHEMA, "--output", str(self.output)),
                *("--master", "local[2]", "--partition-by", "shop"),
                *options,
            ],
            env={**os.environ, "PYSPARK_PYTHON": sys.executable},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def run(self, *options: str) -> dict[str, Any]:
        """The summary of a run that ends well."""
        done = self.start(*options)
        out, err = done.communicate(timeout=200)
        assert done.returncode == 0, err
        said: dict[str, Any] = json.loads(out.splitlines()[-1])
        return said

    def kill_when(self, says: str) -> None:
        """A run that is killed, with all its processes, when it says this."""
        job = self.start()
        assert job.stderr is not None
        for line in job.stderr:
            if says in line:
                break
        else:
            raise AssertionError(f"it ended without: {says}")
        os.killpg(job.pid, signal.SIGKILL)
        job.communicate()


def ids(output: Path) -> list[int]:
    """Of all records that are to be read, repeats included."""
    found: list[int] = pq.read_table(output / "records", columns=["id"]).column("id").to_pylist()
    return sorted(found)


def run_job(spark: SparkSession, settings: Settings) -> Outcome:
    """A run in this process."""
    disk = SystemDisk()
    try:
        return Job(spark, settings, disk=disk, clock=SystemClock()).run(tell=lambda _: None)
    finally:
        disk.close()


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    yield from local_test_session()


@pytest.fixture
def output(tmp_path: Path) -> Path:
    return tmp_path / "out"


async def test_runs_follow_each_other_and_bad_records_are_kept_apart(
    running_cluster: LocalCluster, spark: SparkSession, output: Path
) -> None:
    await create(running_cluster, "orders")
    await send(running_cluster, "orders", range(RECORDS))
    async with Producer(running_cluster.bootstrap) as producer:
        for value in (None, *BAD):
            await producer.send("orders", value=value, key=b"k", partition=1)

    def run(**limits: Any) -> dict[str, Any]:
        settings = Settings(
            bootstrap=running_cluster.bootstrap,
            topics=["orders"],
            schema=SCHEMA,
            output=str(output),
            partition_by=["shop"],
            limits=Limits(**limits),
        )
        outcome = run_job(spark, settings)
        return {
            "committed": outcome.is_committed,
            **summary(outcome.run, outcome.partitions),
        }

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
    await send(running_cluster, "orders", range(RECORDS, RECORDS + 10))
    fourth = run()
    assert (fourth["run"], fourth["written"]) == (3, 10)
    assert ids(output) == list(range(RECORDS + 10))


async def test_a_second_job_of_one_output_is_refused(
    running_cluster: LocalCluster, spark: SparkSession, output: Path
) -> None:
    await create(running_cluster, "one-at-a-time")
    settings = Settings(
        bootstrap=running_cluster.bootstrap,
        topics=["one-at-a-time"],
        schema=SCHEMA,
        output=str(output),
    )
    (output / RUNS).mkdir(parents=True)
    with (
        lock_directory(str(output / RUNS)),
        pytest.raises(PipelineError, match="another job writes to this output"),
    ):
        run_job(spark, settings)

    assert not run_job(spark, settings).is_committed


@pytest.mark.parametrize("says", ["records, 0 of them bad", "committed"])
async def test_a_run_that_is_killed_repeats_and_loses_nothing(
    running_cluster: LocalCluster, output: Path, says: str
) -> None:
    topic = f"killed-{says.split(maxsplit=1)[0].strip(',')}"
    await create(running_cluster, topic)
    await send(running_cluster, topic, range(RECORDS))
    pipeline = Pipeline(running_cluster, topic, output)

    pipeline.kill_when(says)
    pipeline.run()

    assert ids(output) == list(range(RECORDS))
