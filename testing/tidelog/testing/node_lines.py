"""The log of a node in this process: a file of its own, which nothing of the test's sees."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import structlog

LEVELS = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
    "exception": logging.ERROR,
    "critical": logging.CRITICAL,
}


class NodeLines:
    """`LogSink` of a node: logfmt as a node's process writes it; lines below info are left out."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = path.open("a", encoding="utf-8", buffering=1)
        self._stamp = structlog.processors.TimeStamper(fmt="iso", utc=True)
        self._render = structlog.processors.LogfmtRenderer(
            key_order=["timestamp", "level", "event"], bool_as_flag=False
        )

    def __call__(self, level: str, event: str, fields: dict[str, Any]) -> None:
        """Write a line."""
        if self._file.closed or LEVELS.get(level, logging.INFO) < logging.INFO:
            return
        line: dict[str, Any] = {**fields, "event": event, "level": level}
        if level == "exception":
            line = {**structlog.processors.format_exc_info(None, level, {**line, "exc_info": True})}
        self._file.write(f"{self._render(None, level, self._stamp(None, level, line))}\n")

    def close(self) -> None:
        """Close the file; later lines are dropped."""
        self._file.close()
