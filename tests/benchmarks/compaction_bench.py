"""How fast logs are compacted, one JSON line each: `python -m tests.benchmarks.compaction_bench`.

    update    every key was written ten times: nine of ten records go
    keep      every key is new: each batch is copied as it is

100 B values, 12 B keys, 16 KiB batches, one segment, page cache warm, no throttle; uncompressed and
lz4. `records_per_s` counts each record once, though a cleaning reads a log three times. Beside it,
as the yardstick of the same run: how many a bare loop over `iter_records` gets.
"""

from __future__ import annotations

import asyncio
import json
import logging
import math
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import structlog

from tidelog.core.system import SystemClock, SystemDisk
from tidelog.log.cleaner import CleanerConfig, LogCleaner
from tidelog.log.config import LogConfig
from tidelog.log.partition_log import PartitionLog
from tidelog.records.compression import Codec
from tidelog.records.records import BatchBuilder, iter_records

RECORDS = 300_000
BATCH_RECORDS = 130
VALUE_BYTES = 100
KEYS = {"update": RECORDS // 10, "keep": RECORDS}


def main() -> None:
    """All figures."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    for figure in compaction(5):
        sys.stdout.write(json.dumps({"figure": "compaction", **figure}) + "\n")


def compaction(runs: int, *, folder: Path | None = None) -> Iterable[dict[str, Any]]:
    """Medians of so many cleanings, each of a new log; in `folder`, if not in the usual one."""
    for work in KEYS:
        for codec in (Codec.NONE, Codec.LZ4):
            found = [
                (*asyncio.run(_clean(work, codec, folder)), _decode(work, codec))
                for _ in range(runs)
            ]
            rates, shares, yardsticks = zip(*found, strict=True)
            yield {
                "work": work,
                "codec": codec.name.lower(),
                "records_per_s": round(statistics.median(rates)),
                "range": [round(min(rates)), round(max(rates))],
                "decoded_per_s": round(statistics.median(yardsticks)),
                "share_left": round(shares[0], 3),
            }


async def _clean(work: str, codec: Codec, folder: Path | None) -> tuple[float, float]:
    """Records a second, and which share of the bytes is left."""
    clock, disk = SystemClock(), SystemDisk()
    config = LogConfig(cleanup_policy=("compact",))
    with tempfile.TemporaryDirectory(dir=folder) as temporary:
        log = await PartitionLog.open(
            directory=f"{temporary}/bench-0",
            disk=disk,
            clock=clock,
            config=config,
            topic_id=bytes(16),
        )
        for batch in _batches(KEYS[work], codec):
            log.append_as_leader(batch, leader_epoch=0)
        log.config = LogConfig(cleanup_policy=("compact",), segment_bytes=14)
        log.append_as_leader(_batch([0], b"", Codec.NONE), leader_epoch=0)
        log.config = config
        log.set_high_watermark(log.log_end_offset)
        await log.flush()
        cleaner = LogCleaner(clock, CleanerConfig(io_max_bytes_per_second=math.inf))
        began = time.perf_counter()
        result = await cleaner.run_once([log])
        took = time.perf_counter() - began
        await log.close()
    disk.close()
    if result is None or result.end_offset != RECORDS:
        raise SystemExit(f"the log was not cleaned in one go: {result}")
    return RECORDS / took, result.bytes_after / result.bytes_before


def _decode(work: str, codec: Codec) -> float:
    """Records a second of a loop that does nothing else."""
    batches = list(_batches(KEYS[work], codec))
    began = time.perf_counter()
    for batch in batches:
        for _ in iter_records(batch):
            pass
    return RECORDS / (time.perf_counter() - began)


def _batches(keys: int, codec: Codec) -> Iterator[bytes]:
    """Keys in random order; values of words that compress about as text does."""
    rng = random.Random(1)
    words = [rng.randbytes(3).hex().encode() for _ in range(300)]
    order = [number % keys for number in range(RECORDS)]
    rng.shuffle(order)
    for start in range(0, RECORDS, BATCH_RECORDS):
        value = b" ".join(rng.choices(words, k=VALUE_BYTES))
        yield _batch(order[start : start + BATCH_RECORDS], value, codec)


def _batch(keys: Iterable[int], text: bytes, codec: Codec) -> bytes:
    builder = BatchBuilder(compression=codec)
    for place, key in enumerate(keys):
        value = text[place : place + VALUE_BYTES]
        builder.append(timestamp_ms=1_000_000 + place, key=b"key-%08d" % key, value=value)
    return builder.build()


if __name__ == "__main__":
    main()
