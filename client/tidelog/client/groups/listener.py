"""Types that applications with groups meet: the rebalance listener, offsets with metadata."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

from tidelog.client.records import TopicPartition

AnyConsumer: TypeAlias = Any  # the Consumer, which imports this module


class OffsetAndMetadata(NamedTuple):
    """An offset to commit, or a committed one, as Kafka's class of this name."""

    offset: int
    """Offset of the next record to read."""
    metadata: str = ""
    """The application's own text."""
    leader_epoch: int | None = None
    """Leader epoch of the last record before; None: not known. A commit without it gets the one in
    which the consumer has read the partition."""


class GroupMetadata(NamedTuple):
    """The membership in which a consumer's last records were read, as in Kafka."""

    group_id: str
    member_id: str
    """Empty for a consumer that does not subscribe."""
    epoch: int
    """Epoch of the member; 0 while it is no member, or has lost what it read; -1 for one that does
    not subscribe."""
    instance_id: str | None


class RebalanceListener:
    """Callbacks when partitions come and go; override those that are needed.

    They run between two calls of `getmany`, or two records of an iteration, as far as the
    partitions that go are concerned; reading of others goes on meanwhile. An exception is raised by
    the next read.
    """

    async def on_partitions_assigned(
        self, consumer: AnyConsumer, partitions: Sequence[TopicPartition]
    ) -> None:
        """Prepare for partitions that came, before their first record; may seek."""

    async def on_partitions_revoked(
        self, consumer: AnyConsumer, partitions: Sequence[TopicPartition]
    ) -> None:
        """Finish with partitions that go; they can still be committed."""

    async def on_partitions_lost(
        self, consumer: AnyConsumer, partitions: Sequence[TopicPartition]
    ) -> None:
        """Drop partitions that others may own already; they cannot be committed any more."""
        await self.on_partitions_revoked(consumer, partitions)
