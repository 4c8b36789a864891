"""Small file of two slots that is changed in place: a change needs no space on the disk.

A change overwrites the older slot and syncs; a read takes the newest valid one. So a crash leaves
the old content or the new, never a mixture, as `write_atomically` does, which needs space for its
temporary file: it only creates the file. A slot is text, its number and a CRC-32C of both, padded
with line feeds. A file of one text without slots, of earlier versions, is read, too.
"""

from __future__ import annotations

from typing import NamedTuple

from crc32c import crc32c

from tidelog.core.env import Disk, write_atomically

SLOT_BYTES = 4096
"""A block: nothing that tears a write of one slot reaches the other."""
_SLOTS = 2
_NUMBER = "slot.number="
_CRC = "slot.crc32c="


class _Slot(NamedTuple):
    number: int
    text: str


def read_slots(disk: Disk, path: str) -> str | None:
    """Read the newest text; None without one, or if both slots are damaged.

    Raises `StorageError`.
    """
    if not disk.exists(path):
        return None
    found = _newest(_read(disk, path))
    return None if found is None else found.text


async def write_slots(disk: Disk, path: str, text: str) -> None:
    """Replace the text, of lines that end with a line feed.

    Raises `StorageError`; of that `DiskFullError` while the file is not there yet, or where the
    file system finds space for every write (copy on write). The text of before is there then.
    """
    raw = _read(disk, path) if disk.exists(path) else b""
    newest = _newest(raw)
    number = 0 if newest is None else newest.number + 1
    slot = _encode(_Slot(number, text))
    if len(raw) != _SLOTS * SLOT_BYTES:
        blank = b"\n" * SLOT_BYTES
        await write_atomically(disk, path, slot + blank if number % _SLOTS == 0 else blank + slot)
        return
    file = disk.open(path)
    try:
        # The newest may be a write of a process that was killed before it synced.
        await file.sync()
        file.write_at(number % _SLOTS * SLOT_BYTES, slot)
        await file.sync()
    finally:
        file.close()


def _read(disk: Disk, path: str) -> bytes:
    file = disk.open(path)
    try:
        return file.read_at(0, _SLOTS * SLOT_BYTES)
    finally:
        file.close()


def _newest(raw: bytes) -> _Slot | None:
    pieces = [raw[start : start + SLOT_BYTES] for start in range(0, len(raw), SLOT_BYTES)]
    slots = [slot for slot in map(_decode, pieces) if slot is not None]
    if slots:
        return max(slots)
    is_of_earlier_version = 0 < len(raw) < SLOT_BYTES
    return _Slot(0, raw.decode("utf-8", "replace")) if is_of_earlier_version else None


def _encode(slot: _Slot) -> bytes:
    content = f"{slot.text}{_NUMBER}{slot.number}\n"
    data = f"{content}{_CRC}{crc32c(content.encode()):08x}\n".encode()
    if len(data) > SLOT_BYTES:
        raise ValueError(f"{len(data)} bytes do not fit into a slot of {SLOT_BYTES}")
    return data.ljust(SLOT_BYTES, b"\n")


def _decode(piece: bytes) -> _Slot | None:
    content, _, crc = piece.rstrip(b"\n").rpartition(_CRC.encode())
    text, _, number = content.rpartition(_NUMBER.encode())
    if not content or crc != b"%08x" % crc32c(content):
        return None
    return _Slot(int(number), text.decode())
