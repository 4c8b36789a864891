"""The voter's durable state: log entries, term and vote, in one append-only file.

It owns `raft.wal` and what it says; it never decides what to write. Writes are collected and reach
the disk as one frame at the next `sync`, so a frame is on stable storage before the next begins:

    file    = frame+      made whole at first (written, synced, renamed): it never lacks a frame
    frame   = magic 4s | payload bytes u32 | CRC-32 of payload u32 | CRC-32 of the 12 before u32
            | payload = record+
    record  = body bytes u32 | a i64 | b i64 | kind u8 | body

    kind         a           b
    IDENTITY     format      node id
    START        incarnation -
    VOTE         term        voted for, -1: nobody
    ENTRY        term        index            body: command
    TRUNCATION   -           first index removed

A crash can therefore leave only the last frame unfinished; it is cut at open, since nothing that
depends on it has left the node. Any other damage means that a vote or an acknowledged entry may be
gone: the node refuses to start.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterator
from enum import IntEnum
from typing import NamedTuple

from tidelog.log.env import Disk, File, make_directory_durably, write_atomically
from tidelog.log.errors import InvariantError, StorageError, invariant

FILE_NAME = "raft.wal"
_FORMAT = 1
_MAGIC = b"TDLG"
_HEADER = struct.Struct("<4sII")
_CRC = struct.Struct("<I")
FRAME_HEADER_BYTES = _HEADER.size + _CRC.size
_RECORD = struct.Struct("<IqqB")
_SECTOR_BYTES = 512
_NOBODY = -1
REGULAR, NO_OP = b"\0", b"\1"
"""The first byte of a command: PySyncObj's kind. What follows a regular one was proposed."""


class RecordKind(IntEnum):
    """What a record says; the module's table names its fields."""

    IDENTITY = 1
    START = 2
    VOTE = 3
    ENTRY = 4
    TRUNCATION = 5


class WalEntry(NamedTuple):
    """One log entry, in the order of fields PySyncObj unpacks."""

    command: bytes
    log_index: int
    term: int


class Wal:
    """The durable state, read at `open`, changed by `write_*`, made safe by `sync`.

    After an error of `sync` the state on disk is unknown: the node must end, never try again.
    """

    def __init__(self, file: File, *, node_id: int) -> None:
        self.node_id = node_id
        self.term = 0
        self.voted_for: int | None = None
        self.incarnation = 0
        self.entries: list[WalEntry] = []
        """Entry `index` is at position `index - 1`."""
        self._file = file
        self._end = 0
        self._unwritten: list[bytes] = []

    @classmethod
    async def open(cls, *, disk: Disk, directory: str, node_id: int, wall_ms: int) -> Wal:
        """Read the state, cutting an unfinished last frame, or make a new one.

        The incarnation becomes greater than any before, even after the file was lost (`wall_ms`).
        Errors: `StorageError` when the file is damaged or another node's.
        """
        path = f"{directory}/{FILE_NAME}"
        if not disk.exists(path):
            await make_directory_durably(disk, directory)
            await write_atomically(
                disk, path, _frame([_record(RecordKind.IDENTITY, a=_FORMAT, b=node_id)])
            )
        wal = cls(disk.open(path), node_id=node_id)
        try:
            await wal._recover()
        except BaseException:
            wal.close()
            raise
        wal._write(RecordKind.START, a=max(wal.incarnation + 1, wall_ms))
        return wal

    @property
    def is_dirty(self) -> bool:
        """Whether something was written that `sync` has not made safe."""
        return bool(self._unwritten)

    def write_vote(self, *, term: int, voted_for: int | None) -> None:
        """Enter `term`, having voted for that node or nobody yet; a vote is never changed."""
        self._write(RecordKind.VOTE, a=term, b=_NOBODY if voted_for is None else voted_for)

    def write_entry(self, command: bytes, *, index: int, term: int) -> None:
        """Append an entry, which must follow the last one."""
        self._write(RecordKind.ENTRY, a=term, b=index, body=command)

    def write_truncation(self, first_index: int) -> None:
        """Remove this entry and all after it."""
        self._write(RecordKind.TRUNCATION, b=first_index)

    async def sync(self) -> None:
        """Put everything written before the call on stable storage, off the loop."""
        frame = _frame(self._unwritten)
        self._unwritten = []
        self._file.write_at(self._end, frame)
        self._end += len(frame)
        await self._file.sync()

    def close(self) -> None:
        """Close the file; what was not synced is lost, as nobody was told of it."""
        self._file.close()

    def _write(self, kind: int, *, a: int = 0, b: int = 0, body: bytes = b"") -> None:
        self._apply(kind, a=a, b=b, body=body)
        self._unwritten.append(_record(kind, a=a, b=b, body=body))

    def _apply(self, kind: int, *, a: int, b: int, body: bytes) -> None:
        match kind:
            case RecordKind.IDENTITY:
                if (a, b) != (_FORMAT, self.node_id):
                    raise StorageError(
                        f"{self._file.path} is of node {b}, format {a}; this is node "
                        f"{self.node_id}, format {_FORMAT}: give every node its own data directory"
                    )
            case RecordKind.START:
                self.incarnation = a
            case RecordKind.VOTE:
                self._apply_vote(term=a, voted_for=None if b == _NOBODY else b)
            case RecordKind.ENTRY:
                invariant(b == len(self.entries) + 1, "entries follow each other", b)
                invariant(not self.entries or a >= self.entries[-1].term, "terms never fall", a)
                self.entries.append(WalEntry(body, b, a))
            case RecordKind.TRUNCATION:
                invariant(1 <= b <= len(self.entries), "truncation inside the log", b)
                del self.entries[b - 1 :]
            case _:
                invariant(False, "unknown record kind", kind)

    def _apply_vote(self, *, term: int, voted_for: int | None) -> None:
        invariant(term >= self.term, "terms never fall", term, self.term)
        is_first_vote = term > self.term or self.voted_for in (None, voted_for)
        invariant(is_first_vote, "one vote in a term", term, self.voted_for, voted_for)
        self.term, self.voted_for = term, voted_for

    async def _recover(self) -> None:
        size = self._file.size()
        while self._end < size:
            payload = payload_at(self._file.read_at, self._end, size)
            if payload is None:
                await self._cut_unfinished_frame(size)
                break
            try:
                for kind, a, b, body in records_in(payload):
                    self._apply(kind, a=a, b=b, body=body)
            except (InvariantError, struct.error) as error:
                raise self._damaged(str(error)) from error
            self._end += FRAME_HEADER_BYTES + len(payload)
        if self._end == 0:
            raise self._damaged("it has no first frame")

    async def _cut_unfinished_frame(self, size: int) -> None:
        tail = self._file.read_at(self._end, size - self._end)
        if not is_unfinished(tail, offset=self._end):
            raise self._damaged("a frame that was on stable storage has changed")
        self._file.truncate(self._end)
        await self._file.sync()

    def _damaged(self, what: str) -> StorageError:
        return StorageError(
            f"{self._file.path} is damaged at byte {self._end}: {what}. Starting without it could "
            "elect two leaders or lose acknowledged metadata. Restore the file from a copy made "
            "while this node was down; or, if a majority of the other controllers is healthy, "
            "remove the file once and let this node copy the log from them"
        )


