"""The writers of the Spark data source "tidelog": they write the rows of a query to topics.

Tasks send their rows and wait until all are acknowledged; the driver learns of it in `commit`. At
least once: a task or a batch that Spark runs again is written again, except a batch of a stream
whose commit marker was stored. `commit_markers` decides about markers, `sink_options` about options
and columns, `sink_rows` about rows.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import (
    DataSourceArrowWriter,
    DataSourceStreamArrowWriter,
    WriterCommitMessage,
)
from pyspark.sql.types import StructType

from tidelog.client.arrow.write_result import WriteResult
from tidelog.client.sync import LoopThread
from tidelog.spark.commit_markers import MARKERS, MarkerError, StreamBatch, is_written_already
from tidelog.spark.compacted_topic import CompactedTopic
from tidelog.spark.option_values import OptionError
from tidelog.spark.sink_clients import WritingClient, writing_client
from tidelog.spark.sink_options import SinkOptions, check_columns
from tidelog.spark.sink_rows import by_topic
from tidelog.spark.task_results import TaskResult, WrittenRange, marker_due, what_stays

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

    def write(self, iterator: Iterator[pa.RecordBatch]) -> TaskResult:
        """Send the rows of one task; return once all are acknowledged."""
        options = self._options
        with writing_client(options) as client:
            return _publish(client, iterator, topic=options.topic, batch=None)

    def abort(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """Log which rows were written nevertheless."""
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
        with writing_client(options) as client:
            last = client.last_before_run(batch) if options.is_replay_skipped else None
            if last is None or not is_written_already(batch, last):
                return _publish(client, iterator, topic=options.topic, batch=batch)
        # Read to the end: operators before this one keep their state only then.
        records = sum(rows.num_rows for rows in iterator)
        return TaskResult(records, (), batch, skipped=last)

    def commit(self, messages: Sequence[WriterCommitMessage | None], batch_id: int) -> None:
        """Store the batch's marker: all of its rows are acknowledged."""
        due = marker_due(_results(messages), batch_id=batch_id)
        if due is None:
            return
        batch, marker = due
        topic = CompactedTopic(MARKERS, self._options.bootstrap)
        with LoopThread() as loop:
            loop.run(topic.put(batch.query_id.encode(), marker.encode()))

    def abort(self, messages: Sequence[WriterCommitMessage | None], batch_id: int) -> None:
        """Log which rows were written nevertheless."""
        _log.warning("batch %d failed: %s", batch_id, what_stays(_results(messages)))


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
    written = client.loop.run(client.writer.flush())
    return TaskResult(written.records, _ranges(written), batch)


def _ranges(written: WriteResult) -> tuple[WrittenRange, ...]:
    return tuple(
        WrittenRange(tp.topic, tp.partition, at.first_offset, at.last_offset)
        for tp, at in sorted(written.partitions.items())
    )


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
