"""CPU a leader takes to see to a batch's records: `python -m tests.benchmarks.record_check_bench`.

One JSON line for each kind of records, compressed and not: CPU ms a batch of 0.9 MB of the CRC and
the headers, of inflating, and of all that is done inside (inflating included). Then, for batches of
one record and of 0.9 MB: µs of `append_as_leader` as it is, and with the look inside taken out,
in turns. The least of several, so that other work on the machine counts little.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

from tidelog.core.system import SystemClock, SystemDisk
from tidelog.log import validation
from tidelog.log.config import LogConfig
from tidelog.log.partition_log import PartitionLog
from tidelog.log.record_check import RecordRules, check_compressed_records, check_records
from tidelog.records.batch import HEADER_BYTES, BatchHeader, parse_header, validate_batches
from tidelog.records.compression import Codec, decompress
from tidelog.records.records import Record, encode_batch

BATCH_BYTES = 900_000
NOW_MS = 1_700_000_000_000
MESSAGE_BYTES_MAX = 1 << 20
RULES = RecordRules()
ROUNDS, APPEND_ROUNDS = 9, 40
KINDS = ((100, 0), (100, 40), (1024, 0), (1024, 300))
"""Bytes of a value, and how much more or less."""


def main() -> None:
    """Print all figures."""
    for figure in (*_checks(), *asyncio.run(_appends())):
        sys.stdout.write(json.dumps(figure) + "\n")
        sys.stdout.flush()


def _checks() -> Iterator[dict[str, Any]]:
    for value_bytes, spread in KINDS:
        records = _records(value_bytes, spread)
        for codec in Codec:
            yield {
                "figure": "record_check",
                "value_bytes": value_bytes,
                "spread": spread,
                "codec": codec.name.lower(),
                **_check(encode_batch(records, compression=codec)),
            }


def _check(batch: bytes) -> dict[str, Any]:
    header, view = parse_header(batch), memoryview(batch)
    packed, limit = view[HEADER_BYTES:], 16 * MESSAGE_BYTES_MAX

    def look() -> None:
        if header.codec_id == Codec.NONE:
            check_records(header, view, RULES)
        else:
            check_compressed_records(header, view, RULES, max_message_bytes=MESSAGE_BYTES_MAX)

    return {
        "batch_bytes": len(batch),
        "crc_ms": _least_ms(lambda: validate_batches(batch, max_message_bytes=MESSAGE_BYTES_MAX)),
        "inflate_ms": _least_ms(lambda: decompress(header.codec_id, packed, max_bytes=limit)),
        "inside_ms": _least_ms(look),
    }


async def _appends() -> list[dict[str, Any]]:
    figures = []
    sizes = {"one of 100 B": [_record(0, 100, 0)], "0.9 MB of 1 KiB": _records(1024, 0)}
    sizes["0.9 MB of 100 B, varied"] = _records(100, 40)
    for what, records in sizes.items():
        batch = encode_batch(records)
        times = 2_000 if len(records) == 1 else 20
        least: dict[str, float] = {}
        with tempfile.TemporaryDirectory() as folder:
            log = await PartitionLog.open(
                directory=str(Path(folder) / "t-0"),
                disk=SystemDisk(),
                clock=SystemClock(),
                config=LogConfig(segment_bytes=1 << 30),
                topic_id=bytes(16),
            )

            def append(log: PartitionLog = log, batch: bytes = batch, times: int = times) -> None:
                for _ in range(times):
                    log.append_as_leader(batch, leader_epoch=0)

            for _ in range(APPEND_ROUNDS // 2):
                _note(least, "append_us", append, times)
                with patch.object(validation, "check_records", _leave_alone):
                    _note(least, "append_unseen_us", append, times)
            await log.close()
        figures.append({"figure": "append_seen_to", "batch": what, **least})
    return figures


def _leave_alone(header: BatchHeader, _batch: object, _rules: object) -> int:
    return header.max_timestamp


def _note(least: dict[str, float], name: str, work: Callable[[], object], times: int) -> None:
    took_us = round(_cpu_s(work) / times * 1e6, 2)
    least[name] = min(took_us, least.get(name, took_us))


def _least_ms(work: Callable[[], object]) -> float:
    return round(min(_cpu_s(work) for _ in range(ROUNDS)) * 1e3, 3)


def _cpu_s(work: Callable[[], object]) -> float:
    began_s = time.process_time()
    work()
    return time.process_time() - began_s


def _records(value_bytes: int, spread: int) -> list[Record]:
    rng = random.Random(f"{value_bytes} {spread}")
    records: list[Record] = []
    size_bytes = 0
    while size_bytes < BATCH_BYTES:
        length = value_bytes + (rng.randrange(-spread, spread + 1) if spread else 0)
        records.append(_record(len(records), length, rng.randrange(1 << 30)))
        size_bytes += length + 16
    return records


def _record(number: int, length: int, seed: int) -> Record:
    rng, value = random.Random(seed), b""
    while len(value) < length:
        row = {"user": rng.randrange(10**6), "word": f"w{rng.randrange(2000)}", "x": rng.random()}
        value += json.dumps(row).encode()
    return Record(number, NOW_MS + number // 10, b"k%06d" % number, value[:length], ())


if __name__ == "__main__":
    main()
