"""Rows of many topics become a batch for each, in order and with what a record holds alone."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.spark.sink_rows import RowError, by_topic


def rows(**columns: list[object]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict(columns)


def test_one_topic_for_all_needs_no_column() -> None:
    ((topic, records),) = by_topic(rows(value=["a", "b"], id=[1, 2]), topic="t")
    assert (topic, records.to_pydict()) == ("t", {"value": ["a", "b"]})


def test_the_option_goes_before_the_column() -> None:
    batch = rows(topic=["x", None], value=["a", "b"])
    assert [(t, r.num_rows) for t, r in by_topic(batch, topic="t")] == [("t", 2)]


def test_what_a_record_has_no_place_for_is_left_out() -> None:
    batch = rows(offset=[1], partition=[2], key=["k"], value=["v"], headers=[None], topic=["t"])
    ((_, records),) = by_topic(batch, topic=None)
    assert records.schema.names == ["partition", "key", "value", "headers"]


def test_no_rows_are_no_topics() -> None:
    assert list(by_topic(rows(topic=[], value=[]), topic=None)) == []


def test_a_row_without_a_topic_is_an_error() -> None:
    with pytest.raises(RowError, match=r"1 of 2 rows have no topic \(null\)"):
        list(by_topic(rows(topic=["t", None], value=["a", "b"]), topic=None))


@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=50))
def test_rows_keep_their_order_within_a_topic(topics: list[str]) -> None:
    batch = rows(topic=list(topics), value=list(range(len(topics))))
    split = {t: r.column("value").to_pylist() for t, r in by_topic(batch, topic=None)}
    assert split == {
        topic: [n for n, name in enumerate(topics) if name == topic] for topic in set(topics)
    }
