"""Transactions in partitions: appended to a leader's log by hand, then replicated."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from tests.broker.replica_stage import TOPIC, ReplicaStage
from tests.log.transaction_logs import Writer

from tidelog.broker.partition.partition import Partition
from tidelog.broker.replica.events import Appended
from tidelog.broker.replica_manager import ReplicaManager
from tidelog.log.partition_log import AppendResult


class LeaderWriter:
    """A transactional producer, and the coordinator that writes its markers.

    Call it on the loop of the partition's broker. Nothing waits for the replication.
    """

    def __init__(self, producer_id: int) -> None:
        self._writer = Writer(producer_id)

    def send(self, partition: Partition, *values: bytes, key: bytes | None = None) -> AppendResult:
        """Append a batch in the open transaction, or begin one."""
        return _noted(partition, self._writer.send(partition.log, *values, key=key))

    def end(self, partition: Partition, *, is_commit: bool) -> AppendResult:
        """Append the marker."""
        return _noted(partition, self._writer.end(partition.log, is_commit=is_commit))


@dataclass
class StagedWriter:
    """A `LeaderWriter` of partition 0 of a stage."""

    stage: ReplicaStage
    id: int
    leader_id: int = 1
    writer: LeaderWriter = field(init=False)

    def __post_init__(self) -> None:
        self.writer = LeaderWriter(self.id)

    async def send(self, *values: bytes) -> AppendResult:
        return await self._on_leader(lambda partition: self.writer.send(partition, *values))

    async def end(self, *, is_commit: bool) -> AppendResult:
        return await self._on_leader(
            lambda partition: self.writer.end(partition, is_commit=is_commit)
        )

    async def _on_leader(self, work: Callable[[Partition], AppendResult]) -> AppendResult:
        async def run(manager: ReplicaManager) -> AppendResult:
            return work(manager._partitions.held[TOPIC, 0])

        return await self.stage.on(self.leader_id, run)


def _noted(partition: Partition, done: AppendResult) -> AppendResult:
    partition.handle(Appended(done.log_end_offset, partition.ackable_offset()))
    partition.followers.wake()
    return done
