"""Batch reads for Spark: ranges planned once on the driver, each decoded in a task of its own.

Implements Spark's interface of a batch read. `planner`, `filters` and `range_splits` decide which
ranges it covers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, Filter, InputPartition

from tidelog.client.arrow.columns import decode_range
from tidelog.client.consuming.offset_ranges import OffsetRange
from tidelog.client.consuming.range_reader import RangeReader, RangeReaderConfig
from tidelog.client.errors import CorruptMessageError, OffsetOutOfRangeError, TidelogError
from tidelog.client.records import TopicPartition
from tidelog.client.sync import LoopThread
from tidelog.spark.filters import Pushed, narrow, push, start_at
from tidelog.spark.planner import (
    ReadOptions,
    plan_ranges,
    resolve,
    select_partitions,
    times_to_find,
)
from tidelog.spark.range_splits import split_ranges
from tidelog.spark.worker_clients import READING, ReadingClient


class ReadError(RuntimeError):
    """A task could not read its range; the message names it, and what to do."""


@dataclass
class RangePartition(InputPartition):
    """The range that one task reads."""

    wanted: OffsetRange


class BatchReader(DataSourceReader):
    """A reader that plans on the driver and reads in tasks; Spark pickles it for the tasks."""

    def __init__(self, options: ReadOptions, *, columns: Sequence[str]) -> None:
        self._options = options
        self._columns = columns

    def partitions(self) -> list[InputPartition]:
        """A partition per range that is not empty; "latest" is the present end.

        Raises PlanError when the topics do not allow the read, UnreachableError without a cluster.
        """
        return plan_partitions(self._options, Pushed())

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The records of one range; see `read_range`."""
        if not isinstance(partition, RangePartition):
            return iter(())  # Spark reads once without a partition when there is none
        return read_range(
            partition.wanted,
            bootstrap=self._options.bootstrap,
            config=self._options.client,
            fail_on_data_loss=self._options.fail_on_data_loss,
            columns=self._columns,
        )


class FilteringReader(DataSourceReader):
    """A batch reader that takes the query's filters.

    It is a separate class because Spark refuses a reader with `pushFilters` unless
    spark.sql.python.filterPushdown.enabled is on, which it is not by default.
    """

    def __init__(self, options: ReadOptions, *, columns: Sequence[str]) -> None:
        self._options = options
        self._reader = BatchReader(options, columns=columns)
        self._pushed = Pushed()

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:  # noqa: N802  # Spark's name
        """Push filters down; return those that Spark still has to evaluate."""
        self._pushed, left = push(filters)
        return left

    def partitions(self) -> list[InputPartition]:
        """The partitions of `BatchReader`, without ranges in which no record can pass."""
        return plan_partitions(self._options, self._pushed)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """See `BatchReader`."""
        return self._reader.read(partition)


def plan_partitions(options: ReadOptions, pushed: Pushed) -> list[InputPartition]:
    """Ask the cluster, and return the ranges that the tasks of a batch read."""
    with LoopThread() as loop:
        ranges = loop.run(_plan(options, pushed))
    pieces = split_ranges(
        ranges,
        min_partitions=options.min_partitions,
        max_records=options.max_records_per_partition,
    )
    return [RangePartition(wanted) for wanted in pieces]


def read_range(
    wanted: OffsetRange,
    *,
    bootstrap: str,
    config: RangeReaderConfig,
    fail_on_data_loss: bool,
    columns: Sequence[str],
) -> Iterator[pa.RecordBatch]:
    """Yield the records of a range as `columns` of Kafka's schema, one fetch response at a time.

    Keeps the connection for the next task in this process, unless this one fails. Raises ReadError
    when a batch is corrupt, or when records are gone (skipped without `fail_on_data_loss`), and
    TidelogError when the cluster does not answer.
    """
    key = (bootstrap, config)
    client = READING.get(key, lambda: ReadingClient(bootstrap, config))
    try:
        chunks = client.reader.chunks(wanted, fail_on_data_loss=fail_on_data_loss)
        for data in client.loop.iterate(chunks):
            yield from decode_range(data, wanted, columns=columns)
    except OffsetOutOfRangeError as error:
        raise ReadError(f"{error}; set failOnDataLoss to false to read the rest") from None
    except CorruptMessageError as error:
        READING.drop(key)
        raise ReadError(
            f"{error}. startingOffsets and endingOffsets can exclude it, for a stream with a new "
            "checkpoint; if a disk damaged it, another replica may have a valid copy: elect that "
            "one as leader"
        ) from None
    except TidelogError:
        READING.drop(key)
        raise


async def _plan(options: ReadOptions, pushed: Pushed) -> list[OffsetRange]:
    async with RangeReader(options.bootstrap, config=options.client) as reader:
        selection = options.selection
        if selection.pattern is None:
            topics = await reader.topics(selection.assign or selection.subscribe or ())
        else:
            topics = await reader.all_topics()
        partitions = select_partitions(selection, topics, bootstrap=options.bootstrap)
        # Bounds first: records appended later are not part of this read, whatever their time.
        bounds = await reader.bounds(partitions)
        starts, ends = [
            resolve(edge, bounds, await reader.offsets_for_times(times_to_find(edge, bounds)))
            for edge in (options.starting, options.ending)
        ]
        ranges = narrow(plan_ranges(options, topics, bounds, starts=starts, ends=ends), pushed)
        if pushed.from_ms is not None:
            times = {TopicPartition(r.topic, r.partition): pushed.from_ms for r in ranges}
            ranges = start_at(ranges, await reader.offsets_for_times(times))
        return reader.as_of_now(ranges)
