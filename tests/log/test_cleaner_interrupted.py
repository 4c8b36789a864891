"""Cleanings that a crash, a truncation, retention or a close cuts short, at any step."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest
from cleaned_logs import Pair, StillClock, copied, held, newest, put, unhurried
from partition_logs import OpenLog
from structlog.testing import capture_logs

from tidelog.chaos.sim_stage.disk import SimDisk
from tidelog.chaos.sim_stage.disk_faults import PowerCutError
from tidelog.log import cleaner as cleaner_module
from tidelog.log.batch import iter_batches
from tidelog.log.compression import Codec
from tidelog.log.file_names import CLEANED
from tidelog.log.partition_log import PartitionLog
from tidelog.log.records import Record

RETENTION_MS = 1000
CONFIG: dict[str, Any] = {
    "cleanup_policy": ("compact",),
    "min_cleanable_dirty_ratio": 0.0,
    "delete_retention_ms": RETENTION_MS,
    "segment_bytes": 400,
    "index_interval_bytes": 100,
}
STEPS_MAX = 400


def fill(log: PartitionLog, rng: random.Random, *, batches: int = 12) -> None:
    """Keys that come again, some deleted, in several segments and epochs."""
    for number in range(batches):
        pairs: list[Pair] = [
            (b"key-%d" % rng.randrange(8), rng.choice([None, rng.randbytes(rng.randrange(40))]))
            for _ in range(rng.randrange(1, 4))
        ]
        put(log, *pairs, epoch=number // 4, codec=rng.choice([Codec.NONE, Codec.LZ4]))


@dataclass
class Before:
    """A log as it was before a cleaning."""

    records: list[Record]
    end_offset: int
    epoch_ends: list[tuple[int, int]]

    @classmethod
    def of(cls, log: PartitionLog) -> Before:
        epochs = range(log.latest_epoch + 1)
        ends = [log.epoch_end_offset(epoch) for epoch in epochs]
        return cls(held(log), log.log_end_offset, ends)

    def check(self, log: PartitionLog) -> None:
        """Every key has its newest value, nothing moved, nothing is made up, no gap."""
        assert log.damage is None
        found = held(log)
        assert set(found) <= set(self.records)
        assert newest(found) == newest(self.records)
        assert Before.of(log) == replace(self, records=found)
        next_offset = 0
        for header, _ in iter_batches(copied(log)):
            assert header.base_offset == next_offset
            next_offset = header.next_offset
        assert next_offset == self.end_offset


async def dirty_log(open_log: OpenLog, disk: SimDisk, clock: StillClock, seed: int) -> PartitionLog:
    """A flushed log of which one half was cleaned, so long ago that its tombstones may go."""
    log = await open_log(on=disk, **CONFIG)
    fill(log, random.Random(seed))
    assert await unhurried(clock).run_once([log]) is not None
    clock.now_ms += RETENTION_MS
    fill(log, random.Random(seed + 1))
    await log.flush()
    await log.checkpoint()
    return log


async def ends(cleaning: Awaitable[object]) -> bool:
    """Whether it does before the power goes."""
    try:
        assert await cleaning is not None
    except PowerCutError:
        return False
    return True


@pytest.mark.parametrize("seed", range(3))
async def test_a_crash_at_any_step_of_a_cleaning_loses_nothing(
    open_log: OpenLog, seed: int
) -> None:
    for step in range(1, STEPS_MAX):
        disk, clock = SimDisk(random.Random(seed * STEPS_MAX + step), 0.0), StillClock()
        log = await dirty_log(open_log, disk, clock, seed)
        before = Before.of(log)
        disk.crash_at(step)
        if await ends(unhurried(clock).run_once([log])):
            before.check(log)
            assert step > 30
            return
        disk.crash()
        log = await open_log(on=disk, **CONFIG)
        before.check(log)
        await unhurried(clock).run_once([log])
        before.check(log)
    raise AssertionError("the cleaning has no end")


Interruption = Callable[[PartitionLog], Awaitable[object]]


async def interrupted(
    open_log: OpenLog, monkeypatch: pytest.MonkeyPatch, *, steps: int, by: Interruption
) -> tuple[PartitionLog, Before, bool]:
    """A log whose cleaning was interrupted after some steps; whether it had not ended yet."""
    monkeypatch.setattr(cleaner_module, "_TURN_BYTES", 1)
    disk = SimDisk(random.Random(steps), 0.0)
    log = await open_log(on=disk, **CONFIG)
    fill(log, random.Random(5))
    before = Before.of(log)
    cleaning = asyncio.create_task(unhurried(StillClock()).run_once([log]))
    for _ in range(steps):
        await asyncio.sleep(0)
    was_running = not cleaning.done()
    with capture_logs() as lines:
        await by(log)
        await cleaning
    assert not [line for line in lines if line["log_level"] in {"error", "warning"}]
    return log, before, was_running


async def steps_of(
    open_log: OpenLog, monkeypatch: pytest.MonkeyPatch, by: Interruption
) -> list[tuple[PartitionLog, Before]]:
    """The interruption at every step of a cleaning."""
    found = []
    for steps in range(STEPS_MAX):
        log, before, was_running = await interrupted(open_log, monkeypatch, steps=steps, by=by)
        found.append((log, before))
        if not was_running:
            assert steps > 30
            return found
    raise AssertionError("the cleaning has no end")


async def test_a_truncation_at_any_step_keeps_what_lies_below(
    open_log: OpenLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    end = 20

    async def truncate(log: PartitionLog) -> None:
        await log.truncate_to(end)
        for number in range(10):
            put(log, (b"since-%d" % number, b"then"), epoch=9)

    for log, before in await steps_of(open_log, monkeypatch, truncate):
        found, since = held(log)[:-10], held(log)[-10:]
        cut = since[0].offset
        assert set(found) <= set(before.records)
        assert log.first_dirty_offset <= cut
        # A key may be lost with its newest record, as if the log had been cleaned before the cut.
        cut_off = {record.key for record in before.records if record.offset >= cut}
        below = newest(record for record in before.records if record.offset < cut)
        assert below.keys() - cut_off <= {record.key for record in found}

        there = newest(held(log))
        await unhurried(StillClock(RETENTION_MS)).run_once([log])
        assert newest(held(log)) == there


async def test_retention_at_any_step_takes_whole_segments_only(
    open_log: OpenLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def delete(log: PartitionLog) -> None:
        await log.delete_records(20)

    for log, before in await steps_of(open_log, monkeypatch, delete):
        found = held(log, start=20)
        assert log.log_start_offset == 20
        assert set(found) <= set(before.records)
        assert newest(found) == newest(r for r in before.records if r.offset >= 20)


async def test_a_close_at_any_step_leaves_a_log_that_opens_clean(
    open_log: OpenLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def close(log: PartitionLog) -> None:
        await log.close()

    for log, before in await steps_of(open_log, monkeypatch, close):
        reopened = await open_log(on=log._disk, **CONFIG)
        assert reopened.was_clean
        before.check(reopened)


async def test_appends_go_on_meanwhile(open_log: OpenLog, monkeypatch: pytest.MonkeyPatch) -> None:
    async def append(log: PartitionLog) -> None:
        put(log, (b"key-1", b"last"))

    for log, before in await steps_of(open_log, monkeypatch, append):
        assert newest(held(log)) == newest(before.records) | {b"key-1": b"last"}


async def test_a_cancelled_cleaning_leaves_no_file_behind(
    open_log: OpenLog, monkeypatch: pytest.MonkeyPatch, disk: SimDisk
) -> None:
    monkeypatch.setattr(cleaner_module, "_TURN_BYTES", 1)
    log = await open_log(**CONFIG)
    fill(log, random.Random(5))
    before = Before.of(log)
    cleaning = asyncio.create_task(unhurried(StillClock()).run_once([log]))
    for _ in range(STEPS_MAX):
        await asyncio.sleep(0)
        if any(name.endswith(CLEANED) for name in disk.list(log.directory)):
            cleaning.cancel()

    assert cleaning.cancelled()
    assert not any(name.endswith(CLEANED) for name in disk.list(log.directory))
    before.check(log)
