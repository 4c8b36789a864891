"""One client of `memory_bench.py`, in a process of its own.

    python -m tests.benchmarks.memory_clients TASK BOOTSTRAP RECORDS

It prints a line with the number of records done at every 0.5 %, and ends when all are.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

from tidelog.client import Consumer, Producer

TOPICS = {"many": "memory-many", "single": "memory-single"}
PARTITIONS = 6
VALUE = b"v" * 100
STEPS = 200
LIST_RECORDS = 1_000
LISTS_AT_ONCE = 4
SENDS_AT_ONCE = 200
WAIT_MS = 60_000


class Progress:
    """Counts, and says so at every step."""

    def __init__(self, records: int) -> None:
        self.records = records
        self.done = 0
        self._step = max(1, records // STEPS)

    def add(self, count: int) -> None:
        """So many more."""
        before = self.done // self._step
        self.done += count
        if self.done // self._step > before:
            sys.stdout.write(f"{self.done}\n")
            sys.stdout.flush()


async def send_many(bootstrap: str, progress: Progress) -> None:
    """Lists of records, a few at once, over all partitions."""
    async with Producer(bootstrap) as producer:
        values = [VALUE] * LIST_RECORDS

        async def send(lists: int) -> None:
            for _ in range(lists):
                sent = await producer.send_many(TOPICS["many"], values)
                assert not sent.failed, sent.error
                progress.add(sent.acknowledged)

        lists = progress.records // LIST_RECORDS // LISTS_AT_ONCE
        await asyncio.gather(*(send(lists) for _ in range(LISTS_AT_ONCE)))


async def send_single(bootstrap: str, progress: Progress) -> None:
    """Records one by one, each awaited, by many tasks."""
    async with Producer(bootstrap) as producer:

        async def send(records: int) -> None:
            for _ in range(records):
                await producer.send(TOPICS["single"], value=VALUE)
                progress.add(1)

        records = progress.records // SENDS_AT_ONCE
        await asyncio.gather(*(send(records) for _ in range(SENDS_AT_ONCE)))


async def getmany(consumer: Consumer) -> AsyncIterator[int]:
    """Records by lists; how many each time."""
    while True:
        yield len(await consumer.getmany(timeout_ms=WAIT_MS))


async def getbatches(consumer: Consumer) -> AsyncIterator[int]:
    """Records by batches, all decoded; how many each time."""
    while True:
        batches = await consumer.getbatches(timeout_ms=WAIT_MS)
        yield sum(sum(1 for _ in batch) for batch in batches)


async def iterate(consumer: Consumer) -> AsyncIterator[int]:
    """Records one by one."""
    async for _ in consumer:
        yield 1


def reading(
    name: str, way: Callable[[Consumer], AsyncIterator[int]]
) -> Callable[[str, Progress], Awaitable[None]]:
    """Read a topic from its beginning."""

    async def read(bootstrap: str, progress: Progress) -> None:
        async with Consumer(bootstrap) as consumer:
            consumer.assign([(TOPICS[name], partition) for partition in range(PARTITIONS)])
            async for count in way(consumer):
                assert count, "the records ended early"
                progress.add(count)
                if progress.done >= progress.records:
                    return

    return read


TASKS: dict[str, Callable[[str, Progress], Awaitable[None]]] = {
    "send_many": send_many,
    "getmany": reading("many", getmany),
    "getbatches": reading("many", getbatches),
    "send": send_single,
    "iterate": reading("single", iterate),
}


async def main(arguments: Sequence[str]) -> None:
    """See the module."""
    task, bootstrap, records = arguments
    await TASKS[task](bootstrap, Progress(int(records)))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
