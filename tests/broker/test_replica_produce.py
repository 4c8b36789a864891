"""What a producer hears: duplicates, refusals by their own codes, and a disk that gives out."""

from __future__ import annotations

import asyncio

import pytest
from tests.broker.replica_stage import LAG_S, TOPIC, ReplicaStage
from tests.log.cleaned_logs import but
from tests.log.partition_logs import batch

from tidelog.records.records import Record, encode_batch
from tidelog.v1 import common_pb2
from tidelog.v1.data_pb2 import PartitionProduceData, PartitionProduceResult

pytestmark = pytest.mark.sim

SEGMENT = f"/data/{TOPIC}-0/00000000000000000000.log"


def idempotent(*values: bytes, sequence: int, epoch: int = 0) -> bytes:
    """A batch of producer 7."""
    return but(batch(*values), producer_id=7, producer_epoch=epoch, base_sequence=sequence)


async def produce(
    stage: ReplicaStage, records: bytes, *, acks: int = -1, timeout_ms: int = 5000
) -> PartitionProduceResult:
    data = PartitionProduceData(topic=TOPIC, partition=0, records=records)
    response = await stage.produce_raw(1, data, acks=acks, timeout_ms=timeout_ms)
    return response.partitions[0]


async def refusal(stage: ReplicaStage, records: bytes) -> common_pb2.ErrorCode:
    result = await produce(stage, records)
    assert result.base_offset == -1
    return result.error.code


def test_a_duplicate_is_appended_once_and_answered_as_the_first() -> None:
    async def story(stage: ReplicaStage) -> None:
        stage.create()
        await stage.until_opened(1, 2, 3)
        await stage.must_produce(1, b"before")
        for _ in range(3):
            result = await produce(stage, idempotent(b"a", b"b", sequence=0))
            assert (result.error.code, result.base_offset) == (common_pb2.NONE, 1)
            await stage.must_produce(1, b"other")
        assert stage.hosted(1).log.log_end_offset == 6
        assert stage.manager(1).stats()["duplicate_batches"] == 2

    ReplicaStage().run(story)


def test_a_duplicate_is_acknowledged_no_sooner_than_the_first_is_committed() -> None:
    async def story(stage: ReplicaStage) -> None:
        stage.create()
        await stage.until_opened(1, 2, 3)
        stage.cut(3)
        first = asyncio.create_task(produce(stage, idempotent(b"a", sequence=0)))
        await asyncio.sleep(LAG_S / 10)
        await produce(stage, batch(b"more"), acks=1)
        again = await produce(stage, idempotent(b"a", sequence=0), timeout_ms=50)
        assert again.error.code == common_pb2.REQUEST_TIMED_OUT
        last = asyncio.create_task(produce(stage, idempotent(b"a", sequence=0)))
        await asyncio.sleep(LAG_S / 10)
        assert not first.done()
        assert not last.done()
        stage.heal()
        assert [(await one).base_offset for one in (first, last)] == [0, 0]
        assert stage.hosted(1).log.log_end_offset == 2

    ReplicaStage().run(story)


def test_a_duplicate_of_what_is_committed_waits_for_nothing_that_came_later() -> None:
    async def story(stage: ReplicaStage) -> None:
        stage.create()
        await stage.until_opened(1, 2, 3)
        await produce(stage, idempotent(b"a", sequence=0))
        stage.cut(3)
        await produce(stage, batch(b"more"), acks=1)
        async with asyncio.timeout(LAG_S / 4):
            result = await produce(stage, idempotent(b"a", sequence=0))
        assert (result.error.code, result.base_offset) == (common_pb2.NONE, 0)

    ReplicaStage().run(story)


def test_a_new_leader_knows_the_producers_of_the_old_one() -> None:
    async def story(stage: ReplicaStage) -> None:
        stage.create()
        await stage.until_opened(1, 2, 3)
        await produce(stage, idempotent(b"a", sequence=0))
        stage.elect(2, isr=(1, 2, 3))
        stage.elect(1, isr=(1, 2, 3))
        await stage.until_equal(1, 2, 3)
        result = await produce(stage, idempotent(b"a", sequence=0))
        assert (result.error.code, result.base_offset) == (common_pb2.NONE, 0)
        assert await refusal(stage, idempotent(b"c", sequence=2)) == (
            common_pb2.OUT_OF_ORDER_SEQUENCE_NUMBER
        )

    ReplicaStage().run(story)


