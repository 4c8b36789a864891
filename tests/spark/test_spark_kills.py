"""kill -9 of Spark's Python workers, of its driver and of a leader: which rows are there after it.

One cluster and one session, with a source that has steps: see `spark_steps`.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.readwriter import DataStreamWriter
from tests.integration.local_cluster import LocalCluster
from tests.spark import killed_stream
from tests.spark.spark_rows import EXACT, account, stored
from tests.spark.spark_sessions import SparkSessions
from tests.spark.spark_steps import READ, Steps, stepped_source

from tidelog.client import Admin, Producer, require_all
from tidelog.client.admin.descriptions import NewTopic
from tidelog.core.system import SystemClock, SystemDisk
from tidelog.spark.commit_markers import MARKERS, Marker
from tidelog.spark.pipeline.job import Job
from tidelog.spark.pipeline.settings import Settings

pytestmark = pytest.mark.spark

Done = TypeVar("Done")

ROWS, TASKS = 12_000, 4
MASTER = f"local[{TASKS},4]"
"""Three tasks can be held and a fourth one runs; a task may fail three times."""
SCHEMA = "id long NOT NULL, padding string"
SMALL_ANSWERS = {"kafka.fetch.max.bytes": "200000"}
"""So that a task reads a partition in several answers."""


@pytest.fixture(scope="module")
def steps(tmp_path_factory: pytest.TempPathFactory) -> Steps:
    return Steps(str(tmp_path_factory.mktemp("steps")))


@pytest.fixture(scope="module")
def spark(spark_sessions: SparkSessions, steps: Steps) -> SparkSession:
    session = spark_sessions.on(MASTER)
    session.dataSource.register(stepped_source(steps))
    return session


class Work:
    """What is done to topics, whatever is killed meanwhile; each ends with all rows handled."""

    def __init__(self, spark: SparkSession, cluster: LocalCluster, folder: Path) -> None:
        self._spark, self._cluster, self._folder = spark, cluster, folder

    def read(self, topic: str) -> list[int]:
        """The ids that a batch read finds."""
        source = self._spark.read.format("tidelog").options(**self._given(topic))
        return [row.id for row in _ids(source.load()).collect()]

    def stream(self, topic: str) -> list[int]:
        """Those that a stream wrote to files."""
        rows = self._folder / topic / "rows"
        writer = _ids(self._streamed(topic)).writeStream.format("parquet").option("path", str(rows))
        self._finish(writer, topic)
        return [row.id for row in self._spark.read.parquet(str(rows)).collect()]

    def copy(self, topic: str, target: str) -> None:
        """Stream one topic into another."""
        writer = self._streamed(topic).select("value").writeStream.format("tidelog")
        writer = writer.option("bootstrap.servers", self._cluster.bootstrap)
        self._finish(writer.option("topic", target), target)

    def write(self, topic: str, **given: str) -> None:
        """The same rows as `filled` sends, in so many tasks."""
        rows = self._spark.range(ROWS, numPartitions=TASKS).selectExpr(
            "to_json(struct(id, repeat('x', 100) AS padding)) AS value"
        )
        writer = rows.write.format("tidelog").mode("append").option("topic", topic)
        writer.options(**given).option("bootstrap.servers", self._cluster.bootstrap).save()

    def run_pipeline(self, topic: str) -> list[int]:
        """The ids in the files of one run."""
        settings = Settings(
            bootstrap=self._cluster.bootstrap,
            topics=[topic],
            schema=SCHEMA,
            output=str(self._folder / f"{topic}-pipeline"),
            options=SMALL_ANSWERS,
        )
        disk = SystemDisk()
        try:
            Job(self._spark, settings, disk=disk, clock=SystemClock()).run(report=lambda _: None)
        finally:
            disk.close()
        table = pq.read_table(f"{settings.output}/records", columns=["id"])
        found: list[int] = table.column("id").to_pylist()
        return found

    def _given(self, topic: str) -> dict[str, str]:
        bootstrap = {"bootstrap.servers": self._cluster.bootstrap}
        return {**bootstrap, "subscribe": topic, "startingOffsets": "earliest", **SMALL_ANSWERS}

    def _streamed(self, topic: str) -> DataFrame:
        return self._spark.readStream.format("tidelog").options(**self._given(topic)).load()

    def _finish(self, writer: DataStreamWriter, name: str) -> None:
        killed_stream.started(
            writer.trigger(availableNow=True), self._folder, name
        ).awaitTermination()


def _ids(frame: DataFrame) -> DataFrame:
    return frame.selectExpr("CAST(get_json_object(CAST(value AS STRING), '$.id') AS long) AS id")


@pytest.fixture
def work(running_cluster: LocalCluster, spark: SparkSession, tmp_path: Path) -> Work:
    return Work(spark, running_cluster, tmp_path)


async def create(cluster: LocalCluster, *topics: NewTopic) -> None:
    async with Admin(cluster.bootstrap) as admin:
        require_all(await admin.create_topics(topics))


async def filled(cluster: LocalCluster, topic: NewTopic, *, partitions: int) -> None:
    """A new topic with the ids below ROWS."""
    await create(cluster, topic)
    values = [json.dumps({"id": n, "padding": "x" * 100}).encode() for n in range(ROWS)]
    async with Producer(cluster.bootstrap) as producer:
        for number in range(partitions):
            await producer.send_many(topic.name, values[number::partitions], partition=number)


async def sent_ids(cluster: LocalCluster, topic: str) -> list[int]:
    return [json.loads(r.value or b"")["id"] for r in await stored(cluster.bootstrap, topic)]


@pytest.mark.turns(2)
async def test_a_leader_killed_under_a_write_a_stream_and_a_pipeline_costs_no_row_and_repeats_none(
    running_cluster: LocalCluster, spark: SparkSession, steps: Steps, work: Work
) -> None:
    target, *sources = (
        NewTopic(name, assignments=[[1, 2, 3]]) for name in ("target", "streamed", "piped")
    )
    await create(running_cluster, target)
    for source in sources:
        await filled(running_cluster, source, partitions=1)
    ways: list[tuple[str, Callable[[], list[int] | None]]] = [
        ("streamed.read-middle", lambda: work.stream("streamed")),
        ("piped.read-middle", lambda: work.run_pipeline("piped")),
        ("target.write-middle", lambda: work.write("target")),
    ]
    at = [step for step, _ in ways]
    steps.hold(*at)
    working = []
    try:
        for _, way in ways:
            working.append(asyncio.create_task(beside(spark, way)))
            await until(lambda: steps.are_held(*at[: len(working)]) or working[-1].done())
        running_cluster.kill(1)
    finally:
        steps.release(*at)
    streamed, piped, _ = await asyncio.gather(*working)
    target_ids = await sent_ids(running_cluster, "target")
    for found in (streamed, piped, target_ids):
        assert found is not None
        assert account(found, range(ROWS)) == EXACT
    assert running_cluster.start().returncode == 0


async def beside(spark: SparkSession, work: Callable[[], Done]) -> Done:
    """Do Spark's work in a thread, of which this has to be the active session."""

    def run() -> Done:
        spark.createDataFrame([], "id long")  # makes it so: else Spark finds no source of Python
        return work()

    return await asyncio.to_thread(run)


