"""Clients and a topic that is deleted and made anew: nothing is taken over, and they go on."""

from __future__ import annotations

import asyncio
from typing import Any, Literal

import pytest
from tests.client.consumer_cases import turns
from tests.client.meddler import Mishap
from tests.client.patience import until
from tests.client.real_cluster import (
    ADDRESSES,
    BOOTSTRAP,
    CLUSTER_ID,
    RealCluster,
    encoded,
    started,
)

from tidelog.client import Admin, Consumer, Producer, errors
from tidelog.client.cluster_metadata import ClusterMetadata
from tidelog.client.records import TopicPartition
from tidelog.records.batch import parse_header
from tidelog.v1 import common_pb2
from tidelog.v1.data_pb2 import MetadataResponse

TP = TopicPartition("t", 0)


def producer(cluster: RealCluster, **options: Any) -> Producer:  # options of Producer
    return Producer(
        BOOTSTRAP, transport=cluster, retry_backoff_ms=1, retry_backoff_max_ms=5, **options
    )


async def made_anew(cluster: RealCluster) -> None:
    await cluster.delete("t")
    await cluster.create("t")


async def test_a_record_taken_for_the_old_topic_fails_and_the_next_go_to_the_new_one() -> None:
    cluster = await started()
    await cluster.create("t")
    async with producer(cluster) as p:
        for number in range(3):
            await p.send("t", value=b"old %d" % number)
        await made_anew(cluster)
        with pytest.raises(errors.KafkaError, match="was deleted") as failed:
            await p.send("t", value=b"between")
        assert failed.value.code == common_pb2.UNKNOWN_TOPIC_ID
        assert not failed.value.is_outcome_unknown
        for number in range(3):
            assert (await p.send("t", value=b"new %d" % number)).offset == number
    assert cluster.values("t") == [[b"new 0", b"new 1", b"new 2"]]
    first = parse_header(cluster.topics["t"].partitions[0].batches[0])
    assert first.base_sequence == 0


async def test_a_batch_that_may_be_in_the_old_topic_is_not_sent_to_the_new_one() -> None:
    cluster = await started()
    await cluster.create("t")
    cluster.mishaps.append(
        Mishap("Produce", error=errors.CallFailedError("broke"), is_after_work=True)
    )
    is_anew = asyncio.Event()

    async def make_anew() -> None:
        await made_anew(cluster)
        is_anew.set()

    def begin(method: str) -> None:
        if method == "Produce" and not cluster.gates:
            cluster.gates = dict.fromkeys(ADDRESSES.values(), is_anew)
            assert cluster.values("t") == [[b"old"]]
            cluster.beside(make_anew())

    cluster.before_answer = begin
    async with producer(cluster) as p:
        with pytest.raises(errors.KafkaError, match="was deleted") as failed:
            await p.send("t", value=b"old")
        assert failed.value.is_outcome_unknown
        await p.send("t", value=b"new")
    assert cluster.values("t") == [[b"new"]]


async def test_a_deleted_topic_fails_what_waits_for_it_and_does_not_hold_up_others() -> None:
    cluster = await started(auto_create=False)
    await cluster.create("t")
    await cluster.create("u")
    async with producer(cluster) as p:
        await p.send("t", value=b"a")
        await p.send("u", value=b"a")
        await cluster.delete("t")
        outcome = await p.submit("t", value=b"b")
        await p.send("u", value=b"b")
        with pytest.raises(errors.KafkaError) as failed:
            await outcome
        assert failed.value.code == common_pb2.UNKNOWN_TOPIC_ID


def consumer(cluster: RealCluster, reset: Literal["earliest", "latest", "none"]) -> Consumer:
    return Consumer(
        BOOTSTRAP,
        transport=cluster,
        auto_offset_reset=reset,
        retry_backoff_ms=1,
        retry_backoff_max_ms=5,
        fetch_max_wait_ms=20,
    )


