"""Reason for the end of a node's process, found in its output."""

from __future__ import annotations

from io import SEEK_END
from pathlib import Path

TAIL_BYTES = 8 << 10


def last_words(log_path: Path, *, since: int = 0) -> str:
    """Last line from byte `since` on that names an error, else the last line."""
    with log_path.open("rb") as log:
        size = log.seek(0, SEEK_END)
        # A shorter file was rotated since then.
        log.seek(max(since if since <= size else 0, size - TAIL_BYTES))
        lines = log.read().decode("utf-8", "replace").splitlines()
    lines = [line.strip() for line in lines if line.strip()]
    errors = [line for line in lines if line.startswith(("error: ", "fatal: "))]
    return (errors or lines or ["it wrote nothing"])[-1].removeprefix("error: ")
