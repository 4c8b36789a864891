"""Isolation levels of readers: their names, and the batches of aborted transactions. Pure.

A broker bounds readers of committed records by the last stable offset, and names the aborted
transactions among the records; their batches are dropped here, by header (KIP-98).
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from typing import Literal

from tidelog.client.errors import ClientConfigError
from tidelog.records.batch import CONTROL_FLAG, TRANSACTIONAL_FLAG, BatchHeader
from tidelog.v1.data_pb2 import (
    READ_COMMITTED,
    READ_UNCOMMITTED,
    AbortedTransaction,
    IsolationLevel,
    PartitionFetchResult,
)

Isolation = Literal["read_uncommitted", "read_committed"]
"""Level by name: all below the high watermark is read, or no records but committed ones."""

_LEVELS: Mapping[str, IsolationLevel] = {
    "read_uncommitted": READ_UNCOMMITTED,
    "read_committed": READ_COMMITTED,
}


def level_of(name: str) -> IsolationLevel:
    """The level of this name. Errors: ClientConfigError, which names the allowed ones."""
    if name not in _LEVELS:
        allowed = " or ".join(f'"{one}"' for one in _LEVELS)
        raise ClientConfigError(f"isolation_level={name!r}: {allowed}")
    return _LEVELS[name]


def name_of(level: IsolationLevel) -> Isolation:
    """The name of a level."""
    return "read_committed" if level == READ_COMMITTED else "read_uncommitted"


def end_offset_of(result: PartitionFetchResult, level: IsolationLevel) -> int:
    """The end of what readers of this level get, when the result was made."""
    return result.last_stable_offset if level == READ_COMMITTED else result.high_watermark


def aborted_batches(
    headers: Iterable[BatchHeader], aborted: Iterable[AbortedTransaction]
) -> frozenset[int]:
    """The base offsets of the batches, of one answer, whose transactions were aborted.

    A producer has one transaction at a time, and its next marker ends it: the first offset and
    the markers suffice. The answer may begin within a transaction.
    """
    coming = deque(sorted((one.first_offset, one.producer_id) for one in aborted))
    if not coming:
        return frozenset()
    producers: set[int] = set()
    found = []
    for header in headers:
        while coming and coming[0][0] <= header.last_offset:
            producers.add(coming.popleft()[1])
        if header.producer_id not in producers:
            continue
        if header.attributes & CONTROL_FLAG:
            producers.discard(header.producer_id)
        elif header.attributes & TRANSACTIONAL_FLAG:
            found.append(header.base_offset)
    return frozenset(found)
