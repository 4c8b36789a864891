"""Every call of the consumer is cancelled at every turn of the loop it takes: no record is lost.

Each case runs with the cancellation after 0, 1, 2 ... turns until the call ends before it. The
topics have one replica, which is enough here and costs less.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine

import pytest
from tests.client.consumer_cases import WAIT_MS, consumer, filled, take, turns
from tests.client.patience import until
from tests.client.real_cluster import RealCluster, encoded, started

from tidelog.client import Consumer, TopicPartition

PARTITIONS = [TopicPartition("t", number) for number in range(4)]
COUNT = 4 * 20
Place = tuple[int, int]
Reading = Callable[[Consumer, list[Place]], Coroutine[None, None, None]]


async def is_cancelled_after(count: int, work: Coroutine[None, None, None]) -> bool:
    """Whether `work` was still under way after so many turns; then it was cancelled."""
    task = asyncio.create_task(work)
    await turns(count)
    task.cancel()
    try:
        await task
    except asyncio.CancelledError:
        return True
    return False


async def read_records(c: Consumer, got: list[Place]) -> None:
    while len(got) < COUNT:
        records = await c.getmany(timeout_ms=WAIT_MS, max_records=3)
        got += [(r.partition, r.offset) for r in records]


async def read_batches(c: Consumer, got: list[Place]) -> None:
    while len(got) < COUNT:
        for batch in await c.getbatches(timeout_ms=WAIT_MS, max_records=1):
            got += [(r.partition, r.offset) for r in batch]


async def iterate(c: Consumer, got: list[Place]) -> None:
    async for record in c:
        got.append((record.partition, record.offset))
        if len(got) == COUNT:
            return


async def ask_positions(c: Consumer, _got: list[Place]) -> None:
    for tp in PARTITIONS:
        assert await c.position(tp) == 0


async def go_to_the_start(c: Consumer, _got: list[Place]) -> None:
    await c.seek_to_time(dict.fromkeys(PARTITIONS, 0))
    await c.tail(PARTITIONS, 100)
    await c.lag()


@pytest.mark.parametrize(
    "reading", [read_records, read_batches, iterate, ask_positions, go_to_the_start]
)
async def test_whatever_is_cancelled_each_record_is_handed_out_once_and_in_order(
    reading: Reading,
) -> None:
    cluster = await started()
    await filled(cluster, partitions=4, replicas=1)
    count, is_cancelled = 0, True
    while is_cancelled:
        async with consumer(cluster, max_partition_fetch_bytes=1) as c:
            c.assign(PARTITIONS)
            got: list[Place] = []
            is_cancelled = await is_cancelled_after(count, reading(c, got))
            async with asyncio.timeout(WAIT_MS / 1000):
                await read_records(c, got)
            assert await c.getmany(timeout_ms=1) == []
        check_each_once(got)
        count += 1
    assert count > 10, "the cancellation met the call under way"


async def test_one_consumer_survives_a_cancellation_at_every_turn_one_after_the_other() -> None:
    cluster = await started()
    await filled(cluster, partitions=4, replicas=1)
    got: list[Place] = []
    cancelled = 0
    async with consumer(cluster, max_partition_fetch_bytes=1) as c:
        c.assign(PARTITIONS)
        for count in range(30):
            for reading in (read_records, read_batches, iterate):
                cancelled += await is_cancelled_after(count, read_one(c, got, reading))
        async with asyncio.timeout(WAIT_MS / 1000):
            await read_records(c, got)
    check_each_once(got)
    assert cancelled > 10, "while records arrived"


async def read_one(c: Consumer, got: list[Place], reading: Reading) -> None:
    if len(got) < COUNT:
        await reading(c, got)


async def test_a_call_that_waits_is_cancelled_while_its_record_arrives() -> None:
    cluster = await started()
    (state,) = (await cluster.create("t", replicas=1)).partitions
    count, is_cancelled = 0, True
    while is_cancelled:
        first = state.end_offset
        both = [(0, first), (0, first + 1)]
        async with consumer(cluster, fetch_max_wait_ms=WAIT_MS) as c:
            c.assign(PARTITIONS[:1])
            c.seek(PARTITIONS[0], first)
            got: list[Place] = []
            waiting = asyncio.create_task(collect(c, got))
            await fetching(cluster)
            arriving = asyncio.create_task(state.append(encoded([b"0", b"1"])))
            await turns(count)
            waiting.cancel()
            (outcome,) = await asyncio.gather(waiting, return_exceptions=True)
            is_cancelled = isinstance(outcome, asyncio.CancelledError)
            assert is_cancelled or got == both
            await arriving
            got += [(r.partition, r.offset) for r in await take(c, 2 - len(got))]
        assert got == both
        count += 1
    assert count > 5, "the cancellation met the record under way"


async def collect(c: Consumer, got: list[Place]) -> None:
    got += [(r.partition, r.offset) for r in await c.getmany(timeout_ms=WAIT_MS)]


@pytest.mark.parametrize("is_reading", [True, False])
async def test_a_close_that_is_cancelled_is_finished_by_the_next_one(is_reading: bool) -> None:
    cluster = await started()
    await filled(cluster, partitions=4, replicas=1)
    count, is_cancelled = 0, True
    while is_cancelled:
        c = consumer(cluster, fetch_max_wait_ms=WAIT_MS)
        c.assign(PARTITIONS)
        if is_reading:
            await take(c, 7)
        is_cancelled = await is_cancelled_after(count, c.close())
        async with asyncio.timeout(WAIT_MS / 1000):
            await c.close()
        assert cluster.tasks_of_clients() == set()
        count += 1
    assert count > 1


async def test_reading_ends_when_another_task_closes() -> None:
    cluster = await started()
    await cluster.create("t")
    calls: list[Callable[[Consumer], Awaitable[object]]] = [
        lambda c: c.getmany(timeout_ms=WAIT_MS),
        lambda c: c.getbatches(timeout_ms=WAIT_MS),
        lambda c: iterate(c, []),
    ]
    for call in calls:
        c = consumer(cluster, fetch_max_wait_ms=WAIT_MS)
        c.assign(PARTITIONS[:1])
        reading = asyncio.ensure_future(call(c))
        await fetching(cluster)
        async with asyncio.timeout(WAIT_MS / 1000):
            await c.close()
            assert not await reading


async def test_what_arrives_while_the_consumer_closes_is_not_handed_out() -> None:
    cluster = await started()
    await filled(cluster)
    c = consumer(cluster)
    c.assign(PARTITIONS[:1])
    closing: list[asyncio.Task[None]] = []

    def close(method: str) -> None:
        if method == "Fetch" and not closing:
            closing.append(asyncio.create_task(c.close()))

    cluster.before_answer = close
    assert await c.getmany(timeout_ms=WAIT_MS) == []
    await closing[0]


async def fetching(cluster: RealCluster) -> None:
    """Wait until a consumer asks for records."""
    cluster.calls.clear()
    await until(lambda: bool(cluster.requests("Fetch")))


def check_each_once(got: list[Place]) -> None:
    assert not [place for place, count in Counter(got).items() if count > 1]
    by_partition: dict[int, list[int]] = {}
    for partition, offset in got:
        by_partition.setdefault(partition, []).append(offset)
    assert by_partition == {number: list(range(20)) for number in range(4)}
