"""What users of the client hold: partitions, records read, receipts of records sent."""

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
    """One partition of a topic."""

    topic: str
    partition: int


class Record(NamedTuple, Generic[K, V]):
    """A record as read; `timestamp_ms` counts from the Unix epoch, None is null.

    Key and value are bytes unless the consumer was given deserializers.
    """

    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    key: K
    value: V
    headers: tuple[tuple[str, bytes | None], ...]


class RecordMetadata(NamedTuple):
    """Where an acknowledged record lies. With acks=0 nobody knows: the offset is -1.

    The timestamp is the record's own, or the broker's where the topic has LogAppendTime.
    """

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
