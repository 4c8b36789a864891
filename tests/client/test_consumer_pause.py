"""Pause and resume: what is kept, what is not asked for, and whose polls go on."""

from __future__ import annotations

import asyncio
import gc

import pytest
from tests.client.consumer_cases import WAIT_MS, consumer, filled, take, turns
from tests.client.real_cluster import RealCluster, encoded, started

from tidelog.client import Consumer, TopicPartition, errors
from tidelog.client.consuming.fetcher import Chunk

P0, P1 = TopicPartition("t", 0), TopicPartition("t", 1)
LONG_POLL_MS = 60_000


def fetched_partitions(cluster: RealCluster, *, since: int) -> set[int]:
    """Of all Fetch requests from number `since` on."""
    requests = cluster.requests("Fetch")[since:]
    return {item.partition for request in requests for item in request.partitions}


async def until_polled(c: Consumer, cluster: RealCluster, partitions: set[int]) -> None:
    """Until a Fetch of each of these, and of no other, has reached its leader; none has records."""
    async with asyncio.timeout(WAIT_MS / 1000):
        while fetched_partitions(cluster, since=0) != partitions:
            assert await c.getmany(timeout_ms=0) == []
            await turns(1)


async def test_what_was_fetched_of_a_paused_partition_comes_in_order_once_it_is_resumed() -> None:
    cluster = await started()
    await filled(cluster, partitions=2)
    async with consumer(cluster, max_partition_fetch_bytes=1) as c:
        c.assign([P0, P1])
        first = await take(c, 1)
        held, other = (P0, P1) if first[0].partition == 0 else (P1, P0)
        await turns(50)
        c.pause(held)
        assert c.paused() == {held}
        got = await take(c, 20)
        assert [(r.partition, r.offset) for r in got] == [(other[1], n) for n in range(20)]
        assert await c.getmany(timeout_ms=1) == []
        assert await c.position(held) == 1
        asked = len(cluster.requests("Fetch"))
        c.resume(held)
        assert c.paused() == set()
        assert [r.offset for r in await take(c, 19)] == list(range(1, 20))
        offsets = [
            item.fetch_offset
            for request in cluster.requests("Fetch")[asked:]
            for item in request.partitions
            if item.partition == held.partition
        ]
        assert min(offsets) > 5, "what was kept is not fetched again"


async def test_nothing_is_fetched_for_a_paused_partition() -> None:
    cluster = await started()
    topic = await filled(cluster, partitions=2)
    async with consumer(cluster) as c:
        c.assign([P0, P1])
        c.pause(P0)
        assert {r.partition for r in await take(c, 20)} == {1}
        await topic.partitions[1].append(encoded([b"more"]))
        await take(c, 1)
        assert fetched_partitions(cluster, since=0) == {1}
        c.resume(P0)
        assert {r.partition for r in await take(c, 20)} == {0}


async def test_iteration_hands_out_no_further_record_of_a_partition_paused_within_it() -> None:
    cluster = await started()
    await filled(cluster, partitions=2)
    got = []
    async with consumer(cluster) as c:
        c.assign([P0, P1])
        async for record in c:
            got.append(record)
            if len(got) == 2:
                c.pause((record.topic, record.partition))
            if len(got) == 22:
                break
    first = got[0].partition
    assert [r.partition for r in got] == [first] * 2 + [1 - first] * 20


async def test_kept_records_do_not_keep_the_leader_from_being_asked_for_others() -> None:
    cluster = await started()
    topic = await filled(cluster, partitions=2, batches=40)
    for state in topic.partitions:
        await cluster.move("t", state.number, leader_id=1)
    async with consumer(cluster, max_partition_fetch_bytes=1) as c:
        c.assign([P0, P1])
        await take(c, 1)
        await turns(50)
        c.pause(P0)
        got = [r.offset for r in await take(c, 190) if r.partition == 1]
        assert got == list(range(got[0], got[0] + len(got)))
        assert len(got) >= 185


async def test_pausing_and_resuming_without_reading_keeps_no_more_and_more() -> None:
    cluster = await started()
    await filled(cluster, partitions=1, batches=100)
    async with consumer(cluster, max_partition_fetch_bytes=1) as c:
        c.assign([P0])
        await take(c, 1)
        for _ in range(20):
            await turns(20)
            c.pause(P0)
            assert await c.getmany(timeout_ms=0) == []
            c.resume(P0)
        assert len(cluster.requests("Fetch")) <= 8
        assert [r.offset for r in await take(c, 499)] == list(range(1, 500))


