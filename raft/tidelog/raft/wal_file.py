"""The file of the write-ahead log: its form, how it is made, and how it is read without a node.

It is as large as it will usually get from its first day: zeros, which frames (`wal_frames`) are
written over. So a full disk stops the log only when that reserve is used up, and a sync has nothing
to store but the frame.

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
got its name: whatever is wrong with them is damage.
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
    """What a record says; the module's table names its fields."""

    UNFINISHED = -1
    """Never stored: `read_wal` tells so that its frame is what a crash left of one."""
    IDENTITY = 1
    START = 2
    VOTE = 3
    ENTRY = 4
    TRUNCATION = 5
    REJOINED = 6
    BASE = 7


class Sizes(NamedTuple):
    """What of a file was synced before it got its name."""

    reserved_bytes: int
    """Frames and zeros."""
    carried_bytes: int
    """Frames."""

    @classmethod
    def of(cls, identity: Record) -> Sizes:
        """Those an identity says. Errors: `struct.error`."""
        return cls(*_SIZES.unpack(identity.body))


def read_wal(read_at: ReadAt, size: int) -> Iterator[tuple[Frame, Record]]:
    """Every record of a file of `size` bytes with the frame it stands in.

    The last one is an UNFINISHED if a crash, or a node that is writing, left something behind the
    last frame. Errors: `DamagedFileError` when it comes to what nobody wrote.
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
            # A node that is writing may have come further since this place was read.
            if frame_at(read_at, size, position=position, number=number) is None:
                raise
    if sizes is None or position < sizes.carried_bytes:
        raise DamagedFileError("a frame is missing that was synced", position=position)
    if end > position:
        yield Frame(number, position, end, b""), Record(RecordKind.UNFINISHED)


def _checked_sizes(identity: Record, size: int) -> Sizes:
    if identity.kind != RecordKind.IDENTITY or len(identity.body) != _SIZES.size:
        raise DamagedFileError("it does not begin as a write-ahead log", position=0)
    sizes = Sizes.of(identity)
    if size < sizes.reserved_bytes:
        raise DamagedFileError("it is shorter than it was made", position=size)
    return sizes


async def reserve(disk: Disk, path: str, size_bytes: int) -> File:
    """Make a file of zeros, on stable storage. Errors: `StorageError`, then it is not there."""
    disk.remove(path)
    file = disk.open(path, create=True)
    try:
        await clear(file, 0, max(size_bytes, SECTOR_BYTES))
    except BaseException:
        discard(disk, file)
        raise
    return file


async def clear(file: File, start: int, end: int) -> None:
    """Put zeros from byte `start` to before `end`, on stable storage."""
    for at in range(start, end, SLICE_BYTES):
        file.write_at(at, _ZEROS[: end - at])
        await asyncio.sleep(0)
    await file.sync()


async def fill(
    file: File, state: Iterable[Record], entries: Iterable[WalEntry], *, node_id: int
) -> Frame:
    """Write what a reserved file begins with, and sync it: an identity, `state`, `entries`.

    Returns the place behind, for the next frame. Errors: `StorageError`; the file is of no use
    then.
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
    """Give a synced file its name, for good. Errors: `StorageError`; either file may have it."""
    disk.rename(source, target)
    await disk.sync_directory(target.rpartition("/")[0])


def discard(disk: Disk, file: File) -> None:
    """Remove a file that is of no use; if the disk does not even do that, `open` will."""
    file.close()
    try:
        disk.remove(file.path)
    except StorageError:
        return


def refusal(path: str, error: DamagedFileError) -> StorageError:
    """Why a node does not start with this file, and what to do about it."""
    return StorageError(
        f"{path} is damaged at byte {error.position}: {error.reason}. Starting with it could elect "
        "two leaders or lose acknowledged metadata. Restore its folder from a copy made since this "
        "node last ran; or, if a majority of the other controllers is healthy, remove the folder "
        "once: this node then learns everything from the others, and takes part again when it has "
        "heard all of them"
    )
