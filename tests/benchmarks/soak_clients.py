"""The clients of `soak.py`, in a process of their own, whose memory is theirs alone.

    python -m tests.benchmarks.soak_clients BOOTSTRAP FOLDER SEED RATE TOPIC:PARTITIONS …

Idempotent producers send RATE records a second together, one by one and many at once; consumers
read along, one by records and one by batches. When standard input ends, every outcome is awaited,
the consumers read up to the end, and one JSON line tells what they read. What producers were told
is in FOLDER/receipts, see `soak_ledger`.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
from collections import Counter
from collections.abc import Sequence
from io import BufferedWriter
from pathlib import Path
from typing import Any

from tests.benchmarks.soak_ledger import (
    ACKNOWLEDGED,
    FAILED,
    OFFSET_UNKNOWN,
    UNKNOWN,
    Digest,
    Name,
    Place,
    Receipt,
)

from tidelog.client import BulkMetadata, Consumer, Producer, RecordMetadata, TopicPartition
from tidelog.client.errors import TidelogError

PRODUCERS = 3
VALUE_BYTES = 100
BURST_S = 0.05
MANY_SHARE = 0.2
"""Of the bursts, how many go out by one call."""
POLL_MS = 200
DRAIN_S = 180.0
PRODUCER_OPTIONS: Sequence[dict[str, Any]] = (  # options of Producer
    {},
    {"linger_ms": 5, "compression": "lz4"},
    {"linger_ms": 20, "batch_size": 4 << 10, "compression": "zstd"},
)


class Writer:
    """One producer; every record has its own name, and gets one receipt."""

    def __init__(
        self, number: int, producer: Producer, places: Sequence[Place], receipts: BufferedWriter
    ) -> None:
        self._number = number
        self._producer = producer
        self._places = places
        self._receipts = receipts
        self._next = [0] * len(places)
        self.errors: Counter[str] = Counter()

    async def run(self, stop: asyncio.Event, rng: random.Random, *, rate: float) -> None:
        """Send until told to stop, then wait for every outcome."""
        loop = asyncio.get_running_loop()
        sent, began_s = 0, loop.time()
        while not stop.is_set():
            # After a wait for the buffer it does not hurry to make up for more than a second.
            now_s = loop.time()
            began_s = max(began_s, now_s - 1.0 - sent / rate)
            due = int((now_s - began_s) * rate) - sent
            if due > 0:
                await self._burst(rng.randrange(len(self._places)), due, rng.random())
                sent += due
            await asyncio.sleep(BURST_S * rng.uniform(0.5, 1.5))
        await self._producer.flush()

    async def _burst(self, place: int, count: int, draw: float) -> None:
        first = self._next[place]
        self._next[place] += count
        names = [Name(self._number, place, first + number) for number in range(count)]
        if draw < MANY_SHARE:
            await self._send_many(names)
        else:
            for name in names:
                await self._send(name)

    async def _send(self, name: Name) -> None:
        topic, partition = self._places[name.place]
        try:
            future = await self._producer.submit(
                topic, value=name.value(VALUE_BYTES), partition=partition
            )
        except TidelogError as error:  # not taken
            self._record([name], OFFSET_UNKNOWN, FAILED, error)
            return

        def on_outcome(outcome: asyncio.Future[RecordMetadata]) -> None:
            error = None if outcome.cancelled() else outcome.exception()
            if outcome.cancelled() or error is not None:
                self._record([name], OFFSET_UNKNOWN, _outcome(error), error)
            else:
                self._record([name], outcome.result().offset, ACKNOWLEDGED)

        future.add_done_callback(on_outcome)

    async def _send_many(self, names: Sequence[Name]) -> None:
        topic, partition = self._places[names[0].place]
        values = [name.value(VALUE_BYTES) for name in names]
        try:
            future = await self._producer.submit_many(topic, values, partition=partition)
        except TidelogError as error:
            self._record(names, OFFSET_UNKNOWN, FAILED, error)
            return

        def on_outcome(outcome: asyncio.Future[BulkMetadata]) -> None:
            result = outcome.result()
            # Which ones failed it does not say.
            kind = UNKNOWN if result.failed else ACKNOWLEDGED
            self._record(names, OFFSET_UNKNOWN, kind, result.error)

        future.add_done_callback(on_outcome)

    def _record(
        self,
        names: Sequence[Name],
        offset: int,
        outcome: int,
        error: BaseException | None = None,
    ) -> None:
        for name in names:
            self._receipts.write(Receipt(name, offset, outcome).to_bytes())
        if error is not None:
            self.errors[f"{type(error).__name__}: {error}"[:200]] += len(names)


def _outcome(error: BaseException | None) -> int:
    is_definite = isinstance(error, TidelogError) and not error.is_outcome_unknown
    return FAILED if is_definite else UNKNOWN


class Reader:
    """One consumer of all places, which digests what it reads."""

    def __init__(self, consumer: Consumer, places: Sequence[Place], *, by_batches: bool) -> None:
        self._consumer = consumer
        self._by_batches = by_batches
        self._indexes = {TopicPartition(*place): number for number, place in enumerate(places)}
        self.digests = [Digest() for _ in places]
        self.errors: Counter[str] = Counter()

    async def run(self, stop: asyncio.Event) -> None:
        """Read until told to stop, then up to the end."""
        self._consumer.assign(self._indexes)
        while not stop.is_set():
            await self._poll()
        async with asyncio.timeout(DRAIN_S):
            while any((await self._consumer.lag()).values()):
                await self._poll()

    async def _poll(self) -> None:
        try:
            if self._by_batches:
                for batch in await self._consumer.getbatches(timeout_ms=POLL_MS):
                    digest = self._digest(batch.topic, batch.partition)
                    for record in batch:
                        digest.add(record.offset, record.value)
            else:
                for record in await self._consumer.getmany(timeout_ms=POLL_MS):
                    self._digest(record.topic, record.partition).add(record.offset, record.value)
        except TidelogError as error:
            self.errors[f"{type(error).__name__}: {error}"[:200]] += 1
            await asyncio.sleep(0.1)

    def _digest(self, topic: str, partition: int) -> Digest:
        return self.digests[self._indexes[TopicPartition(topic, partition)]]


async def run(bootstrap: str, folder: Path, *, seed: int, rate: float, places: list[Place]) -> None:
    """Write and read until standard input ends; print what was read."""
    stop_reading, stop_writing = asyncio.Event(), asyncio.Event()
    with (folder / "receipts").open("wb") as receipts:
        async with (
            Consumer(bootstrap) as by_records,
            Consumer(bootstrap) as by_batches,
            asyncio.TaskGroup() as reading,
        ):
            readers = [
                Reader(by_records, places, by_batches=False),
                Reader(by_batches, places, by_batches=True),
            ]
            for reader in readers:
                reading.create_task(reader.run(stop_reading))
            async with asyncio.TaskGroup() as writing:
                writers = writing.create_task(
                    _write(bootstrap, stop_writing, receipts, seed=seed, rate=rate, places=places)
                )
                await asyncio.to_thread(sys.stdin.read)
                stop_writing.set()
            stop_reading.set()
    on_outcome = {
        "producer_errors": dict(sum(writers.result(), Counter[str]())),
        "consumer_errors": dict(sum((reader.errors for reader in readers), Counter[str]())),
        "digests": [[[one.records, one.crc] for one in reader.digests] for reader in readers],
    }
    sys.stdout.write(json.dumps(on_outcome) + "\n")


async def _write(
    bootstrap: str,
    stop: asyncio.Event,
    receipts: BufferedWriter,
    *,
    seed: int,
    rate: float,
    places: list[Place],
) -> list[Counter[str]]:
    """Run one producer of each kind; what they were told went wrong."""

    async def write(number: int) -> Counter[str]:
        options = PRODUCER_OPTIONS[number % len(PRODUCER_OPTIONS)]
        async with Producer(bootstrap, acks="all", enable_idempotence=True, **options) as producer:
            writer = Writer(number, producer, places, receipts)
            rng = random.Random(f"{seed}-{number}")
            await writer.run(stop, rng, rate=rate / PRODUCERS)
            return writer.errors

    return await asyncio.gather(*map(write, range(PRODUCERS)))


def main(arguments: Sequence[str]) -> None:
    """See the module."""
    bootstrap, folder, seed, rate, *topics = arguments
    places = [
        (topic, partition)
        for topic, count in (named.split(":") for named in topics)
        for partition in range(int(count))
    ]
    asyncio.run(run(bootstrap, Path(folder), seed=int(seed), rate=float(rate), places=places))


if __name__ == "__main__":
    main(sys.argv[1:])
