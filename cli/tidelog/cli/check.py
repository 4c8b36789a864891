"""`tidelog check`: judge a history of calls; `docs/HISTORY.md` says how one is written.

Owns the command's option, output and exit code; `tidelog.chaos.checks` judges.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import click

from tidelog.chaos.checks.delivery import complaints, counts
from tidelog.chaos.history import History
from tidelog.chaos.json_line import HistoryFormatError

LINE_BYTES_MAX = 16 << 20
COMPLAINTS_SHOWN_MAX = 100


@click.command()
@click.argument(
    "history", type=click.Path(exists=True, dir_okay=False, path_type=Path), metavar="HISTORY.jsonl"
)
@click.option("--json", "is_json", is_flag=True, help="Nothing but the line of counts.")
def check(history: Path, *, is_json: bool) -> None:
    """Judge what clients did and saw: whether anything was lost, duplicated or reordered.

    Each complaint is a line that names the calls that prove it. The last line is a JSON object of
    counts with the verdict, "ok" or "bad". Exit code 0 only when it is ok.
    """
    read = _read(history)
    found = complaints(read)
    if not is_json:
        for complaint in found[:COMPLAINTS_SHOWN_MAX]:
            click.echo(str(complaint))
        if len(found) > COMPLAINTS_SHOWN_MAX:
            click.echo(f"and {len(found) - COMPLAINTS_SHOWN_MAX} more complaints")
    verdict = "bad" if found else "ok"
    click.echo(json.dumps({**counts(read), "complaints": len(found), "verdict": verdict}))
    sys.exit(1 if found else 0)


def _read(path: Path) -> History:
    try:
        with path.open("rb") as file:
            return History.from_lines(_lines(file))
    except (HistoryFormatError, OSError) as error:
        raise click.ClickException(f"{path}: {error}") from error


def _lines(file: BinaryIO) -> Iterator[str]:
    """The lines, each of at most `LINE_BYTES_MAX` bytes; `HistoryFormatError`."""
    number = 0
    while line := file.readline(LINE_BYTES_MAX + 1):
        number += 1
        if len(line) > LINE_BYTES_MAX:
            raise HistoryFormatError(f"line {number}: longer than {LINE_BYTES_MAX} bytes")
        try:
            yield line.decode()
        except UnicodeDecodeError as error:
            raise HistoryFormatError(f"line {number}: not UTF-8: {error.reason}") from None
