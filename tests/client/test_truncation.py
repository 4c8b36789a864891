"""A consumer notices that records it has read are gone, and says from where on (KIP-320)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.client.loop_peers import LoopPeers
from tests.client.real_cluster import BOOTSTRAP, RealCluster, encoded, started
from tests.client.real_topics import RealPartition

from tidelog.client import Admin, Consumer, errors, require_all
from tidelog.net.transport import Transport

WAIT_MS = 5_000


async def cluster_with(*values: int, keep: int) -> RealCluster:
    """Broker 2 holds the first `keep` values only: it is down when the others are appended."""
    cluster = await started()
    state = (await cluster.create("t")).partitions[0]
    await append(state, *values[:keep])
    cluster.kill(2)
    await cluster.fenced(2)
    await append(state, *values[keep:])
    return cluster


async def append(state: RealPartition, *values: int) -> None:
    for value in values:
        await state.append(encoded([b"%d" % value]))


async def elect_uncleanly(cluster: RealCluster, *, then: list[int]) -> None:
    """Broker 2 leads, with what it was to keep only, and takes others."""
    await cluster.leave_only(2)
    async with Admin(BOOTSTRAP, transport=cluster.direct) as admin:
        require_all(await admin.elect_leaders(["t"], unclean=True))
    await cluster.settle()
    await append(cluster.topics["t"].partitions[0], *then)


def consumer(cluster: Transport, **options: Any) -> Consumer:  # options of Consumer
    made = Consumer(
        BOOTSTRAP, transport=cluster, fetch_max_wait_ms=20, retry_backoff_ms=1, **options
    )
    made.assign([("t", 0)])
    return made


async def read(c: Consumer, count: int) -> list[int]:
    values: list[int] = []
    async with asyncio.timeout(WAIT_MS / 1000):
        while len(values) < count:
            values += [int(r.value or b"-1") for r in await c.getmany(timeout_ms=WAIT_MS)]
    return values


@pytest.mark.parametrize("then", [[], [70], [70, 71, 72, 73, 74, 75]])
async def test_without_a_policy_it_is_an_error_that_says_where_the_log_parts(
    then: list[int],
) -> None:
    cluster = await cluster_with(0, 1, 2, 3, 4, keep=3)
    async with consumer(cluster, auto_offset_reset="none") as c:
        c.seek(("t", 0), 0)
        await read(c, 5)
        await elect_uncleanly(cluster, then=then)
        for _ in range(2):
            with pytest.raises(errors.LogTruncationError, match="t-0 from offset 3 on") as caught:
                await c.getmany(timeout_ms=WAIT_MS)
        assert caught.value.divergent_offset == 3
        assert await c.position(("t", 0)) == 5
        c.seek(("t", 0), caught.value.divergent_offset)
        await cluster.topics["t"].partitions[0].append(encoded([b"99"]))
        assert (await read(c, len(then) + 1)) == [*then, 99]


@pytest.mark.parametrize("policy", ["earliest", "latest"])
async def test_with_a_policy_reading_goes_on_where_the_log_parts(policy: str) -> None:
    cluster = await cluster_with(0, 1, 2, 3, 4, keep=2)
    async with consumer(cluster, auto_offset_reset=policy) as c:
        c.seek(("t", 0), 0)
        await read(c, 5)
        await elect_uncleanly(cluster, then=[70, 71, 72, 73])
        assert await read(c, 4) == [70, 71, 72, 73]


async def test_what_the_application_was_not_handed_is_replaced_without_a_word() -> None:
    cluster = await cluster_with(0, 1, 2, 3, 4, keep=3)
    async with consumer(cluster, auto_offset_reset="none") as c:
        c.seek(("t", 0), 0)
        assert [r.value for r in await c.getmany(timeout_ms=WAIT_MS, max_records=2)] == [b"0", b"1"]
        await elect_uncleanly(cluster, then=[70, 71])
        async with asyncio.timeout(WAIT_MS / 1000):
            while cluster.requests("Fetch")[-1].partitions[0].fetch_offset != 2:  # noqa: ASYNC110
                await asyncio.sleep(0)  # a turn of the loop
        assert await read(c, 3) == [2, 70, 71]
        assert await c.position(("t", 0)) == 5


async def test_an_epoch_that_the_leader_does_not_know_is_gone_as_a_whole() -> None:
    """Its leader wrote records that no other had: the next one's are of another epoch."""
    cluster = await cluster_with(0, 1, keep=2)
    await cluster.move("t", 0, leader_id=3)
    await append(cluster.topics["t"].partitions[0], 2, 3)
    async with consumer(cluster, auto_offset_reset="none") as c:
        c.seek(("t", 0), 0)
        await read(c, 4)
        await elect_uncleanly(cluster, then=[70, 71, 72])
        with pytest.raises(errors.LogTruncationError) as caught:
            await c.getmany(timeout_ms=WAIT_MS)
        assert caught.value.divergent_offset == 2


async def test_a_clean_election_is_no_truncation() -> None:
    cluster = await started()
    state = (await cluster.create("t")).partitions[0]
    await append(state, 0, 1, 2)
    async with consumer(cluster, auto_offset_reset="none") as c:
        c.seek(("t", 0), 0)
        await read(c, 3)
        cluster.kill(1)
        await cluster.failed_over()
        await append(state, 3, 4)
        await cluster.move("t", 0, leader_id=3)
        assert await read(c, 2) == [3, 4]


async def test_truncation_may_be_an_error_though_there_is_a_policy() -> None:
    cluster = await cluster_with(0, 1, 2, 3, 4, keep=3)
    async with consumer(cluster, auto_offset_reset="earliest", on_truncation="raise") as c:
        await read(c, 5)
        await elect_uncleanly(cluster, then=[70, 71])
        with pytest.raises(errors.LogTruncationError) as caught:
            await c.getmany(timeout_ms=WAIT_MS)
        c.seek(("t", 0), caught.value.divergent_offset)
        assert await read(c, 2) == [70, 71]
        c.seek(("t", 0), 99)
        assert (await read(c, 5))[0] == 0, "out of range is the policy's all the same"


async def test_truncation_may_be_passed_over_though_there_is_no_policy() -> None:
    cluster = await cluster_with(0, 1, 2, 3, 4, keep=3)
    async with consumer(cluster, auto_offset_reset="none", on_truncation="reset") as c:
        c.seek(("t", 0), 0)
        await read(c, 5)
        await elect_uncleanly(cluster, then=[70, 71])
        assert await read(c, 2) == [70, 71]
        c.seek(("t", 0), 99)
        with pytest.raises(errors.OffsetOutOfRangeError):
            await c.getmany(timeout_ms=WAIT_MS)


async def test_an_unknown_way_to_answer_truncation_is_refused() -> None:
    with pytest.raises(ValueError, match="on_truncation='ignore'"):
        consumer(LoopPeers({}), on_truncation="ignore")
