"""Values of Kafka's messages for tests, by their schema: a dict from field names for each struct.

A value has the fields of one version. A tagged struct that is left out, or equals its defaults, is
None: neither is written.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from kafka_layouts import CODES, Layout, Shapes, Slot, attribute, snake
from kafka_notation import Field, Message, parse
from kafka_schemas import SCHEMAS
from tidelog.kafka.message import Message as KafkaMessage
from tidelog.kafka.message import RecordsMessage

Value = dict[str, Any]
Special = Callable[[Slot, Layout], "st.SearchStrategy[Any] | None"]
"""A function that narrows the values of a slot; None: any."""

_BITS = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}


def _messages() -> dict[str, Message]:
    paths: list[Path] = sorted(SCHEMAS.glob("*.schema"))
    return {one.name: one for path in paths for one in parse(path.read_text())}


MESSAGES = _messages()
VERSIONS = [(name, version) for name, one in MESSAGES.items() for version in one.versions]
SHAPES = {name: Shapes(message) for name, message in MESSAGES.items()}


@cache
def class_of(name: str) -> type[KafkaMessage]:
    """Our class of a message."""
    module = importlib.import_module(f"tidelog.kafka.messages.{snake(name)}")
    found: type[KafkaMessage] = getattr(module, name)
    return found


def values(name: str, version: int, special: Special = lambda slot, layout: None) -> Any:
    """Strategy for values of a message in a version."""
    return _structs(SHAPES[name].layout(version), SHAPES[name], special)


def _structs(layout: Layout, shapes: Shapes, special: Special) -> st.SearchStrategy[Value]:
    return st.fixed_dictionaries(
        {slot.name: _slots(slot, layout, shapes, special) for slot in layout.slots}
    )


def _slots(slot: Slot, layout: Layout, shapes: Shapes, special: Special) -> st.SearchStrategy[Any]:
    narrowed = special(slot, layout)
    plain = _plain(slot, shapes, special) if narrowed is None else narrowed
    if slot.tag is not None and slot.inner is not None and not slot.is_array:
        unset = {one.name: default(shapes, slot.inner.struct, one) for one in slot.inner.slots}
        return st.none() | plain.map(lambda value: None if value == unset else value)
    return st.none() | plain if slot.is_nullable else plain


def _plain(slot: Slot, shapes: Shapes, special: Special) -> st.SearchStrategy[Any]:
    if slot.inner is not None:
        inner = _structs(slot.inner, shapes, special)
        return st.lists(inner, max_size=3) if slot.is_array else inner
    one = _scalars(slot.element)
    return st.lists(one, max_size=3) | one.map(lambda same: [same] * 130) if slot.is_array else one


def _scalars(kind: str) -> st.SearchStrategy[Any]:
    if kind in _BITS:
        top = 1 << (_BITS[kind] - 1)
        return st.sampled_from((0, 1, -1, top - 1, -top)) | st.integers(-top, top - 1)
    if kind in ("uint16", "uint32"):
        return st.integers(0, (1 << int(kind[4:])) - 1)
    return {
        "bool": st.booleans(),
        "uuid": st.binary(min_size=16, max_size=16) | st.just(bytes(16)),
        "string": st.text(max_size=6) | st.sampled_from(("", "x" * 126, "x" * 127, "ü" * 9_000)),
        "bytes": st.binary(max_size=6) | st.sampled_from((b"", bytes(126), bytes(127))),
        "records": st.binary(max_size=6) | st.sampled_from((b"", bytes(4_095), bytes(20_000))),
    }[kind]


def default(shapes: Shapes, struct: str, slot: Slot) -> Any:
    """The default of a field, as a value."""
    field = next(one for one in shapes.structs[struct] if one.name == slot.name)
    if field.default is not None:
        words = {"null": None, "true": True}
        return words[field.default] if field.default in words else int(field.default)
    if slot.is_array:
        return []
    if slot.type in CODES:
        return {"bool": False, "uuid": bytes(16)}.get(slot.type, 0)
    return {"string": "", "bytes": b""}.get(slot.type)


def ours(name: str, version: int, value: Value) -> KafkaMessage:
    """Our message of a value."""
    shapes = SHAPES[name]
    made = _ours(class_of(name), shapes.layout(version), shapes, value)
    assert isinstance(made, KafkaMessage)
    return made


def _ours(made: type, layout: Layout, shapes: Shapes, value: Value) -> Any:
    fields = {one.name: one for one in shapes.structs[layout.struct]}
    module = importlib.import_module(made.__module__)

    def given(slot: Slot) -> Any:
        one = value[slot.name]
        if slot.inner is None or one is None:
            return one
        inner = slot.inner
        nested = getattr(module, inner.struct)
        if slot.is_array:
            return [_ours(nested, inner, shapes, element) for element in one]
        return _ours(nested, inner, shapes, one)

    return made(**{attribute(fields[slot.name]): given(slot) for slot in layout.slots})


def encoded(message: KafkaMessage, version: int) -> bytes:
    """The bytes of a message, joined."""
    return b"".join(message.encode(version))


def decoded(name: str, data: bytes, version: int) -> KafkaMessage:
    """Our message of bytes, with views made bytes: equal to the one that was encoded."""
    message = class_of(name).decode(data, version)
    if isinstance(message, RecordsMessage):
        for struct in _parts(message):
            if isinstance(getattr(struct, "records", None), memoryview):
                struct.records = bytes(struct.records)
    return message


def _parts(struct: Any) -> Iterator[Any]:
    yield struct
    for name in struct.__struct_fields__:
        value = getattr(struct, name)
        for one in value if isinstance(value, list) else (value,):
            if hasattr(one, "__struct_fields__"):
                yield from _parts(one)


def fields_of(name: str, struct: str) -> dict[str, Field]:
    """Fields of a struct of a message, by name."""
    return {one.name: one for one in SHAPES[name].structs[struct]}
