"""Consumers of a group on real nodes, and what their listeners hear."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import Any

from tests.client.real_cluster import ADDRESSES, BOOTSTRAP, RealCluster, encoded, started

from tidelog.client import Consumer, RebalanceListener, Record, TopicPartition
from tidelog.core.system import SystemClock

AnyConsumer = Consumer[Any, Any]


class Heard(RebalanceListener):
    """What a listener was called with."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, set[int]]] = []

    def _note(self, what: str, partitions: Sequence[TopicPartition]) -> None:
        self.calls.append((what, {one.partition for one in partitions}))

    async def on_partitions_assigned(
        self, consumer: AnyConsumer, partitions: Sequence[TopicPartition]
    ) -> None:
        del consumer
        self._note("assigned", partitions)

    async def on_partitions_revoked(
        self, consumer: AnyConsumer, partitions: Sequence[TopicPartition]
    ) -> None:
        del consumer
        self._note("revoked", partitions)

    async def on_partitions_lost(
        self, consumer: AnyConsumer, partitions: Sequence[TopicPartition]
    ) -> None:
        del consumer
        self._note("lost", partitions)


async def orders_cluster() -> RealCluster:
    """A cluster with the topic orders: four partitions of five records, a batch each."""
    cluster = await started()
    topic = await cluster.create("orders", partitions=4)
    for partition in topic.partitions:
        for number in range(5):
            await partition.append(encoded([b"%d" % number]))
    return cluster


def consumer(cluster: RealCluster, group_id: str = "g", **options: Any) -> AnyConsumer:
    return Consumer(BOOTSTRAP, group_id=group_id, transport=cluster, **options)


async def read(reader: AnyConsumer, count: int) -> list[Record[Any, Any]]:
    """Read so many records."""
    found: list[Record[Any, Any]] = []
    async with asyncio.timeout(60):
        while len(found) < count:
            found += await reader.getmany(timeout_ms=1_000)
    return found


def places(records: Iterable[Record[Any, Any]]) -> set[tuple[int, int]]:
    return {(one.partition, one.offset) for one in records}


ALL = {(partition, offset) for partition in range(4) for offset in range(5)}


async def read_on(reader: AnyConsumer) -> None:
    while True:
        await reader.getmany(timeout_ms=100)


def kill(reader: AnyConsumer) -> None:
    """End a consumer as the end of its process would: its connections break."""
    group: Any = reader._group
    for task in (*group._tasks, *group._member._tasks):
        task.cancel()


def not_led_by(cluster: RealCluster, address: str) -> list[TopicPartition]:
    return [
        TopicPartition("orders", one.partition)
        for one in cluster.image.topics["orders"].partitions
        if one.leader_id is not None and ADDRESSES[one.leader_id] != address
    ]


class SleptClock(SystemClock):
    """A clock that goes on while its process does not."""

    def __init__(self) -> None:
        self.slept_ms = 0

    def monotonic_ms(self) -> int:
        return super().monotonic_ms() + self.slept_ms
