"""Writes in transactions, without Spark: tasks and drivers on real brokers, which die anywhere."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager

import pyarrow as pa
import pytest
from pyspark import TaskContext
from pyspark.sql.types import StructType
from tests.client.real_cluster import BOOTSTRAP
from tests.client.threaded_cluster import ThreadedCluster, threaded_cluster

from tidelog.client import Producer, errors
from tidelog.client.admin import Admin
from tidelog.client.connections import ConnectionConfig
from tidelog.client.consuming.range_reader import RangeReader
from tidelog.client.producing.transaction_state import TransactionMember
from tidelog.client.sync import LoopThread
from tidelog.net.transport import Transport
from tidelog.spark import sink, transactional_writes
from tidelog.spark.commit_markers import MARKERS, Marker, MarkerError
from tidelog.spark.compacted_topic import CompactedTopic, read_all
from tidelog.spark.sink import BATCH_ID, QUERY_ID, RUN_ID, BatchWriter, StreamWriter
from tidelog.spark.sink_clients import Connections
from tidelog.spark.sink_options import SinkOptions, parse_sink_options
from tidelog.spark.task_results import TaskResult
from tidelog.spark.transactional_writes import Driver

SCHEMA = StructType().add("topic", "string").add("value", "string")


class ReplacedError(Exception):
    """Ends a driver before its last call."""


class Ground:
    """A cluster, and tasks and drivers of one query or write that run on it."""

    def __init__(self, cluster: ThreadedCluster) -> None:
        self.cluster = cluster

    def task(
        self, writer: StreamWriter | BatchWriter, *values: str, number: int = 0, attempt: int = 0
    ) -> TaskResult:
        """Run an attempt of a task of batch 7."""
        in_a_task(number, attempt)
        return writer.write(iter([rows(*values)]))

    def committed(self, topic: str) -> list[bytes]:
        """What readers of committed records see."""
        return [value for _, value in self.records(topic)]

    def records(self, topic: str) -> list[tuple[bytes | None, bytes]]:
        async def read() -> list[tuple[bytes | None, bytes]]:
            found: list[tuple[bytes | None, bytes]] = []
            async with RangeReader(BOOTSTRAP, transport=self.cluster) as reader:
                async for part in read_all(reader, topic):
                    found += zip(
                        part.column(0).to_pylist(), part.column(1).to_pylist(), strict=True
                    )
            return found

        with LoopThread() as loop:
            return loop.run(read())

    def marker(self) -> Marker | None:
        topic = CompactedTopic(MARKERS, BOOTSTRAP, transport=self.cluster)
        with LoopThread() as loop:
            stored = loop.run(topic.last(b"q"))
        return None if stored is None else Marker.decode(stored)


@pytest.fixture
def ground(monkeypatch: pytest.MonkeyPatch) -> Iterator[Ground]:
    with threaded_cluster() as cluster:
        found = Ground(cluster)

        @contextmanager
        def on_cluster(options: SinkOptions) -> Iterator[Connections]:
            with closing(Connections(ConnectionConfig(), transport=cluster)) as connections:
                yield connections

        def driver_of(options: SinkOptions, group: str) -> Driver:
            return Driver(options.bootstrap, group, transport=cluster)

        monkeypatch.setattr(transactional_writes, "task_connections", on_cluster)
        monkeypatch.setattr(sink, "driver_of", driver_of)
        yield found
    TaskContext._setTaskContext(None)


def in_a_task(number: int, attempt: int, batch_id: int = 7) -> None:
    properties = {QUERY_ID: "q", RUN_ID: "run", BATCH_ID: str(batch_id)}
    TaskContext._setTaskContext(None)
    context = TaskContext(localProperties=properties)
    context._partitionId, context._attemptNumber = number, attempt


def rows(*values: str) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict({"topic": ["t"] * len(values), "value": list(values)})


def stream(**given: str) -> StreamWriter:
    options = parse_sink_options({"bootstrap.servers": BOOTSTRAP, **given})
    return StreamWriter(options, schema=SCHEMA)


def write() -> BatchWriter:
    options = parse_sink_options({"bootstrap.servers": BOOTSTRAP})
    return BatchWriter(options, schema=SCHEMA, overwrite=False)


def test_a_write_is_there_once_all_tasks_are_committed_together(ground: Ground) -> None:
    writer = write()
    done = [ground.task(writer, "a", "b"), ground.task(writer, "c", number=1)]
    assert ground.committed("t") == []
    writer.commit(done)
    assert sorted(ground.committed("t")) == [b"a", b"b", b"c"]


def test_an_aborted_write_leaves_nothing(ground: Ground) -> None:
    writer = write()
    done = ground.task(writer, "a")
    writer.abort([done, None])
    again = write()
    again.commit([ground.task(again, "b")])
    assert ground.committed("t") == [b"b"]


def test_attempts_that_failed_or_ran_twice_are_aborted_by_the_commit(ground: Ground) -> None:
    writer = write()
    ground.task(writer, "slow")  # a speculative copy won
    done = ground.task(writer, "fast", attempt=1)
    writer.commit([done])
    assert ground.committed("t") == [b"fast"]
    assert open_ids(ground) == []


def test_a_failing_task_aborts_its_own(ground: Ground) -> None:
    writer = write()
    in_a_task(0, 0)
    bad = pa.RecordBatch.from_pydict({"topic": [None], "value": ["x"]})
    with pytest.raises(ValueError, match="no topic"):
        writer.write(iter([rows("a"), bad]))
    assert open_ids(ground) == []


def test_a_task_without_rows_has_no_transaction(ground: Ground) -> None:
    writer = write()
    empty = ground.task(writer)
    assert (empty.records, empty.transaction) == (0, None)
    writer.commit([empty])
    assert ground.cluster.nodes.topics == {}


def test_a_batch_and_its_marker_are_there_together(ground: Ground) -> None:
    done = [ground.task(stream(), "a"), ground.task(stream(), "b", number=1)]
    assert ground.marker() is None
    stream().commit(done, 7)
    assert (sorted(ground.committed("t")), ground.marker()) == ([b"a", b"b"], Marker(7, 2))


def test_a_batch_that_is_recorded_is_not_there_twice(ground: Ground) -> None:
    stream().commit([ground.task(stream(), "a")], 7)
    stream().commit([ground.task(stream(), "a")], 7)
    assert ground.committed("t") == [b"a"]
    assert len(ground.records(MARKERS)) == 1
    assert open_ids(ground) == []


def test_a_recorded_batch_of_other_rows_and_an_older_one_are_refused(ground: Ground) -> None:
    stream().commit([ground.task(stream(), "a")], 7)
    again = [ground.task(stream(), "a", "b")]
    with pytest.raises(MarkerError, match="written with 1 rows and has 2 now"):
        stream().commit(again, 7)
    stream().abort(again, 7)
    in_a_task(0, 0, batch_id=6)
    older = [stream().write(iter([rows("c")]))]
    with pytest.raises(MarkerError, match="comes after its batch 7"):
        stream().commit(older, 6)
    stream().abort(older, 6)
    assert ground.committed("t") == [b"a"]
    assert open_ids(ground) == []


def test_recorded_batches_are_written_again_when_the_user_says_so(ground: Ground) -> None:
    stream().commit([ground.task(stream(), "a")], 7)
    again = stream(recordedBatches="write")
    again.commit([ground.task(again, "a")], 7)
    assert ground.committed("t") == [b"a", b"a"]


def test_of_two_drivers_of_one_query_one_wins(ground: Ground) -> None:
    first = [ground.task(stream(), "first")]
    second = [ground.task(stream(), "second")]  # the same id: it fences the first
    with pytest.raises(errors.InvalidTxnStateError):
        stream().commit(first, 7)
    stream().commit(second, 7)
    assert (ground.committed("t"), ground.marker()) == ([b"second"], Marker(7, 1))


def test_a_driver_that_another_replaced_after_its_marker_commits_nothing(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    end = Driver._end

    async def replaced_before_it_ends(
        _: Driver, transport: Transport, members: Sequence[TransactionMember]
    ) -> None:
        del transport
        raise ReplacedError(members)

    monkeypatch.setattr(Driver, "_end", replaced_before_it_ends)
    first = [ground.task(stream(), "a", number=0), ground.task(stream(), "b", number=1)]
    with pytest.raises(ReplacedError) as raised:
        stream().commit(first, 7)
    monkeypatch.setattr(Driver, "_end", end)
    (late,) = raised.value.args
    # Another driver runs the batch again, from the begin to the end.
    again = [ground.task(stream(), "a", number=0), ground.task(stream(), "b", number=1)]
    stream().commit(again, 7)
    with LoopThread() as loop, pytest.raises(errors.ProducerFencedError):
        loop.run(end(Driver(BOOTSTRAP, "q"), ground.cluster, late))
    assert sorted(ground.committed("t")) == [b"a", b"b"]
    assert len(ground.records(MARKERS)) == 1


def test_a_batch_that_outlives_its_transactions_is_refused(ground: Ground) -> None:
    short = stream(**{"kafka.transaction.timeout.ms": "1"})
    done = [ground.task(short, "a")]
    ground.cluster.run(pause(2.0))
    with pytest.raises(errors.InvalidTxnStateError):
        short.commit(done, 7)
    assert (ground.committed("t"), ground.marker()) == ([], None)


def test_another_querys_open_marker_is_waited_for(ground: Ground) -> None:
    stream().commit([ground.task(stream(), "a")], 7)
    with LoopThread() as loop:
        producer = loop.run(opened_marker(ground.cluster))
        stream().commit([ground.task(stream(), "a")], 7)  # it is aborted by its time-out meanwhile
        loop.run(producer.close())
    assert ground.committed("t") == [b"a"]


async def opened_marker(cluster: ThreadedCluster) -> Producer:
    producer: Producer = Producer(
        BOOTSTRAP, transactional_id="other/driver", transaction_timeout_ms=500, transport=cluster
    )
    await producer.begin_transaction()
    await producer.send(MARKERS, key=b"other", value=b"x", partition=0)
    return producer


async def pause(seconds: float) -> None:
    await asyncio.sleep(seconds)


def open_ids(ground: Ground) -> list[str]:
    async def listed() -> list[str]:
        async with Admin(BOOTSTRAP, transport=ground.cluster) as admin:
            return [one.transactional_id for one in await admin.list_transactions(["Ongoing"])]

    with LoopThread() as loop:
        return loop.run(listed())
