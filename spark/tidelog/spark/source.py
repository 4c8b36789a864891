"""The Spark data source "tidelog": Kafka's schema and options, one task per topic partition.

Owns the reader that Spark calls: the driver plans the ranges once, each task reads its own and
yields Arrow batches. What a read covers is decided by `planner`.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from tidelog.client.arrow import decode_batches
from tidelog.client.errors import OffsetOutOfRangeError
from tidelog.client.range_reader import OffsetRange, RangeReader
from tidelog.client.sync import LoopThread
from tidelog.log.system import keep_freed_memory
from tidelog.spark.planner import (
    PlanError,
    ReadOptions,
    parse_options,
    plan_ranges,
    select_partitions,
)

_HEADER = StructType([StructField("key", StringType()), StructField("value", BinaryType())])
SCHEMA = StructType(
    [
        StructField("key", BinaryType()),
        StructField("value", BinaryType()),
        StructField("topic", StringType()),
        StructField("partition", IntegerType()),
        StructField("offset", LongType()),
        StructField("timestamp", TimestampType()),
        StructField("timestampType", IntegerType()),
        StructField("headers", ArrayType(_HEADER)),
    ]
)
"""Kafka's columns; `headers` is there only with includeHeaders."""


class TidelogDataSource(DataSource):
    """`spark.read.format("tidelog")`; options and schema are those of Kafka's connector."""

    @classmethod
    def name(cls) -> str:
        """The name for `format`."""
        return "tidelog"

    def schema(self) -> StructType:
        """Kafka's schema. Raises PlanError for an option that is wrong or unknown."""
        options = parse_options(self.options)
        return StructType([f for f in SCHEMA if f.name != "headers" or options.include_headers])

    def reader(self, schema: StructType) -> DataSourceReader:
        """A reader of the columns of `schema`: any of Kafka's, in any order."""
        known = {field.name: field.dataType for field in SCHEMA}
        for field in schema:
            if known.get(field.name) != field.dataType:
                raise PlanError(
                    f"column {field.name} {field.dataType.simpleString()} is none of "
                    f"{SCHEMA.simpleString()}"
                )
        return BatchReader(parse_options(self.options), columns=schema.names)


@dataclass
class RangePartition(InputPartition):
    """What one task reads."""

    wanted: OffsetRange


class BatchReader(DataSourceReader):
    """Plans on the driver, reads in tasks; Spark pickles it from one to the other."""

    def __init__(self, options: ReadOptions, *, columns: list[str]) -> None:
        self._options = options
        self._columns = columns

    def partitions(self) -> list[InputPartition]:
        """One per topic partition; "latest" is the high watermark of now."""
        with LoopThread() as loop:
            return [RangePartition(wanted) for wanted in loop.run(self._plan())]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The records of one range. Raises when any is gone, unless failOnDataLoss is off."""
        if not isinstance(partition, RangePartition):
            return  # Spark reads once without a partition when there is none
        wanted = partition.wanted
        keep_freed_memory()
        with LoopThread() as loop:
            for data in loop.iterate(self._chunks(wanted)):
                yield decode_batches(
                    data,
                    topic=wanted.topic,
                    partition=wanted.partition,
                    start_offset=wanted.start_offset,
                    end_offset=wanted.end_offset,
                    columns=self._columns,
                )

    async def _plan(self) -> list[OffsetRange]:
        options = self._options
        async with RangeReader(options.bootstrap) as reader:
            if options.subscribe_pattern is None:
                topics = await reader.topics(options.assign or options.subscribe or ())
            else:
                topics = await reader.all_topics()
            partitions = select_partitions(options, topics)
            return plan_ranges(options, topics, await reader.bounds(partitions))

    async def _chunks(self, wanted: OffsetRange) -> AsyncGenerator[bytes, None]:
        fail_on_data_loss = self._options.fail_on_data_loss
        async with (
            RangeReader(self._options.bootstrap) as reader,
            aclosing(reader.chunks(wanted, fail_on_data_loss=fail_on_data_loss)) as chunks,
        ):
            try:
                async for data in chunks:
                    yield data
            except OffsetOutOfRangeError as error:
                raise PlanError(f"{error}; set failOnDataLoss to false to read the rest") from None
