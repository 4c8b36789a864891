"""A stream's driver against real brokers on virtual time: what Spark is told, call by call."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import pytest
from tests.client.meddler import Mishap
from tests.client.real_cluster import ADDRESSES, BOOTSTRAP, RealCluster, started
from tests.client.topic_changes import add_partitions
from tests.spark.spark_streams import filled, stream

from tidelog.client import Admin, require_all
from tidelog.client.consuming.offset_ranges import OffsetRange
from tidelog.client.errors import KafkaError, UnreachableError
from tidelog.client.offsets import EARLIEST
from tidelog.client.records import TopicPartition
from tidelog.spark.planner import PlanError
from tidelog.spark.stream_cluster import SAMPLED_PARTITIONS_MAX, TOPICS_MAX_AGE_MS
from tidelog.spark.stream_driver import LOOK_INTERVAL_MS
from tidelog.spark.stream_offsets import StreamOffset
from tidelog.spark.stream_planner import DataLossError
from tidelog.v1 import common_pb2

T0, T1, U0 = (TopicPartition(t, p) for t, p in (("t", 0), ("t", 1), ("u", 0)))


def offsets(offset: StreamOffset) -> Mapping[TopicPartition, int]:
    return offset.offsets


def spans(ranges: list[OffsetRange]) -> list[tuple[str, int, int, int]]:
    return [(one.topic, one.partition, one.start_offset, one.end_offset) for one in ranges]


async def test_a_stream_reads_what_there_is_then_what_comes() -> None:
    cluster = await started()
    await filled(cluster, "t", 30, 20)
    async with stream(cluster) as driver:
        start = await driver.initial()
        assert offsets(start) == {T0: 0, T1: 0}
        end = await driver.advance(start)
        assert spans(await driver.plan(start, end)) == [("t", 0, 0, 30), ("t", 1, 0, 20)]
        assert await driver.advance(end) == end
        assert await driver.plan(end, end) == []
        await filled(cluster, "t", 0, 5)
        after = await driver.advance(end)
        assert spans(await driver.plan(end, after)) == [("t", 1, 20, 25)]
        assert driver.newest == after


async def test_a_range_carries_the_leader_epoch_in_which_its_end_was_known() -> None:
    cluster = await started()
    await filled(cluster, "t", 30, 20)
    await cluster.move("t", 0, leader_id=2)
    async with stream(cluster) as driver:
        start = await driver.initial()
        planned = await driver.plan(start, await driver.advance(start))
        assert [one.leader_epoch for one in planned] == [1, 0]


async def test_an_idle_query_asks_ten_times_a_second_and_describes_topics_seldom() -> None:
    cluster = await started()
    await filled(cluster, "t", 10)
    async with stream(cluster) as driver:
        end = await driver.advance(await driver.initial())
        cluster.calls.clear()
        loop = asyncio.get_running_loop()
        began_s = loop.time()
        while loop.time() < began_s + 60:
            assert await driver.advance(end) == end
            await asyncio.sleep(0.013)  # Spark's pause
        assert len(cluster.requests("ListOffsets")) <= 60_000 / LOOK_INTERVAL_MS + 1
        assert len(cluster.requests("ListOffsets")) > 500
        assert len(cluster.requests("Metadata")) <= 60_000 / TOPICS_MAX_AGE_MS + 1


async def test_no_batch_has_more_offsets_than_the_limit() -> None:
    cluster = await started()
    await filled(cluster, "t", 100, 20)
    async with stream(cluster, maxOffsetsPerTrigger="50") as driver:
        position, taken = await driver.initial(), []
        while (end := await driver.advance(position)) != position:
            taken.append(sum(offsets(end).values()) - sum(offsets(position).values()))
            position = end
        assert taken == [50, 50, 20]
        assert driver.newest == end
        everything = await driver.advance(await driver.initial(), is_limited=False)
        assert offsets(everything) == {T0: 100, T1: 20}


async def test_a_limit_of_bytes_goes_by_what_records_take() -> None:
    cluster = await started()
    await filled(cluster, "t", 200, 200, size_bytes=1000)
    async with stream(cluster, maxBytesPerTrigger="100000") as driver:
        start = await driver.initial()
        end = await driver.advance(start)
        assert 90 <= sum(offsets(end).values()) <= 100


async def test_a_batch_waits_for_its_least_offsets_or_the_delay() -> None:
    cluster = await started()
    await filled(cluster, "t", 10)
    async with stream(cluster, minOffsetsPerTrigger="50", maxTriggerDelay="10s") as driver:
        start = await driver.initial()
        first = await driver.advance(start)
        assert offsets(first) == {T0: 10}  # the first does not wait
        await filled(cluster, "t", 49)
        assert await driver.advance(first) == first
        await filled(cluster, "t", 1)
        second = await driver.advance(first)
        assert offsets(second) == {T0: 60}
        await filled(cluster, "t", 1)
        await asyncio.sleep(9)
        assert await driver.advance(second) == second
        await asyncio.sleep(1)
        assert offsets(await driver.advance(second)) == {T0: 61}


async def test_a_delay_that_passed_without_a_record_does_not_hold_the_next_one() -> None:
    cluster = await started()
    await filled(cluster, "t", 10)
    async with stream(cluster, minOffsetsPerTrigger="50", maxTriggerDelay="10s") as driver:
        end = await driver.advance(await driver.initial())
        await asyncio.sleep(11)
        assert await driver.advance(end) == end
        await filled(cluster, "t", 1)
        assert offsets(await driver.advance(end)) == {T0: 11}


async def test_available_now_ends_where_the_topics_ended_at_its_start() -> None:
    cluster = await started()
    await filled(cluster, "t", 30)
    async with stream(cluster, maxOffsetsPerTrigger="20", minOffsetsPerTrigger="20") as driver:
        await driver.aim()
        position = await driver.initial()
        await filled(cluster, "t", 7)
        await cluster.create("t2")
        for expected in (20, 30, 30):
            position = await driver.advance(position)
            assert offsets(position) == {T0: expected}  # the least offsets do not hold the last


async def test_records_that_come_while_available_now_starts_are_neither_loss_nor_read() -> None:
    cluster = await started()
    await filled(cluster, "t", 30)
    async with stream(cluster, startingOffsets="latest", queryId="q") as driver:
        await driver.aim()
        await filled(cluster, "t", 7)
        start = await driver.initial()
        assert offsets(start) == {T0: 37}
        assert await driver.advance(start) == start


def reach_only_a_lagging_broker(cluster: RealCluster, node_id: int) -> None:
    """For a second, in which it hears nothing new of the metadata."""

    async def catch_up() -> None:
        await asyncio.sleep(1)
        cluster.lag(node_id, is_behind=False)
        cluster.cut_off.clear()

    cluster.cut_off |= set(ADDRESSES.values()) - {ADDRESSES[node_id]}
    cluster.beside(catch_up())


@pytest.mark.parametrize("call", ["advance", "aim", "plan"])
async def test_a_partition_that_a_lagging_broker_does_not_know_yet_is_no_loss(call: str) -> None:
    cluster = await started()
    await cluster.create("t", replicas=1)
    cluster.lag(1)
    await add_partitions(cluster, "t", 2)
    await filled(cluster, "t", 10, 10)
    end = StreamOffset({T0: 10, T1: 10}, {"t": cluster.topics["t"].topic_id})
    reach_only_a_lagging_broker(cluster, 1)
    async with stream(cluster) as driver:
        if call == "aim":
            await driver.aim()
        if call == "plan":
            assert spans(await driver.plan(end, end)) == []
        else:
            assert await driver.advance(end) == end
    assert not cluster.cut_off, "it waited"


async def test_a_topic_that_a_lagging_broker_does_not_know_yet_is_no_loss() -> None:
    cluster = await started()
    cluster.lag(2)
    await cluster.create("t", replicas=1)
    await filled(cluster, "t", 10)
    end = StreamOffset({T0: 10}, {"t": cluster.topics["t"].topic_id})
    reach_only_a_lagging_broker(cluster, 2)
    async with stream(cluster) as driver:
        assert await driver.advance(end) == end
    assert not cluster.cut_off, "it waited"


async def test_partitions_and_topics_found_while_running_are_read_from_their_beginning() -> None:
    cluster = await started()
    await filled(cluster, "t", 10)
    async with stream(cluster, subscribePattern="t|u|__.*") as driver:
        end = await driver.advance(await driver.initial())
        await filled(cluster, "u", 3)
        await filled(cluster, "__internal", 3)
        await add_partitions(cluster, "t", 2)
        await filled(cluster, "t", 0, 4)
        await asyncio.sleep(TOPICS_MAX_AGE_MS / 1000)
        after = await driver.advance(end)
        assert offsets(after) == {T0: 10, T1: 4, U0: 3}
        assert spans(await driver.plan(end, after)) == [("t", 1, 0, 4), ("u", 0, 0, 3)]


async def test_retention_that_overtook_the_stream_fails_it_or_is_skipped() -> None:
    cluster = await started()
    await filled(cluster, "t", 40)
    async with stream(cluster) as driver:
        start = await driver.initial()
        await cluster.topics["t"].partitions[0].delete_before(20)
        with pytest.raises(DataLossError, match="t-0 starts at 20, it was read up to 0"):
            await driver.advance(start)
    async with stream(cluster, failOnDataLoss="false", maxOffsetsPerTrigger="5") as driver:
        end = await driver.advance(start)
        assert offsets(end) == {T0: 25}  # the limit counts what there is
        assert spans(await driver.plan(start, end)) == [("t", 0, 20, 25)]


async def test_a_topic_that_is_gone_fails_the_stream_or_is_left_out() -> None:
    cluster = await started()
    await filled(cluster, "t", 10)
    await filled(cluster, "u", 10)
    for fails in ("true", "false"):
        async with stream(cluster, subscribe="t,u", failOnDataLoss=fails) as driver:
            if "u" in cluster.topics:
                end = await driver.advance(await driver.initial())
                await cluster.delete("u")
                await asyncio.sleep(TOPICS_MAX_AGE_MS / 1000)
                with pytest.raises(DataLossError, match="u-0 is gone, it was read up to 10"):
                    await driver.advance(end)
            else:
                assert offsets(await driver.advance(end)) == {T0: 10}


async def test_a_topic_made_anew_between_two_batches_is_a_loss_whatever_it_holds() -> None:
    cluster = await started()
    await filled(cluster, "t", 10)
    async with stream(cluster) as driver:
        end = await driver.advance(await driver.initial())
        await cluster.delete("t")
        await filled(cluster, "t", 50)
        began_s = asyncio.get_running_loop().time()
        with pytest.raises(DataLossError, match='"t" was deleted and recreated'):
            await driver.advance(end)
        assert asyncio.get_running_loop().time() - began_s < TOPICS_MAX_AGE_MS / 1000
    async with stream(cluster, failOnDataLoss="false") as driver:
        after = await driver.advance(end)
        assert spans(await driver.plan(end, after)) == [("t", 0, 0, 50)]


async def test_a_batch_planned_before_a_restart_is_read_as_planned() -> None:
    cluster = await started()
    await filled(cluster, "t", 10)
    async with stream(cluster) as driver:
        start = await driver.initial()
        end = await driver.advance(start)
    await filled(cluster, "t", 10)
    async with stream(cluster) as driver:
        assert spans(await driver.plan(start, end)) == [("t", 0, 0, 10)]


async def test_a_batch_planned_before_a_restart_leaves_out_what_retention_took() -> None:
    cluster = await started()
    await filled(cluster, "t", 30)
    async with stream(cluster) as driver:
        start = await driver.initial()
        end = await driver.advance(start)
    await cluster.topics["t"].partitions[0].delete_before(20)
    async with stream(cluster) as driver:
        with pytest.raises(DataLossError, match="t-0 starts at 20"):
            await driver.plan(start, end)
    async with stream(cluster, failOnDataLoss="false") as driver:
        assert spans(await driver.plan(start, end)) == [("t", 0, 20, 30)]


async def test_the_start_is_the_same_each_time_that_spark_asks() -> None:
    cluster = await started()
    await filled(cluster, "t", 30)
    async with stream(cluster) as driver:
        start = await driver.initial()
        await cluster.topics["t"].partitions[0].delete_before(20)
        assert await driver.initial() == start


async def test_only_partitions_with_a_backlog_are_asked_where_they_start() -> None:
    cluster = await started()
    await filled(cluster, "t", 10, 0)
    async with stream(cluster) as driver:
        start = await driver.initial()
        cluster.calls.clear()
        await driver.plan(start, await driver.advance(start))
        asked = [
            TopicPartition(one.topic, one.partition)
            for request in cluster.requests("ListOffsets")
            for one in request.partitions
            if one.spec == EARLIEST
        ]
        assert asked == [T0]


async def test_the_sizes_of_a_few_partitions_tell_those_of_all() -> None:
    cluster = await started()
    await filled(cluster, "t", *range(10, 110))
    async with stream(cluster, maxBytesPerTrigger="1000") as driver:
        await driver.advance(await driver.initial())
        assert len(cluster.requests("Fetch")) == SAMPLED_PARTITIONS_MAX


async def test_a_topic_that_is_just_being_created_is_waited_for() -> None:
    cluster = await started()

    async def create() -> None:
        await asyncio.sleep(1)
        await filled(cluster, "t", 5)

    async with stream(cluster) as driver:
        cluster.beside(create())
        start = await driver.initial()
        await cluster.rest()
        assert offsets(await driver.advance(start)) == {T0: 5}


async def test_a_topic_that_is_gone_is_not_waited_for_again_and_again() -> None:
    cluster = await started()
    await filled(cluster, "t", 10)
    await filled(cluster, "u", 10)
    async with stream(cluster, subscribe="t,u", failOnDataLoss="false") as driver:
        end = await driver.advance(await driver.initial())
        await cluster.delete("u")
        await asyncio.sleep(TOPICS_MAX_AGE_MS / 1000)
        end = await driver.advance(end)
        await asyncio.sleep(TOPICS_MAX_AGE_MS / 1000)
        began_s = asyncio.get_running_loop().time()
        assert await driver.advance(end) == end
        assert asyncio.get_running_loop().time() - began_s < 0.5


async def test_what_no_retry_helps_ends_the_stream_at_once() -> None:
    cluster = await started()
    await filled(cluster, "t", 10)
    async with stream(cluster) as driver:
        end = await driver.advance(await driver.initial())
        cluster.mishaps.append(Mishap("ListOffsets", code=common_pb2.INVALID_REQUEST))
        with pytest.raises(KafkaError):
            await driver.advance(end)


async def test_a_planned_batch_that_is_not_there_any_more_fails_or_is_cut() -> None:
    cluster = await started()
    await filled(cluster, "t", 20)
    cluster.kill(2)
    await cluster.fenced(2)
    await filled(cluster, "t", 10)
    async with stream(cluster) as driver:
        start = await driver.initial()
        end = await driver.advance(start)
    await cluster.leave_only(2)
    async with Admin(BOOTSTRAP, transport=cluster.direct) as admin:
        require_all(await admin.elect_leaders(["t"], unclean=True))
    async with stream(cluster) as driver:
        with pytest.raises(DataLossError, match="t-0 ends at 20, it was to be read up to 30"):
            await driver.plan(start, end)
    async with stream(cluster, failOnDataLoss="false") as driver:
        assert spans(await driver.plan(start, end)) == [("t", 0, 0, 20)]


async def test_ranges_are_split_as_the_options_ask() -> None:
    cluster = await started()
    await filled(cluster, "t", 40)
    async with stream(cluster, minPartitions="4") as driver:
        start = await driver.initial()
        pieces = await driver.plan(start, await driver.advance(start))
        assert spans(pieces) == [("t", 0, at, at + 10) for at in (0, 10, 20, 30)]
    async with stream(cluster, maxRecordsPerPartition="20") as driver:
        assert len(await driver.plan(start, await driver.advance(start))) == 2


async def test_a_start_at_offsets_the_partition_does_not_hold_fails_or_is_moved() -> None:
    cluster = await started()
    await filled(cluster, "t", 10)
    given = {"startingOffsets": '{"t": {"0": 11}}'}
    async with stream(cluster, **given) as driver:
        with pytest.raises(DataLossError, match="t-0 holds 0 to 10, not 11"):
            await driver.initial()
    async with stream(cluster, **given, failOnDataLoss="false") as driver:
        assert offsets(await driver.initial()) == {T0: 10}


async def test_a_start_by_time_is_the_first_record_of_then() -> None:
    cluster = await started()
    await filled(cluster, "t", 10)  # all of the time 1,000
    async with stream(cluster, startingTimestamp="1000") as driver:
        assert offsets(await driver.initial()) == {T0: 0}
    async with stream(cluster, startingTimestamp="1001") as driver:
        with pytest.raises(PlanError, match="no record as new as startingTimestamp 1001"):
            await driver.initial()


async def test_a_topic_that_never_was_is_told_at_the_start() -> None:
    cluster = await started()
    async with stream(cluster) as driver:
        with pytest.raises(PlanError, match='topic "t" does not exist'):
            await driver.initial()


async def test_a_pattern_may_match_nothing_yet() -> None:
    cluster = await started()
    async with stream(cluster, subscribePattern="t.*") as driver:
        start = await driver.initial()
        assert offsets(start) == {}
        assert await driver.advance(start) == start
        assert await driver.plan(start, start) == []
        await filled(cluster, "t", 2)
        await asyncio.sleep(TOPICS_MAX_AGE_MS / 1000)
        assert offsets(await driver.advance(start)) == {T0: 2}


async def test_a_leader_that_dies_delays_the_stream_and_does_not_end_it() -> None:
    cluster = await started()
    await filled(cluster, "t", 10, 10)
    async with stream(cluster) as driver:
        end = await driver.advance(await driver.initial())
        cluster.kill(1)
        assert await driver.advance(end) == end
        await cluster.failed_over()
        await filled(cluster, "t", 1, 1)
        assert offsets(await driver.advance(end)) == {T0: 11, T1: 11}


async def test_a_cluster_that_is_away_for_long_ends_the_stream() -> None:
    cluster = await started()
    await filled(cluster, "t", 10)
    async with stream(cluster) as driver:
        end = await driver.advance(await driver.initial())
        cluster.cut_off |= set(ADDRESSES.values())
        began_s = asyncio.get_running_loop().time()
        with pytest.raises(UnreachableError, match="no broker answers"):
            await driver.advance(end)
        assert 30 <= asyncio.get_running_loop().time() - began_s < 60
