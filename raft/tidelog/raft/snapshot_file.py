"""The snapshot file: format, name, encoding, and reading without a node.

    file     = frame+          as in the write-ahead log (`wal_frames`), without reserve
    HEADER     a: last index   b: its term                            body: format u32 | cluster id
    RECORD     -               -                                      body: a record of the state
    END        a: RECORDs      b: CRC-32 of all payloads before it    the last frame, alone in it
Its name is `<last index, 20 digits>-<its term, at least 10>.checkpoint`, as in Kafka.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Iterator
from enum import IntEnum
from itertools import chain

from tidelog.raft import rules
from tidelog.raft.durable_state import SnapshotId
from tidelog.raft.wal_frames import (
    DamagedFileError,
    Frame,
    ReadAt,
    Record,
    decode_records,
    encode_frame,
    encode_record,
    frame_at,
    payloads,
)

SUFFIX = ".checkpoint"
_NAME = re.compile(r"(\d{20})-(\d{10,19})\.checkpoint")
_FORMAT = (2).to_bytes(4, "little")


class SnapshotKind(IntEnum):
    """Kind of a record in the file; the module's table names its fields."""

    HEADER = 17
    RECORD = 18
    END = 19


def file_name(snapshot: SnapshotId) -> str:
    """Name of the snapshot's file."""
    return f"{snapshot.index:020d}-{snapshot.term:010d}{SUFFIX}"


def parse_name(name: str) -> SnapshotId | None:
    """Snapshot named by a file name; None for any other file."""
    match = _NAME.fullmatch(name)
    return SnapshotId(int(match[1]), int(match[2])) if match else None


def read_snapshot(read_at: ReadAt, size: int) -> Iterator[tuple[Frame, Record]]:
    """Iterate over the records of a file of `size` bytes, each with its frame.

    Raises `DamagedFileError` at the first damage.
    """
    reader = SnapshotReader(read_at)
    while frame := reader.next_frame(size):
        yield from ((frame, record) for record in reader.check(frame))
    reader.check_end(size)


def encode_snapshot(
    snapshot: SnapshotId, records: Iterable[bytes], *, cluster_id: str = ""
) -> Iterator[bytes]:
    """Encode the file as frames of about `SLICE_BYTES` each unless a record is larger."""
    body = _FORMAT + cluster_id.encode()
    header = Record(SnapshotKind.HEADER, snapshot.index, snapshot.term, body)
    bodies = _Counted(records)
    crc = number = 0
    for payload in chain([encode_record(header)], payloads(bodies)):
        yield encode_frame(number, payload)
        crc, number = zlib.crc32(payload, crc), number + 1
    yield encode_frame(number, encode_record(Record(SnapshotKind.END, bodies.count, crc)))


class _Counted:
    """Iterator that counts the records as they are written."""

    def __init__(self, bodies: Iterable[bytes]) -> None:
        self.count = 0
        self._bodies = bodies

    def __iter__(self) -> Iterator[Record]:
        for body in self._bodies:
            self.count += 1
            yield Record(SnapshotKind.RECORD, body=body)


class SnapshotReader:
    """Reader of a snapshot, which may still be growing, that checks the order of its frames.

    It also checks the cluster id, unless that is None: tools read any cluster's.
    """

    def __init__(self, read_at: ReadAt, *, cluster_id: str | None = None) -> None:
        self._read_at = read_at
        self._cluster_id = cluster_id
        self._position = 0
        self._frames = 0
        self._records = 0
        self._crc = 0
        self._snapshot: SnapshotId | None = None
        self._has_ended = False

    def next_frame(self, size: int) -> Frame | None:
        """Next frame, if it is complete within `size` bytes."""
        frame = frame_at(self._read_at, size, position=self._position, number=self._frames)
        if frame is not None:
            self._position, self._frames = frame.end, self._frames + 1
        return frame

    def check(self, frame: Frame) -> list[Record]:
        """Decode the frame's records. Raises `DamagedFileError` for a record out of place."""
        records = list(decode_records(frame))
        if self._has_ended:
            raise self.damage_error("there is data after the end")
        for record in records:
            self._check_record(record, is_alone=len(records) == 1)
        self._crc = zlib.crc32(frame.payload, self._crc)
        return records

    def check_end(self, size: int, snapshot: SnapshotId | None = None) -> None:
        """Raise `DamagedFileError` unless all `size` bytes were a snapshot: this one, if given."""
        if not self._has_ended or self._position != size:
            raise self.damage_error("a frame has changed")
        if snapshot not in (None, self._snapshot):
            raise self.damage_error(f"it contains the snapshot {self._snapshot}, not {snapshot}")

    def damage_error(self, reason: str) -> DamagedFileError:
        """Build the error for the position read so far."""
        return DamagedFileError(reason, position=self._position)

    def _check_record(self, record: Record, *, is_alone: bool) -> None:
        match record.kind:
            case SnapshotKind.HEADER if self._snapshot is None and _has_form(record.body):
                self._check_cluster(record.body[len(_FORMAT) :].decode("utf-8", "replace"))
                self._snapshot = SnapshotId(record.a, record.b)
            case SnapshotKind.RECORD if self._snapshot is not None:
                self._records += 1
            case SnapshotKind.END if is_alone and self._snapshot is not None:
                if (record.a, record.b) != (self._records, self._crc):
                    raise self.damage_error("its end record does not match its contents")
                self._has_ended = True
            case _:
                raise self.damage_error(f"a record of kind {record.kind} is out of place")

    def _check_cluster(self, cluster_id: str) -> None:
        own = self._cluster_id
        if own is not None and not rules.continues_own_log(cluster_id, own):
            raise self.damage_error(
                f"it contains the metadata of cluster {cluster_id!r}, not of {own!r}"
            )


def _has_form(header: bytes) -> bool:
    return header[: len(_FORMAT)] == _FORMAT
