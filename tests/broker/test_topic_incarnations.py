"""A topic deleted and made anew: nothing of the old one in the new one, and nobody waits for it."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from tests.broker.replica_stage import CONFIG, TOPIC, ReplicaStage
from tests.log.partition_logs import Producer, batch

from tidelog.broker.replica_manager import ReplicaManager
from tidelog.v1 import common_pb2
from tidelog.v1.common_pb2 import Error
from tidelog.v1.data_pb2 import (
    DeleteRecordsRequest,
    FetchPartition,
    ListOffsetsRequest,
    OffsetForLeaderEpochRequest,
    PartitionProduceData,
    PartitionProduceResult,
)

pytestmark = pytest.mark.sim

OLD, NEW = bytes(16), bytes([7]) * 16


async def made_anew(stage: ReplicaStage) -> None:
    """The topic once held one record; the one of that name now holds none."""
    stage.create(topic_id=OLD)
    await stage.until_opened(1, 2, 3)
    await stage.must_produce(1, b"old")
    stage.delete()
    stage.create(topic_id=NEW)
    await stage.until_opened(1, 2, 3)


async def produce(
    stage: ReplicaStage, topic_id: bytes, value: bytes, producer: Producer | None = None
) -> PartitionProduceResult:
    records = batch(value) if producer is None else batch(value, producer=producer)
    data = PartitionProduceData(topic=TOPIC, topic_id=topic_id, records=records)
    return (await stage.produce_raw(1, data)).partitions[0]


async def errors_for(stage: ReplicaStage, topic_id: bytes) -> list[Error]:
    """What each request says that can name an incarnation."""
    produced = await produce(stage, topic_id, b"x")
    asked = FetchPartition(topic=TOPIC, topic_id=topic_id, fetch_offset=0)
    (fetched,) = (await stage.fetch(1, asked)).partitions

    async def ask(manager: ReplicaManager) -> list[Error]:
        listed = ListOffsetsRequest.Partition(topic=TOPIC, topic_id=topic_id)
        ended = OffsetForLeaderEpochRequest.Partition(topic=TOPIC, topic_id=topic_id)
        deleted = DeleteRecordsRequest.Partition(topic=TOPIC, topic_id=topic_id, offset=0)
        offsets = await manager.reader.list_offsets(ListOffsetsRequest(partitions=[listed]))
        ends = await manager.reader.offset_for_leader_epoch(
            OffsetForLeaderEpochRequest(partitions=[ended])
        )
        deletions = await manager.record_deleter.delete_records(
            DeleteRecordsRequest(partitions=[deleted])
        )
        return [
            offsets.partitions[0].error,
            ends.partitions[0].error,
            deletions.partitions[0].error,
        ]

    return [produced.error, fetched.error, *await stage.on(1, ask)]


def test_every_request_for_another_incarnation_is_refused() -> None:
    async def story(stage: ReplicaStage) -> None:
        await made_anew(stage)
        assert {one.code for one in await errors_for(stage, OLD)} == {
            common_pb2.INCONSISTENT_TOPIC_ID
        }
        assert await stage.consume(1) == []
        assert {one.code for one in await errors_for(stage, NEW)} == {common_pb2.NONE}
        stage.delete()
        await stage.until(lambda: not stage.manager(1)._partitions.held)
        assert {one.code for one in await errors_for(stage, NEW)} == {common_pb2.UNKNOWN_TOPIC_ID}

    ReplicaStage().run(story)


def test_a_late_batch_of_the_old_topic_leaves_no_trace_in_the_new_one() -> None:
    """Neither as a record nor in what the log knows of its producer."""

    async def story(stage: ReplicaStage) -> None:
        stage.create(topic_id=OLD)
        await stage.until_opened(1, 2, 3)
        first = await produce(stage, OLD, b"old", Producer(7, 3, 5))
        assert first.error.code == common_pb2.NONE
        stage.delete()
        stage.create(topic_id=NEW)
        await stage.until_opened(1, 2, 3)
        for producer in (Producer(7, 3, 5), Producer(7, 3, 6)):
            late = await produce(stage, OLD, b"late", producer)
            assert late.error.code == common_pb2.INCONSISTENT_TOPIC_ID
        anew = await produce(stage, NEW, b"new", Producer(7, 0, 0))
        assert (anew.error.code, anew.base_offset) == (common_pb2.NONE, 0)
        await stage.until_equal(1, 2, 3)
        assert await stage.consume(1) == [b"new"]

    ReplicaStage().run(story)


@pytest.mark.parametrize("is_made_anew", [True, False])
def test_who_waits_for_a_topic_hears_of_its_end_at_once(is_made_anew: bool) -> None:
    """Though all that opens and closes logs is busy."""

    async def story(stage: ReplicaStage) -> None:
        stage.create(topic_id=OLD)
        await stage.until_opened(1, 2, 3)
        stage.cut(2)
        stage.cut(3)
        asked = FetchPartition(topic=TOPIC, topic_id=OLD, fetch_offset=0)
        waiting_fetch = asyncio.create_task(stage.fetch(1, asked, max_wait_ms=20_000, min_bytes=1))
        waiting_produce = asyncio.create_task(produce(stage, OLD, b"x"))
        waiting_deletion = asyncio.create_task(stage.delete_records(1, 0))
        await asyncio.sleep(0.1)
        await stage.on(1, lambda manager: manager._slots.acquire())
        stage.delete()
        if is_made_anew:
            stage.create(topic_id=NEW)
        async with asyncio.timeout(0.1):
            (fetched,) = (await waiting_fetch).partitions
            produced = await waiting_produce
            await waiting_deletion
        expected = common_pb2.INCONSISTENT_TOPIC_ID if is_made_anew else common_pb2.UNKNOWN_TOPIC_ID
        assert fetched.error.code == expected
        assert produced.error.code == common_pb2.REQUEST_TIMED_OUT, "the outcome is unknown"
        stage.manager(1)._slots.release()
        await stage.until(lambda: stage.disk(1).list("/data") == [f"{TOPIC}-0"] * is_made_anew)

    ReplicaStage(replace(CONFIG, log_tasks_max=1, fetch_wait_max_ms=20_000)).run(story)


@pytest.mark.parametrize("steps", range(0, 16, 2))
@pytest.mark.parametrize("is_power_cut", [True, False])
def test_a_deletion_cut_short_is_finished_at_the_next_start(steps: int, is_power_cut: bool) -> None:
    """Whatever the folder is called by then."""

    async def story(stage: ReplicaStage) -> None:
        stage.create(topic_id=OLD, partitions=2)
        await stage.until_opened(1, 2, 3)
        for number in range(5):
            await stage.must_produce(1, b"old %d" % number)
        await stage.until_equal(1, 2, 3)
        stage.delete()
        await asyncio.sleep(0.0005 * steps)
        (stage.crash if is_power_cut else stage.kill)(3)
        stage.create(topic_id=NEW)
        stage.start(3)
        await stage.until_opened(1, 2, 3)
        await stage.must_produce(1, b"new")
        await stage.until_equal(1, 2, 3)
        assert await stage.consume(1) == [b"new"]
        await stage.until(lambda: stage.disk(3).list("/data") == [f"{TOPIC}-0"])

    ReplicaStage().run(story)
