"""The end of a command whose output somebody stopped reading."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def ends_with_its_reader() -> Iterator[None]:
    """End the block quietly when the reader of standard output has closed the pipe."""
    try:
        yield
    except BrokenPipeError:
        # Python would complain when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
