"""Format of the small text files beside the segments. Pure.

Owns `checkpoint` (offsets saved for the next start), `.clean` (a clean shutdown, with the size of
every file) and `partition.metadata` (topic and partition of the log). They consist of `key: value`
lines and lists, and end in a CRC of all bytes before it: an empty, torn or foreign file reads as
None, which costs a scan and never prevents a start. One sealed file per partition instead of
Kafka's four per data folder: see docs/decisions/0007. An empty `.lossy` exists while a possible
loss is unreported: a sync failed, or a start cut off batches that may have been flushed.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from crc32c import crc32c

from tidelog.log.epochs import EpochEntry
from tidelog.log.transactions import EndedTransaction

CHECKPOINT_FILE = "checkpoint"
CLEAN_FILE = ".clean"
LOSSY_FILE = ".lossy"
METADATA_FILE = "partition.metadata"
TOPIC_ID_BYTES = 16
NO_LIFE = 0
"""Life number where the process's lives are not counted."""
_VERSION = 1
_METADATA_VERSION = 0
_METADATA_LINES = 3
_MAX_DIGITS = 19
_SEAL_BYTES = len("crc32c: 00000000\n")


class IndexSeal(NamedTuple):
    """Transaction index of the segment at `base_offset`: its size and CRC-32C."""

    base_offset: int
    size_bytes: int
    crc: int


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Offsets saved for the next start; exclusive ends, except for the log start offset."""

    topic_id: bytes
    recovery_point: int
    """End of the records on stable storage."""
    high_watermark: int
    log_start_offset: int
    first_dirty_offset: int
    """End of the compacted part of the log."""
    epochs: tuple[EpochEntry, ...]
    ended: tuple[EndedTransaction, ...] = ()
    """Transactions with a marker at or above the high watermark."""
    aborted: tuple[IndexSeal, ...] = ()
    """Transaction indexes on stable storage that are not empty."""


@dataclass(frozen=True, slots=True)
class CleanMarker:
    """Marker of a clean shutdown: the log end and all files by name and size; no scan is needed."""

    log_end_offset: int
    file_bytes: Mapping[str, int]
    life: int = NO_LIFE
    """Life of the node's process that wrote it."""


def encode_checkpoint(checkpoint: Checkpoint) -> bytes:
    """Encode one line per value, then one line `epoch start_offset` per epoch."""
    return _seal(
        [
            f"topic_id: {_id_text(checkpoint.topic_id)}",
            f"recovery_point: {checkpoint.recovery_point}",
            f"high_watermark: {checkpoint.high_watermark}",
            f"log_start_offset: {checkpoint.log_start_offset}",
            f"first_dirty_offset: {checkpoint.first_dirty_offset}",
            f"epochs: {len(checkpoint.epochs)}",
            *_rows(checkpoint.epochs),
            *_list("ended", checkpoint.ended),
            *_list("aborted", checkpoint.aborted),
        ]
    )


def decode_checkpoint(data: bytes) -> Checkpoint | None:
    """Decode a checkpoint; None when `data` is not a complete one."""
    lines = _unseal(data)
    names = (
        *("topic_id", "recovery_point", "high_watermark", "log_start_offset"),
        *("first_dirty_offset", "epochs"),
    )
    values = _values(lines[: len(names)], names)
    if values is None:
        return None
    topic_id = _id_of(values[0])
    numbers = [number for number in map(_number, values[1:]) if number is not None]
    if topic_id is None or len(numbers) != len(names) - 1:
        return None
    epochs, lines = _take_rows(lines[len(names) :], numbers[-1], len(EpochEntry._fields))
    ended, lines = _take_list("ended", lines, len(EndedTransaction._fields))
    aborted, lines = _take_list("aborted", lines, len(IndexSeal._fields))
    if epochs is None or ended is None or aborted is None or lines:
        return None
    return Checkpoint(
        topic_id=topic_id,
        recovery_point=numbers[0],
        high_watermark=numbers[1],
        log_start_offset=numbers[2],
        first_dirty_offset=numbers[3],
        epochs=tuple(EpochEntry(*row) for row in epochs),
        ended=tuple(EndedTransaction(*row) for row in ended),
        aborted=tuple(IndexSeal(*row) for row in aborted),
    )


def encode_clean_marker(marker: CleanMarker) -> bytes:
    """Encode the log end offset and the life, then one line `size name` per file."""
    return _seal(
        [
            f"log_end_offset: {marker.log_end_offset}",
            f"life: {marker.life}",
            f"files: {len(marker.file_bytes)}",
            *(f"{size} {name}" for name, size in sorted(marker.file_bytes.items())),
        ]
    )


