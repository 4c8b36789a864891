"""A disk that fails one replica: it hands over, takes nothing more, and is back when it may be."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.broker.replica_stage import LAG_S, TOPIC, ReplicaStage
from tests.log.partition_logs import batch

from tidelog.core.errors import StorageError
from tidelog.v1 import common_pb2
from tidelog.v1.controller_pb2 import ReportReplicaStateRequest, ReportReplicaStateResponse
from tidelog.v1.data_pb2 import PartitionProduceData, PartitionProduceResult

pytestmark = pytest.mark.sim

SEGMENT = f"/data/{TOPIC}-0/00000000000000000000.log"


async def three_records(stage: ReplicaStage, **configs: Any) -> None:
    stage.create(min_insync_replicas=2, **configs)
    await stage.until_opened(1, 2, 3)
    for number in range(3):
        await stage.must_produce(1, b"%d" % number)
    await stage.until_equal(1, 2, 3)


async def produce(stage: ReplicaStage, broker_id: int) -> PartitionProduceResult:
    return await stage.produce(broker_id, b"x")


def fill(stage: ReplicaStage, broker_id: int) -> None:
    """Nothing more fits on the broker's disk."""
    stage.disk(broker_id).capacity_bytes = stage.disk(broker_id).used_bytes()


def test_a_leader_that_cannot_write_hands_over_and_nothing_acknowledged_is_lost() -> None:
    async def story(stage: ReplicaStage) -> None:
        await three_records(stage)
        stage.disk(1).faults.fail("write", SEGMENT, count=1)
        refused = await produce(stage, 1)
        assert refused.error.code == common_pb2.KAFKA_STORAGE_ERROR, "definite: nothing is there"
        await stage.until(lambda: stage.state().leader_id == 2, within_s=LAG_S / 2)
        assert stage.state().isr == (2, 3)
        assert stage.state().offline == (1,)
        await stage.must_produce(2, b"3")
        assert (await produce(stage, 1)).error.code == common_pb2.KAFKA_STORAGE_ERROR
        assert await stage.consume(2) == [b"0", b"1", b"2", b"3"]

    ReplicaStage().run(story)


def test_what_failed_in_a_request_does_not_acknowledge_the_rest_of_it() -> None:
    async def story(stage: ReplicaStage) -> None:
        stage.create(partitions=2, min_insync_replicas=2)
        await stage.until_opened(1, 2, 3)
        await stage.until(lambda: stage.hosted(1, 1).is_open)
        stage.cut(1)
        stage.disk(1).faults.fail("write", SEGMENT, spared=1, count=1)
        one, other, elsewhere = [
            PartitionProduceData(topic=TOPIC, partition=number, records=batch(b"x"))
            for number in (0, 0, 1)
        ]
        reply = await stage.produce_raw(1, one, other, elsewhere, timeout_ms=50)
        assert [result.error.code for result in reply.partitions] == [
            common_pb2.REQUEST_TIMED_OUT,
            common_pb2.KAFKA_STORAGE_ERROR,
            common_pb2.REQUEST_TIMED_OUT,
        ]

    ReplicaStage().run(story)


def test_a_failed_fsync_is_final_until_the_broker_starts_anew() -> None:
    async def story(stage: ReplicaStage) -> None:
        await three_records(stage, flush_messages=1)
        stage.disk(1).faults.fail("sync", SEGMENT, count=1)
        result = await produce(stage, 1)
        assert result.error.code == common_pb2.REQUEST_TIMED_OUT, "unknown: followers may have it"
        await stage.until(lambda: stage.state().leader_id == 2, within_s=LAG_S / 2)
        await stage.until(lambda: stage.hosted(1).is_failed)
        before = stage.disk(1).syncs
        with pytest.raises(TimeoutError):
            await stage.until(lambda: not stage.hosted(1).is_failed, within_s=5 * LAG_S)
        assert stage.disk(1).syncs == before, "it was not asked again"
        assert stage.state().offline == (1,)
        stage.kill(1)
        stage.start(1)
        await stage.until(lambda: len(stage.state().isr) == 3)
        await stage.until_equal(1, 2, 3)

    ReplicaStage().run(story)


def test_a_follower_whose_fsync_fails_leaves_the_isr_at_once() -> None:
    async def story(stage: ReplicaStage) -> None:
        await three_records(stage, flush_messages=1)
        stage.disk(3).faults.fail("sync", SEGMENT, count=1)
        await stage.must_produce(1, b"3")
        await stage.until(lambda: stage.state().offline == (3,), within_s=LAG_S / 4)
        assert (stage.state().leader_id, stage.state().isr) == (1, (1, 2))

    ReplicaStage().run(story)


def test_a_fsync_that_fails_after_a_full_disk_is_final_too() -> None:
    async def story(stage: ReplicaStage) -> None:
        await three_records(stage)
        fill(stage, 1)
        assert (await produce(stage, 1)).error.code == common_pb2.KAFKA_STORAGE_ERROR
        hosted = stage.hosted(1)
        stage.disk(1).faults.fail("sync", SEGMENT, count=1)

        async def fail(_: object) -> None:
            with pytest.raises(StorageError, match="Input/output") as failed:
                await stage.disk(1).open(SEGMENT).sync()
            hosted.fail(failed.value)

        await stage.on(1, fail)
        stage.disk(1).capacity_bytes = None
        with pytest.raises(TimeoutError):
            await stage.until(lambda: stage.hosted(1) is not hosted, within_s=5 * LAG_S)

    ReplicaStage().run(story)


