"""Figures of each knob, turned alone, beside the default: three nodes of its own, three minutes.

rate        MiB/s of values of about 1 KiB, JSON, from the first acknowledgement that counts to the
            last one, at most 16 MiB without an outcome
latency     p50 and p99, ms, from `submit` to the outcome at 500 records/s

A knob's default is measured beside its other values, so that a ratio compares neighbours. At most
two rounds; the median counts. The table goes to docs/TUNING.md.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
import tempfile
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from tests.benchmarks.tuning_settings import (
    DEFAULT,
    MIN_ISR,
    Measured,
    Setting,
    groups,
    median,
    table,
    with_table,
)
from tests.integration.local_cluster import LocalCluster

from tidelog.client import Admin, Producer
from tidelog.client.records import BulkMetadata, RecordMetadata
from tidelog.core.provenance import checked_out_commit, machine

PAGE = Path(__file__).resolve().parents[2] / "docs" / "TUNING.md"
COMMAND = "make bench NAMES=tuning"
ROUNDS_MAX = 2
MIB = 1 << 20
CHUNK_RECORDS, CHUNKS_IN_FLIGHT = 1_000, 16
WARM_S, RATE_S = 0.4, 1.2
RECORDS_PER_S, LATENCY_S = 500, 2.0
WARM_RECORDS = 200
_WORDS = ("order", "shop", "amount", "paid", "sent", "street", "customer", "item", "price", "EUR")


def tuning_figures(runs: int) -> Iterator[dict[str, Any]]:
    """The medians of every setting, one after the other; writes docs/TUNING.md at the end."""
    rounds = max(1, min(runs, ROUNDS_MAX))
    with tempfile.TemporaryDirectory(prefix="tuning-") as folder:
        cluster = LocalCluster(Path(folder))
        try:
            started = cluster.start()
            if started.returncode:
                raise SystemExit(started.stderr)
            found = asyncio.run(_measure(cluster.bootstrap, rounds))
        finally:
            cluster.stop()
    for (knob, value), measured in found.items():
        yield {"knob": knob, "value": value, "rounds": rounds, **measured._asdict()}
    PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8"), table(found, _facts(rounds))))


def _facts(rounds: int) -> Sequence[str]:
    return (
        f"command: `{COMMAND}`, {rounds} rounds, medians",
        f"machine: {machine()}",
        f"commit: `{checked_out_commit()}`",
        f"date: {datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
    )


async def _measure(bootstrap: str, rounds: int) -> Mapping[tuple[str, str], Measured]:
    values = _values()
    await _run(bootstrap, Setting("", DEFAULT), values)  # warms up
    found: dict[tuple[str, str], list[Measured]] = {}
    for _ in range(rounds):
        for knob, settings in groups():
            for setting in settings:
                measured = await _run(bootstrap, setting, values)
                found.setdefault((knob, setting.value), []).append(measured)
                sys.stderr.write(f"{knob} {setting.value}: {measured}\n")
    return {key: median(runs) for key, runs in found.items()}


async def _run(bootstrap: str, setting: Setting, values: Sequence[bytes]) -> Measured:
    name = f"tuning-{time.time_ns()}"
    configs = {"min.insync.replicas": str(MIN_ISR), "file.delete.delay.ms": "1000", **setting.topic}
    async with Admin(bootstrap) as admin:
        await admin.create_topic(
            name, partitions=setting.partitions, replication_factor=3, configs=configs
        )
        try:
            async with Producer(bootstrap, **setting.producer) as producer:
                mib_s = await _rate(producer, name, values)
            async with Producer(bootstrap, **setting.producer) as producer:
                took_ms = sorted(await _latencies(producer, name, values))
        finally:
            await admin.delete_topic(name)
    return Measured(mib_s, *(took_ms[len(took_ms) * share // 100] for share in (50, 99)))


async def _rate(producer: Producer[bytes, bytes], topic: str, values: Sequence[bytes]) -> float:
    await _send(producer, topic, values, WARM_S)
    began_s = time.perf_counter()
    chunks = await _send(producer, topic, values, RATE_S)
    took_s = time.perf_counter() - began_s
    return chunks * sum(map(len, values)) / MIB / took_s


async def _send(
    producer: Producer[bytes, bytes], topic: str, values: Sequence[bytes], seconds: float
) -> int:
    """Send chunks for so long; their number when all are acknowledged."""
    outcomes: deque[asyncio.Future[BulkMetadata]] = deque()
    until_s, chunks = time.perf_counter() + seconds, 0
    while time.perf_counter() < until_s or outcomes:
        if time.perf_counter() < until_s:
            outcomes.append(await producer.submit_many(topic, values))
            chunks += 1
            if len(outcomes) < CHUNKS_IN_FLIGHT:
                continue
        done = await outcomes.popleft()
        if done.failed:
            raise SystemExit(f"{done.failed} records failed: {done.error}")
    return chunks


async def _latencies(
    producer: Producer[bytes, bytes], topic: str, values: Sequence[bytes]
) -> list[float]:
    """Milliseconds from `submit` to the outcome, at a fixed rate, the first ones left out."""
    took_ms: list[float] = []
    outcomes: list[asyncio.Future[RecordMetadata]] = []
    began_s = time.perf_counter()
    for number in range(WARM_RECORDS + int(RECORDS_PER_S * LATENCY_S)):
        await asyncio.sleep(max(0.0, began_s + number / RECORDS_PER_S - time.perf_counter()))
        sent_s = time.perf_counter()
        outcome = await producer.submit(topic, value=values[number % len(values)])
        outcome.add_done_callback(partial(_note, took_ms, sent_s))
        outcomes.append(outcome)
    await asyncio.gather(*outcomes)
    await asyncio.sleep(0)
    return took_ms[WARM_RECORDS:]


def _note(took_ms: list[float], sent_s: float, _outcome: object) -> None:
    took_ms.append((time.perf_counter() - sent_s) * 1000)


def _values() -> list[bytes]:
    """Objects of about 1 KiB as JSON, of words and numbers, which a codec can make smaller."""
    chance = random.Random(1)
    return [
        json.dumps(
            {
                f"{word}-{number}": f"{chance.choice(_WORDS)} {chance.randrange(10**8)}"
                for number, word in enumerate(chance.choices(_WORDS, k=26))
            }
        ).encode()
        for _ in range(CHUNK_RECORDS)
    ]


if __name__ == "__main__":
    for figure in tuning_figures(int(sys.argv[1]) if sys.argv[1:] else 1):
        sys.stdout.write(json.dumps(figure) + "\n")
