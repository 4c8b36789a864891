"""What replicas know of idempotent producers through failover, truncation, restarts and time."""

from __future__ import annotations

import asyncio
from random import Random as PythonRandom

import pytest
from tests.broker.replica_stage import LAG_S, TOPIC, ReplicaStage
from tests.log.partition_logs import Producer, batch

from tidelog.broker.partition.replica_config import ReplicaConfig
from tidelog.v1 import common_pb2
from tidelog.v1.data_pb2 import PartitionProduceData, PartitionProduceResult

pytestmark = pytest.mark.sim

OUT_OF_ORDER = common_pb2.OUT_OF_ORDER_SEQUENCE_NUMBER


def numbered(sequence: int, *, epoch: int = 0) -> bytes:
    """A batch of producer 7, of one record that says its sequence."""
    return batch(b"%d.%d" % (epoch, sequence), producer=Producer(7, epoch, sequence))


async def send(
    stage: ReplicaStage, leader: int, sequence: int, *, epoch: int = 0, timeout_ms: int = 5000
) -> PartitionProduceResult:
    records = numbered(sequence, epoch=epoch)
    data = PartitionProduceData(topic=TOPIC, partition=0, records=records)
    response = await stage.produce_raw(leader, data, timeout_ms=timeout_ms)
    return response.partitions[0]


async def sent(stage: ReplicaStage, leader: int, sequence: int, *, epoch: int = 0) -> int:
    """The base offset that the leader answers."""
    result = await send(stage, leader, sequence, epoch=epoch)
    assert result.error.code == common_pb2.NONE, result.error
    return result.base_offset


async def code_of(
    stage: ReplicaStage, leader: int, sequence: int, *, epoch: int = 0
) -> common_pb2.ErrorCode:
    result = await send(stage, leader, sequence, epoch=epoch)
    assert result.base_offset == -1
    return result.error.code


async def lead(stage: ReplicaStage, leader: int, *, isr: tuple[int, ...] = (1, 2, 3)) -> None:
    stage.elect(leader, isr=isr)
    await stage.until(lambda: stage.hosted(leader).replica.leader is not None)


def test_a_duplicate_is_known_after_its_leader_crashed_and_answered_once_committed() -> None:
    async def story(stage: ReplicaStage) -> None:
        stage.create()
        await stage.until_opened(1, 2, 3)
        assert await sent(stage, 1, 0) == 0
        stage.cut(3)
        unanswered = asyncio.create_task(send(stage, 1, 1))
        await stage.until(lambda: stage.hosted(2).log.log_end_offset == 2)
        stage.kill(1)
        unanswered.cancel()
        await lead(stage, 2, isr=(2, 3))
        late = await send(stage, 2, 1, timeout_ms=50)
        assert late.error.code == common_pb2.REQUEST_TIMED_OUT, "replica 3 has it not yet"
        stage.heal()
        assert await sent(stage, 2, 1) == 1
        assert await code_of(stage, 2, 3) == OUT_OF_ORDER
        assert await sent(stage, 2, 2) == 2
        await stage.until_equal(2, 3)
        assert await stage.consume(2) == [b"0.0", b"0.1", b"0.2"]

    ReplicaStage().run(story)


def test_an_older_epoch_is_fenced_and_a_gap_refused_by_every_next_leader() -> None:
    async def story(stage: ReplicaStage) -> None:
        stage.create()
        await stage.until_opened(1, 2, 3)
        await sent(stage, 1, 0)
        await sent(stage, 1, 0, epoch=1)
        for leader in (1, 2, 3):
            if leader != 1:
                await lead(stage, leader)
                await stage.until_equal(1, 2, 3)
            assert await code_of(stage, leader, 1) == common_pb2.INVALID_PRODUCER_EPOCH
            assert await code_of(stage, leader, 2, epoch=1) == OUT_OF_ORDER
            assert await code_of(stage, leader, 1, epoch=2) == OUT_OF_ORDER
            assert await sent(stage, leader, 0, epoch=1) == 1
        assert stage.hosted(3).log.log_end_offset == 2

    ReplicaStage().run(story)


