"""Records that go, by order and by age: on all replicas, and for good."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from tests.broker.replica_stage import CONFIG, LAG_S, TOPIC, ReplicaStage
from tests.log.partition_logs import batch

from tidelog.broker.partition import follower_io as following
from tidelog.broker.replica_manager import ReplicaManager
from tidelog.core.errors import StorageError
from tidelog.log.cleaner import CleanerConfig
from tidelog.records.batch import parse_header
from tidelog.records.records import Record, encode_batch
from tidelog.v1 import common_pb2
from tidelog.v1.data_pb2 import ListOffsetsRequest, PartitionFetchResult, PartitionProduceData

pytestmark = pytest.mark.sim


async def ten_records(stage: ReplicaStage, **configs: Any) -> None:
    """A topic of three replicas with ten records, a batch each, on all of them."""
    stage.create(**configs)
    await stage.until_opened(1, 2, 3)
    for number in range(10):
        await stage.must_produce(1, b"%d" % number)
    await stage.until_equal(1, 2, 3)


def starts(stage: ReplicaStage) -> list[int]:
    return [stage.hosted(one).log.log_start_offset for one in (1, 2, 3)]


def test_a_deletion_is_answered_when_all_replicas_have_persisted_it() -> None:
    async def story(stage: ReplicaStage) -> None:
        await ten_records(stage)
        result = await stage.delete_records(1, 4)
        assert (result.error.code, result.low_watermark) == (common_pb2.NONE, 4)
        assert starts(stage) == [4, 4, 4]
        for broker_id in (1, 2, 3):
            stage.crash(broker_id)
        for broker_id in (1, 2, 3):
            stage.start(broker_id)
        await stage.until_opened(1, 2, 3)
        assert starts(stage) == [4, 4, 4]

    ReplicaStage().run(story)


def test_a_deletion_takes_round_trips_and_no_poll_interval() -> None:
    async def story(stage: ReplicaStage) -> None:
        await ten_records(stage)
        loop = asyncio.get_running_loop()
        started_s = loop.time()
        await stage.delete_records(1, -1)
        assert loop.time() - started_s < CONFIG.replica_fetch_wait_max_ms / 1000 / 2
        assert starts(stage) == [10, 10, 10]

    ReplicaStage().run(story)


def test_deleted_records_are_out_of_range_and_the_earliest_offset_is_behind_them() -> None:
    async def story(stage: ReplicaStage) -> None:
        await ten_records(stage)
        await stage.delete_records(1, 4)
        fetched = await stage.fetch_one(1, 3)
        assert fetched.error.code == common_pb2.OFFSET_OUT_OF_RANGE
        assert fetched.log_start_offset == 4
        assert await stage.consume(1, 4) == [b"%d" % number for number in range(4, 10)]
        assert (await stage.offsets(1, ListOffsetsRequest.EARLIEST)).offset == 4

    ReplicaStage().run(story)


def test_a_deletion_waits_for_every_in_sync_replica_and_times_out() -> None:
    async def story(stage: ReplicaStage) -> None:
        await ten_records(stage)
        stage.cut(3)
        result = await stage.delete_records(1, 4, timeout_ms=100)
        assert result.error.code == common_pb2.REQUEST_TIMED_OUT
        assert result.low_watermark == -1
        assert starts(stage) == [4, 4, 0]
        waiting = asyncio.create_task(stage.delete_records(1, 4))
        await asyncio.sleep(LAG_S / 10)
        assert not waiting.done()
        stage.heal()
        assert (await waiting).low_watermark == 4
        assert starts(stage) == [4, 4, 4]

    ReplicaStage().run(story)


def test_who_leaves_the_isr_holds_up_no_deletion() -> None:
    async def story(stage: ReplicaStage) -> None:
        await ten_records(stage)
        stage.cut(3)
        waiting = asyncio.create_task(stage.delete_records(1, 4))
        await asyncio.sleep(LAG_S / 10)
        stage.elect(1, isr=(1, 2))
        assert (await waiting).low_watermark == 4

    ReplicaStage().run(story)


def test_a_waiting_deletion_hears_at_once_that_another_broker_leads() -> None:
    async def story(stage: ReplicaStage) -> None:
        await ten_records(stage)
        stage.cut(3)
        waiting = asyncio.create_task(stage.delete_records(1, 4))
        await asyncio.sleep(LAG_S / 10)
        stage.elect(2, isr=(1, 2, 3))
        async with asyncio.timeout(0.2):
            result = await waiting
        assert result.error.code == common_pb2.NOT_LEADER_OR_FOLLOWER
        assert result.current_leader.leader_id == 2

    ReplicaStage().run(story)


def test_deletions_are_refused_one_by_one() -> None:
    async def story(stage: ReplicaStage) -> None:
        await ten_records(stage)
        refused = await stage.delete_records(2, 4)
        assert refused.error.code == common_pb2.NOT_LEADER_OR_FOLLOWER
        assert refused.current_leader.leader_id == 1
        assert (await stage.delete_records(1, 11)).error.code == common_pb2.OFFSET_OUT_OF_RANGE
        assert starts(stage) == [0, 0, 0]

    ReplicaStage().run(story)


def test_records_of_a_compacted_topic_are_not_deleted_by_order() -> None:
    async def story(stage: ReplicaStage) -> None:
        stage.create(cleanup_policy="compact")
        await stage.until_opened(1, 2, 3)
        refused = await stage.delete_records(1, 0)
        assert refused.error.code == common_pb2.POLICY_VIOLATION

    ReplicaStage().run(story)


@pytest.mark.parametrize("flush_messages", [1, 1000])
@pytest.mark.parametrize("offset", [30, 35, 60])
def test_a_replica_that_comes_back_behind_the_log_start_begins_anew(
    offset: int, flush_messages: int
) -> None:
    """At offset 35 the leader's log start lies within a batch."""

    async def story(stage: ReplicaStage) -> None:
        stage.create(min_insync_replicas=2, flush_messages=flush_messages)
        await stage.until_opened(1, 2, 3)
        await stage.must_produce(1, *[b"x"] * 10)
        await stage.until_equal(1, 2, 3)
        stage.crash(3)
        stage.elect(1, isr=(1, 2))
        for _ in range(5):
            await stage.must_produce(1, *[b"y"] * 10)
        assert (await stage.delete_records(1, offset)).low_watermark == offset
        stage.start(3)
        await stage.until_opened(3)
        await stage.until(lambda: len(stage.state().isr) == 3)
        assert stage.hosted(3).log.recovery_point == 60 or flush_messages > 1
        await stage.must_produce(1, b"z")
        await stage.until(lambda: starts(stage) == [offset] * 3)
        await stage.until_equal(1, 2, 3)
        assert stage.hosted(3).log.segments[0].base_offset >= 30

    ReplicaStage().run(story)


