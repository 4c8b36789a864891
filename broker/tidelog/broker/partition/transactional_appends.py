"""Waits of transactional appends until their partition is in the transaction (KIP-890, part 2).

    the transaction is open in the log   nothing to wait for: a marker will come
    it is not                            the coordinator adds the partition, then the append follows

A producer's appends to a partition keep their order meanwhile, those of others do not wait. What
was true before a wait may not be true after it: an answer counts for this partition in this
leadership alone, and a transaction that has ended since has raised the epoch in the log, which
refuses the append; an answer does not count once the log may have forgotten that. Owns the lines
and the number of waiting appends; decides nothing about appends.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import NamedTuple

from tidelog.broker.partition.append_order import AppendOrder, Place
from tidelog.broker.partition.partition import Partition
from tidelog.broker.partition.replica_config import ReplicaConfig
from tidelog.broker.partition_adder import PartitionAdder, Producer, Topic, TransactionPartition
from tidelog.core.errors import (
    CoordinatorNotAvailableError,
    LeaderNotAvailableError,
    ThrottlingQuotaExceededError,
)


class Added(NamedTuple):
    """Proof that a marker will come: what the coordinator's answer counts for."""

    partition: Partition
    leader_epoch: int
    forgotten: int
    """Producers that the log had forgotten when the coordinator was asked."""

    @classmethod
    def now(cls, partition: Partition, leader_epoch: int) -> Added:
        """Make the proof that an answer is which is asked for now."""
        return cls(partition, leader_epoch, partition.log.producers.forgotten)


class TransactionalAppends:
    """Lines of producers in partitions. `adder` is None on a broker that reaches no coordinator."""

    def __init__(self, config: ReplicaConfig, adder: PartitionAdder | None = None) -> None:
        self.adder = adder
        self.waiting = 0
        """Number of appends that wait."""
        self._config = config
        self._order = AppendOrder()

    def is_free(self, partition: Partition, producer: Producer) -> bool:
        """True when an append need not wait: its transaction is open, and no earlier one waits."""
        is_open = partition.log.is_in_transaction(*producer)
        return is_open and self._order.is_free((partition, producer.id))

    def enter(self, partition: Partition, producer: Producer) -> Place:
        """Take the last place in the producer's line; `leave` it once the append is done.

        Raises `ThrottlingQuotaExceededError` while `transaction_waits_max` appends wait.
        """
        limit = self._config.transaction_waits_max
        if self.waiting >= limit:
            raise ThrottlingQuotaExceededError(
                f"{limit} transactional appends wait for their coordinators: nothing was appended, "
                "try again later"
            )
        self.waiting += 1
        return self._order.enter((partition, producer.id))

    def leave(self, place: Place) -> None:
        """Let the producer's next append in."""
        self.waiting -= 1
        place.leave()

    async def added(
        self,
        place: Place,
        find: Callable[[], tuple[Partition, int]],
        *,
        transactional_id: str,
        producer: Producer,
    ) -> Added:
        """Wait for the turn, and until the partition is in the transaction.

        `find` returns the partition and its leader epoch when the turn has come, or raises.
        Raises `KafkaError`, always with nothing appended.
        """
        limit_ms = self._config.transaction_wait_ms_max
        try:
            async with asyncio.timeout(limit_ms / 1000):
                await place.turn()
                found = Added.now(*find())
                if not found.partition.log.is_in_transaction(*producer):
                    await self._add(found.partition, transactional_id, producer)
                return found
        except TimeoutError:
            raise CoordinatorNotAvailableError(
                f"the coordinator of transactional id {transactional_id!r} has not added the "
                f"partition within {limit_ms} ms: nothing was appended, try again"
            ) from None

    def check(self, added: Added | None, now: Added, producer: Producer) -> None:
        """Check right before the append that a marker will come; `added` may be of long ago.

        Raises `LeaderNotAvailableError`, retriable: the answer was for another leadership.
        """
        log = now.partition.log
        if log.is_in_transaction(*producer):
            return
        if (
            added is not None
            and (added.partition, added.leader_epoch) == (now.partition, now.leader_epoch)
            and not log.producers.may_have_forgotten(producer.id, forgotten=added.forgotten)
        ):
            return
        raise LeaderNotAvailableError(
            f"the leadership of {now.partition.name}, or the transaction, changed while the batch "
            "waited: nothing was appended, try again"
        )

    async def _add(self, partition: Partition, transactional_id: str, producer: Producer) -> None:
        if self.adder is None:
            raise CoordinatorNotAvailableError("this broker reaches no transaction coordinator")
        topic = Topic(partition.topic_id, partition.topic)
        where = TransactionPartition(topic, partition.partition)
        await self.adder.add(transactional_id, producer, where)
