"""Producers: each value is sent once, and its outcome is written down.

Owns when is sent what, and who takes over from a producer that cannot go on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

from msgspec.structs import replace

from tidelog.chaos.workloads.clients import BrokenClientError, Clients, LoadProducer
from tidelog.chaos.workloads.plans import ProducerPlan, TopicPlan
from tidelog.chaos.workloads.record_parts import PartsDrawer
from tidelog.chaos.workloads.workload_port import WorkloadPort
from tidelog.client import RecordMetadata
from tidelog.client.errors import ClientClosedError, InvalidProducerEpochError, TidelogError
from tidelog.core.chance import SeededRandom
from tidelog.history.history import Outcome, Send

REPLACED_PROBABILITY = 0.2
"""Probability that a producer is replaced whose send has just failed."""
REFUSED_WAIT_S = 0.2
_BEYOND_REPAIR = (BrokenClientError, ClientClosedError, InvalidProducerEpochError)


@dataclass(slots=True)
class Incarnation:
    """A life of a topic, and its clients."""

    plan: TopicPlan
    number: int
    is_over: bool = False
    tasks: list[asyncio.Task[None]] = field(default_factory=list)


class SendBook(Protocol):
    """Book of the producers' sends."""

    port: WorkloadPort
    clients: Clients
    is_held: bool
    """No send begins until this is False again."""

    def next_number(self) -> int:
        """Return the next place in the order of all calls."""

    def invoke(self, begun: Callable[[], Send]) -> int:
        """Note that a send begins; `begun` is it as long as it has no end. Return its number."""

    def end(self, number: int, send: Send) -> None:
        """Note the outcome of the send of this number."""


class Sender:
    """Producers under one plan, one at a time: a producer that cannot go on is replaced."""

    def __init__(
        self, book: SendBook, plan: ProducerPlan, incarnation: Incarnation, random: SeededRandom
    ) -> None:
        self._book = book
        self._port = book.port
        self._clients = book.clients
        self._plan = plan
        self._incarnation = incarnation
        self._random = random
        self._sent = 0
        self._is_wanted = True
        self._parts = PartsDrawer(
            random.fork("parts"),
            self._port.client_ports(plan.name)["clock"].wall_ms,
            codec=plan.compression,
            is_compacted=incarnation.plan.is_compacted,
            is_backdating=incarnation.plan.may_be_deleted_from,
            carried=self._clients.carried(plan),
        )

    async def run(self) -> None:
        """Until the topic's incarnation is over."""
        generation = 0
        while not self._incarnation.is_over:
            generation += 1
            name = f"{self._plan.name}.{self._incarnation.number}.{generation}"
            self._is_wanted = True
            async with self._clients.producer(self._plan) as producer:
                while self._is_wanted and not self._incarnation.is_over:
                    await asyncio.sleep(self._random.uniform(0, self._plan.pause_s_max))
                    if not self._book.is_held:
                        await self._burst(producer, name)

    async def _burst(self, producer: LoadProducer, name: str) -> None:
        for _ in range(self._random.randrange(1, self._plan.burst_max + 1)):
            self._sent += 1
            head = f"{name}/{self._sent}/"
            value = head.encode().ljust(self._parts.value_bytes(self._plan.value_bytes), b".")
            partition = self._random.randrange(0, self._incarnation.plan.partitions)
            await self._send(producer, name, partition, value)

    async def _send(self, producer: LoadProducer, name: str, where: int, value: bytes) -> None:
        invoked_s = self._port.now_s
        number = self._book.next_number()
        parts = self._parts.draw(value)
        is_append_time = self._incarnation.plan.is_append_time
        promised = replace(parts, timestamp_ms=None) if is_append_time else parts

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
                parts=promised,
            )

        key = self._book.invoke(lambda: sent("unknown", None))
        try:
            future = await producer.submit(
                self._plan.topic,
                value=None if parts.is_null else value,
                partition=where,
                key=parts.key,
                headers=parts.headers,
                timestamp_ms=parts.timestamp_ms,
            )
        except TidelogError as error:
            outcome: Outcome = "unknown" if error.is_outcome_unknown else "fail"
            self._book.end(key, sent(outcome, self._port.now_s, reason=str(error)))
            await asyncio.sleep(REFUSED_WAIT_S)
        else:
            future.add_done_callback(partial(self._on_done, key, sent))

    def _on_done(
        self, key: int, sent: Callable[..., Send], future: asyncio.Future[RecordMetadata]
    ) -> None:
        error = future.exception()
        now_s = self._port.now_s
        if error is None:
            offset = future.result().offset
            self._book.end(key, sent("ok", now_s, offset=None if offset < 0 else offset))
            return
        is_unknown = not isinstance(error, TidelogError) or error.is_outcome_unknown
        self._book.end(key, sent("unknown" if is_unknown else "fail", now_s, reason=str(error)))
        if isinstance(error, _BEYOND_REPAIR) or self._random.random() < REPLACED_PROBABILITY:
            self._is_wanted = False
