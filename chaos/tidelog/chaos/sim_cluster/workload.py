"""Clients of the cluster suite: producers with unique values, readers that read along, an admin.

Owns what clients ask, and the history of what they were told. A topic's incarnation ends when its
deletion has ended; its producers and readers end before it is created again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

from tidelog.chaos.history import Outcome, Send
from tidelog.chaos.sim_cluster.readers import read_all, read_along
from tidelog.chaos.sim_cluster.world import World
from tidelog.chaos.sim_cluster.world_config import CHURNED, ProducerPlan, TopicPlan
from tidelog.chaos.sim_stage.clock import SimRandom
from tidelog.chaos.sim_stage.cluster import ClientPorts
from tidelog.client import Producer, RecordMetadata
from tidelog.client.admin import Admin
from tidelog.client.errors import (
    ClientClosedError,
    InvalidProducerEpochError,
    TidelogError,
)
from tidelog.v1 import common_pb2

CHURN_S_MIN, CHURN_S_MAX = 0.5, 3.0
REPLACED_PROBABILITY = 0.2
"""Of a producer of which a send has just failed."""
REFUSED_WAIT_S = 0.2
_BEYOND_REPAIR = (ClientClosedError, InvalidProducerEpochError)


@dataclass(slots=True)
class Incarnation:
    """One life of a topic, and who works with it."""

    plan: TopicPlan
    number: int
    is_over: bool = False
    tasks: list[asyncio.Task[None]] = field(default_factory=list)


class Workload:
    """All clients of one run."""

    def __init__(self, world: World, random: SimRandom) -> None:
        self.world = world
        self.acknowledged = 0
        self.unended = 0
        self.is_churn_over = False
        self.is_held = False
        """Producers begin nothing for now."""
        self._random = random
        self._numbers = 0
        self._incarnations: dict[str, Incarnation] = {}
        self._pending: dict[int, Callable[[], Send]] = {}
        self._hosts: dict[str, ClientPorts] = {}
        self._admin = Admin(world.bootstrap, **self.ports("admin"))

    @property
    def operations(self) -> int:
        """Calls begun."""
        return self._numbers

    def next_number(self) -> int:
        """The next place in the order of all calls."""
        self._numbers += 1
        return self._numbers

    def ports(self, name: str) -> dict[str, Any]:  # keyword arguments of every client
        """A client's way to the cluster, from a host of its own."""
        ports = self._hosts.get(name)
        if ports is None:
            ports = self._hosts[name] = self.world.cluster.new_client(name)
            self.world.client_hosts.append(name)
        return {"transport": ports.transport, "clock": ports.clock, "random": ports.random}

    # The story

    async def begin(self) -> None:
        """Create all topics; producers and readers start."""
        for plan in self.world.config.topics:
            await self._create(plan)
            self._begin(plan, 0)

    async def churn(self) -> None:
        """Until it is over: what operators do on a working day, drawn."""
        while not self.is_churn_over:
            await asyncio.sleep(self._random.uniform(CHURN_S_MIN, CHURN_S_MAX))
            topic = self._one_of(self.world.config.topics)
            try:
                await self._one_of(
                    [self._elect, self._elect_unclean, self._configure, self.recreate]
                )(topic)
            except TidelogError as error:
                self.world.timeline.note("admin", f"{topic.name}: {error}")

    async def stop_sending(self) -> None:
        """Returns when every send has ended."""
        for incarnation in self._incarnations.values():
            incarnation.is_over = True
        for incarnation in self._incarnations.values():
            await asyncio.gather(*incarnation.tasks)

    async def close(self) -> None:
        """Release the admin, write down what never ended."""
        await self._admin.close()
        self.write_pending()

    def write_pending(self) -> None:
        """What has not ended is in the history, too."""
        self.world.history.sends += [send() for send in self._pending.values()]
        self._pending.clear()

    async def read_all(self) -> None:
        """Everything there is, by readers of their own. Errors: as `readers.read_all`."""
        for incarnation in self._incarnations.values():
            ports = self.ports("reader-final")
            await read_all(self.world, incarnation, ports=ports, next_number=self.next_number)

    # Admin

    async def _create(self, plan: TopicPlan) -> None:
        """Until it is there; a call that was not answered may have created it."""
        self.world.timeline.note("admin", f"creates {plan.name}")
        while True:
            try:
                await self._admin.create_topic(
                    plan.name,
                    partitions=plan.partitions,
                    replication_factor=min(3, len(self.world.config.broker_ids)),
                    configs=plan.configs(),
                )
            except TidelogError as error:
                if error.code == common_pb2.TOPIC_ALREADY_EXISTS:
                    return
                self.world.timeline.note("admin", f"{plan.name} not created: {error}")
                await asyncio.sleep(REFUSED_WAIT_S)
            else:
                return

    async def _delete(self, plan: TopicPlan) -> None:
        self.world.timeline.note("admin", f"deletes {plan.name}")
        while True:
            try:
                await self._admin.delete_topics([plan.name])
            except TidelogError as error:
                if error.code == common_pb2.UNKNOWN_TOPIC_OR_PARTITION:
                    return
                await asyncio.sleep(REFUSED_WAIT_S)
            else:
                return

    async def recreate(self, plan: TopicPlan) -> None:
        """Delete it under load, and create it again; only the topic that is meant for it."""
        if plan.name != CHURNED:
            return
        old = self._incarnations[plan.name]
        await self._delete(plan)
        old.is_over = True
        await asyncio.gather(*old.tasks)
        await self._create(plan)
        self.world.findings.coverage["recreated_topics"] += 1
        self._begin(plan, old.number + 1)

    async def _elect(self, plan: TopicPlan) -> None:
        await self._admin.elect_leaders([plan.name])

    async def _elect_unclean(self, plan: TopicPlan) -> None:
        if plan.is_lossy:
            await self._admin.elect_leaders([plan.name], unclean=True)

    async def _configure(self, plan: TopicPlan) -> None:
        segment_bytes = str(self._random.randrange(600, 20_000))
        await self._admin.alter_configs(plan.name, {"segment.bytes": segment_bytes})

    # Clients

    def _begin(self, plan: TopicPlan, number: int) -> None:
        incarnation = self._incarnations[plan.name] = Incarnation(plan, number)
        for producer in self.world.config.producers:
            if producer.topic == plan.name:
                work = _Sender(self, producer, incarnation, self._random.fork(producer.name)).run()
                incarnation.tasks.append(asyncio.create_task(work, name=producer.name))
        reading = read_along(
            self.world,
            incarnation,
            name=f"reader-{plan.name}-{number}",
            ports=self.ports(f"reader-{plan.name}"),
            next_number=self.next_number,
        )
        incarnation.tasks.append(asyncio.create_task(reading, name=f"reader-{plan.name}"))

    def invoke(self, begun: Callable[[], Send]) -> int:
        """A send begins: `begun` is it as long as it has no end."""
        self.unended += 1
        number = self.next_number()
        self._pending[number] = begun
        return number

    def end(self, number: int, send: Send) -> None:
        """It ended."""
        self.unended -= 1
        del self._pending[number]
        self.world.history.sends.append(send)
        self.acknowledged += send.outcome == "ok"
        if send.outcome == "unknown":
            self.world.findings.coverage["unknown_outcomes"] += 1
        if self.world.timeline.is_kept:
            end = send.offset if send.outcome == "ok" else f"{send.outcome}: {send.reason}"
            place = f"{send.topic}-{send.partition}"
            self.world.timeline.note(send.process, f"{place} {send.value[:24]!r}: {end}")

    def _one_of(self, items: Any) -> Any:  # a sequence of anything
        return items[self._random.randrange(0, len(items))]


