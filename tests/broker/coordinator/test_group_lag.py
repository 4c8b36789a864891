"""The look at lag: whom it asks, how long it waits, how much it takes, and what it leaves out."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from tests.broker.coordinator.test_group_shard import CONFIG, Shards

from tidelog.broker.coordinator import group_lag
from tidelog.broker.coordinator.coordinator_records import CoordinatorRecord
from tidelog.broker.coordinator.group_lag import ANSWERS_TIMEOUT_MS, ROWS_MAX, GroupLag
from tidelog.broker.coordinator.group_metrics import (
    GROUPS_SHOWN_MAX,
    SERIES_MAX,
    SERIES_PER_GROUP,
    SERIES_PER_PARTITION,
    GroupMetrics,
)
from tidelog.broker.coordinator.lag_plan import PARTITIONS_PER_REQUEST
from tidelog.broker.coordinator.runtime import Status
from tidelog.core.errors import UnreachableError
from tidelog.core.system import SystemClock
from tidelog.v1 import common_pb2
from tidelog.v1.coordinator_records_pb2 import CoordinatorKey, OffsetCommitKey, OffsetCommitValue
from tidelog.v1.data_pb2 import ListOffsetsRequest, ListOffsetsResponse

pytestmark = pytest.mark.asyncio
END = 100


@dataclass
class Partition:
    leader_id: int | None


@dataclass
class Topic:
    name: str
    topic_id: bytes
    partitions: list[Partition]


class Image:
    """An image with one topic, whose partition n broker n % 3 + 1 leads."""

    def __init__(self, partitions: int) -> None:
        numbers = range(partitions)
        self.topic = Topic("orders", b"o" * 16, [Partition(one % 3 + 1) for one in numbers])

    def topic_by_id(self, topic_id: bytes) -> Topic | None:
        return self.topic if topic_id == self.topic.topic_id else None


@dataclass(eq=False)
class Led:
    """The part of a `Hosted` that is looked at."""

    shard: Any
    status: Status = Status.ACTIVE


@dataclass
class Looks:
    """A look at one shard; brokers answer as the test says."""

    partitions: int = 9
    asked: list[tuple[int, ListOffsetsRequest]] = field(default_factory=list)
    silent: set[int] = field(default_factory=set)
    unreachable: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.image: Any = Image(self.partitions)
        self.led = Led(Shards(CONFIG).shard)
        self.lag = GroupLag(
            refresh_ms=10_000, image=lambda: self.image, ask=self.ask, clock=SystemClock()
        )
        self.metrics = GroupMetrics(self, self.lag)  # type: ignore[arg-type]  # its part

    def active(self) -> Iterator[Any]:
        return iter([self.led] if self.led.status is Status.ACTIVE else [])

    async def ask(self, broker_id: int, request: ListOffsetsRequest) -> ListOffsetsResponse:
        self.asked.append((broker_id, request))
        if broker_id in self.unreachable:
            raise UnreachableError("gone")
        if broker_id in self.silent:
            await asyncio.sleep(3_600)
        response = ListOffsetsResponse()
        for one in request.partitions:
            response.partitions.add(topic=one.topic, partition=one.partition, offset=END)
        return response

    def commit(self, group_id: str, *numbers: int, offset: int = 40) -> None:
        for number in numbers:
            key = OffsetCommitKey(group_id=group_id, topic_id=b"o" * 16, partition=number)
            value = OffsetCommitValue(offset=offset, topic="orders")
            record = CoordinatorRecord(CoordinatorKey(offset_commit=key), value)
            self.led.shard.replay(record)

    def lags(self) -> dict[tuple[str, int], int | None]:
        return {(one.group_id, one.partition): one.lag for one in self.lag.rows()}


async def test_each_leader_is_asked_once_for_the_partitions_of_all_groups() -> None:
    looks = Looks()
    looks.commit("g", 0, 1, 2, 3)
    looks.commit("h", 0, 1, offset=200)
    await looks.lag.refresh(looks.active)
    assert [(broker, len(one.partitions)) for broker, one in looks.asked] == [
        (1, 2),
        (2, 1),
        (3, 1),
    ]
    assert {one.spec for _, request in looks.asked for one in request.partitions} == {
        ListOffsetsRequest.LATEST
    }
    assert looks.lags() == {**{("g", one): 60 for one in range(4)}, ("h", 0): 0, ("h", 1): 0}
    assert looks.lag.unknown == 0


async def test_many_partitions_of_a_leader_are_asked_for_in_several_requests() -> None:
    looks = Looks(partitions=3 * PARTITIONS_PER_REQUEST + 3)
    looks.commit("g", *range(3 * PARTITIONS_PER_REQUEST + 3))
    await looks.lag.refresh(looks.active)
    sizes = [len(one.partitions) for broker, one in looks.asked if broker == 1]
    assert sizes == [PARTITIONS_PER_REQUEST, 1]
    assert set(looks.lags().values()) == {60}


async def test_a_silent_broker_costs_its_time_and_leaves_its_partitions_without_a_lag() -> None:
    looks = Looks()
    looks.commit("g", *range(9))
    await looks.lag.refresh(looks.active)
    looks.silent, looks.unreachable = {2}, {3}
    began = asyncio.get_running_loop().time()
    await looks.lag.refresh(looks.active)
    assert asyncio.get_running_loop().time() - began < ANSWERS_TIMEOUT_MS / 1000 + 0.1
    assert looks.lags() == {("g", number): 60 if number % 3 == 0 else None for number in range(9)}
    assert looks.lag.unknown == 6
    looks.silent, looks.unreachable = set(), set()
    await looks.lag.refresh(looks.active)
    assert set(looks.lags().values()) == {60}


async def test_a_partition_without_a_leader_or_with_an_error_has_no_lag() -> None:
    looks = Looks()
    looks.commit("g", 0, 1, 2)
    looks.image.topic.partitions[1].leader_id = None
    answer = looks.ask

    async def refuse(broker_id: int, request: ListOffsetsRequest) -> ListOffsetsResponse:
        response = await answer(broker_id, request)
        for one in response.partitions:
            if one.partition == 2:
                one.error.code, one.offset = common_pb2.NOT_LEADER_OR_FOLLOWER, -1
        response.partitions.add(topic="foreign", partition=0, offset=7)  # nobody asked for it
        return response

    looks.lag._ask = refuse
    await looks.lag.refresh(looks.active)
    assert looks.lags() == {("g", 0): 60, ("g", 1): None, ("g", 2): None}


async def test_a_partition_that_is_gone_is_not_asked_for() -> None:
    looks = Looks(partitions=2)
    looks.commit("g", 0, 5)
    await looks.lag.refresh(looks.active)
    assert looks.lags() == {("g", 0): 60, ("g", 5): None}


async def test_when_the_leadership_is_over_its_lag_is_gone() -> None:
    looks = Looks()
    looks.commit("g", 0)
    await looks.lag.refresh(looks.active)
    looks.led.status = Status.OVER
    assert looks.lags() == {}


async def test_only_so_many_committed_offsets_are_looked_up() -> None:
    looks = Looks(partitions=ROWS_MAX)
    looks.commit("g", *range(ROWS_MAX - 10))
    looks.commit("h", *range(30))
    looks.commit("i", 0)
    await looks.lag.refresh(looks.active)
    assert len(looks.lags()) == ROWS_MAX
    assert looks.lag.left_out == 21


async def test_there_are_only_so_many_series_and_the_others_are_counted() -> None:
    looks = Looks(partitions=ROWS_MAX)
    for number in range(GROUPS_SHOWN_MAX + 50):
        looks.commit(f"g{number}", *range(5))
    await looks.lag.refresh(looks.active)
    series = [sample for family in looks.metrics.families() for sample in family.samples]
    assert len(series) == SERIES_MAX
    partitions = (SERIES_MAX - SERIES_PER_GROUP * GROUPS_SHOWN_MAX) // SERIES_PER_PARTITION
    offsets = 5 * (GROUPS_SHOWN_MAX + 50)
    assert looks.metrics.stats()["group_series_left_out"] == (
        SERIES_PER_GROUP * 50 + SERIES_PER_PARTITION * (offsets - partitions)
    )


async def test_the_loop_is_free_between_groups() -> None:
    looks = Looks()
    for number in range(3 * group_lag.GROUPS_PER_TURN):
        looks.commit(f"g{number}", 0)
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    counting = asyncio.create_task(count())
    await looks.lag.refresh(looks.active)
    counting.cancel()
    assert turns >= 3
