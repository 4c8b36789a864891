"""A story told beside a simulated cluster of whole nodes: one topic, one partition, one client."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any, Literal

import structlog
from structlog.testing import capture_logs

from tidelog.client import Consumer, Producer, require_all
from tidelog.client.admin import Admin
from tidelog.client.admin.descriptions import PartitionDescription
from tidelog.client.errors import TidelogError
from tidelog.simulation.cluster.cluster import SimCluster, SimClusterConfig

TOPIC = "t"
WAIT_S = 60.0


class Story:
    """A cluster, a client, and what was acknowledged with acks=all."""

    def __init__(self, cluster: SimCluster) -> None:
        self.cluster = cluster
        self.acked: list[bytes] = []
        self.admin = Admin([cluster.address(one) for one in cluster.node_ids], **self.ports)

    @property
    def ports(self) -> dict[str, Any]:
        client = self.cluster.client
        return {"transport": client.transport, "clock": client.clock, "random": client.random}

    async def create(self, **configs: str) -> list[int]:
        """The topic's replicas, the leader first."""
        await self.until_alive(*self.cluster.node_ids)
        named = {name.replace("_", "."): value for name, value in configs.items()}
        await self.admin.create_topic(
            TOPIC, partitions=1, replication_factor=3, configs={"min.insync.replicas": "2", **named}
        )
        return list((await self.state()).replicas)

    async def state(self) -> PartitionDescription:
        return (await self.admin.describe_topic(TOPIC)).partitions[0]

    async def until(self, condition: Callable[[PartitionDescription], bool]) -> None:
        async with asyncio.timeout(WAIT_S):
            while True:
                try:
                    if condition(await self.state()):
                        return
                except TidelogError:
                    pass
                await asyncio.sleep(0.1)

    async def until_alive(self, *nodes: int) -> None:
        async with asyncio.timeout(WAIT_S):
            while True:
                try:
                    brokers = (await self.admin.describe_cluster()).brokers
                except TidelogError:
                    brokers = ()
                if {one.broker_id for one in brokers if not one.is_fenced} >= set(nodes):
                    return
                await asyncio.sleep(0.1)

    async def produce(self, count: int, *, acks: Literal["all", 1] = "all") -> None:
        addresses = [self.cluster.address(one) for one in self.cluster.node_ids]
        is_all = acks == "all"
        async with Producer(
            addresses, acks=acks, enable_idempotence=is_all, **self.ports
        ) as producer:
            for number in range(count):
                value = b"%s %d" % (str(acks).encode(), number + len(self.acked))
                await producer.send(TOPIC, value=value, partition=0)
                if is_all:
                    self.acked.append(value)

    async def read(self) -> list[bytes]:
        """All there is."""
        listed = require_all(await self.admin.list_offsets([(TOPIC, 0)], at="latest"))
        (end,) = (one.offset for one in listed.values())
        addresses = [self.cluster.address(one) for one in self.cluster.node_ids]
        consumer = Consumer(addresses, auto_offset_reset="none", **self.ports)
        consumer.assign([(TOPIC, 0)])
        consumer.seek((TOPIC, 0), 0)
        values: list[bytes] = []
        async with consumer:
            while len(values) < end:
                values.append((await anext(aiter(consumer))).value or b"")
        return values


def play(story: Callable[[Story], Coroutine[Any, Any, None]], *, seed: int = 1) -> list[Any]:
    """Tell it on five nodes; the log lines."""
    cluster = SimCluster(seed=seed, config=SimClusterConfig(node_ids=(1, 2, 3, 4, 5)))

    async def run_story() -> None:
        scenario = Story(cluster)
        await story(scenario)
        await scenario.admin.close()

    before = structlog.get_config()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.INFO))
    try:
        with capture_logs() as lines:
            cluster.run(run_story())
    finally:
        cluster.close()
        structlog.configure(**before)
    return lines
