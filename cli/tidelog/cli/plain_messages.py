"""Protobuf messages as plain fields, for JSON and for people."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from google.protobuf.message import Message


def to_plain(message: Message) -> dict[str, object]:
    """The fields that are present, by their names in the .proto; bytes as hex."""
    return {
        field.name: _value(field, getattr(message, field.name))
        for field in message.DESCRIPTOR.fields
        if not field.has_presence or message.HasField(field.name)
    }


def fields_as_text(fields: Mapping[str, object]) -> str:
    """Fields as `name=value` for people, a blank before each."""
    return "".join(f" {name}={_text(value)}" for name, value in fields.items())


def _value(field: Any, value: object) -> object:  # protobuf has two types of descriptors
    if field.message_type is not None and field.message_type.GetOptions().map_entry:
        return dict(value)  # type: ignore[call-overload]  # a map is a Mapping
    if field.is_repeated:
        return [_single(field, one) for one in value]  # type: ignore[attr-defined]  # is a list
    return _single(field, value)


def _single(field: Any, value: object) -> object:  # as above
    if isinstance(value, Message):
        return to_plain(value)
    if isinstance(value, bytes):
        return value.hex()
    if field.enum_type is not None:
        return field.enum_type.values_by_number[value].name
    return value


def _text(value: object) -> str:
    is_word = isinstance(value, str) and value and value.isprintable() and " " not in value
    return str(value) if is_word else json.dumps(value)
