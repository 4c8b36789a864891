"""The small text files beside the segments: their form. Pure.

Owns `checkpoint` (recovery point, high watermark, leader epochs), `.clean` (a clean shutdown) and
`partition.metadata` (whose log this is). Each but the last ends in a CRC of what precedes it: an
empty, torn or foreign one reads as None and only costs a scan, it never stops a start.
"""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass

from crc32c import crc32c

from tidelog.log.epochs import EpochEntry

CHECKPOINT_FILE = "checkpoint"
CLEAN_FILE = ".clean"
METADATA_FILE = "partition.metadata"
_VERSION = 0


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """What was known when it was written. Below `recovery_point` (exclusive) all is on disk."""

    recovery_point: int
    high_watermark: int
    epochs: tuple[EpochEntry, ...]


@dataclass(frozen=True, slots=True)
class CleanMarker:
    """A log closed with this end, its last file this long: nothing needs a scan."""

    log_end_offset: int
    last_file_bytes: int


def encode_checkpoint(checkpoint: Checkpoint) -> bytes:
    """Numbers, one pair of an epoch a line."""
    head = (_VERSION, checkpoint.recovery_point, checkpoint.high_watermark, len(checkpoint.epochs))
    return _sealed([*map(str, head), *(f"{entry[0]} {entry[1]}" for entry in checkpoint.epochs)])


def decode_checkpoint(data: bytes) -> Checkpoint | None:
    """The checkpoint, or None when `data` is not a whole one."""
    lines = _unsealed(data)
    if lines is None or len(lines) < 4 or len(lines) != 4 + int(lines[3]):
        return None
    pairs = (line.split(" ") for line in lines[4:])
    epochs = tuple(EpochEntry(int(epoch), int(start)) for epoch, start in pairs)
    return Checkpoint(int(lines[1]), int(lines[2]), epochs)


def encode_clean_marker(marker: CleanMarker) -> bytes:
    """Version, log end offset and size of the last file, a line each."""
    return _sealed([str(_VERSION), str(marker.log_end_offset), str(marker.last_file_bytes)])


def decode_clean_marker(data: bytes) -> CleanMarker | None:
    """The marker, or None when `data` is not a whole one."""
    lines = _unsealed(data)
    return None if lines is None or len(lines) != 3 else CleanMarker(int(lines[1]), int(lines[2]))


def encode_topic_id(topic_id: bytes) -> bytes:
    """`partition.metadata` in Kafka's form: the id as URL-safe base64 without padding."""
    text = base64.urlsafe_b64encode(topic_id).rstrip(b"=").decode()
    return f"version: {_VERSION}\ntopic_id: {text}\n".encode()


def decode_topic_id(data: bytes) -> bytes | None:
    """The topic id, or None when `data` is no such file."""
    prefix = f"version: {_VERSION}\ntopic_id: ".encode()
    if not data.startswith(prefix) or not data.endswith(b"\n"):
        return None
    try:
        return base64.b64decode(data[len(prefix) : -1] + b"==", altchars=b"-_", validate=True)
    except binascii.Error:
        return None


def _sealed(lines: list[str]) -> bytes:
    body = "".join(f"{line}\n" for line in lines).encode()
    return body + f"{crc32c(body):08x}\n".encode()


def _unsealed(data: bytes) -> list[str] | None:
    body, seal = data[:-9], data[-9:]
    if seal != f"{crc32c(body):08x}\n".encode():
        return None
    lines = body.decode().splitlines()
    return lines if lines and lines[0] == str(_VERSION) else None
