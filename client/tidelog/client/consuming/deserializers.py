"""Deserializers: turn keys and values into the application's objects, and report which one failed.

Owns the two callables of a consumer. Without them nothing here runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Generic, Literal, TypeVar, cast

from tidelog.client.errors import DeserializationError
from tidelog.client.records import K, Record, V

T = TypeVar("T")
Deserializer = Callable[[str, bytes | None], T]
"""Called with the topic and the bytes, None for null; an exception is a DeserializationError."""


class Deserializers(Generic[K, V]):
    """The deserializers of key and value; None keeps the bytes. True if there are any."""

    def __init__(self, *, key: Deserializer[K] | None, value: Deserializer[V] | None) -> None:
        self._key = key
        self._value = value

    def __bool__(self) -> bool:
        return self._key is not None or self._value is not None

    def record(self, record: Record) -> Record[K, V]:
        """Deserialize a record. Errors: DeserializationError."""
        topic, partition, offset, timestamp_ms, raw_key, raw_value, headers = record
        key: Any = raw_key  # K is bytes | None without a deserializer
        value: Any = raw_value  # likewise V
        if self._key is not None:
            key = _deserialize(self._key, record, raw_key, part="key")
        if self._value is not None:
            value = _deserialize(self._value, record, raw_value, part="value")
        return Record(topic, partition, offset, timestamp_ms, key, value, headers)

    def each(self, records: Iterator[Record]) -> Iterator[Record[K, V]]:
        """Deserialize records one by one. Errors: DeserializationError."""
        if self:
            return map(self.record, records)
        return cast("Iterator[Record[K, V]]", records)  # K and V are bytes | None then

    def all(
        self, records: Iterator[Record]
    ) -> tuple[list[Record[K, V]], DeserializationError | None]:
        """The records before the first that fails, and the error of that one."""
        good: list[Record[K, V]] = []
        try:
            good.extend(self.each(records))
        except DeserializationError as error:
            return good, error
        return good, None


def _deserialize(
    deserializer: Deserializer[T],
    record: Record,
    data: bytes | None,
    *,
    part: Literal["key", "value"],
) -> T:
    try:
        return deserializer(record.topic, data)
    except Exception as error:  # the application's callable: whatever it raises
        raise DeserializationError(
            f"the {part} of {record.topic}-{record.partition} at offset {record.offset} could not "
            f"be deserialized: {error!r}; seek past it to continue without it",
            topic=record.topic,
            partition=record.partition,
            offset=record.offset,
            part=part,
        ) from error
