"""Clients that a workload runs: what it asks of a producer and of a reader, and who makes them.

`GrpcClients` makes ours. A suite of another protocol has its own, and all that is written down of
their calls is the same.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Literal, Protocol, Self, runtime_checkable

from tidelog.chaos.workloads.plans import ProducerPlan, TopicPlan
from tidelog.chaos.workloads.record_parts import CARRIES_ALL, Carried
from tidelog.chaos.workloads.workload_port import WorkloadPort
from tidelog.client import Consumer, Producer, Record, RecordMetadata, TopicPartition
from tidelog.core.errors import CallFailedError

_ACKS: dict[int, Literal["all", 1, 0]] = {-1: "all", 1: 1, 0: 0}


class BrokenClientError(CallFailedError):
    """A producer that cannot go on, and does not know what became of its records; make another."""


class LoadProducer(Protocol):
    """A producer: see `tidelog.client.Producer`."""

    async def __aenter__(self) -> Self:
        """See `Producer`."""

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """See `Producer`: what was submitted has ended then."""

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
        """See `Producer.submit`."""


class LoadReader(Protocol):
    """A consumer of partitions that are named: see `tidelog.client.Consumer`."""

    async def __aenter__(self) -> Self:
        """See `Consumer`."""

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """See `Consumer`."""

    def assign(self, partitions: Sequence[tuple[str, int]], /) -> None:
        """See `Consumer.assign`."""

    def seek(self, partition: tuple[str, int], offset: int, /) -> None:
        """See `Consumer.seek`."""

    async def getmany(self, *, timeout_ms: int, max_records: int) -> Sequence[Record]:
        """See `Consumer.getmany`. An offset that is not there raises `OffsetOutOfRangeError`."""

    async def position(self, partition: tuple[str, int], /) -> int:
        """See `Consumer.position`."""

    async def beginning_offsets(
        self, partitions: Sequence[tuple[str, int]], /
    ) -> Mapping[TopicPartition, int]:
        """See `Consumer.beginning_offsets`."""

    async def end_offsets(
        self, partitions: Sequence[tuple[str, int]], /
    ) -> Mapping[TopicPartition, int]:
        """See `Consumer.end_offsets`."""


@runtime_checkable
class CodecReader(Protocol):
    """A reader that knows of the batches in which records lie."""

    def codec_of(self, record: Record) -> str:
        """Codec of the batch of a record that the last `getmany` returned, by Kafka's name."""


class Clients(Protocol):
    """Maker of a workload's clients."""

    def carried(self, plan: ProducerPlan) -> Carried:
        """Tell which parts of a record a producer of this plan can send."""

    def producer(self, plan: ProducerPlan) -> LoadProducer:
        """Make a producer of this plan."""

    def reader(self, name: str, topic: TopicPlan) -> LoadReader:
        """Make a reader of all partitions of a topic; `name` is that of its host."""


class GrpcClients:
    """See `Clients`; those of `tidelog.client`."""

    def __init__(self, port: WorkloadPort) -> None:
        self._port = port

    def carried(self, plan: ProducerPlan) -> Carried:
        """See `Clients.carried`."""
        del plan
        return CARRIES_ALL

    def producer(self, plan: ProducerPlan) -> LoadProducer:
        """See `Clients.producer`."""
        acks = _ACKS[plan.acks]
        return Producer(
            self._port.bootstrap,
            acks=acks,
            enable_idempotence=acks == "all",
            request_timeout_ms=plan.request_timeout_ms,
            delivery_timeout_ms=plan.delivery_timeout_ms,
            max_block_ms=5_000,
            bootstrap_timeout_ms=5_000,
            batch_size=plan.batch_size,
            max_request_size=plan.max_request_size,
            compression=plan.compression,
            **self._port.client_ports(plan.name),
        )

    def reader(self, name: str, topic: TopicPlan) -> LoadReader:
        """See `Clients.reader`."""
        del topic
        return Consumer(
            self._port.bootstrap,
            auto_offset_reset="none",
            request_timeout_ms=2_000,
            bootstrap_timeout_ms=60_000,
            **self._port.client_ports(name),
        )
