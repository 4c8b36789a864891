"""A node's disk: a folder, or a small tmpfs of its own that can be filled.

    FOLDER/node-4/           a tmpfs, where the cluster asked for one
    FOLDER/node-4/data/      the node's data
    FOLDER/node-4/ballast    what takes the room away, while it does

Mounting needs root (CAP_SYS_ADMIN). The guardian takes the mounts away.
"""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
from pathlib import Path

from tidelog.core.errors import TidelogError

MOUNT_S_MAX = 10.0
FILLS_MAX = 20


class DiskUnavailableError(TidelogError):
    """A disk of limited size is not to be had here; the text says why."""


class NodeDisk:
    """Made by `prepare`; `size_bytes` None: a folder, whose room is that of the machine."""

    def __init__(self, folder: Path, *, size_bytes: int | None) -> None:
        self.data_dir = folder / "data"
        self._folder = folder
        self._ballast = folder / "ballast"
        self._size_bytes = size_bytes

    def prepare(self) -> None:
        """Make the folder. Errors: `DiskUnavailableError` when the tmpfs cannot be mounted."""
        self._folder.mkdir(mode=0o700)
        if self._size_bytes is None:
            return
        options = f"size={self._size_bytes},mode=700"
        command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(self._folder)]
        try:
            done = subprocess.run(command, capture_output=True, timeout=MOUNT_S_MAX, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise DiskUnavailableError(f"cannot mount a tmpfs: {error}") from None
        if done.returncode:
            reason = done.stderr.decode("utf-8", "replace").strip()
            raise DiskUnavailableError(f"cannot mount a tmpfs: {reason}; it needs root")

    def fill(self, *, room_bytes: int) -> None:
        """Leave room for so many bytes, rounded down to pages. Until `make_room`.

        Errors: `DiskUnavailableError` when it is no tmpfs, or the node writes too fast.
        """
        if self._size_bytes is None:
            raise DiskUnavailableError(f"{self._folder} is no disk of its own: give it a size")
        for _ in range(FILLS_MAX):
            if self._take_all_but(room_bytes):
                return
        raise DiskUnavailableError(f"{self._folder} is written faster than it can be filled")

    def make_room(self) -> None:
        """Take `fill` back."""
        self._ballast.unlink(missing_ok=True)

    def _take_all_but(self, room_bytes: int) -> bool:
        """False: the node took some of it in between."""
        self.make_room()
        room = os.statvfs(self._folder)
        ballast_bytes = room.f_bavail * room.f_frsize - room_bytes
        if ballast_bytes <= 0:
            return True
        try:
            with self._ballast.open("wb") as file:
                os.posix_fallocate(file.fileno(), 0, ballast_bytes)
        except OSError as error:
            if error.errno == errno.ENOSPC:
                return False
            raise
        return True

    def wipe(self) -> None:
        """Remove all of the node's data; the node must be down."""
        if self.data_dir.exists():
            shutil.rmtree(self.data_dir)
