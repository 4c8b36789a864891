"""Transactions in partitions of real nodes: appended to their leaders' logs by hand."""

from __future__ import annotations

from tests.broker.staged_transactions import LeaderWriter
from tests.client.patience import until
from tests.client.real_cluster import RealCluster
from tests.client.real_nodes import Machine

from tidelog.broker.partition.partition import Partition


class Transactions:
    """A transactional producer of a partition."""

    def __init__(self, cluster: RealCluster, producer_id: int, *, at: tuple[str, int]) -> None:
        self._cluster = cluster
        self._writer = LeaderWriter(producer_id)
        self._at = at

    async def send(self, *values: bytes, key: bytes | None = None) -> int:
        """Append a batch in the open transaction, or begin one, and wait until it is committed."""
        partition = self._partition()
        done = self._writer.send(partition, *values, key=key)
        await self._until_committed(partition)
        return done.base_offset

    async def end(self, *, is_commit: bool) -> int:
        """End the transaction, and wait until that is committed. Return the marker's offset."""
        partition = self._partition()
        done = self._writer.end(partition, is_commit=is_commit)
        await self._until_committed(partition)
        return done.base_offset

    async def abort(self, *values: bytes) -> None:
        """Append and abort a transaction."""
        await self.send(*values)
        await self.end(is_commit=False)

    async def commit(self, *values: bytes) -> None:
        """Append and commit a transaction."""
        await self.send(*values)
        await self.end(is_commit=True)

    def _partition(self) -> Partition:
        name, number = self._at
        leader_id = self._cluster.topics[name].partitions[number].leader_id
        assert leader_id is not None
        machine: Machine = self._cluster.machines[leader_id]
        assert machine.node._broker is not None
        return machine.node._broker.replica_manager._partitions.held[self._at]

    async def _until_committed(self, partition: Partition) -> None:
        end_offset = partition.log.log_end_offset
        await until(lambda: partition.log.high_watermark >= end_offset)
