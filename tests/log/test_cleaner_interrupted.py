"""Cleanings that a crash, a truncation, retention or a close cuts short, at any step."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest
from structlog.testing import capture_logs
from tests.log.cleaned_logs import (
    Pair,
    StillClock,
    but,
    copied,
    held,
    keyed,
    newest,
    put,
    roll,
    unhurried,
)
from tests.log.partition_logs import DIRECTORY, OpenLog
from tests.log.power_cuts import ends, power_cuts

from tidelog.log import cleaner as cleaner_module
from tidelog.log.file_names import CLEANED
from tidelog.log.partition_log import PartitionLog
from tidelog.records.batch import iter_batches
from tidelog.records.compression import Codec
from tidelog.records.records import Record
from tidelog.simulation.engine.disk import SimDisk

RETENTION_MS = 1000
CONFIG: dict[str, Any] = {
    "cleanup_policy": ("compact",),
    "min_cleanable_dirty_ratio": 0.0,
    "delete_retention_ms": RETENTION_MS,
    "segment_bytes": 400,
    "index_interval_bytes": 100,
}
STEPS_MAX = 400
OPENING_STEPS = 17


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

    def cut(self, end_offset: int) -> Before:
        """What a power cut left of it."""
        records = [record for record in self.records if record.offset < end_offset]
        ends = [(epoch, min(end, end_offset)) for epoch, end in self.epoch_ends]
        return Before(records, end_offset, ends)

    def check(self, log: PartitionLog) -> None:
        """Every key has its newest value, nothing moved, nothing is made up, no gap."""
        assert log.damage is None
        found = held(log)
        assert set(found) <= set(self.records)
        assert newest(found) == newest(self.records)
        assert log.log_end_offset == self.end_offset
        assert Before.of(log).epoch_ends == self.epoch_ends[: log.latest_epoch + 1]
        check_clean_part(log)
        next_offset = 0
        for header, _ in iter_batches(copied(log)):
            assert header.base_offset == next_offset
            next_offset = header.next_offset
        assert next_offset == self.end_offset


def check_clean_part(log: PartitionLog) -> None:
    """A key is there but once: whoever drops its tombstone may rely on it."""
    keys = [record.key for record in held(log) if record.offset < log.first_dirty_offset]
    assert len(keys) == len(set(keys))


@pytest.mark.parametrize(("seed", "is_flushed"), [(0, True), (1, True), (2, False)])
async def test_power_cuts_in_a_cleaning_and_in_the_start_after_it_cost_no_key(
    open_log: OpenLog, seed: int, *, is_flushed: bool
) -> None:
    async def make(disk: SimDisk) -> PartitionLog:
        """One half was cleaned so long ago that its tombstones may go."""
        log = await open_log(on=disk, **CONFIG)
        fill(log, random.Random(seed), batches=4)
        await unhurried(StillClock()).run_once([log])
        fill(log, random.Random(seed + 1), batches=4)
        if is_flushed:
            await log.flush()
            await log.checkpoint()
        return log

    async def clean(log: PartitionLog) -> None:
        assert await unhurried(StillClock(RETENTION_MS)).run_once([log]) is not None

    before = Before.of(await make(SimDisk(random.Random(seed), 0.0)))
    starts = 0
    async for disk, _ in power_cuts(make, clean, fates=4):
        starts += 1
        disk.crash_at(starts % OPENING_STEPS + 1)
        await ends(open_log(on=disk, **CONFIG))
        disk.crash()
        log = await open_log(on=disk, **CONFIG)
        assert log.log_end_offset == before.end_offset or not is_flushed
        before.cut(log.log_end_offset).check(log)
        await unhurried(StillClock(RETENTION_MS)).run_once([log])
        before.cut(log.log_end_offset).check(log)


class Extremes:
    """Every part of a medium has seen all changes or none: what no sync holds together comes apart.

    Implements `Random`, as far as a simulated disk needs it.
    """

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def random(self) -> float:
        raise NotImplementedError

    def randbytes(self, length: int) -> bytes:
        raise NotImplementedError

    def randrange(self, start: int, stop: int) -> int:
        return self._random.choice((start, stop - 1))


@pytest.mark.parametrize("fate", range(10))
async def test_no_order_in_which_names_reach_the_medium_brings_replaced_segments_back(
    open_log: OpenLog, fate: int
) -> None:
    for step in range(1, STEPS_MAX):
        disk = SimDisk(Extremes(fate * STEPS_MAX + step), 0.0)
        log = await open_log(on=disk, **CONFIG)
        for number in range(2):
            put(log, (b"a", bytes(20 * number)))
            roll(log)
        await log.flush()
        await log.checkpoint()
        before = Before.of(log)
        disk.crash_at(step)
        has_ended = await ends(unhurried(StillClock()).run_once([log]))
        disk.crash()
        disk.crash_at((fate + step) % OPENING_STEPS + 1)
        await ends(open_log(on=disk, **CONFIG))
        disk.crash()
        before.check(await open_log(on=disk, **CONFIG))
        if has_ended:
            return
    raise AssertionError("the cleaning has no end")


Interruption = Callable[[PartitionLog], Awaitable[object]]


async def interrupted(
    open_log: OpenLog, monkeypatch: pytest.MonkeyPatch, *, steps: int, by: Interruption
) -> tuple[PartitionLog, Before, bool]:
    """A log whose cleaning was interrupted after some steps; whether it had not ended yet."""
    monkeypatch.setattr(cleaner_module, "_TURN_BYTES", 1)
    monkeypatch.setattr(cleaner_module, "_CHUNK_BYTES", 1)
    disk = SimDisk(random.Random(steps), 0.0)
    log = await open_log(on=disk, **CONFIG)
    fill(log, random.Random(5), batches=24)
    before = Before.of(log)
    log.config = replace(log.config, segment_bytes=1000)
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


async def test_a_truncation_at_any_step_costs_no_key_but_those_cut_off(
    open_log: OpenLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def truncate(log: PartitionLog) -> None:
        # Into the last segment that may be cleaned: all of them are still there.
        await log.truncate_to(log.segments[-2].next_offset - 1)
        for number in range(8):
            log.append_as_leader(keyed((b"key-%d" % number, b"uncommitted")), leader_epoch=9)

    for log, before in await steps_of(open_log, monkeypatch, truncate):
        cut = log.high_watermark
        assert log.first_dirty_offset <= cut
        await log.truncate_to(cut)
        check_clean_part(log)
        found = held(log)
        assert set(found) <= set(before.records)
        # The newest of a key may be cut off after it hid the others: as if it was cleaned before.
        cut_off = {record.key for record in before.records if record.offset >= cut}
        below = newest(record for record in before.records if record.offset < cut)
        assert below.keys() - cut_off <= {record.key for record in found}


async def test_the_batch_that_a_truncation_makes_the_last_of_its_producer_stays(
    open_log: OpenLog, monkeypatch: pytest.MonkeyPatch, disk: SimDisk
) -> None:
    monkeypatch.setattr(cleaner_module, "_TURN_BYTES", 1)
    log = await open_log(**CONFIG | {"segment_bytes": 5000})
    for sequence in range(2):
        for _ in range(50):
            put(log, (b"a", b""))
        batch = but(keyed((b"a", b"")), producer_id=7, producer_epoch=0, base_sequence=sequence)
        log.append_as_leader(batch, leader_epoch=0)
        roll(log)
    cleaning = asyncio.create_task(unhurried(StillClock()).run_once([log]))
    await until_rewriting(disk)
    await log.truncate_to(60)

    await cleaning
    found = [(header.producer_id, header.base_offset) for header, _ in iter_batches(copied(log))]
    assert (7, 50) in found
    assert log.segments[0].size < 400


async def until_rewriting(disk: SimDisk) -> None:
    """Let a cleaning come to its last pass."""
    for _ in range(STEPS_MAX):
        if any(name.endswith(CLEANED) for name in disk.list(DIRECTORY)):
            return
        await asyncio.sleep(0)
    raise AssertionError("nothing is rewritten")


async def test_retention_at_any_step_takes_whole_segments_only(
    open_log: OpenLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def delete(log: PartitionLog) -> None:
        await log.delete_records(6)

    for log, before in await steps_of(open_log, monkeypatch, delete):
        found = held(log)
        assert log.log_start_offset == 6
        assert set(found) <= set(before.records)
        assert newest(found) == newest(r for r in before.records if r.offset >= 6)
        check_clean_part(log)


async def test_a_close_at_any_step_leaves_a_log_that_opens_clean(
    open_log: OpenLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def close(log: PartitionLog) -> None:
        await log.close()

    for log, before in await steps_of(open_log, monkeypatch, close):
        assert not any(name.endswith(CLEANED) for name in log._disk.list(log.directory))
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
    await until_rewriting(disk)
    cleaning.cancel()
    await asyncio.gather(cleaning, return_exceptions=True)

    assert cleaning.cancelled()
    assert not any(name.endswith(CLEANED) for name in disk.list(log.directory))
    before.check(log)
