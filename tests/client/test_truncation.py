"""A consumer notices that records it has read are gone, and says from where on (KIP-320)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.client.fake_cluster import BOOTSTRAP, FakeCluster, encoded

from tidelog.client import Consumer, errors

WAIT_MS = 5_000


def cluster_with(*values: int) -> FakeCluster:
    cluster = FakeCluster()
    state = cluster.create("t").partitions[0]
    for value in values:
        state.append(encoded([b"%d" % value]))
    return cluster


def elect_uncleanly(cluster: FakeCluster, *, keep: int, then: list[int]) -> None:
    """The new leader holds the first `keep` records only, and takes others."""
    state = cluster.topics["t"].partitions[0]
    state.truncate_to(keep)
    cluster.move("t", 0, leader_id=2)
    for value in then:
        state.append(encoded([b"%d" % value]))


def consumer(cluster: FakeCluster, **options: Any) -> Consumer:  # options of Consumer
    made = Consumer(
        BOOTSTRAP, transport=cluster, fetch_max_wait_ms=20, retry_backoff_ms=1, **options
    )
    made.assign([("t", 0)])
    return made


async def read(c: Consumer, count: int) -> list[int]:
    values: list[int] = []
    while len(values) < count:
        values += [int(r.value or b"-1") for r in await c.getmany(timeout_ms=WAIT_MS)]
    return values


@pytest.mark.parametrize("then", [[], [70], [70, 71, 72, 73, 74, 75]])
async def test_without_a_policy_it_is_an_error_that_says_where_the_log_parts(
    then: list[int],
) -> None:
    cluster = cluster_with(0, 1, 2, 3, 4)
    async with consumer(cluster, auto_offset_reset="none") as c:
        c.seek(("t", 0), 0)
        await read(c, 5)
        elect_uncleanly(cluster, keep=3, then=then)
        for _ in range(2):
            with pytest.raises(errors.LogTruncationError, match="t-0 from offset 3 on") as caught:
                await c.getmany(timeout_ms=WAIT_MS)
        assert caught.value.divergent_offset == 3
        assert await c.position(("t", 0)) == 5
        c.seek(("t", 0), caught.value.divergent_offset)
        cluster.topics["t"].partitions[0].append(encoded([b"99"]))
        assert (await read(c, len(then) + 1)) == [*then, 99]


@pytest.mark.parametrize("policy", ["earliest", "latest"])
async def test_with_a_policy_reading_goes_on_where_the_log_parts(policy: str) -> None:
    cluster = cluster_with(0, 1, 2, 3, 4)
    async with consumer(cluster, auto_offset_reset=policy) as c:
        c.seek(("t", 0), 0)
        await read(c, 5)
        elect_uncleanly(cluster, keep=2, then=[70, 71, 72, 73])
        assert await read(c, 4) == [70, 71, 72, 73]


async def test_what_the_application_was_not_handed_is_replaced_without_a_word() -> None:
    cluster = cluster_with(0, 1, 2, 3, 4)
    async with consumer(cluster, auto_offset_reset="none") as c:
        c.seek(("t", 0), 0)
        assert [r.value for r in await c.getmany(timeout_ms=WAIT_MS, max_records=2)] == [b"0", b"1"]
        elect_uncleanly(cluster, keep=3, then=[70, 71])
        while cluster.requests("Fetch")[-1].partitions[0].fetch_offset != 2:  # noqa: ASYNC110
            await asyncio.sleep(0)  # a turn of the loop
        assert await read(c, 3) == [2, 70, 71]
        assert await c.position(("t", 0)) == 5


async def test_an_epoch_that_the_leader_does_not_know_is_gone_as_a_whole() -> None:
    """Its leader wrote records that no other had: the next one's are of another epoch."""
    cluster = cluster_with(0, 1)
    cluster.move("t", 0, leader_id=3)
    state = cluster.topics["t"].partitions[0]
    for value in (2, 3):
        state.append(encoded([b"%d" % value]))
    async with consumer(cluster, auto_offset_reset="none") as c:
        c.seek(("t", 0), 0)
        await read(c, 4)
        elect_uncleanly(cluster, keep=2, then=[70, 71, 72])
        with pytest.raises(errors.LogTruncationError) as caught:
            await c.getmany(timeout_ms=WAIT_MS)
        assert caught.value.divergent_offset == 2


async def test_a_clean_election_is_no_truncation() -> None:
    cluster = cluster_with(0, 1, 2)
    async with consumer(cluster, auto_offset_reset="none") as c:
        c.seek(("t", 0), 0)
        await read(c, 3)
        elect_uncleanly(cluster, keep=3, then=[3, 4])
        cluster.move("t", 0, leader_id=3)
        assert await read(c, 2) == [3, 4]


async def test_truncation_may_be_an_error_though_there_is_a_policy() -> None:
    cluster = cluster_with(0, 1, 2, 3, 4)
    async with consumer(cluster, auto_offset_reset="earliest", on_truncation="raise") as c:
        await read(c, 5)
        elect_uncleanly(cluster, keep=3, then=[70, 71])
        with pytest.raises(errors.LogTruncationError) as caught:
            await c.getmany(timeout_ms=WAIT_MS)
        c.seek(("t", 0), caught.value.divergent_offset)
        assert await read(c, 2) == [70, 71]
        c.seek(("t", 0), 99)
        assert (await read(c, 5))[0] == 0, "out of range is the policy's all the same"


async def test_truncation_may_be_passed_over_though_there_is_no_policy() -> None:
    cluster = cluster_with(0, 1, 2, 3, 4)
    async with consumer(cluster, auto_offset_reset="none", on_truncation="reset") as c:
        c.seek(("t", 0), 0)
        await read(c, 5)
        elect_uncleanly(cluster, keep=3, then=[70, 71])
        assert await read(c, 2) == [70, 71]
        c.seek(("t", 0), 99)
        with pytest.raises(errors.OffsetOutOfRangeError):
            await c.getmany(timeout_ms=WAIT_MS)


async def test_an_unknown_way_to_answer_truncation_is_refused() -> None:
    with pytest.raises(ValueError, match="on_truncation='ignore'"):
        consumer(FakeCluster(), on_truncation="ignore")