def test_every_refusal_has_its_own_code_and_appends_nothing() -> None:
    async def story(stage: ReplicaStage) -> None:
        stage.create(
            cleanup_policy="compact", message_timestamp_before_max_ms=1000, min_insync_replicas=2
        )
        await stage.until_opened(1, 2, 3)
        now_ms = stage.clock(1).wall_ms()

        def keyed(timestamp_ms: int, sequence: int, *, epoch: int = 1) -> bytes:
            records = encode_batch([Record(0, timestamp_ms, b"key", b"v")])
            return but(records, producer_id=7, producer_epoch=epoch, base_sequence=sequence)

        assert (await produce(stage, keyed(now_ms, 0))).error.code == common_pb2.NONE
        unkeyed = encode_batch([Record(0, now_ms, None, b"v")])
        assert await refusal(stage, unkeyed) == common_pb2.INVALID_RECORD
        assert await refusal(stage, keyed(0, 1)) == common_pb2.INVALID_TIMESTAMP
        assert await refusal(stage, keyed(now_ms, 5)) == common_pb2.OUT_OF_ORDER_SEQUENCE_NUMBER
        assert await refusal(stage, keyed(now_ms, 1, epoch=0)) == common_pb2.INVALID_PRODUCER_EPOCH
        assert stage.hosted(1).log.log_end_offset == 1

    ReplicaStage().run(story)


def test_the_time_of_the_append_is_told_where_the_leader_sets_it() -> None:
    async def story(stage: ReplicaStage) -> None:
        stage.create(message_timestamp_type="LogAppendTime")
        await stage.until_opened(1, 2, 3)
        result = await produce(stage, batch(b"a"))
        assert abs(result.log_append_time_ms - stage.clock(1).wall_ms()) < 1000
        stage.delete()
        stage.create(topic_id=bytes([7]) * 16)
        await stage.until_opened(1, 2, 3)
        assert not (await produce(stage, batch(b"a"))).HasField("log_append_time_ms")

    ReplicaStage().run(story)


def test_what_a_failing_disk_did_not_take_is_certainly_not_appended() -> None:
    async def story(stage: ReplicaStage) -> None:
        stage.create(replicas=(1,))
        await stage.until_opened(1)
        await stage.must_produce(1, b"a")
        stage.disk(1).faults.fail("write", SEGMENT, count=1)
        assert await refusal(stage, batch(b"b")) == common_pb2.KAFKA_STORAGE_ERROR
        assert await refusal(stage, batch(b"c")) == common_pb2.KAFKA_STORAGE_ERROR
        stage.kill(1)
        stage.start(1)
        await stage.until_opened(1)
        assert await stage.consume(1) == [b"a"]

    ReplicaStage().run(story)


def test_an_append_that_could_not_be_cut_off_again_has_an_unknown_outcome() -> None:
    async def story(stage: ReplicaStage) -> None:
        stage.create(replicas=(1,))
        await stage.until_opened(1)
        for action in ("write", "truncate"):
            stage.disk(1).faults.fail(action, SEGMENT)
        assert await refusal(stage, batch(b"b")) == common_pb2.UNKNOWN_SERVER_ERROR

    ReplicaStage().run(story)


@pytest.mark.parametrize("acks", [1, -1])
def test_a_failed_flush_is_told_at_once_and_takes_the_partition_offline(acks: int) -> None:
    async def story(stage: ReplicaStage) -> None:
        stage.create(flush_messages=1)
        await stage.until_opened(1, 2, 3)
        await stage.must_produce(1, b"a")
        stage.disk(1).faults.fail("sync", SEGMENT)
        if acks == -1:
            stage.cut(3)
        async with asyncio.timeout(0.2):
            result = await produce(stage, batch(b"b"), acks=acks)
        assert result.error.code == common_pb2.REQUEST_TIMED_OUT
        assert await refusal(stage, batch(b"c")) == common_pb2.KAFKA_STORAGE_ERROR
        assert stage.manager(1).stats()["offline_replicas"] == 1

    ReplicaStage().run(story)
