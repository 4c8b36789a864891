"""Consumers that subscribe by pattern in a group, asynchronous and synchronous."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from tests.client.group_consumers import consumer, read
from tests.client.patience import until
from tests.client.real_cluster import RealCluster, encoded, started
from tests.node.group_calls import GroupCalls

from tidelog.client.consuming.pattern_text import pattern_text
from tidelog.client.errors import InvalidRegularExpressionError

pytestmark = pytest.mark.asyncio


@pytest_asyncio.fixture
async def cluster() -> AsyncIterator[RealCluster]:
    cluster = await started()
    for name in ("orders.eu", "orders.us", "Stock"):
        await fill(cluster, name)
    yield cluster


async def fill(cluster: RealCluster, name: str) -> None:
    topic = await cluster.create(name, partitions=1)
    await topic.partitions[0].append(encoded([name.encode()]))


async def test_a_pattern_reads_every_topic_that_matches_new_ones_too(cluster: RealCluster) -> None:
    async with consumer(cluster) as reader:
        await reader.subscribe(pattern=r"orders\..*")
        assert {one.topic for one in await read(reader, 2)} == {"orders.eu", "orders.us"}
        await fill(cluster, "orders.asia")
        assert [one.topic for one in await read(reader, 1)] == ["orders.asia"]
    assert await GroupCalls(cluster).committed() == {
        (name, 0): 1 for name in ("orders.eu", "orders.us", "orders.asia")
    }


async def test_names_and_a_pattern_go_together(cluster: RealCluster) -> None:
    async with consumer(cluster) as reader:
        await reader.subscribe("Stock", pattern=".*eu")
        assert {one.topic for one in await read(reader, 2)} == {"orders.eu", "Stock"}


async def test_a_compiled_pattern_keeps_its_flags(cluster: RealCluster) -> None:
    async with consumer(cluster) as reader:
        await reader.subscribe(pattern=re.compile("stoc.", re.IGNORECASE))
        assert [one.topic for one in await read(reader, 1)] == ["Stock"]
    assert pattern_text(re.compile("a")) == "a"
    assert pattern_text(re.compile("(?i)a")) == "(?i)a"
    with pytest.raises(ValueError, match="flags"):
        pattern_text(re.compile("a b", re.VERBOSE))


async def test_a_refused_pattern_is_raised_by_the_next_read_and_another_one_joins(
    cluster: RealCluster,
) -> None:
    async with consumer(cluster) as reader:
        await reader.subscribe(pattern="(a+)+")
        for _ in range(2):
            with pytest.raises(InvalidRegularExpressionError, match="backtrack without bound"):
                await reader.getmany(timeout_ms=10_000)
        await reader.subscribe(pattern="orders[.]eu")
        assert [one.topic for one in await read(reader, 1)] == ["orders.eu"]
        await reader.subscribe(pattern="orders[.")
        with pytest.raises(InvalidRegularExpressionError, match="without its ]"):
            await read(reader, 1)


async def test_nothing_to_subscribe_to_is_refused_at_once(cluster: RealCluster) -> None:
    async with consumer(cluster) as reader:
        with pytest.raises(ValueError, match="by their names, to a pattern"):
            await reader.subscribe()


async def test_unsubscribe_leaves_the_group(cluster: RealCluster) -> None:
    async with consumer(cluster) as reader:
        await reader.subscribe(pattern="orders.*")
        await read(reader, 2)
        await reader.unsubscribe()
        assert reader.assignment() == set()
        assert len((await GroupCalls(cluster).describe()).members) == 0
        await reader.subscribe(["Stock"])
        assert [one.topic for one in await read(reader, 1)] == ["Stock"]


async def test_two_share_what_their_pattern_matches(cluster: RealCluster) -> None:
    async with consumer(cluster) as first, consumer(cluster) as second:
        for one in (first, second):
            await one.subscribe(pattern="orders.*")
        await until(lambda: len(first.assignment()) == len(second.assignment()) == 1)
        assert first.assignment().isdisjoint(second.assignment())
