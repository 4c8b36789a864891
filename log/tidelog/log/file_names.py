"""Names of the files in a partition folder, as in Kafka: meaning and format. Pure.

00000000000000000042.log          batches from offset 42 on
00000000000000000042.index        offset index          } of the segment
00000000000000000042.timeindex    time index            }
00000000000000000042.txnindex     aborted transactions  }, if there are any
00000000000000000042.snapshot     producer state as of offset 42 (exclusive)
….cleaned                         a compacted segment being written: removed at start
….swap                            a compacted segment that replaces those it covers
….deleted                         no longer in the log; removed after file.delete.delay.ms
checkpoint, .clean, partition.metadata      see `checkpoints`
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Iterable

LOG = ".log"
INDEX = ".index"
TIME_INDEX = ".timeindex"
TXN_INDEX = ".txnindex"
SNAPSHOT = ".snapshot"
CLEANED = ".cleaned"
SWAP = ".swap"
DELETED = ".deleted"
TEMPORARY = ".tmp"

SEGMENT_KINDS = (LOG, INDEX, TIME_INDEX, TXN_INDEX)
"""Suffixes of a segment's files; all but `.log` can be rebuilt from it."""
_OFFSET_DIGITS = 20


def file_name(offset: int, kind: str, suffix: str = "") -> str:
    """Name of the file of `kind` that begins at `offset`."""
    return f"{offset:0{_OFFSET_DIGITS}d}{kind}{suffix}"


def offset_of(name: str, kind: str, suffix: str = "") -> int | None:
    """Offset in the name of a file of this kind; None for any other name."""
    stem = name.removesuffix(kind + suffix)
    is_offset = len(stem) == _OFFSET_DIGITS and stem.isascii() and stem.isdecimal()
    return int(stem) if is_offset and name.endswith(kind + suffix) else None


def offsets_in(names: Iterable[str], kind: str, suffix: str = "") -> list[int]:
    """Offsets of all files of this kind and suffix among `names`, ascending."""
    found = (offset_of(name, kind, suffix) for name in names)
    return sorted(offset for offset in found if offset is not None)


def partition_in(directory: str) -> int | None:
    """Partition in a folder's name, `<topic>-<partition>`; None if there is none."""
    number = directory.rpartition("-")[2]
    return int(number) if number.isascii() and number.isdecimal() else None
