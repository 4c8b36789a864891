"""The `.snapshot` files of one log: producer state as of the offset in their name.

Owns the set of existing snapshots. Each can be rebuilt from an older one and the batches between,
so a damaged one counts as missing; see `producer_snapshots` for their format.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from tidelog.core.env import Disk
from tidelog.core.memory_reads import reading
from tidelog.log.file_names import SNAPSHOT, file_name, offsets_in
from tidelog.log.producer_snapshots import decode_snapshot, encode_snapshot
from tidelog.log.producers import ProducerEntry, ProducerStates
from tidelog.log.transactions import EndedTransaction

_MAX_BYTES = 64 << 20


class SnapshotFiles:
    """Snapshots of one log. Raises `StorageError` where the disk refuses."""

    def __init__(
        self, disk: Disk, directory: str, *, names: Iterable[str], stored_below: int = 0
    ) -> None:
        """List the snapshots among `names`, the names of all files in the folder.

        Those at or above `stored_below` may not be on stable storage: a killed process left them.
        """
        self._disk = disk
        self._directory = directory
        self._offsets = offsets_in(names, SNAPSHOT)
        self._unsynced = [self._path(one) for one in self._offsets if one >= stored_below]

    def write(self, offset: int, entries: tuple[ProducerEntry, ...]) -> None:
        """Write the state after all records below `offset`; durable only after `sync`."""
        path = self._path(offset)
        self._disk.remove(path)
        file = self._disk.open(path, create=True)
        try:
            file.write_at(0, encode_snapshot(entries))
        finally:
            file.close()
        if offset not in self._offsets:
            self._offsets.append(offset)
            self._offsets.sort()
        self._unsynced.append(path)

    async def newest(
        self,
        *,
        at_most: int,
        ended: Iterable[EndedTransaction] = (),
        high_watermark: int = 0,
    ) -> tuple[int, ProducerStates] | None:
        """Load the newest readable snapshot at or below `at_most`.

        `ended`: transactions with a marker at or above `high_watermark`, which a snapshot lacks.
        """
        for offset in sorted(self._offsets, reverse=True):
            entries = await self._read(offset) if offset <= at_most else None
            if entries is not None:
                below = [one for one in ended if one.marker_offset < offset]
                states = ProducerStates.from_entries(
                    entries, ended=below, high_watermark=high_watermark
                )
                return offset, states
        return None

    def drop_above(self, offset: int) -> None:
        """Remove the snapshots that include dropped records."""
        self._drop([one for one in self._offsets if one > offset])

    def drop_below(self, offset: int) -> None:
        """Remove all snapshots below the newest one at or below `offset`."""
        self._drop([one for one in self._offsets if one <= offset][:-1])

    def drop_within(self, start: int, end: int) -> None:
        """Remove the snapshots between two offsets, where no segment begins any more."""
        self._drop([one for one in self._offsets if start < one < end])

    async def sync(self) -> None:
        """Flush written snapshots to stable storage; the caller syncs the folder before.

        One that is written meanwhile waits for the next call, as its name does.
        """
        for path in self._unsynced[:]:
            if path not in self._unsynced:
                continue  # dropped meanwhile
            file = self._disk.open(path)
            try:
                await file.sync()
            finally:
                file.close()
            if path in self._unsynced:
                self._unsynced.remove(path)

    def _drop(self, offsets: list[int]) -> None:
        for offset in offsets:
            path = self._path(offset)
            self._disk.remove(path)
            self._offsets.remove(offset)
            self._unsynced = [one for one in self._unsynced if one != path]

    async def _read(self, offset: int) -> tuple[ProducerEntry, ...] | None:
        file = self._disk.open(self._path(offset))
        try:
            return decode_snapshot(await reading(self._disk, partial(file.read_at, 0, _MAX_BYTES)))
        finally:
            file.close()

    def _path(self, offset: int) -> str:
        return f"{self._directory}/{file_name(offset, SNAPSHOT)}"
