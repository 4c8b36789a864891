"""Page cache of the machine: reads of bytes that are in memory, and only those.

Owns the abilities of each file system. Never waits for a device, except in `read_all`.
"""

from __future__ import annotations

import errno
import os
from enum import Enum, auto
from pathlib import Path

SCRATCH_BYTES = 1 << 20
"""Mapped, so that it takes memory only when it is used, and all of it goes with the disk."""
_IN_MEMORY = frozenset({"tmpfs", "ramfs"})
"""File systems without a device to wait for."""
_NO_NOWAIT = frozenset({errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS})
"""Errors of a file system, or a kernel, that cannot report if bytes are in memory."""


class Residency(Enum):
    """Ability of a file system to report if bytes are in memory."""

    REPORTED = auto()
    """The file system reports by preadv2 with RWF_NOWAIT."""
    IS_MEMORY = auto()
    """The file system has no device: all bytes are in memory."""
    UNKNOWN = auto()
    """No report, so every read within `Disk.from_memory` uses a thread (decision 0027)."""


class PageCache:
    """Reads for the loop's thread only, by way of `scratch`. Raises `OSError`."""

    def __init__(self, scratch: memoryview) -> None:
        self._scratch = scratch
        self._residencies: dict[int, Residency] = {}
        """Ability by device."""

    def residency(self, descriptor: int) -> Residency:
        """Determine the ability of an open file's file system, once per device."""
        device = os.fstat(descriptor).st_dev
        if device not in self._residencies:
            self._residencies[device] = _residency(descriptor, device)
        return self._residencies[device]

    def read(self, descriptor: int, residency: Residency, offset: int, length: int) -> bytes | None:
        """Read as `File.read_at`; None where it would have to wait for a device."""
        if residency is not Residency.REPORTED:
            is_memory = residency is Residency.IS_MEMORY
            return read_all(descriptor, offset, length) if is_memory else None
        scratch = self._scratch
        if length > len(scratch):
            length = min(length, max(0, os.fstat(descriptor).st_size - offset))
            scratch = memoryview(bytearray(length))
        try:
            count = os.preadv(descriptor, [scratch[:length]], offset, os.RWF_NOWAIT)
        except BlockingIOError:
            return None
        # A short read: the file's end, or the end of the bytes in memory.
        is_all = count == length or offset + count >= os.fstat(descriptor).st_size
        return bytes(scratch[:count]) if is_all else None


def read_all(descriptor: int, offset: int, length: int) -> bytes:
    """Read as `File.read_at`, from the device if necessary."""
    data = os.pread(descriptor, length, offset)
    while 0 < len(data) < length:
        more = os.pread(descriptor, length - len(data), offset + len(data))
        if not more:
            break
        data += more
    return data


def _residency(descriptor: int, device: int) -> Residency:
    try:
        os.preadv(descriptor, [bytearray(1)], 0, os.RWF_NOWAIT)
    except BlockingIOError:
        return Residency.REPORTED
    except OSError as error:
        if error.errno not in _NO_NOWAIT:
            raise
        is_memory = _file_system(device) in _IN_MEMORY
        return Residency.IS_MEMORY if is_memory else Residency.UNKNOWN
    return Residency.REPORTED


def _file_system(device: int) -> str:
    """Type of the file system, as in mount(8); empty if unknown."""
    number = f"{os.major(device)}:{os.minor(device)}"
    try:
        mounts = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    for line in mounts.splitlines():
        mount, _, about = line.partition(" - ")
        if mount.split()[2:3] == [number]:
            return about.partition(" ")[0]
    return ""
