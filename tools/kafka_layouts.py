"""Layouts of a message: which fields a version has, in which form and order.

Versions in which a struct has the same layout share the code that reads and writes it: layouts are
compared by value.
"""

from __future__ import annotations

import keyword
import re
from dataclasses import dataclass
from functools import cached_property

from kafka_notation import Field, Message

CODES = {
    "bool": ("?", 1),
    "int8": ("b", 1),
    "int16": ("h", 2),
    "uint16": ("H", 2),
    "int32": ("i", 4),
    "uint32": ("I", 4),
    "int64": ("q", 8),
    "float64": ("d", 8),
    "uuid": ("16s", 16),
}
"""Format code and size of the types of fixed size."""
_LENGTH_BYTES = {"string": 2, "bytes": 4, "records": 4}
_TAKEN = frozenset(
    {
        *("at", "buffers", "bytes", "content", "count", "data", "end", "items", "len", "list", "m"),
        *("n", "out", "pack", "part", "range", "room", "size", "stop", "tag", "tag_end", "tags"),
    }
)
"""Names that generated functions use."""


def snake(name: str) -> str:
    """The Python name of a field, struct or message."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name)
    return spaced.lower()


def attribute(field: Field) -> str:
    """The name of the field in its class."""
    name = snake(field.name)
    return f"{name}_" if keyword.iskeyword(name) else name


def local(field: Field) -> str:
    """The name of the field's value in generated functions."""
    name = attribute(field)
    return f"{name}_" if name in _TAKEN else name


@dataclass(frozen=True)
class Slot:
    """A field as one version has it."""

    name: str
    type: str
    is_nullable: bool
    is_compact: bool
    tag: int | None
    inner: Layout | None
    """Layout of a struct, or of the elements that are structs."""

    @property
    def is_array(self) -> bool:
        """True for a list of elements."""
        return self.type.startswith("[]")

    @property
    def element(self) -> str:
        """The type, or that of an array's elements."""
        return self.type.removeprefix("[]")

    @property
    def has_records(self) -> bool:
        """True if records are in it, at any depth."""
        return self.type == "records" or (self.inner is not None and self.inner.has_records)

    @property
    def bytes_min(self) -> int:
        """The least that it takes on the wire."""
        if self.is_array:
            return 1 if self.is_compact else 4
        if self.type in CODES:
            return CODES[self.type][1]
        if self.type in _LENGTH_BYTES:
            return 1 if self.is_compact else _LENGTH_BYTES[self.type]
        return 1 if self.is_nullable or self.inner is None else self.inner.bytes_min

    @property
    def element_bytes_min(self) -> int:
        """The least that an element of the array takes."""
        if self.inner is not None:
            return self.inner.bytes_min
        return CODES[self.element][1] if self.element in CODES else (1 if self.is_compact else 2)


@dataclass(frozen=True)
class Layout:
    """A struct as one version has it."""

    struct: str
    slots: tuple[Slot, ...]
    is_flexible: bool

    @cached_property
    def plain(self) -> tuple[Slot, ...]:
        """Fields in their order on the wire."""
        return tuple(slot for slot in self.slots if slot.tag is None)

    @cached_property
    def tagged(self) -> tuple[Slot, ...]:
        """Tagged fields, by tag."""
        tagged = (slot for slot in self.slots if slot.tag is not None)
        return tuple(sorted(tagged, key=lambda slot: slot.tag or 0))

    @cached_property
    def has_records(self) -> bool:
        """True if records are in it, at any depth."""
        return any(slot.has_records for slot in self.slots)

    @cached_property
    def bytes_min(self) -> int:
        """The least that it takes on the wire."""
        return sum(slot.bytes_min for slot in self.plain) + self.is_flexible


class Shapes:
    """Structs of a message, and their layouts."""

    def __init__(self, message: Message) -> None:
        self.message = message
        self.structs: dict[str, list[Field]] = {message.name: message.fields}
        for struct in message.structs:
            self.structs[struct.name] = struct.fields
        self._collect(message.fields)
        for struct in message.structs:
            self._collect(struct.fields)

    def _collect(self, fields: list[Field]) -> None:
        for field in fields:
            if field.fields:
                self.structs[field.element] = field.fields
                self._collect(field.fields)

    def layout(self, version: int, struct: str | None = None) -> Layout:
        """Layout of the message, or of one of its structs, in a version."""
        name = struct or self.message.name
        slots = (
            self._slot(field, version) for field in self.structs[name] if version in field.versions
        )
        return Layout(name, tuple(slots), version in self.message.flexible)

    def _slot(self, field: Field, version: int) -> Slot:
        return Slot(
            name=field.name,
            type=field.type,
            is_nullable=version in field.nullable,
            is_compact=version in self.message.flexible and not field.is_inflexible,
            tag=field.tag if version in field.tagged else None,
            inner=self.layout(version, field.element) if field.is_struct else None,
        )
