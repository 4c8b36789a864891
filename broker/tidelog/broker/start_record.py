"""What a start may have lost: the data folder remembers how the last life began and ended.

A process that is killed loses nothing that the operating system took: the page cache outlives it.
A machine that stops does lose what was not flushed. The kernel's boot id tells the two apart, and
a clean stop, after which all is flushed, makes it all the same (KIP-966).

What was lost is remembered until the controllers were told: a process that ends before its broker
is registered, however cleanly, leaves the telling to the next.
"""

from __future__ import annotations

import structlog

from tidelog.broker.data_directory import PROPERTIES_BYTES_MAX
from tidelog.log.env import Disk, write_atomically
from tidelog.log.errors import DiskFullError, StorageError
from tidelog.v1.controller_pb2 import EVERYTHING, NOTHING, UNFLUSHED, StartLoss

FILE_NAME = "start.properties"
_WORST_FIRST: tuple[StartLoss, ...] = (EVERYTHING, UNFLUSHED, NOTHING)

log = structlog.get_logger(__name__)


async def note_start(disk: Disk, folder: str, *, boot_id: str) -> StartLoss:
    """What was lost of what the folder held, and not told yet; from now on it is not clean.

    On a full disk it remembers nothing: the next start counts as one that lost everything. Errors:
    `StorageError`.
    """
    found = _read(disk, folder)
    loss = _worse(_loss(found, boot_id), _untold(found))
    try:
        await _write(disk, folder, boot_id=boot_id, is_clean=False, untold=loss)
    except DiskFullError:
        disk.remove(f"{folder}/{FILE_NAME}.tmp")
        disk.remove(f"{folder}/{FILE_NAME}")
        await disk.sync_directory(folder)
    return loss


async def note_told(disk: Disk, folder: str, *, boot_id: str) -> None:
    """The controllers know what this start lost; if that cannot be noted they are told again."""
    try:
        found = _read(disk, folder)
        if found is not None and _untold(found) != NOTHING:
            await _write(disk, folder, boot_id=boot_id, is_clean=False, untold=NOTHING)
    except StorageError as error:
        log.warning("told loss not noted", error=str(error))


async def note_clean_stop(
    disk: Disk, folder: str, *, boot_id: str, untold: StartLoss = NOTHING
) -> None:
    """All is flushed, and nothing is written any more; if this cannot be noted it is not so."""
    try:
        await _write(disk, folder, boot_id=boot_id, is_clean=True, untold=untold)
    except StorageError as error:
        log.warning("clean stop not noted", error=str(error))


def _loss(found: dict[str, str] | None, boot_id: str) -> StartLoss:
    if found is None:
        return EVERYTHING
    is_same_boot = boot_id != "" and found.get("boot.id") == boot_id
    return NOTHING if is_same_boot or found.get("clean") == "true" else UNFLUSHED


def _untold(found: dict[str, str] | None) -> StartLoss:
    """What earlier starts lost and did not tell."""
    name = "NOTHING" if found is None else found.get("untold", "NOTHING")
    return next((loss for loss in _WORST_FIRST if StartLoss.Name(loss) == name), EVERYTHING)


def _worse(one: StartLoss, other: StartLoss) -> StartLoss:
    return next(loss for loss in _WORST_FIRST if loss in (one, other))


def _read(disk: Disk, folder: str) -> dict[str, str] | None:
    path = f"{folder}/{FILE_NAME}"
    if not disk.exists(path):
        return None
    file = disk.open(path)
    try:
        text = file.read_at(0, PROPERTIES_BYTES_MAX).decode("utf-8", "replace")
    finally:
        file.close()
    pairs = (line.partition("=") for line in text.splitlines())
    return {key: value for key, _, value in pairs}


async def _write(
    disk: Disk, folder: str, *, boot_id: str, is_clean: bool, untold: StartLoss
) -> None:
    text = f"boot.id={boot_id}\nclean={'true' if is_clean else 'false'}\n"
    text += f"untold={StartLoss.Name(untold)}\n"
    await write_atomically(disk, f"{folder}/{FILE_NAME}", text.encode())
