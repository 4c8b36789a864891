"""Streaming reads for Spark: the interface that Spark calls on its driver and in its tasks.

Owns the event loop of the stream's driver, for the life of the query's process; decides nothing.
Offsets are those of `stream_offsets`, which Spark stores in its checkpoint.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NoReturn

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxBytes,
    ReadMaxRows,
    ReadMinRows,
    SupportsTriggerAvailableNow,
)

from tidelog.client.sync import LoopThread
from tidelog.spark.batch_reader import RangePartition, read_range
from tidelog.spark.option_values import OptionError
from tidelog.spark.stream_driver import StreamDriver
from tidelog.spark.stream_offsets import StreamJson, from_json, to_json
from tidelog.spark.stream_options import StreamOptions


class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """A stream of the given columns; Spark pickles an unused reader for its tasks.

    A failing method ends the query with an error that says what to do: PlanError, DataLossError, or
    TidelogError when the cluster does not answer in time.
    """

    def __init__(self, options: StreamOptions, *, columns: Sequence[str]) -> None:
        self._options = options
        self._columns = columns
        self._running: _Driver | None = None

    def initialOffset(self) -> StreamJson:  # noqa: N802  # Spark's names, here and below
        """The start of the query. Spark asks again until the first batch is committed."""
        driver = self._driver()
        return to_json(driver.run(driver.stream.initial()))

    def latestOffset(self, start: StreamJson, limit: ReadLimit) -> StreamJson:  # noqa: N802
        """The end of the next micro-batch; `start` when there are no or not enough records.

        An idle query asks continuously; each call waits, so that about ten return per second.
        """
        driver, is_limited = self._driver(), not isinstance(limit, ReadAllAvailable)
        return to_json(driver.run(driver.stream.advance(from_json(start), is_limited=is_limited)))

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """A limit of the options: Spark knows no combination, `latestOffset` applies them all."""
        limits = self._options.limits
        if limits.offsets_max is not None:
            return ReadMaxRows(limits.offsets_max)
        if limits.bytes_max is not None:
            return ReadMaxBytes(limits.bytes_max)
        if limits.offsets_min is not None:
            return ReadMinRows(limits.offsets_min)
        return ReadAllAvailable()

    def reportLatestOffset(self) -> StreamJson | None:  # noqa: N802
        """The latest offsets seen last, from which `stream_offsets.lag` computes the lag."""
        newest = self._driver().stream.newest
        return None if newest is None else to_json(newest)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """Leave records that arrive from now on to the next run."""
        driver = self._driver()
        driver.run(driver.stream.aim())

    def partitions(self, start: StreamJson, end: StreamJson) -> Sequence[InputPartition]:
        """The partitions that the tasks of a micro-batch read; none for an empty batch."""
        driver = self._driver()
        ranges = driver.run(driver.stream.plan(from_json(start), from_json(end)))
        return [RangePartition(wanted) for wanted in ranges]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The records of one range; see `batch_reader.read_range`."""
        if not isinstance(partition, RangePartition):
            return iter(())
        return read_range(
            partition.wanted,
            bootstrap=self._options.bootstrap,
            config=self._options.client,
            fail_on_data_loss=self._options.fail_on_data_loss,
            columns=self._columns,
        )

    def stop(self) -> None:
        """Release the connections."""
        if self._running is not None:
            self._running.close()
            self._running = None

    def _driver(self) -> _Driver:
        """The driver, created on first use: this object is pickled, and processes fork."""
        if self._running is None:
            self._running = _Driver(self._options)
        return self._running


class RefusedStreamReader(DataSourceStreamReader):
    """A reader of a stream whose options are wrong: each call raises their OptionError."""

    def __init__(self, refusal: OptionError) -> None:
        self._refusal = refusal

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise self._refusal

    initialOffset = latestOffset = getDefaultReadLimit = partitions = read = _refuse  # noqa: N815


class _Driver:
    """The stream's driver and its event loop."""

    def __init__(self, options: StreamOptions) -> None:
        self._loop = LoopThread()
        self._loop.start()
        self.stream = self._loop.run(_make(options))
        self.run = self._loop.run

    def close(self) -> None:
        """Close the driver and the loop."""
        try:
            self._loop.run(self.stream.close())
        finally:
            self._loop.close()


async def _make(options: StreamOptions) -> StreamDriver:
    return StreamDriver(options)
