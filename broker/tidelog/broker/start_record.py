"""What a start may have lost: the data folder remembers how the last life began and ended.

A process that is killed loses nothing that the operating system took: the page cache outlives it.
A machine that stops does lose what was not flushed. The kernel's boot id tells the two apart, and
a clean stop, after which all is flushed, makes it all the same (KIP-966).

What was lost is remembered until the controllers were told: a process that ends before its broker
is registered, however cleanly, leaves the telling to the next.

Once all logs were recovered in a boot, a later start in it finds every write there that was made,
synced or not: what is missing then did not go with the power (decision 0009).
"""

from __future__ import annotations

from typing import NamedTuple

import structlog

from tidelog.broker.data_directory import PROPERTIES_BYTES_MAX
from tidelog.log.env import Disk, write_atomically
from tidelog.log.errors import DiskFullError, StorageError
from tidelog.v1.controller_pb2 import EVERYTHING, NOTHING, UNFLUSHED, StartLoss

FILE_NAME = "start.properties"
_FIELDS = ("boot.id", "clean", "untold", "recovered")
_WORST_FIRST: tuple[StartLoss, ...] = (EVERYTHING, UNFLUSHED, NOTHING)

log = structlog.get_logger(__name__)


class Start(NamedTuple):
    """What this start finds."""

    loss: StartLoss
    """Of what the folder held, and not told yet."""
    is_power_kept: bool
    """All logs were recovered since the machine started."""


async def note_start(disk: Disk, folder: str, *, boot_id: str) -> Start:
    """What this start finds; from now on the folder is not clean.

    On a full disk it remembers nothing: the next start counts as one that lost everything. Errors:
    `StorageError`.
    """
    found = _read(disk, folder)
    loss = _worse(_loss(found, boot_id), _untold(found))
    is_power_kept = boot_id != "" and found is not None and found.get("recovered") == boot_id
    changes = {"boot.id": boot_id, "clean": "false", "untold": StartLoss.Name(loss)}
    try:
        await _write(disk, folder, {**(found or {}), **changes})
    except DiskFullError:
        disk.remove(f"{folder}/{FILE_NAME}.tmp")
        disk.remove(f"{folder}/{FILE_NAME}")
        await disk.sync_directory(folder)
    return Start(loss, is_power_kept)


async def note_recovered(disk: Disk, folder: str, *, boot_id: str) -> None:
    """All logs are open; if this cannot be noted, torn writes are looked for at the next start."""
    await _change(disk, folder, {"recovered": boot_id})


async def note_told(disk: Disk, folder: str) -> None:
    """The controllers know what this start lost; if that cannot be noted they are told again."""
    await _change(disk, folder, {"untold": StartLoss.Name(NOTHING)})


async def note_clean_stop(disk: Disk, folder: str) -> None:
    """All is flushed, and nothing is written any more; if this cannot be noted it is not so."""
    await _change(disk, folder, {"clean": "true"})


async def _change(disk: Disk, folder: str, fields: dict[str, str]) -> None:
    """Nothing where the start could not be noted: it remains one that lost everything."""
    try:
        found = _read(disk, folder)
        if found is not None and not fields.items() <= found.items():
            await _write(disk, folder, {**found, **fields})
    except StorageError as error:
        log.warning("start record not written", fields=fields, error=str(error))


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
    return {key: value for key, _, value in pairs if key in _FIELDS}


async def _write(disk: Disk, folder: str, fields: dict[str, str]) -> None:
    text = "".join(f"{key}={fields[key]}\n" for key in _FIELDS if key in fields)
    await write_atomically(disk, f"{folder}/{FILE_NAME}", text.encode())
