"""An append that comes before its partition is open waits for a part of its time-out, in order."""

from __future__ import annotations

import asyncio
import gc
from dataclasses import replace
from typing import Any

import pytest
from tests.broker.replica_stage import CONFIG, TOPIC, ReplicaStage
from tests.log.partition_logs import batch

from tidelog.broker.partition import opening_appends
from tidelog.broker.partition.opening_appends import OpeningAppends
from tidelog.broker.partition.produce import Produce, ProduceData, ProduceResult
from tidelog.broker.replica_manager import ReplicaManager
from tidelog.core.errors import (
    KafkaError,
    LeaderNotAvailableError,
    NotLeaderOrFollowerError,
    UnknownTopicOrPartitionError,
)
from tidelog.v1 import common_pb2

WHERE = "t", 0
OPENING = LeaderNotAvailableError("opening")
UNKNOWN = UnknownTopicOrPartitionError("unknown")
LIMITS = replace(CONFIG, opening_waits_max=3, opening_wait_ms_max=500, unknown_topic_wait_ms_max=50)


class Stage:
    """Appends to one partition, and what a look-up of it raises."""

    def __init__(self) -> None:
        self.began_s = asyncio.get_running_loop().time()
        self.openings = OpeningAppends(LIMITS)
        self.state: KafkaError | None = OPENING
        self.done: list[tuple[int, str, int]] = []
        """Number, outcome and time in ms of each append, in their order."""
        self._tasks: list[asyncio.Task[None]] = []

    def find(self) -> None:
        if self.state is not None:
            raise self.state

    def append(self, number: int, timeout_ms: int = 10_000) -> None:
        held = self.openings.enter(WHERE, self.state)
        task = asyncio.get_running_loop().create_task(self._append(held, number, timeout_ms))
        task.add_done_callback(lambda _: self.openings.leave(WHERE, held))
        self._tasks.append(task)

    async def _append(self, held: Any, number: int, timeout_ms: int) -> None:
        outcome = "stored"
        try:
            await self.openings.opened(WHERE, held, self.find, timeout_ms=timeout_ms)
        except KafkaError as error:
            outcome = type(error).__name__
        now_ms = round((asyncio.get_running_loop().time() - self.began_s) * 1000)
        self.done.append((number, outcome, now_ms))

    async def end(self) -> list[tuple[int, str]]:
        await asyncio.gather(*self._tasks)
        assert self.openings.waiting == 0
        assert self.openings.is_free(WHERE)
        assert not self.openings._refused
        return [(number, outcome) for number, outcome, _ in self.done]


async def test_appends_wait_until_the_partition_is_open_and_keep_their_order() -> None:
    stage = Stage()
    for number in range(3):
        stage.append(number)
        await asyncio.sleep(0.02)
    assert stage.done == []
    stage.state = None
    assert await stage.end() == [(n, "stored") for n in range(3)]
    assert stage.done[-1][2] <= 100


async def test_the_wait_is_bounded_by_the_brokers_limit_and_by_the_time_out() -> None:
    stage = Stage()
    stage.append(0)
    assert await stage.end() == [(0, "LeaderNotAvailableError")]
    assert 450 <= stage.done[0][2] <= 500
    stage = Stage()
    stage.append(0, timeout_ms=100)
    await stage.end()
    assert 70 <= stage.done[0][2] <= 100


async def test_a_topic_that_is_not_there_is_waited_for_less_long() -> None:
    stage = Stage()
    stage.state = UNKNOWN
    stage.append(0)
    assert await stage.end() == [(0, "UnknownTopicOrPartitionError")]
    assert 25 <= stage.done[0][2] <= 50


async def test_one_that_another_broker_leads_is_not_waited_for() -> None:
    stage = Stage()
    stage.append(0)
    await asyncio.sleep(0.01)
    stage.state = NotLeaderOrFollowerError("elsewhere")
    assert await stage.end() == [(0, "NotLeaderOrFollowerError")]
    assert stage.done[0][2] <= 40


