"""Consumers and tables of committed records: nothing aborted, nothing undecided, no marker."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from tests.client.consumer_cases import WAIT_MS, consumer
from tests.client.partition_transactions import Transactions
from tests.client.real_cluster import BOOTSTRAP, RealCluster, encoded, started
from tests.client.threaded_cluster import ThreadedCluster, threaded_cluster

from tidelog.client import Consumer, TopicPartition, errors
from tidelog.client.arrow import read_table
from tidelog.client.consuming.range_reader import RangeReaderConfig

P0 = TopicPartition("t", 0)


async def with_transactions(cluster: RealCluster) -> tuple[Transactions, Transactions]:
    """Each value is its offset: 2 and 5 are aborted, 3 committed, 4 and 6 markers, 7 is open."""
    topic = await cluster.create("t")
    await topic.partitions[0].append(encoded([b"0", b"1"]))
    one = Transactions(cluster, 70, at=("t", 0))
    two = Transactions(cluster, 71, at=("t", 0))
    await one.send(b"2")
    await two.commit(b"3")
    await one.send(b"5")
    await one.end(is_commit=False)
    assert await two.send(b"7") == 7
    await topic.partitions[0].append(encoded([b"8"]))
    return one, two


async def all_read(c: Consumer[Any, Any]) -> list[tuple[int, bytes | None]]:
    """Offsets and values until nothing more comes."""
    found: list[tuple[int, bytes | None]] = []
    while records := await c.getmany(timeout_ms=1_500):
        found += [(record.offset, record.value) for record in records]
    return found


async def test_a_consumer_gets_committed_records_alone_and_goes_on_when_more_are_decided() -> None:
    cluster = await started()
    _, two = await with_transactions(cluster)
    async with consumer(cluster, isolation_level="read_committed") as c:
        c.assign([P0])
        assert await all_read(c) == [(0, b"0"), (1, b"1"), (3, b"3")]
        assert await c.position(P0) == 7, "past aborted records and markers, not past open ones"
        assert await c.end_offsets([P0]) == {P0: 7}
        assert await c.lag() == {P0: 0}
        waiting = asyncio.create_task(c.getmany(timeout_ms=WAIT_MS))
        await asyncio.sleep(1)
        assert not waiting.done()
        await two.end(is_commit=True)
        assert [record.value for record in await waiting] == [b"7", b"8"]
        assert await all_read(c) == []
        assert await c.position(P0) == 10
        assert await c.end_offsets([P0]) == {P0: 10}


async def test_by_default_a_consumer_gets_all_records_but_no_marker() -> None:
    cluster = await started()
    await with_transactions(cluster)
    async with consumer(cluster) as c:
        c.assign([P0])
        assert await all_read(c) == [(n, b"%d" % n) for n in (0, 1, 2, 3, 5, 7, 8)]
        assert await c.end_offsets([P0]) == {P0: 9}
        c.seek(P0, 3)
        assert await c.getmany(timeout_ms=WAIT_MS, max_records=1)
        assert await c.lag() == {P0: 5}


@pytest.mark.parametrize("start", [1, 2, 3, 4, 5, 6])
async def test_a_read_may_begin_within_a_transaction(start: int) -> None:
    cluster = await started()
    await with_transactions(cluster)
    async with consumer(cluster, isolation_level="read_committed") as c:
        c.assign([P0])
        c.seek(P0, start)
        assert [offset for offset, _ in await all_read(c)] == [n for n in (1, 3) if n >= start]
        assert await c.position(P0) == 7


async def test_batches_and_iteration_drop_them_too() -> None:
    cluster = await started()
    await with_transactions(cluster)
    async with consumer(cluster, isolation_level="read_committed") as c:
        c.assign([P0])
        found = []
        while batches := await c.getbatches(timeout_ms=1_500):
            found += [record.offset for batch in batches for record in batch]
        assert found == [0, 1, 3]
        c.seek(P0, 0)
        found = []
        async for record in c:
            found.append(record.offset)
            if record.offset == 3:
                break
        assert found == [0, 1, 3]


async def test_many_aborted_transactions_are_passed_over_several_answers() -> None:
    cluster = await started()
    topic = await cluster.create("t")
    one, two = (Transactions(cluster, number, at=("t", 0)) for number in (70, 71))
    kept = []
    for n in range(12):
        await two.send(b"a%d" % n)
        await (one.commit if n % 3 == 0 else one.abort)(b"b%d" % n)
        await two.end(is_commit=n % 4 == 0)
        kept += [b"a%d" % n] * (n % 4 == 0) + [b"b%d" % n] * (n % 3 == 0)
    options = {"isolation_level": "read_committed", "max_partition_fetch_bytes": 200}
    async with consumer(cluster, **options) as c:
        c.assign([P0])
        assert [value for _, value in await all_read(c)] == kept
        assert await c.position(P0) == topic.partitions[0].end_offset


async def test_an_end_is_looked_up_below_the_open_transaction() -> None:
    cluster = await started()
    await with_transactions(cluster)
    async with consumer(cluster, isolation_level="read_committed") as c:
        c.assign([P0])
        await c.tail([P0], 4)
        assert await c.position(P0) == 3
        c.seek_to_end()
        assert await c.position(P0) == 7


async def test_a_level_that_does_not_exist_is_refused() -> None:
    wrong: Any = "serializable"
    with pytest.raises(errors.ClientConfigError, match="read_committed"):
        Consumer(BOOTSTRAP, isolation_level=wrong)


@pytest.fixture
def threaded() -> Iterator[ThreadedCluster]:
    with threaded_cluster() as cluster:
        cluster.run(with_transactions(cluster.nodes))
        yield cluster


def offsets(threaded: ThreadedCluster, **options: Any) -> list[int]:
    table = read_table("t", bootstrap=BOOTSTRAP, transport=threaded, columns=["offset"], **options)
    found: list[int] = table["offset"].to_pylist()
    return found


def test_a_table_has_committed_records_alone_also_from_within_a_transaction(
    threaded: ThreadedCluster,
) -> None:
    assert offsets(threaded) == [0, 1, 3]
    assert offsets(threaded, start={0: 3}) == [3]
    assert offsets(threaded, start={0: 4}, end={0: 7}) == []
    assert offsets(threaded, config=RangeReaderConfig(fetch_max_bytes=1)) == [0, 1, 3]
    uncommitted = RangeReaderConfig(isolation_level="read_uncommitted")
    assert offsets(threaded, config=uncommitted) == [0, 1, 2, 3, 5, 7, 8]


def test_an_end_that_is_not_decided_is_refused(threaded: ThreadedCluster) -> None:
    with pytest.raises(ValueError, match="offset 8 of partition 0 is not between 0 and its end, 7"):
        offsets(threaded, end={0: 8})


def test_sync_consumers_have_the_option(threaded: ThreadedCluster) -> None:
    from tidelog.client.sync import Consumer as SyncConsumer

    with SyncConsumer(BOOTSTRAP, isolation_level="read_committed", transport=threaded) as c:
        c.assign([P0])
        found: list[int] = []
        while records := c.getmany(timeout_ms=1_000):
            found += [record.offset for record in records]
    assert found == [0, 1, 3]
