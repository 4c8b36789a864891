"""Committed offsets of the groups of one partition of `__consumer_offsets`: the core.

    commit, delete, expire, forget_topics    decide: records to append, and results per partition
    replay, replay_pending, replay_end       change the state; nothing else does
    fetch, fetch_all                         read what was replayed

What transactions commit is pending until their markers (`pending_offsets`); nothing shows it but a
stable fetch, which is refused.

Whether the caller may commit (member, epoch, generation) is the group's to say, before. An offset
belongs to an incarnation of a topic: one of a deleted topic does not apply to a later one of its
name. Results are in the order of what was asked. Sources: KIP-211 (expiry), KIP-496 (deletion),
KIP-848 (topic ids).
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

import sys
from collections.abc import Callable, Container, Iterable, Iterator
from itertools import islice
from typing import NamedTuple, Protocol

from tidelog.broker.coordinator.coordinator_records import CoordinatorRecord
from tidelog.broker.coordinator.offset_records import offset_key, offset_tombstone
from tidelog.broker.coordinator.offset_refusals import (
    check_bytes,
    check_pending,
    check_room,
    unstable,
)
from tidelog.broker.coordinator.offset_retention import AS_CONFIGURED, Retention
from tidelog.broker.coordinator.pending_offsets import (
    PENDING_MAX,
    Held,
    PendingOffset,
    PendingOffsets,
    pending_bytes,
)
from tidelog.core.errors import (
    GroupSubscribedToTopicError,
    InconsistentTopicIdError,
    InvalidRequestError,
    KafkaError,
    OffsetMetadataTooLargeError,
    UnknownTopicIdError,
    UnknownTopicOrPartitionError,
    as_result,
)
from tidelog.v1.coordinator_records_pb2 import OffsetCommitKey, OffsetCommitValue

NO_OFFSET = -1
NO_EPOCH = -1
SHOWN_CHARACTERS = 249
"""Characters of a topic's name that an error repeats: no topic has more."""
OFFSET_BYTES = 80
"""Bytes of a committed offset beside its texts."""
_MAX_I64 = (1 << 63) - 1


class TopicPartition(NamedTuple):
    """A partition as a client names it: by name, by id (16 bytes), or by both; empty: not named."""

    topic: str
    topic_id: bytes
    partition: int


class CommittedOffset(NamedTuple):
    """An offset that a group committed, and what it said with it."""

    offset: int
    """Offset of the next record to read; -1: nothing is committed."""
    leader_epoch: int = NO_EPOCH
    """Leader epoch of the last record before; -1: not known."""
    metadata: str = ""
    committed_ms: int = -1
    """By the coordinator's clock."""
    retention_ms: int = AS_CONFIGURED
    """Time to keep it from its commit on, whatever the configuration says (old clients)."""


NOTHING_COMMITTED = CommittedOffset(NO_OFFSET)


class OffsetResult(NamedTuple):
    """Outcome for one partition, under its full name where it is known."""

    partition: TopicPartition
    committed: CommittedOffset = NOTHING_COMMITTED
    error: KafkaError | None = None


class Decision(NamedTuple):
    """Records to append, all or none, and results that hold once they are committed."""

    records: list[CoordinatorRecord]
    results: list[OffsetResult]


class Topics(Protocol):
    """Topics of the newest metadata image."""

    def topic_id(self, topic: str) -> bytes | None:
        """Id of the topic of this name."""

    def name(self, topic_id: bytes) -> str | None:
        """Name of the topic of this id."""

    def partition_count(self, topic_id: bytes) -> int:
        """Number of the topic's partitions; 0 without the topic."""

    def leader_epoch(self, topic_id: bytes, partition: int) -> int:
        """Leader epoch of an existing partition."""

    def matching(self, pattern: str) -> frozenset[str]:
        """Names that a subscription's pattern matches."""

    def digest(self, topic: str) -> int:
        """Digest of name, id and partition count, see `subscribed_topics`; 0 without the topic."""

    @property
    def revision(self) -> object:
        """Another object when any answer may be another one; compare by `is`."""


