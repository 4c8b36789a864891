"""Commits of offsets in transactions: checked, added to the transaction, pending once committed.

The partition of `__consumer_offsets` is part of the transaction before anything is appended to it
(KIP-890), so that its end writes a marker there: the log says so, or its coordinator does when it
is asked. The member is checked before that, and again with each append: it may have been fenced
meanwhile (KIP-447). A transaction that ended meanwhile has a marker of a newer epoch in the log,
which refuses the append.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol, TypeAlias

from tidelog.broker.coordinator.committer import Committer
from tidelog.broker.coordinator.group_shard import GroupShard
from tidelog.broker.coordinator.moment import Moment
from tidelog.broker.coordinator.offsets import CommittedOffset, OffsetResult, TopicPartition
from tidelog.broker.coordinator.runtime import Hosted
from tidelog.broker.partition.partition_writer import PartitionWriter
from tidelog.broker.partition_adder import (
    PartitionAdder,
    Producer,
    Topic,
    TransactionPartition,
    check_transactional_id,
)
from tidelog.core.errors import (
    CoordinatorNotAvailableError,
    InvalidRequestError,
    ThrottlingQuotaExceededError,
)

WAITING_MAX = 1_000
"""Commits in transactions that wait at a time; further ones are refused."""
PARTITIONS_PER_SLICE = 500
"""Offsets of a request that are decided before other work has the loop."""

HostedGroups: TypeAlias = Hosted[GroupShard]
Offsets: TypeAlias = Sequence[tuple[TopicPartition, CommittedOffset]]


class Committed(Protocol):
    """Waits as `GroupCoordinator` does."""

    def __call__(self, hosted: HostedGroups, end_offset: int, *, is_write: bool) -> Awaitable[None]:
        """See `Hosted.committed`."""


class TransactionalCommits:
    """Commits in transactions of the groups of this broker."""

    def __init__(
        self,
        *,
        find: Callable[[str], HostedGroups],
        committed: Committed,
        writer: PartitionWriter,
        now: Callable[[], Moment],
        timeout_ms: int,
    ) -> None:
        self.adder: PartitionAdder | None = None
        """Set by the composition; None: this node knows no coordinators of transactions."""
        self._find = find
        self._committed = committed
        self._writer = writer
        self._now = now
        self._timeout_ms = timeout_ms
        self.waiting = 0
        """Number of commits that are not answered yet."""

    async def commit(
        self,
        group_id: str,
        committer: Committer,
        offsets: Offsets,
        *,
        transactional_id: str,
        producer: Producer,
    ) -> list[OffsetResult]:
        """Commit offsets in the producer's open transaction, a result each.

        Raises `KafkaError`: of a long request the first part may be pending then, which the
        transaction's end decides with the rest.
        """
        check_transactional_id(transactional_id)
        if producer.id < 0 or producer.epoch < 0:
            raise InvalidRequestError(
                f"producer {producer.id} in epoch {producer.epoch}: initialise it by InitProducerId"
            )
        if self.waiting >= WAITING_MAX:
            raise ThrottlingQuotaExceededError(
                f"{WAITING_MAX} commits in transactions wait here: try again later"
            )
        self.waiting += 1
        try:
            hosted = self._check(group_id, committer)
            await self._add(hosted, transactional_id, producer)
            return await self._append(hosted, group_id, committer, offsets, producer)
        finally:
            self.waiting -= 1

    def _check(self, group_id: str, committer: Committer) -> HostedGroups:
        hosted = self._find(group_id)
        hosted.shard.check_committer(group_id, committer, self._now(), is_transactional=True)
        return hosted

    async def _add(self, hosted: HostedGroups, transactional_id: str, producer: Producer) -> None:
        """Return once the partition is in the transaction."""
        led = hosted.leadership
        if self._writer.is_in_transaction(led, producer):
            return
        if self.adder is None:
            raise CoordinatorNotAvailableError("this broker has no transaction coordinators")
        partition = TransactionPartition(Topic(led.topic_id, led.topic), led.partition)
        forgotten = self._writer.forgotten(led)
        try:
            async with asyncio.timeout(self._timeout_ms / 1000):
                await self.adder.add(transactional_id, producer, partition)
        except TimeoutError:
            raise CoordinatorNotAvailableError(
                f"the coordinator of {transactional_id!r} did not answer within "
                f"{self._timeout_ms} ms: try again"
            ) from None
        self._writer.check_remembered(led, producer, forgotten=forgotten)

    async def _append(
        self,
        hosted: HostedGroups,
        group_id: str,
        committer: Committer,
        offsets: Offsets,
        producer: Producer,
    ) -> list[OffsetResult]:
        results: list[OffsetResult] = []
        end, is_write = 0, False
        for first in range(0, len(offsets) or 1, PARTITIONS_PER_SLICE):
            if first:
                await asyncio.sleep(0)
            hosted.check_active()
            decision = hosted.shard.commit(
                group_id,
                committer,
                offsets[first : first + PARTITIONS_PER_SLICE],
                self._now(),
                producer_id=producer.id,
            )
            end = hosted.append(decision.records, producer=producer)
            results += decision.results
            is_write = is_write or bool(decision.records)
        await self._committed(hosted, end, is_write=is_write)
        return results
