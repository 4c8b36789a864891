"""The file that a process's stdout and stderr go to, kept small while the process runs."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

OUTPUT_BYTES_MAX = 8 << 20
"""Above it the file becomes `<name>.1`, in place of the one before, and a new one begins."""
_MODE = 0o600
_STANDARD = (1, 2)


def open_output(path: Path) -> int:
    """A descriptor that appends to the file; nobody else may read what it makes."""
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, _MODE)


class OutputFile:
    """Takes over stdout and stderr, whoever writes to them: Python, a library, the interpreter."""

    def __init__(self, path: Path, *, bytes_max: int = OUTPUT_BYTES_MAX) -> None:
        self._path = path
        self._bytes_max = bytes_max

    def take_over(self) -> None:
        """Write to the end of the file from now on. Errors: `OSError`."""
        descriptor = open_output(self._path)
        for standard in _STANDARD:
            os.dup2(descriptor, standard)
        os.close(descriptor)

    def turn_if_full(self) -> None:
        """Begin a new file when this one is full; where the disk refuses, it grows on."""
        with contextlib.suppress(OSError):
            if os.fstat(_STANDARD[-1]).st_size > self._bytes_max:
                os.replace(self._path, self._path.with_name(f"{self._path.name}.1"))
                self.take_over()
