"""A consumer that goes back to its group's committed offsets, as after an aborted transaction."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from tests.client.group_consumers import ALL, consumer, orders_cluster, places, read
from tests.client.real_cluster import BOOTSTRAP, RealCluster
from tests.node.group_calls import GroupCalls

from tidelog.client import Consumer
from tidelog.client.errors import InvalidGroupIdError

pytestmark = pytest.mark.asyncio


@pytest_asyncio.fixture
async def cluster() -> AsyncIterator[RealCluster]:
    yield await orders_cluster()


async def test_reads_from_committed_offsets_and_where_there_are_none_from_the_reset(
    cluster: RealCluster,
) -> None:
    async with consumer(cluster, enable_auto_commit=False) as reader:
        await reader.subscribe(["orders"])
        await read(reader, 20)
        await reader.commit({("orders", 0): 3, ("orders", 1): 5})
        await reader.seek_to_committed()
        rest = {(0, 3), (0, 4)} | {one for one in ALL if one[0] in (2, 3)}
        assert places(await read(reader, len(rest))) == rest


async def test_only_the_named_partitions_go_back(cluster: RealCluster) -> None:
    async with consumer(cluster, enable_auto_commit=False, auto_offset_reset="latest") as reader:
        await reader.subscribe(["orders"])
        while len(reader.assignment()) < 4:
            await reader.getmany(timeout_ms=100)
        reader.seek_to_beginning()
        await read(reader, 20)
        await reader.commit({("orders", 2): 4})
        await reader.seek_to_committed(("orders", 2), ("orders", 3))
        assert places(await read(reader, 1)) == {(2, 4)}
        assert await reader.getmany(timeout_ms=300) == []  # 3 is read from its end
        assert await reader.position(("orders", 3)) == 5


async def test_a_look_up_that_fails_moves_nothing(cluster: RealCluster) -> None:
    async with consumer(cluster, enable_auto_commit=False) as reader:
        await reader.subscribe(["orders"])
        await read(reader, 20)
        with pytest.raises(ValueError, match="not assigned"):
            await reader.seek_to_committed(("orders", 0), ("orders", 9))
        assert await reader.position(("orders", 0)) == 5
        assert await GroupCalls(cluster).committed() == {}
    async with Consumer(BOOTSTRAP, transport=cluster) as alone:
        alone.assign([("orders", 0)])
        with pytest.raises(InvalidGroupIdError):
            await alone.seek_to_committed()