async def values(c: Consumer, count: int) -> list[bytes | None]:
    found: list[bytes | None] = []
    async with asyncio.timeout(5):
        while len(found) < count:
            found += [record.value for record in await c.getmany(timeout_ms=1_000)]
    return found


async def fill(cluster: RealCluster, *contents: bytes) -> None:
    await cluster.topics["t"].partitions[0].append(encoded(contents))


async def test_a_consumer_reads_the_new_topic_from_where_its_policy_says() -> None:
    """Though the new one is longer than where it stood in the old one."""
    cluster = await started()
    await cluster.create("t")
    await fill(cluster, b"old")
    async with consumer(cluster, "earliest") as c:
        c.assign([TP])
        assert await values(c, 1) == [b"old"]
        await made_anew(cluster)
        await fill(cluster, b"new 0", b"new 1", b"new 2")
        assert await values(c, 3) == [b"new 0", b"new 1", b"new 2"]


async def test_without_a_policy_the_application_is_told_and_seeks() -> None:
    cluster = await started()
    await cluster.create("t")
    await fill(cluster, b"old")
    async with consumer(cluster, "none") as c:
        c.assign([TP])
        c.seek(TP, 0)
        assert await values(c, 1) == [b"old"]
        await made_anew(cluster)
        await fill(cluster, b"new 0", b"new 1")
        for _ in range(2):
            with pytest.raises(errors.KafkaError, match="recreated") as raised:
                await values(c, 1)
            assert raised.value.code == common_pb2.INCONSISTENT_TOPIC_ID
        c.seek(TP, 0)
        assert await values(c, 2) == [b"new 0", b"new 1"]


async def test_new_partitions_are_used_after_the_next_refresh() -> None:
    cluster = await started()
    await cluster.create("t")
    async with producer(cluster) as p, Admin(BOOTSTRAP, transport=cluster) as admin:
        await p.send("t", value=b"a")
        await admin.create_partitions("t", 3)
        assert await p.partitions_for("t") == [0]
        p._engine.routing.request_refresh()
        async with asyncio.timeout(5):
            while len(await p.partitions_for("t")) < 3:  # noqa: ASYNC110  # a refresh under way
                await asyncio.sleep(0.001)
        await p.send("t", value=b"b", partition=2)


def answer(
    topic_id: bytes, offset: int, *, code: common_pb2.ErrorCode = common_pb2.NONE
) -> MetadataResponse:
    response = MetadataResponse(cluster_id="c", metadata_offset=offset)
    topic = response.topics.add(name="t", topic_id=topic_id)
    topic.error.code = code
    topic.partitions.add(partition=0, leader_id=1, leader_epoch=len(topic_id))
    return response


def known(metadata: ClusterMetadata) -> bytes:
    view = metadata.topic("t")
    assert view is not None
    return view.topic_id


def test_a_broker_that_lags_brings_no_topic_back() -> None:
    metadata = ClusterMetadata()
    unknown = common_pb2.UNKNOWN_TOPIC_OR_PARTITION
    metadata.update(answer(b"old", 5), now_ms=0)
    metadata.update(answer(b"new", 9), now_ms=0)
    assert metadata.is_gone("t", b"old")
    for late in (answer(b"old", 8), answer(b"", 7, code=unknown)):
        metadata.update(late, now_ms=0)
        assert known(metadata) == b"new"
        assert not metadata.is_gone("t", b"new")
    metadata.update(answer(b"", 12, code=unknown), now_ms=0)
    assert metadata.is_gone("t", b"new")
    metadata.update(answer(b"new", 11), now_ms=0)
    assert metadata.is_gone("t", b"new"), "it was deleted later"
    metadata.update(answer(b"newest", 13), now_ms=0)
    assert not metadata.is_gone("t", b"newest")
    assert metadata.is_gone("t", b"new")
    assert not metadata.is_gone("t", b"")