def test_what_was_truncated_is_no_duplicate_what_was_kept_is() -> None:
    async def story(stage: ReplicaStage) -> None:
        stage.create()
        await stage.until_opened(1, 2, 3)
        await sent(stage, 1, 0)
        stage.cut(1)
        stage.blind.append(1)
        lost = asyncio.create_task(send(stage, 1, 1))
        await stage.until(lambda: stage.hosted(1).log.log_end_offset == 2)
        await lead(stage, 2, isr=(2, 3))
        await stage.must_produce(2, b"other")
        stage.heal()
        stage.blind.clear()
        stage.publish(1)
        assert (await lost).error.code == common_pb2.REQUEST_TIMED_OUT
        await stage.until_equal(1, 2, 3)
        await stage.until(lambda: set(stage.state().isr) == {1, 2, 3})
        await lead(stage, 1)
        assert await sent(stage, 1, 0) == 0
        assert await sent(stage, 1, 1) == 2
        assert await stage.consume(1) == [b"0.0", b"other", b"0.1"]

    ReplicaStage().run(story)


@pytest.mark.parametrize("is_power_cut", [False, True])
def test_a_replica_that_comes_back_knows_what_its_batches_tell(*, is_power_cut: bool) -> None:
    async def story(stage: ReplicaStage) -> None:
        stage.create()
        await stage.until_opened(1, 2, 3)
        for sequence in range(7):
            await sent(stage, 1, sequence)
        if is_power_cut:
            stage.crash(2)
        else:
            stage.kill(2)
        await asyncio.sleep(2 * LAG_S)
        stage.start(2)
        await stage.until_opened(2)
        await stage.until(lambda: set(stage.state().isr) == {1, 2, 3})
        await lead(stage, 2)
        await stage.until_equal(1, 2, 3)
        assert [await sent(stage, 2, sequence) for sequence in range(2, 7)] == [2, 3, 4, 5, 6]
        assert await code_of(stage, 2, 1) == OUT_OF_ORDER, "five batches are remembered"
        assert await sent(stage, 2, 7) == 7

    ReplicaStage().run(story)


@pytest.mark.parametrize("seed", range(6))
def test_five_in_flight_are_stored_in_order_whatever_order_they_come_in(seed: int) -> None:
    async def story(stage: ReplicaStage) -> None:
        stage.create()
        await stage.until_opened(1, 2, 3)
        assert await sent(stage, 1, 0) == 0
        random, missing = PythonRandom(seed), [1, 2, 3, 4, 5]
        while missing:
            arrivals = missing + random.sample(missing, len(missing) // 2)
            random.shuffle(arrivals)
            results = await asyncio.gather(*(send(stage, 1, sequence) for sequence in arrivals))
            for sequence, result in zip(arrivals, results, strict=True):
                if result.error.code:
                    assert result.error.code == OUT_OF_ORDER
                else:
                    assert result.base_offset == sequence
                    missing = [one for one in missing if one != sequence]
        await stage.until_equal(1, 2, 3)
        assert await stage.consume(1) == [b"0.%d" % sequence for sequence in range(6)]

    ReplicaStage().run(story)


def test_batches_of_one_request_are_taken_in_their_order() -> None:
    async def story(stage: ReplicaStage) -> None:
        stage.create()
        await stage.until_opened(1, 2, 3)
        fields = [
            PartitionProduceData(topic=TOPIC, partition=0, records=numbered(sequence))
            for sequence in (0, 1, 2, 1, 4)
        ]
        results = (await stage.produce_raw(1, *fields)).partitions
        found = [(result.error.code, result.base_offset) for result in results]
        assert found == [(0, 0), (0, 1), (0, 2), (0, 1), (OUT_OF_ORDER, -1)]

    ReplicaStage().run(story)


def test_a_silent_producer_is_forgotten_after_producer_id_expiration_ms() -> None:
    async def story(stage: ReplicaStage) -> None:
        stage.create()
        await stage.until_opened(1, 2, 3)
        assert await sent(stage, 1, 5) == 0
        await asyncio.sleep(1.0)
        assert await sent(stage, 1, 5) == 0, "a duplicate is no new append, but not silence enough"
        await asyncio.sleep(2.5)
        assert await sent(stage, 1, 5) == 1
        assert await code_of(stage, 1, 5, epoch=1) == OUT_OF_ORDER

    config = ReplicaConfig(
        replica_lag_time_max_ms=1000,
        replica_fetch_timeout_ms=1000,
        log_retention_check_interval_ms=100,
        producer_id_expiration_ms=2_000,
    )
    ReplicaStage(config).run(story)
