"""Client processes of our side, see `groups_programs`: `python -m tests.benchmarks.groups_client`.

member BOOTSTRAP GROUP TOPIC             one that reads until it is told to leave
load BOOTSTRAP TOPIC PARTITIONS RATE     records to one partition after the other
committer BOOTSTRAP GROUP TOPIC COUNT    commits of one member, one after the other
commits BOOTSTRAP GROUPS TOPIC PARTITIONS SECONDS
                                         commits of so many groups at once
join BOOTSTRAP GROUP TOPIC MEMBERS PARTITIONS
                                         members that join at once
crowd BOOTSTRAP GROUP TOPIC MEMBERS PARTITIONS
                                         the same with memberships alone: nothing is read
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from tests.benchmarks.groups_crowd import crowd
from tests.benchmarks.groups_programs import emit

from tidelog.client import Consumer, Producer, RebalanceListener, TopicPartition
from tidelog.client.errors import TidelogError

WARM_COMMITS = 50
NEVER_MS = 24 * 3_600_000
"""Time without a poll of members that only commit: their row may take longer than the default."""


class Owned(RebalanceListener):
    """Partitions of a member, by its listener."""

    def __init__(self, on_change: Callable[[set[int]], None]) -> None:
        self.partitions: set[int] = set()
        self._on_change = on_change

    async def on_partitions_assigned(
        self, consumer: Consumer[Any, Any], partitions: Sequence[TopicPartition]
    ) -> None:
        self.partitions.update(one.partition for one in partitions)
        self._on_change(self.partitions)

    async def on_partitions_revoked(
        self, consumer: Consumer[Any, Any], partitions: Sequence[TopicPartition]
    ) -> None:
        self.partitions.difference_update(one.partition for one in partitions)
        self._on_change(self.partitions)

    async def on_partitions_lost(
        self, consumer: Consumer[Any, Any], partitions: Sequence[TopicPartition]
    ) -> None:
        await self.on_partitions_revoked(consumer, partitions)


async def heard(line: str) -> None:
    """Wait for a line, or for the end of stdin."""
    while True:
        found = await asyncio.to_thread(sys.stdin.readline)
        if not found or found.strip() == line:
            return


async def started() -> None:
    """Wait for "go"."""
    emit("ready")
    await heard("go")
    emit("began", time.monotonic())


async def member(bootstrap: str, group: str, topic: str) -> None:
    await started()
    listener = Owned(lambda owned: emit("own", time.monotonic(), sorted(owned)))
    async with Consumer(bootstrap, group_id=group) as consumer:
        await consumer.subscribe([topic], listener=listener)
        leaving = asyncio.create_task(heard("leave"))
        while not leaving.done():
            if records := await consumer.getmany(timeout_ms=200):
                partitions = [one.partition for one in records]
                emit("read", time.monotonic(), partitions, [one.offset for one in records])


async def load(bootstrap: str, topic: str, partitions: str, rate: str) -> None:
    emit("ready")
    async with Producer(bootstrap) as producer:
        began_s, sent = time.monotonic(), 0
        while True:
            due = int((time.monotonic() - began_s) * float(rate))
            for number in range(sent, due):
                await producer.submit(topic, value=b"v" * 100, partition=number % int(partitions))
            sent = due
            await asyncio.sleep(1 / float(rate))


async def committer(bootstrap: str, group: str, topic: str, count: str) -> None:
    await started()
    async with Consumer(
        bootstrap, group_id=group, enable_auto_commit=False, max_poll_interval_ms=NEVER_MS
    ) as consumer:
        await consumer.subscribe([topic])
        while not consumer.assignment():
            await consumer.getmany(timeout_ms=20)
        for number in range(int(count) + WARM_COMMITS):
            sent_s = time.monotonic()
            await consumer.commit({(topic, 0): number})
            if number >= WARM_COMMITS:
                emit("committed", sent_s, time.monotonic())
    emit("done", {})


async def commits(bootstrap: str, groups: str, topic: str, partitions: str, seconds: str) -> None:
    await started()
    numbers = range(int(partitions))
    members: list[Consumer[Any, Any]] = [
        Consumer(bootstrap, group_id=f"{topic}-{number}", enable_auto_commit=False)
        for number in range(int(groups))
    ]

    async def repeat(consumer: Consumer[Any, Any], until_s: float) -> int:
        count = 0
        while time.monotonic() < until_s:
            count += 1
            await consumer.commit({(topic, one): count for one in numbers})
        return count

    for warm_s in (1.0, float(seconds)):
        began_s, cpu_s = time.monotonic(), time.process_time()
        if warm_s != 1.0:
            emit("balanced", began_s)  # the nodes' processor time counts from here
        counts = await asyncio.gather(*(repeat(one, began_s + warm_s) for one in members))
        took_s, spent_s = time.monotonic() - began_s, time.process_time() - cpu_s
    emit("done", {"commits": sum(counts), "seconds": took_s, "cpu_s": spent_s})
    await heard("leave")
    for one in members:
        await one.close()


async def join(bootstrap: str, group: str, topic: str, members: str, partitions: str) -> None:
    consumers: list[Consumer[Any, Any]] = [
        Consumer(bootstrap, group_id=group, enable_auto_commit=False) for _ in range(int(members))
    ]
    await started()
    owned = [Owned(lambda _: None) for _ in consumers]
    reading = [
        asyncio.create_task(_read(consumer, topic, listener))
        for consumer, listener in zip(consumers, owned, strict=True)
    ]
    share = int(partitions) // int(members)
    while any(len(one.partitions) != share for one in owned):  # noqa: ASYNC110
        await asyncio.sleep(0.005)
    emit("balanced", time.monotonic())
    await heard("leave")
    for task in reading:
        task.cancel()
    await asyncio.gather(*reading, return_exceptions=True)
    await asyncio.gather(*(one.close() for one in consumers), return_exceptions=True)


async def _read(consumer: Consumer[Any, Any], topic: str, listener: Owned) -> None:
    await consumer.subscribe([topic], listener=listener)
    while True:
        await consumer.getmany(timeout_ms=1_000)


PROGRAMS: dict[str, Callable[..., Awaitable[None]]] = {
    "member": member,
    "load": load,
    "committer": committer,
    "commits": commits,
    "join": join,
    "crowd": lambda *words: crowd(*words, started=started, heard=heard),
}


def main() -> None:
    """Run the program that the command line names."""
    try:
        asyncio.run(_run(sys.argv[1], sys.argv[2:]))
    except TidelogError as error:
        raise SystemExit(f"{error}") from None


async def _run(name: str, words: Sequence[str]) -> None:
    await PROGRAMS[name](*words)


if __name__ == "__main__":
    main()
