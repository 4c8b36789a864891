"""The partition of `__transaction_state` that holds a transactional id. Pure.

Ids of one prefix share a partition, so that one coordinator can end their transactions together:
the prefix of `g/1` and `g/2` is `g` (decision 0059). An id without a slash is its own prefix, and
its partition is Kafka's.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from tidelog.broker.coordinator import group_key
from tidelog.core.errors import InvalidRequestError

ID_CHARACTERS_MAX = 249
"""As a group's id."""
SEPARATOR = "/"


def check_transactional_id(transactional_id: str) -> None:
    """Raise `InvalidRequestError` unless the id has 1 to 249 characters."""
    if not transactional_id:
        raise InvalidRequestError("the transactional id is empty: name the producer")
    if len(transactional_id) > ID_CHARACTERS_MAX:
        raise InvalidRequestError(
            f"the transactional id has {len(transactional_id)} characters: "
            f"at most {ID_CHARACTERS_MAX}"
        )


def prefix_of(transactional_id: str) -> str:
    """Return the id up to its first slash; all of it, where it has none."""
    return transactional_id.partition(SEPARATOR)[0]


def partition_of(transactional_id: str, partitions: int) -> int:
    """Compute the partition out of `partitions`, by Java's hash of the id's prefix."""
    return group_key.partition_of(prefix_of(transactional_id), partitions)
