"""What tests of `tidelog dump-log` share: its answer, a log to show, and ways to damage it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from tidelog.core.system import SystemClock, SystemDisk
from tidelog.log.config import LogConfig
from tidelog.log.partition_log import PartitionLog
from tidelog.records.batch import parse_header
from tidelog.records.records import Record, encode_batch

KAFKA = Path(__file__).parents[1] / "testdata/kafka"
TOPIC_ID = bytes(range(16))
FIRST = f"{0:020d}"


class Done(NamedTuple):
    code: int
    text: str
    error: str

    @property
    def lines(self) -> list[dict[str, object]]:
        """Of a run with --json."""
        return [json.loads(line) for line in self.text.splitlines()]

    @property
    def damage(self) -> list[dict[str, object]]:
        """What a run with --json found wrong."""
        return [line for line in self.lines if line["type"] == "damage"]


Dump = Callable[..., Done]


async def open_log(disk: SystemDisk, folder: Path) -> PartitionLog:
    """With two segments, batches of one to four records and an index entry for nearly each."""
    log = await PartitionLog.open(
        directory=str(folder),
        disk=disk,
        clock=SystemClock(),
        config=LogConfig(segment_bytes=2048, index_interval_bytes=100),
        topic_id=TOPIC_ID,
    )
    for number in range(20):
        records = [
            Record(0, 1_000 * number + each, b"key", b"v" * 30, (("h", None),))
            for each in range(1 + number % 4)
        ]
        log.append_as_leader(encode_batch(records), leader_epoch=number // 8)
    await log.flush()
    return log


def batches_of(log: Path) -> list[bytes]:
    data, found = log.read_bytes(), []
    while data:
        size = parse_header(data).size_in_bytes
        found.append(data[:size])
        data = data[size:]
    return found


def flip(path: Path, position: int) -> None:
    data = bytearray(path.read_bytes())
    data[position] ^= 0x40
    path.write_bytes(data)
