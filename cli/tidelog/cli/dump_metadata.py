"""The metadata log's files: votes, entries and snapshots, decoded to metadata records."""

from __future__ import annotations

from collections.abc import Iterator

from google.protobuf.json_format import MessageToDict
from google.protobuf.message import DecodeError, Message

from tidelog.cli.dump_files import Source
from tidelog.cli.dump_lines import Line, damage, note
from tidelog.raft.durable_state import REGULAR
from tidelog.raft.snapshot_file import SnapshotKind, parse_name, read_snapshot
from tidelog.raft.wal_file import RecordKind, Sizes, read_wal
from tidelog.raft.wal_frames import DamagedFileError, Frame, Record
from tidelog.v1.metadata_records_pb2 import MetadataBatch, MetadataSnapshotPiece

_FIELDS: dict[int, tuple[str, ...]] = {
    RecordKind.IDENTITY: ("format", "nodeId"),
    RecordKind.START: ("incarnation",),
    RecordKind.VOTE: ("term", "votedFor"),
    RecordKind.ENTRY: ("term", "offset"),
    RecordKind.TRUNCATION: ("", "offset"),
    RecordKind.REJOINED: (),
    RecordKind.BASE: ("term", "offset"),
    SnapshotKind.HEADER: ("offset", "term"),
    SnapshotKind.RECORD: (),
    SnapshotKind.END: ("records", "crc"),
}
_HEADER = SnapshotKind.HEADER.name.lower()


def dump_raft_wal(source: Source) -> Iterator[Line]:
    """A line per record of the file; the offset of an entry is its metadata offset."""
    return _dump(read_wal(source.read_at, source.size()))


def dump_raft_snapshot(source: Source) -> Iterator[Line]:
    """A line per record of the file; the offset is that of the last entry in the snapshot."""
    named = parse_name(source.kind)
    for line in _dump(read_snapshot(source.read_at, source.size())):
        yield line
        found = [line.fields.get(name) for name in ("offset", "term")]
        if line.kind == _HEADER and named is not None and found != [named.index, named.term]:
            yield damage("its offset and term are not those in its name", **line.fields)


def _dump(records: Iterator[tuple[Frame, Record]]) -> Iterator[Line]:
    try:
        for frame, record in records:
            try:
                yield _line(frame, record)
            except (DecodeError, ValueError) as error:
                reason = f"a frame's content cannot be decoded: {error}"
                yield damage(reason, position=frame.position)
    except DamagedFileError as error:
        yield damage(error.reason, position=error.position)


def _line(frame: Frame, record: Record) -> Line:
    if record.kind == RecordKind.UNFINISHED:
        unread_bytes = frame.end - frame.position
        return note("a frame is unfinished", position=frame.position, unreadBytes=unread_bytes)
    name = _kind(record.kind).name.lower()
    numbers = zip(_FIELDS[record.kind], (record.a, record.b), strict=False)
    found: dict[str, object] = {"kind": name, **dict(numbers)}
    found.pop("", None)
    return Line(name, found | _body(record))


def _kind(kind: int) -> RecordKind | SnapshotKind:
    return SnapshotKind(kind) if kind >= min(SnapshotKind) else RecordKind(kind)


def _body(record: Record) -> dict[str, object]:
    match record.kind:
        case RecordKind.IDENTITY:
            sizes = Sizes.of(record)
            return {"reservedBytes": sizes.reserved_bytes, "carriedBytes": sizes.carried_bytes}
        case RecordKind.ENTRY:
            # Raft's own entries hold no metadata.
            is_regular = record.body[:1] == REGULAR
            body = _decode(MetadataBatch.FromString(record.body[1:])) if is_regular else None
            return {"metadata": body}
        case SnapshotKind.RECORD:
            return {"metadata": _decode(MetadataSnapshotPiece.FromString(record.body))}
    return {}


def _decode(message: Message) -> dict[str, object]:
    return MessageToDict(message, always_print_fields_with_no_presence=True)
