"""Read-only access to files for a dump: without locks, also while they grow."""

from __future__ import annotations

import os
from itertools import product
from pathlib import Path
from types import TracebackType

from tidelog.log.file_names import (
    CLEANED,
    DELETED,
    SEGMENT_KINDS,
    SNAPSHOT,
    SWAP,
    file_name,
    offset_of,
)

_KINDS = (*SEGMENT_KINDS, SNAPSHOT)
_SUFFIXES = ("", DELETED, CLEANED, SWAP)


class Source:
    """A file, read by position. Errors: `OSError` when a read fails."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.kind, self.base_offset, self._suffix = _parse(path.name)
        """The kind, such as `.log`, with the offset in the name; else the whole name and 0."""
        self._descriptor = os.open(path, os.O_RDONLY)

    def __enter__(self) -> Source:
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        os.close(self._descriptor)

    def size(self) -> int:
        """The present length of the file in bytes."""
        return os.fstat(self._descriptor).st_size

    def read_at(self, position: int, length: int) -> bytes:
        """Read `length` bytes from `position`; fewer only at the end of the file."""
        return os.pread(self._descriptor, length, position)

    def beside(self, kind: str) -> Path:
        """The file of another kind of the same segment."""
        return self.path.with_name(file_name(self.base_offset, kind, self._suffix))


def _parse(name: str) -> tuple[str, int, str]:
    for kind, suffix in product(_KINDS, _SUFFIXES):
        offset = offset_of(name, kind, suffix)
        if offset is not None:
            return kind, offset, suffix
    return name, 0, ""
