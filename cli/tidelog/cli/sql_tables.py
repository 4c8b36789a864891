"""Topics as tables of a query: offsets fixed when it begins, records read while it runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa

from tidelog.cli.start_offset import StartOffset
from tidelog.client.arrow import SCHEMA, iter_batches
from tidelog.client.arrow.table_ranges import chosen_partitions
from tidelog.client.consuming.offset_ranges import OffsetBounds, TopicPartitions
from tidelog.client.consuming.range_reader import RangeReader
from tidelog.client.errors import UnknownTopicOrPartitionError
from tidelog.client.offsets import OffsetQuery
from tidelog.client.records import TopicPartition


class TopicTable:
    """The records of a topic between fixed offsets, which may be scanned several times.

    Implements Arrow's PyCapsule interface; every stream reads the topic from its start.
    """

    def __init__(
        self, topic: str, bootstrap: str, starts: Mapping[int, int], ends: Mapping[int, int]
    ) -> None:
        self._topic = topic
        self._bootstrap = bootstrap
        self._starts = starts
        self._ends = ends
        self.error: BaseException | None = None
        """The reason why a scan failed, of which Arrow's stream only passes a text on."""

    def __arrow_c_schema__(self) -> object:
        """Export the columns."""
        return SCHEMA.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Export a stream of the records; `requested_schema` is ignored, as Arrow allows."""
        batches = pa.RecordBatchReader.from_batches(SCHEMA, self._batches())
        return batches.__arrow_c_stream__()

    def _batches(self) -> Iterator[pa.RecordBatch]:
        try:
            yield from iter_batches(
                self._topic,
                bootstrap=self._bootstrap,
                partitions=list(self._starts),
                start=self._starts,
                end=self._ends,
                columns=SCHEMA.names,
            )
        except GeneratorExit:
            raise
        except BaseException as error:
            self.error = error
            raise


async def topic_tables(
    bootstrap: str, names: Sequence[str], partitions: Sequence[int] | None, start: StartOffset
) -> dict[str, TopicTable]:
    """The tables of these topics, from `start` to the present end of each partition.

    Errors: UnknownTopicOrPartitionError, UnreachableError; ValueError for a partition that a topic
    does not have.
    """
    async with RangeReader(bootstrap) as reader:
        found = await reader.topics(names)
        if missing := [name for name in names if name not in found]:
            raise UnknownTopicOrPartitionError(
                f"topic {missing[0]!r} does not exist: create it first or check its name"
            )
        return {
            name: await _table(reader, bootstrap, name, found[name], partitions, start)
            for name in names
        }


async def _table(
    reader: RangeReader,
    bootstrap: str,
    name: str,
    found: TopicPartitions,
    partitions: Sequence[int] | None,
    start: StartOffset,
) -> TopicTable:
    bounds = await reader.bounds(chosen_partitions(name, found, partitions))
    times: dict[TopicPartition, int | None] = {}
    if start.time is not None:
        time_ms = OffsetQuery.of(start.time).timestamp_ms
        times = await reader.offsets_for_times(dict.fromkeys(bounds, time_ms))
    return TopicTable(
        name,
        bootstrap,
        {tp.partition: _start(start, held, times.get(tp)) for tp, held in bounds.items()},
        {tp.partition: held.latest for tp, held in bounds.items()},
    )


def _start(start: StartOffset, held: OffsetBounds, at_time: int | None) -> int:
    """The first offset to read of a partition, within those that it holds."""
    wanted = held.latest if start.reset == "latest" else held.earliest
    if start.time is not None:
        wanted = held.latest if at_time is None else at_time
    elif start.before_end is not None:
        wanted = held.latest - start.before_end
    elif start.offset is not None:
        wanted = start.offset
    return max(held.earliest, min(wanted, held.latest))
