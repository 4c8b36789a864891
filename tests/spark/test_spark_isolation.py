"""Spark's reads of committed records: plans end at the last stable offset, tasks drop the rest."""

from __future__ import annotations

import asyncio

import pytest
from tests.client.partition_transactions import Transactions
from tests.client.real_cluster import BOOTSTRAP, RealCluster, encoded, started
from tests.spark.spark_streams import stream

from tidelog.client.arrow.columns import decode_range
from tidelog.client.consuming.offset_ranges import OffsetRange
from tidelog.client.consuming.range_reader import RangeReader
from tidelog.client.records import TopicPartition
from tidelog.spark.option_values import OptionError
from tidelog.spark.options import BATCH_READ, Options
from tidelog.spark.planner import PlanError, parse_options, plan_ranges, resolve
from tidelog.spark.stream_options import StreamOptions

T0 = TopicPartition("t", 0)
UNCOMMITTED = {"kafka.isolation.level": "read_uncommitted"}


async def with_transactions(cluster: RealCluster) -> Transactions:
    """Offset 1 is aborted, 2 committed, 3 and 4 are markers, 5 is open; return its producer."""
    topic = await cluster.create("t")
    await topic.partitions[0].append(encoded([b"0"]))
    one, two = (Transactions(cluster, number, at=("t", 0)) for number in (70, 71))
    await one.send(b"1")
    await two.send(b"2")
    await one.end(is_commit=False)
    await two.end(is_commit=True)
    await two.send(b"5")
    return two


async def read(cluster: RealCluster, ranges: list[OffsetRange], **given: str) -> list[int]:
    """Offsets of the rows that the tasks of these ranges return."""
    options = StreamOptions.parse(
        {"subscribe": "t", "bootstrap.servers": BOOTSTRAP, "startingOffsets": "earliest", **given}
    )
    found: list[int] = []
    async with RangeReader(BOOTSTRAP, transport=cluster, config=options.client) as reader:
        for wanted in ranges:
            async for data in reader.chunks(wanted):
                for rows in decode_range(data, wanted, columns=["offset"]):
                    found += rows.column(0).to_pylist()
    return found


async def test_a_stream_reads_committed_records_and_others_once_they_are_decided() -> None:
    cluster = await started()
    two = await with_transactions(cluster)
    async with stream(cluster) as driver:
        start = await driver.initial()
        end = await driver.advance(start)
        assert end.offsets == {T0: 5}
        assert await read(cluster, await driver.plan(start, end)) == [0, 2]
        assert await driver.advance(end) == end
        await two.end(is_commit=True)
        await asyncio.sleep(10)
        after = await driver.advance(end)
        assert after.offsets == {T0: 7}
        assert await read(cluster, await driver.plan(end, after)) == [5]


async def test_a_stream_reads_all_records_if_told_so() -> None:
    cluster = await started()
    await with_transactions(cluster)
    async with stream(cluster, **UNCOMMITTED) as driver:
        start = await driver.initial()
        end = await driver.advance(start)
        assert end.offsets == {T0: 6}
        planned = await driver.plan(start, end)
        assert await read(cluster, planned, **UNCOMMITTED) == [0, 1, 2, 5]


async def test_a_micro_batch_may_begin_and_end_within_a_transaction() -> None:
    cluster = await started()
    await with_transactions(cluster)
    async with stream(cluster, maxOffsetsPerTrigger="1") as driver:
        start, found = await driver.initial(), []
        for _ in range(5):
            end = await driver.advance(start)
            found.append(await read(cluster, await driver.plan(start, end)))
            start = end
    assert found == [[0], [], [2], [], []]


async def test_a_limit_of_bytes_holds_though_the_next_records_are_aborted() -> None:
    cluster = await started()
    await cluster.create("t")
    one = Transactions(cluster, 70, at=("t", 0))
    await one.abort(*[b"v" * 1_000] * 10)
    for _ in range(3):
        await one.commit(*[b"v" * 1_000] * 10)
    async with stream(cluster, maxBytesPerTrigger="5000") as driver:
        end = await driver.advance(await driver.initial())
    assert 3 <= end.offsets[T0] <= 5


async def planned(cluster: RealCluster, **given: str) -> list[OffsetRange]:
    """Ranges of a batch read of "t", as its driver plans them."""
    options = parse_options({"subscribe": "t", "bootstrap.servers": BOOTSTRAP, **given})
    async with RangeReader(BOOTSTRAP, transport=cluster, config=options.client) as reader:
        topics = await reader.topics(["t"])
        bounds = await reader.bounds([T0])
        starts, ends = (resolve(edge, bounds, {}) for edge in (options.starting, options.ending))
        return plan_ranges(options, topics, bounds, starts=starts, ends=ends)


async def test_a_batch_ends_at_the_last_stable_offset_and_a_later_end_is_refused() -> None:
    cluster = await started()
    await with_transactions(cluster)
    assert [one.end_offset for one in await planned(cluster)] == [5]
    assert await read(cluster, await planned(cluster)) == [0, 2]
    within = await planned(cluster, startingOffsets='{"t": {"0": 1}}')
    assert await read(cluster, within) == [2]
    ending = {"endingOffsets": '{"t": {"0": 6}}'}
    with pytest.raises(PlanError, match="which holds 0 to 5"):
        await planned(cluster, **ending)
    everything = await planned(cluster, **ending, **UNCOMMITTED)
    assert await read(cluster, everything, **UNCOMMITTED) == [0, 1, 2, 5]


@pytest.mark.parametrize("given", ["committed", "READ_COMMITTED", ""])
def test_a_level_that_does_not_exist_is_refused(given: str) -> None:
    options = Options({"kafka.isolation.level": given}, known=BATCH_READ, purpose="a batch read")
    with pytest.raises(OptionError, match=r'kafka.isolation.level is "read_uncommitted" or'):
        options.client()
