"""Fills the disk under a log, for tests/log/test_disk_trouble.py; prints what came of it as JSON.

python -m tests.log.full_disk FOLDER fsize|ballast
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import signal
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.log.partition_logs import append, values

from tidelog.core.errors import StorageError
from tidelog.core.system import SystemClock, SystemDisk
from tidelog.log.config import LogConfig
from tidelog.log.partition_log import PartitionLog

VALUE_BYTES = 16_000
FILE_BYTES_MAX = 300_000
BALLAST_BYTES = 400_000


@dataclass
class Outcome:
    """Batches acknowledged before the disk was full, and what happened then."""

    acknowledged: int
    error: str
    is_outcome_unknown: bool
    file_bytes: int
    log_bytes: int
    is_refused_after: bool
    reopened: int
    is_sound: bool
    appended_after: int


async def opened(folder: Path) -> PartitionLog:
    return await PartitionLog.open(
        directory=str(folder / "t-0"),
        disk=SystemDisk(),
        clock=SystemClock(),
        config=LogConfig(segment_bytes=1 << 20),
        topic_id=bytes(16),
    )


async def fill(folder: Path, how: str) -> Outcome:
    """Append until the disk refuses, make room, open anew."""
    ballast = folder / "ballast"
    if how == "fsize":
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
        resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_BYTES_MAX, hard))
    else:
        ballast.write_bytes(bytes(BALLAST_BYTES))
    log = await opened(folder)
    acknowledged, error = 0, None
    while error is None:
        try:
            append(log, acknowledged.to_bytes(4, "big") + os.urandom(VALUE_BYTES))
            acknowledged += 1
        except StorageError as refusal:
            error = refusal
    is_refused_after = False
    try:
        append(log, b"small enough")
    except StorageError:
        is_refused_after = True
    file_bytes = (folder / "t-0" / f"{0:020d}.log").stat().st_size
    log_bytes = log.size_in_bytes
    if how == "fsize":
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    ballast.unlink(missing_ok=True)
    again = await opened(folder)
    numbers = [int.from_bytes((value or b"")[:4], "big") for value in values(again)]
    append(again, b"there is room")
    await again.close()
    return Outcome(
        acknowledged,
        str(error),
        error.is_outcome_unknown,
        file_bytes,
        log_bytes,
        is_refused_after,
        len(numbers),
        numbers == list(range(acknowledged)),
        again.log_end_offset - len(numbers),
    )


if __name__ == "__main__":
    sys.stdout.write(json.dumps(asdict(asyncio.run(fill(Path(sys.argv[1]), sys.argv[2])))))
