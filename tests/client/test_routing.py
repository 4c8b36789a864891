"""Whom a client asks for metadata: not again and again a broker that has no news."""

from __future__ import annotations

import asyncio
from typing import Any

from tidelog.client.backoff import Backoff
from tidelog.client.ports import ClientPorts
from tidelog.client.records import TopicPartition
from tidelog.client.routing import Routing, RoutingConfig
from tidelog.log.system import SystemClock, SystemRandom
from tidelog.v1.common_pb2 import Endpoint
from tidelog.v1.data_pb2 import MetadataResponse

CUT_OFF, OTHER = "node1:1", "node2:1"


class Brokers:
    """Two; the first is cut off from the controllers and knows of the first epoch alone."""

    def __init__(self) -> None:
        self.newest_epoch = 1
        self.asked: list[str] = []

    async def call(self, address: str, *_: Any, timeout_ms: int) -> Any:  # of any method
        self.asked.append(address)
        epoch = 1 if address == CUT_OFF else self.newest_epoch
        brokers = [Endpoint(node_id=1, address=CUT_OFF), Endpoint(node_id=2, address=OTHER)]
        response = MetadataResponse(brokers=brokers)
        topic = response.topics.add(name="t", topic_id=b"1")
        topic.partitions.add(partition=0, leader_id=epoch, leader_epoch=epoch)
        return response


async def test_a_broker_without_news_is_not_the_first_to_be_asked_the_next_time() -> None:
    brokers: Any = Brokers()
    ports = ClientPorts(brokers, SystemClock(), SystemRandom(), None)
    config = RoutingConfig(backoff=Backoff(initial_ms=1, max_ms=1))
    routing = Routing([CUT_OFF, OTHER], ports=ports, config=config)
    answered = asyncio.Event()
    routing.on_change(answered.set)
    await routing.topic("t", timeout_ms=1000)

    brokers.newest_epoch = 2
    for _ in range(2):
        answered.clear()
        routing.request_refresh()
        await asyncio.wait_for(answered.wait(), 5)

    leader = routing.metadata.leader(TopicPartition("t", 0))
    assert leader is not None
    assert leader.address == OTHER
    assert brokers.asked == [CUT_OFF, CUT_OFF, OTHER]
    await routing.close()
