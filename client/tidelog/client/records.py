"""The client's data types: partitions, records read, metadata of records sent."""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, NamedTuple

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    K = TypeVar("K", default=bytes | None)
    V = TypeVar("V", default=bytes | None)
else:
    from typing import TypeVar

    # Defaults of type variables come with Python 3.13; type checkers know them already.
    K = TypeVar("K")
    V = TypeVar("V")


class TopicPartition(NamedTuple):
    """A partition of a topic."""

    topic: str
    partition: int


class Record(NamedTuple, Generic[K, V]):
    """A record as read; `timestamp_ms` counts from the Unix epoch, None is null.

    Key and value are bytes unless the consumer has deserializers.
    """

    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    key: K
    value: V
    headers: tuple[tuple[str, bytes | None], ...]


class RecordMetadata(NamedTuple):
    """The place of an acknowledged record. With acks=0 the offset is unknown: -1.

    The timestamp is the record's own, or the broker's if the topic has LogAppendTime.
    """

    topic: str
    partition: int
    offset: int
    timestamp_ms: int


class BulkMetadata(NamedTuple):
    """The outcome of a bulk send: each record is in exactly one of the counts."""

    acknowledged: int
    failed: int
    error: Exception | None
    """The first failure; None when all were acknowledged."""


Headers = tuple[tuple[str, bytes | None], ...]
