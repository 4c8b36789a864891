"""The write-ahead log file: format, creation, and reading without a node.

It is created at its usual maximum size, filled with zeros, which frames (`wal_frames`) overwrite.
So a full disk stops the log only when that reserve is used up, and a sync stores nothing but the
frame.

    file    = first frame, one sector | frames carried over | frames since | zeros

    record       a           b                    body
    IDENTITY     format      node id              reserved bytes u64 | carried bytes u64
    START        incarnation -
    VOTE         term        voted for, -1: nobody
    ENTRY        term        index                command
    TRUNCATION   -           first index removed
    REJOINED     -           -
    BASE         term        index of the last entry before the log

The reserve and the frames up to the carried bytes, the first included, were synced before the file
got its name: any fault in them is damage.
"""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Iterable, Iterator
from enum import IntEnum
from typing import NamedTuple

from tidelog.core.env import Disk, File
from tidelog.core.errors import StorageError, invariant
from tidelog.raft.durable_state import WalEntry
from tidelog.raft.wal_frames import (
    SECTOR_BYTES,
    SLICE_BYTES,
    DamagedFileError,
    Frame,
    ReadAt,
    Record,
    decode_records,
    encode_frame,
    encode_record,
    frame_at,
    frames_in,
    payloads,
    unfinished_end,
)

FORMAT = 2
NOBODY = -1
_SIZES = struct.Struct("<QQ")
_ZEROS = bytes(SLICE_BYTES)


class RecordKind(IntEnum):
    """Kind of a record; the module's table names its fields."""

    UNFINISHED = -1
    """Never stored: `read_wal` returns it for an unfinished last frame."""
    IDENTITY = 1
    START = 2
    VOTE = 3
    ENTRY = 4
    TRUNCATION = 5
    REJOINED = 6
    BASE = 7


class Sizes(NamedTuple):
    """Parts of a file that were synced before it got its name."""

    reserved_bytes: int
    """Size of frames and zeros."""
    carried_bytes: int
    """Size of the frames."""

    @classmethod
    def of(cls, identity: Record) -> Sizes:
        """Decode the sizes in an identity record. Raises `struct.error`."""
        return cls(*_SIZES.unpack(identity.body))


def read_wal(read_at: ReadAt, size: int) -> Iterator[tuple[Frame, Record]]:
    """Iterate over the records of a file of `size` bytes, each with its frame.

    The last one is an UNFINISHED if a crash, or a node that is writing, left data after the last
    frame. Raises `DamagedFileError` at the first damage.
    """
    sizes, position, number, end = None, 0, 0, None
    while end is None:
        for frame in frames_in(read_at, size, position=position, number=number):
            for record in decode_records(frame):
                sizes = sizes or _checked_sizes(record, size)
                yield frame, record
            position, number = frame.end, frame.number + 1
        try:
            end = unfinished_end(read_at, size, position=position, number=number)
        except DamagedFileError:
            # A node that is writing may have progressed since this place was read.
            if frame_at(read_at, size, position=position, number=number) is None:
                raise
    if sizes is None or position < sizes.carried_bytes:
        raise DamagedFileError("a synced frame is missing", position=position)
    if end > position:
        yield Frame(number, position, end, b""), Record(RecordKind.UNFINISHED)


def _checked_sizes(identity: Record, size: int) -> Sizes:
    if identity.kind != RecordKind.IDENTITY or len(identity.body) != _SIZES.size:
        raise DamagedFileError("it does not begin like a write-ahead log", position=0)
    sizes = Sizes.of(identity)
    if size < sizes.reserved_bytes:
        raise DamagedFileError("it is shorter than its reserve", position=size)
    return sizes


async def reserve(disk: Disk, path: str, size_bytes: int) -> File:
    """Create a file of zeros on stable storage. Raises `StorageError`; no file is left then."""
    disk.remove(path)
    file = disk.open(path, create=True)
    try:
        await clear(file, 0, max(size_bytes, SECTOR_BYTES))
    except BaseException:
        discard(disk, file)
        raise
    return file


async def clear(file: File, start: int, end: int) -> None:
    """Write zeros from byte `start` to before `end`, and sync."""
    for at in range(start, end, SLICE_BYTES):
        file.write_at(at, _ZEROS[: end - at])
        await asyncio.sleep(0)
    await file.sync()


async def fill(
    file: File, state: Iterable[Record], entries: Iterable[WalEntry], *, node_id: int
) -> Frame:
    """Write the beginning of a reserved file, and sync it: an identity, `state`, `entries`.

    Returns the position of the next frame. Raises `StorageError`; discard the file then.
    """
    end, number = SECTOR_BYTES, 1
    records = (Record(RecordKind.ENTRY, term, index, command) for command, index, term in entries)
    for payload in payloads(records):
        frame = encode_frame(number, payload)
        file.write_at(end, frame)
        end, number = end + len(frame), number + 1
        await asyncio.sleep(0)
    sizes = _SIZES.pack(max(end, file.size()), end)
    identity = Record(RecordKind.IDENTITY, FORMAT, node_id, sizes)
    first = encode_frame(0, b"".join(map(encode_record, (identity, *state))))
    invariant(len(first) == SECTOR_BYTES, "the first frame is one sector", len(first))
    file.write_at(0, first)
    await file.sync()
    return Frame(number, end, end, b"")


async def publish(disk: Disk, source: str, target: str) -> None:
    """Rename a synced file, durably. Raises `StorageError`; either file may have the name then."""
    disk.rename(source, target)
    await disk.sync_directory(target.rpartition("/")[0])


def discard(disk: Disk, file: File) -> None:
    """Remove a useless file, best effort; otherwise the next `open` removes it."""
    file.close()
    try:
        disk.remove(file.path)
    except StorageError:
        return


def refusal(path: str, error: DamagedFileError) -> StorageError:
    """Build the error of a node that cannot start with this file, with advice."""
    return StorageError(
        f"{path} is damaged at byte {error.position}: {error.reason}. Starting with it could elect "
        "two leaders or lose acknowledged metadata. Restore its folder from a copy made since this "
        "node last ran; or, if a majority of the other controllers is healthy, remove the folder "
        "once: this node then copies everything from the others, and participates once it has "
        "heard all of them"
    )
