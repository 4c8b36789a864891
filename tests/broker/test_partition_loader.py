"""Whole partitions read by coordinators, while everything happens to them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from tests.broker.recorded_leaderships import Recorder, led
from tests.broker.replica_stage import CONFIG, TOPIC, ReplicaStage
from tests.log.partition_logs import batch

from tidelog.broker.partition.partition_loader import LoadEnd, PartitionSlice
from tidelog.broker.replica_manager import ReplicaManager
from tidelog.core.errors import StorageError, TidelogError
from tidelog.log.cleaner import CleanerConfig
from tidelog.records.records import Record, encode_batch
from tidelog.v1 import common_pb2

pytestmark = pytest.mark.sim

SEGMENT = f"/data/{TOPIC}-0/00000000000000000000.log"
BATCH_BYTES = len(batch(b"0"))
CONFIG = replace(
    CONFIG, load_buffer_size=2 * BATCH_BYTES + 10, cleaner=CleanerConfig(backoff_ms=100)
)
Between = Callable[[int, ReplicaManager], object]


async def prepare(stage: ReplicaStage, count: int = 10, **configs: Any) -> Recorder:
    """A partition with records 0, 1, …, a batch each, on all replicas."""
    stage.create(min_insync_replicas=2, **configs)
    await stage.until_opened(1, 2, 3)
    recorder = await led(stage)
    for number in range(count):
        await stage.must_produce(1, b"%d" % number)
    await stage.until_equal(1, 2, 3)
    return recorder


async def load(
    stage: ReplicaStage,
    recorder: Recorder,
    until: LoadEnd = LoadEnd.LOG_END,
    *,
    between: Between = lambda _, __: None,
) -> list[PartitionSlice]:
    """All slices; `between` is done after each, awaited where it returns something to await."""
    found: list[PartitionSlice] = []
    leadership = recorder.leadership

    async def run(manager: ReplicaManager) -> TidelogError | None:
        try:
            async for one in manager.loader.slices(leadership, until):
                found.append(one)
                work = between(len(found), manager)
                if asyncio.iscoroutine(work):
                    await work
        except TidelogError as error:
            return error
        return None

    failure = await stage.on(1, run)
    if failure is not None:
        raise failure
    return found


def values(slices: list[PartitionSlice]) -> list[bytes | None]:
    return [record.value for one in slices for record in one.read_records()]


def numbers(start: int, end: int) -> list[bytes]:
    return [b"%d" % number for number in range(start, end)]


def test_records_come_once_in_slices_of_bounded_size() -> None:
    async def story(stage: ReplicaStage) -> None:
        recorder = await prepare(stage)
        found = await load(stage, recorder)
        assert values(found) == numbers(0, 10)
        assert [one.start_offset for one in found] == [0, 2, 4, 6, 8]
        assert [one.next_offset for one in found] == [2, 4, 6, 8, 10]
        assert max(len(one.records) for one in found) <= CONFIG.load_buffer_size

    ReplicaStage(CONFIG).run(story)


def test_a_batch_that_is_larger_than_a_slice_passes() -> None:
    async def story(stage: ReplicaStage) -> None:
        recorder = await prepare(stage, count=1)
        await stage.must_produce(1, b"x" * 1000)
        assert values(await load(stage, recorder)) == [b"0", b"x" * 1000]

    ReplicaStage(CONFIG).run(story)


def test_what_is_not_committed_is_read_up_to_the_log_end_and_not_up_to_the_high_watermark() -> None:
    async def story(stage: ReplicaStage) -> None:
        recorder = await prepare(stage)
        stage.cut(1)
        await stage.produce(1, b"10", acks=1)
        assert values(await load(stage, recorder)) == numbers(0, 11)
        assert values(await load(stage, recorder, LoadEnd.HIGH_WATERMARK)) == numbers(0, 10)

    ReplicaStage(CONFIG).run(story)


def test_an_empty_partition_has_no_slice() -> None:
    async def story(stage: ReplicaStage) -> None:
        assert await load(stage, await prepare(stage, count=0)) == []

    ReplicaStage(CONFIG).run(story)


def test_a_load_ends_though_records_are_appended_all_the_time() -> None:
    async def story(stage: ReplicaStage) -> None:
        recorder = await prepare(stage)

        def append(number: int, manager: ReplicaManager) -> None:
            for _ in range(5):
                manager.writer.append(recorder.leadership, batch(b"new %d" % number))

        found = values(await load(stage, recorder, between=append))
        assert found[:10] == numbers(0, 10)
        assert len(found) <= 12

    ReplicaStage(CONFIG).run(story)


def test_records_that_are_deleted_meanwhile_are_left_out() -> None:
    async def story(stage: ReplicaStage) -> None:
        recorder = await prepare(stage)

        async def delete(number: int, _: ReplicaManager) -> None:
            if number == 1:
                await stage.hosted(1).log.delete_records(7)

        assert values(await load(stage, recorder, between=delete)) == [b"0", b"1", b"7", b"8", b"9"]

    ReplicaStage(CONFIG).run(story)


def test_a_load_ends_when_all_it_lacks_is_deleted() -> None:
    async def story(stage: ReplicaStage) -> None:
        recorder = await prepare(stage)

        async def delete(_: int, __: ReplicaManager) -> None:
            await stage.hosted(1).log.delete_records(10)

        assert values(await load(stage, recorder, between=delete)) == [b"0", b"1"]

    ReplicaStage(CONFIG).run(story)


def test_a_log_start_within_a_batch_hides_the_records_before_it() -> None:
    async def story(stage: ReplicaStage) -> None:
        recorder = await prepare(stage, count=0)
        await stage.must_produce(1, *numbers(0, 5))
        await stage.must_produce(1, *numbers(5, 7))
        await stage.until_equal(1, 2, 3)
        assert (await stage.delete_records(1, 3)).error.code == common_pb2.NONE
        assert values(await load(stage, recorder)) == numbers(3, 7)

    ReplicaStage(CONFIG).run(story)


def test_the_newest_value_of_each_key_is_found_in_a_log_that_is_compacted_meanwhile() -> None:
    async def story(stage: ReplicaStage) -> None:
        recorder = await prepare(
            stage,
            count=0,
            cleanup_policy="compact",
            segment_bytes=400,
            min_cleanable_dirty_ratio="0.01",
        )
        log = stage.hosted(1).log

        def replace_values(manager: ReplicaManager) -> None:
            for number in range(40):
                key, value = b"key %d" % (number % 3), b"%d" % number
                records = encode_batch([Record(0, 1, key, value)])
                manager.writer.append(recorder.leadership, records)

        async def write(manager: ReplicaManager) -> None:
            replace_values(manager)

        async def compact(number: int, manager: ReplicaManager) -> None:
            if number == 1:
                replace_values(manager)
                await asyncio.sleep(2)
                assert log.first_dirty_offset > 50, "beyond where the load was to end at first"

        await stage.on(1, write)
        await stage.until(lambda: log.high_watermark == 40)
        found = await load(stage, recorder, LoadEnd.HIGH_WATERMARK, between=compact)
        state = {record.key: record.value for one in found for record in one.read_records()}
        end = found[-1].next_offset
        assert end > 50
        written = [number for _ in range(2) for number in range(40)][:end]
        assert state == {b"key %d" % (number % 3): b"%d" % number for number in written}

    ReplicaStage(CONFIG).run(story)


@pytest.mark.parametrize(
    ("is_deleted", "code"),
    [(False, common_pb2.FENCED_LEADER_EPOCH), (True, common_pb2.UNKNOWN_TOPIC_ID)],
)
def test_a_load_is_over_when_the_leadership_is(is_deleted: bool, code: int) -> None:
    async def story(stage: ReplicaStage) -> None:
        recorder = await prepare(stage)
        seen: list[int] = []

        async def depose(number: int, _: ReplicaManager) -> None:
            seen.append(number)
            if is_deleted:
                stage.delete()
            else:
                stage.elect(2, isr=(1, 2, 3))
            await asyncio.sleep(0.01)

        with pytest.raises(TidelogError) as raised:
            await load(stage, recorder, between=depose)
        assert raised.value.code == code
        assert seen == [1]

    ReplicaStage(CONFIG).run(story)


def test_what_a_slow_disk_read_before_the_leadership_ended_is_not_given() -> None:
    async def story(stage: ReplicaStage) -> None:
        recorder = await prepare(stage)
        stage.disk(1).faults.slow_reads(f"/data/{TOPIC}-0/", 1.0)
        seen: list[int] = []
        loading = asyncio.create_task(
            load(stage, recorder, between=lambda number, _: seen.append(number))
        )
        await asyncio.sleep(0.2)
        stage.elect(2, isr=(1, 2, 3))
        with pytest.raises(TidelogError) as raised:
            await loading
        assert raised.value.code == common_pb2.FENCED_LEADER_EPOCH
        assert seen == []

    ReplicaStage(CONFIG).run(story)


def test_damage_ends_the_load_and_the_leadership() -> None:
    async def story(stage: ReplicaStage) -> None:
        recorder = await prepare(stage)
        leadership, disk = recorder.leadership, stage.disk(1)
        disk.flip(SEGMENT, disk.size(SEGMENT) // 2, 3)

        seen: list[int] = []
        with pytest.raises(StorageError):
            await load(stage, recorder, between=lambda number, _: seen.append(number))
        assert seen == [1, 2]
        await stage.until(lambda: recorder.ended == [leadership])

    ReplicaStage(CONFIG).run(story)


def test_a_slow_disk_holds_up_the_load_and_nothing_else() -> None:
    async def story(stage: ReplicaStage) -> None:
        recorder = await prepare(stage)
        stage.disk(1).faults.slow_reads(f"/data/{TOPIC}-0/", 0.5)
        began_s = stage.scheduler.now_s
        ticks: list[float] = []

        async def run(manager: ReplicaManager) -> float:
            async def tick() -> None:
                while True:
                    ticks.append(stage.scheduler.now_s)
                    await asyncio.sleep(0.1)

            ticking = asyncio.create_task(tick())
            async for _ in manager.loader.slices(recorder.leadership, LoadEnd.LOG_END):
                pass
            ticking.cancel()
            return stage.scheduler.now_s - began_s

        assert await stage.on(1, run) >= 0.5
        gaps = [after - before for before, after in pairwise(ticks)]
        assert max(gaps) < 0.2

    ReplicaStage(CONFIG).run(story)


def test_other_work_has_the_loop_between_two_slices() -> None:
    async def story(stage: ReplicaStage) -> None:
        recorder = await prepare(stage)

        async def run(manager: ReplicaManager) -> list[int]:
            turns, seen = [0], list[int]()

            async def count() -> None:
                while True:
                    turns[0] += 1
                    await asyncio.sleep(0)

            counting = asyncio.create_task(count())
            async for _ in manager.loader.slices(recorder.leadership, LoadEnd.LOG_END):
                seen.append(turns[0])
            counting.cancel()
            return seen

        seen = await stage.on(1, run)
        assert len(set(seen)) == len(seen) == 5

    ReplicaStage(CONFIG).run(story)
