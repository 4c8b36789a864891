"""Frames and records: the format of the write-ahead log and of snapshots. Opens no file.

A frame is the unit of one sync. It fills whole sectors, so that writing one never touches another,
and every sector identifies itself and has a checksum:

    sector  = CRC-32 of the 508 bytes after it u32 | frame, counted from 0 in its file u32
            | sectors that follow in this frame u32 | data bytes u16 | data, zeros to 496 | "TL"
    frame   = sector+       its payload: their data, which is record+
    record  = body bytes u32 | a i64 | b i64 | kind u8 | body

Files are full of zeros before frames overwrite them. So a sector there is one of

    whole       its CRC says so
    untouched   zeros; a single other byte may be a flipped one
    cut         its last two bytes are zeros: it was never written to its end
    damaged     anything else

and one changed byte never makes a whole sector an untouched or a cut one, or the reverse.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from tidelog.core.errors import StorageError, invariant

SECTOR_BYTES = 512
RECORD_BYTES_MAX = 64 << 20
"""Maximum size of a record's body; a larger one is damage when read, a bug when written."""
FRAME_BYTES_MAX = 512 << 20
"""Maximum size of a frame on disk; a larger one is damage when read, a bug when written."""
SLICE_BYTES = 256 << 10
"""Bytes read, written or checked at once where more would block the event loop."""
_HEADER = struct.Struct("<IIIH")
_CRC = struct.Struct("<I")
_BODY = struct.Struct("<IIH")
_MARK = b"TL"
_DATA_BYTES = SECTOR_BYTES - _HEADER.size - len(_MARK)
_RECORD = struct.Struct("<IqqB")
_ZEROS = bytes(SLICE_BYTES)

ReadAt = Callable[[int, int], bytes]
"""Function that reads at most `length` bytes from `position`; fewer only at the end."""


class DamagedFileError(StorageError):
    """Stored bytes have changed at byte `position`."""

    def __init__(self, reason: str, *, position: int) -> None:
        super().__init__(f"damaged at byte {position}: {reason}")
        self.reason = reason
        self.position = position


class Record(NamedTuple):
    """A part of a frame; the meaning of `a`, `b` and `body` depends on `kind`."""

    kind: int
    a: int = 0
    b: int = 0
    body: bytes = b""


class Frame(NamedTuple):
    """A complete frame of a file, from byte `position` to before `end`."""

    number: int
    position: int
    end: int
    payload: bytes


class _Sector(NamedTuple):
    frame: int
    following: int
    data: bytes


# Records


def encode_record(record: Record) -> bytes:
    """Encode a record. Raises `InvariantError` when its body is too large."""
    invariant(len(record.body) <= RECORD_BYTES_MAX, "a record's body", len(record.body))
    return _RECORD.pack(len(record.body), record.a, record.b, record.kind) + record.body


def decode_records(frame: Frame) -> Iterator[Record]:
    """Decode the records of a frame. Raises `DamagedFileError` where there is none."""
    payload, at = frame.payload, 0
    while at < len(payload):
        room = len(payload) - at - _RECORD.size
        if room < 0:
            raise DamagedFileError("a frame ends within a record", position=frame.position)
        length, a, b, kind = _RECORD.unpack_from(payload, at)
        if length > min(room, RECORD_BYTES_MAX):
            raise DamagedFileError("a record is larger than its frame", position=frame.position)
        at += _RECORD.size
        yield Record(kind, a, b, payload[at : at + length])
        at += length


def payloads(records: Iterable[Record]) -> Iterator[bytes]:
    """Group all records into payloads of about `SLICE_BYTES` unless a record is larger."""
    pieces: list[bytes] = []
    size = 0
    for record in records:
        pieces.append(encode_record(record))
        size += len(pieces[-1])
        if size >= SLICE_BYTES:
            yield b"".join(pieces)
            pieces, size = [], 0
    if pieces:
        yield b"".join(pieces)


# Frames


