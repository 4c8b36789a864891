"""Port to the coordinators of transactions, of brokers that lead partitions (KIP-890, part 2).

A leader calls it before a producer's first transactional batch is appended to one of its
partitions, so that the transaction's end writes a marker there.
"""

from __future__ import annotations

from typing import Protocol

from tidelog.broker.transactions.transaction import Producer, TransactionPartition


class PartitionAdder(Protocol):
    """Adds partitions to open transactions."""

    async def add(
        self, transactional_id: str, producer: Producer, partition: TransactionPartition
    ) -> None:
        """Have the coordinator add a partition to the open transaction, or begin one.

        Returns once that is committed. Raises `KafkaError`: then append nothing. Has a time limit.
        """
