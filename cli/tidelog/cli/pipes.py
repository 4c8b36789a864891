"""Bytes on standard output, and the end of a command whose output somebody stopped reading."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import click


@contextmanager
def ends_with_its_reader() -> Iterator[None]:
    """End the block quietly when the reader of standard output has closed the pipe."""
    try:
        yield
    except BrokenPipeError:
        _give_up_output()


def write_all(data: bytes) -> None:
    """Write bytes to standard output and flush it; what raises may have written a part.

    Raises BrokenPipeError when its reader has gone, ClickException when it cannot be written to.
    """
    output = sys.stdout.buffer
    left = memoryview(data)
    try:
        while left:
            # Without a buffer (PYTHONUNBUFFERED) a write that a signal interrupts takes a part.
            left = left[output.write(left) :]
        output.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        _give_up_output()
        reason = error.strerror or str(error)
        raise click.ClickException(f"standard output cannot be written to: {reason}") from error


def _give_up_output() -> None:
    """Let Python's flush at exit succeed: it would complain of what is left."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