def decode_clean_marker(data: bytes) -> CleanMarker | None:
    """Decode a marker; None when `data` is not a complete one."""
    lines = _unseal(data)
    names = ("log_end_offset", "life", "files")
    values = _values(lines[: len(names)], names)
    if values is None:
        return None
    end, life, count = map(_number, values)
    files = {}
    for line in lines[len(names) :]:
        size, _, name = line.partition(" ")
        files[name] = _number(size)
    if end is None or life is None or count != len(files) or None in files.values():
        return None
    return CleanMarker(end, {name: size or 0 for name, size in files.items()}, life)


def encode_topic_id(topic_id: bytes) -> bytes:
    """Encode `partition.metadata` in Kafka's form: URL-safe base64, no trailing newline."""
    return f"version: {_METADATA_VERSION}\ntopic_id: {_id_text(topic_id)}".encode()


def decode_topic_id(data: bytes) -> bytes | None:
    """Decode the topic id; None when `data` is no such file. The seal is not checked."""
    prefix = f"version: {_METADATA_VERSION}\ntopic_id: ".encode()
    if not data.startswith(prefix):
        return None
    text, _, rest = data[len(prefix) :].partition(b"\n")
    is_metadata = not rest or rest.startswith(b"partition: ")
    return _id_of(text.decode(errors="replace")) if is_metadata else None


def encode_partition_metadata(topic_id: bytes, partition: int) -> bytes:
    """Encode `partition.metadata` as stored: Kafka's lines, then the partition, sealed.

    Kafka reads its own two lines and ignores the rest. The seal prevents a flipped bit from turning
    the folder into another partition's.
    """
    body = encode_topic_id(topic_id) + f"\npartition: {partition}\n".encode()
    return body + f"crc32c: {crc32c(body):08x}\n".encode()


def decode_partition(data: bytes) -> int | None:
    """Decode the partition that owns the folder; None when the file is not complete."""
    body, seal = data[:-_SEAL_BYTES], data[-_SEAL_BYTES:]
    lines = body.decode(errors="replace").splitlines()
    is_whole = seal == f"crc32c: {crc32c(body):08x}\n".encode()
    if not is_whole or len(lines) != _METADATA_LINES or decode_topic_id(data) is None:
        return None
    values = _values(lines[2:], ("partition",))
    return None if values is None else _number(values[0])


def _id_text(topic_id: bytes) -> str:
    return base64.urlsafe_b64encode(topic_id).rstrip(b"=").decode()


def _id_of(text: str) -> bytes | None:
    try:
        topic_id = base64.b64decode(text.encode("ascii") + b"==", altchars=b"-_", validate=True)
    except (binascii.Error, UnicodeEncodeError):
        return None
    return topic_id if len(topic_id) == TOPIC_ID_BYTES else None


def _seal(lines: Sequence[str]) -> bytes:
    body = "".join(f"{line}\n" for line in [f"version: {_VERSION}", *lines]).encode()
    return body + f"crc32c: {crc32c(body):08x}\n".encode()


def _unseal(data: bytes) -> list[str]:
    """Lines between version and seal; none when either is invalid."""
    body, seal = data[:-_SEAL_BYTES], data[-_SEAL_BYTES:]
    if seal != f"crc32c: {crc32c(body):08x}\n".encode():
        return []
    version, *lines = body.decode(errors="replace").splitlines() or [""]
    return lines if version == f"version: {_VERSION}" else []


def _values(lines: Sequence[str], names: Sequence[str]) -> list[str] | None:
    """Values of `name: value` lines, which must have these names."""
    pairs = [line.partition(": ") for line in lines]
    return [value for _, _, value in pairs] if [name for name, _, _ in pairs] == [*names] else None


def _number(text: str) -> int | None:
    is_number = text.isascii() and text.isdecimal() and len(text) <= _MAX_DIGITS
    return int(text) if is_number else None


def _rows(entries: Sequence[tuple[int, ...]]) -> list[str]:
    return [" ".join(map(str, entry)) for entry in entries]


def _list(name: str, entries: Sequence[tuple[int, ...]]) -> list[str]:
    """Encode an optional list: nothing when it is empty."""
    return [f"{name}: {len(entries)}", *_rows(entries)] if entries else []


def _take_list(
    name: str, lines: list[str], width: int
) -> tuple[list[tuple[int, ...]] | None, list[str]]:
    """Decode an optional list as `_take_rows`; empty when the lines do not begin with it."""
    if not lines or not lines[0].startswith(f"{name}: "):
        return [], lines
    count = _number(lines[0].partition(": ")[2])
    return (None, lines) if not count else _take_rows(lines[1:], count, width)


def _take_rows(
    lines: list[str], count: int, width: int
) -> tuple[list[tuple[int, ...]] | None, list[str]]:
    """Decode `count` rows of `width` numbers; return them, or None, and the lines that follow."""
    rows = [tuple(map(_number, line.split(" "))) for line in lines[:count]]
    whole = [tuple(n for n in row if n is not None) for row in rows]
    is_whole = len(rows) == count and all(len(row) == width for row in rows) and whole == rows
    return whole if is_whole else None, lines[count:]
