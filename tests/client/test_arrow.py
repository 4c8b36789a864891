"""Topics as tables without Spark: what is read, in which order, and what is refused."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest
from tests.client.meddler import Mishap
from tests.client.real_cluster import BOOTSTRAP
from tests.client.threaded_cluster import ThreadedCluster, threaded_cluster

from tidelog.client import errors
from tidelog.client.arrow import SCHEMA, iter_batches, read_table, write_table
from tidelog.client.arrow.table_ranges import Place, resolve
from tidelog.client.arrow.table_reader import READ_AHEAD_RANGES
from tidelog.client.consuming.offset_ranges import OffsetBounds
from tidelog.client.consuming.range_reader import RangeReaderConfig
from tidelog.client.records import TopicPartition
from tidelog.core.errors import InvalidRecordError
from tidelog.records.records import Record, encode_batch
from tidelog.v1 import common_pb2

WITHOUT_HEADERS = [name for name in SCHEMA.names if name != "headers"]


@pytest.fixture
def cluster() -> Iterator[ThreadedCluster]:
    with threaded_cluster() as cluster:
        yield cluster


def fill(cluster: ThreadedCluster, *sizes: int) -> None:
    """A topic "t" of partitions with so many records, each a batch, one second after the other."""
    cluster.create("t", partitions=len(sizes))
    for number, size in enumerate(sizes):
        records = [Record(0, 1000 * at, None, b"%d-%d" % (number, at)) for at in range(size)]
        if records:
            cluster.append("t", number, [encode_batch([record]) for record in records])


def values(cluster: ThreadedCluster, **options: Any) -> list[bytes]:  # options of read_table
    table = read_table("t", bootstrap=BOOTSTRAP, transport=cluster, columns=["value"], **options)
    found: list[bytes] = table["value"].to_pylist()
    return found


def names(*parts: tuple[int, int, int]) -> list[bytes]:
    return [b"%d-%d" % (number, at) for number, start, end in parts for at in range(start, end)]


def test_a_table_is_the_partitions_one_after_the_other_each_in_order(
    cluster: ThreadedCluster,
) -> None:
    sizes = (3, 0, 7, 1, 2, 9, 4)
    fill(cluster, *sizes)
    found = values(cluster)
    assert found == names(*((number, 0, size) for number, size in enumerate(sizes)))


def test_a_topic_without_records_is_a_table_without_rows(cluster: ThreadedCluster) -> None:
    fill(cluster, 0, 0)
    table = read_table("t", bootstrap=BOOTSTRAP, transport=cluster)
    assert (table.num_rows, table.schema.names) == (0, WITHOUT_HEADERS)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"columns": ["offset", "key"]}, ["offset", "key"]),
        ({"columns": ["headers"]}, ["headers"]),
        ({"include_headers": True}, SCHEMA.names),
        ({}, WITHOUT_HEADERS),
    ],
)
def test_columns_are_those_asked_for(
    options: dict[str, Any], expected: list[str], cluster: ThreadedCluster
) -> None:
    fill(cluster, 2)
    table = read_table("t", bootstrap=BOOTSTRAP, transport=cluster, **options)
    assert table.schema == pa.schema([SCHEMA.field(name) for name in expected])
    assert table.num_rows == 2


def at(second: float) -> datetime:
    return datetime.fromtimestamp(second, tz=UTC)


@pytest.mark.parametrize(
    ("start", "end", "parts"),
    [
        ("earliest", "latest", [(0, 0, 5), (1, 0, 3)]),
        ("latest", "latest", []),
        ({0: 2, 1: 3}, "latest", [(0, 2, 5)]),
        ("earliest", {0: 0, 1: 1}, [(1, 0, 1)]),
        (at(1.5), "latest", [(0, 2, 5), (1, 2, 3)]),
        (at(3), "latest", [(0, 3, 5)]),
        ("earliest", at(1), [(0, 0, 1), (1, 0, 1)]),
        (at(1), at(99), [(0, 1, 5), (1, 1, 3)]),
    ],
)
def test_start_is_inclusive_and_end_exclusive(
    start: Place, end: Place, parts: list[tuple[int, int, int]], cluster: ThreadedCluster
) -> None:
    fill(cluster, 5, 3)
    assert values(cluster, start=start, end=end) == names(*parts)


def test_a_record_that_came_after_the_ends_were_asked_for_is_no_start() -> None:
    tp = TopicPartition("t", 0)
    assert resolve("start", at(1), {tp: OffsetBounds(0, 7)}, {tp: 9}) == {tp: 7}


def test_only_the_partitions_asked_for_are_read(cluster: ThreadedCluster) -> None:
    fill(cluster, 2, 2, 2)
    assert values(cluster, partitions=[2, 0, 2]) == names((0, 0, 2), (2, 0, 2))
    asked = {p.partition for request in cluster.requests("Fetch") for p in request.partitions}
    assert asked == {0, 2}


def test_records_of_after_the_start_are_not_read(cluster: ThreadedCluster) -> None:
    fill(cluster, 3)
    batches = iter_batches(
        "t",
        bootstrap=BOOTSTRAP,
        transport=cluster,
        columns=["offset"],
        config=RangeReaderConfig(fetch_max_bytes=1),
    )
    offsets = next(batches)["offset"].to_pylist()
    cluster.append("t", 0, [encode_batch([Record(0, 0, None, b"late")])])
    offsets += [offset for batch in batches for offset in batch["offset"].to_pylist()]
    assert offsets == [0, 1, 2]


def test_little_is_read_ahead_of_a_slow_reader(cluster: ThreadedCluster) -> None:
    fill(cluster, *[10] * 20)
    config = RangeReaderConfig(fetch_max_bytes=1)  # a batch an answer
    batches = iter_batches("t", bootstrap=BOOTSTRAP, transport=cluster, config=config)
    next(batches)
    next(batches)
    batches.close()  # type: ignore[attr-defined]  # a generator
    assert 2 < len(cluster.requests("Fetch")) <= 3 + 2 * READ_AHEAD_RANGES


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"columns": ["value", "ofset"]}, "columns=.*'ofset'.*key, value, topic"),
        ({"columns": "value"}, "columns='value'"),
        ({"columns": ["value", "value"]}, "only once"),
        ({"partitions": [1, 2, 7]}, r"partitions 0 to 1, not \[2, 7\]"),
        ({"start": "first"}, "start='first'.*a datetime or a dict"),
        ({"start": datetime(2026, 1, 1)}, "no time zone"),  # noqa: DTZ001  # that is the point
        ({"end": {0: 1}}, r"end names partitions \[0\], read are \[0, 1\]"),
        ({"end": {0: 6, 1: 0}}, "end: offset 6 of partition 0.*its end, 5"),
        ({"start": {0: -1, 1: 0}}, "start: offset -1 of partition 0"),
        ({"start": {0: 3, 1: 0}, "end": {0: 2, 1: 0}}, "end 2 is before start 3"),
    ],
)
def test_what_fits_no_such_topic_is_refused(
    options: dict[str, Any], complaint: str, cluster: ThreadedCluster
) -> None:
    fill(cluster, 5, 3)
    with pytest.raises(ValueError, match=complaint):
        read_table("t", bootstrap=BOOTSTRAP, transport=cluster, **options)


def test_unknown_columns_are_refused_before_anything_is_read(cluster: ThreadedCluster) -> None:
    fill(cluster, 1)
    with pytest.raises(ValueError, match="columns="):
        iter_batches("t", bootstrap=BOOTSTRAP, transport=cluster, columns=["x"])


def test_a_missing_topic_is_named(cluster: ThreadedCluster) -> None:
    with pytest.raises(errors.KafkaError, match="topic 't' does not exist"):
        read_table("t", bootstrap=BOOTSTRAP, transport=cluster)


def test_records_that_are_gone_are_an_error_unless_told_otherwise(cluster: ThreadedCluster) -> None:
    fill(cluster, 6)
    cluster.delete_before("t", 0, 4)
    with pytest.raises(errors.OffsetOutOfRangeError):
        values(cluster, start={0: 1})
    assert values(cluster, start={0: 1}, fail_on_data_loss=False) == names((0, 4, 6))


@pytest.mark.parametrize("fetch_max_bytes", [1, 1 << 20])
def test_a_corrupt_batch_is_named_by_its_partition_and_offset(
    fetch_max_bytes: int, cluster: ThreadedCluster
) -> None:
    fill(cluster, 2, 6)
    cluster.damage("t", 1, 4)
    with pytest.raises(errors.CorruptMessageError, match="t-1 is corrupt in the batch at offset 4"):
        values(cluster, config=RangeReaderConfig(fetch_max_bytes=fetch_max_bytes))


def test_a_reader_that_stops_early_leaves_no_thread_behind(cluster: ThreadedCluster) -> None:
    fill(cluster, 3, 3)
    before = threading.active_count()
    batches = iter_batches("t", bootstrap=BOOTSTRAP, transport=cluster)
    next(batches)
    assert threading.active_count() == before + 1
    del batches
    assert threading.active_count() == before


def test_a_table_written_is_the_table_read(cluster: ThreadedCluster) -> None:
    cluster.create("t", partitions=3)
    table = pa.table(
        {
            "key": pa.array([b"a", None, b"b", b"a"]),
            "value": pa.array([b"1", b"2", None, b""]),
            "headers": pa.array(
                [[{"key": "n", "value": b"x"}], None, None, None], SCHEMA.field("headers").type
            ),
            "timestamp": pa.array([5, 6, 7, 8], pa.timestamp("ms", "UTC")),
            "partition": pa.array([2, 0, 2, 1], pa.int32()),
        }
    )
    written = write_table(table, "t", bootstrap=BOOTSTRAP, transport=cluster, compression="lz4")
    found = read_table("t", bootstrap=BOOTSTRAP, transport=cluster, columns=table.schema.names)
    assert found.equals(table.take([1, 3, 0, 2]).cast(found.schema))
    assert (written.records, list(written.partitions)) == (
        4,
        [TopicPartition("t", number) for number in range(3)],
    )


def test_batches_are_written_as_they_come(cluster: ThreadedCluster) -> None:
    cluster.create("t")
    batches = (pa.record_batch({"value": pa.array([b"%d" % n])}) for n in range(5))
    written = write_table(batches, "t", bootstrap=BOOTSTRAP, transport=cluster)
    single = pa.record_batch({"value": pa.array([b"last"])})
    write_table(single, "t", bootstrap=BOOTSTRAP, transport=cluster)
    assert written.records == 5
    assert values(cluster) == [b"0", b"1", b"2", b"3", b"4", b"last"]


def test_a_write_that_failed_raises_and_leaves_no_thread_behind(cluster: ThreadedCluster) -> None:
    cluster.create("t")
    cluster.nodes.mishaps.append(Mishap("Produce", code=common_pb2.INVALID_RECORD))
    before = threading.active_count()
    with pytest.raises(InvalidRecordError):
        write_table(
            pa.table({"value": pa.array([b"v"])}), "t", bootstrap=BOOTSTRAP, transport=cluster
        )
    assert threading.active_count() == before


def test_pandas_reads_and_writes_topics(cluster: ThreadedCluster) -> None:
    pandas = pytest.importorskip("pandas")
    cluster.create("t")
    frame = pandas.DataFrame({"key": ["a", "b"], "value": ["x", None]})
    write_table(
        pa.Table.from_pandas(frame, preserve_index=False),
        "t",
        bootstrap=BOOTSTRAP,
        transport=cluster,
    )
    found = read_table("t", bootstrap=BOOTSTRAP, transport=cluster).to_pandas()
    assert found["value"].tolist() == [b"x", None]
    assert found["offset"].tolist() == [0, 1]


def test_polars_reads_topics(cluster: ThreadedCluster) -> None:
    fill(cluster, 2)
    polars = pytest.importorskip("polars")
    table = read_table("t", bootstrap=BOOTSTRAP, transport=cluster, include_headers=True)
    assert polars.from_arrow(table)["value"].to_list() == names((0, 0, 2))


def test_duckdb_queries_topics(cluster: ThreadedCluster) -> None:
    fill(cluster, 4, 2)
    duckdb = pytest.importorskip("duckdb")
    messages = read_table("t", bootstrap=BOOTSTRAP, transport=cluster)
    relation = duckdb.from_arrow(messages).aggregate("partition, count(*)", "partition")
    assert sorted(relation.fetchall()) == [(0, 4), (1, 2)]
