"""Where a consumer goes and how far it is behind: by time, before the end, lag."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from tests.client.consumer_cases import WAIT_MS, consumer, filled, take, turns
from tests.client.meddler import Mishap
from tests.client.real_cluster import ADDRESSES, RealCluster, encoded, started

from tidelog.client import TopicPartition, errors
from tidelog.records.batch import parse_header
from tidelog.records.records import Record, encode_batch, iter_records, rebuild_batch
from tidelog.v1 import common_pb2

P0, P1 = TopicPartition("t", 0), TopicPartition("t", 1)
HOUR_MS = 3_600_000


async def hourly(cluster: RealCluster) -> None:
    """Two partitions with a batch of two records per hour from 1970 on: 6 records, and 2."""
    topic = await cluster.create("t", partitions=2)
    for state, hours in zip(topic.partitions, (3, 1), strict=True):
        for hour in range(hours):
            at = (hour * HOUR_MS, hour * HOUR_MS + 1)
            await state.append(encode_batch([Record(0, ms, None, b"x") for ms in at]))


async def test_seek_to_time_goes_to_the_first_record_at_or_after_it_and_else_to_the_end() -> None:
    cluster = await started()
    await hourly(cluster)
    async with consumer(cluster) as c:
        c.assign([P0, P1])
        await take(c, 8)
        await c.seek_to_time({P0: datetime(1970, 1, 1, 1, tzinfo=UTC), P1: HOUR_MS})
        assert await c.position(P0) == 2
        assert await c.position(P1) == 2
        assert [r.offset for r in await take(c, 4)] == [2, 3, 4, 5]
        await c.seek_to_time({P0: 1})
        assert [r.offset for r in await take(c, 1)] == [1]


async def test_seek_to_time_that_fails_moves_nothing() -> None:
    cluster = await started()
    await hourly(cluster)
    async with consumer(cluster) as c:
        c.assign([P0, P1])
        c.seek(P0, 1)
        c.seek(P1, 1)
        cluster.mishaps.append(Mishap("ListOffsets", code=common_pb2.INVALID_REQUEST, times=4))
        with pytest.raises(errors.TidelogError):
            await c.seek_to_time({P0: HOUR_MS, P1: HOUR_MS})
        assert [await c.position(p) for p in (P0, P1)] == [1, 1]
        with pytest.raises(ValueError, match="t-2 is not assigned"):
            await c.seek_to_time({("t", 2): 0})


async def test_tail_positions_each_partition_before_its_end_but_not_before_its_log_start() -> None:
    cluster = await started()
    topic = await filled(cluster, partitions=2)
    await topic.partitions[1].delete_before(18)
    async with consumer(cluster, auto_offset_reset="none") as c:
        c.assign([P0, P1])
        await c.tail([P0, P1], 3)
        got = sorted((r.partition, r.offset) for r in await take(c, 5))
        assert got == [(0, 17), (0, 18), (0, 19), (1, 18), (1, 19)]
        await c.tail([P0], 0)
        assert await c.getmany(timeout_ms=1) == []
        await topic.partitions[0].append(encoded([b"new"]))
        assert [r.value for r in await take(c, 1)] == [b"new"]
        with pytest.raises(ValueError, match="negative"):
            await c.tail([P0], -1)


async def test_lag_follows_the_position_without_a_call() -> None:
    cluster = await started()
    topic = await filled(cluster, partitions=2)
    async with consumer(cluster) as c:
        c.assign([P0, P1])
        await take(c, 40)
        await topic.partitions[0].append(encoded([b"20", b"21", b"22"]))
        await take(c, 1)
        asked = len(cluster.calls) - len(cluster.requests("Fetch"))
        assert await c.lag() == {P0: 2, P1: 0}
        assert await c.lag([P0]) == {P0: 2}
        c.seek(P1, 5)
        assert await c.lag([P1]) == {P1: 15}
        assert len(cluster.calls) - len(cluster.requests("Fetch")) == asked


async def test_lag_leaves_out_what_is_revoked_while_it_is_looked_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A group may revoke a partition at any await (transactions seed 2737566525)."""
    cluster = await started()
    await filled(cluster, partitions=2)
    async with consumer(cluster) as c:
        c.assign([P0, P1])
        look_up = c.position

        async def with_a_revocation(tp: tuple[str, int]) -> int:
            if tp == P1:
                c.assign([P0])
            return await look_up(tp)

        monkeypatch.setattr(c, "position", with_a_revocation)
        assert await c.lag() == {P0: 20}
        with pytest.raises(ValueError, match="is not assigned"):
            await c.lag([P1])


async def test_lag_is_looked_up_before_the_first_fetch_and_while_paused() -> None:
    cluster = await started()
    topic = await filled(cluster)
    async with consumer(cluster) as c:
        c.assign([P0])
        c.seek(P0, 4)
        assert await c.lag() == {P0: 16}
        await take(c, 16)
        assert await c.lag() == {P0: 0}
        c.pause(P0)
        await turns(5)
        await topic.partitions[0].append(encoded([b"20"]))
        await c.getmany(timeout_ms=30)
        await topic.partitions[0].append(encoded([b"21"]))
        assert await c.lag() == {P0: 2}


@pytest.mark.parametrize("max_records", [None, 1])
async def test_position_and_lag_go_to_the_end_of_a_batch_whose_last_records_were_compacted_away(
    max_records: int | None,
) -> None:
    cluster = await started()
    whole = encode_batch([Record(0, 1_000 + n, b"k%d" % n, b"v") for n in range(5)])
    kept = list(iter_records(whole))[:3:2]
    compacted = rebuild_batch(parse_header(whole), kept, delete_horizon_ms=None)
    await (await cluster.create("t")).partitions[0].lay([compacted])
    async with consumer(cluster) as c:
        c.assign([P0])
        offsets = list[int]()
        while len(offsets) < len(kept):
            records = await c.getmany(timeout_ms=WAIT_MS, max_records=max_records)
            offsets += [record.offset for record in records]
            if len(offsets) == 1:
                assert await c.position(P0) == 1, "what is left of the batch was not handed out"
                assert await c.lag() == {P0: 4}
        assert offsets == [0, 2]
        assert await c.position(P0) == 5
        assert await c.lag() == {P0: 0}


async def test_lag_of_a_topic_made_anew_does_not_count_from_the_old_end() -> None:
    cluster = await started()
    await filled(cluster)
    async with consumer(cluster) as c:
        c.assign([P0])
        await take(c, 20)
        c.seek_to_beginning()
        await cluster.delete("t")
        await (await cluster.create("t")).partitions[0].append(encoded([b"only"]))
        assert await c.lag() == {P0: 1}


async def test_lag_is_looked_up_once_the_application_was_told_that_its_topic_is_another() -> None:
    cluster = await started()
    await filled(cluster)
    async with consumer(cluster, auto_offset_reset="none") as c:
        c.assign([P0])
        c.seek(P0, 0)
        await take(c, 20)
        await cluster.delete("t")
        await (await cluster.create("t")).partitions[0].append(encoded([b"only"]))
        with pytest.raises(errors.KafkaError, match="deleted and recreated"):
            await c.getmany(timeout_ms=WAIT_MS)
        c.seek(P0, 0)
        assert await c.lag() == {P0: 1}


async def test_a_look_up_that_nobody_answers_ends_with_the_time_of_the_call() -> None:
    cluster = await started()
    await cluster.create("t")
    cluster.cut_off.update(ADDRESSES.values())
    async with consumer(cluster, api_timeout_ms=30) as c:
        c.assign([P0])
        with pytest.raises(errors.TidelogError):
            await c.position(P0)
