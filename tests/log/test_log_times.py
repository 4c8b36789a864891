"""Offsets by time, and the newest record, against a look at every record (KIP-79, KIP-734)."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
from tests.log.cleaned_logs import StillClock
from tests.log.partition_logs import (
    DIRECTORY,
    END,
    OpenLog,
    append,
    base_offsets,
    batches,
    segment_path,
)

from tidelog.core.errors import DamagedLogError
from tidelog.log.file_names import TIME_INDEX
from tidelog.log.partition_log import PartitionLog, TimestampedOffset
from tidelog.records.compression import Codec
from tidelog.records.records import iter_records
from tidelog.simulation.engine.disk import SimDisk

SMALL: dict[str, Any] = {"segment_bytes": 400, "index_interval_bytes": 100}


def fill(log: PartitionLog, rng: random.Random, *, count: int = 30) -> None:
    """Batches of several records whose times go up and down, some of one time, in all codecs."""
    for place in range(count):
        size = rng.randrange(1, 5)
        times = [max(0, 10 * place + rng.randrange(-60, 60)) // 5 * 5 for _ in range(size)]
        codec = rng.choice(list(Codec))
        epoch = max(log.latest_epoch, place // 7)
        append(log, *[b"value"] * size, times=times, codec=codec, epoch=epoch)


def model(log: PartitionLog) -> list[TimestampedOffset]:
    return [
        TimestampedOffset(record.offset, record.timestamp, header.partition_leader_epoch)
        for header, data in batches(log)
        for record in iter_records(data)
        if record.offset >= log.log_start_offset
    ]


def assert_found(log: PartitionLog) -> None:
    """For every time and every bound."""
    held = model(log)
    times = sorted({one.timestamp_ms + step for one in held for step in (-1, 0, 1)})
    for bound in range(log.log_start_offset, log.log_end_offset + 2):
        below = [one for one in held if one.offset < bound]
        newest = max(below, key=lambda one: (one.timestamp_ms, -one.offset), default=None)
        assert log.offset_of_max_timestamp(upper_bound=bound) == newest
        for time_ms in times[:: 1 if bound > log.log_end_offset else 9]:
            first = next((one for one in below if one.timestamp_ms >= time_ms), None)
            assert log.offset_for_time(time_ms, upper_bound=bound) == first


@pytest.mark.parametrize("seed", range(4))
async def test_the_first_record_of_a_time_and_the_newest_are_found(
    disk: SimDisk, open_log: OpenLog, seed: int
) -> None:
    log = await open_log(**SMALL)
    fill(log, random.Random(seed))
    assert len(log.segments) > 4
    assert_found(log)
    await log.close()
    assert_found(await open_log(**SMALL))


@pytest.mark.parametrize("seed", range(4))
async def test_they_are_found_in_what_is_left(open_log: OpenLog, seed: int) -> None:
    rng = random.Random(seed)
    log = await open_log(**SMALL)
    fill(log, rng)
    for start in sorted(rng.sample(range(log.log_end_offset), 3)):
        await log.delete_records(start)
        assert_found(log)
    await log.truncate_to(rng.randrange(log.log_start_offset, log.log_end_offset))
    assert_found(log)
    fill(log, rng, count=5)
    assert_found(log)


@pytest.mark.parametrize("seed", range(4))
async def test_they_are_found_without_time_indexes_and_with_wrong_ones(
    disk: SimDisk, open_log: OpenLog, seed: int
) -> None:
    rng = random.Random(seed)
    log = await open_log(**SMALL)
    fill(log, rng)
    await log.close()
    for base in base_offsets(disk, DIRECTORY):
        file = disk.open(segment_path(DIRECTORY, base, TIME_INDEX))
        if seed and file.size():
            file.write_at(rng.randrange(file.size()), rng.randbytes(1))
        else:
            file.truncate(0)
    assert_found(await open_log(**SMALL))


async def test_append_time_is_what_counts(open_log: OpenLog, clock: StillClock) -> None:
    log = await open_log(message_timestamp_type="LogAppendTime", **SMALL)
    rng = random.Random(1)
    for _ in range(20):
        clock.now_ms += rng.choice([0, 3, -2])
        append(log, b"a", b"b", times=[rng.randrange(1000), rng.randrange(1000)])
    assert_found(log)


async def test_an_empty_log_has_no_record_of_any_time(open_log: OpenLog) -> None:
    log = await open_log()
    for _ in range(2):
        assert log.offset_for_time(0, upper_bound=END) is None
        assert log.offset_of_max_timestamp(upper_bound=END) is None
        append(log, b"a", b"b")
        await log.delete_records(2)


Ask = Callable[[PartitionLog], object]


@pytest.mark.parametrize(
    "ask",
    [
        lambda log: log.offset_for_time(3, upper_bound=END),
        lambda log: log.offset_of_max_timestamp(upper_bound=END),
    ],
)
async def test_a_damaged_batch_gives_no_answer(disk: SimDisk, open_log: OpenLog, ask: Ask) -> None:
    log = await open_log()
    append(log, b"a", times=[5])
    disk.flip(segment_path(DIRECTORY, 0), 65, 0)
    with pytest.raises(DamagedLogError):
        ask(log)
    assert log.damage is not None
    disk.flip(segment_path(DIRECTORY, 0), 65, 0)
    with pytest.raises(DamagedLogError):
        ask(log)
