"""Topic configs that change while a broker serves: the next image is what counts."""

from __future__ import annotations

import asyncio

import pytest
from tests.broker.replica_stage import TOPIC, ReplicaStage

from tidelog.v1 import common_pb2
from tidelog.v1.metadata_records_pb2 import ConfigRecord, MetadataRecord

pytestmark = pytest.mark.sim

LARGE = b"x" * 600


def of_topic(key: str, value: str | None) -> MetadataRecord:
    return MetadataRecord(config=ConfigRecord(resource_name=TOPIC, key=key, value=value))


def of_cluster(key: str, value: str | None) -> MetadataRecord:
    record = ConfigRecord(resource_type=ConfigRecord.CLUSTER, key=key, value=value)
    return MetadataRecord(config=record)


async def takes_large(stage: ReplicaStage, *changes: MetadataRecord) -> bool:
    """Whether a large batch is taken once the brokers know of these changes."""
    if changes:
        stage.commit(*changes)
        await asyncio.sleep(0.01)
    code = (await stage.produce(1, LARGE)).error.code
    assert code in (common_pb2.NONE, common_pb2.MESSAGE_TOO_LARGE)
    return code == common_pb2.NONE


def test_a_topics_own_config_is_live_and_goes_back_to_the_default() -> None:
    async def story(stage: ReplicaStage) -> None:
        stage.create()
        await stage.until_opened(1, 2, 3)
        assert await takes_large(stage)
        assert not await takes_large(stage, of_topic("max.message.bytes", "500"))
        assert await takes_large(stage, of_topic("max.message.bytes", None))

    ReplicaStage().run(story)


def test_the_clusters_default_is_live_for_every_topic_without_its_own() -> None:
    async def story(stage: ReplicaStage) -> None:
        stage.create()
        await stage.until_opened(1, 2, 3)
        assert not await takes_large(stage, of_cluster("max.message.bytes", "500"))
        assert await takes_large(stage, of_topic("max.message.bytes", "5000"))
        assert await takes_large(stage, of_cluster("max.message.bytes", "400"))
        assert not await takes_large(stage, of_topic("max.message.bytes", None))
        assert await takes_large(stage, of_cluster("max.message.bytes", None))

    ReplicaStage().run(story)


def test_the_clusters_default_counts_for_a_partition_opened_after_it_was_set() -> None:
    async def story(stage: ReplicaStage) -> None:
        stage.commit(of_cluster("max.message.bytes", "500"))
        stage.create(replicas=(1,))
        await stage.until_opened(1)
        assert not await takes_large(stage)
        stage.kill(1)
        stage.start(1)
        await stage.until_opened(1)
        assert not await takes_large(stage)

    ReplicaStage().run(story)


def test_a_change_of_min_insync_replicas_counts_for_the_next_write() -> None:
    async def story(stage: ReplicaStage) -> None:
        stage.create()
        await stage.until_opened(1, 2, 3)
        stage.cut(3)
        stage.elect(1, isr=(1, 2))
        await asyncio.sleep(0.01)
        await stage.must_produce(1, b"a")
        stage.commit(of_cluster("min.insync.replicas", "3"))
        await asyncio.sleep(0.01)
        assert (await stage.produce(1, b"b")).error.code == common_pb2.NOT_ENOUGH_REPLICAS
        stage.commit(of_topic("min.insync.replicas", "2"))
        await asyncio.sleep(0.01)
        await stage.must_produce(1, b"c")

    ReplicaStage().run(story)


def test_where_every_record_is_flushed_from_now_on_followers_flush_what_they_hold() -> None:
    """Or one could lose it in a power cut, and would still count as complete (KIP-966)."""

    async def story(stage: ReplicaStage) -> None:
        stage.create()
        await stage.until_opened(1, 2, 3)
        await stage.must_produce(1, b"a")
        await stage.until_equal(1, 2, 3)
        assert stage.hosted(3).log.recovery_point == 0
        stage.commit(of_topic("flush.messages", "1"))
        await stage.until(
            lambda: [stage.hosted(one).log.recovery_point for one in (1, 2, 3)] == [1, 1, 1],
            within_s=1,
        )

    ReplicaStage().run(story)
