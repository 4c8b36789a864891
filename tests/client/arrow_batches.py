"""Tables for tests of everything that turns Arrow columns into records, and records as rows."""

from __future__ import annotations

from typing import NamedTuple

import pyarrow as pa
from hypothesis import strategies as st

from tidelog.client.arrow.columns import HEADER_TYPE

TYPES = {
    "key": pa.binary(),
    "value": pa.binary(),
    "headers": pa.list_(HEADER_TYPE),
    "partition": pa.int32(),
    "timestamp": pa.timestamp("ms", tz="UTC"),
}


class Row(NamedTuple):
    """One record as a test says it."""

    value: bytes | None
    key: bytes | None = None
    headers: tuple[tuple[str, bytes | None], ...] | None = None
    partition: int | None = None
    timestamp: int | None = None


contents = st.none() | st.binary(max_size=300)
headers = st.none() | st.lists(st.tuples(st.text(max_size=4), contents), max_size=3).map(tuple)
timestamps = st.integers(0, 2**41) | st.integers(0, 2**50)
rows = st.builds(
    Row,
    value=contents,
    key=contents,
    headers=headers,
    partition=st.none() | st.integers(0, 4),
    timestamp=timestamps,
)


def batch_of(given: list[Row], *columns: str) -> pa.RecordBatch:
    """The rows as a batch of these columns, of all if none is named."""
    lists = {
        "key": [row.key for row in given],
        "value": [row.value for row in given],
        "headers": [
            row.headers and [{"key": name, "value": value} for name, value in row.headers]
            for row in given
        ],
        "partition": [row.partition for row in given],
        "timestamp": [row.timestamp for row in given],
    }
    names = columns or tuple(TYPES)
    return pa.record_batch({name: pa.array(lists[name], TYPES[name]) for name in names})
