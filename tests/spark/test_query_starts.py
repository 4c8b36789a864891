"""Where queries started, as the brokers keep it: the first answer is the answer."""

from __future__ import annotations

import asyncio

import pytest
from tests.client.meddler import Mishap
from tests.client.real_cluster import BOOTSTRAP, RealCluster, started
from tests.spark.spark_streams import filled, ports_of, stream

from tidelog.client import Producer
from tidelog.client.consuming.range_reader import RangeReaderConfig
from tidelog.client.errors import CallFailedError
from tidelog.client.records import TopicPartition
from tidelog.records.records import Record, encode_batch
from tidelog.spark.compacted_topic import CONFIGS
from tidelog.spark.query_starts import TOPIC, QueryStarts, QueryStartsError
from tidelog.spark.stream_offsets import StreamOffset

T0 = TopicPartition("t", 0)
HERE, THERE = (StreamOffset({T0: offset}, {"t": b"1"}) for offset in (5, 9))


def starts_of(cluster: RealCluster) -> QueryStarts:
    return QueryStarts(BOOTSTRAP, ports=ports_of(cluster), config=RangeReaderConfig())


def records(cluster: RealCluster) -> list[tuple[bytes, bytes | None]]:
    return [(r.key or b"", r.value) for r in cluster.topics[TOPIC].partitions[0].records()]


async def write(cluster: RealCluster, key: bytes, value: bytes | None) -> None:
    await cluster.topics[TOPIC].partitions[0].append(encode_batch([Record(0, 1, key, value)]))


async def compact(cluster: RealCluster) -> None:
    """Wait until the brokers have compacted the topic of starts."""
    await cluster.configure(TOPIC, segment_ms=1, min_cleanable_dirty_ratio=0)
    await asyncio.sleep(1)
    async with Producer(BOOTSTRAP, transport=cluster.direct) as producer:
        await producer.send(TOPIC, key=b"in another segment", value=b"")
    before = records(cluster)
    async with asyncio.timeout(600):
        while records(cluster) == before:  # noqa: ASYNC110  # the brokers do not tell
            await asyncio.sleep(5)


async def test_the_first_start_is_kept_and_given_again() -> None:
    cluster = await started()
    async with starts_of(cluster) as starts:
        assert await starts.read("q") is None
        assert await starts.keep("q", HERE) == HERE
        assert await starts.keep("q", THERE) == HERE
    async with starts_of(cluster) as starts:
        assert await starts.read("q") == HERE
        assert await starts.read("other") is None


async def test_the_topic_is_compacted_and_made_once() -> None:
    cluster = await started()
    async with starts_of(cluster) as starts:
        await starts.keep("q", HERE)
        await starts.keep("r", THERE)
        assert await starts.read("r") == THERE
    first = cluster.requests("CreateTopics")[0].topics[0]
    assert dict(first.configs) == CONFIGS
    assert first.partitions == 1


async def test_who_comes_second_leaves_nothing_and_compaction_keeps_the_first() -> None:
    cluster = await started()
    async with starts_of(cluster) as starts, starts_of(cluster) as others:
        answers = await asyncio.gather(starts.keep("q", HERE), others.keep("q", THERE))
    assert answers[0] == answers[1]
    await compact(cluster)
    assert len([value for _, value in records(cluster) if value]) == 1
    async with starts_of(cluster) as starts:
        assert await starts.read("q") == answers[0]


async def test_a_start_whose_answer_was_lost_is_stored_once() -> None:
    cluster = await started()
    lost = CallFailedError("broke")
    cluster.mishaps.append(Mishap("Produce", error=lost, is_after_work=True))
    async with starts_of(cluster) as starts:
        assert await starts.keep("q", HERE) == HERE
        assert await starts.read("q") == HERE
    assert len(records(cluster)) == 1


async def test_ids_that_end_alike_are_not_mixed_up() -> None:
    cluster = await started()
    await cluster.create(TOPIC)
    claim = b"0" * 32
    await write(cluster, claim + b":my-q", b'{"t": {"0": 1}}')
    await write(cluster, claim + b":q:q", b'{"t": {"0": 2}}')
    await write(cluster, b"q", b'{"t": {"0": 3}}')
    await write(cluster, claim + b":q", None)
    async with starts_of(cluster) as starts:
        assert await starts.read("q") is None
        await write(cluster, claim + b":q", b'{"t": {"0": 4}}')
        assert await starts.read("q") == StreamOffset({T0: 4})


async def test_a_start_that_cannot_be_read_is_told_by_name() -> None:
    cluster = await started()
    await cluster.create(TOPIC)
    await write(cluster, b"0" * 32 + b":q", b"{")
    await write(cluster, b"0" * 32 + b":r", b'{"t": {"0": -4}}')
    async with starts_of(cluster) as starts:
        with pytest.raises(QueryStartsError, match=f'"q" in {TOPIC} cannot be read: it is not JS'):
            await starts.read("q")
        with pytest.raises(QueryStartsError, match='topic "t" has what is no offset: -4'):
            await starts.read("r")


async def test_a_query_at_the_latest_starts_there_again_after_a_crash() -> None:
    cluster = await started()
    await filled(cluster, "t", 10)
    given = {"startingOffsets": "latest", "queryId": "q"}
    async with stream(cluster, **given) as driver:
        assert (await driver.initial()).offsets == {T0: 10}
        await filled(cluster, "t", 7)
        assert (await driver.initial()).offsets == {T0: 10}
    async with stream(cluster, **given) as driver:
        assert (await driver.initial()).offsets == {T0: 10}
        assert (await driver.advance(await driver.initial())).offsets == {T0: 17}
    assert cluster.topics[TOPIC].partitions[0].end_offset == 1
    async with stream(cluster, **{**given, "queryId": "another"}) as driver:
        assert (await driver.initial()).offsets == {T0: 17}


async def test_an_id_that_another_topics_stream_has_is_refused() -> None:
    cluster = await started()
    await filled(cluster, "t", 10)
    await filled(cluster, "u", 10)
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
