"""The record of chaos runs: a JSON object a line, append-only. Decides nothing."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path


def append(
    path: Path, summary: Mapping[str, object], *, commit: str, command: str, load_s: float
) -> None:
    """Add what a command that ends now found, at this commit, over so many seconds of load."""
    line = {
        "commit": commit,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": command,
        "load_seconds": round(load_s),
        "result": summary,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")
