"""Whom a client asks for metadata: not again and again a broker that has no news, or is silent."""

from __future__ import annotations

import asyncio
import gc
import weakref
from typing import Any, cast

from tidelog.client.backoff import Backoff
from tidelog.client.errors import CallFailedError
from tidelog.client.ports import ClientPorts
from tidelog.client.producing.producer_engine import METADATA_MAX_IDLE_MS
from tidelog.client.records import TopicPartition
from tidelog.client.routing import Routing, RoutingConfig
from tidelog.core.env import Clock
from tidelog.core.system import SystemClock, SystemRandom
from tidelog.net.transport import Transport
from tidelog.v1 import common_pb2
from tidelog.v1.common_pb2 import Endpoint
from tidelog.v1.data_pb2 import MetadataResponse

CUT_OFF, OTHER = "node1:1", "node2:1"


class Brokers:
    """Two; the first is cut off from the controllers and knows of the first epoch alone."""

    def __init__(self) -> None:
        self.newest_epoch = 1
        self.silent: set[str] = set()
        self.asked: list[str] = []

    async def call(self, address: str, *_: Any, timeout_ms: int) -> Any:  # of any method
        self.asked.append(address)
        if address in self.silent:
            raise CallFailedError("it did not answer in time")
        epoch = 1 if address == CUT_OFF else self.newest_epoch
        brokers = [Endpoint(node_id=1, address=CUT_OFF), Endpoint(node_id=2, address=OTHER)]
        response = MetadataResponse(brokers=brokers)
        topic = response.topics.add(name="t", topic_id=b"1")
        topic.partitions.add(partition=0, leader_id=epoch, leader_epoch=epoch)
        return response


class Answer:
    """A large one."""


async def refresh(routing: Routing) -> None:
    answered = asyncio.Event()
    routing.on_change(answered.set)
    routing.request_refresh()
    await asyncio.wait_for(answered.wait(), 5)


def routing_by(brokers: Any) -> Routing:  # one call of the transport's
    ports = ClientPorts(brokers, SystemClock(), SystemRandom(), None)
    config = RoutingConfig(backoff=Backoff(initial_ms=1, max_ms=1))
    return Routing([CUT_OFF, OTHER], ports=ports, config=config)


async def test_a_broker_without_news_is_not_the_first_to_be_asked_the_next_time() -> None:
    brokers = Brokers()
    routing = routing_by(brokers)
    await routing.topic("t", timeout_ms=1000)

    brokers.newest_epoch = 2
    await refresh(routing)
    await refresh(routing)

    leader = routing.metadata.leader(TopicPartition("t", 0))
    assert leader is not None
    assert leader.address == OTHER
    assert brokers.asked == [CUT_OFF, CUT_OFF, OTHER]
    await routing.close()


async def test_a_broker_that_did_not_answer_is_asked_after_all_others() -> None:
    brokers = Brokers()
    routing = routing_by(brokers)
    brokers.silent = {CUT_OFF}
    await routing.topic("t", timeout_ms=1000)
    for _ in range(4):  # without news the next one comes first, but for the silent one
        await refresh(routing)
    assert brokers.asked == [CUT_OFF, *[OTHER] * 5]

    brokers.silent = {OTHER}
    await refresh(routing)
    assert brokers.asked[-2:] == [OTHER, CUT_OFF], "it is asked when the others are silent too"
    await routing.close()


async def test_an_answer_is_freed_when_nobody_has_it_not_when_garbage_is_collected() -> None:
    async def answered() -> Answer:
        return Answer()

    routing = routing_by(Brokers())
    gc.disable()
    try:
        call = routing.while_it_leads(OTHER, answered(), partitions=[], answer_ms=0)
        kept = weakref.ref(await asyncio.create_task(call))
        del call
        await asyncio.sleep(0)  # the loop has the task, which woke this one, until then
        assert kept() is None
    finally:
        gc.enable()
    await routing.close()


class Creator:
    """A broker that creates the topics that a request may create, as it comes."""

    def __init__(self) -> None:
        self.topics: dict[str, bytes] = {}
        self.asked: list[tuple[list[str], bool]] = []
        self.now_ms = 0

    def monotonic_ms(self) -> int:
        """The client's clock."""
        return self.now_ms

    async def call(self, address: str, _: Any, request: Any, *, timeout_ms: int) -> Any:
        self.asked.append((list(request.topics), request.allow_auto_topic_creation))
        response = MetadataResponse(
            brokers=[Endpoint(node_id=1, address=address)], metadata_offset=len(self.asked)
        )
        for name in request.topics:
            topic = response.topics.add(name=name)
            if request.allow_auto_topic_creation:
                self.topics.setdefault(name, b"%d" % len(self.asked))
            if name in self.topics:
                topic.topic_id = self.topics[name]
                topic.partitions.add(partition=0, leader_id=1, leader_epoch=0)
            else:
                topic.error.code = common_pb2.UNKNOWN_TOPIC_OR_PARTITION
        return response


def routing_of_a_producer(broker: Creator) -> Routing:
    clock = cast("Clock", broker)
    ports = ClientPorts(cast("Transport", broker), clock, SystemRandom(), None)
    config = RoutingConfig(
        allow_auto_topic_creation=True,
        metadata_max_idle_ms=METADATA_MAX_IDLE_MS,
        backoff=Backoff(initial_ms=0, max_ms=0),
    )
    return Routing([OTHER], ports=ports, config=config)


async def test_only_a_topic_that_a_send_waits_for_may_be_created() -> None:
    broker = Creator()
    routing = routing_of_a_producer(broker)
    for name in ("gone", "kept"):
        await routing.topic(name, timeout_ms=1000)
    del broker.topics["gone"]
    await refresh(routing)
    waiting = asyncio.create_task(routing.topic("new", timeout_ms=1000))
    await asyncio.sleep(0)
    await refresh(routing)
    await waiting
    assert broker.topics.keys() == {"kept", "new"}
    assert broker.asked[2:] == [
        (["gone", "kept"], False),
        (["new"], True),
        (["gone", "kept"], False),
    ]
    assert routing.known("gone") is None
    await routing.topic("gone", timeout_ms=1000)
    assert broker.asked[5:] == [(["gone"], True)]
    await routing.close()


async def test_a_topic_that_nobody_used_for_long_is_forgotten() -> None:
    broker = Creator()
    routing = routing_of_a_producer(broker)
    for name in ("idle", "used", "buffered"):
        await routing.topic(name, timeout_ms=1000)
    routing.keep(lambda: {"buffered"})
    broker.now_ms = METADATA_MAX_IDLE_MS
    assert routing.known("used") is not None
    await refresh(routing)
    assert broker.asked[-1] == (["idle", "used", "buffered"], False)
    broker.now_ms += 1
    await refresh(routing)
    assert broker.asked[-1] == (["used", "buffered"], False)
    assert routing.known("idle") is None
    assert routing.metadata.leader(TopicPartition("idle", 0)) is None
    await routing.topic("idle", timeout_ms=1000)
    assert broker.asked[-1] == (["idle"], True)
    await routing.close()