def frame_bytes(payload_bytes: int) -> int:
    """Size in the file of a frame with a payload of that size."""
    return -(-payload_bytes // _DATA_BYTES) * SECTOR_BYTES


def encode_frame(number: int, payload: bytes) -> bytes:
    """Encode frame `number` of a file. Raises `InvariantError` if it is empty or too large."""
    invariant(0 < frame_bytes(len(payload)) <= FRAME_BYTES_MAX, "a frame", len(payload))
    pieces: list[bytes] = []
    following = frame_bytes(len(payload)) // SECTOR_BYTES - 1
    for at in range(0, len(payload), _DATA_BYTES):
        data = payload[at : at + _DATA_BYTES]
        rest = _BODY.pack(number, following, len(data)) + data.ljust(_DATA_BYTES, b"\0") + _MARK
        pieces += (_CRC.pack(zlib.crc32(rest)), rest)
        following -= 1
    return b"".join(pieces)


def frame_at(read_at: ReadAt, size: int, *, position: int, number: int) -> Frame | None:
    """Read frame `number` at `position` of a file of `size` bytes; None unless complete."""
    first = read_at(position, SECTOR_BYTES)
    sector = _sector(first)
    if sector is None:
        return None
    length = (sector.following + 1) * SECTOR_BYTES
    if length > min(size - position, FRAME_BYTES_MAX):
        return None
    stored = first if sector.following == 0 else read_at(position, length)
    payload = _payload(stored, number)
    return None if payload is None else Frame(number, position, position + length, payload)


def frames_in(read_at: ReadAt, size: int, *, position: int = 0, number: int = 0) -> Iterator[Frame]:
    """Iterate over the frames from `number` on, up to the first place without one."""
    while frame := frame_at(read_at, size, position=position, number=number):
        yield frame
        position, number = frame.end, number + 1


def unfinished_end(read_at: ReadAt, size: int, *, position: int, number: int) -> int:
    """Find the end of a crash's remains of the frame that was being written at `position`.

    It is `position` if there are only zeros. Raises `DamagedFileError` if no crash during the write
    of frame `number` explains the content: then it, or a later frame, had been complete.
    """
    end, frame_end = position, None
    for at, stored in _sectors_with_content(read_at, size, position):
        sector = _sector(stored)
        if sector is None:
            if not _is_cut(stored):
                raise DamagedFileError("a synced sector has changed", position=at)
        else:
            announced = at + (sector.following + 1) * SECTOR_BYTES
            if sector.frame != number or announced != (frame_end or announced):
                raise DamagedFileError("a synced frame is missing", position=position)
            frame_end = announced
        end = min(size, at + SECTOR_BYTES)
    return end


def is_whole_sector(stored: bytes) -> bool:
    """True when these bytes are a sector as it was written."""
    return _sector(stored) is not None


def _payload(stored: bytes, number: int) -> bytes | None:
    """Join the data of sectors that must be one complete frame."""
    pieces: list[bytes] = []
    following = len(stored) // SECTOR_BYTES - 1
    for at in range(0, len(stored), SECTOR_BYTES):
        sector = _sector(stored[at : at + SECTOR_BYTES])
        if sector is None or (sector.frame, sector.following) != (number, following):
            return None
        pieces.append(sector.data)
        following -= 1
    return b"".join(pieces)


def _sector(stored: bytes) -> _Sector | None:
    if len(stored) != SECTOR_BYTES:
        return None
    crc, frame, following, length = _HEADER.unpack_from(stored)
    if length > _DATA_BYTES or crc != zlib.crc32(stored[_CRC.size :]):
        return None
    return _Sector(frame, following, stored[_HEADER.size : _HEADER.size + length])


def _is_cut(stored: bytes) -> bool:
    """True when its end was never written, or it is empty, apart from one possibly flipped byte."""
    is_untouched = len(stored) - stored.count(0) <= 1
    return is_untouched or len(stored) < SECTOR_BYTES or not any(stored[-len(_MARK) :])


def _sectors_with_content(read_at: ReadAt, size: int, position: int) -> Iterator[tuple[int, bytes]]:
    """Iterate over position and content of the sectors from `position` on, except zeros."""
    for start in range(position, size, SLICE_BYTES):
        stored = read_at(start, min(SLICE_BYTES, size - start))
        if stored == _ZEROS[: len(stored)]:
            continue
        for at in range(0, len(stored), SECTOR_BYTES):
            piece = stored[at : at + SECTOR_BYTES]
            if any(piece):
                yield start + at, piece
