# pyright: strict
"""The disk of a node in this process, which closes what the node left open when it was killed."""

from __future__ import annotations

from dataclasses import replace
from weakref import WeakSet

from tidelog.core.errors import StorageError
from tidelog.core.system import DiskConfig, SystemDisk, SystemFile, SystemIndexBuffer


class HostedDisk(SystemDisk):
    """The machine's disk until `release`. What was written stays: the page cache outlives a kill.

    A process that ends closes its files; a node that ends in a process that goes on does not.
    """

    def __init__(self, config: DiskConfig | None = None) -> None:
        super().__init__(config)
        self._opened: WeakSet[SystemFile | SystemIndexBuffer] = WeakSet()
        self._is_released = False
        self._parts: list[HostedDisk] = []

    def with_own_threads(self) -> HostedDisk:
        """See `Disk`; `release` of this one releases it, too."""
        threads = self._config.metadata_sync_threads
        part = HostedDisk(replace(self._config, sync_threads=threads))
        self._parts.append(part)
        return part

    def open(self, path: str, *, create: bool = False) -> SystemFile:
        """See `Disk`."""
        self._require(path)
        file = super().open(path, create=create)
        self._opened.add(file)
        return file

    def open_index(self, path: str, *, capacity_bytes: int) -> SystemIndexBuffer:
        """See `Disk`."""
        self._require(path)
        index = super().open_index(path, capacity_bytes=capacity_bytes)
        self._opened.add(index)
        return index

    def rename(self, source: str, target: str) -> None:
        """See `Disk`."""
        self._require(target)
        super().rename(source, target)

    def release(self) -> None:
        """Close every file, and end the threads; what the node does yet fails."""
        self._is_released = True
        for part in self._parts:
            part.release()
        self.close()
        for one in list(self._opened):
            try:
                one.close()
            except BufferError:
                continue  # a view of it is in use: it goes with the last one

    def _require(self, path: str) -> None:
        if self._is_released:
            raise StorageError(f"cannot open {path}: its node was killed")
