"""File for a process's stdout and stderr, rotated while the process runs."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

OUTPUT_BYTES_MAX = 8 << 20
"""Size above which the file is renamed to `<name>.1`, replacing an older one."""
_MODE = 0o600
_STANDARD = (1, 2)


def open_output(path: Path) -> int:
    """Open a descriptor that appends to the file, which is private to its owner."""
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, _MODE)


class OutputFile:
    """Output file in place of stdout and stderr, for Python, libraries and the interpreter."""

    def __init__(self, path: Path, *, bytes_max: int = OUTPUT_BYTES_MAX) -> None:
        self._path = path
        self._bytes_max = bytes_max

    def take_over(self) -> None:
        """Redirect the output to the end of the file. Raises `OSError`."""
        descriptor = open_output(self._path)
        for standard in _STANDARD:
            os.dup2(descriptor, standard)
        os.close(descriptor)

    def turn_if_full(self) -> None:
        """Rotate the file if it is full; if the disk refuses, it keeps growing."""
        with contextlib.suppress(OSError):
            if os.fstat(_STANDARD[-1]).st_size > self._bytes_max:
                os.replace(self._path, self._path.with_name(f"{self._path.name}.1"))
                self.take_over()