def test_leaders_of_the_same_topic_are_taken_from_a_broker_that_lags() -> None:
    metadata = ClusterMetadata()
    metadata.update(answer(b"id", 5), now_ms=0)
    late = answer(b"id", 4)
    late.topics[0].partitions[0].leader_epoch = 9
    metadata.update(late, now_ms=0)
    view = metadata.topic("t")
    assert view is not None
    assert view.leaders[0].epoch == 9


def test_another_cluster_counts_its_metadata_anew() -> None:
    metadata = ClusterMetadata()
    metadata.update(answer(b"old", 500), now_ms=0)
    other = answer(b"new", 3)
    other.cluster_id = "d"
    metadata.update(other, now_ms=0)
    assert known(metadata) == b"new"


async def test_the_first_batch_for_a_new_topic_flies_alone_and_begins_at_0() -> None:
    """Its log knows nothing of the producer: of several it would take any first."""
    cluster = await started()
    await cluster.create("t")
    async with producer(cluster, batch_size=200) as p:
        for _ in range(3):
            await p.send("t", value=b"old")
        old_id = cluster.topics["t"].topic_id
        await made_anew(cluster)
        p._engine.routing.request_refresh()
        metadata = p._engine.routing.metadata
        new_id = cluster.topics["t"].topic_id
        async with asyncio.timeout(5):
            while not metadata.is_gone("t", old_id):  # noqa: ASYNC110  # a refresh
                await asyncio.sleep(0.001)
        assert not metadata.is_gone("t", new_id)
        before = len(cluster.requests("Produce"))
        await p.send_many("t", [b"v" * 100] * 6)
    first = cluster.requests("Produce")[before]
    assert [parse_header(one.records).base_sequence for one in first.partitions] == [0]
    numbers = [parse_header(one) for one in cluster.topics["t"].partitions[0].batches]
    assert [one.base_sequence for one in numbers] == list(range(6))


@pytest.mark.parametrize("is_by_time", [True, False])
async def test_an_offset_sought_by_lookup_does_not_count_in_a_topic_made_anew_since(
    is_by_time: bool,
) -> None:
    cluster = await started()
    await cluster.create("t")
    await fill(cluster, *[b"old"] * 5)
    async with consumer(cluster, "none") as c:
        c.assign([TP])
        await (c.seek_to_time({TP: 0}) if is_by_time else c.tail([TP], 5))
        await made_anew(cluster)
        response = MetadataResponse(cluster_id=CLUSTER_ID, metadata_offset=cluster.image.offset)
        topic = response.topics.add(name="t", topic_id=cluster.topics["t"].topic_id)
        topic.partitions.add(partition=0, leader_id=1)
        c._routing.metadata.update(response, now_ms=0)
        await fill(cluster, b"new")
        with pytest.raises(errors.KafkaError, match="deleted and recreated"):
            await c.getmany(timeout_ms=5_000)


async def test_an_offset_looked_up_in_the_old_topic_does_not_count_in_the_new_one() -> None:
    cluster = await started()
    await cluster.create("t")
    await fill(cluster, *[b"old"] * 5)
    async with consumer(cluster, "latest") as c:
        c.assign([TP])

        is_anew = asyncio.Event()

        async def make_anew() -> None:
            await made_anew(cluster)
            response = MetadataResponse(cluster_id=CLUSTER_ID, metadata_offset=cluster.image.offset)
            topic = response.topics.add(name="t", topic_id=cluster.topics["t"].topic_id)
            topic.partitions.add(partition=0, leader_id=1)
            c._routing.metadata.update(response, now_ms=0)
            is_anew.set()

        cluster.held = {(one, "ListOffsets"): is_anew for one in ADDRESSES.values()}
        looking = asyncio.create_task(c.position(TP))
        await until(lambda: bool(cluster.requests("ListOffsets")))
        await turns(20)  # the old topic's leader has answered
        assert not looking.done()
        await make_anew()
        assert await looking == 0
