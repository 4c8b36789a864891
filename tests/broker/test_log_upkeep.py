"""Upkeep in the background: throttled, and a log that fails holds up no other."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from replica_stage import CONFIG, TOPIC, ReplicaStage

pytestmark = pytest.mark.sim

RATE = 10_000
SLOW = replace(CONFIG, log_scrub_bytes_per_second=RATE, log_scrub_interval_ms=20_000)


def segment(partition: int) -> str:
    return f"/data/{TOPIC}-{partition}/00000000000000000000.log"


async def two_partitions(stage: ReplicaStage) -> None:
    """Of 20 kB each, flushed, on broker 1."""
    stage.create(replicas=(1,), partitions=2, flush_messages=1)
    await stage.until_opened(1)
    await stage.until(lambda: stage.hosted(1, 1).is_open)
    for partition in (0, 1):
        for _ in range(20):
            await stage.produce(1, b"x" * 930, partition=partition)


def damage(stage: ReplicaStage, partition: int) -> None:
    stage.disk(1).flip(segment(partition), 10_000, 0)


def damaged(stage: ReplicaStage) -> int:
    return int(stage.manager(1).stats()["damaged_partitions"])


async def seconds_until_damaged(stage: ReplicaStage) -> float:
    loop = asyncio.get_running_loop()
    started_s = loop.time()
    await stage.until(lambda: damaged(stage) > 0, within_s=100)
    return loop.time() - started_s


def test_the_scrub_reads_no_faster_than_it_may_and_begins_a_round_no_sooner() -> None:
    async def story(stage: ReplicaStage) -> None:
        await two_partitions(stage)
        await asyncio.sleep(10)
        assert damaged(stage) == 0
        damage(stage, 1)
        # The round that ran is over; in the next one the other log comes first.
        assert 20 - 11 + 2 - 1 < await seconds_until_damaged(stage) < 20 + 3

    ReplicaStage(SLOW).run(story)


def test_a_log_that_grows_faster_than_the_scrub_reads_holds_up_no_other() -> None:
    async def story(stage: ReplicaStage) -> None:
        await two_partitions(stage)

        async def keep_producing() -> None:
            while True:
                await stage.produce(1, b"x" * 930, partition=0)
                await asyncio.sleep(0.01)

        producing = asyncio.create_task(keep_producing())
        damage(stage, 1)
        assert await seconds_until_damaged(stage) < 60
        producing.cancel()

    ReplicaStage(replace(SLOW, log_scrub_interval_ms=0)).run(story)


def test_without_a_rate_nothing_is_scrubbed() -> None:
    async def story(stage: ReplicaStage) -> None:
        await two_partitions(stage)
        damage(stage, 1)
        await asyncio.sleep(100)
        assert damaged(stage) == 0

    ReplicaStage(replace(SLOW, log_scrub_bytes_per_second=0)).run(story)


def test_a_log_that_fails_at_its_upkeep_holds_up_no_other() -> None:
    async def story(stage: ReplicaStage) -> None:
        stage.create(replicas=(1,), partitions=3, flush_ms=1000)
        await stage.until_opened(1)
        await stage.until(lambda: stage.hosted(1, 2).is_open)
        for partition in range(3):
            await stage.produce(1, b"x", partition=partition)
        stage.disk(1).faults.fail("sync", segment(0))
        sound = stage.hosted(1, 2).log
        for _ in range(3):
            await stage.until(lambda: sound.recovery_point == sound.log_end_offset)
            await stage.produce(1, b"x", partition=2)
        assert stage.manager(1).stats()["offline_replicas"] == 1

    ReplicaStage().run(story)
