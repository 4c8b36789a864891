"""Serializers: turn the application's keys and values into bytes, and report which one failed.

Owns the two callables of a producer. Without them bytes are sent unchanged.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import repeat
from typing import TYPE_CHECKING, Any, Generic, Literal

from tidelog.client.errors import SerializationError
from tidelog.client.producing.partitioners import Pair

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    K = TypeVar("K", default=bytes)
    V = TypeVar("V", default=bytes)
else:
    from typing import TypeVar

    # Defaults of type variables come with Python 3.13; type checkers know them already.
    K = TypeVar("K")
    V = TypeVar("V")

T = TypeVar("T")
Serializer = Callable[[str, T], bytes | None]
"""Called with the topic and the object, never None; an exception is a SerializationError."""
_Part = Literal["key", "value"]
_AnySerializer = Callable[[str, Any], bytes | None]  # Any: K or V
_BYTES_OR_NONE = frozenset({bytes, type(None)})


class Serializers(Generic[K, V]):
    """The serializers of key and value; without one only bytes are taken. None stays null."""

    def __init__(self, *, key: Serializer[K] | None, value: Serializer[V] | None) -> None:
        self._key = key
        self._value = value
        self._is_plain = key is None and value is None

    def pair(self, topic: str, key: object, value: object) -> Pair:
        """Serialize a key and a value. Errors: SerializationError; TypeError if not bytes."""
        if self._is_plain and type(value) is bytes and (key is None or type(key) is bytes):
            return key, value  # the common case, without two calls
        return (
            _serialize(self._key, topic, key, part="key"),
            _serialize(self._value, topic, value, part="value"),
        )

    def pairs(
        self, topic: str, keys: Sequence[K | None] | None, values: Sequence[V | None]
    ) -> list[Pair]:
        """Serialize many records. Errors: those of `pair`; ValueError for unequal lengths."""
        key_bytes = _all_serialized(self._key, topic, keys, part="key") if keys else None
        value_bytes = _all_serialized(self._value, topic, values, part="value")
        return list(zip(key_bytes or repeat(None, len(values)), value_bytes, strict=True))


def _all_serialized(
    serializer: _AnySerializer | None,
    topic: str,
    objects: Sequence[Any],  # K or V
    *,
    part: _Part,
) -> Sequence[bytes | None]:
    if serializer is not None:
        return [_serialize(serializer, topic, thing, part=part) for thing in objects]
    if not _BYTES_OR_NONE.issuperset(map(type, objects)):
        wrong = next(thing for thing in objects if type(thing) not in _BYTES_OR_NONE)
        _serialize(None, topic, wrong, part=part)
    return objects


def _serialize(
    serializer: _AnySerializer | None,
    topic: str,
    thing: Any,  # K or V
    *,
    part: _Part,
) -> bytes | None:
    if thing is None:
        return None
    data: object = thing
    if serializer is not None:
        try:
            data = serializer(topic, thing)
        except Exception as error:  # the application's callable: whatever it raises
            raise SerializationError(
                f"the {part} of a record for topic {topic!r} could not be serialized: {error!r}",
                topic=topic,
                part=part,
            ) from error
    if type(data) is bytes or data is None:
        return data
    if serializer is None:
        raise TypeError(f"{part} must be bytes or None, not {type(data).__name__}")
    raise SerializationError(
        f"the {part}_serializer answered {type(data).__name__} for a record of topic {topic!r}: "
        "it must return bytes or None",
        topic=topic,
        part=part,
    )
