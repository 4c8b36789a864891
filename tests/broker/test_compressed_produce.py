"""Compressed batches are inflated elsewhere: the loop goes on, order holds, all is asked again."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any, TypeVar

import pytest
from tests.broker.replica_stage import CONFIG, TOPIC, ReplicaStage
from tests.log.partition_logs import batch

from tidelog.broker.replica_manager import ReplicaManager
from tidelog.core.workers import ThreadWorkers
from tidelog.node.handlers.produce_codec import decode_produce, encode_produce
from tidelog.records.batch import parse_header, seal, set_sequence
from tidelog.records.compression import Codec, compress
from tidelog.records.records import Record, encode_batch
from tidelog.v1 import common_pb2
from tidelog.v1.data_pb2 import PartitionProduceData, PartitionProduceResult, ProduceRequest

T = TypeVar("T")
LEADER = 1
SMALL = 500
INLINE_BYTES = 50
"""So that batches of any size are long work."""


class Held:
    """Workers that begin nothing before they are told."""

    def __init__(self) -> None:
        self.waiting: list[asyncio.Event] = []
        self.done = 0

    async def run(self, work: Callable[[], T]) -> T:
        event = asyncio.Event()
        self.waiting.append(event)
        await event.wait()
        self.done += 1
        return work()


def packed(value: bytes, codec: Codec = Codec.GZIP) -> bytes:
    return encode_batch([Record(0, 1, b"k", value, ())], compression=codec)


def lying() -> bytes:
    good = packed(b"v")
    return seal(parse_header(good), compress(Codec.GZIP, bytes(100)))


async def send(
    manager: ReplicaManager, *batches: bytes, partition: int = 0
) -> list[PartitionProduceResult]:
    data = [PartitionProduceData(topic=TOPIC, partition=partition, records=one) for one in batches]
    request = ProduceRequest(acks=1, timeout_ms=5_000, partitions=data)
    results = await manager.appender.produce(decode_produce(request))
    return list(encode_produce(results).partitions)


Story = Callable[[ReplicaStage, ReplicaManager, Held], Coroutine[Any, Any, None]]


def run(story: Story, **config: Any) -> None:
    async def whole(stage: ReplicaStage) -> None:
        stage.create(partitions=2)
        await stage.until_opened(1, 2, 3)
        held = stage.manager(LEADER)._partitions.held
        await stage.until(lambda: all(one.replica.leader is not None for one in held.values()))
        await stage.on(LEADER, lambda manager: story(stage, manager, workers))

    workers = Held()
    stage = ReplicaStage(replace(CONFIG, inspection_inline_bytes_max=INLINE_BYTES, **config))
    stage.workers = workers
    stage.run(whole)


async def steps(count: int = 20) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


def base_offsets(*tasks: asyncio.Task[list[PartitionProduceResult]]) -> list[int]:
    for task in tasks:
        assert task.result()[0].error.code == common_pb2.NONE, task.result()[0].error
    return [task.result()[0].base_offset for task in tasks]


@pytest.mark.sim
def test_the_loop_goes_on_while_a_batch_is_inflated() -> None:
    async def story(stage: ReplicaStage, manager: ReplicaManager, workers: Held) -> None:
        slow = asyncio.create_task(send(manager, packed(b"slow")))
        await steps()
        (other,) = await send(manager, batch(b"other"), partition=1)
        assert other.base_offset == 0
        assert not slow.done()
        assert stage.hosted(LEADER).log.log_end_offset == 0, "nothing before it was seen to"
        workers.waiting[0].set()
        await slow
        assert base_offsets(slow) == [0]

    run(story)


@pytest.mark.sim
def test_whoever_came_later_is_appended_later_whatever_is_done_first() -> None:
    async def story(stage: ReplicaStage, manager: ReplicaManager, workers: Held) -> None:
        sent = [packed(b"0"), packed(b"1"), batch(b"2"), packed(b"3"), batch(b"4")]
        tasks = [asyncio.create_task(send(manager, one)) for one in sent]
        await steps()
        assert len(workers.waiting) == 3, "inflated beside each other"
        for event in reversed(workers.waiting):
            assert stage.hosted(LEADER).log.log_end_offset == 0
            event.set()
            await steps()
        await asyncio.gather(*tasks)
        assert base_offsets(*tasks) == [0, 1, 2, 3, 4]
        assert manager.appender._order.is_free(stage.hosted(LEADER))

    run(story)


@pytest.mark.sim
def test_sequences_of_an_idempotent_producer_stay_in_order() -> None:
    async def story(_: ReplicaStage, manager: ReplicaManager, workers: Held) -> None:
        sent = [
            set_sequence(packed(b"x"), producer_id=7, producer_epoch=0, base_sequence=sequence)
            for sequence in range(5)
        ]
        tasks = [asyncio.create_task(send(manager, one)) for one in sent]
        await steps()
        for place in (4, 2, 0, 3, 1):
            workers.waiting[place].set()
            await steps()
        await asyncio.gather(*tasks)
        assert base_offsets(*tasks) == [0, 1, 2, 3, 4]

    run(story)


@pytest.mark.sim
def test_a_batch_that_lies_is_refused_and_those_behind_it_are_not() -> None:
    async def story(_: ReplicaStage, manager: ReplicaManager, workers: Held) -> None:
        liar = asyncio.create_task(send(manager, lying()))
        honest = asyncio.create_task(send(manager, packed(b"v")))
        await steps()
        for event in workers.waiting:
            event.set()
        await asyncio.gather(liar, honest)
        assert liar.result()[0].error.code == common_pb2.INVALID_RECORD
        assert base_offsets(honest) == [0]

    run(story)


@pytest.mark.sim
def test_leadership_is_asked_for_again_when_the_batch_was_inflated() -> None:
    async def story(stage: ReplicaStage, manager: ReplicaManager, workers: Held) -> None:
        slow = asyncio.create_task(send(manager, packed(b"slow")))
        behind = asyncio.create_task(send(manager, batch(b"behind")))
        await steps()
        stage.elect(2, (1, 2, 3))
        while stage.hosted(LEADER).replica.leader is not None:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        workers.waiting[0].set()
        await asyncio.gather(slow, behind)
        for task in (slow, behind):
            assert task.result()[0].error.code == common_pb2.NOT_LEADER_OR_FOLLOWER
        assert stage.hosted(LEADER).log.log_end_offset == 0

    run(story)


@pytest.mark.sim
def test_a_topic_that_went_meanwhile_takes_nothing() -> None:
    async def story(stage: ReplicaStage, manager: ReplicaManager, workers: Held) -> None:
        slow = asyncio.create_task(send(manager, packed(b"slow")))
        await steps()
        stage.delete()
        while manager._partitions.held:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        workers.waiting[0].set()
        (result,) = await slow
        assert result.error.code == common_pb2.UNKNOWN_TOPIC_OR_PARTITION

    run(story)


@pytest.mark.sim
@pytest.mark.parametrize("started", [True, False])
def test_who_gives_up_lets_the_next_one_in(started: bool) -> None:
    async def story(stage: ReplicaStage, manager: ReplicaManager, workers: Held) -> None:
        first = asyncio.create_task(send(manager, packed(b"first")))
        await steps(1)  # its place is taken, the work on it is not begun
        if started:
            await steps()
        second = asyncio.create_task(send(manager, batch(b"second")))
        await steps(1)
        first.cancel()
        await asyncio.wait([first, second])
        assert base_offsets(second) == [0]
        assert manager.appender._order.is_free(stage.hosted(LEADER))

    run(story)


@pytest.mark.sim
def test_who_does_not_lead_inflates_nothing() -> None:
    async def story(stage: ReplicaStage, manager: ReplicaManager, workers: Held) -> None:
        stage.elect(2, (1, 2, 3))
        while stage.hosted(LEADER).replica.leader is not None:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        (result,) = await send(manager, packed(b"x"))
        assert result.error.code == common_pb2.NOT_LEADER_OR_FOLLOWER
        assert workers.waiting == []

    run(story)


@pytest.mark.sim
def test_an_operator_may_leave_compressed_batches_alone() -> None:
    async def story(_: ReplicaStage, manager: ReplicaManager, workers: Held) -> None:
        (result,) = await send(manager, lying())
        assert result.base_offset == 0
        assert workers.waiting == []

    run(story, compressed_records_inspection=False)


@pytest.mark.sim
def test_small_batches_are_seen_to_at_once() -> None:
    async def story(_: ReplicaStage, manager: ReplicaManager, workers: Held) -> None:
        (liar,) = await send(manager, lying())
        assert liar.error.code == common_pb2.INVALID_RECORD
        (honest,) = await send(manager, packed(b"v"))
        assert honest.base_offset == 0
        assert workers.waiting == []

    async def whole(stage: ReplicaStage) -> None:
        stage.create()
        await stage.until_opened(1, 2, 3)
        await stage.until(lambda: stage.hosted(LEADER).replica.leader is not None)
        await stage.on(LEADER, lambda manager: story(stage, manager, workers))

    workers = Held()
    stage = ReplicaStage()
    stage.workers = workers
    stage.run(whole)


async def test_few_threads_work_at_one_time_and_the_rest_waits() -> None:
    workers, gate = ThreadWorkers(2), threading.Event()
    begun: list[int] = []

    def work(number: int) -> int:
        begun.append(number)
        gate.wait(60)
        return number

    def of(number: int) -> Callable[[], int]:
        return lambda: work(number)

    tasks = [asyncio.create_task(workers.run(of(number))) for number in range(6)]
    while len(begun) < 2:  # noqa: ASYNC110  # of threads
        await asyncio.sleep(0)
    assert sorted(begun) == [0, 1]
    gate.set()
    assert await asyncio.gather(*tasks) == list(range(6))
    workers.close()
