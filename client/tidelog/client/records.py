"""What users of the client hold: partitions, records read, receipts of records sent."""

from __future__ import annotations

from typing import NamedTuple


class TopicPartition(NamedTuple):
    """One partition of a topic."""

    topic: str
    partition: int


class Record(NamedTuple):
    """A record as read; `timestamp_ms` counts from the Unix epoch, None is null."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]


class RecordMetadata(NamedTuple):
    """Where an acknowledged record lies. With acks=0 nobody knows: the offset is -1."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int


class BulkMetadata(NamedTuple):
    """What became of the records of one bulk send: each is in exactly one of the counts."""

    acknowledged: int
    failed: int
    error: Exception | None
    """The first failure; None when all were acknowledged."""


Headers = tuple[tuple[str, bytes | None], ...]
