"""Kafka's messages in the codecs of kafka-python and kio: oracles, for development only.

Each makes its own message of a value (`kafka_values`), its bytes, and reads bytes back. Where they
differ from Kafka:

- kio has types of its own where the wire has numbers: error codes that exist, times in whole
  seconds, some of which cannot be absent. `kio_values` keeps to those. Its fields stand in the
  order of the schema, by names of its own.
- kafka-python lacks `ConsumerGroupHeartbeat` and `ConsumerGroupDescribe`; takes operations that are
  allowed as a set of bits, in three messages; reads an `ApiVersionsResponse` with an error as
  version 0, whichever was asked for: what it reads of those is not compared.
"""

from __future__ import annotations

import dataclasses
import importlib
import io
import uuid
from datetime import UTC, datetime, timedelta
from functools import cache
from types import ModuleType
from typing import Any, Protocol

import kafka.protocol.admin
import kafka.protocol.consumer
import kafka.protocol.metadata
import kafka.protocol.producer
from hypothesis import strategies as st
from kafka.protocol.api_header import RequestHeader, ResponseHeader
from kio.schema.errors import ErrorCode
from kio.serial import entity_reader, entity_writer
from tests.proto.kafka_values import MESSAGES, SHAPES, Value, default

from kafka_layouts import Layout, Slot, snake

_OPERATIONS = ("MetadataResponse", "DescribeClusterResponse", "DescribeGroupsResponse")
"""Messages of kafka-python whose fields of authorized operations are sets."""
_MILLISECOND = timedelta(milliseconds=1)
_KAFKA_PYTHON = (
    *(kafka.protocol.admin, kafka.protocol.consumer),
    *(kafka.protocol.metadata, kafka.protocol.producer),
)


class Oracle(Protocol):
    """Another codec's version of a message."""

    def message(self, value: Value) -> Any:
        """Its own message of a value."""

    def encode(self, message: Any) -> bytes:
        """The bytes of its message."""

    def decode(self, data: bytes) -> Any:
        """Its message of bytes, which must take all of them."""

    def reads(self, data: bytes, value: Value) -> bool:
        """True if the bytes are read as the value."""


def oracles_of(name: str, version: int) -> list[Oracle]:
    """The oracles that have the message in this version."""
    found: list[Oracle] = []
    if kafka_python_class(name) is not None:
        found.append(KafkaPython(name, version))
    return [*found, Kio(name, version)]


def kafka_python_class(name: str) -> Any:
    """The class of kafka-python, None for a message that it lacks."""
    headers = {"RequestHeader": RequestHeader, "ResponseHeader": ResponseHeader}
    return next((getattr(one, name) for one in _KAFKA_PYTHON if hasattr(one, name)), None) or (
        headers.get(name)
    )


class KafkaPython:
    """A message of kafka-python."""

    def __init__(self, name: str, version: int) -> None:
        self._name, self._version = name, version
        self._shapes = SHAPES[name]
        self._class = kafka_python_class(name)

    def message(self, value: Value) -> Any:
        return self._made(self._class, self._shapes.layout(self._version), value)

    def encode(self, message: Any) -> bytes:
        match MESSAGES[self._name].kind:
            case "data":
                return bytes(message.encode(header=False))
            case "header":
                return bytes(message.encode(flexible=self._is_flexible))
        return bytes(message.encode(version=self._version))

    def decode(self, data: bytes) -> Any:
        match MESSAGES[self._name].kind:
            case "data":
                return self._class.decode(data, version=self._version, header=False)
            case "header":
                return self._class.decode(io.BytesIO(data), flexible=self._is_flexible)
        return self._class.decode(data, version=self._version)

    def reads(self, data: bytes, value: Value) -> bool:
        if self._name == "ApiVersionsResponse" and value["ErrorCode"]:
            return True
        read = self.decode(data)
        return self._is_same(read, self._shapes.layout(self._version), value)

    @property
    def _is_flexible(self) -> bool:
        return self._version in MESSAGES[self._name].flexible

    def _made(self, made: Any, layout: Layout, value: Value) -> Any:
        """Its message; tagged fields are given only where they are to be written."""
        given = {}
        for slot in layout.slots:
            one = value[slot.name]
            if slot.tag is None or one != self._default(layout, slot):
                given[self._field(slot)] = self._given(made, slot, one)
        return made(version=self._version, **given)

    def _given(self, made: Any, slot: Slot, one: Any) -> Any:
        if one is None:
            return None
        if slot.element == "uuid":
            return [uuid.UUID(bytes=x) for x in one] if slot.is_array else uuid.UUID(bytes=one)
        if self._is_set(slot):
            return {bit for bit in range(32) if one & 1 << bit}
        if slot.inner is None:
            return one
        part, inner = getattr(made, slot.element), slot.inner
        if slot.is_array:
            return [self._made(part, inner, each) for each in one]
        return self._made(part, inner, one)

    def _is_same(self, read: Any, layout: Layout, value: Value) -> bool:
        for slot in layout.slots:
            theirs, one = getattr(read, self._field(slot)), value[slot.name]
            if slot.tag is not None and one == self._default(layout, slot):
                continue
            if slot.element == "uuid":
                theirs = [_id(x) for x in theirs] if slot.is_array else _id(theirs)
            if self._is_set(slot):
                theirs = _number({31} if theirs is None else theirs)
            if slot.inner is None or one is None:
                same = (bytes(theirs) if isinstance(theirs, memoryview) else theirs) == one
            elif slot.is_array:
                pairs = zip(theirs, one, strict=True)
                inner = slot.inner
                same = all(self._is_same(each, inner, other) for each, other in pairs)
            else:
                same = self._is_same(theirs, slot.inner, one)
            if not same:
                return False
        return True

    def _default(self, layout: Layout, slot: Slot) -> Any:
        return default(self._shapes, layout.struct, slot)

    def _is_set(self, slot: Slot) -> bool:
        return self._name in _OPERATIONS and slot.name.endswith("AuthorizedOperations")

    def _field(self, slot: Slot) -> str:
        if self._is_set(slot):
            return "authorized_operations"
        return "".join(f"_{c.lower()}" if c.isupper() else c for c in slot.name).lstrip("_")


