"""Batch reads of a cluster of real processes: filters, many partitions, damage, a dying leader."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from tests.integration.local_cluster import LocalCluster
from tests.spark.spark_rows import stored

from tidelog.client import Admin, Producer, require_all
from tidelog.client.admin.descriptions import NewTopic
from tidelog.client.records import TopicPartition
from tidelog.net.grpc_transport import GrpcTransport
from tidelog.records.batch import HEADER_BYTES, parse_header, seal
from tidelog.records.compression import Codec
from tidelog.records.records import Record, encode_batch
from tidelog.spark.batch_reader import RangePartition, plan_partitions
from tidelog.spark.filters import Pushed
from tidelog.spark.planner import parse_options
from tidelog.v1 import common_pb2
from tidelog.v1.data_pb2 import PartitionProduceData, ProduceRequest
from tidelog.v1.methods import PRODUCE

pytestmark = pytest.mark.spark
PUSHDOWN = "spark.sql.python.filterPushdown.enabled"
T0_MS = 1_767_225_600_000  # 2026-01-01 UTC


@pytest.fixture
async def admin(running_cluster: LocalCluster) -> AsyncIterator[Admin]:
    async with Admin(running_cluster.bootstrap) as admin:
        yield admin


@pytest.fixture
async def producer(running_cluster: LocalCluster) -> AsyncIterator[Producer]:
    async with Producer(running_cluster.bootstrap) as producer:
        yield producer


def load(spark: SparkSession, cluster: LocalCluster, topic: str, **options: str) -> DataFrame:
    reader = spark.read.format("tidelog").option("bootstrap.servers", cluster.bootstrap)
    return reader.options(subscribe=topic, **options).load()


def places(frame: DataFrame) -> list[tuple[int, int]]:
    return sorted((r.partition, r.offset) for r in frame.select("partition", "offset").collect())


async def fill(admin: Admin, producer: Producer, topic: str) -> None:
    """Two partitions of five records each, a second apart."""
    require_all(await admin.create_topics([NewTopic(topic, 2, 3)]))
    for partition in (0, 1):
        for second in range(5):
            time_ms = T0_MS + 1000 * second
            await producer.send(topic, value=b"v", partition=partition, timestamp_ms=time_ms)


async def test_filters_spare_the_tasks_that_would_find_nothing(
    running_cluster: LocalCluster, spark: SparkSession, admin: Admin, producer: Producer
) -> None:
    await fill(admin, producer, "filtered")
    frame = load(spark, running_cluster, "filtered", filterPushdown="true")
    with pytest.raises(PySparkException, match=PUSHDOWN):
        frame.collect()
    spark.conf.set(PUSHDOWN, "true")
    one = frame.where("partition = 1 and offset >= 1 and offset < 3")
    assert places(one) == [(1, 1), (1, 2)]
    assert one.rdd.getNumPartitions() == 1
    second = datetime.fromtimestamp(T0_MS / 1000 + 3, UTC)
    late = frame.where(f.col("timestamp") >= f.lit(second))
    assert places(late) == [(0, 3), (0, 4), (1, 3), (1, 4)]
    never = frame.where(f.col("timestamp") > f.lit(datetime(2030, 1, 1, tzinfo=UTC)))
    assert places(never) == []
    assert places(frame.where("topic like 'other%'")) == []
    assert places(frame.where("offset in (0, 4) and partition <> 0")) == [(1, 0), (1, 4)]
    plain = load(spark, running_cluster, "filtered")
    assert places(plain.where("partition = 1 and offset = 4")) == [(1, 4)]
    spark.conf.unset(PUSHDOWN)


async def test_a_topic_made_anew_is_read_by_workers_that_knew_the_old_one(
    running_cluster: LocalCluster, spark: SparkSession, admin: Admin
) -> None:
    for values in ([b"a", b"b"], [b"c"]):
        require_all(await admin.create_topics([NewTopic("anew-batch", 1, 3)]))
        async with Producer(running_cluster.bootstrap) as producer:
            for value in values:
                await producer.send("anew-batch", value=value)
        frame = load(spark, running_cluster, "anew-batch").select("value")
        for _ in range(2):
            assert [bytes(row.value) for row in frame.collect()] == values
        await admin.delete_topic("anew-batch")


@pytest.mark.long
async def test_a_thousand_partitions_are_a_thousand_tasks(
    running_cluster: LocalCluster, spark: SparkSession, admin: Admin, producer: Producer
) -> None:
    require_all(await admin.create_topics([NewTopic("wide", 1000, 1)]))
    await asyncio.gather(*(producer.send("wide", value=b"v", partition=n) for n in range(1000)))
    read = load(spark, running_cluster, "wide").select(f.spark_partition_id(), "partition")
    assert [tuple(row) for row in read.collect()] == [(n, n) for n in range(1000)]
    require_all(await admin.delete_topics(["wide"]))  # the other files share the cluster


@pytest.fixture(scope="module", autouse=True)
def sent_to_compact(running_cluster: LocalCluster) -> dict[int, bytes]:
    """Keys by offset in topic `compacted`: 50 that come again and again, and one of each round.

    Sent before the first test: the cleaner comes every 15 seconds.
    """
    rounds = [[b"key-%d" % n for n in range(50)] + [b"round-%d" % one] for one in range(20)]
    configs = {
        "cleanup.policy": "compact",
        "segment.bytes": "10000",
        "min.cleanable.dirty.ratio": "0.01",
    }

    async def send() -> dict[int, bytes]:
        sent: dict[int, bytes] = {}
        async with Admin(running_cluster.bootstrap) as admin:
            require_all(await admin.create_topics([NewTopic("compacted", 1, 3, configs)]))
        async with Producer(running_cluster.bootstrap) as producer:
            for keys in rounds:
                sends = (producer.send("compacted", key=key, value=b"v" * 100) for key in keys)
                places = await asyncio.gather(*sends)
                sent |= {place.offset: key for place, key in zip(places, keys, strict=True)}
        return dict(sorted(sent.items()))

    return asyncio.run(send())


@pytest.mark.turns(3)
async def test_a_compacted_topic_is_read_in_ranges_that_end_among_what_is_gone(
    running_cluster: LocalCluster,
    spark: SparkSession,
    sent_to_compact: dict[int, bytes],
    tmp_path: Path,
) -> None:
    last = {key: offset for offset, key in sent_to_compact.items()}
    bootstrap = running_cluster.bootstrap
    while len(kept := await stored(bootstrap, "compacted")) > 3 * 50:  # noqa: ASYNC110
        await asyncio.sleep(0.5)
    offsets = [record.offset for record in kept]
    assert set(last.values()) <= set(offsets)
    assert {record.offset: record.key for record in kept}.items() <= sent_to_compact.items()

    whole = {"startingOffsets": "earliest", "minPartitions": "7"}
    frame = load(spark, running_cluster, "compacted", **whole)
    assert places(frame) == [(0, offset) for offset in offsets]
    middle = 5 * 51 + 25  # among keys that come again
    assert not set(range(middle - 20, middle + 20)).intersection(offsets)
    for start, end in ((0, middle), (middle, 700), (middle - 10, middle + 10)):
        edges = {
            name: json.dumps({"compacted": {"0": offset}})
            for name, offset in (("startingOffsets", start), ("endingOffsets", end))
        }
        found = places(load(spark, running_cluster, "compacted", **edges))
        assert found == [(0, offset) for offset in offsets if start <= offset < end]

    given = {"subscribe": "compacted", "startingOffsets": "earliest", "maxOffsetsPerTrigger": "200"}
    stream = spark.readStream.format("tidelog").options(**given)
    stream = stream.option("bootstrap.servers", running_cluster.bootstrap)
    writer = stream.load().writeStream.format("parquet").trigger(availableNow=True)
    writer = writer.option("checkpointLocation", str(tmp_path / "checkpoint"))
    query = writer.start(str(tmp_path / "rows"))
    query.awaitTermination()
    assert len(query.recentProgress) == -(-len(sent_to_compact) // 200)
    assert places(spark.read.parquet(str(tmp_path / "rows"))) == [(0, one) for one in offsets]


@pytest.mark.turns(3)
async def test_a_corrupt_batch_fails_its_task_by_topic_partition_and_offset(
    running_cluster: LocalCluster, spark: SparkSession, admin: Admin, producer: Producer
) -> None:
    look_into_no_compressed_batch(running_cluster)
    await fill(admin, producer, "corrupt")
    good = encode_batch([Record(0, 0, None, b"value")] * 3, compression=Codec.LZ4)
    bad = seal(parse_header(good), b"\xff" * (len(good) - HEADER_BYTES))
    for batch in (good, bad, good):
        await produce(admin, TopicPartition("corrupt", 1), batch)
    frame = load(spark, running_cluster, "corrupt")
    with pytest.raises(
        PySparkException,
        match=r"corrupt-1 .* batch at offset 8, .* offset is 10: .*startingOffsets and",
    ):
        frame.collect()
    before = load(spark, running_cluster, "corrupt", endingOffsets='{"corrupt":{"0":-1,"1":8}}')
    assert before.count() == 13


def look_into_no_compressed_batch(cluster: LocalCluster) -> None:
    """Have brokers check a compressed batch's CRC alone, so that a broken producer's is stored.

    So it stays for other files: none of Spark's sends a broken one.
    """
    assert cluster.stop().returncode == 0
    for path in cluster.folder.glob("node-*.toml"):
        line = '"compressed.records.inspection.enable" = false\n'
        path.write_text(line + path.read_text(encoding="utf-8"), encoding="utf-8")
    assert cluster.start().returncode == 0


async def produce(admin: Admin, tp: TopicPartition, batch: bytes) -> None:
    """Append a batch as it is."""
    topic = await admin.describe_topic(tp.topic)
    leader = topic.partitions[tp.partition].leader
    brokers = (await admin.describe_cluster()).brokers
    address = next(broker.address for broker in brokers if broker.broker_id == leader)
    data = PartitionProduceData(topic=tp.topic, partition=tp.partition, records=batch)
    transport = GrpcTransport()
    request = ProduceRequest(acks=-1, partitions=[data])
    answer = await transport.call(address, PRODUCE, request, timeout_ms=10_000)
    await transport.close()
    assert answer.partitions[0].error.code == common_pb2.NONE, answer


@pytest.mark.turns(3)
async def test_a_leader_killed_in_the_middle_costs_no_row_and_repeats_none(
    running_cluster: LocalCluster,
    spark: SparkSession,
    admin: Admin,
    producer: Producer,
    tmp_path: Path,
) -> None:
    count = 200_000
    require_all(await admin.create_topics([NewTopic("killed", 1, 3)]))
    await producer.send_many("killed", [b"%0100d" % n for n in range(count)], partition=0)
    described = await admin.describe_topic("killed")
    leader = described.partitions[0].leader
    assert leader is not None
    frame = load(spark, running_cluster, "killed", **{"kafka.fetch.max.bytes": "100000"})
    seen, killed = tmp_path / "seen", tmp_path / "killed"
    read = frame.select("offset", "value").mapInArrow(
        waiting(str(seen), str(killed)), "offset long, value binary"
    )
    totals = read.agg(
        f.count("*"),
        f.count_distinct("offset"),
        f.sum((f.col("value").cast("string").cast("long") == f.col("offset")).cast("int")),
    )
    job = asyncio.create_task(asyncio.to_thread(totals.collect))
    while not seen.exists() and not job.done():  # noqa: ASYNC110  # another process makes it
        await asyncio.sleep(0.05)
    running_cluster.kill(leader)
    killed.touch()
    assert [tuple(row) for row in await job] == [(count, count, count)]
    given = {"bootstrap.servers": running_cluster.bootstrap, "subscribe": "killed"}
    (later,) = await asyncio.to_thread(plan_partitions, parse_options(given), Pushed())
    assert isinstance(later, RangePartition)
    assert later.wanted.leader_epoch > described.partitions[0].leader_epoch
    assert running_cluster.start().returncode == 0


def waiting(
    seen: str, killed: str
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Passes batches on; after the first it waits until the file `killed` is there."""

    def wait(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import time
        from pathlib import Path

        for batch in batches:
            yield batch
            Path(seen).touch()
            while not Path(killed).exists():
                time.sleep(0.05)

    return wait
