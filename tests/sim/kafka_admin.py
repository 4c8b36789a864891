"""Administration of a simulated cluster in Kafka's messages: short calls for tests."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any

from tests.sim.kafka_wire import WireClient, led_topic, listeners

from tidelog.kafka.apis import response_class
from tidelog.kafka.message import Message
from tidelog.kafka.messages.metadata_request import MetadataRequest
from tidelog.kafka.messages.metadata_response import MetadataResponse
from tidelog.kafka.messages.produce_request import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from tidelog.node.config import NodeConfig
from tidelog.records.records import BatchBuilder
from tidelog.simulation.cluster.cluster import SimCluster, SimClusterConfig

TOPIC = "t"
"""A topic of two partitions with three replicas each, which is there when a story begins."""


class AdminWorld:
    """A cluster of three brokers, and a connection to the leader of partition 0 of `TOPIC`."""

    def __init__(
        self, cluster: SimCluster, client: WireClient, leader_id: int, topic_id: bytes
    ) -> None:
        self.cluster = cluster
        self.client = client
        self.leader_id = leader_id
        self.topic_id = topic_id

    async def ask(self, request: Message, version: int) -> Any:  # the response of the API
        """Send a request to that broker and return the whole answer."""
        return await self.client.call(request, version, response_class(request.API_KEY))

    async def topics(self) -> set[str]:
        """Names of all topics that the asked broker knows."""
        answer = await self.client.call(MetadataRequest(topics=None), 13, MetadataResponse)
        return {one.name or "" for one in answer.topics}

    async def ask_node(self, node_id: int, request: Message, version: int) -> Any:  # as above
        """The same with another broker."""
        client = await WireClient.connect(self.cluster, f"node-{node_id}:9092")
        try:
            return await client.call(request, version, response_class(request.API_KEY))
        finally:
            client.leave()


def _three(config: NodeConfig) -> NodeConfig:
    defaults = replace(config.controller, num_partitions=2, default_replication_factor=3)
    return replace(config, controller=defaults)


def play(story: Callable[[AdminWorld], Coroutine[Any, Any, None]], *, seed: int = 3) -> None:
    """Run a story on a cluster that is up."""
    cluster = SimCluster(seed=seed, config=SimClusterConfig(listeners=listeners, configure=_three))

    async def main() -> None:
        async with asyncio.timeout(900):
            client, topic, leader_id = await led_topic(cluster, TOPIC)
            await story(AdminWorld(cluster, client, leader_id, topic.topic_id))

    try:
        cluster.run(main())
    finally:
        cluster.close()


async def write(
    world: AdminWorld, count: int, *, producer_id: int = -1, producer_epoch: int = -1
) -> None:
    """Write records to partition 0 at its leader; with a producer's id, its first ones."""
    builder = BatchBuilder()
    for _ in range(count):
        builder.append(timestamp_ms=1, key=None, value=b"v", headers=())
    batch = builder.build(
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=-1 if producer_id < 0 else 0,
    )
    data = TopicProduceData(
        name=TOPIC, partition_data=[PartitionProduceData(index=0, records=batch)]
    )
    for _ in range(100):
        request = ProduceRequest(acks=-1, timeout_ms=10_000, topic_data=[data])
        answer = await world.ask(request, 12)
        if not answer.responses[0].partition_responses[0].error_code:
            return
        await asyncio.sleep(0.1)
    raise AssertionError("no leader in time")
