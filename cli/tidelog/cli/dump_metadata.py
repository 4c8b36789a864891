"""The metadata log's file: its votes and entries, what was proposed decoded to metadata records."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from google.protobuf.json_format import MessageToDict
from google.protobuf.message import DecodeError

from tidelog.cli.dump_files import Source
from tidelog.cli.dump_lines import Line, damage, note
from tidelog.log.errors import InvariantError
from tidelog.raft.wal import (
    FRAME_HEADER_BYTES,
    REGULAR,
    RecordKind,
    is_unfinished,
    payload_at,
    records_in,
)
from tidelog.v1.metadata_records_pb2 import MetadataBatch

_FIELDS: dict[int, tuple[str, ...]] = {
    RecordKind.IDENTITY: ("format", "nodeId"),
    RecordKind.START: ("incarnation",),
    RecordKind.VOTE: ("term", "votedFor"),
    RecordKind.ENTRY: ("term", "offset"),
    RecordKind.TRUNCATION: ("", "offset"),
}
_TAIL_BYTES_MAX = 64 << 20


def dump_raft_wal(source: Source) -> Iterator[Line]:
    """A line a record of the file; an entry's offset is that of the metadata it makes."""
    position, size = 0, source.size()
    while position < size:
        payload = payload_at(source.read_at, position, size)
        if payload is None:
            yield _bad_end(source, position, size)
            return
        try:
            for kind, a, b, body in records_in(payload):
                yield _record(kind, (a, b), body)
        except (InvariantError, DecodeError, ValueError, struct.error) as error:
            yield damage(f"a frame holds what nobody wrote: {error}", position=position)
        position += FRAME_HEADER_BYTES + len(payload)


def _record(kind: int, numbers: tuple[int, int], body: bytes) -> Line:
    name = RecordKind(kind).name.lower()
    found: dict[str, object] = dict(zip(_FIELDS[kind], numbers, strict=False))
    found.pop("", None)
    if kind == RecordKind.ENTRY:
        found["metadata"] = _metadata(body)
    return Line(name, {"kind": name, **found})


def _metadata(command: bytes) -> dict[str, object] | None:
    """What was proposed; None for Raft's own entries."""
    if command[:1] != REGULAR:
        return None
    batch = MetadataBatch.FromString(command[1:])
    return MessageToDict(batch, always_print_fields_with_no_presence=True)


def _bad_end(source: Source, position: int, size: int) -> Line:
    """A crash, or a node that is writing, leaves a frame unfinished; nothing else is right."""
    where = {"position": position, "unreadBytes": size - position}
    is_short = size - position <= _TAIL_BYTES_MAX
    if is_short and is_unfinished(source.read_at(position, size - position), offset=position):
        return note("a frame is unfinished", **where)
    return damage("a frame is not as it was written", **where)