async def until(is_so: Callable[[], bool]) -> None:
    """Other processes make it so."""
    while not is_so():  # noqa: ASYNC110
        await asyncio.sleep(0.05)


@pytest.mark.turns(4)
async def test_workers_killed_in_writes_lose_no_row_and_repeat_none(
    running_cluster: LocalCluster, steps: Steps, work: Work
) -> None:
    await filled(running_cluster, NewTopic("copied", 2, 3), partitions=2)
    topics = ("written", "copy", "repeated")
    await create(running_cluster, *(NewTopic(name, 2, 3) for name in topics))
    ways: list[tuple[str, Callable[[], None]]] = [
        ("written", lambda: work.write("written")),
        ("copy", lambda: work.copy("copied", "copy")),
        ("repeated", lambda: work.write("repeated", deliveryGuarantee="at-least-once")),
    ]
    for topic, run in ways:
        at = [f"{topic}.write-middle", f"{topic}.write-end"]
        steps.kill(*at)
        run()
        assert steps.were_killed(*at)
        found = account(await sent_ids(running_cluster, topic), range(ROWS))
        assert (found.missing, found.foreign) == (0, 0)
        if topic == "repeated":
            # One task had all of its rows stored when it died, the other one some or none.
            assert ROWS // TASKS <= found.repeats <= 2 * ROWS // TASKS
        else:
            assert found == EXACT, topic


