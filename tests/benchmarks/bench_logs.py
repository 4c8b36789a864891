"""Logs to measure, the batches in them, and what of their files is in memory."""

from __future__ import annotations

import os
import random
import tempfile
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from tidelog.core.system import SystemClock, SystemDisk
from tidelog.log.config import LogConfig
from tidelog.log.partition_log import PartitionLog
from tidelog.records.batch import HEADER_BYTES, parse_header, seal
from tidelog.records.records import BatchBuilder

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
FIRST_TIMESTAMP_MS = 1_000_000_000_000
_VALUE_BYTES, _RECORD_BYTES_MAX = 900, 916


def batches(size_bytes: int, *, is_idempotent: bool = False) -> Iterator[bytes]:
    """Batches of just that size, without end: random values, each record a millisecond younger."""
    whole = _batch(size_bytes)
    header, payload = parse_header(whole), memoryview(whole)[HEADER_BYTES:]
    offset = 0
    while True:
        first_ms = FIRST_TIMESTAMP_MS + offset
        fields = header._replace(
            base_timestamp=first_ms, max_timestamp=first_ms + header.last_offset_delta
        )
        if is_idempotent:
            fields = fields._replace(producer_id=1, producer_epoch=0, base_sequence=offset)
        yield seal(fields, payload)
        offset += header.records_count


def _batch(size_bytes: int) -> bytes:
    """The last value makes it full."""
    count = max(1, (size_bytes - HEADER_BYTES) // _RECORD_BYTES_MAX)
    source, last_bytes = random.Random(1), _VALUE_BYTES
    while True:
        builder = BatchBuilder()
        for place in range(count):
            length = last_bytes if place == count - 1 else _VALUE_BYTES
            builder.append(timestamp_ms=place, key=None, value=source.randbytes(length))
        if builder.size_in_bytes == size_bytes:
            return builder.build()
        last_bytes += size_bytes - builder.size_in_bytes


async def open_log(
    directory: Path, config: LogConfig | None = None, *, disk: SystemDisk | None = None
) -> PartitionLog:
    """The log in `directory`, on the real disk."""
    return await PartitionLog.open(
        directory=str(directory),
        disk=disk or SystemDisk(),
        clock=SystemClock(),
        config=config or LogConfig(),
        topic_id=bytes(16),
    )


@asynccontextmanager
async def closing(log: PartitionLog) -> AsyncIterator[PartitionLog]:
    """Closes it cleanly, if all went well."""
    yield log
    await log.close()


@contextmanager
def new_folder(folder: Path) -> Iterator[Path]:
    """A folder in `folder` that is removed."""
    with tempfile.TemporaryDirectory(dir=folder) as name:
        yield Path(name)


@contextmanager
def open_file(path: Path) -> Iterator[int]:
    """A descriptor."""
    file = os.open(path, os.O_RDWR | os.O_CREAT)
    yield file
    os.close(file)


def read_files(paths: Iterable[Path]) -> None:
    """All of them from end to end."""
    for path in paths:
        with open_file(path) as file:
            while os.read(file, MIB):
                pass


def drop_pages(paths: Iterable[Path]) -> None:
    """Sync all files and have the page cache forget what of them is not mapped."""
    for path in paths:
        with open_file(path) as file:
            os.fdatasync(file)
            os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)


CACHES: dict[str, Callable[[Iterable[Path]], None]] = {"warm": read_files, "cold": drop_pages}
"""How files are brought into that state."""
