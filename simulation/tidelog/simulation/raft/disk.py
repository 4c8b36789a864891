"""Disk of a voter: decides which operation its machine or process ends in, and what is lost."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from tidelog.core.env import Random
from tidelog.core.errors import StorageError
from tidelog.simulation.engine.disk import SimDisk
from tidelog.simulation.engine.disk_faults import DiskFaults, PowerCutError
from tidelog.simulation.engine.medium import SECTOR_BYTES, Content, Folder


class Loss(NamedTuple):
    """Bytes that a crash took of the files that had unsynced changes."""

    is_lossy: bool
    is_torn: bool
    """A file has some of its un-synced bytes and lacks others."""


class ProcessKilledError(BaseException):
    """The process ended within an operation. No `Exception`: nobody is left to catch it."""


class _RecordedFaults(DiskFaults):
    def __init__(self, *, on_power_cut: Callable[[], None], on_killed: Callable[[], None]) -> None:
        super().__init__()
        self.kill_at: int | None = None
        self.kills_at_rename_to: str | None = None
        self.has_struck = False
        self._on_power_cut = on_power_cut
        self._on_killed = on_killed

    def check(self, action: str, path: str) -> None:
        try:
            super().check(action, path)
        except StorageError:
            self.has_struck = True
            raise

    def heal(self) -> None:
        super().heal()
        self.kill_at = None
        self.kills_at_rename_to = None

    def count(self) -> None:
        try:
            super().count()
        except PowerCutError:
            self._on_power_cut()
            raise
        if self.operations == self.kill_at:
            self.end_process()

    def end_process(self) -> None:
        """Nothing comes after this."""
        self.kill_at = None
        self.kills_at_rename_to = None
        self._on_killed()
        raise ProcessKilledError


class VoterDisk(SimDisk):
    """A `SimDisk`; the listeners are called within the operation that was chosen."""

    def __init__(
        self,
        random: Random,
        *,
        sync_latency_s: float,
        on_power_cut: Callable[[], None],
        on_killed: Callable[[], None],
    ) -> None:
        super().__init__(random, sync_latency_s)
        self.needs_reboot = False
        """The sync of a folder failed: a file system whose journal failed takes no more changes."""
        self._earlier_latency_s = 0.0
        self._recorded = _RecordedFaults(on_power_cut=on_power_cut, on_killed=on_killed)
        self.faults = self._recorded

    def kill_at(self, number: int) -> None:
        """End the process, not the machine, in the `number`-th operation from now."""
        self._recorded.kill_at = self.operations + number

    def kill_at_rename(self, path: str) -> None:
        """End the process when the next file got this name, before that is synced."""
        self._recorded.kills_at_rename_to = path

    def rename(self, source: str, target: str) -> None:
        """See `Disk`."""
        super().rename(source, target)
        if self._recorded.kills_at_rename_to == target:
            self._recorded.end_process()

    @property
    def has_failed(self) -> bool:
        """True if an operation failed in this life of the voter, who may tell of it much later."""
        return self._recorded.has_struck

    def begin_life(self) -> None:
        """A process of the voter starts."""
        self._recorded.has_struck = False

    @property
    def slowest_sync_s(self) -> float:
        """The most time that a sync which ends now may have taken."""
        return max(self.sync_latency_s, self._earlier_latency_s)

    def slow_down(self, sync_latency_s: float) -> None:
        """Let every sync from now on take this long."""
        self._earlier_latency_s = self.sync_latency_s
        super().slow_down(sync_latency_s)

    def stored(self, path: str) -> bytearray | None:
        """Bytes that a crash would certainly leave of this file; None: there is none.

        Of a file that is being replaced that is the old one, until the folder has synced.
        """
        content = self._stored_content(path)
        return None if content is None else content.stored

    def unsynced_sectors(self, path: str) -> int:
        """Sectors of this file that a crash may or may not leave as they were."""
        content = self._stored_content(path)
        if content is None:
            return 0
        size = SECTOR_BYTES
        return sum(
            content.stored[at : at + size] != content.written[at : at + size]
            for at in range(0, len(content.written), size)
        )

    def _stored_content(self, path: str) -> Content | None:
        node: Content | Folder | None = self._root
        for name in filter(None, path.split("/")):
            node = node.stored.get(name) if isinstance(node, Folder) else None
        return node if isinstance(node, Content) else None

    async def sync_directory(self, path: str) -> None:
        """See `Disk`."""
        try:
            await super().sync_directory(path)
        except StorageError:
            self.needs_reboot = True
            raise

    def lose_power(self) -> Loss:
        """`crash`, and what it did."""
        self.needs_reboot = False
        at_risk = [
            (content, bytes(content.stored), bytes(content.written))
            for content in _files(self._root)
            if content.stored != content.written
        ]
        self.crash()
        lossy = [item for item in at_risk if item[0].stored != item[2]]
        return Loss(
            is_lossy=bool(lossy),
            is_torn=any(content.stored != stored for content, stored, _ in lossy),
        )


def _files(folder: Folder) -> Iterator[Content]:
    for node in folder.entries.values():
        if isinstance(node, Folder):
            yield from _files(node)
        else:
            yield node
