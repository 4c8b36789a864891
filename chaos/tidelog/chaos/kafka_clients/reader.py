"""aiokafka's consumer without a group as a workload's reader."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Self

from aiokafka import AIOKafkaConsumer
from aiokafka import TopicPartition as AioPartition
from aiokafka.errors import KafkaError

from tidelog.chaos.kafka_clients import failures
from tidelog.chaos.kafka_clients.producer import METADATA_MAX_AGE_MS
from tidelog.chaos.kafka_clients.starting import started
from tidelog.client import Record, TopicPartition

REQUEST_TIMEOUT_MS = 2_000


def record_of(one: Any) -> Record[Any, Any]:  # aiokafka has no types
    """Return a record of aiokafka as ours."""
    headers = tuple(one.headers)
    return Record(one.topic, one.partition, one.offset, one.timestamp, one.key, one.value, headers)


class AioReader:
    """See `LoadReader`."""

    def __init__(self, name: str, bootstrap: list[str]) -> None:
        self._name = name
        self._bootstrap = bootstrap

    async def __aenter__(self) -> Self:
        """Start; see `starting.started`."""
        self._consumer = await started(self._make)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End it."""
        await self._consumer.stop()

    def assign(self, partitions: Sequence[tuple[str, int]], /) -> None:
        """See `LoadReader.assign`."""
        self._consumer.assign([AioPartition(*one) for one in partitions])

    def seek(self, partition: tuple[str, int], offset: int, /) -> None:
        """See `LoadReader.seek`."""
        self._consumer.seek(AioPartition(*partition), offset)

    async def getmany(self, *, timeout_ms: int, max_records: int) -> Sequence[Record[Any, Any]]:
        """See `LoadReader.getmany`."""
        try:
            found = await self._consumer.getmany(timeout_ms=timeout_ms, max_records=max_records)
        except KafkaError as error:
            raise failures.of_call(error) from error
        return [record_of(one) for records in found.values() for one in records]

    async def end_offsets(
        self, partitions: Sequence[tuple[str, int]], /
    ) -> Mapping[TopicPartition, int]:
        """See `LoadReader.end_offsets`."""
        try:
            ends = await self._consumer.end_offsets([AioPartition(*one) for one in partitions])
        except KafkaError as error:
            raise failures.of_call(error) from error
        return {TopicPartition(*one): end for one, end in ends.items()}

    async def beginning_offsets(
        self, partitions: Sequence[tuple[str, int]], /
    ) -> Mapping[TopicPartition, int]:
        """See `LoadReader.beginning_offsets`."""
        try:
            starts = await self._consumer.beginning_offsets(
                [AioPartition(*one) for one in partitions]
            )
        except KafkaError as error:
            raise failures.of_call(error) from error
        return {TopicPartition(*one): start for one, start in starts.items()}

    async def position(self, partition: tuple[str, int], /) -> int:
        """See `LoadReader.position`."""
        return int(await self._consumer.position(AioPartition(*partition)))

    def _make(self) -> AIOKafkaConsumer:
        return AIOKafkaConsumer(
            bootstrap_servers=self._bootstrap,
            client_id=self._name,
            enable_auto_commit=False,
            auto_offset_reset="none",
            request_timeout_ms=REQUEST_TIMEOUT_MS,
            metadata_max_age_ms=METADATA_MAX_AGE_MS,
        )