def test_a_replica_whose_epochs_the_leader_has_deleted_keeps_its_records() -> None:
    """It ends where the leader's log begins: nothing diverges, and it is not cut."""

    async def story(stage: ReplicaStage) -> None:
        await ten_records(stage, segment_bytes=100)
        stage.kill(3)
        stage.elect(2, isr=(1, 2))
        for _ in range(5):
            await stage.must_produce(2, b"y")
        await stage.delete_records(2, 10)
        assert stage.hosted(2).log.epoch_end_offset(0) == (0, 10)
        stage.start(3)
        await stage.until_opened(3)
        await stage.until(lambda: len(stage.state().isr) == 3)
        assert stage.hosted(3).stats.truncated_records == 0
        await stage.until_equal(1, 2, 3)
        assert starts(stage) == [10, 10, 10]

    ReplicaStage().run(story)


def test_a_replica_that_comes_back_within_what_compaction_joined_finds_where_to_go_on() -> None:
    """Its log ends where the leader has one empty batch in the place of many."""

    async def story(stage: ReplicaStage) -> None:
        stage.create(
            cleanup_policy="compact",
            segment_bytes=300,
            min_cleanable_dirty_ratio="0.01",
            min_insync_replicas=2,
        )
        await stage.until_opened(1, 2, 3)

        async def replace_value(count: int) -> None:
            for number in range(count):
                records = encode_batch([Record(0, 1, b"key", b"%d" % number)])
                await stage.produce_raw(
                    1, PartitionProduceData(topic=TOPIC, partition=0, records=records)
                )

        await replace_value(15)
        await stage.until_equal(1, 2, 3)
        stage.kill(3)
        stage.elect(1, isr=(1, 2))
        await replace_value(15)
        await stage.until(lambda: stage.hosted(1).log.first_dirty_offset > 20)
        first = stage.hosted(1).log.read(14, max_bytes=1, upper_bound=30).records
        assert parse_header(first).base_offset < 14 < parse_header(first).last_offset
        stage.start(3)
        await stage.until_opened(3)
        await stage.until(lambda: len(stage.state().isr) == 3)
        await replace_value(1)
        await stage.until(lambda: {stage.hosted(n).log.log_end_offset for n in (1, 3)} == {31})

    config = replace(CONFIG, cleaner=CleanerConfig(backoff_ms=100))
    ReplicaStage(config).run(story)


def test_a_damaged_batch_below_the_end_of_an_empty_log_is_not_asked_for_again_at_once() -> None:
    async def story(stage: ReplicaStage) -> None:
        stage.create()
        await stage.until_opened(1, 2, 3)
        stage.cut(3)

        async def work(_: ReplicaManager) -> None:
            hosted = stage.hosted(3)
            await hosted.log.restart_at(5)
            asked = following.next_fetch(hosted, max_bytes=1000)
            assert asked is not None
            records = batch(b"a", b"b", b"c", b"d", base_offset=3, epoch=0)
            result = PartitionFetchResult(records=records[:-1] + b"!", high_watermark=7)
            rest = following.apply_fetched(
                hosted, asked, result, result.records, retry_at_ms=1 << 60
            )
            assert rest is not None
            await rest
            assert hosted.retry_fetch_at_ms == 1 << 60

        await stage.on(3, work)
        assert stage.hosted(3).log.log_end_offset == 3

    ReplicaStage().run(story)