class _Sender:
    """One producer after another under its plan: who cannot go on is replaced."""

    def __init__(
        self, workload: Workload, plan: ProducerPlan, incarnation: Incarnation, random: SimRandom
    ) -> None:
        self._workload = workload
        self._world = workload.world
        self._plan = plan
        self._incarnation = incarnation
        self._random = random
        self._sent = 0
        self._is_wanted = True

    async def run(self) -> None:
        generation = 0
        while not self._incarnation.is_over:
            generation += 1
            name = f"{self._plan.name}.{self._incarnation.number}.{generation}"
            self._is_wanted = True
            async with self._producer() as producer:
                while self._is_wanted and not self._incarnation.is_over:
                    await asyncio.sleep(self._random.uniform(0, self._plan.pause_s_max))
                    if not self._workload.is_held:
                        await self._burst(producer, name)

    def _producer(self) -> Producer:
        acks: Literal["all", 1] = "all" if self._plan.acks == -1 else 1
        return Producer(
            self._world.bootstrap,
            acks=acks,
            enable_idempotence=acks == "all",
            request_timeout_ms=self._plan.request_timeout_ms,
            delivery_timeout_ms=self._plan.delivery_timeout_ms,
            max_block_ms=5_000,
            **self._workload.ports(self._plan.name),
        )

    async def _burst(self, producer: Producer, name: str) -> None:
        for _ in range(self._random.randrange(1, self._plan.burst_max + 1)):
            self._sent += 1
            head = f"{name}/{self._sent}/"
            value = head.encode().ljust(self._plan.value_bytes, b".")
            partition = self._random.randrange(0, self._incarnation.plan.partitions)
            await self._send(producer, name, partition, value)

    async def _send(self, producer: Producer, name: str, where: int, value: bytes) -> None:
        invoked_s = self._world.now_s
        number = self._workload.next_number()

        def sent(
            outcome: Outcome, ended_s: float | None, offset: int | None = None, reason: str = ""
        ) -> Send:
            return Send(
                process=name,
                number=number,
                topic=self._plan.topic,
                incarnation=self._incarnation.number,
                partition=where,
                value=value,
                acks=self._plan.acks,
                is_idempotent=self._plan.acks == -1,
                invoked_s=invoked_s,
                ended_s=ended_s,
                outcome=outcome,
                offset=offset,
                reason=reason,
            )

        key = self._workload.invoke(lambda: sent("unknown", None))
        try:
            future = await producer.submit(self._plan.topic, value=value, partition=where)
        except TidelogError as error:
            outcome: Outcome = "unknown" if error.is_outcome_unknown else "fail"
            self._workload.end(key, sent(outcome, self._world.now_s, reason=str(error)))
            await asyncio.sleep(REFUSED_WAIT_S)
        else:
            future.add_done_callback(partial(self._on_done, key, sent))

    def _on_done(
        self, key: int, sent: Callable[..., Send], future: asyncio.Future[RecordMetadata]
    ) -> None:
        error = future.exception()
        now_s = self._world.now_s
        if error is None:
            self._workload.end(key, sent("ok", now_s, offset=future.result().offset))
            return
        is_unknown = not isinstance(error, TidelogError) or error.is_outcome_unknown
        self._workload.end(key, sent("unknown" if is_unknown else "fail", now_s, reason=str(error)))
        if isinstance(error, _BEYOND_REPAIR) or self._random.random() < REPLACED_PROBABILITY:
            self._is_wanted = False