def _record(kind: int, *, a: int = 0, b: int = 0, body: bytes = b"") -> bytes:
    return _RECORD.pack(len(body), a, b, kind) + body


def records_in(payload: bytes) -> Iterator[tuple[int, int, int, bytes]]:
    """Kind, a, b and body of each; `InvariantError` or `struct.error` where there is none."""
    position = 0
    while position < len(payload):
        length, a, b, kind = _RECORD.unpack_from(payload, position)
        position += _RECORD.size
        invariant(length <= len(payload) - position, "record inside its frame", length)
        yield kind, a, b, payload[position : position + length]
        position += length


def _frame(records: list[bytes]) -> bytes:
    payload = b"".join(records)
    header = _HEADER.pack(_MAGIC, len(payload), zlib.crc32(payload))
    return header + _CRC.pack(zlib.crc32(header)) + payload


def _payload_length(header: bytes) -> int | None:
    """The length a whole, correct header announces, else None."""
    if len(header) < FRAME_HEADER_BYTES:
        return None
    magic, length, _ = _HEADER.unpack_from(header)
    (crc,) = _CRC.unpack_from(header, _HEADER.size)
    is_header = magic == _MAGIC and crc == zlib.crc32(header[: _HEADER.size])
    return int(length) if is_header else None


def payload_at(read_at: Callable[[int, int], bytes], position: int, size: int) -> bytes | None:
    """The payload of the frame at `position` of a file of `size`; None unless whole and right."""
    header = read_at(position, FRAME_HEADER_BYTES)
    length = _payload_length(header)
    if length is None or length > size - position - FRAME_HEADER_BYTES:
        return None
    payload = read_at(position + FRAME_HEADER_BYTES, length)
    (crc,) = _CRC.unpack_from(header, _HEADER.size - _CRC.size)
    return payload if zlib.crc32(payload) == crc else None


def is_unfinished(tail: bytes, *, offset: int) -> bool:
    """Whether a crash during the last write explains `tail`, which is no frame.

    It ends too early, or some of its sectors were never written (a power cut). A correct header
    further on proves that this frame had been synced before.
    """
    later = tail.find(_MAGIC, 1)
    while later != -1:
        if _payload_length(tail[later : later + FRAME_HEADER_BYTES]) is not None:
            return False
        later = tail.find(_MAGIC, later + 1)
    length = _payload_length(tail[:FRAME_HEADER_BYTES])
    if len(tail) < FRAME_HEADER_BYTES or (
        length is not None and length > len(tail) - FRAME_HEADER_BYTES
    ):
        return True
    start = 0
    while start < len(tail):
        end = start + _SECTOR_BYTES - (offset + start) % _SECTOR_BYTES
        if not any(tail[start:end]):
            return True
        start = end
    return False
