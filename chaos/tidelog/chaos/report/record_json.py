"""A run's record as JSON, and back. Pure.

Reading is strict: a field that is missing, unknown or of another type is an error that names it.
"""

from __future__ import annotations

import json
from dataclasses import asdict, fields, is_dataclass
from functools import cache
from math import isfinite
from types import NoneType, UnionType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from tidelog.chaos.report.record import RunRecord
from tidelog.core.errors import TidelogError

FORMAT = 1


class RecordFormatError(TidelogError):
    """The text is no record of a run. The message names the field, as `load[3].p99_ms`."""


def to_json(record: RunRecord) -> str:
    """Serialize to one object on one line. Raises ValueError for a number that is not finite."""
    return json.dumps({"format": FORMAT, **asdict(record)}, allow_nan=False) + "\n"


def from_json(text: str) -> RunRecord:
    """Parse the output of `to_json`. Raises `RecordFormatError`."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise RecordFormatError(f"not JSON: {error}") from None
    if not isinstance(value, dict):
        raise RecordFormatError("not a JSON object")
    found = value.pop("format", None)
    if found != FORMAT:
        raise RecordFormatError(f"format is {found!r}, not {FORMAT}")
    record = _read("record", RunRecord, value)
    if not isinstance(record, RunRecord):
        raise RecordFormatError("record is no record")
    return record


# Types are looked at as values here: what they are is only known when they run.
def _read(name: str, kind: Any, value: object) -> object:
    if is_dataclass(kind):
        return _object(name, kind, value)
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is UnionType:
        return None if value is None and NoneType in arguments else _read(name, arguments[0], value)
    if origin is Literal:
        return _one_of(name, arguments, value)
    if origin is dict:
        return _dictionary(name, arguments[1], value)
    if origin in (list, tuple):
        return origin(_items(name, arguments[0], value))
    return _to_plain(name, kind, value)


def _object(name: str, kind: Any, value: object) -> object:
    if not isinstance(value, dict):
        raise RecordFormatError(f"{name} is no object")
    wanted = [field.name for field in fields(kind)]
    for problem, names in (
        ("is missing", set(wanted) - set(value)),
        ("is unknown", set(value) - set(wanted)),
    ):
        if names:
            raise RecordFormatError(f"{name}.{min(names)} {problem}")
    kinds = _kinds(kind)
    prefix = "" if name == "record" else f"{name}."
    return kind(**{key: _read(f"{prefix}{key}", kinds[key], value[key]) for key in wanted})


@cache
def _kinds(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)


def _one_of(name: str, allowed: tuple[object, ...], value: object) -> object:
    if value not in allowed:
        raise RecordFormatError(f"{name} is {value!r}, none of {allowed}")
    return value


def _dictionary(name: str, kind: Any, value: object) -> object:
    if not isinstance(value, dict):
        raise RecordFormatError(f"{name} is no object")
    return {key: _read(f"{name}[{key!r}]", kind, entry) for key, entry in value.items()}


def _items(name: str, kind: Any, value: object) -> list[object]:
    if not isinstance(value, list):
        raise RecordFormatError(f"{name} is no array")
    return [_read(f"{name}[{number}]", kind, item) for number, item in enumerate(value)]


def _to_plain(name: str, kind: Any, value: Any) -> object:
    if type(value) is not kind and not (kind is float and type(value) is int):
        raise RecordFormatError(f"{name} is no {_NAMES[kind]}")
    if kind is float and not isfinite(value):
        raise RecordFormatError(f"{name} is {value}")
    return float(value) if kind is float else value


_NAMES = {str: "text", int: "whole number", float: "number", bool: "truth value"}
