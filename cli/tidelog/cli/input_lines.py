"""Lines of a file or of standard input for an event loop, as soon as they arrive, as bytes.

Never changes the blocking mode of the descriptor, which other processes may share.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator

CHUNK_BYTES = 256 << 10


class LineTooLongError(ValueError):
    """A line is longer than the limit, and its end is unknown."""


async def read_lines(
    fd: int, *, limit_bytes: int, delimiter: bytes = b"\n"
) -> AsyncIterator[list[bytes]]:
    """Yield the lines of `fd`, all of one read at a time; the last needs no delimiter.

    Errors: LineTooLongError for a line above `limit_bytes`.
    """
    rest = b""
    while chunk := await _read(fd):
        lines = (rest + chunk).split(delimiter)
        rest = lines.pop()
        if lines:
            yield lines
        if len(rest) > limit_bytes:
            raise LineTooLongError(f"a line of the input is longer than {limit_bytes} bytes")
    if rest:
        yield [rest]


async def _read(fd: int) -> bytes:
    """Read the available bytes; wait without blocking the loop if the descriptor can be polled."""
    loop = asyncio.get_running_loop()
    readable = loop.create_future()
    try:
        loop.add_reader(fd, _set_once, readable)
    except PermissionError:  # a regular file: always readable, and epoll refuses it
        return os.read(fd, CHUNK_BYTES)
    try:
        await readable
    finally:
        loop.remove_reader(fd)
    return os.read(fd, CHUNK_BYTES)


def _set_once(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
