"""aiokafka's producer as a workload's.

Its `request_timeout_ms` is many things at once: the time of a request, that after which a record is
given up (with acks=all, which is idempotent here, only while no leader is known; with less always),
and that for which a record waits to be taken, since a partition's buffer is one batch beyond the
one in flight. So it has the time of a delivery, which is longer than any fault of a story.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from types import TracebackType
from typing import Any, Self

from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError
from aiokafka.protocol.produce import ProduceRequest

from tidelog.chaos.kafka_clients import failures
from tidelog.chaos.kafka_clients.starting import started
from tidelog.chaos.workloads.plans import ProducerPlan
from tidelog.client import RecordMetadata
from tidelog.core.errors import CallFailedError
from tidelog.history.history import ACKS_ALL

NO_OFFSET = -1
METADATA_MAX_AGE_MS = 1_000
"""It looks for another leader when it is told of one, when a connection breaks, and this often."""
OnAnswer = Callable[[int, int, int], None]
"""Called with the node, the code and the acks of each partition's answer."""


class AioProducer:
    """See `LoadProducer`."""

    def __init__(self, plan: ProducerPlan, bootstrap: list[str], on_answer: OnAnswer) -> None:
        self._plan = plan
        self._bootstrap = bootstrap
        self._on_answer = on_answer

    async def __aenter__(self) -> Self:
        """Start; see `starting.started`."""
        self._producer = await started(self._make)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Wait for all it has taken, and end."""
        await self._producer.stop()

    async def submit(
        self,
        topic: str,
        /,
        *,
        value: bytes | None,
        partition: int,
        key: bytes | None = None,
        headers: tuple[tuple[str, bytes | None], ...] = (),
        timestamp_ms: int | None = None,
    ) -> asyncio.Future[RecordMetadata]:
        """See `LoadProducer.submit`; waits while the buffer is full, as long as for a delivery."""
        loop = asyncio.get_running_loop()
        ends_s = loop.time() + self._plan.delivery_timeout_ms / 1000
        while True:
            try:
                sent = await self._producer.send(
                    topic,
                    value=value,
                    partition=partition,
                    key=key,
                    headers=list(headers),
                    timestamp_ms=timestamp_ms,
                )
                break
            except KafkaError as error:
                if not failures.is_full(error) or loop.time() > ends_s:
                    raise failures.of_submission(error) from error
        answered: asyncio.Future[RecordMetadata] = loop.create_future()
        sent.add_done_callback(partial(self._hand_on, answered, topic, partition))
        return answered

    def _hand_on(
        self,
        answered: asyncio.Future[RecordMetadata],
        topic: str,
        partition: int,
        sent: asyncio.Future[Any],  # aiokafka has no types
    ) -> None:
        if answered.done():
            return
        if sent.cancelled():
            answered.set_exception(CallFailedError("aiokafka: cancelled"))
        elif (error := sent.exception()) is not None:
            is_idempotent = self._plan.acks == ACKS_ALL
            answered.set_exception(failures.of_record(error, is_idempotent=is_idempotent))
        else:
            at = sent.result()  # None with acks=0
            offset, timestamp_ms = (NO_OFFSET, -1) if at is None else (at.offset, at.timestamp)
            answered.set_result(RecordMetadata(topic, partition, offset, timestamp_ms))

    def _make(self) -> AIOKafkaProducer:
        plan = self._plan
        producer = AIOKafkaProducer(
            bootstrap_servers=self._bootstrap,
            client_id=plan.name,
            acks="all" if plan.acks == ACKS_ALL else plan.acks,
            enable_idempotence=plan.acks == ACKS_ALL,
            request_timeout_ms=plan.delivery_timeout_ms,
            metadata_max_age_ms=METADATA_MAX_AGE_MS,
            max_batch_size=plan.batch_size,
            compression_type=None if plan.compression == "none" else plan.compression,
        )
        producer.client.send = _tapped(producer.client.send, self._on_answer)
        return producer


# aiokafka has no types; what passes here is its own.
def _tapped(send: Callable[..., Any], on_answer: OnAnswer) -> Callable[..., Any]:
    """Return `send` of a client, which tells of each answer to a Produce request besides."""

    async def tapped(node_id: int, request: Any, **options: Any) -> Any:
        response = await send(node_id, request, **options)
        if isinstance(request, ProduceRequest) and request.required_acks:
            for _, partitions in response.topics:
                for _, code, *_ in partitions:
                    on_answer(node_id, code, request.required_acks)
        return response

    return tapped
