"""A run of the pipeline: plan, read, write, commit, report.

Owns the order of the steps; other modules decide each. If the job is killed at any point, the next
run continues after the last committed run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from pyspark.sql import DataFrame, SparkSession
from pyspark.storagelevel import StorageLevel

from tidelog.client.consuming.offset_ranges import OffsetBounds, TopicPartitions
from tidelog.client.consuming.range_reader import RangeReader
from tidelog.client.records import TopicPartition
from tidelog.client.sync import LoopThread
from tidelog.core.env import Clock, Disk
from tidelog.core.errors import StorageError
from tidelog.core.system import lock_directory
from tidelog.spark.pipeline import frames
from tidelog.spark.pipeline.plan import PipelineError, Plan, Span, plan_run
from tidelog.spark.pipeline.runs import RUNS, Run, RunLog
from tidelog.spark.pipeline.settings import Settings
from tidelog.spark.pipeline.summary import Row, rows

Report = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a run, which is not committed when there was nothing to read."""

    run: Run
    is_committed: bool
    partitions: Sequence[Row]


class Job:
    """The runs of one output folder. Errors: `PipelineError`, `StorageError` and Spark's own."""

    def __init__(
        self, spark: SparkSession, settings: Settings, *, disk: Disk, clock: Clock
    ) -> None:
        self._spark = spark
        self._settings = settings
        self._disk = disk
        self._clock = clock
        self._schema = frames.schema_of(settings.schema)
        frames.check_partitioning(list(settings.partition_by), self._schema)

    def run(self, *, report: Report) -> Outcome:
        """Run from the end of the last run to the present offsets; `report` reports each step."""
        log = RunLog(self._disk, self._settings.output)
        self._disk.make_directory(f"{self._settings.output}/{RUNS}")
        with _alone(f"{self._settings.output}/{RUNS}"), LoopThread() as loop:
            loop.run(log.open())
            began_ms = self._clock.monotonic_ms()
            plan = loop.run(self._plan(log))
            run = Run(
                number=log.next_number,
                began_at=datetime.fromtimestamp(self._clock.wall_ms() / 1000, UTC).isoformat(),
                topic_ids={topic: topic_id.hex() for topic, topic_id in plan.topic_ids.items()},
                spans=_by_topic(plan.spans),
                gaps=plan.gaps,
            )
            report(f"run {run.number}: {plan.offsets:,} offsets of {len(plan.spans)} partitions")
            if plan.offsets:
                run = self._write(log, plan, run, report)
                run = replace(run, seconds=(self._clock.monotonic_ms() - began_ms) / 1000)
                loop.run(log.commit(run))
                report(f"run {run.number}: committed")
            ends = loop.run(self._ends(plan))
        return Outcome(run, bool(plan.offsets), rows(run, ends))

    async def _plan(self, log: RunLog) -> Plan:
        async with RangeReader(self._settings.bootstrap) as reader:
            topics = await reader.topics(self._settings.topics)
            if absent := [name for name in self._settings.topics if name not in topics]:
                raise PipelineError(f'topic "{absent[0]}" does not exist')
            bounds = await _bounds(reader, topics)
        return plan_run(log.progress, topics, bounds, self._settings.limits)

    async def _ends(self, plan: Plan) -> dict[TopicPartition, int]:
        async with RangeReader(self._settings.bootstrap) as reader:
            return {tp: held.latest for tp, held in (await reader.bounds([*plan.spans])).items()}

    def _write(self, log: RunLog, plan: Plan, run: Run, report: Report) -> Run:
        options = {**self._settings.options, "bootstrap.servers": self._settings.bootstrap}
        records = frames.read(self._spark, plan.spans, options)
        classified = frames.classify(records, self._schema).persist(StorageLevel.MEMORY_AND_DISK)
        try:
            counted = frames.count(classified)
            written, quarantined = counted.good, sum(counted.bad.values())
            report(f"run {run.number}: {counted.read:,} records, {quarantined:,} of them bad")
            if written:
                self._write_records(classified, log.staging("records"))
            if quarantined:
                frames.bad(classified).write.mode("overwrite").parquet(log.staging("quarantine"))
        finally:
            classified.unpersist()
        return replace(
            run,
            read=counted.read,
            written=written,
            repeated=counted.read - written - quarantined,
            quarantined=counted.bad,
        )

    def _write_records(self, classified: DataFrame, path: str) -> None:
        found, columns = frames.good(classified, self._schema), self._settings.partition_by
        if columns:
            # Otherwise each task would write a file into each folder.
            found = found.repartition(*columns)
        found.write.mode("overwrite").partitionBy(*columns).parquet(path)


async def _bounds(
    reader: RangeReader, topics: Mapping[str, TopicPartitions]
) -> dict[TopicPartition, OffsetBounds]:
    return await reader.bounds(
        [
            TopicPartition(name, number)
            for name, found in topics.items()
            for number in found.partitions
        ]
    )


def _by_topic(spans: Mapping[TopicPartition, Span]) -> dict[str, dict[int, Span]]:
    found: dict[str, dict[int, Span]] = {}
    for tp, span in spans.items():
        found.setdefault(tp.topic, {})[tp.partition] = span
    return found


@contextmanager
def _alone(folder: str) -> Iterator[None]:
    with ExitStack() as stack:
        try:
            stack.enter_context(lock_directory(folder))
        except StorageError as error:
            raise PipelineError(
                "another job writes to this output, or it cannot be locked: wait for that job, or"
                f" make the folder writable ({error})"
            ) from None
        yield
