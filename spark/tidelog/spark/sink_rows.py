"""The conversion of Spark's rows into tables for a TableWriter, one topic at a time.

Pure, and column-wise. `sink_options` has checked the columns and their types before; the writer
checks their contents.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

_RECORD = ("key", "value", "headers", "partition")


class RowError(ValueError):
    """A row cannot be written; the message says which, and what to do."""


def by_topic(rows: pa.RecordBatch, *, topic: str | None) -> Iterator[tuple[str, pa.RecordBatch]]:
    """The rows of each topic with their columns among key, value, headers and partition.

    Rows keep their order within a topic. `topic`, if given, overrides the column of that name.
    Raises RowError for a row without a topic.
    """
    records = rows.select([name for name in rows.schema.names if name in _RECORD])
    if topic is not None:
        yield topic, records
        return
    topics = rows.column("topic")
    if topics.null_count:
        raise RowError(
            f"{topics.null_count} of {rows.num_rows} rows have no topic (null): give each one in "
            "column topic, or name the topic of all rows by option topic"
        )
    yield from _groups(topics.cast(pa.string()), records)


def _groups(topics: pa.Array, records: pa.RecordBatch) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Group by one stable sort, so that the cost does not grow with the number of topics."""
    encoded = topics.dictionary_encode()
    if len(encoded.dictionary) == 1:
        yield encoded.dictionary[0].as_py(), records
        return
    records = records.take(pc.sort_indices(encoded.indices))
    start = 0
    for counted in sorted(pc.value_counts(encoded.indices).to_pylist(), key=lambda c: c["values"]):
        yield encoded.dictionary[counted["values"]].as_py(), records.slice(start, counted["counts"])
        start += counted["counts"]