def test_what_gets_worse_while_a_report_is_answered_is_told_too() -> None:
    async def story(stage: ReplicaStage) -> None:
        await three_records(stage)
        stage.kill(3)
        stage.elect(1, isr=(1, 2))
        await asyncio.sleep(LAG_S / 10)
        hosted, reports = stage.hosted(1), stage.manager(1)._reports
        report = reports._report_state
        error = StorageError("cannot sync: Input/output error")
        error.is_sync_failure = True

        async def worsen(request: ReportReplicaStateRequest) -> ReportReplicaStateResponse:
            response = await report(request)
            hosted.fail(error)
            return response

        reports._report_state = worsen
        fill(stage, 1)
        await produce(stage, 1)
        await stage.until(lambda: stage.state().offline == (1,))
        await stage.until(lambda: stage.state().elr == ())

    ReplicaStage().run(story)


@pytest.mark.parametrize("broker_id", [1, 3], ids=["leader", "follower"])
def test_on_a_full_disk_a_replica_hands_over_and_catches_up_when_there_is_space(
    broker_id: int,
) -> None:
    async def story(stage: ReplicaStage) -> None:
        await three_records(stage)
        fill(stage, broker_id)
        if broker_id == 1:
            assert (await produce(stage, 1)).error.code == common_pb2.KAFKA_STORAGE_ERROR
        else:
            await stage.must_produce(1, b"taken by the others")
        await stage.until(lambda: stage.state().offline == (broker_id,), within_s=LAG_S / 2)
        leader_id = 2 if broker_id == 1 else 1
        assert stage.state().leader_id == leader_id
        await stage.must_produce(leader_id, b"3")
        before = stage.state().partition_epoch
        with pytest.raises(TimeoutError):
            await stage.until(lambda: not stage.state().offline, within_s=5 * LAG_S)
        assert stage.state().partition_epoch == before, "without space it is left alone"
        stage.disk(broker_id).capacity_bytes = None
        await stage.until(lambda: len(stage.state().isr) == 3)
        await stage.until_equal(1, 2, 3)
        assert stage.state().offline == ()
        assert not stage.disk(broker_id).exists("/data/.space")

    ReplicaStage().run(story)


def test_damage_found_when_a_full_log_is_opened_anew_heals_first() -> None:
    async def story(stage: ReplicaStage) -> None:
        await three_records(stage, segment_bytes=150, flush_messages=1)
        await asyncio.sleep(6)  # a checkpoint says what is on stable storage
        disk = stage.disk(3)
        fill(stage, 3)
        await stage.must_produce(1, b"taken by the others")
        await stage.until(lambda: stage.state().offline == (3,), within_s=LAG_S / 2)
        names = [name for name in disk.list(f"/data/{TOPIC}-0") if name.endswith(".log")]
        disk.remove(f"/data/{TOPIC}-0/{names[1]}")
        disk.capacity_bytes = None
        await stage.until(lambda: stage.state().damaged == (3,))
        await stage.until(lambda: len(stage.state().isr) == 3, within_s=10 * LAG_S)
        await stage.until_equal(1, 2, 3)
        assert (stage.state().offline, stage.state().damaged) == ((), ())

    ReplicaStage().run(story)


def test_a_full_log_is_not_opened_anew_before_the_controllers_know() -> None:
    """They would still have it lead, in an epoch in which it can do so no more."""

    async def story(stage: ReplicaStage) -> None:
        await three_records(stage)
        stage.is_deaf_to_damage = True
        fill(stage, 1)
        assert (await produce(stage, 1)).error.code == common_pb2.KAFKA_STORAGE_ERROR
        stage.disk(1).capacity_bytes = None
        failed = stage.hosted(1)
        with pytest.raises(TimeoutError):
            await stage.until(lambda: stage.hosted(1) is not failed, within_s=3 * LAG_S)
        stage.is_deaf_to_damage = False
        await stage.until(lambda: stage.state().leader_id == 2)
        await stage.until(lambda: len(stage.state().isr) == 3)

    ReplicaStage().run(story)


def test_the_last_replica_that_was_full_leads_again_when_there_is_space() -> None:
    async def story(stage: ReplicaStage) -> None:
        stage.create(replicas=(1,))
        await stage.until_opened(1)
        await stage.must_produce(1, b"a")
        fill(stage, 1)
        assert (await produce(stage, 1)).error.code == common_pb2.KAFKA_STORAGE_ERROR
        await stage.until(lambda: stage.state().leader_id is None)
        assert stage.state().elr == (1,)
        stage.disk(1).capacity_bytes = None
        await stage.until(lambda: stage.state().leader_id == 1)
        await stage.until(lambda: stage.hosted(1).replica.leader is not None)
        await stage.must_produce(1, b"b")
        assert await stage.consume(1) == [b"a", b"b"]

    ReplicaStage().run(story)


def test_a_log_that_cannot_be_opened_is_told_before_the_broker_is_prepared() -> None:
    async def story(stage: ReplicaStage) -> None:
        await three_records(stage)
        stage.kill(3)
        stage.disk(3).faults.fail("open", SEGMENT)
        stage.start(3)
        stage.blind.append(3)
        stage.publish(3)
        stage.is_deaf_to_damage = True
        await stage.until(lambda: stage.manager(3).stats()["offline_replicas"] == 1)
        assert not stage.manager(3).is_prepared
        stage.is_deaf_to_damage = False
        stage.blind.remove(3)
        stage.publish(3)
        await stage.until(lambda: stage.state().offline == (3,))
        await stage.until(lambda: stage.manager(3).is_prepared)

    ReplicaStage().run(story)
