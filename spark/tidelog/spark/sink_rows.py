"""Turns rows as Spark hands them over into what a TableWriter takes, one topic at a time.

Pure, and a column at a time. Which columns there are, and their types, was checked before, by
`sink_options`; what is in them is checked by the writer.
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
    """The rows of each topic as columns key, value, headers and partition, where there are.

    Within a topic they keep their order. `topic` is that of all rows, whatever their column says.
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
    """One sort for all topics, so that many of them cost no more than a few; it is stable."""
    encoded = topics.dictionary_encode()
    if len(encoded.dictionary) == 1:
        yield encoded.dictionary[0].as_py(), records
        return
    records = records.take(pc.sort_indices(encoded.indices))
    start = 0
    for counted in sorted(pc.value_counts(encoded.indices).to_pylist(), key=lambda c: c["values"]):
        yield encoded.dictionary[counted["values"]].as_py(), records.slice(start, counted["counts"])
        start += counted["counts"]