def _number(bits: set[int]) -> int:
    """The signed number of 32 bits."""
    number = sum(1 << bit for bit in bits)
    return number - (1 << 32) if number >> 31 else number


def _id(theirs: uuid.UUID | None) -> bytes:
    return bytes(16) if theirs is None else theirs.bytes


class Kio:
    """A message of kio."""

    def __init__(self, name: str, version: int) -> None:
        self._version = version
        self._shapes = SHAPES[name]
        self._module = kio_module(name, version)
        self._class = getattr(self._module, name)
        self._read, self._write = entity_reader(self._class), entity_writer(self._class)

    def encode(self, message: Any) -> bytes:
        buffer = io.BytesIO()
        self._write(buffer, message)
        return buffer.getvalue()

    def decode(self, data: bytes) -> Any:
        read, size = self._read(data, 0)
        assert size == len(data)
        return read

    def reads(self, data: bytes, value: Value) -> bool:
        return bool(self.decode(data) == self.message(value))

    def message(self, value: Value) -> Any:
        return self._made(self._class, self._shapes.layout(self._version), value)

    def _made(self, made: Any, layout: Layout, value: Value) -> Any:
        given = {}
        for slot, field in zip(layout.slots, dataclasses.fields(made), strict=True):
            one = value[slot.name]
            if slot.tag is None or one != default(self._shapes, layout.struct, slot):
                given[field.name] = self._given(field, slot, one)
        return made(**given)

    def _given(self, field: dataclasses.Field[Any], slot: Slot, one: Any) -> Any:
        if one is None:
            return None
        inner = slot.inner
        if inner is None:
            kind = field.metadata["kafka_type"]
            return tuple(_kio(kind, x) for x in one) if slot.is_array else _kio(kind, one)
        part = getattr(self._module, slot.element)
        if slot.is_array:
            return tuple(self._made(part, inner, each) for each in one)
        return self._made(part, inner, one)


def _kio(kind: str, value: Any) -> Any:
    match kind:
        case "error_code":
            return ErrorCode(value)
        case "datetime_i64":
            return None if value == -1 else datetime.fromtimestamp(value / 1000, tz=UTC)
        case "timedelta_i32" | "timedelta_i64":
            return value * _MILLISECOND
        case "uuid":
            return None if value == bytes(16) else uuid.UUID(bytes=value)
    return value


@cache
def kio_module(name: str, version: int) -> ModuleType:
    """The module of a message of kio."""
    kind = MESSAGES[name].kind
    api = name if kind in ("data", "header") else name.removesuffix(kind.capitalize())
    return importlib.import_module(f"kio.schema.{snake(api)}.v{version}.{kind}")


def kio_values(name: str, version: int) -> Any:
    """What narrows the values of a slot to those that kio's types can hold."""
    module = kio_module(name, version)

    def narrowed(slot: Slot, layout: Layout) -> st.SearchStrategy[Any] | None:
        fields = dataclasses.fields(getattr(module, layout.struct))
        kind = fields[layout.slots.index(slot)].metadata.get("kafka_type", "")
        if kind == "error_code":
            one: st.SearchStrategy[int] = st.sampled_from([code.value for code in ErrorCode])
        elif kind == "datetime_i64":
            one = st.integers(0, 1 << 32).map(lambda seconds: seconds * 1000)
        elif kind == "timedelta_i64":
            one = st.integers(0, 1 << 40)
        else:
            return None
        return st.lists(one, max_size=3) if slot.is_array else one

    return narrowed