async def test_what_came_while_a_refused_one_waited_is_refused_with_it() -> None:
    stage = Stage()
    stage.append(0)
    await asyncio.sleep(0.4)
    stage.append(1)
    stage.append(2)
    while not stage.done:  # noqa: ASYNC110  # the first is refused
        await asyncio.sleep(0.001)
    stage.state = None  # and the partition is open at this moment
    assert await stage.end() == [(n, "LeaderNotAvailableError") for n in range(3)]


async def test_no_more_than_so_many_wait() -> None:
    stage = Stage()
    for number in range(3):
        stage.append(number)
    with pytest.raises(LeaderNotAvailableError, match="opening"):
        stage.append(3)
    with pytest.raises(LeaderNotAvailableError, match="batches before this one"):
        stage.openings.enter(WHERE, None)
    stage.state = None
    assert await stage.end() == [(n, "stored") for n in range(3)]


@pytest.mark.sim
@pytest.mark.parametrize("topic_id", [b"", bytes(16)], ids=["by its name", "by its id alone"])
def test_what_comes_before_a_partition_is_open_waits_in_order(
    topic_id: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opening_appends, "_LOOK_S", 0.15)
    monkeypatch.setattr(opening_appends, "_LOOK_MAX_S", 0.15)

    async def send(stage: ReplicaStage, manager: ReplicaManager) -> None:
        def begin(*numbers: int) -> list[asyncio.Task[list[ProduceResult]]]:
            # As Produce of version 13 is read: the name is what the broker knows of the id.
            known = not topic_id or TOPIC in manager._partitions.image.topics
            name = TOPIC if known else ""
            data = (ProduceData(name, 0, memoryview(batch(b"%d" % n)), topic_id) for n in numbers)
            requests = (Produce(1, 5_000, [one], 100) for one in data)
            return [asyncio.create_task(manager.appender.produce(one)) for one in requests]

        sent = begin(0, 1, 2)
        await asyncio.sleep(0.02)
        stage.create(replicas=(1,))
        held = manager._partitions.held
        await stage.until(lambda: (TOPIC, 0) in held)
        sent += begin(3)
        await stage.until(lambda: held[TOPIC, 0].replica.leader is not None)
        assert manager.appender.openings.waiting == 4, "they look again later"
        sent += begin(4, 5)
        assert [(await one)[0].base_offset for one in sent] == list(range(6))
        assert manager.appender.openings.waiting == 0

    async def story(stage: ReplicaStage) -> None:
        await stage.on(1, lambda manager: send(stage, manager))
        assert await stage.consume(1) == [b"%d" % n for n in range(6)]

    ReplicaStage().run(story)


@pytest.mark.sim
def test_a_partition_that_does_not_open_is_refused_in_a_retriable_way() -> None:
    async def story(stage: ReplicaStage) -> None:
        stage.create(replicas=(1,))
        await stage.until(lambda: (TOPIC, 0) in stage.manager(1)._partitions.held)
        result = await stage.produce(1, b"a")
        assert result.error.code == common_pb2.LEADER_NOT_AVAILABLE

    ReplicaStage(replace(CONFIG, opening_wait_ms_max=0)).run(story)


@pytest.mark.sim
def test_appends_that_may_not_wait_leave_no_garbage_that_only_a_collection_finds() -> None:
    async def send(stage: ReplicaStage, manager: ReplicaManager) -> None:
        unknown = [ProduceData("unknown", one, memoryview(batch(b"v"))) for one in range(1_000)]
        gc.collect()
        await manager.appender.produce(Produce(1, 5_000, unknown, 100))
        assert gc.collect() < 1_000

    async def story(stage: ReplicaStage) -> None:
        await stage.on(1, lambda manager: send(stage, manager))

    ReplicaStage(replace(CONFIG, opening_waits_max=0)).run(story)
