"""What our client does for the figures of transactions, in the process of the bench."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from typing import Any

from tidelog.client import Admin, Consumer, Producer, require_all
from tidelog.client.arrow import iter_batches
from tidelog.client.consuming.isolation import Isolation
from tidelog.client.consuming.range_reader import RangeReaderConfig
from tidelog.client.groups.listener import GroupMetadata

VALUE = b"x" * 1024
CHUNK = 500
"""Records handed over at once."""
WINDOW = 8
"""Chunks without an outcome, at most: a commit waits for all of them."""
WARM = 20
WAIT_MS = 20_000


class Loads:
    """Loads on our nodes."""

    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap

    def _producer(self, transactional_id: str | None) -> Producer[Any, Any]:
        return Producer(self._bootstrap, transactional_id=transactional_id)

    async def produce(self, topic: str, seconds: float, commit_every_s: float | None) -> float:
        """Records a second, all of them acknowledged, and committed where that is asked for."""
        is_transactional = commit_every_s is not None
        async with self._producer("produce" if is_transactional else None) as producer:
            for warm_s in (1.0, seconds):
                rate = await _produce(producer, topic, warm_s, commit_every_s)
        return rate

    async def commits(self, topic: str, seconds: float, *, name: str = "commits") -> list[float]:
        """Seconds of each transaction of one record, one after the other."""
        took_s: list[float] = []
        async with self._producer(name) as producer:
            for _ in range(WARM):
                await _one(producer, topic)
            end_s = time.monotonic() + seconds
            while time.monotonic() < end_s:
                took_s.append(await _one(producer, topic))
        return took_s

    async def commit_times(self, topic: str, name: str, until: asyncio.Event) -> list[float]:
        """Times of commits, one after the other, until the end."""
        times_s: list[float] = []
        async with self._producer(name) as producer:
            while not until.is_set():
                await _one(producer, topic)
                times_s.append(time.monotonic())
        return times_s

    async def coordinator(self, name: str) -> int:
        """Node id of an id's coordinator."""
        async with Admin(self._bootstrap) as admin:
            return require_all(await admin.describe_transactions([name]))[name].coordinator_id

    async def fill(self, topic: str, records: int) -> None:
        """Write records in transactions of a chunk."""
        async with self._producer("fill") as producer:
            for _ in range(records // CHUNK):
                async with producer.transaction():
                    await producer.submit_many(topic, [VALUE] * CHUNK)

    async def read(self, topic: str, partitions: int, records: int, *, committed: bool) -> float:
        """Records a second by batches, each value looked at."""
        level: Isolation = "read_committed" if committed else "read_uncommitted"
        async with Consumer(self._bootstrap, isolation_level=level) as consumer:
            consumer.assign([(topic, number) for number in range(partitions)])
            batches = await consumer.getbatches(timeout_ms=WAIT_MS)
            began_s, got = time.monotonic(), 0
            while True:
                if not batches:
                    raise RuntimeError(f"only {got} of {records} records arrived")
                for batch in batches:
                    got += sum([record.value is not None for record in batch])
                if got >= records:
                    return got / (time.monotonic() - began_s)
                batches = await consumer.getbatches(timeout_ms=WAIT_MS)

    async def read_arrow(
        self, topic: str, partitions: int, records: int, *, committed: bool
    ) -> float:
        """Records a second as Arrow's batches."""
        del partitions
        level: Isolation = "read_committed" if committed else "read_uncommitted"
        return await asyncio.to_thread(self._read_arrow, topic, records, level)

    def _read_arrow(self, topic: str, records: int, level: Isolation) -> float:
        config = RangeReaderConfig(isolation_level=level)
        began_s = time.monotonic()
        batches = iter_batches(topic, bootstrap=self._bootstrap, config=config)
        got: int = sum(one.num_rows for one in batches)
        if got != records:
            raise RuntimeError(f"{got} of {records} records arrived")
        return got / (time.monotonic() - began_s)

    async def offsets(self, topic: str, name: str, first: int, count: int) -> None:
        """Commit so many offsets of a group, a transaction each."""
        group = GroupMetadata(f"of-{name}", "", -1, None)
        async with self._producer(name) as producer:
            for number in range(first, first + count):
                async with producer.transaction():
                    await producer.send_offsets_to_transaction({(topic, 0): number}, group)


async def _one(producer: Producer[Any, Any], topic: str) -> float:
    began_s = time.monotonic()
    async with producer.transaction():
        await producer.submit(topic, VALUE, partition=0)
    return time.monotonic() - began_s


async def _produce(
    producer: Producer[Any, Any], topic: str, seconds: float, commit_every_s: float | None
) -> float:
    waiting: deque[asyncio.Future[Any]] = deque()
    began_s, sent = time.monotonic(), 0
    due_s = began_s
    if commit_every_s is not None:
        await producer.begin_transaction()
        due_s += commit_every_s
    while (now_s := time.monotonic()) < began_s + seconds:
        if commit_every_s is not None and now_s >= due_s:
            await producer.commit_transaction()
            await producer.begin_transaction()
            due_s = now_s + commit_every_s
        waiting.append(await producer.submit_many(topic, [VALUE] * CHUNK))
        sent += CHUNK
        if len(waiting) >= WINDOW:
            _check(await waiting.popleft())
    if commit_every_s is not None:
        await producer.commit_transaction()
    for one in waiting:
        _check(await one)
    return sent / (time.monotonic() - began_s)


def _check(done: Any) -> None:  # a BulkMetadata
    if done.failed:
        raise RuntimeError(f"{done.failed} records failed: {done.error}")
