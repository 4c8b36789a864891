"""`tidelog check`: check a history of client calls; `docs/HISTORY.md` describes the format.

Owns the command's option, output and exit code; `tidelog.history.checks` does the checks.
"""

from __future__ import annotations

import gc
import json
import sys
from pathlib import Path

import click

from tidelog.history.checks.delivery import judge
from tidelog.history.history import History
from tidelog.history.history_file import read_history
from tidelog.history.history_lines import HistoryFormatError

COMPLAINTS_SHOWN_MAX = 100


@click.command()
@click.argument(
    "history", type=click.Path(exists=True, dir_okay=False, path_type=Path), metavar="HISTORY.jsonl"
)
@click.option("--json", "is_json", is_flag=True, help="Print only the JSON line of counts.")
def check(history: Path, *, is_json: bool) -> None:
    """Check a history of client calls for lost, duplicated or reordered records.

    Each complaint is a line that names the calls that prove it. The last line is a JSON object of
    counts with the verdict, "ok" or "bad". The exit code is 0 only when the verdict is ok.
    """
    gc.disable()  # A history has no cycles, and a search for them takes as long as the checks.
    try:
        found, counted = judge(_read(history))
    finally:
        gc.enable()
    if not is_json:
        for complaint in found[:COMPLAINTS_SHOWN_MAX]:
            click.echo(str(complaint))
        if len(found) > COMPLAINTS_SHOWN_MAX:
            click.echo(f"and {len(found) - COMPLAINTS_SHOWN_MAX} more complaints")
    verdict = "bad" if found else "ok"
    click.echo(json.dumps({**counted, "complaints": len(found), "verdict": verdict}))
    sys.exit(1 if found else 0)


def _read(path: Path) -> History:
    try:
        return read_history(path)
    except (HistoryFormatError, OSError) as error:
        raise click.ClickException(f"{path}: {error}") from error
