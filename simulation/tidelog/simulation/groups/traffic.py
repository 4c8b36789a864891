"""Topics and their producers: created, written to, grown, deleted and made again.

A value names its topic's incarnation, so that a record tells where it belongs. The producer of an
incarnation ends before the topic is deleted, and that of the next one begins when every running
broker knows it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field

from tidelog.chaos.node_inside import broker_of
from tidelog.chaos.workloads.plans import TopicPlan
from tidelog.client import Admin, Producer
from tidelog.client.errors import TidelogError
from tidelog.core.chance import SeededRandom
from tidelog.simulation.cluster.simulation import ClusterSimulation
from tidelog.simulation.groups.handouts import Place
from tidelog.simulation.groups.log_ends import high_watermark
from tidelog.v1 import common_pb2

RETRY_S = 0.2
NEWS_S = 0.02
REQUEST_MS, DELIVERY_MS = 1_500, 4_000
BURST_MAX = 5


def place_of(value: bytes, partition: int) -> Place:
    """Read from a record's value where it belongs."""
    topic, incarnation, _ = value.split(b"/")
    return Place(topic.decode(), int(incarnation), partition)


@dataclass(slots=True)
class Topic:
    """A topic, and its present incarnation."""

    plan: TopicPlan
    partitions: int
    incarnation: int = 0
    is_there: bool = False
    is_over: bool = False
    """True when the producer of this incarnation is to end."""
    producing: asyncio.Task[None] | None = None
    ids: dict[bytes, int] = field(default_factory=dict)
    """Incarnations by topic id."""


class Traffic:
    """The topics of the group's members, and who writes to them."""

    def __init__(
        self, base: ClusterSimulation, topics: tuple[TopicPlan, ...], random: SeededRandom
    ) -> None:
        self.acknowledged = 0
        self.topics = {plan.name: Topic(plan, plan.partitions) for plan in topics}
        self.is_quiet = False
        """True when nobody writes any more."""
        self.pause_s_max = 0.4
        self._base = base
        self._random = random
        self._sent = 0
        self.admin = Admin(base.bootstrap, **base.client_ports("admin"))

    async def begin(self) -> None:
        """Give the cluster its defaults, create all topics and write to them."""
        if self._base.cluster_defaults:
            await self._insist(self._set_defaults, is_done=None)
        for topic in self.topics.values():
            await self._create(topic)

    async def renew(self, topic: Topic) -> None:
        """Delete a topic, and make it again after a while."""
        topic.is_over = True
        if topic.producing is not None:
            await topic.producing
        topic.is_there = False
        self._base.note("admin", f"deletes {topic.plan.name}")
        await self._insist(
            lambda: self.admin.delete_topic(topic.plan.name),
            is_done=common_pb2.UNKNOWN_TOPIC_OR_PARTITION,
        )
        await asyncio.sleep(self._random.uniform(0.0, 1.0))
        topic.incarnation += 1
        topic.partitions = topic.plan.partitions
        await self._create(topic)
        self._base.count_event("topics_renewed")

    async def grow(self, topic: Topic) -> None:
        """Give a topic one more partition."""
        count = topic.partitions + 1
        self._base.note("admin", f"{topic.plan.name} grows to {count} partitions")
        await self._insist(
            lambda: self.admin.create_partitions(topic.plan.name, count),
            is_done=common_pb2.INVALID_PARTITIONS,
        )
        topic.partitions = count
        self._base.count_event("topics_grown")

    async def stop(self) -> None:
        """Write nothing more; returns when every send has ended."""
        self.is_quiet = True
        for topic in self.topics.values():
            topic.is_over = True
            if topic.producing is not None:
                await topic.producing

    def incarnation_of(self, topic_id: bytes) -> tuple[str, int] | None:
        """Name and incarnation of a topic id; None: not one of these."""
        for name, topic in self.topics.items():
            if topic_id in topic.ids:
                return name, topic.ids[topic_id]
        return None

    def ends(self) -> Iterator[tuple[Place, int]]:
        """Yield the high watermark of each partition of the present incarnations."""
        for name, topic in self.topics.items():
            for number in range(topic.partitions):
                yield (
                    Place(name, topic.incarnation, number),
                    high_watermark(self._base, name, number),
                )

    # Admin

    async def _set_defaults(self) -> None:
        self._base.note("admin", "sets the cluster's defaults")
        await self.admin.alter_configs(None, self._base.cluster_defaults)

    async def _create(self, topic: Topic) -> None:
        plan = topic.plan
        self._base.note("admin", f"creates {plan.name}, incarnation {topic.incarnation}")
        await self._insist(
            lambda: self.admin.create_topic(
                plan.name,
                partitions=topic.partitions,
                replication_factor=self._base.replication_factor,
                configs=plan.configs(),
            ),
            is_done=common_pb2.TOPIC_ALREADY_EXISTS,
        )
        await self._known_to_all(topic)
        topic.is_there = True
        topic.is_over = self.is_quiet
        if not self.is_quiet:
            topic.producing = asyncio.create_task(self._produce(topic), name=plan.name)

    async def _insist(self, call: Callable[[], Awaitable[object]], *, is_done: int | None) -> None:
        """Until it is so; a call that was not answered may have done it: `is_done` says so."""
        while True:
            try:
                await call()
            except TidelogError as error:
                if error.code == is_done:
                    return
                self._base.note("admin", f"{type(error).__name__} {error}")
                await asyncio.sleep(RETRY_S)
            else:
                return

    async def _known_to_all(self, topic: Topic) -> None:
        """Wait until every broker runs and knows the new incarnation; note its id at once."""
        name, before = topic.plan.name, set(topic.ids)  # only asked
        while True:
            made = self._base.image.topics.get(name)
            if made is not None:
                topic.ids.setdefault(made.topic_id, topic.incarnation)
            ids = [self._topic_id(node_id, name) for node_id in self._base.config.broker_ids]
            if len(set(ids)) == 1 and ids[0] is not None and ids[0] not in before:
                return
            await asyncio.sleep(NEWS_S)

    def _topic_id(self, node_id: int, name: str) -> bytes | None:
        node = self._base.machine(node_id).node
        broker = None if node is None else broker_of(node)
        found = None if broker is None else broker.follower.image.topics.get(name)
        return None if found is None else found.topic_id

    # Producers

    async def _produce(self, topic: Topic) -> None:
        name = f"producer-{topic.plan.name}-{topic.incarnation}"
        async with Producer(
            self._base.bootstrap,
            request_timeout_ms=REQUEST_MS,
            delivery_timeout_ms=DELIVERY_MS,
            max_block_ms=DELIVERY_MS,
            close_timeout_ms=DELIVERY_MS,
            **self._base.client_ports(name),
        ) as producer:
            while not topic.is_over:
                await asyncio.sleep(self._random.uniform(0.0, self.pause_s_max))
                partition = self._random.randrange(0, topic.partitions)
                values = [
                    self._value(topic) for _ in range(self._random.randrange(1, BURST_MAX + 1))
                ]
                try:
                    sent = await producer.send_many(topic.plan.name, values, partition=partition)
                except TidelogError as error:
                    self._base.note(name, f"{type(error).__name__} {error}")
                else:
                    self.acknowledged += sent.acknowledged

    def _value(self, topic: Topic) -> bytes:
        self._sent += 1
        return f"{topic.plan.name}/{topic.incarnation}/{self._sent}".encode()
