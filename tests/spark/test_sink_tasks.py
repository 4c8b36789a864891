"""Tasks of a write at least once, without Spark: on real brokers, with the batch of each."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa
import pytest
from pyspark import TaskContext
from pyspark.sql.types import StructType
from tests.client.real_cluster import BOOTSTRAP
from tests.client.threaded_cluster import ThreadedCluster, threaded_cluster

from tidelog.spark import sink
from tidelog.spark.commit_markers import Marker, MarkerError, StreamBatch
from tidelog.spark.compacted_topic import CompactedTopic
from tidelog.spark.option_values import OptionError
from tidelog.spark.sink import BATCH_ID, QUERY_ID, RUN_ID, BatchWriter, StreamWriter
from tidelog.spark.sink_clients import (
    Connections,
    WritingClient,
    task_connections,
    writing_client,
)
from tidelog.spark.sink_options import SinkOptions, parse_sink_options
from tidelog.spark.sink_rows import RowError
from tidelog.spark.task_results import TaskResult, WrittenRange
from tidelog.spark.worker_clients import WorkerClients

SCHEMA = StructType().add("topic", "string").add("value", "string")
ROWS = [
    pa.RecordBatch.from_pydict({"topic": ["a", "b", "a"], "value": ["1", "2", "3"]}),
    pa.RecordBatch.from_pydict({"topic": ["b"], "value": ["4"]}),
]
BATCH = StreamBatch("q", "run", 7)


class CountedTopic(CompactedTopic):
    """Counts how often it was asked."""

    asked = 0

    async def last(self, key: bytes) -> bytes | None:
        self.asked += 1
        return await super().last(key)


class Ground:
    """A cluster, and the only client that tasks get."""

    def __init__(self, cluster: ThreadedCluster) -> None:
        self.cluster = cluster
        self.client = WritingClient(BOOTSTRAP, {"transport": self.cluster})
        self.markers = CountedTopic("markers", BOOTSTRAP, transport=self.cluster)
        self.client._markers = self.markers

    def record(self, marker: Marker) -> None:
        self.client.loop.run(self.markers.put(BATCH.query_id.encode(), marker.encode()))

    def values(self, topic: str) -> list[bytes | None]:
        (values,) = self.cluster.values(topic)
        return values


@pytest.fixture
def ground(monkeypatch: pytest.MonkeyPatch) -> Iterator[Ground]:
    @contextmanager
    def only_client(options: SinkOptions) -> Iterator[WritingClient]:
        yield found.client

    monkeypatch.setattr(sink, "writing_client", only_client)
    in_a_task(BATCH)
    with threaded_cluster() as cluster:
        found = Ground(cluster)
        yield found
        found.client.close()
    TaskContext._setTaskContext(None)


def in_a_task(batch: StreamBatch | None) -> None:
    properties = {}
    if batch is not None:
        properties = {
            QUERY_ID: batch.query_id,
            RUN_ID: batch.run_id,
            BATCH_ID: str(batch.batch_id),
        }
    TaskContext._setTaskContext(None)
    TaskContext(localProperties=properties)


def options(**given: str) -> SinkOptions:
    known = {"bootstrap.servers": BOOTSTRAP, "deliveryGuarantee": "at-least-once"}
    return parse_sink_options({**known, **given})


def test_a_task_sends_each_row_to_its_topic(ground: Ground) -> None:
    writer = BatchWriter(options(), schema=SCHEMA, overwrite=False)
    assert writer.write(iter(ROWS)) == TaskResult(
        4, (WrittenRange("a", 0, 0, 1), WrittenRange("b", 0, 0, 1))
    )
    assert (ground.values("a"), ground.values("b")) == ([b"1", b"3"], [b"2", b"4"])


@pytest.mark.parametrize("last", [None, Marker(6, 4)])
def test_a_new_batch_is_written(ground: Ground, last: Marker | None) -> None:
    if last is not None:
        ground.record(last)
    result = StreamWriter(options(), schema=SCHEMA).write(iter(ROWS))
    assert (result.records, result.batch, result.skipped) == (4, BATCH, None)
    assert ground.values("b") == [b"2", b"4"]


def test_a_recorded_batch_is_read_to_its_end_and_not_written(ground: Ground) -> None:
    ground.record(Marker(7, 4))
    rows = iter(ROWS)
    result = StreamWriter(options(), schema=SCHEMA).write(rows)
    assert result == TaskResult(4, (), BATCH, skipped=Marker(7, 4))
    assert next(rows, None) is None
    assert set(ground.cluster.nodes.topics) == {"markers"}


def test_a_recorded_batch_is_written_again_when_the_user_says_so(ground: Ground) -> None:
    ground.record(Marker(9, 4))
    result = StreamWriter(options(recordedBatches="write"), schema=SCHEMA).write(iter(ROWS))
    assert result.skipped is None
    assert ground.values("b") == [b"2", b"4"]
    assert ground.markers.asked == 0


def test_markers_are_read_once_in_a_run_of_a_query(ground: Ground) -> None:
    writer = StreamWriter(options(), schema=SCHEMA)
    ground.record(Marker(7, 4))
    assert writer.write(iter(ROWS)).skipped
    in_a_task(BATCH._replace(batch_id=8))
    assert writer.write(iter(ROWS)).skipped is None
    assert ground.markers.asked == 1
    in_a_task(BATCH._replace(run_id="another"))
    assert writer.write(iter(ROWS)).skipped
    assert ground.markers.asked == 2


def test_a_task_that_is_not_told_its_batch_fails(ground: Ground) -> None:
    in_a_task(None)
    with pytest.raises(
        MarkerError, match=r"does not tell this task its batch: it needs streaming\.sql"
    ):
        StreamWriter(options(), schema=SCHEMA).write(iter(ROWS))


def test_a_topic_cannot_be_overwritten_but_a_stream_may_be_complete() -> None:
    with pytest.raises(OptionError, match='mode "overwrite" has no meaning for a topic'):
        BatchWriter(options(), schema=SCHEMA, overwrite=True)


def test_columns_are_checked_on_the_driver() -> None:
    without_value = StructType().add("topic", "string")
    with pytest.raises(OptionError, match='no column "value"'):
        BatchWriter(options(), schema=without_value, overwrite=False)
    with pytest.raises(OptionError, match='no column "value"'):
        StreamWriter(options(), schema=without_value)


def test_a_process_keeps_its_client_until_a_task_fails() -> None:
    kept: WorkerClients[WritingClient] = WorkerClients()
    with writing_client(options(), kept=kept) as first:
        pass
    with pytest.raises(RowError), writing_client(options(), kept=kept) as second:
        raise RowError
    with writing_client(options(), kept=kept) as third:
        assert (second, third) == (first, third)
        assert not first.is_usable
        assert third.is_usable
    with writing_client(options(**{"kafka.compression.type": "lz4"}), kept=kept) as other:
        assert other is not third
    for client in (third, other):
        client.close()


def test_a_process_keeps_its_connections_until_a_task_fails() -> None:
    kept: WorkerClients[Connections] = WorkerClients()
    with task_connections(options(), kept=kept) as first:
        pass
    compressed = options(**{"kafka.compression.type": "lz4"})
    with pytest.raises(RowError), task_connections(compressed, kept=kept) as second:
        raise RowError
    with task_connections(options(), kept=kept) as third:
        assert (second, third) == (first, third)
        assert not first.is_usable
        assert third.is_usable
    with task_connections(options(**{"kafka.client.id": "other"}), kept=kept) as other:
        assert other is not third
    for connections in (third, other):
        connections.close()


def test_an_abort_says_what_stays(caplog: pytest.LogCaptureFixture) -> None:
    result = TaskResult(2, (WrittenRange("a", 0, 5, 6),))
    BatchWriter(options(), schema=SCHEMA, overwrite=False).abort([None, result])
    StreamWriter(options(), schema=SCHEMA).abort([None], 7)
    assert "the write failed: 2 records" in caplog.messages[0]
    assert "(a-0 5 to 6)" in caplog.messages[0]
    assert caplog.messages[1].startswith("batch 7 failed: 0 records")