class CommittedOffsets:
    """Committed offsets of the groups of one partition of the internal topic."""

    def __init__(self, *, metadata_bytes_max: int) -> None:
        self._metadata_bytes_max = metadata_bytes_max
        self._by_group: dict[str, dict[Held, tuple[str, CommittedOffset]]] = {}
        self.pending = PendingOffsets()
        self._committed_bytes = 0

    @property
    def state_bytes(self) -> int:
        """Bytes of all offsets, about as many as in their records."""
        return self._committed_bytes + self.pending.state_bytes

    # Decide

    def commit(
        self,
        group_id: str,
        offsets: Iterable[tuple[TopicPartition, CommittedOffset]],
        topics: Topics,
        now_ms: int,
        *,
        check: Callable[[TopicPartition], None] | None = None,
        offsets_max: int = _MAX_I64,
        bytes_max: int = _MAX_I64,
        producer_id: int | None = None,
        pending_max: int = PENDING_MAX,
    ) -> Decision:
        """Commit each valid offset; the others get an error each and stop nobody.

        `check` raises `KafkaError` for a partition that the sender may not commit. `producer_id`:
        in this producer's open transaction.
        """
        decision = Decision([], [])
        held = self._by_group.get(group_id, {})
        room = offsets_max - len(held) - self.pending.count_beyond(group_id, held)
        resolver = Resolver(topics)
        bytes_room = bytes_max - self.state_bytes
        for asked, committed in offsets:
            try:
                found = resolver.resolve(asked)
                self._check(found, committed)
                if check is not None:
                    check(found)
                key = (found.topic_id, found.partition)
                before = held.get(key)
                is_new = before is None and not self.pending.has(group_id, key)
                if is_new:
                    check_room(group_id, room, offsets_max)
                if producer_id is not None:
                    check_pending(group_id, len(self.pending) + len(decision.records), pending_max)
                    growth = pending_bytes(group_id, found.topic, committed.metadata)
                elif before is None:
                    growth = _bytes_of(group_id, found.topic, committed.metadata)
                else:
                    growth = len(committed.metadata) - len(before[1].metadata)
                if growth > 0:
                    check_bytes(group_id, growth, bytes_room)
                room -= is_new
                bytes_room -= growth
            except KafkaError as error:
                decision.results.append(OffsetResult(asked, error=as_result(error)))
                continue
            stamped = CommittedOffset(  # a fourth of the time of `_replace`
                committed.offset,
                committed.leader_epoch,
                committed.metadata,
                now_ms,
                committed.retention_ms,
            )
            decision.records.append(_commit_record(group_id, found, stamped))
            decision.results.append(OffsetResult(found, stamped))
        return decision

    def _check(self, partition: TopicPartition, committed: CommittedOffset) -> None:
        if not 0 <= committed.offset <= _MAX_I64:
            raise InvalidRequestError(
                f"offset {committed.offset} of {partition.topic}-{partition.partition}: "
                "commit 0 or more"
            )
        if not committed.metadata:
            return
        length = len(committed.metadata.encode("utf-8", "surrogatepass"))
        if length > self._metadata_bytes_max:
            raise OffsetMetadataTooLargeError(
                f"metadata of {length} bytes for {partition.topic}-{partition.partition}: "
                f"offset.metadata.max.bytes is {self._metadata_bytes_max}"
            )

    def delete(
        self,
        group_id: str,
        partitions: Iterable[TopicPartition],
        topics: Topics,
        subscribed: Container[str],
    ) -> Decision:
        """Delete offsets, but those of topics in `subscribed` (KIP-496)."""
        decision, resolver = Decision([], []), Resolver(topics)
        for asked in partitions:
            try:
                found = self._deletable(group_id, asked, resolver, subscribed)
            except KafkaError as error:
                decision.results.append(OffsetResult(asked, error=as_result(error)))
                continue
            decision.records.append(offset_tombstone(group_id, found.topic_id, found.partition))
            decision.results.append(OffsetResult(found))
        return decision

    def _deletable(
        self,
        group_id: str,
        asked: TopicPartition,
        resolver: Resolver,
        subscribed: Container[str],
    ) -> TopicPartition:
        found = resolver.resolve(asked)
        if found.topic in subscribed:
            raise GroupSubscribedToTopicError(
                f"group {group_id!r} is subscribed to {found.topic}: stop its members first"
            )
        if (found.topic_id, found.partition) not in self._by_group.get(group_id, {}):
            raise UnknownTopicOrPartitionError(
                f"group {group_id!r} has no offset of {found.topic}-{found.partition}"
            )
        return found

    def delete_group(self, group_id: str, limit: int | None = None) -> list[CoordinatorRecord]:
        """Delete the group's offsets, at most `limit` of them."""
        some = islice(self._by_group.get(group_id, {}), limit)
        return [offset_tombstone(group_id, *held) for held in some]

    def expire(self, group_id: str, retention: Retention, now_ms: int) -> list[CoordinatorRecord]:
        """Delete offsets that are older than their retention.

        Their age counts from the commit, and not before the group lost its last member; for those
        that were committed with a retention of their own, from the commit alone, as in Kafka. One
        that a transaction is about to replace stays, as there.
        """
        return [
            offset_tombstone(group_id, *held)
            for held, (topic, committed) in self._by_group.get(group_id, {}).items()
            if topic not in retention.subscribed
            and retention.is_over(committed.committed_ms, committed.retention_ms, now_ms)
            and not self.pending.has(group_id, held)
        ]

    def forget_topics(
        self, group_id: str, is_deleted: Callable[[bytes], bool]
    ) -> list[CoordinatorRecord]:
        """Delete the group's offsets of topics that were deleted."""
        held_of_group = {**self._by_group.get(group_id, {}), **self.pending.of_group(group_id)}
        return [offset_tombstone(group_id, *held) for held in held_of_group if is_deleted(held[0])]

    # Change

    def replay(self, key: OffsetCommitKey, value: OffsetCommitValue | None) -> None:
        """Apply a record that was appended or loaded; None deletes."""
        held = (key.topic_id, key.partition)
        if self.pending:
            self.pending.supersede(key.group_id, held)
        self._apply(key.group_id, held, value)

    def replay_pending(
        self, key: OffsetCommitKey, value: OffsetCommitValue, producer_id: int
    ) -> None:
        """Apply a record of a producer's transaction: pending until `replay_end`."""
        self.pending.replay(key, value, producer_id)

    def replay_end(self, producer_id: int, *, is_commit: bool) -> None:
        """Apply a producer's marker."""
        ended: list[PendingOffset] = (
            self.pending.commit(producer_id) if is_commit else self.pending.end(producer_id)
        )
        for one in ended if is_commit else ():
            self._apply(one.group_id, one.held, one.value)

    def _apply(self, group_id: str, held: Held, value: OffsetCommitValue | None) -> None:
        of_group = self._by_group.get(group_id)
        before = None if of_group is None else of_group.get(held)
        if before is not None:
            self._committed_bytes -= _bytes_of(group_id, before[0], before[1].metadata)
        if value is not None:
            self._committed_bytes += _bytes_of(group_id, value.topic, value.metadata)
            committed = CommittedOffset(
                value.offset,
                value.leader_epoch,
                value.metadata,
                value.committed_ms,
                value.retention_ms if value.HasField("retention_ms") else AS_CONFIGURED,
            )
            if of_group is None:
                of_group = self._by_group[group_id] = {}
            # One name for all offsets of a topic: a load would keep a copy for each.
            of_group[held] = (sys.intern(value.topic), committed)
        elif of_group is not None:
            of_group.pop(held, None)
            if not of_group:
                del self._by_group[group_id]

    # Read

    @property
    def groups(self) -> list[str]:
        """Groups with a committed offset, in order."""
        return sorted(self._by_group)

    @property
    def names(self) -> list[str]:
        """Groups with a committed offset, in no order that holds elsewhere."""
        return list(self._by_group)

    def held_by(self, group_id: str) -> Iterator[tuple[bytes, int, CommittedOffset]]:
        """Iterate over topic id, number and committed offset of a group's partitions, as of now."""
        held = self._by_group.get(group_id, {})
        return ((*key, committed) for key, (_, committed) in list(held.items()))

    @property
    def group_count(self) -> int:
        """Number of groups with a committed offset."""
        return len(self._by_group)

    def count(self, group_id: str) -> int:
        """Number of the group's committed offsets."""
        return len(self._by_group.get(group_id, {}))

    def has_offsets(self, group_id: str) -> bool:
        """True if the group has committed an offset that is still there."""
        return group_id in self._by_group

    def fetch(
        self,
        group_id: str,
        partitions: Iterable[TopicPartition],
        topics: Topics,
        *,
        require_stable: bool = False,
    ) -> list[OffsetResult]:
        """Read offsets; one that was not committed is -1, without an error, as in Kafka.

        `require_stable`: one that an open transaction may change is an error (KIP-447).
        """
        resolver = Resolver(topics)
        stable = require_stable and self.pending.has_group(group_id)
        return [self._fetch_one(group_id, asked, resolver, stable=stable) for asked in partitions]

    def _fetch_one(
        self, group_id: str, asked: TopicPartition, resolver: Resolver, *, stable: bool
    ) -> OffsetResult:
        try:
            found = resolver.resolve(asked)
            if stable and self.pending.has(group_id, (found.topic_id, found.partition)):
                raise unstable(found.topic, found.partition)
        except KafkaError as error:
            return OffsetResult(asked, error=as_result(error))
        held = self._by_group.get(group_id, {}).get((found.topic_id, found.partition))
        return OffsetResult(found, NOTHING_COMMITTED if held is None else held[1])

    def fetch_all(
        self,
        group_id: str,
        topics: Topics,
        *,
        after: tuple[str, int] = ("", -1),
        limit: int,
        require_stable: bool = False,
    ) -> list[OffsetResult]:
        """Read the next `limit` offsets after a topic and partition, of existing topics, in order.

        Fewer than `limit`: there are no more. `require_stable` as `fetch`: errors are among them.
        """
        pending = self.pending.of_group(group_id) if require_stable else {}
        held = self._by_group.get(group_id, {})
        # Whatever the number of all offsets, results are made and sorted for this page alone.
        numbers: dict[bytes, list[int]] = {}
        for topic_id, number in {**held, **pending} if pending else held:
            numbers.setdefault(topic_id, []).append(number)
        named = [(topics.name(topic_id) or "", topic_id) for topic_id in numbers]
        found: list[OffsetResult] = []
        for topic, topic_id in sorted(one for one in named if one[0] and one[0] >= after[0]):
            behind = sorted([one for one in numbers[topic_id] if (topic, one) > after])
            for number in behind[: limit - len(found)]:
                partition, key = TopicPartition(topic, topic_id, number), (topic_id, number)
                if key in pending:
                    found.append(OffsetResult(partition, error=unstable(topic, number)))
                else:
                    found.append(OffsetResult(partition, held[key][1]))
            if len(found) == limit:
                break
        return found


