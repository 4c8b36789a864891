"""Records of the lines that `produce` reads: keys, headers, nulls, JSON. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from tidelog.cli.record_json import InputRecord, InvalidRecordError, record_of_json

if TYPE_CHECKING:
    from tidelog.client.records import Headers


@dataclass(frozen=True, slots=True)
class InputForm:
    """The form of the input."""

    delimiter: bytes = b"\n"
    key_delimiter: bytes | None = None
    """A line's key ends there; a line without it has none."""
    key: bytes | None = None
    """The key of every record."""
    headers: Headers = ()
    is_json: bool = False
    is_empty_null: bool = False
    """True: an empty value or key is null."""

    @property
    def is_bulk(self) -> bool:
        """True if records have key and value only, which can be sent many at a time."""
        return not self.is_json and not self.headers

    def pairs(
        self, lines: list[bytes]
    ) -> tuple[Sequence[bytes | None] | None, Sequence[bytes | None]]:
        """Keys, None if no record has one, and values."""
        keys: Sequence[bytes | None] | None = None
        values: Sequence[bytes | None] = lines
        if self.key_delimiter is not None:
            keys, values = _split(lines, self.key_delimiter)
        elif self.key is not None:
            keys = [self.key] * len(lines)
        if self.is_empty_null:
            values = [value or None for value in values]
            keys = None if keys is None else [key or None for key in keys]
        return keys, values

    def records(self, lines: list[bytes], *, first: int) -> Iterator[InputRecord]:
        """The records of lines, the first of which has the number `first`.

        Errors: InvalidRecordError names the line.
        """
        if not self.is_json:
            keys, values = self.pairs(lines)
            for key, value in zip(keys or [None] * len(lines), values, strict=True):
                yield InputRecord(key, value, self.headers)
            return
        for number, line in enumerate(lines, start=first):
            try:
                yield record_of_json(line)
            except InvalidRecordError as error:
                raise InvalidRecordError(f"line {number}: {error}") from None


def parse_headers(pairs: Sequence[str]) -> Headers:
    """Headers of K=V words; K alone has a null value. Errors: click.UsageError."""
    headers = []
    for pair in pairs:
        name, separator, value = pair.partition("=")
        if not name:
            raise click.UsageError(f"--header {pair!r} is not KEY=VALUE")
        headers.append((name, value.encode() if separator else None))
    return tuple(headers)


def _split(lines: list[bytes], separator: bytes) -> tuple[list[bytes | None], list[bytes]]:
    """Split lines into keys and values; a line without the separator has no key."""
    keys: list[bytes | None] = []
    values = []
    for line in lines:
        key, found, value = line.partition(separator)
        keys.append(key if found else None)
        values.append(value if found else line)
    return keys, values
