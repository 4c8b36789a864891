"""The metadata log line by line: the records of each entry, from files or from a controller.

Never writes, and never decides whether a batch applied: a void batch stays in the log, and its
`base_offset` shows that it is void.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import click
from google.protobuf.message import DecodeError

from tidelog.cli.dump_files import Source
from tidelog.cli.plain_messages import fields_as_text, to_plain
from tidelog.raft.durable_state import REGULAR
from tidelog.raft.snapshot_file import SnapshotKind, parse_name, read_snapshot
from tidelog.raft.wal import FILE_NAME as WAL_FILE
from tidelog.raft.wal_file import RecordKind, read_wal
from tidelog.raft.wal_frames import DamagedFileError, Record
from tidelog.v1.metadata_records_pb2 import MetadataBatch, MetadataRecord, MetadataSnapshotPiece

METADATA_FOLDER = "__cluster_metadata-0"


@dataclass(frozen=True, slots=True)
class LogLine:
    """A metadata record, or an entry without any (`raft_no_op`, `empty_batch`)."""

    index: int
    """The index of the entry in the Raft log: the metadata offset. In a snapshot, its last one."""
    term: int
    type: str
    in_snapshot: bool
    controller_id: int | None
    """The controller that decided; None for Raft's own entries and in snapshots."""
    base_offset: int | None
    """The metadata offset that the decision is based on."""
    record: Mapping[str, object]

    def as_json(self) -> str:
        """The line as a JSON object."""
        return json.dumps(asdict(self))

    def as_text(self) -> str:
        """The line as text for people."""
        where = " snapshot" if self.in_snapshot else ""
        return f"{self.index:>8} term {self.term}{where} {self.type}{fields_as_text(self.record)}"


def batch_lines(batch: MetadataBatch, *, index: int, term: int) -> Iterator[LogLine]:
    """A line per record of a batch."""
    decided = (batch.controller_id, batch.base_offset)
    if not batch.records:
        yield LogLine(index, term, "empty_batch", False, *decided, {})
    for record in batch.records:
        yield LogLine(index, term, *_typed(record, in_snapshot=False), *decided, _content(record))


def piece_lines(piece: MetadataSnapshotPiece) -> Iterator[LogLine]:
    """A line per record of a snapshot piece."""
    where = (piece.offset, piece.controller_epoch)
    for record in piece.records:
        yield LogLine(*where, *_typed(record, in_snapshot=True), None, None, _content(record))


def log_files(data_dir: Path) -> list[Path]:
    """The newest snapshot and the write-ahead log of a node, in reading order.

    `data_dir` is the node's data folder, or the metadata log's own folder. Errors:
    `click.ClickException` if it holds neither file.
    """
    folder = data_dir / METADATA_FOLDER
    if not folder.is_dir():
        folder = data_dir
    snapshots = sorted(path for path in folder.iterdir() if parse_name(path.name))
    wal = folder / WAL_FILE
    found = [*snapshots[-1:], *([wal] if wal.exists() else [])]
    if not found:
        raise click.ClickException(
            f"{data_dir} holds no metadata log: is it a controller's data folder?"
        )
    return found


def file_lines(path: Path) -> Iterator[LogLine]:
    """The lines of a write-ahead log, without truncated entries, or of a snapshot.

    Errors: `click.ClickException` for damage, after all readable lines, and for other files.
    """
    with Source(path) as source:
        try:
            if parse_name(path.name):
                yield from _snapshot_lines(source)
            elif path.name.startswith(WAL_FILE):
                yield from _wal_lines(source)
            else:
                raise click.ClickException(f"{path} is not a file of a metadata log")
        except DamagedFileError as error:
            reason = f"{path} is damaged at byte {error.position}: {error.reason}"
            raise click.ClickException(reason) from error
        except DecodeError as error:
            raise click.ClickException(f"{path} cannot be decoded: {error}") from error


def _snapshot_lines(source: Source) -> Iterator[LogLine]:
    for _, record in read_snapshot(source.read_at, source.size()):
        if record.kind == SnapshotKind.RECORD:
            yield from piece_lines(MetadataSnapshotPiece.FromString(record.body))


def _wal_lines(source: Source) -> Iterator[LogLine]:
    entries: dict[int, Record] = {}
    damage: DamagedFileError | None = None
    try:
        for _, record in read_wal(source.read_at, source.size()):
            _note(record, entries)
    except DamagedFileError as error:
        damage = error
    for index, entry in entries.items():
        yield from _entry_lines(index, entry)
    if damage is not None:
        raise damage


def _note(record: Record, entries: dict[int, Record]) -> None:
    if record.kind == RecordKind.ENTRY:
        entries[record.b] = record
    elif record.kind == RecordKind.TRUNCATION:
        for index in [index for index in entries if index >= record.b]:
            del entries[index]
    elif record.kind == RecordKind.BASE:
        entries.clear()


def _entry_lines(index: int, entry: Record) -> Iterator[LogLine]:
    if entry.body[:1] == REGULAR:
        yield from batch_lines(MetadataBatch.FromString(entry.body[1:]), index=index, term=entry.a)
    else:
        yield LogLine(index, entry.a, "raft_no_op", False, None, None, {})


def _typed(record: MetadataRecord, *, in_snapshot: bool) -> tuple[str, bool]:
    return record.WhichOneof("record") or "unknown", in_snapshot


def _content(record: MetadataRecord) -> Mapping[str, object]:
    kind = record.WhichOneof("record")
    return to_plain(getattr(record, kind)) if kind else {}
