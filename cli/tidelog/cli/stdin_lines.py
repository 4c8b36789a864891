"""Lines of standard input for an event loop: bytes, split at newlines, as soon as they are there.

Never changes the descriptor's blocking mode, which it may share with other processes.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator

CHUNK_BYTES = 256 << 10


class LineTooLongError(ValueError):
    """A line longer than the limit: nobody knows where it would end."""


async def read_lines(fd: int, *, limit_bytes: int) -> AsyncIterator[list[bytes]]:
    """The lines of `fd`, as many at a time as one read gives; the last one needs no newline.

    Raises LineTooLongError for a line above `limit_bytes`.
    """
    rest = b""
    while chunk := await _read(fd):
        lines = (rest + chunk).split(b"\n")
        rest = lines.pop()
        if lines:
            yield lines
        if len(rest) > limit_bytes:
            raise LineTooLongError(f"a line of standard input is longer than {limit_bytes} bytes")
    if rest:
        yield [rest]


async def _read(fd: int) -> bytes:
    """What is there; waits for it without blocking the loop where the descriptor can be polled."""
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
