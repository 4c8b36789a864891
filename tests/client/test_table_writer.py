"""The table writer against real brokers: where rows go, what stops it, what it says it wrote."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import pyarrow as pa
import pytest
from tests.client.arrow_batches import Row, batch_of
from tests.client.loop_peers import LoopPeers
from tests.client.meddler import Mishap
from tests.client.real_cluster import ADDRESSES, BOOTSTRAP, RealCluster, started

from tidelog.client import errors
from tidelog.client.arrow.table_writer import TableWriter
from tidelog.client.arrow.write_result import PartitionWriteResult, WriteResult
from tidelog.client.producing.partitioners import murmur2
from tidelog.client.records import TopicPartition
from tidelog.core.errors import InvalidRecordError
from tidelog.net.transport import Transport
from tidelog.records.records import Record
from tidelog.v1 import common_pb2

CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]


def writer(cluster: Transport, **options: Any) -> TableWriter:  # options of TableWriter
    options = {"retry_backoff_ms": 1, "retry_backoff_max_ms": 5, **options}
    return TableWriter(BOOTSTRAP, transport=cluster, **options)


def stored(cluster: RealCluster, partition: int = 0, topic: str = "t") -> list[Record]:
    return cluster.topics[topic].partitions[partition].records()


def values(*given: bytes | None) -> pa.RecordBatch:
    return batch_of([Row(value) for value in given], "value")


def numbered(count: int, *, size: int = 0) -> pa.RecordBatch:
    return values(*(b"%d" % n + bytes(size) for n in range(count)))


@pytest.mark.parametrize("codec", CODECS)
async def test_every_column_arrives_as_it_was(codec: str) -> None:
    cluster = await started()
    await cluster.create("t", partitions=3)
    rows = [
        Row(b"a", key=b"k", headers=(("n", b"x"), ("n", None)), partition=2, timestamp=5),
        Row(None, key=None, headers=None, partition=2, timestamp=3),
        Row(b"", key=b"", headers=(), partition=2, timestamp=9),
    ]
    async with writer(cluster, compression=codec) as w:
        await w.write("t", batch_of(rows))
    assert stored(cluster, 2) == [
        Record(0, 5, b"k", b"a", (("n", b"x"), ("n", None))),
        Record(1, 3, None, None, ()),
        Record(2, 9, b"", b"", ()),
    ]
    assert stored(cluster, 0) == stored(cluster, 1) == []


async def test_keys_go_where_kafka_would_put_them_unless_a_partition_is_named() -> None:
    cluster = await started()
    await cluster.create("t", partitions=5)
    rows = [Row(b"%d" % n, key=b"key-%d" % n) for n in range(50)]
    rows += [Row(b"named", key=b"key-0", partition=4)]
    async with writer(cluster) as w:
        await w.write("t", batch_of(rows, "key", "value", "partition"))
    for partition in range(5):
        expected = [
            r.value
            for r in rows
            if (murmur2(r.key or b"") & 0x7FFFFFFF) % 5 == partition and r.partition is None
        ]
        expected += [b"named"] if partition == 4 else []
        assert [record.value for record in stored(cluster, partition)] == expected


async def test_rows_without_a_key_fill_batches_of_one_partition_after_the_other() -> None:
    cluster = await started()
    await cluster.create("t", partitions=4)
    async with writer(cluster, batch_size=2000) as w:
        await w.write("t", numbered(160, size=100))
        written = await w.flush()
    counts = [one.records for one in written.partitions.values()]
    assert len(counts) == 4
    assert max(counts) - min(counts) < 2 * 20


async def test_what_was_written_is_told_once_for_each_flush() -> None:
    cluster = await started()
    await cluster.create("t", partitions=2)
    async with writer(cluster) as w:
        rows = [Row(b"%d" % n, partition=n % 2) for n in range(7)]
        await w.write("t", batch_of(rows, "value", "partition"))
        first = await w.flush()
        await w.write("t", batch_of(rows[:1], "value", "partition"))
        second, third = await w.flush(), await w.flush()
    assert first.partitions == {
        TopicPartition("t", 0): PartitionWriteResult(4, 0, 3),
        TopicPartition("t", 1): PartitionWriteResult(3, 0, 2),
    }
    sent = sum(len(p.records) for r in cluster.requests("Produce") for p in r.partitions)
    assert (first.records, first.bytes + second.bytes) == (7, sent)
    assert second.partitions == {TopicPartition("t", 0): PartitionWriteResult(1, 4, 4)}
    assert third == WriteResult()


async def test_small_writes_are_gathered_into_large_batches() -> None:
    cluster = await started()
    await cluster.create("t")
    async with writer(cluster) as w:
        for n in range(100):
            await w.write("t", values(b"%d" % n))
        assert not cluster.requests("Produce")
    assert [record.value for record in stored(cluster)] == [b"%d" % n for n in range(100)]
    assert len(cluster.requests("Produce")) == 1


async def test_what_is_gathered_over_all_topics_is_bounded() -> None:
    cluster = await started()
    async with writer(cluster, gather_bytes=1000) as w:
        for n in range(10):
            await w.write(f"t{n}", values(bytes(150)))
        assert sum(one.size_bytes for one in w._gathered.values()) < 1000
    assert all(cluster.values(f"t{n}") == [[bytes(150)]] for n in range(10))


async def test_the_buffer_is_bounded_and_waits_for_the_brokers() -> None:
    cluster = await started()
    await cluster.create("t")
    limits = {"batch_size": 1000, "max_request_size": 2000, "buffer_memory": 4000}
    async with writer(cluster, **limits) as w:
        most = 0
        for _ in range(20):
            await w.write("t", numbered(50, size=100))
            most = max(most, w._engine.accumulator._used_bytes)
        written = await w.flush()
    assert most <= 4000
    assert written.records == len(stored(cluster)) == 1000


async def test_rows_are_stored_once_and_in_order_whatever_answer_is_lost() -> None:
    cluster = await started()
    await cluster.create("t")
    lost = errors.CallFailedError("the connection broke")
    async with writer(cluster, batch_size=1000) as w:
        for n in range(10):
            if n in (2, 5):
                cluster.mishaps.append(Mishap("Produce", error=lost, is_after_work=True))
            await w.write("t", values(*(b"%d" % (n * 20 + at) for at in range(20))))
            await w.flush()
    assert [record.value for record in stored(cluster)] == [b"%d" % n for n in range(200)]


async def test_it_goes_on_at_the_next_leader() -> None:
    cluster = await started()
    await cluster.create("t")
    async with writer(cluster) as w:
        await w.write("t", values(b"before"))
        await w.flush()
        leader = cluster.topics["t"].partitions[0].leader_id
        await cluster.move("t", 0, leader_id=(leader or 0) % 3 + 1)
        await w.write("t", values(b"after"))
        written = await w.flush()
    assert written.partitions == {TopicPartition("t", 0): PartitionWriteResult(1, 1, 1)}
    assert [record.value for record in stored(cluster)] == [b"before", b"after"]


@pytest.mark.parametrize("seed", range(20))
async def test_whatever_befalls_the_brokers_each_row_is_stored_once_and_in_order(seed: int) -> None:
    cluster, source = await started(), random.Random(seed)
    await cluster.create("t", partitions=6)
    broke = errors.CallFailedError("the connection broke")

    def befall() -> None:
        match source.randrange(4):
            case 0:
                number = source.randrange(6)
                isr = cluster.topics["t"].partitions[number].image.isr
                living = [one for one in isr if one not in killed]
                cluster.move("t", number, leader_id=source.choice(living))
            case 1:
                cluster.mishaps.append(Mishap("Produce", error=broke, is_after_work=True))
            case 2:
                cluster.mishaps.append(Mishap("Produce", error=broke))
            case _ if not killed:
                killed.append(source.choice(list(ADDRESSES)))
                cluster.kill(killed[0])

    killed: list[int] = []
    async with writer(cluster, batch_size=600) as w:
        for turn in range(12):
            rows = [Row(b"%d" % (turn * 30 + at), partition=at % 6) for at in range(30)]
            await w.write("t", batch_of(rows, "value", "partition"))
            befall()
            for _ in range(source.randrange(30)):
                await asyncio.sleep(0)
        written = await w.flush()
    await cluster.rest()
    assert written.records == 360
    for partition in range(6):
        expected = [b"%d" % n for n in range(360) if n % 6 == partition]
        assert [record.value for record in stored(cluster, partition)] == expected


async def test_a_batch_the_topic_finds_too_large_is_split() -> None:
    cluster = await started()
    await cluster.create("t")
    cluster.mishaps.append(Mishap("Produce", code=common_pb2.MESSAGE_TOO_LARGE))
    async with writer(cluster) as w:
        await w.write("t", numbered(30))
        written = await w.flush()
    assert written.partitions == {TopicPartition("t", 0): PartitionWriteResult(30, 0, 29)}
    assert [r.value for r in stored(cluster)] == numbered(30)["value"].to_pylist()
    assert len(cluster.requests("Produce")) > 1


async def test_flush_raises_the_first_error_and_the_next_one_does_not() -> None:
    cluster = await started()
    await cluster.create("t")
    cluster.mishaps.append(Mishap("Produce", code=common_pb2.INVALID_RECORD))
    async with writer(cluster) as w:
        await w.write("t", values(b"refused"))
        with pytest.raises(InvalidRecordError):
            await w.flush()
        await w.write("t", values(b"taken"))
        assert (await w.flush()).records == 1
    assert [record.value for record in stored(cluster)] == [b"taken"]


async def test_write_raises_what_became_of_earlier_rows_and_flush_says_it_again() -> None:
    cluster = await started()
    await cluster.create("t")
    cluster.mishaps.append(Mishap("Produce", code=common_pb2.INVALID_RECORD))
    async with writer(cluster, batch_size=200, max_request_size=200) as w:
        await w.write("t", numbered(10, size=50))
        await asyncio.wait_for(w._engine._sender.wait_for_progress(), timeout=10)
        with pytest.raises(InvalidRecordError):
            await w.write("t", values(b"late"))
        with pytest.raises(InvalidRecordError):
            await w.flush()
    assert b"late" not in [record.value for record in stored(cluster)]


async def test_leaving_the_block_flushes_and_raises() -> None:
    cluster = await started()
    await cluster.create("t")
    cluster.mishaps.append(Mishap("Produce", code=common_pb2.INVALID_RECORD))
    with pytest.raises(InvalidRecordError):
        async with writer(cluster) as w:
            await w.write("t", values(b"refused"))
    with pytest.raises(errors.ClientClosedError):
        await w.write("t", values(b"late"))


async def test_after_an_exception_in_the_block_nothing_more_is_sent() -> None:
    cluster = await started()
    await cluster.create("t")

    async def interrupted() -> None:
        async with writer(cluster) as w:
            await w.write("t", values(b"gathered"))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await interrupted()
    assert not cluster.requests("Produce")


async def test_a_cancelled_write_loses_none_of_the_rows_it_took() -> None:
    cluster = await started()
    await cluster.create("t")
    await cluster.move("t", 0, leader_id=None)
    limits = {"batch_size": 1000, "max_request_size": 1000, "buffer_memory": 2000}
    async with writer(cluster, **limits) as w:
        task = asyncio.create_task(w.write("t", numbered(100, size=100)))
        for _ in range(100):
            await asyncio.sleep(0)
        assert not task.done()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await cluster.move("t", 0, leader_id=1)
        assert (await w.flush()).records == 100
    assert [r.value for r in stored(cluster)] == numbered(100, size=100)["value"].to_pylist()


async def test_a_buffer_that_stays_full_is_an_error_of_write_and_of_flush() -> None:
    cluster = await started()
    await cluster.create("t")
    await cluster.move("t", 0, leader_id=None)
    limits = {"batch_size": 1000, "max_request_size": 1000, "buffer_memory": 2000}
    async with writer(cluster, max_block_ms=20, **limits) as w:
        with pytest.raises(errors.BufferExhaustedError):
            await w.write("t", numbered(100, size=100))
        await cluster.move("t", 0, leader_id=1)
        with pytest.raises(errors.BufferExhaustedError):
            await w.flush()
        stored_by_then = len(stored(cluster))
        await w.write("t", values(b"next"))
        assert (await w.flush()).records == 1
    assert len(stored(cluster)) == stored_by_then + 1 < 100


async def test_rows_for_a_topic_that_was_made_anew_meanwhile_fail() -> None:
    cluster = await started()
    await cluster.create("t")
    async with writer(cluster) as w:
        await w.write("t", values(b"first"))
        await w.flush()
        await w.write("t", values(b"for the old one"))
        await cluster.delete("t")
        await cluster.create("t")
        with pytest.raises(errors.KafkaError, match="was deleted after the record was accepted"):
            await w.flush()
    assert stored(cluster) == []


async def test_rows_gathered_for_the_old_topic_do_not_go_to_the_new_one() -> None:
    cluster = await started()
    await cluster.create("t")
    async with writer(cluster) as w:
        await w.write("t", values(b"for the old one"))
        old_id = cluster.topics["t"].topic_id
        await cluster.delete("t")
        await cluster.create("t")
        routing = w._engine.routing
        routing.request_refresh()
        async with asyncio.timeout(5):
            while not routing.metadata.is_gone("t", old_id):  # noqa: ASYNC110  # a refresh
                await asyncio.sleep(0)
        await w.write("t", values(b"for the new one"))
        with pytest.raises(errors.KafkaError, match="was deleted after the record was accepted"):
            await w.flush()
    assert b"for the old one" not in [record.value for record in stored(cluster)]


@pytest.mark.parametrize(
    ("batch", "complaint"),
    [
        ({"key": pa.array([b"k"])}, "no column 'value'"),
        (
            {"value": pa.array([b"v"]), "offset": pa.array([1])},
            "column 'offset' is not a column of rec",
        ),
        ({"value": pa.array([1])}, "column 'value' is int64, which is not binary or string"),
        ({"key": pa.array([1.5]), "value": pa.array([b"v"])}, "column 'key' is double"),
        ({"value": pa.array([b"v"]), "partition": pa.array(["1"])}, "column 'partition' is string"),
        ({"value": pa.array([b"v"]), "timestamp": pa.array(["1"])}, "column 'timestamp' is string"),
        ({"value": pa.array([b"v"]), "headers": pa.array([["h"]])}, "column 'headers' is list"),
        ({"value": pa.array([b"v"]), "partition": pa.array([2])}, "2 in row 0.*partitions 0 to 1"),
        ({"value": pa.array([b"v"]), "partition": pa.array([-1])}, "-1 in row 0 is none"),
        ({"value": pa.array([b"v"]), "timestamp": pa.array([-1])}, "-1 in row 0 is not millisec"),
        (
            {
                "value": pa.array([b"v", b"v"]),
                "headers": pa.array([None, [{"key": None, "value": b"x"}]]),
            },
            "a header of row 1 has no key",
        ),
    ],
)
async def test_what_no_record_can_hold_is_refused_by_name_and_nothing_is_taken(
    batch: dict[str, pa.Array], complaint: str
) -> None:
    cluster = await started()
    await cluster.create("t", partitions=2)
    async with writer(cluster) as w:
        with pytest.raises(ValueError, match=complaint):
            await w.write("t", pa.record_batch(batch))
    assert not cluster.requests("Produce")


async def test_a_column_that_is_there_twice_is_refused() -> None:
    batch = pa.record_batch([pa.array([b"a"]), pa.array([b"b"])], names=["value", "value"])
    async with writer(LoopPeers({})) as w:
        with pytest.raises(ValueError, match="column 'value' is there 2 times"):
            await w.write("t", batch)


@pytest.mark.parametrize("rows_before", [0, 3])
async def test_a_record_above_the_request_limit_is_refused_by_its_row(rows_before: int) -> None:
    cluster = await started()
    await cluster.create("t")
    limits = {"batch_size": 1000, "max_request_size": 1000}
    async with writer(cluster, gather_bytes=900, **limits) as w:
        with pytest.raises(errors.MessageTooLargeError, match=f"row {rows_before} .* above 939"):
            await w.write("t", values(*[b"v" * 500] * rows_before, bytes(1000)))
    assert not cluster.requests("Produce")


async def test_a_missing_topic_is_an_error_of_write() -> None:
    cluster = await started(auto_create=False)
    async with writer(cluster, max_block_ms=20) as w:
        with pytest.raises(errors.KafkaError, match="'none' does not exist"):
            await w.write("none", values(b"v"))


async def test_with_acks_0_nobody_knows_the_offsets() -> None:
    cluster = await started()
    await cluster.create("t")
    async with writer(cluster, acks=0) as w:
        await w.write("t", values(b"v"))
        written = await w.flush()
    assert written.partitions == {TopicPartition("t", 0): PartitionWriteResult(1, -1, -1)}


def test_limits_that_cannot_hold_are_refused() -> None:
    with pytest.raises(ValueError, match="gather_bytes=0"):
        TableWriter(BOOTSTRAP, transport=LoopPeers({}), gather_bytes=0)
    with pytest.raises(ValueError, match="enable_idempotence"):
        TableWriter(BOOTSTRAP, transport=LoopPeers({}), acks=1, enable_idempotence=True)
