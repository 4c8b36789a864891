"""The page cache of the machine: reads that take what is in memory, and no more.

Owns what each file system can tell of it. Never waits for a device, but in `read_all`.
"""

from __future__ import annotations

import errno
import os
from enum import Enum, auto
from pathlib import Path

_SCRATCH_BYTES = 1 << 20
_IN_MEMORY = frozenset({"tmpfs", "ramfs"})
"""File systems that have no device to wait for."""
_NO_NOWAIT = frozenset({errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS})
"""A file system, or a kernel, that cannot tell what is in memory."""


class Residency(Enum):
    """What a file system tells of the bytes that are in memory."""

    IS_TOLD = auto()
    """Whether they are: by preadv2 with RWF_NOWAIT."""
    IS_MEMORY = auto()
    """It has no device: all of them are."""
    UNKNOWN = auto()
    """Nothing, so every read within `Disk.from_memory` goes to a thread (decision 0027)."""


class PageCache:
    """For the loop's thread alone. Errors: `OSError`."""

    def __init__(self) -> None:
        self._scratch = memoryview(bytearray(_SCRATCH_BYTES))
        self._residencies: dict[int, Residency] = {}
        """By device."""

    def residency(self, descriptor: int) -> Residency:
        """What the file system of an open file tells; tried once each."""
        device = os.fstat(descriptor).st_dev
        if device not in self._residencies:
            self._residencies[device] = _residency(descriptor, device)
        return self._residencies[device]

    def read(self, descriptor: int, residency: Residency, offset: int, length: int) -> bytes | None:
        """As `File.read_at`; None where a device would be waited for."""
        if residency is not Residency.IS_TOLD:
            is_memory = residency is Residency.IS_MEMORY
            return read_all(descriptor, offset, length) if is_memory else None
        scratch = self._scratch
        if length > _SCRATCH_BYTES:
            length = min(length, max(0, os.fstat(descriptor).st_size - offset))
            scratch = memoryview(bytearray(length))
        try:
            count = os.preadv(descriptor, [scratch[:length]], offset, os.RWF_NOWAIT)
        except BlockingIOError:
            return None
        # Cut short by the file's end, or where the page cache ends.
        is_all = count == length or offset + count >= os.fstat(descriptor).st_size
        return bytes(scratch[:count]) if is_all else None


def read_all(descriptor: int, offset: int, length: int) -> bytes:
    """As `File.read_at`, from the device where it must be."""
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
        return Residency.IS_TOLD
    except OSError as error:
        if error.errno not in _NO_NOWAIT:
            raise
        is_memory = _file_system(device) in _IN_MEMORY
        return Residency.IS_MEMORY if is_memory else Residency.UNKNOWN
    return Residency.IS_TOLD


def _file_system(device: int) -> str:
    """Its kind, as mount(8) names it; empty where it cannot be told."""
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
