"""The writers of the Spark data source "tidelog": they write the rows of a query to topics.

Tasks send their rows and wait until all are acknowledged; the driver learns of it in `commit`.

Exactly once, the default: each task writes in a transaction, and `commit` ends all together, of a
stream with the batch's marker, see `transactional_writes`. At least once: a task or a batch that
Spark runs again is written again, except a batch of a stream whose commit marker was stored.
`commit_markers` decides about markers, `sink_options` about options and columns, `sink_rows` about
rows.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from uuid import uuid4

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import (
    DataSourceArrowWriter,
    DataSourceStreamArrowWriter,
    WriterCommitMessage,
)
from pyspark.sql.types import StructType

from tidelog.client.sync import LoopThread
from tidelog.spark.batch_commits import batch_written, written
from tidelog.spark.commit_markers import MARKERS, MarkerError, StreamBatch, is_written_already
from tidelog.spark.compacted_topic import CompactedTopic
from tidelog.spark.option_values import OptionError
from tidelog.spark.sink_clients import WritingClient, ranges_of, writing_client
from tidelog.spark.sink_options import SinkOptions, check_columns
from tidelog.spark.sink_rows import by_topic
from tidelog.spark.task_results import TaskResult, marker_due, what_stays
from tidelog.spark.transactional_writes import Driver, write_in_transaction

BATCH_ID, QUERY_ID, RUN_ID = "streaming.sql.batchId", "sql.streaming.queryId", "spark.jobGroup.id"
"""Local properties that Spark sets on every task of a streaming query, see decision 0021."""

_log = logging.getLogger(__name__)


class BatchWriter(DataSourceArrowWriter):
    """`df.write.format("tidelog").mode("append")`; created on the driver, pickled to its tasks."""

    def __init__(self, options: SinkOptions, *, schema: StructType, overwrite: bool) -> None:
        _check_schema(schema, options)
        if overwrite:
            raise OptionError(
                'mode "overwrite" has no meaning for a topic, which is append-only: use "append"'
            )
        self._options = options
        self._group = f"write-{uuid4().hex}"

    def write(self, iterator: Iterator[pa.RecordBatch]) -> TaskResult:
        """Send the rows of one task; return once all are acknowledged."""
        options = self._options
        if options.is_exactly_once:
            return write_in_transaction(options, iterator, group=self._group, batch=None)
        with writing_client(options) as client:
            return _publish(client, iterator, topic=options.topic, batch=None)

    def commit(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """Commit what all tasks wrote, together; at least once there is nothing to do."""
        if self._options.is_exactly_once:
            commit = written(_results(messages))
            if commit.transactions:
                driver_of(self._options, self._group).commit(commit)

    def abort(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """Abort all transactions; at least once: log which rows were written nevertheless."""
        if self._options.is_exactly_once:
            driver_of(self._options, self._group).abort()
            return
        _log.warning("the write failed: %s", what_stays(_results(messages)))


class StreamWriter(DataSourceStreamArrowWriter):
    """`df.writeStream.format("tidelog")`; one object per task and per `commit` or `abort`.

    Output mode "complete" appends too: each batch appends its whole table again. Spark refuses mode
    "update" for every Python data source.
    """

    def __init__(self, options: SinkOptions, *, schema: StructType) -> None:
        _check_schema(schema, options)
        self._options = options

    def write(self, iterator: Iterator[pa.RecordBatch]) -> TaskResult:
        """Send the rows of one task unless its batch is recorded; return once acknowledged."""
        batch, options = _stream_batch(), self._options
        if options.is_exactly_once:
            return write_in_transaction(options, iterator, group=batch.query_id, batch=batch)
        with writing_client(options) as client:
            last = client.last_before_run(batch) if options.is_replay_skipped else None
            if last is None or not is_written_already(batch, last):
                return _publish(client, iterator, topic=options.topic, batch=batch)
        # Read to the end: operators before this one keep their state only then.
        records = sum(rows.num_rows for rows in iterator)
        return TaskResult(records, (), batch, skipped=last)

    def commit(self, messages: Sequence[WriterCommitMessage | None], batch_id: int) -> None:
        """Commit the batch with its marker; at least once: store the marker."""
        options = self._options
        if options.is_exactly_once:
            found = batch_written(_results(messages), batch_id=batch_id)
            if found is not None:
                batch, commit = found
                driver = driver_of(options, batch.query_id)
                driver.commit_batch(batch, commit, is_replay_skipped=options.is_replay_skipped)
            return
        due = marker_due(_results(messages), batch_id=batch_id)
        if due is None:
            return
        batch, marker = due
        topic = CompactedTopic(MARKERS, options.bootstrap)
        with LoopThread() as loop:
            loop.run(topic.put(batch.query_id.encode(), marker.encode()))

    def abort(self, messages: Sequence[WriterCommitMessage | None], batch_id: int) -> None:
        """Abort the group that a task names; at least once: log which rows were written."""
        if self._options.is_exactly_once:
            for group in {one.group for one in _results(messages) if one and one.group}:
                driver_of(self._options, group).abort()
            return
        _log.warning("batch %d failed: %s", batch_id, what_stays(_results(messages)))


def driver_of(options: SinkOptions, group: str) -> Driver:
    """The driver's calls for a group."""
    return Driver(options.bootstrap, group)


def _check_schema(schema: StructType, options: SinkOptions) -> None:
    columns = {field.name: field.dataType.simpleString() for field in schema}
    check_columns(columns, topic=options.topic)


def _publish(
    client: WritingClient,
    rows: Iterable[pa.RecordBatch],
    *,
    topic: str | None,
    batch: StreamBatch | None,
) -> TaskResult:
    """Send all rows and wait until they are acknowledged. Raises the first error."""
    for several in rows:
        for name, records in by_topic(several, topic=topic):
            client.loop.run(client.writer.write(name, records))
    sent = client.loop.run(client.writer.flush())
    return TaskResult(sent.records, ranges_of(sent), batch)


def _stream_batch() -> StreamBatch:
    """The batch that the running task belongs to."""
    context = TaskContext.get()
    batch_id, query_id, run_id = (
        None if context is None else context.getLocalProperty(name)
        for name in (BATCH_ID, QUERY_ID, RUN_ID)
    )
    if batch_id is None or query_id is None or run_id is None:
        raise MarkerError(
            f"Spark does not tell this task its batch: it needs {BATCH_ID}, {QUERY_ID} and {RUN_ID}"
            ", all of which PySpark 4.3 sets"
        )
    return StreamBatch(query_id, run_id, int(batch_id))


def _results(messages: Sequence[WriterCommitMessage | None]) -> list[TaskResult | None]:
    return [message if isinstance(message, TaskResult) else None for message in messages]
