"""The cleaner on real logs: what it keeps, what it leaves alone, and what does not stop it."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from structlog.testing import capture_logs
from tests.log.cleaned_logs import (
    MIB,
    StillClock,
    but,
    copied,
    held,
    keyed,
    marker,
    newest,
    put,
    roll,
    transactional,
    unhurried,
)
from tests.log.partition_logs import DIRECTORY, OpenLog, base_offsets

from tidelog.core.chance import SeededRandom
from tidelog.core.errors import OutOfOrderSequenceError, StorageError
from tidelog.log.cleaner import CleanerConfig, CleaningResult, LogCleaner
from tidelog.log.compaction import BYTES_PER_KEY
from tidelog.log.config import LogConfig
from tidelog.log.file_names import CLEANED, SNAPSHOT, offsets_in
from tidelog.log.partition_log import PartitionLog
from tidelog.records.batch import iter_batches
from tidelog.records.compression import Codec
from tidelog.simulation.engine.disk import SimDisk
from tidelog.simulation.engine.scheduler import Scheduler
from tidelog.simulation.engine.trace import Trace

A, B, C = b"a", b"b", b"c"
V, W = b"value", b"newer"
COMPACT: dict[str, Any] = {"cleanup_policy": ("compact",), "min_cleanable_dirty_ratio": 0.0}
RETENTION_MS = 86_400_000


@pytest.fixture
def clock() -> StillClock:
    return StillClock(1_000_000)


@pytest.fixture
def cleaner(clock: StillClock) -> LogCleaner:
    return unhurried(clock)


async def test_each_key_keeps_its_newest_record_where_it_was(
    open_log: OpenLog, cleaner: LogCleaner
) -> None:
    log = await open_log(**COMPACT)
    put(log, (A, V), (B, V), codec=Codec.LZ4)
    put(log, (C, V), (A, W), codec=Codec.ZSTD, epoch=3)
    put(log, (C, W))
    roll(log)
    before = held(log)

    with capture_logs() as lines:
        result = await cleaner.run_once([log])

    assert held(log) == [record for record in before if record.offset not in (0, 2)]
    for start in range(log.log_end_offset + 1):
        assert held(log, start=start) == [r for r in held(log) if r.offset >= start]
    assert log.epoch_end_offset(2) == (0, 2)
    assert result is not None
    assert (result.first_dirty_offset, result.end_offset, result.records_dropped) == (0, 5, 2)
    assert result.bytes_before - result.bytes_after == 2 * len(keyed((A, V))) - 2 * 61 > 0
    assert [line["event"] for line in lines] == ["log cleaned"]
    assert lines[0]["end_offset"] == log.first_dirty_offset == 5


async def test_a_clean_log_is_not_cleaned_again(open_log: OpenLog, cleaner: LogCleaner) -> None:
    log = await open_log(**COMPACT)
    put(log, (A, V), (A, W))
    roll(log)

    assert await cleaner.run_once([log]) is not None
    assert await cleaner.run_once([log]) is None


async def test_the_filthiest_log_comes_first(open_log: OpenLog, cleaner: LogCleaner) -> None:
    logs = [await open_log(directory=f"/data/t-{i}", **COMPACT) for i in range(3)]
    for log in logs:
        put(log, (A, V), (A, W))
        roll(log)
    while await cleaner.run_once(logs):
        pass
    for log, count in zip(logs, (1, 9, 4), strict=True):
        for _ in range(count):
            put(log, (A, W))
        roll(log)

    found = [await cleaner.run_once(logs) for _ in range(4)]

    assert [result and result.directory for result in found] == [
        "/data/t-1",
        "/data/t-2",
        "/data/t-0",
        None,
    ]


async def test_only_compacted_logs_that_are_dirty_enough_are_cleaned(
    open_log: OpenLog, cleaner: LogCleaner, clock: StillClock
) -> None:
    log = await open_log(cleanup_policy=("delete",), min_cleanable_dirty_ratio=0.0)
    put(log, (A, V), (A, W))
    roll(log)
    assert await cleaner.run_once([log]) is None

    log.config = replace(log.config, cleanup_policy=("compact", "delete"))
    assert await unhurried(clock, enable=False).run_once([log]) is None

    log.config = replace(log.config, min_cleanable_dirty_ratio=1.0, max_compaction_lag_ms=500)
    clock.now_ms = 1001 + 500
    assert await cleaner.run_once([log]) is None
    clock.now_ms += 1
    assert await cleaner.run_once([log]) is not None


async def test_a_record_that_is_not_committed_hides_nothing(
    open_log: OpenLog, cleaner: LogCleaner
) -> None:
    log = await open_log(**COMPACT)
    put(log, (A, V))
    roll(log)
    log.append_as_leader(keyed((A, W)), leader_epoch=0)
    log.append_as_leader(keyed((B, W)), leader_epoch=0)
    log.config = replace(log.config, segment_bytes=1)
    log.append_as_leader(keyed((B, W)), leader_epoch=0)
    assert len(log.segments) == 3

    await cleaner.run_once([log])
    await log.truncate_to(log.high_watermark)

    assert newest(held(log))[A] == V


async def test_an_open_transaction_and_what_follows_it_are_left_alone(
    open_log: OpenLog, cleaner: LogCleaner
) -> None:
    log = await open_log(**COMPACT)
    put(log, (A, V), (A, V))
    log.append_as_follower(transactional((A, W), at=2))
    roll(log)
    before = copied(log)

    assert await cleaner.run_once([log]) is None
    assert copied(log) == before


async def test_a_log_of_which_nothing_is_decided_yet_leaves_the_turn_to_the_next(
    open_log: OpenLog, cleaner: LogCleaner
) -> None:
    undecided, other = [await open_log(directory=f"/data/{i}-0", **COMPACT) for i in range(2)]
    undecided.append_as_follower(transactional((A, W), at=0))
    roll(undecided)
    undecided.append_as_follower(marker(at=2, is_commit=True))
    undecided.set_high_watermark(3)
    put(other, (A, V), (A, W))
    roll(other)

    results = [await cleaner.run_once([undecided, other]) for _ in range(2)]

    assert [result and result.directory for result in results] == ["/data/1-0", None]
    assert undecided.first_dirty_offset == 0


async def test_small_segments_become_one(
    open_log: OpenLog, cleaner: LogCleaner, disk: SimDisk
) -> None:
    log = await open_log(**COMPACT)
    for _ in range(5):
        put(log, (A, V))
        roll(log)

    await cleaner.run_once([log])

    assert base_offsets(disk, DIRECTORY) == [0, log.segments[-1].base_offset]
    assert len(log.segments) == 2
    assert offsets_in(disk.list(DIRECTORY), SNAPSHOT) == [log.segments[-1].base_offset]


async def test_tombstones_go_a_retention_after_their_first_cleaning(
    open_log: OpenLog, cleaner: LogCleaner, clock: StillClock
) -> None:
    log = await open_log(**COMPACT, delete_retention_ms=RETENTION_MS)
    put(log, (A, V))
    put(log, (A, None))
    found = []
    for wait_ms in (0, RETENTION_MS - 1, 1):
        clock.now_ms += wait_ms
        put(log, (B, V))
        roll(log)
        await cleaner.run_once([log])
        found.append([record.value for record in held(log) if record.key == A])

    assert found == [[None], [None], []]


async def test_a_small_map_cleans_in_rounds(open_log: OpenLog, clock: StillClock) -> None:
    log = await open_log(**COMPACT)
    for value in (V, W):
        put(log, *((b"%d" % number, value) for number in range(10)))
    roll(log)
    cleaner = unhurried(clock, dedupe_buffer_size=3 * BYTES_PER_KEY)
    ends = []
    while result := await cleaner.run_once([log]):
        ends.append(result.end_offset)

    assert ends == [3, 6, 9, 12, 15, 18, 20]
    assert [record.offset for record in held(log)] == list(range(10, 21))


async def test_what_a_producer_did_last_is_known_after_a_cleaning_and_a_crash(
    open_log: OpenLog, cleaner: LogCleaner, disk: SimDisk
) -> None:
    log = await open_log(**COMPACT)
    for sequence in range(3):
        fields = {"producer_id": 7, "producer_epoch": 0, "base_sequence": sequence}
        log.append_as_leader(but(keyed((A, V)), **fields), leader_epoch=0)
    put(log, (A, W))
    roll(log)
    await cleaner.run_once([log])
    await log.close()
    for name in disk.list(DIRECTORY):
        if name.endswith((SNAPSHOT, ".clean")):
            disk.remove(f"{DIRECTORY}/{name}")

    log = await open_log(**COMPACT)

    assert held(log)[0].offset == 3
    repeated = log.append_as_leader(but(keyed((A, V)), **fields), leader_epoch=0)
    assert (repeated.is_duplicate, repeated.base_offset) == (True, 2)
    with pytest.raises(OutOfOrderSequenceError):
        log.append_as_leader(but(keyed((A, V)), **fields | {"base_sequence": 9}), leader_epoch=0)


async def test_a_follower_that_copies_a_cleaned_log_equals_it(
    open_log: OpenLog, cleaner: LogCleaner
) -> None:
    leader = await open_log(**COMPACT)
    for number in range(6):
        put(leader, (A, V), (B, None), epoch=number // 2)
        put(leader, (A, W))
        put(leader, (b"%d" % number, V), codec=Codec.GZIP)
    roll(leader)
    await cleaner.run_once([leader])

    follower = await open_log(directory="/data/follower-0", **COMPACT)
    for header, batch in iter_batches(copied(leader)):
        follower.append_as_follower(bytes(batch))
        assert follower.log_end_offset == header.next_offset

    assert copied(follower) == copied(leader)
    assert held(follower) == held(leader)
    for epoch in range(4):
        assert follower.epoch_end_offset(epoch) == leader.epoch_end_offset(epoch)


async def test_offsets_by_time_are_of_records_that_are_still_there(
    open_log: OpenLog, cleaner: LogCleaner
) -> None:
    log = await open_log(**COMPACT)
    put(log, (A, V), time_ms=9000)
    put(log, (B, V), time_ms=5000)
    put(log, (A, W), time_ms=6000)
    roll(log)
    await cleaner.run_once([log])
    end = log.log_end_offset

    by_time = log.offset_for_time(5500, upper_bound=end)
    newest_record = log.offset_of_max_timestamp(upper_bound=end)

    assert by_time is not None
    assert (by_time.offset, by_time.timestamp_ms) == (2, 6000)
    assert newest_record is not None
    assert (newest_record.offset, newest_record.timestamp_ms) == (2, 6000)
    assert log.offset_for_time(7000, upper_bound=end) is None


# What goes wrong


@pytest.mark.parametrize("ratio", [0.0, 1.0])
async def test_a_damaged_log_is_reported_and_others_are_cleaned(
    open_log: OpenLog, cleaner: LogCleaner, disk: SimDisk, ratio: float
) -> None:
    bad, good = [await open_log(directory=f"/data/{name}-0", **COMPACT) for name in ("x", "y")]
    bad.config = replace(bad.config, min_cleanable_dirty_ratio=ratio, max_compaction_lag_ms=1)
    for log in (bad, good):
        put(log, (A, V), (A, W))
        roll(log)
    disk.flip(bad.segments[0].file.path, 70, 3)

    with capture_logs() as lines:
        results = [await cleaner.run_once([bad, good]) for _ in range(2)]

    assert results[1:] == [None]
    assert results[0] is not None
    assert results[0].directory == "/data/y-0"
    assert bad.damage is not None
    assert bad.damage.first_bad_offset == 0
    assert [line["event"] for line in lines] == ["log damaged", "log cleaned"]


async def test_a_log_that_cannot_be_cleaned_is_left_alone_until_it_is_opened_anew(
    open_log: OpenLog, cleaner: LogCleaner
) -> None:
    bad, good = [await open_log(directory=f"/data/{name}-0", **COMPACT) for name in ("x", "y")]
    bad.append_as_follower(but(keyed((A, V)), records_count=5, last_offset_delta=4))
    for log in (bad, good):
        put(log, (A, V), (A, W))
        roll(log)
    before = copied(bad)

    with capture_logs() as lines:
        results = [await cleaner.run_once([bad, good]) for _ in range(2)]
        await bad.close()
        reopened = await open_log(directory="/data/x-0", **COMPACT)
        await cleaner.run_once([reopened])

    assert [result and result.directory for result in results] == ["/data/y-0", None]
    events = [line["event"] for line in lines if line["event"] != "log opened"]
    assert events == ["log cannot be cleaned", "log cleaned", "log cannot be cleaned"]
    assert "CorruptMessageError" in lines[0]["error"]
    assert copied(reopened) == before


async def test_a_full_disk_leaves_the_log_as_it_was(
    open_log: OpenLog, cleaner: LogCleaner, disk: SimDisk
) -> None:
    log = await open_log(**COMPACT)
    put(log, *((b"%d" % number, b"v" * 100) for number in range(100)))
    put(log, (b"1", V))
    roll(log)
    before = copied(log)
    disk.capacity_bytes = disk.used_bytes() + 100

    with capture_logs() as lines:
        assert await cleaner.run_once([log]) is None

    assert [line["event"] for line in lines] == ["log cannot be cleaned"]
    assert not [name for name in disk.list(DIRECTORY) if name.endswith(CLEANED)]
    assert copied(log) == before
    disk.capacity_bytes = None
    put(log, (A, V))


async def test_a_log_without_service_is_passed_over(
    open_log: OpenLog, cleaner: LogCleaner, disk: SimDisk
) -> None:
    log = await open_log(**COMPACT)
    put(log, (A, V), (A, W))
    roll(log)
    disk.faults.fail("write", log.segments[-1].file.path)
    with pytest.raises(StorageError):
        put(log, (A, V))

    with capture_logs() as lines:
        assert await cleaner.run_once([log]) is None

    assert lines == []


# Its share of the machine


async def test_others_on_the_loop_get_their_turn_between_batches(
    open_log: OpenLog, cleaner: LogCleaner
) -> None:
    log = await open_log(**COMPACT)
    for _ in range(20):
        put(log, (A, b"v" * 40_000))
    roll(log)
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    counting = asyncio.create_task(count())
    await cleaner.run_once([log])
    counting.cancel()

    assert turns > 3 * 20


def test_the_throttle_bounds_what_is_read_and_written_in_a_second() -> None:
    scheduler = Scheduler(trace=Trace())
    loop = scheduler.new_loop("node")

    async def main() -> tuple[CleaningResult | None, float]:
        log = await PartitionLog.open(
            directory=DIRECTORY,
            disk=SimDisk(SeededRandom(1), 0.0),
            clock=loop.clock,
            config=LogConfig(**COMPACT),
            topic_id=bytes(16),
        )
        for number in range(64):
            put(log, (b"%d" % (number % 32), b"v" * (MIB >> 5)))
        roll(log)
        began_s = loop.time()
        cleaner = LogCleaner(loop.clock, CleanerConfig(io_max_bytes_per_second=MIB))
        return await cleaner.run_once([log]), loop.time() - began_s

    result, took_s = scheduler.run(loop, main())
    scheduler.close()

    # Two MiB are read three times, the newer one is written: seven seconds, but for the last turn.
    assert result is not None
    assert took_s == pytest.approx(7, rel=0.05)
