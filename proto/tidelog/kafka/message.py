"""Base of Kafka's messages: decode from bytes, encode to buffers, both by version.

A message has the fields of all its versions. Decoding gives those of another version their
defaults; encoding leaves them out. Messages are plain values: mutable, equal field by field.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Self

import msgspec

from tidelog.kafka.errors import (
    KafkaMessageError,
    MalformedMessageError,
    UnencodableMessageError,
    UnsupportedVersionError,
)
from tidelog.kafka.wire import ELEMENTS_MAX, Buffer

Reader = Callable[[Any, int, int, list[int], int], tuple[list[Any], int]]
"""Function of data, position, end, elements left and number: that many messages, and their end."""
Writer = Callable[[Sequence[Any], list[Buffer]], None]
"""Function that appends the bytes of messages."""
RecordsWriter = Callable[[Sequence[Any], list[Buffer], list[Buffer]], None]
"""The same; it moves what it has to the buffers before it adds records to them."""

_UNFIT = (struct.error, AttributeError, TypeError, UnicodeEncodeError)
"""Errors that a value of another type or range raises on its way to bytes."""


class Message(msgspec.Struct, gc=False):
    """A message. `VERSIONS` are those that it can be read and written in."""

    API_KEY: ClassVar[int] = -1
    VERSIONS: ClassVar[range] = range(0)
    FLEXIBLE: ClassVar[range] = range(0)
    """Versions with compact lengths and tagged fields."""
    _READERS: ClassVar[Mapping[int, Reader]] = {}
    _WRITERS: ClassVar[Mapping[int, Any]] = {}

    @classmethod
    def decode(cls, data: Buffer, version: int, *, elements_max: int = ELEMENTS_MAX) -> Self:
        """Read a message that takes all of `data`. Raises Malformed… or UnsupportedVersionError."""
        message, end = cls.decode_prefix(data, version, elements_max=elements_max)
        if end != len(data):
            problem = f"{len(data) - end} bytes more than the message has"
            raise MalformedMessageError(problem).of(cls.__name__, version)
        return message

    @classmethod
    def decode_prefix(
        cls, data: Buffer, version: int, *, elements_max: int = ELEMENTS_MAX
    ) -> tuple[Self, int]:
        """Read a message from the beginning of `data`: it, and where it ends.

        Raises `TooManyElementsError` before it has read more than `elements_max` elements.
        """
        message, end, _ = cls._read(data, version, elements_max)
        return message, end

    @classmethod
    def decode_counted(cls, data: Buffer, version: int, *, elements_max: int) -> tuple[Self, int]:
        """The same, with the number of elements in all lists instead of the end."""
        message, _, elements = cls._read(data, version, elements_max)
        return message, elements

    @classmethod
    def _read(cls, data: Buffer, version: int, elements_max: int) -> tuple[Self, int, int]:
        read = cls._READERS.get(version)
        if read is None:
            raise cls._unsupported(version)
        whole, room = cls._readable(data), [elements_max]
        try:
            messages, end = read(whole, 0, len(whole), room, 1)
        except KafkaMessageError as error:
            raise error.of(cls.__name__, version) from None
        message: Self = messages[0]
        return message, end, elements_max - room[0]

    def encode(self, version: int) -> list[Buffer]:
        """Write the message. Raises Unencodable… or UnsupportedVersionError."""
        out: list[Buffer] = []
        self._write(version, out)
        return [b"".join(out)]

    def _write(self, version: int, *into: Any) -> None:
        write = self._WRITERS.get(version)
        if write is None:
            raise self._unsupported(version)
        try:
            write((self,), *into)
        except KafkaMessageError as error:
            raise error.of(type(self).__name__, version) from None
        except _UNFIT as error:
            raise UnencodableMessageError(str(error)).of(type(self).__name__, version) from error

    @classmethod
    def _readable(cls, data: Buffer) -> Buffer:
        """The bytes as they are read fastest: a copy, since nothing in the message is a view."""
        return bytes(data)

    @classmethod
    def _unsupported(cls, version: int) -> UnsupportedVersionError:
        versions = f"{cls.VERSIONS.start} to {cls.VERSIONS.stop - 1}"
        problem = f"there are versions {versions}"
        return UnsupportedVersionError(problem).of(cls.__name__, version)


class RecordsMessage(Message, gc=False):
    """A message with records: they are views of what was decoded, and buffers of their own."""

    def encode(self, version: int) -> list[Buffer]:
        """Write the message; large records are the buffers that the message has."""
        out: list[Buffer] = []
        buffers: list[Buffer] = []
        self._write(version, out, buffers)
        if out:
            buffers.append(b"".join(out))
        return buffers

    @classmethod
    def _readable(cls, data: Buffer) -> Buffer:
        return memoryview(data)


class Part(msgspec.Struct, gc=False):
    """A struct that may be written once and put into many messages of its version."""

    _WRITERS: ClassVar[Mapping[int, Writer]] = {}

    def encode(self, version: int) -> bytes:
        """Write the struct alone, for `encoded` of one in messages of this version."""
        out: list[Buffer] = []
        self._WRITERS[version]((self,), out)
        return b"".join(out)
