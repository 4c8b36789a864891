"""The partition of `__transaction_state` that holds a transactional id. Pure.

Ids of one prefix share a partition, so that one coordinator can end their transactions together:
the prefix of `g/1` and `g/2` is `g` (decision 0059). An id without a slash is its own prefix, and
its partition is Kafka's.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from tidelog.broker.coordinator import group_key
from tidelog.broker.partition_adder import ID_CHARACTERS_MAX, check_transactional_id

__all__ = ["ID_CHARACTERS_MAX", "check_transactional_id"]  # defined below the rooms that share them

SEPARATOR = "/"


def prefix_of(transactional_id: str) -> str:
    """Return the id up to its first slash; all of it, where it has none."""
    return transactional_id.partition(SEPARATOR)[0]


def partition_of(transactional_id: str, partitions: int) -> int:
    """Compute the partition out of `partitions`, by Java's hash of the id's prefix."""
    return group_key.partition_of(prefix_of(transactional_id), partitions)
