"""Records as JSON: the lines that `consume --json` prints and `produce --json` reads. Pure.

Keys, values and headers' values are text. Bytes that are not UTF-8 are base64, and a field
`<name>_encoding` says so; null is null. Every record comes back byte for byte.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from tidelog.client.records import Headers, Record

_ENCODING = "_encoding"
_BASE64 = "base64"
_FIELDS = frozenset(
    {"topic", "partition", "offset", "timestamp", "key", "value", "headers"}
    | {"key" + _ENCODING, "value" + _ENCODING}
)
_HEADER_FIELDS = frozenset({"key", "value", "value" + _ENCODING})


class InputRecord(NamedTuple):
    """A record to send; None is null, no timestamp the time of sending."""

    key: bytes | None
    value: bytes | None
    headers: Headers = ()
    timestamp_ms: int | None = None


class InvalidRecordError(ValueError):
    """A line is no record; the message says why."""


def text_fields(name: str, content: bytes | None) -> dict[str, str | None]:
    """A field as text; bytes that are not UTF-8 as base64, with a field `<name>_encoding`."""
    if content is None:
        return {name: None}
    try:
        return {name: content.decode()}
    except UnicodeDecodeError:
        return {name: base64.b64encode(content).decode(), name + _ENCODING: _BASE64}


def record_as_json(record: Record) -> bytes:
    """A record as one line, without its end."""
    fields = {
        "topic": record.topic,
        "partition": record.partition,
        "offset": record.offset,
        "timestamp": record.timestamp_ms,
        **text_fields("key", record.key),
        **text_fields("value", record.value),
        "headers": [{"key": name, **text_fields("value", value)} for name, value in record.headers],
    }
    return json.dumps(fields, ensure_ascii=False).encode()


def record_of_json(line: bytes) -> InputRecord:
    """The record of a line. Errors: InvalidRecordError.

    Key, value, headers and timestamp are read; topic, partition and offset are where it came from.
    """
    try:
        fields = json.loads(line)
    except ValueError as error:
        raise InvalidRecordError(f"not JSON: {error}") from None
    _check_fields(fields, _FIELDS)
    if "value" not in fields:
        raise InvalidRecordError('no field "value": a record without one has null')
    headers = fields.get("headers") or []
    if not isinstance(headers, list):
        raise InvalidRecordError('"headers" is no list of objects')
    return InputRecord(
        _content(fields, "key"),
        _content(fields, "value"),
        tuple(_header(header) for header in headers),
        _timestamp(fields.get("timestamp")),
    )


def _header(fields: Any) -> tuple[str, bytes | None]:  # Any: what json.loads returns
    _check_fields(fields, _HEADER_FIELDS)
    if not isinstance(fields.get("key"), str):
        raise InvalidRecordError('a header has no "key" of text')
    return fields["key"], _content(fields, "value")


def _check_fields(fields: Any, known: frozenset[str]) -> None:  # Any: what json.loads returns
    if not isinstance(fields, dict):
        raise InvalidRecordError(f"{json.dumps(fields)[:40]} is no JSON object")
    unknown = sorted(fields.keys() - known)
    if unknown:
        raise InvalidRecordError(
            f"unknown field {unknown[0]!r}: a record has {', '.join(sorted(known))}"
        )


def _content(fields: Mapping[str, Any], name: str) -> bytes | None:  # Any: what json.loads returns
    content, encoding = fields.get(name), fields.get(name + _ENCODING)
    if content is None:
        return None
    if not isinstance(content, str):
        raise InvalidRecordError(f'"{name}" is neither text nor null')
    if encoding not in (None, _BASE64):
        raise InvalidRecordError(f'"{name}{_ENCODING}" is {encoding!r}: only {_BASE64!r} is known')
    try:
        return base64.b64decode(content, validate=True) if encoding else content.encode()
    except (binascii.Error, UnicodeEncodeError) as error:
        raise InvalidRecordError(f'"{name}" is not {encoding or "UTF-8"}: {error}') from None


def _timestamp(value: Any) -> int | None:  # Any: what json.loads returns
    if value is not None and (type(value) is not int or value < 0):
        raise InvalidRecordError('"timestamp" is no number of milliseconds since 1970')
    return value
