"""The file of a history: read, and written while the calls are made.

A writer flushes each line: whatever kills it leaves a history that can be judged, in which what
had begun and not ended is unknown. `docs/HISTORY.md` describes the file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import BinaryIO

import msgspec

from tidelog.history.history import Call, History, Keeping, Transaction
from tidelog.history.history_lines import (
    NO_KEEPING,
    Begun,
    HistoryFormatError,
    commit_begun_line,
    end_line,
    from_lines,
    header_line,
    line_of,
)

LINE_BYTES_MAX = 16 << 20


def read_history(path: Path) -> History:
    """A whole file; a last line that was not written to its end is left out.

    Errors: `HistoryFormatError`, which names the line; `OSError`.
    """
    with path.open("rb") as file:
        return from_lines(_lines(file))


class HistoryWriter:
    """Writes calls as they are made. `close` it; errors of all: `OSError`."""

    def __init__(
        self,
        path: Path,
        *,
        lossy_topics: Iterable[str] = (),
        keeping: Mapping[str, Keeping] = NO_KEEPING,
        wall_s: float = 0.0,
    ) -> None:
        self._file = path.open("w", encoding="utf-8", buffering=1)
        self._write(header_line(lossy_topics, keeping=keeping, wall_s=wall_s))

    def begin(self, call: Begun) -> None:
        """It was given to its client: `unknown`, no `ended_s`, a `number` of its own."""
        self._write(line_of(call))

    def begin_commit(self, call: Transaction) -> None:
        """Its `commit_begun_s` is set; write this before the commit is asked for."""
        self._write(commit_begun_line(call.number, call.commit_begun_s or 0.0))

    def end(self, call: Begun) -> None:
        """It ended; it has the number of the one that began."""
        self._write(end_line(call))

    def add(self, call: Call) -> None:
        """A call that has ended; a poll that has not showed nothing."""
        self._write(line_of(call))

    def close(self) -> None:
        """Nothing follows."""
        self._file.close()

    def _write(self, line: str) -> None:
        self._file.write(f"{line}\n")


def _lines(file: BinaryIO) -> Iterator[bytes]:
    number = 0
    while line := file.readline(LINE_BYTES_MAX + 1):
        number += 1
        if len(line) > LINE_BYTES_MAX:
            raise HistoryFormatError(f"line {number}: longer than {LINE_BYTES_MAX} bytes")
        if not line.endswith(b"\n") and not _is_whole(line):
            return
        yield line


def _is_whole(line: bytes) -> bool:
    try:
        msgspec.json.decode(line)
    except (ValueError, RecursionError):
        return False
    return True
