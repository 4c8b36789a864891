"""Which process holds which end of a TCP connection of this machine."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

_ESTABLISHED = "01"


def dialled_ports(pid: int) -> set[int]:
    """The ports that the process's connections were dialled to, or are served at."""
    inodes = set(_socket_inodes(pid))
    return {port for inode, port in _remote_ports() if inode in inodes}


def _remote_ports() -> Iterator[tuple[str, int]]:
    lines = [*_lines("/proc/net/tcp"), *_lines("/proc/net/tcp6")]
    for fields in lines:
        if fields[3] == _ESTABLISHED:
            yield fields[9], int(fields[2].rpartition(":")[2], 16)


def _lines(path: str) -> list[list[str]]:
    return [line.split() for line in Path(path).read_text().splitlines()[1:]]


def _socket_inodes(pid: int) -> Iterator[str]:
    for name in os.listdir(f"/proc/{pid}/fd"):
        try:
            target = os.readlink(f"/proc/{pid}/fd/{name}")
        except OSError:
            continue
        if target.startswith("socket:["):
            yield target[len("socket:[") : -1]
