"""Offsets that are committed in open transactions: pending until their producer's marker. Pure.

    replay        a producer's record: pending, in place of its own earlier one
    supersede     a plain record of the same key is newer than all that is pending there
    end           the producer's marker: what a commit applies; an abort drops it

The newest record of a key in the log's order wins, whenever its transaction is decided: so does
compaction, which keeps that one. So a transaction's offset loses to a plain commit, to a deletion
and to another transaction's offset behind it, also where its own marker comes last. Source:
Kafka's OffsetMetadataManager (KIP-98), which compares the records' offsets.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from typing import NamedTuple, TypeAlias

from tidelog.v1.coordinator_records_pb2 import OffsetCommitKey, OffsetCommitValue

PENDING_MAX = 100_000
"""Maximum pending offsets of one partition of the internal topic; further ones are refused."""
PENDING_BYTES = 200
"""Bytes of a pending offset beside its texts."""

Held: TypeAlias = tuple[bytes, int]
"""Topic id and number of a partition."""


class PendingOffset(NamedTuple):
    """An offset of an open transaction."""

    group_id: str
    held: Held
    value: OffsetCommitValue


class PendingOffsets:
    """Offsets of open transactions of the groups of one partition of the internal topic."""

    def __init__(self) -> None:
        self.state_bytes = 0
        """Bytes of all of them, about as many as in their records."""
        self._count = 0
        self._by_group: dict[str, dict[Held, dict[int, OffsetCommitValue]]] = {}
        """By producer id, in the log's order."""
        self._by_producer: dict[int, dict[tuple[str, Held], None]] = {}

    def __len__(self) -> int:
        return self._count

    # Change

    def replay(self, key: OffsetCommitKey, value: OffsetCommitValue, producer_id: int) -> None:
        """Add an offset of a producer's open transaction."""
        held = (key.topic_id, key.partition)
        self._drop(key.group_id, held, producer_id)  # its place is behind all others
        of_group = self._by_group.setdefault(key.group_id, {})
        of_group.setdefault(held, {})[producer_id] = value
        self._by_producer.setdefault(producer_id, {})[key.group_id, held] = None
        self.state_bytes += pending_bytes(key.group_id, value.topic, value.metadata)
        self._count += 1

    def supersede(self, group_id: str, held: Held) -> None:
        """Drop what is older than a record of this key that needs no marker."""
        for producer_id in list(self._of(group_id, held)):
            self._drop(group_id, held, producer_id)

    def end(self, producer_id: int) -> list[PendingOffset]:
        """Take a producer's pending offsets, whose transaction is over."""
        ended = self.of_producer(producer_id)
        for one in ended:
            self._drop(one.group_id, one.held, producer_id)
        return ended

    def commit(self, producer_id: int) -> list[PendingOffset]:
        """Take them, and drop those of others that are older in the log."""
        for one in self.of_producer(producer_id):
            for other in list(self._of(one.group_id, one.held)):
                if other == producer_id:
                    break
                self._drop(one.group_id, one.held, other)
        return self.end(producer_id)

    def _drop(self, group_id: str, held: Held, producer_id: int) -> None:
        of_group = self._by_group.get(group_id, {})
        value = of_group.get(held, {}).pop(producer_id, None)
        if value is None:
            return
        self.state_bytes -= pending_bytes(group_id, value.topic, value.metadata)
        self._count -= 1
        if not of_group[held]:
            del of_group[held]
            if not of_group:
                del self._by_group[group_id]
        of_producer = self._by_producer[producer_id]
        del of_producer[group_id, held]
        if not of_producer:
            del self._by_producer[producer_id]

    # Read

    def of_producer(self, producer_id: int) -> list[PendingOffset]:
        """Pending offsets of a producer's transaction."""
        return [
            PendingOffset(group_id, held, self._by_group[group_id][held][producer_id])
            for group_id, held in self._by_producer.get(producer_id, {})
        ]

    def has(self, group_id: str, held: Held) -> bool:
        """True if a transaction may change the offset of a partition."""
        return held in self._by_group.get(group_id, ())

    def of_group(self, group_id: str) -> Mapping[Held, object]:
        """Partitions with a pending offset of the group."""
        return self._by_group.get(group_id, {})

    def count_beyond(self, group_id: str, known: Container[Held]) -> int:
        """Number of the group's partitions with a pending offset that are not `known`."""
        return sum(held not in known for held in self.of_group(group_id))

    @property
    def groups(self) -> Iterable[str]:
        """Groups with a pending offset."""
        return self._by_group

    @property
    def group_count(self) -> int:
        """Number of them."""
        return len(self._by_group)

    def has_group(self, group_id: str) -> bool:
        """True if any offset of the group is pending."""
        return group_id in self._by_group

    def _of(self, group_id: str, held: Held) -> dict[int, OffsetCommitValue]:
        return self._by_group.get(group_id, {}).get(held, {})


def pending_bytes(group_id: str, topic: str, metadata: str) -> int:
    """Bytes of a pending offset."""
    return PENDING_BYTES + len(group_id) + len(topic) + len(metadata)
