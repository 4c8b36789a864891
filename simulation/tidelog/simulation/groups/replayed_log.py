"""A coordinator's partition, replayed from its log beside the coordinator.

Reads the files themselves, batch by batch as they are appended, and keeps what it read: also any
compacted subset of it must give the same state.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from tidelog.broker.coordinator.coordinator_records import CoordinatorRecord, decode
from tidelog.broker.coordinator.group_config import GroupConfig
from tidelog.broker.coordinator.group_shard import GroupShard
from tidelog.broker.coordinator.offsets import Topics
from tidelog.core.chance import SeededRandom
from tidelog.log.file_names import SWAP
from tidelog.log.partition_log import PartitionLog
from tidelog.records.records import iter_records
from tidelog.simulation.cluster.inside import Cursor, walk
from tidelog.simulation.engine.disk import SimDisk

KEPT_PROBABILITY = 0.5
"""Probability that compaction has not come to a record that a later one replaces."""


class LogRecord(NamedTuple):
    """A record of the internal topic, by its key's bytes."""

    key: bytes
    record: CoordinatorRecord


class NoTopics:
    """`Topics` of a shard that only replays."""

    def topic_id(self, topic: str) -> bytes | None:
        """See `Topics`."""
        del topic
        return None

    def name(self, topic_id: bytes) -> str | None:
        """See `Topics`."""
        del topic_id
        return None

    def partition_count(self, topic_id: bytes) -> int:
        """See `Topics`."""
        del topic_id
        return 0

    def leader_epoch(self, topic_id: bytes, partition: int) -> int:
        """See `Topics`."""
        del topic_id, partition
        return 0

    def matching(self, pattern: str) -> frozenset[str]:
        """See `Topics`."""
        del pattern
        return frozenset()

    def digest(self, topic: str) -> int:
        """See `Topics`."""
        del topic
        return 0

    @property
    def revision(self) -> object:
        """See `Topics`: they never change."""
        return None


class ReplayedLog:
    """Records of one partition's log on one disk, as far as they were read, and their state."""

    def __init__(self, log: PartitionLog, disk: SimDisk) -> None:
        self.shard = empty_shard()
        self.log = log
        self._disk = disk
        self._cursor = Cursor()
        self._records: list[LogRecord] = []

    def read_on(self, end: int) -> bool:
        """Replay up to an offset; False while compaction gives files their names."""
        if any(name.endswith(SWAP) for name in self._disk.names(self.log.directory)):
            return False
        for found in walk(self.log, self._disk, self._cursor, end=end):
            if found.header is None:
                break
            batch = self._disk.look(found.path, found.position, found.header.size_in_bytes)
            for one in iter_records(batch):
                record = decode(one.key, one.value)
                if record is not None:
                    self.shard.replay(record)
                    self._records.append(LogRecord(one.key or b"", record))
        return True

    @property
    def end(self) -> int:
        """Exclusive end of what was read."""
        return max(0, self._cursor.offset)

    def compacted(self, random: SeededRandom) -> GroupShard:
        """The state by a subset of the records, as compaction may leave it."""
        shard = empty_shard()
        for one in compact(self._records, random):
            shard.replay(one.record)
        return shard


def compact(records: Sequence[LogRecord], random: SeededRandom) -> list[LogRecord]:
    """Leave out records that a later one of their key replaces, and tombstones of nothing."""
    newest = {one.key: at for at, one in enumerate(records)}
    kept: list[LogRecord] = []
    live: dict[bytes, bool] = {}  # keys of which a record was kept
    for at, one in enumerate(records):
        is_newest = newest[one.key] == at
        is_needed = one.record.value is not None or one.key in live
        if (is_newest and is_needed) or random.random() < KEPT_PROBABILITY:
            kept.append(one)
            live[one.key] = True
    return kept


def empty_shard() -> GroupShard:
    """A shard without a coordinator."""
    topics: Topics = NoTopics()
    return GroupShard(config=GroupConfig(), assignors={}, topics=topics, leader_epoch=0)


def state_of(shard: GroupShard) -> dict[str, Any]:  # by group, of whatever kind
    """State that a shard has replayed, to compare."""
    groups: dict[str, Any] = {
        name: (live.state.state, live.state.members) for name, live in shard.groups.items()
    }
    classic = {
        name: live.state.recorded
        for name, live in shard.classic.by_id.items()
        if live.state.is_recorded
    }
    offsets = shard.offsets._by_group  # noqa: SLF001
    return {"groups": groups, "classic groups": classic, "offsets": offsets}


def difference(one: GroupShard, other: GroupShard) -> str | None:
    """Say in what two shards differ; None: in nothing."""
    mine, theirs = state_of(one), state_of(other)
    for kind, state in mine.items():
        if state == theirs[kind]:
            continue
        for key in {**state, **theirs[kind]}:
            if state.get(key) != theirs[kind].get(key):
                return f"{kind} of {key}: {state.get(key)} is not {theirs[kind].get(key)}"
    return None
