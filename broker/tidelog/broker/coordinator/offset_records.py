"""Keys and tombstones of committed offsets. Pure."""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from tidelog.broker.coordinator.coordinator_records import CoordinatorRecord
from tidelog.v1.coordinator_records_pb2 import CoordinatorKey


def offset_tombstone(group_id: str, topic_id: bytes, partition: int) -> CoordinatorRecord:
    """Make the record by which an offset is gone."""
    return CoordinatorRecord(offset_key(group_id, topic_id, partition), None)


def offset_key(group_id: str, topic_id: bytes, partition: int) -> CoordinatorKey:
    """Make the key of a partition's offset."""
    key = CoordinatorKey()
    commit = key.offset_commit  # in place, for half the time
    commit.group_id, commit.topic_id, commit.partition = group_id, topic_id, partition
    return key
