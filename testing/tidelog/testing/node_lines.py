# pyright: strict
"""The log of a node in this process: a file of its own, which nothing of the test's sees.

Without structlog, whose import costs a test a twentieth of a second and three megabytes.
"""

from __future__ import annotations

import traceback
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

LEFT_OUT = frozenset({"debug"})


class NodeLines:
    """`LogSink` of a node: logfmt as a node's process writes it; lines below info are left out."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("a", encoding="utf-8", buffering=1)

    def __call__(self, level: str, event: str, fields: dict[str, Any]) -> None:
        """Write a line."""
        if self._file.closed or level in LEFT_OUT:
            return
        stamp = datetime.now(UTC).isoformat().replace("+00:00", "Z")
        line = {"timestamp": stamp, "level": level, "event": event, **fields}
        if level == "exception":
            line["exception"] = traceback.format_exc().removesuffix("\n")
        self._file.write(f"{logfmt(line)}\n")

    def close(self) -> None:
        """Close the file; later lines are dropped."""
        self._file.close()


def logfmt(line: dict[str, Any]) -> str:
    """A line of key=value, as structlog's `LogfmtRenderer` writes it."""
    return " ".join(f"{key}={_text(value)}" for key, value in line.items())


def _text(value: object) -> str:
    if value is None:
        return ""
    text = str(value).lower() if isinstance(value, bool) else str(value)
    is_quoted = any(character in text for character in ' ="')
    if is_quoted:
        text = text.replace("\\", "\\\\")
    text = text.replace('"', '\\"').replace("\n", "\\n")
    return f'"{text}"' if is_quoted else text