class Resolver:
    """Partitions of one request under their full names; each topic is looked up once."""

    def __init__(self, topics: Topics) -> None:
        self._topics = topics
        self._known: dict[tuple[str, bytes], tuple[str, bytes, int]] = {}
        """Name, id and number of partitions, by what was asked for."""

    def resolve(self, asked: TopicPartition) -> TopicPartition:
        """Complete name and id. Raises `KafkaError` unless both name one existing partition."""
        topic, topic_id, number = asked
        found = self._known.get((topic, topic_id))
        if found is None:
            found = self._known[topic, topic_id] = self._look_up(topic, topic_id)
        if not 0 <= number < found[2]:
            raise UnknownTopicOrPartitionError(
                f"{found[0]}-{number} does not exist: the topic has {found[2]} partitions"
            )
        return asked if topic and topic_id else TopicPartition(found[0], found[1], number)

    def _look_up(self, topic: str, topic_id: bytes) -> tuple[str, bytes, int]:
        found_id = topic_id or self._topics.topic_id(topic)
        if found_id is None:
            raise UnknownTopicOrPartitionError(f"topic {_shown(topic)} does not exist")
        name = self._topics.name(found_id)
        if name is None:
            raise UnknownTopicIdError(f"no topic has the id {found_id.hex()}: it was deleted")
        if topic not in ("", name):
            raise InconsistentTopicIdError(
                f"topic {_shown(topic)} does not have the id {found_id.hex()}: look it up again"
            )
        return name, found_id, self._topics.partition_count(found_id)


def _shown(topic: str) -> str:
    """Shorten a stranger's word, which an answer repeats for each partition."""
    short = topic if len(topic) <= SHOWN_CHARACTERS else f"{topic[:SHOWN_CHARACTERS]}…"
    return repr(short)


def _bytes_of(group_id: str, topic: str, metadata: str) -> int:
    return OFFSET_BYTES + len(group_id) + len(topic) + len(metadata)


def _commit_record(
    group_id: str, partition: TopicPartition, committed: CommittedOffset
) -> CoordinatorRecord:
    value = OffsetCommitValue(
        offset=committed.offset,
        leader_epoch=committed.leader_epoch,
        metadata=committed.metadata,
        committed_ms=committed.committed_ms,
        topic=partition.topic,
        retention_ms=None if committed.retention_ms < 0 else committed.retention_ms,
    )
    return CoordinatorRecord(offset_key(group_id, partition.topic_id, partition.partition), value)