@pytest.mark.turns(4)
async def test_workers_killed_in_reads_cost_no_row_and_repeat_none(
    running_cluster: LocalCluster, steps: Steps, work: Work
) -> None:
    await filled(running_cluster, NewTopic("read", 2, 3), partitions=2)
    at = [f"read.{step}" for step in READ]
    for way in (work.read, work.stream, work.run_pipeline):
        steps.kill(*at)
        assert account(way("read"), range(ROWS)) == EXACT, way
        assert steps.were_killed(*at), way


@pytest.mark.long
async def test_a_driver_killed_before_or_after_its_marker_writes_each_batch_once(
    running_cluster: LocalCluster, spark: SparkSession, tmp_path: Path
) -> None:
    names = ("first", "later", "before", "after")
    await create(running_cluster, *(NewTopic(name, 2, 3) for name in names))
    await send(running_cluster, "first", range(100))
    await send(running_cluster, "later", range(20_000))
    (tmp_path / "words").mkdir()
    for number in range(3):
        (tmp_path / "words" / f"{number}.txt").write_text("a\nb\n")
    await killed_driver(running_cluster, tmp_path)

    await send(running_cluster, "first", range(100, 200))
    bootstrap = running_cluster.bootstrap
    for name in names:
        killed_stream.resumed(spark, bootstrap, tmp_path, name)
    for name, sent in (("first", range(100, 200)), ("later", range(20_000))):
        rows = spark.read.parquet(str(tmp_path / name / "rows")).collect()
        assert account((row.id for row in rows), sent) == EXACT
    once = dict.fromkeys((f"{word}:{count}" for word in "ab" for count in (1, 2, 3)), 1)
    # The third counts are right only if the skipped batch kept its state.
    assert await words(bootstrap, "after") == once
    assert await words(bootstrap, "before") == once
    markers = defaultdict(list)
    for record in await stored(bootstrap, MARKERS):
        markers[record.key].append(Marker.decode(record.value or b""))
    counting = [kept for kept in markers.values() if kept[0].records == 2]
    assert counting == [[Marker(number, 2) for number in range(3)]] * 2


async def send(cluster: LocalCluster, topic: str, numbers: range) -> None:
    async with Producer(cluster.bootstrap) as producer:
        for partition in (0, 1):
            values = [str(number).encode() for number in numbers[partition::2]]
            await producer.send_many(topic, values, partition=partition)


async def words(bootstrap: str, topic: str) -> Counter[str]:
    return Counter((record.value or b"").decode() for record in await stored(bootstrap, topic))


def started_driver(cluster: LocalCluster, folder: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", killed_stream.__name__, cluster.bootstrap, str(folder)],
        env={**os.environ, "PYSPARK_PYTHON": sys.executable},
        start_new_session=True,
    )


async def killed_driver(cluster: LocalCluster, folder: Path) -> None:
    """Kill driver, JVM and workers of `killed_stream` at once, when all its streams are held."""
    steps = Steps(str(folder))
    job = started_driver(cluster, folder)
    commits = {name: folder / name / "checkpoint" / "commits" for name in ("first", "later")}
    try:
        await until(lambda: (commits["later"] / "1").exists() or job.poll() is not None)
        steps.hold("later.read-middle")
        held = (*killed_stream.HELD, "later.read-middle")
        await until(lambda: steps.are_held(*held) or job.poll() is not None)
        assert job.poll() is None, "the driver ended by itself"
        assert not (commits["first"] / "0").exists()
    finally:
        os.killpg(job.pid, signal.SIGKILL)
        job.wait()
