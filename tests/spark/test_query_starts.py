"""Where queries started, as the brokers keep it: the first answer is the answer."""

from __future__ import annotations

import asyncio

import pytest
from tests.client.fake_cluster import BOOTSTRAP, FakeCluster, Mishap
from tests.spark.spark_streams import filled, on_virtual_time, ports_of, stream

from tidelog.client.consuming.range_reader import RangeReaderConfig
from tidelog.client.errors import CallFailedError
from tidelog.client.records import TopicPartition
from tidelog.records.records import Record, encode_batch
from tidelog.spark.compacted_topic import CONFIGS
from tidelog.spark.query_starts import TOPIC, QueryStarts, QueryStartsError
from tidelog.spark.stream_offsets import StreamOffset

T0 = TopicPartition("t", 0)
HERE, THERE = (StreamOffset({T0: offset}, {"t": b"1"}) for offset in (5, 9))


def starts_of(cluster: FakeCluster) -> QueryStarts:
    return QueryStarts(BOOTSTRAP, ports=ports_of(cluster), config=RangeReaderConfig())


def records(cluster: FakeCluster) -> list[tuple[bytes, bytes | None]]:
    return [(r.key or b"", r.value) for r in cluster.topics[TOPIC].partitions[0].records()]


def write(cluster: FakeCluster, key: bytes, value: bytes | None) -> None:
    cluster.topics[TOPIC].partitions[0].append(encode_batch([Record(0, 1, key, value)]))


def kept(cluster: FakeCluster) -> None:
    """Keep the last record of each key, as compaction does."""
    partition = cluster.topics[TOPIC].partitions[0]
    last = {record.key: record for record in partition.records()}
    partition.batches = [
        encode_batch([record._replace(offset=record.offset)], base_offset=record.offset)
        for record in last.values()
        if record.value is not None
    ]


@on_virtual_time
async def test_the_first_start_is_kept_and_given_again() -> None:
    cluster = FakeCluster()
    async with starts_of(cluster) as starts:
        assert await starts.read("q") is None
        assert await starts.keep("q", HERE) == HERE
        assert await starts.keep("q", THERE) == HERE
    async with starts_of(cluster) as starts:
        assert await starts.read("q") == HERE
        assert await starts.read("other") is None


@on_virtual_time
async def test_the_topic_is_compacted_and_made_once() -> None:
    cluster = FakeCluster()
    async with starts_of(cluster) as starts:
        await starts.keep("q", HERE)
        await starts.keep("r", THERE)
        assert await starts.read("r") == THERE
    first = cluster.requests("CreateTopics")[0].topics[0]
    assert dict(first.configs) == CONFIGS
    assert first.partitions == 1


@on_virtual_time
async def test_who_comes_second_leaves_nothing_and_compaction_keeps_the_first() -> None:
    cluster = FakeCluster()
    async with starts_of(cluster) as starts, starts_of(cluster) as others:
        answers = await asyncio.gather(starts.keep("q", HERE), others.keep("q", THERE))
    assert answers[0] == answers[1]
    kept(cluster)
    assert len(records(cluster)) == 1
    async with starts_of(cluster) as starts:
        assert await starts.read("q") == answers[0]


@on_virtual_time
async def test_a_start_whose_answer_was_lost_is_stored_once() -> None:
    cluster = FakeCluster()
    lost = CallFailedError("broke")
    cluster.mishaps.append(Mishap("Produce", error=lost, is_after_work=True))
    async with starts_of(cluster) as starts:
        assert await starts.keep("q", HERE) == HERE
        assert await starts.read("q") == HERE
    assert len(records(cluster)) == 1


@on_virtual_time
async def test_ids_that_end_alike_are_not_mixed_up() -> None:
    cluster = FakeCluster()
    cluster.create(TOPIC)
    claim = b"0" * 32
    write(cluster, claim + b":my-q", b'{"t": {"0": 1}}')
    write(cluster, claim + b":q:q", b'{"t": {"0": 2}}')
    write(cluster, b"q", b'{"t": {"0": 3}}')
    write(cluster, claim + b":q", None)
    async with starts_of(cluster) as starts:
        assert await starts.read("q") is None
        write(cluster, claim + b":q", b'{"t": {"0": 4}}')
        assert await starts.read("q") == StreamOffset({T0: 4})


@on_virtual_time
async def test_a_start_that_cannot_be_read_is_told_by_name() -> None:
    cluster = FakeCluster()
    cluster.create(TOPIC)
    write(cluster, b"0" * 32 + b":q", b"{")
    write(cluster, b"0" * 32 + b":r", b'{"t": {"0": -4}}')
    async with starts_of(cluster) as starts:
        with pytest.raises(QueryStartsError, match=f'"q" in {TOPIC} cannot be read: it is not JS'):
            await starts.read("q")
        with pytest.raises(QueryStartsError, match='topic "t" has what is no offset: -4'):
            await starts.read("r")


@on_virtual_time
async def test_a_query_at_the_latest_starts_there_again_after_a_crash() -> None:
    cluster = FakeCluster()
    filled(cluster, "t", 10)
    given = {"startingOffsets": "latest", "queryId": "q"}
    async with stream(cluster, **given) as driver:
        assert (await driver.initial()).offsets == {T0: 10}
        filled(cluster, "t", 7)
        assert (await driver.initial()).offsets == {T0: 10}
    async with stream(cluster, **given) as driver:
        assert (await driver.initial()).offsets == {T0: 10}
        assert (await driver.advance(await driver.initial())).offsets == {T0: 17}
    assert cluster.topics[TOPIC].partitions[0].end_offset == 1
    async with stream(cluster, **{**given, "queryId": "another"}) as driver:
        assert (await driver.initial()).offsets == {T0: 17}


@on_virtual_time
async def test_an_id_that_another_topics_stream_has_is_refused() -> None:
    cluster = FakeCluster()
    filled(cluster, "t", 10)
    filled(cluster, "u", 10)
    given = {"startingOffsets": "latest", "queryId": "q"}
    async with stream(cluster, **given) as driver:
        await driver.initial()
    async with stream(cluster, **given, subscribe="u") as driver:
        with pytest.raises(
            QueryStartsError, match='"q" belongs to a stream of t, and this one reads u'
        ):
            await driver.initial()
    async with stream(cluster, **given, subscribe="t,u") as driver:
        assert (await driver.initial()).offsets == {T0: 10}
