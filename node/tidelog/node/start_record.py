"""Record of the process's lives in the data folder: possible losses of a start, clean stops.

A killed process loses nothing that it wrote: the page cache survives it. A machine that stops loses
unflushed writes. The kernel's boot id distinguishes the two; after a clean stop everything is
flushed, so that it does not matter (KIP-966).

A loss is recorded until it is reported to the controllers: a process that ends, cleanly or not,
before its broker is registered leaves the report to the next one.

Once all logs were recovered in a boot, a later start in the same boot finds every write, synced or
not: a missing one was not lost with the power (decision 0009).
"""

from __future__ import annotations

import asyncio
from typing import NamedTuple

from tidelog.core.env import Disk, Random
from tidelog.core.errors import DiskFullError, StorageError
from tidelog.core.logs import get_logger
from tidelog.log.checkpoints import NO_LIFE
from tidelog.log.log_folder import ONLY_LIFE, Life
from tidelog.node.slot_file import read_slots, write_slots
from tidelog.v1.controller_pb2 import EVERYTHING, NOTHING, UNFLUSHED, StartLoss

FILE_NAME = "start.properties"
_FIELDS = ("boot.id", "clean", "unreported", "recovered", "life")
_LIFE_END = 2**53
_UNKNOWN_LIFE = -1
_WORST_LAST: tuple[StartLoss, ...] = (NOTHING, UNFLUSHED, EVERYTHING)

log = get_logger(__name__)


class Start(NamedTuple):
    """Findings of this start."""

    loss: StartLoss
    """Possible loss of the folder's contents, not reported yet."""
    life: Life
    """This start and the previous one; the page cache survived if this boot recovered all logs."""


class StartRecord:
    """Record in one data folder. Only `note_start` raises: other failed notes are best effort."""

    def __init__(self, disk: Disk, folder: str, *, boot_id: str, random: Random) -> None:
        self._random = random
        self._disk = disk
        self._folder = folder
        self._boot_id = boot_id
        self._writing = asyncio.Lock()
        self._is_all_flushed = False
        """True when closing the logs flushes all: each was opened, or the last stop was clean."""

    async def note_start(self) -> Start:
        """Read the record and note this start; from now on the folder is not clean.

        A full disk takes it, unless the record has no slots yet or its file system overwrites
        nothing in place: then it removes the record, and the next start counts as one that lost
        everything. Raises `StorageError`.
        """
        disk, folder = self._disk, self._folder
        found = _read(disk, folder)
        loss = max(_loss(found, self._boot_id), _unreported(found), key=_WORST_LAST.index)
        self._is_all_flushed = found is not None and found.get("clean") == "true"
        is_recovered = found is not None and found.get("recovered") == self._boot_id
        number = self._random.randrange(NO_LIFE + 1, _LIFE_END)
        changes = {
            "boot.id": self._boot_id,
            "life": str(number),
            "clean": "false",
            "unreported": StartLoss.Name(loss),
        }
        try:
            await _write(disk, folder, {**(found or {}), **changes})
        except DiskFullError:
            disk.remove(f"{folder}/{FILE_NAME}.tmp")
            disk.remove(f"{folder}/{FILE_NAME}")
            await disk.sync_directory(folder)
        page_cache_survived = self._boot_id != "" and is_recovered
        return Start(loss, Life(number, _life(found), page_cache_survived))

    async def note_recovered(self) -> None:
        """Note that all logs are open; if this fails, the next start looks for torn writes."""
        self._is_all_flushed = True
        await self._change("recovered", self._boot_id)

    async def note_reported(self) -> None:
        """Note that the controllers know the loss; if this fails, it is reported again."""
        await self._change("unreported", StartLoss.Name(NOTHING))

    async def note_clean_stop(self) -> None:
        """Note a clean stop: every log that was opened is closed.

        An unopened log may have unflushed writes of an earlier life: then the stop is not clean.
        """
        if self._is_all_flushed:
            await self._change("clean", "true")

    async def _change(self, key: str, value: str) -> None:
        """Change a field, unless the start could not be noted, which counts as a total loss."""
        try:
            async with self._writing:
                found = _read(self._disk, self._folder)
                if found is not None and found.get(key) != value:
                    await _write(self._disk, self._folder, {**found, key: value})
        except StorageError as error:
            log.warning("start record not written", key=key, value=value, error=str(error))


def life_after(disk: Disk, folder: str) -> Life:
    """Life to read the logs of a stopped node with: its last life's clean markers are valid.

    Without a record, lives are not counted.
    """
    found = _read(disk, folder)
    return ONLY_LIFE if found is None else Life(before=_life(found))


def _loss(found: dict[str, str] | None, boot_id: str) -> StartLoss:
    if found is None:
        return EVERYTHING
    is_same_boot = boot_id != "" and found.get("boot.id") == boot_id
    return NOTHING if is_same_boot or found.get("clean") == "true" else UNFLUSHED


def _unreported(found: dict[str, str] | None) -> StartLoss:
    """Loss of earlier starts that was not reported."""
    name = "NOTHING" if found is None else found.get("unreported", "NOTHING")
    return next((loss for loss in _WORST_LAST if StartLoss.Name(loss) == name), EVERYTHING)


def _life(found: dict[str, str] | None) -> int:
    """Number of the previous life; if unknown, one that no marker has."""
    text = "" if found is None else found.get("life", "")
    is_number = text.isascii() and text.isdecimal() and len(text) <= len(str(_LIFE_END))
    return int(text) if is_number else _UNKNOWN_LIFE


def _read(disk: Disk, folder: str) -> dict[str, str] | None:
    text = read_slots(disk, f"{folder}/{FILE_NAME}")
    if text is None:
        return None
    pairs = (line.partition("=") for line in text.splitlines())
    return {key: value for key, _, value in pairs if key in _FIELDS}


async def _write(disk: Disk, folder: str, fields: dict[str, str]) -> None:
    text = "".join(f"{key}={fields[key]}\n" for key in _FIELDS if key in fields)
    await write_slots(disk, f"{folder}/{FILE_NAME}", text)
