"""Upkeep in the background: throttled, and a log that fails holds up no other."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from tests.broker.replica_stage import CONFIG, TOPIC, ReplicaStage

from tidelog.broker.partition import log_upkeep
from tidelog.broker.partition.log_upkeep import LogUpkeep
from tidelog.broker.partition.replica_config import ReplicaConfig
from tidelog.core.background import Background
from tidelog.core.config_types import MAX_I64
from tidelog.core.system import SystemClock

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


class Held:
    """A partition that counts what is done to its log."""

    def __init__(self, *, flush_ms: int = MAX_I64) -> None:
        self.is_sound = True
        self.tended = 0
        self.log: Any = SimpleNamespace(
            config=SimpleNamespace(flush_ms=flush_ms, is_compacted=False),
            recovery_point=0,
            log_end_offset=1,
            is_flush_overdue=False,
            has_deleted_files=lambda: False,
        )

    async def tend(self, _work: Callable[[Any], Awaitable[object]]) -> None:
        self.tended += 1


def upkeep_of(
    held: list[Held], monkeypatch: pytest.MonkeyPatch, **intervals: int
) -> tuple[LogUpkeep, Background]:
    """Every kind of work each hour, but for those given."""
    hourly = dict.fromkeys(
        (
            "high_watermark_checkpoint_interval_ms",
            "log_retention_check_interval_ms",
            "log_flush_scheduler_interval_ms",
            "log_deleted_check_interval_ms",
        ),
        3_600_000,
    )
    monkeypatch.setattr(LogUpkeep, "_clean", lambda _: asyncio.sleep(0))
    config = replace(
        ReplicaConfig(log_scrub_bytes_per_second=0),
        **{**hourly, **intervals},  # type: ignore[arg-type]  # all are numbers
    )
    partitions: Any = SimpleNamespace(held=dict(enumerate(held)))
    upkeep = LogUpkeep(partitions=partitions, config=config, clock=SystemClock())
    background = Background(lambda error: pytest.fail(repr(error)))
    upkeep.start(background)
    return upkeep, background


@pytest.mark.parametrize(
    "kind", ["high_watermark_checkpoint_interval_ms", "log_flush_scheduler_interval_ms"]
)
async def test_of_a_thousand_logs_those_that_were_touched_are_looked_at(
    monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setattr(log_upkeep, "ALL_TOUCHED_MS", 3_600_000)
    held = [Held() for _ in range(1_000)]
    upkeep, background = upkeep_of(held, monkeypatch, **{kind: 1})
    await asyncio.sleep(0.02)
    at_first = sum(one.tended for one in held)
    for number in (3, 500, 999):
        upkeep.touch(held[number])  # type: ignore[arg-type]  # what it needs of one
    await asyncio.sleep(0.02)
    assert sum(one.tended for one in held) == at_first + 3
    assert at_first <= log_upkeep.LOGS_PER_STEP_MAX, "the first step of the round over all"
    await background.stop()


async def test_every_log_is_looked_at_once_in_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_upkeep, "ALL_TOUCHED_MS", 20)
    held = [Held() for _ in range(100)]
    _, background = upkeep_of(held, monkeypatch, high_watermark_checkpoint_interval_ms=1)
    async with asyncio.timeout(5):
        while not all(one.tended for one in held):  # noqa: ASYNC110  # of a fake
            await asyncio.sleep(0.001)
    await background.stop()


async def test_a_log_with_flush_ms_is_looked_at_until_it_is_flushed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(log_upkeep, "ALL_TOUCHED_MS", 3_600_000)
    held = [Held(flush_ms=1_000)]
    upkeep, background = upkeep_of(held, monkeypatch, log_flush_scheduler_interval_ms=1)
    upkeep.touch(held[0])  # type: ignore[arg-type]  # what it needs of one
    async with asyncio.timeout(5):
        while held[0].tended < 3:  # noqa: ASYNC110  # of a fake
            await asyncio.sleep(0.001)
    held[0].log.recovery_point = 1
    await asyncio.sleep(0.01)
    before = held[0].tended
    await asyncio.sleep(0.02)
    assert held[0].tended == before
    await background.stop()


async def test_files_are_removed_where_there_are_some(monkeypatch: pytest.MonkeyPatch) -> None:
    held = [Held() for _ in range(10)]
    held[7].log.has_deleted_files = lambda: True
    _, background = upkeep_of(held, monkeypatch, log_deleted_check_interval_ms=1)
    await asyncio.sleep(0.02)
    assert held[7].tended
    assert not any(one.tended for number, one in enumerate(held) if number != 7)
    await background.stop()
