"""aiokafka's consumer with a group, of the classic protocol, as a member's.

It balances in the background, while its application works: here what went has gone only when no
commit of it is under way any more.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence

from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener
from aiokafka import TopicPartition as AioPartition
from aiokafka.errors import KafkaError

from tidelog.chaos.kafka_clients import failures
from tidelog.chaos.kafka_clients.producer import METADATA_MAX_AGE_MS
from tidelog.chaos.kafka_clients.reader import record_of
from tidelog.chaos.kafka_clients.starting import started
from tidelog.chaos.workloads.member_consumer import ConsumerMaker
from tidelog.chaos.workloads.plans import GROUP_HEARTBEAT_MS, GROUP_SESSION_MS, MemberPlan
from tidelog.client import ConsumerInterceptor, RebalanceListener, Record, TopicPartition
from tidelog.client.consuming.group_methods import Offsets
from tidelog.client.groups.listener import GroupMetadata


def consumer_of_aiokafka(plan: MemberPlan, bootstrap: Sequence[str]) -> ConsumerMaker:
    """Return the maker of a member's consumer."""

    def make(interceptor: ConsumerInterceptor[bytes, bytes]) -> AioMemberConsumer:
        return AioMemberConsumer(plan, list(bootstrap), interceptor)

    return make


class AioMemberConsumer:
    """See `MemberConsumer`."""

    def __init__(
        self,
        plan: MemberPlan,
        bootstrap: list[str],
        interceptor: ConsumerInterceptor[bytes, bytes],
    ) -> None:
        self._plan = plan
        self._bootstrap = bootstrap
        self._interceptor = interceptor
        self._consumer: AIOKafkaConsumer | None = None

    async def subscribe(self, topics: Sequence[str], /, *, listener: RebalanceListener) -> None:
        """Start, and subscribe; see `starting.started`."""
        self._consumer = await started(self._make)
        self._commits = asyncio.Lock()
        self._consumer.subscribe(topics, listener=_Listener(self, listener, self._commits))

    async def getmany(self, *, timeout_ms: int, max_records: int) -> Sequence[Record[bytes, bytes]]:
        """See `MemberConsumer.getmany`."""
        try:
            found = await self._started.getmany(timeout_ms=timeout_ms, max_records=max_records)
        except KafkaError as error:
            raise failures.of_call(error) from error
        records = [record_of(one) for of_one in found.values() for one in of_one]
        return self._interceptor.on_consume(records) if records else records

    async def commit(self, offsets: Offsets, /) -> None:
        """See `MemberConsumer.commit`."""
        named = {
            AioPartition(*tp): one if isinstance(one, int) else (one.offset, one.metadata)
            for tp, one in offsets.items()
        }
        try:
            async with self._commits:
                await self._started.commit(named)
        except KafkaError as error:
            raise failures.of_call(error) from error

    def group_metadata(self) -> GroupMetadata:
        """See `MemberConsumer.group_metadata`; the generation is the epoch, 0 without one."""
        # aiokafka tells neither; nothing is changed here.
        coordinator = self._started._coordinator  # noqa: SLF001
        epoch = max(0, coordinator.generation)
        return GroupMetadata(self._plan.group_id, coordinator.member_id, epoch, None)

    async def close(self, *, timeout_ms: int) -> None:
        """See `MemberConsumer.close`."""
        if self._consumer is not None:
            async with asyncio.timeout(timeout_ms / 1000):
                await self._consumer.stop()

    @property
    def _started(self) -> AIOKafkaConsumer:
        if self._consumer is None:
            raise LookupError("the member has not subscribed")
        return self._consumer

    def _make(self) -> AIOKafkaConsumer:
        plan = self._plan
        return AIOKafkaConsumer(
            bootstrap_servers=self._bootstrap,
            client_id=plan.name,
            group_id=plan.group_id,
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            request_timeout_ms=plan.request_timeout_ms,
            session_timeout_ms=GROUP_SESSION_MS,
            heartbeat_interval_ms=GROUP_HEARTBEAT_MS,
            metadata_max_age_ms=METADATA_MAX_AGE_MS,
        )


class _Listener(ConsumerRebalanceListener):  # type: ignore[misc]  # aiokafka has no types
    def __init__(
        self, consumer: AioMemberConsumer, listener: RebalanceListener, commits: asyncio.Lock
    ) -> None:
        self._consumer = consumer
        self._listener = listener
        self._commits = commits

    async def on_partitions_assigned(self, assigned: Iterable[tuple[str, int]]) -> None:
        """Hand on what came."""
        await self._listener.on_partitions_assigned(self._consumer, _ours(assigned))

    async def on_partitions_revoked(self, revoked: Iterable[tuple[str, int]]) -> None:
        """Hand on what went: lost, if the coordinator does not know the member any more.

        Called once for a rebalance, and by no other way.
        """
        gone = _ours(revoked)
        if self._consumer.group_metadata().epoch:
            await self._listener.on_partitions_revoked(self._consumer, gone)
        else:
            await self._listener.on_partitions_lost(self._consumer, gone)
        async with self._commits:
            pass  # nothing of the application's is on its way


def _ours(partitions: Iterable[tuple[str, int]]) -> list[TopicPartition]:
    return sorted(TopicPartition(*one) for one in partitions)
