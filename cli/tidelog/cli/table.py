"""Tables on standard output: rich on a terminal; in a pipe tab-separated lines, never cut.

The first line of both holds the columns' names.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence

import click

_ESCAPES = str.maketrans({"\t": "\\t", "\n": "\\n", "\r": "\\r"})
"""Characters that would end a cell or a line."""


def echo_table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print rows of cells, one for each column; None is an empty cell. Numbers align right."""
    cells = [list(row) for row in rows]
    if is_terminal():
        _print_rich(columns, cells)
        return
    echo_lines([columns, *cells])


def echo_lines(rows: Iterable[Sequence[object]]) -> None:
    """Print rows tab-separated, without a heading."""
    click.echo("".join("\t".join(map(_text, row)) + "\n" for row in rows), nl=False)


def is_terminal() -> bool:
    """True if people read standard output as it is written."""
    return sys.stdout.isatty()


def _print_rich(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    from rich.box import SIMPLE
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE)
    for number, name in enumerate(columns):
        is_number = any(type(row[number]) is int for row in rows)
        table.add_column(name, justify="right" if is_number else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(_text(cell)) for cell in row))
    Console().print(table)


def _text(cell: object) -> str:
    return "" if cell is None else str(cell).translate(_ESCAPES)