async def test_a_failure_of_a_paused_partition_is_told_once_it_is_resumed() -> None:
    cluster = await started()
    await filled(cluster, partitions=2)
    async with consumer(cluster, auto_offset_reset="none") as c:
        c.assign([P0, P1])
        c.seek(P0, 99)
        c.seek(P1, 0)
        assert await c.getmany() == []
        c.pause(P0)
        await turns(50)
        assert [r.partition for r in await take(c, 20)] == [1] * 20
        assert await c.getmany(timeout_ms=1) == []
        c.resume(P0)
        with pytest.raises(errors.OffsetOutOfRangeError, match="offset 99 of t-0"):
            await c.getmany(timeout_ms=WAIT_MS)


async def test_nothing_is_kept_of_a_partition_that_is_not_assigned_any_more() -> None:
    cluster = await started()
    await filled(cluster, batches=10)
    async with consumer(cluster, max_partition_fetch_bytes=1) as c:
        c.assign([P0])
        await take(c, 1)
        await turns(50)
        c.pause(P0)
        assert await c.getmany() == []
        assert chunks_alive() > 1
        c.assign([])
        await turns(5)
        assert chunks_alive() == 0


def chunks_alive() -> int:
    gc.collect()
    return sum(isinstance(thing, Chunk) for thing in gc.get_objects())


async def test_a_pause_survives_a_seek_and_what_was_kept_is_void() -> None:
    cluster = await started()
    await filled(cluster)
    async with consumer(cluster) as c:
        c.assign([P0])
        await take(c, 2)
        c.pause(P0)
        assert await c.getmany(timeout_ms=1) == []
        c.seek(P0, 12)
        assert c.paused() == {P0}
        assert await c.getmany(timeout_ms=1) == []
        c.resume(P0)
        assert [r.offset for r in await take(c, 8)] == list(range(12, 20))


async def test_a_partition_assigned_anew_is_not_paused_one_that_stays_is() -> None:
    cluster = await started()
    await filled(cluster, partitions=2)
    async with consumer(cluster) as c:
        c.assign([P0, P1])
        c.pause(P0, P1)
        c.assign([P0])
        assert c.paused() == {P0}
        c.assign([P0, P1])
        assert c.assignment() == {P0, P1}
        assert c.paused() == {P0}
        assert {r.partition for r in await take(c, 20)} == {1}


async def test_a_call_that_waits_gets_what_was_kept_when_another_task_resumes() -> None:
    cluster = await started()
    await filled(cluster)
    async with consumer(cluster, fetch_max_wait_ms=LONG_POLL_MS) as c:
        c.assign([P0])
        await c.getmany()
        await turns(50)
        c.pause(P0)
        waiting = asyncio.create_task(take(c, 20))
        await turns(50)
        assert not waiting.done()
        asked = len(cluster.requests("Fetch"))
        c.resume(P0)
        await turns(2)
        assert waiting.done()
        assert [r.offset for r in await waiting] == list(range(20))
        assert len(cluster.requests("Fetch")) == asked, "it was not fetched again"


async def test_pause_and_resume_leave_the_long_polls_of_other_leaders_alone() -> None:
    """Partition 0 has leader 1 for itself; nothing comes, so every poll is a long one."""
    cluster = await started()
    await cluster.create("t", partitions=2)
    async with consumer(cluster, fetch_max_wait_ms=LONG_POLL_MS) as c:
        c.assign([P0, P1])
        await until_polled(c, cluster, {0, 1})
        asked = len(cluster.requests("Fetch"))
        c.pause(P0)
        c.resume(P0)
        await turns(20)
        assert len(cluster.requests("Fetch")) == asked


async def test_resume_ends_the_long_poll_that_keeps_its_leader_busy_without_it() -> None:
    cluster = await started()
    topic = await cluster.create("t", partitions=4)
    async with consumer(cluster, fetch_max_wait_ms=LONG_POLL_MS) as c:
        c.assign([("t", 0), ("t", 1), ("t", 3)])
        c.pause(("t", 3))
        await until_polled(c, cluster, {0, 1})
        asked = len(cluster.requests("Fetch"))
        await topic.partitions[3].append(encoded([b"x"]))
        c.resume(("t", 3))
        assert [r.value for r in await take(c, 1)] == [b"x"]
        assert 1 not in fetched_partitions(cluster, since=asked), "another leader's"
