"""Rows of `tidelog sql` on standard output: a table, tab-separated lines, or JSON objects."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal

import click
import pyarrow as pa

from tidelog.cli.counts import pluralize
from tidelog.cli.record_json import text_fields
from tidelog.cli.table import echo_lines, echo_table, is_terminal

Row = tuple[object, ...]


def print_rows(batches: Iterator[pa.RecordBatch], *, as_json: bool, null: str) -> None:
    """Print all rows, batch by batch; `null` stands for a null in a table.

    On a terminal each batch is a table, since a table's columns are as wide as their cells.
    """
    first = next(batches)
    names = _distinct(first.schema.names)
    is_headed = as_json
    for batch in batches:
        rows = _rows(batch)
        if as_json:
            click.echo("".join(_line(names, row) for row in rows), nl=False)
        elif is_headed and not is_terminal():
            echo_lines([_cell(value, null) for value in row] for row in rows)
        else:
            echo_table(names, [[_cell(value, null) for value in row] for row in rows])
            is_headed = True
    if not is_headed:
        echo_table(names, [])


def _rows(batch: pa.RecordBatch) -> Iterator[Row]:
    return zip(*map(_values, batch.columns), strict=True)


def _values(column: pa.Array) -> list[object]:
    """Values of a column as Python's; a date or time beyond Python's years 1 to 9999 as a text."""
    try:
        return list(column.to_pylist())
    except (OverflowError, ValueError):
        return [_value(scalar) for scalar in column]


def _value(scalar: pa.Scalar) -> object:
    try:
        return scalar.as_py()
    except (OverflowError, ValueError):
        pass
    match scalar:
        case pa.ListScalar():
            return [_value(one) for one in scalar.values]
        case pa.StructScalar():
            return {name: _value(field) for name, field in scalar.items()}
        case pa.Date32Scalar():
            return f"{scalar.value} days since 1970-01-01"
        case pa.TimestampScalar():
            return f"{scalar.value} {scalar.type.unit} since 1970-01-01"
    return f"{scalar.type} beyond Python's range"


def _distinct(names: Sequence[str]) -> list[str]:
    """Names of columns; the second `a` is `a_1`, as in DuckDB's own tables."""
    found: list[str] = []
    for name in names:
        number, free = 0, name
        while free in found:
            number += 1
            free = f"{name}_{number}"
        found.append(free)
    return found


def _cell(value: object, null: str) -> object:
    """A value in a table: bytes as text, lists and structures as JSON."""
    match value:
        case None:
            return null
        case bytes():
            return value.decode(errors="backslashreplace")
        case bool():
            return str(value).lower()
        case pa.MonthDayNano():
            return _interval(value)
        case list() | tuple() | dict():
            return json.dumps(_json(value), ensure_ascii=False, default=str)
    return value


def _line(names: Sequence[str], row: Row) -> str:
    fields = _object(dict(zip(names, row, strict=True)))
    return json.dumps(fields, ensure_ascii=False, default=str) + "\n"


def _object(fields: Mapping[str, object]) -> dict[str, object]:
    """Fields as JSON has them; bytes that are not UTF-8 have a field `<name>_encoding` beside."""
    found: dict[str, object] = {}
    for name, value in fields.items():
        found.update(text_fields(name, value) if isinstance(value, bytes) else {name: _json(value)})
    return found


def _json(value: object) -> object:
    """A value as JSON has it; what `json` does not know becomes text there."""
    match value:
        case bytes():
            fields = text_fields("value", value)
            return fields if len(fields) > 1 else fields["value"]
        case Decimal():
            return int(value) if value == value.to_integral_value() else float(value)
        case float() if not math.isfinite(value):
            return str(value)
        case pa.MonthDayNano():
            return _interval(value)
        case list() | tuple():
            return [_json(one) for one in value]
        case dict():
            return _object(value)
    return value


def _interval(value: pa.MonthDayNano) -> str:
    """An interval as DuckDB prints it: `2 months 1 day 00:00:07.5`."""
    months, days, nanoseconds = value
    parts = [pluralize(count, name) for count, name in ((months, "month"), (days, "day")) if count]
    if nanoseconds or not parts:
        sign = "-" if nanoseconds < 0 else ""
        seconds, rest = divmod(abs(nanoseconds) // 1000, 1_000_000)
        fraction = f".{rest:06}".rstrip("0") if rest else ""
        parts.append(
            f"{sign}{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}{fraction}"
        )
    return " ".join(parts)
