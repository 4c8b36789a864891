"""The consumer against a real broker: order, seeks, resets, leader changes, corruption, bounds."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.client.consumer_cases import WAIT_MS, consumer, filled
from tests.client.hasty_clock import HastyClock
from tests.client.loop_peers import LoopPeers
from tests.client.meddler import Mishap
from tests.client.real_cluster import RealCluster, encoded, started
from tests.client.real_topics import RealTopic

from tidelog.client import Consumer, TopicPartition, errors
from tidelog.records.batch import iter_batches, parse_header
from tidelog.records.records import encode_filler, iter_records, rebuild_batch
from tidelog.v1 import common_pb2

P0 = TopicPartition("t", 0)


async def read(c: Consumer, count: int) -> list[int]:
    """The values of the next `count` records."""
    values: list[int] = []
    async with asyncio.timeout(WAIT_MS / 1000):
        while len(values) < count:
            records = await c.getmany(timeout_ms=WAIT_MS, max_records=count - len(values))
            values += [int(record.value or b"-1") for record in records]
    return values


async def test_iteration_hands_out_every_record_in_order() -> None:
    cluster = await started()
    await filled(cluster)
    got = []
    async with consumer(cluster) as c:
        c.assign([("t", 0)])
        async for record in c:
            got.append((record.topic, record.partition, record.offset, record.value))
            if len(got) == 20:
                break
    assert got == [("t", 0, n, b"%d" % n) for n in range(20)]


async def test_records_appended_later_arrive() -> None:
    cluster = await started()
    topic = await filled(cluster, batches=1)
    async with consumer(cluster) as c:
        c.assign([("t", 0)])
        assert await read(c, 5) == [0, 1, 2, 3, 4]
        assert await c.getmany(timeout_ms=1) == []
        await topic.partitions[0].append(encoded([b"5"]))
        assert await read(c, 1) == [5]


async def test_partitions_of_all_leaders_are_read() -> None:
    cluster = await started()
    await filled(cluster, partitions=6)
    async with consumer(cluster) as c:
        c.assign(("t", p) for p in range(6))
        got = await read(c, 120)
    assert sorted(got) == sorted(list(range(20)) * 6)


async def test_what_compaction_left_is_read_past_batches_without_records() -> None:
    cluster = await started()
    topic = await cluster.create("t")
    batches = [
        encoded([b"%d" % n for n in range(at, at + 5)], base_offset=at) for at in range(0, 20, 5)
    ]
    for place, kept in ((0, slice(1, 5, 2)), (1, slice(0)), (3, slice(4, 5))):
        records = list(iter_records(batches[place]))[kept]
        header = parse_header(batches[place])
        batches[place] = rebuild_batch(header, records, delete_horizon_ms=None)
    await topic.partitions[0].lay(batches)
    async with consumer(cluster) as c:
        c.assign([("t", 0)])
        assert await read(c, 8) == [1, 3, *range(10, 15), 19]


async def test_seek_into_a_batch_skips_the_records_before() -> None:
    cluster = await started()
    await filled(cluster)
    async with consumer(cluster) as c:
        c.assign([("t", 0)])
        c.seek(("t", 0), 7)
        assert await read(c, 3) == [7, 8, 9]
        assert await c.position(("t", 0)) == 10


async def compacted(cluster: RealCluster) -> RealTopic:
    """Offsets 0 to 39, of which compaction left the records 3, 12 and 14."""
    topic = await cluster.create("t")
    whole = [encoded([b"%d" % n for n in range(at, at + 5)], base_offset=at) for at in (0, 10)]
    kept = [
        rebuild_batch(
            parse_header(batch),
            [r for r in iter_records(batch) if r.offset in (3, 12, 14)],
            delete_horizon_ms=horizon_ms,
        )
        for batch, horizon_ms in zip(whole, (None, 5_000), strict=True)
    ]
    await topic.partitions[0].lay([kept[0], filler(5, 9), kept[1], filler(15, 34), filler(35, 39)])
    return topic


def filler(base_offset: int, last_offset: int) -> bytes:
    return encode_filler(
        base_offset=base_offset, last_offset=last_offset, leader_epoch=0, max_timestamp=-1
    )


@pytest.mark.parametrize("max_partition_fetch_bytes", [1, 1 << 20])
async def test_offsets_that_compaction_left_empty_are_passed(
    max_partition_fetch_bytes: int,
) -> None:
    cluster = await started()
    topic = await compacted(cluster)
    async with consumer(cluster, max_partition_fetch_bytes=max_partition_fetch_bytes) as c:
        c.assign([("t", 0)])
        assert await read(c, 3) == [3, 12, 14]
        async with asyncio.timeout(WAIT_MS / 1000):
            while await c.position(("t", 0)) < 40:
                assert await c.getmany(timeout_ms=1) == []
        await topic.partitions[0].append(encoded([b"40"]))
        assert await read(c, 1) == [40]


async def test_a_seek_into_what_compaction_left_empty_reads_on_behind_it() -> None:
    cluster = await started()
    await compacted(cluster)
    async with consumer(cluster) as c:
        c.assign([("t", 0)])
        c.seek(("t", 0), 7)
        assert await read(c, 2) == [12, 14]


async def test_seek_voids_what_was_fetched_ahead() -> None:
    cluster = await started()
    await filled(cluster)
    async with consumer(cluster) as c:
        c.assign([("t", 0)])
        assert await read(c, 2) == [0, 1]
        c.seek(("t", 0), 12)
        assert await read(c, 2) == [12, 13]
        c.seek_to_beginning()
        assert await read(c, 1) == [0]
        c.seek_to_end()
        assert await c.position(("t", 0)) == 20
        assert await c.getmany(timeout_ms=5) == []


async def test_seek_within_an_iteration_takes_effect_at_the_next_record() -> None:
    cluster = await started()
    await filled(cluster)
    got = []
    async with consumer(cluster) as c:
        c.assign([("t", 0)])
        async for record in c:
            got.append(record.offset)
            if record.offset == 2:
                c.seek(("t", 0), 17)
            if record.offset == 19:
                break
    assert got == [0, 1, 2, 17, 18, 19]


async def test_latest_starts_at_the_end() -> None:
    cluster = await started()
    topic = await filled(cluster)
    async with consumer(cluster, auto_offset_reset="latest") as c:
        c.assign([("t", 0)])
        assert await c.getmany(timeout_ms=10) == []
        await topic.partitions[0].append(encoded([b"20"]))
        assert await read(c, 1) == [20]


async def test_offset_out_of_range_follows_the_reset_policy() -> None:
    cluster = await started()
    topic = await filled(cluster)
    async with consumer(cluster, auto_offset_reset="earliest") as c:
        c.assign([("t", 0)])
        await topic.partitions[0].delete_before(10)
        c.seek(("t", 0), 3)
        assert await read(c, 1) == [10]


async def test_offset_out_of_range_without_a_policy_says_what_is_there() -> None:
    cluster = await started()
    await filled(cluster)
    async with consumer(cluster, auto_offset_reset="none") as c:
        c.assign([("t", 0)])
        c.seek(("t", 0), 99)
        with pytest.raises(errors.OffsetOutOfRangeError, match="offset 99 of t-0") as caught:
            await c.getmany(timeout_ms=WAIT_MS)
        assert (caught.value.log_start_offset, caught.value.log_end_offset) == (0, 20)
        c.seek(("t", 0), 19)
        assert await read(c, 1) == [19]


async def test_no_position_and_no_policy_is_an_error() -> None:
    cluster = await started()
    await filled(cluster)
    async with consumer(cluster, auto_offset_reset="none") as c:
        c.assign([("t", 0)])
        with pytest.raises(errors.OffsetOutOfRangeError, match="seek first"):
            await c.getmany(timeout_ms=WAIT_MS)


async def test_reading_goes_on_across_leader_changes_without_gap_or_repeat() -> None:
    cluster = await started()
    topic = await filled(cluster)
    async with consumer(cluster) as c:
        c.assign([("t", 0)])
        assert await read(c, 8) == list(range(8))
        await cluster.move("t", 0, leader_id=3)
        await topic.partitions[0].append(encoded([b"20"]))
        cluster.kill(3)
        await cluster.failed_over()
        await topic.partitions[0].append(encoded([b"21"]))
        assert await read(c, 14) == list(range(8, 22))


@pytest.mark.parametrize(
    "mishap",
    [
        Mishap("Fetch", code=common_pb2.UNKNOWN_LEADER_EPOCH, times=3),
        Mishap("Fetch", code=common_pb2.FENCED_LEADER_EPOCH, times=3),
        Mishap("Fetch", error=errors.CallFailedError("broke"), times=3),
        Mishap("ListOffsets", code=common_pb2.NOT_LEADER_OR_FOLLOWER, times=3),
        Mishap("Metadata", error=errors.CallFailedError("broke"), times=2),
    ],
)
async def test_passing_failures_are_retried(mishap: Mishap) -> None:
    cluster = await started()
    await filled(cluster)
    cluster.mishaps.append(mishap)
    async with consumer(cluster) as c:
        c.assign([("t", 0)])
        assert await read(c, 20) == list(range(20))


async def test_pause_that_ends_while_nobody_looks_is_not_slept_through() -> None:
    cluster = await started()
    await filled(cluster)
    cluster.mishaps.append(Mishap("Fetch", code=common_pb2.UNKNOWN_LEADER_EPOCH, times=5))
    async with consumer(cluster, clock=HastyClock(step_ms=1), retry_backoff_ms=2) as c:
        c.assign([("t", 0)])
        assert await read(c, 20) == list(range(20))


async def test_corrupt_batch_is_named_and_can_be_passed_by_a_seek() -> None:
    cluster = await started()
    await filled(cluster)

    def damage(method: str, answer: Any) -> None:
        for result in answer.partitions if method == "Fetch" else ():
            damaged = bytearray(result.records)
            for header, batch in iter_batches(memoryview(damaged)):
                if header.base_offset == 5:
                    batch[-2] ^= 0x01  # the last value: only the CRC tells
            result.records = bytes(damaged)

    cluster.spoil = damage
    async with consumer(cluster) as c:
        c.assign([("t", 0)])
        assert await read(c, 5) == [0, 1, 2, 3, 4]
        for _ in range(2):
            with pytest.raises(errors.CorruptMessageError, match=r"t-0 is corrupt .* offset 5"):
                await c.getmany(timeout_ms=WAIT_MS)
        c.seek(("t", 0), 10)
        assert await read(c, 1) == [10]


async def test_fetches_ahead_are_bounded() -> None:
    cluster = await started()
    await filled(cluster, batches=40)
    async with consumer(cluster, max_partition_fetch_bytes=1) as c:
        c.assign([("t", 0)])
        assert await read(c, 1) == [0]
        for _ in range(50):
            await asyncio.sleep(0)
        assert len(cluster.requests("Fetch")) <= 4
        assert await read(c, 199) == list(range(1, 200))


async def test_no_partition_starves_behind_the_limit_of_an_answer() -> None:
    cluster = await started()
    topic = await cluster.create("t", partitions=4)
    for state in topic.partitions:
        await cluster.move("t", state.number, leader_id=1)
        await state.append(encoded([b"0" * 100]) * 10)
    seen: dict[int, int] = {}
    async with consumer(cluster, fetch_max_bytes=100, max_partition_fetch_bytes=100) as c:
        c.assign(("t", p) for p in range(4))
        async with asyncio.timeout(WAIT_MS / 1000):
            while sum(seen.values()) < 8:
                for record in await c.getmany(timeout_ms=WAIT_MS, max_records=1):
                    seen[record.partition] = seen.get(record.partition, 0) + 1
    assert seen == {0: 2, 1: 2, 2: 2, 3: 2}


async def test_missing_topic_and_partition_are_named() -> None:
    cluster = await started(auto_create=False)
    await filled(cluster)
    async with consumer(cluster, clock=HastyClock(step_ms=500)) as c:
        c.assign([("t", 3)])
        with pytest.raises(errors.KafkaError, match="partitions 0 to 0, not 3"):
            await c.getmany(timeout_ms=WAIT_MS)
        with pytest.raises(errors.KafkaError, match="'none' does not exist"):
            await c.partitions_for("none")
    assert list(cluster.topics) == ["t"], "reading makes no topic"


async def test_close_ends_iterations() -> None:
    cluster = await started()
    await filled(cluster, batches=1)
    c = consumer(cluster)
    c.assign([("t", 0)])
    got = []
    async for record in c:
        got.append(record.offset)
        if record.offset == 2:
            await c.close()
    assert got == [0, 1, 2]
    with pytest.raises(errors.ClientClosedError):
        await c.getmany()


async def test_assign_keeps_positions_of_partitions_that_stay() -> None:
    cluster = await started()
    await filled(cluster, partitions=2)
    async with consumer(cluster) as c:
        c.assign([("t", 0)])
        assert await read(c, 3) == [0, 1, 2]
        c.assign([("t", 0), ("t", 1)])
        assert await c.position(("t", 0)) == 3
        assert sorted(await read(c, 37)) == sorted([*range(3, 20), *range(20)])


async def test_offsets_of_both_ends() -> None:
    cluster = await started()
    topic = await filled(cluster, partitions=2)
    await topic.partitions[1].delete_before(5)
    async with consumer(cluster) as c:
        partitions = [("t", 0), ("t", 1)]
        assert await c.beginning_offsets(partitions) == {
            TopicPartition("t", 0): 0,
            TopicPartition("t", 1): 5,
        }
        assert set((await c.end_offsets(partitions)).values()) == {20}


async def test_seek_of_a_partition_not_assigned_is_refused() -> None:
    async with consumer(LoopPeers({})) as c:
        with pytest.raises(ValueError, match="t-0 is not assigned"):
            c.seek(("t", 0), 1)


async def test_an_iteration_goes_on_where_others_left_off_in_this_batch_or_a_later_one() -> None:
    cluster = await started()
    await filled(cluster)
    async with consumer(cluster) as c:
        c.assign([P0])
        records = aiter(c)
        got = [(await anext(records)).offset for _ in range(2)]
        got += [r.offset for r in await c.getmany(max_records=1)]
        got.append((await anext(records)).offset)
        got += [r.offset for r in await c.getmany(max_records=3)]
        got += [(await anext(records)).offset for _ in range(4)]
        assert got == list(range(11))
        assert await c.position(P0) == 11


async def test_an_iteration_ends_what_a_truncation_voided() -> None:
    cluster = await started()
    await filled(cluster)
    async with consumer(cluster) as c:
        c.assign([P0])
        records = aiter(c)
        assert [(await anext(records)).offset for _ in range(3)] == [0, 1, 2]
        position = c._assignment.get(P0)
        assert position is not None
        position.seek(1)  # as the fetcher does, which tells nobody
        assert [(await anext(records)).offset for _ in range(6)] == [1, 2, 3, 4, 5, 6]


async def test_an_iteration_is_past_a_batch_once_it_gave_its_last_record() -> None:
    cluster = await started()
    (state,) = (await cluster.create("t")).partitions
    batch = encoded([b"%d" % n for n in range(5)])
    kept = [record for record in iter_records(batch) if record.offset in {1, 3}]
    await state.lay([rebuild_batch(parse_header(batch), kept, delete_horizon_ms=None)])
    async with consumer(cluster) as c:
        c.assign([P0])
        records = aiter(c)
        assert (await anext(records)).offset == 1
        assert await c.position(P0) == 2
        assert (await anext(records)).offset == 3
        assert await c.position(P0) == 5