def test_old_segments_go_and_the_log_start_with_them_on_every_replica() -> None:
    async def story(stage: ReplicaStage) -> None:
        await ten_records(
            stage,
            retention_ms=-1,
            retention_bytes=400,
            segment_bytes=150,
            file_delete_delay_ms=1000,
        )
        before = [len(stage.disk(one).list(f"/data/{TOPIC}-0")) for one in (1, 2, 3)]
        await stage.until(lambda: min(starts(stage)) > 0)
        await asyncio.sleep(5)
        assert len(set(starts(stage))) == 1
        leader = stage.hosted(1).replica.leader
        assert leader is not None
        assert leader.low_watermark == starts(stage)[0]
        for broker_id, count in zip((1, 2, 3), before, strict=True):
            names = stage.disk(broker_id).list(f"/data/{TOPIC}-0")
            assert len(names) < count
            assert not [name for name in names if name.endswith(".deleted")]

    config = replace(
        CONFIG, log_retention_check_interval_ms=1000, log_deleted_check_interval_ms=1000
    )
    ReplicaStage(config).run(story)


def test_offsets_are_found_by_time_among_what_is_committed() -> None:
    async def story(stage: ReplicaStage) -> None:
        stage.create()
        await stage.until_opened(1, 2, 3)
        for timestamp_ms in (1000, 3000, 2000):
            records = encode_batch([Record(0, timestamp_ms, None, b"v")])
            data = PartitionProduceData(topic=TOPIC, partition=0, records=records)
            await stage.produce_raw(1, data)
        stage.cut(2, 3)
        newest = encode_batch([Record(0, 9000, None, b"not committed")])
        data = PartitionProduceData(topic=TOPIC, partition=0, records=newest)
        await stage.produce_raw(1, data, acks=1)
        at = ListOffsetsRequest.TIMESTAMP
        for timestamp_ms, found in ((0, (0, 1000)), (1001, (1, 3000)), (3000, (1, 3000))):
            result = await stage.offsets(1, at, timestamp_ms=timestamp_ms)
            assert (result.offset, result.timestamp_ms, result.leader_epoch) == (*found, 0)
        result = await stage.offsets(1, at, timestamp_ms=3001)
        assert (result.offset, result.leader_epoch) == (-1, -1)
        assert not result.HasField("timestamp_ms")
        result = await stage.offsets(1, ListOffsetsRequest.MAX_TIMESTAMP)
        assert (result.offset, result.timestamp_ms) == (1, 3000)
        assert (await stage.offsets(2, at)).error.code == common_pb2.NOT_LEADER_OR_FOLLOWER

    ReplicaStage().run(story)


def test_an_unknown_kind_of_offset_is_refused() -> None:
    async def story(stage: ReplicaStage) -> None:
        stage.create()
        await stage.until_opened(1)
        result = await stage.offsets(1, 99)  # type: ignore[arg-type]  # a newer client's
        assert result.error.code == common_pb2.INVALID_REQUEST
        assert result.offset == -1

    ReplicaStage().run(story)


def test_flush_ms_brings_records_to_stable_storage_without_anyone_asking() -> None:
    async def story(stage: ReplicaStage) -> None:
        stage.create(replicas=(1,), flush_ms=3000)
        await stage.until_opened(1)
        await stage.must_produce(1, b"a")
        await asyncio.sleep(2)
        assert stage.hosted(1).log.recovery_point == 0
        await asyncio.sleep(3)
        assert stage.hosted(1).log.recovery_point == 1

    ReplicaStage().run(story)


def test_a_log_rests_again_though_nobody_came_to_await_its_work() -> None:
    async def story(stage: ReplicaStage) -> None:
        stage.create()
        await stage.until_opened(1, 2, 3)
        ended: list[str] = []

        async def work(*, fails: bool) -> None:
            await asyncio.sleep(0.1)
            ended.append("failed" if fails else "done")
            if fails:
                raise StorageError("the disk refuses")

        async def story(_: ReplicaManager) -> None:
            hosted = stage.hosted(3)
            hosted.at_rest_after(work(fails=False))  # and whoever was to await it raised
            await asyncio.sleep(1)
            hosted.at_rest_after(work(fails=True)).cancel()  # before its first step
            await asyncio.sleep(1)
            async with asyncio.timeout(5):
                await hosted.close()

        await stage.on(3, story)
        assert ended == ["done"]

    ReplicaStage().run(story)
