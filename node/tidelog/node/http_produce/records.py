"""The records of a POST: its query and body, read by its Content-Type. Pure.

    application/json                       a record; its value is the body, which must be JSON
    application/x-ndjson                   a record for each line, each JSON
    application/vnd.kafka.json.v2+json     {"records": [{"value": …, "key": …}, …]}, as Kafka REST
    text/plain                             a record; its value is the body as it came
    application/x-www-form-urlencoded      the same: `curl -d` says so of whatever it sends
    application/octet-stream, or none      the same

JSON values keep the bytes they came with. `?key=` and `?partition=` hold for each record that names
none. Everything but the body is checked before the body is read.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from tidelog.core.errors import (
    InvalidRecordError,
    InvalidRequestError,
    MessageTooLargeError,
)

PARAMETERS = ("key", "partition")
SHOWN_CHARACTERS_MAX = 100
"""Length of a stranger's word that is repeated in an error."""


class UnsupportedMediaTypeError(InvalidRequestError):
    """A Content-Type or Content-Encoding that is not read here."""


class PostedRecord(NamedTuple):
    """A record to produce; without a partition the key decides, without a key the producer."""

    value: bytes | None
    key: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()
    partition: int | None = None


class Defaults(NamedTuple):
    """Key and partition of the records that name none."""

    key: bytes | None = None
    partition: int | None = None


class _Row(msgspec.Struct, forbid_unknown_fields=True):
    """A record of `application/vnd.kafka.json.v2+json`."""

    value: msgspec.Raw
    key: str | None = None
    partition: int | None = None
    headers: dict[str, str | None] = {}


class _Rows(msgspec.Struct, forbid_unknown_fields=True):
    records: list[_Row]


Reader = Callable[[bytes, int, Defaults], Sequence[PostedRecord]]
"""Body, maximum number of records, defaults → records."""
_ROWS = msgspec.json.Decoder(_Rows)
_RAW = msgspec.json.Decoder(msgspec.Raw)


def defaults_of(query: Sequence[tuple[str, str]]) -> Defaults:
    """Key and partition of a query; `InvalidRequestError` for anything else in it."""
    given: dict[str, str] = {}
    for name, value in query:
        if name not in PARAMETERS or name in given:
            raise InvalidRequestError(
                f"query parameter {name[:SHOWN_CHARACTERS_MAX]!r}: give each of key and partition "
                "once at most, and no other"
            )
        given[name] = value
    key = given.get("key")
    return Defaults(None if key is None else key.encode(), _partition(given.get("partition")))


def reader_of(content_type: str) -> Reader:
    """The reader of bodies of a media type, which is lower case and without parameters.

    Raises `UnsupportedMediaTypeError` naming those there are.
    """
    reader = READERS.get(content_type)
    if reader is None:
        raise UnsupportedMediaTypeError(
            f"Content-Type {content_type[:SHOWN_CHARACTERS_MAX]!r} is not read: "
            f"use one of {', '.join(READERS)}"
        )
    return reader


def _partition(text: str | None) -> int | None:
    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= len("2147483647")):
        raise InvalidRequestError(
            f"partition={text[:SHOWN_CHARACTERS_MAX]!r}: it must be a whole number from 0 on"
        )
    return int(text)


def _as_it_came(body: bytes, records_max: int, defaults: Defaults) -> list[PostedRecord]:
    del records_max  # at least 1
    return [_record(body, defaults)]


def _json(body: bytes, records_max: int, defaults: Defaults) -> list[PostedRecord]:
    _check_json(body, "the body")
    return _as_it_came(body, records_max, defaults)


def _lines(body: bytes, records_max: int, defaults: Defaults) -> list[PostedRecord]:
    _check_count(body.count(b"\n"), records_max + 1)  # the last line may end, too
    lines = [line for line in body.split(b"\n") if line.strip()]
    _check_count(len(lines), records_max)
    for number, line in enumerate(lines, start=1):
        _check_json(line, f"record {number}")
    return [_record(line, defaults) for line in lines]


def _rows(body: bytes, records_max: int, defaults: Defaults) -> list[PostedRecord]:
    try:
        rows = _ROWS.decode(body).records
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise InvalidRecordError(
            f'the body is not {{"records": [{{"value": …, "key": …}}]}}: {error}'
        ) from error
    _check_count(len(rows), records_max)
    return [_of_row(row, defaults) for row in rows]


def _of_row(row: _Row, defaults: Defaults) -> PostedRecord:
    value = bytes(row.value)
    return PostedRecord(
        value=None if value == b"null" else value,
        key=defaults.key if row.key is None else row.key.encode(),
        headers=tuple((name, _text(value)) for name, value in row.headers.items()),
        partition=defaults.partition if row.partition is None else row.partition,
    )


def _text(value: str | None) -> bytes | None:
    return None if value is None else value.encode()


def _record(value: bytes, defaults: Defaults) -> PostedRecord:
    return PostedRecord(value, defaults.key, partition=defaults.partition)


def _check_json(data: bytes, what: str) -> None:
    try:
        _RAW.decode(data)
        data.decode()
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise InvalidRecordError(
            f"{what} is not JSON: {error} (text/plain takes any text)"
        ) from error


def _check_count(count: int, records_max: int) -> None:
    if count > records_max:
        raise MessageTooLargeError(
            f"a body holds more than http.produce.records.max={records_max} records: send several"
        )


READERS: Mapping[str, Reader] = {
    "application/json": _json,
    "application/x-ndjson": _lines,
    "application/vnd.kafka.json.v2+json": _rows,
    "text/plain": _as_it_came,
    "application/x-www-form-urlencoded": _as_it_came,
    "application/octet-stream": _as_it_came,
}
