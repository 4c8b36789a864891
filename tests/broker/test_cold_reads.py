"""Reads that wait for the disk: they hold up nobody, and what was decided before is not served."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any, cast

import pytest
from tests.broker.replica_stage import CONFIG, TOPIC, ReplicaStage, values_in

from tidelog.broker.partition.late_loads import LATE_LOADS_MAX, LateLoads, Load
from tidelog.broker.partition.partition import Partition
from tidelog.broker.replication import fetch_session
from tidelog.broker.replication.fetch_session import LOAD_WAIT_MS_MIN, LOADS_MAX
from tidelog.core.memory_reads import Loaded
from tidelog.net.transport import Stream
from tidelog.v1 import common_pb2
from tidelog.v1.data_pb2 import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    ForgottenPartition,
    ListOffsetsRequest,
    PartitionFetchResult,
)
from tidelog.v1.methods import FETCH_STREAM

pytestmark = pytest.mark.sim

LEADER, OTHER = 1, 2
READ_S = 4.0
AT_ONCE_S = 0.1
WAIT_MS = 20_000
"""Longer than any read here takes."""
Story = Callable[[ReplicaStage], Coroutine[Any, Any, None]]


def run(story: Story, *, partitions: int = 2, waiting_reads_max: int = 256) -> None:
    async def whole(stage: ReplicaStage) -> None:
        stage.create(partitions=partitions)
        await stage.until_opened(1, 2, 3)
        held = stage.manager(LEADER)._partitions.held
        await stage.until(lambda: all(one.replica.leader is not None for one in held.values()))
        await story(stage)

    ReplicaStage(replace(CONFIG, waiting_reads_max=waiting_reads_max)).run(whole)


def slow_down(stage: ReplicaStage, *partitions: int) -> None:
    """Let all reads of these on the leader take long."""
    for partition in partitions:
        stage.disk(LEADER).faults.slow_reads(f"/data/{TOPIC}-{partition}/", READ_S)


async def stream_to(stage: ReplicaStage) -> Stream[FetchRequest, FetchResponse]:
    return await stage._peers.open_stream(f"broker-{LEADER}:1", FETCH_STREAM)


def at(offset: int, partition: int = 0) -> FetchPartition:
    return FetchPartition(topic=TOPIC, partition=partition, fetch_offset=offset)


async def read_all(
    stage: ReplicaStage, stream: Stream[FetchRequest, FetchResponse], partitions: int
) -> dict[int, tuple[list[bytes | None], float]]:
    """The first records of each, and after how long they came."""
    began_s, found = stage.scheduler.now_s, dict[int, tuple[list[bytes | None], float]]()
    asked = [at(0, partition) for partition in range(partitions)]
    while len(found) < partitions:
        await stream.send(FetchRequest(partitions=asked, max_wait_ms=200))
        for result in (await stream.receive()).partitions:
            assert result.error.code == common_pb2.NONE, result.error
            if result.records and result.partition not in found:
                found[result.partition] = values_in(result), stage.scheduler.now_s - began_s
        asked = []
    return found


def test_a_partition_on_a_slow_disk_holds_up_no_other_of_a_stream() -> None:
    async def story(stage: ReplicaStage) -> None:
        for partition in (0, 1):
            await stage.produce(LEADER, b"%d" % partition, partition=partition)
        slow_down(stage, 0)
        found = await read_all(stage, await stream_to(stage), 2)
        assert found[1][0] == [b"1"]
        assert found[1][1] < AT_ONCE_S
        assert found[0][0] == [b"0"]
        assert READ_S <= found[0][1] < READ_S + AT_ONCE_S, "one read, and answered as it ends"

    run(story)


def test_many_slow_partitions_of_one_stream_are_read_a_few_at_a_time() -> None:
    async def story(stage: ReplicaStage) -> None:
        count = LOADS_MAX + 2
        for partition in range(count):
            await stage.produce(LEADER, b"%d" % partition, partition=partition)
        slow_down(stage, *range(count - 1))
        found = await read_all(stage, await stream_to(stage), count)
        assert {one: values for one, (values, _) in found.items()} == {
            partition: [b"%d" % partition] for partition in range(count)
        }
        assert found[count - 1][1] < AT_ONCE_S
        assert max(late_s for _, late_s in found.values()) < 2 * READ_S + AT_ONCE_S

    run(story, partitions=LOADS_MAX + 2)


def test_more_partitions_than_are_read_in_one_step_are_all_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(fetch_session, "READ_PER_STEP_MAX", 2)

    async def story(stage: ReplicaStage) -> None:
        for partition in range(5):
            await stage.produce(LEADER, b"%d" % partition, partition=partition)
        found = await read_all(stage, await stream_to(stage), 5)
        assert {one: values for one, (values, _) in found.items()} == {
            partition: [b"%d" % partition] for partition in range(5)
        }

    run(story, partitions=5)


def test_a_slow_read_for_a_follower_holds_up_no_other_partition() -> None:
    async def story(stage: ReplicaStage) -> None:
        slow_down(stage, 0)
        slow = asyncio.create_task(stage.produce(LEADER, b"slow", timeout_ms=60_000))
        await asyncio.sleep(AT_ONCE_S)
        for number in range(10):
            began_s = stage.scheduler.now_s
            result = await stage.produce(LEADER, b"%d" % number, partition=1)
            assert result.error.code == common_pb2.NONE
            assert stage.scheduler.now_s - began_s < AT_ONCE_S
        assert not slow.done()
        assert (await slow).error.code == common_pb2.NONE

    run(story)


def test_one_fetch_by_itself_waits_for_what_it_asked_to_have_read() -> None:
    async def story(stage: ReplicaStage) -> None:
        await stage.must_produce(LEADER, b"a")
        slow_down(stage, 0)
        began_s = stage.scheduler.now_s
        assert values_in(await stage.fetch_one(LEADER, 0, max_wait_ms=WAIT_MS)) == [b"a"]
        assert READ_S <= stage.scheduler.now_s - began_s < READ_S + AT_ONCE_S

    run(story)


def test_a_fetch_by_itself_is_answered_at_its_max_wait_without_what_the_disk_still_reads() -> None:
    async def story(stage: ReplicaStage) -> None:
        for partition in (0, 1):
            await stage.produce(LEADER, b"%d" % partition, partition=partition)
        slow_down(stage, 0)
        began_s = stage.scheduler.now_s
        response = await stage.fetch(LEADER, at(0), at(0, 1), max_wait_ms=1_000)
        assert 1 <= stage.scheduler.now_s - began_s < 1 + AT_ONCE_S
        slow, quick = response.partitions
        assert (slow.error.code, slow.records) == (common_pb2.NONE, b"")
        assert slow.high_watermark == 1, "that there is something to come back for"
        assert values_in(quick) == [b"1"]
        assert stage.manager(LEADER).reader.waiting_reads == 0

    run(story)


@pytest.mark.parametrize("max_wait_ms", [0, 900])
def test_fetches_that_wait_for_less_than_a_read_takes_get_each_record_once(
    max_wait_ms: int,
) -> None:
    async def story(stage: ReplicaStage) -> None:
        for value in (b"a", b"b", b"c"):
            await stage.must_produce(LEADER, value)
        slow_down(stage, 0)
        found: list[bytes | None] = []
        began_s = stage.scheduler.now_s
        while len(found) < 3 and stage.scheduler.now_s < began_s + 5 * READ_S:
            asked = at(len(found))
            asked.partition_max_bytes = 1
            (result,) = (await stage.fetch(LEADER, asked, max_wait_ms=max_wait_ms)).partitions
            found += values_in(result)
        assert found == [b"a", b"b", b"c"]
        assert stage.scheduler.now_s - began_s < 3 * READ_S + AT_ONCE_S, "each was read once"

    run(story)


def test_a_fetch_that_waits_for_no_records_still_waits_a_little_for_the_disk() -> None:
    async def story(stage: ReplicaStage) -> None:
        await stage.must_produce(LEADER, b"a")
        read_s = LOAD_WAIT_MS_MIN / 1000 - AT_ONCE_S
        stage.disk(LEADER).faults.slow_reads(f"/data/{TOPIC}-0/", read_s)
        assert values_in(await stage.fetch_one(LEADER, 0, max_wait_ms=0)) == [b"a"]

    run(story)


@pytest.mark.parametrize("is_read_to_its_end", [True, False])
def test_what_a_fetch_left_behind_is_not_served_where_it_may_not_be_read_any_more(
    is_read_to_its_end: bool,
) -> None:
    async def story(stage: ReplicaStage) -> None:
        for value in (b"a", b"b", b"c"):
            await stage.must_produce(LEADER, value)
        slow_down(stage, 0)
        assert (await stage.fetch_one(LEADER, 0)).records == b""
        if is_read_to_its_end:
            await asyncio.sleep(READ_S)
        assert (await stage.delete_records(LEADER, 2)).error.code == common_pb2.NONE
        refused = await stage.fetch_one(LEADER, 0, max_wait_ms=WAIT_MS)
        assert refused.error.code == common_pb2.OFFSET_OUT_OF_RANGE
        assert values_in(await stage.fetch_one(LEADER, 2, max_wait_ms=WAIT_MS)) == [b"c"]
        stage.delete()
        stage.create(partitions=2, topic_id=b"anew" * 4)
        await stage.until(lambda: stage.hosted(LEADER).replica.leader is not None)
        stage.disk(LEADER).faults.slow_reads(f"/data/{TOPIC}-0/", 0)
        anew = await stage.fetch_one(LEADER, 0, max_wait_ms=0)
        assert anew.records == b"", "another topic"

    run(story)


async def test_only_the_newest_loads_are_kept_and_others_end() -> None:
    late, hosted = LateLoads(), cast("Partition", object())
    loads = [Load(Loaded(), asyncio.create_task(asyncio.sleep(60))) for _ in range(LATE_LOADS_MAX)]
    for offset, load in enumerate(loads):
        late.keep(hosted, offset, load)
    await asyncio.sleep(0)
    late.keep(hosted, LATE_LOADS_MAX, Load(Loaded()))
    late.keep(hosted, 1, Load(Loaded()))
    await asyncio.sleep(0)
    tasks = [load.task for load in loads if load.task is not None]
    assert [task.cancelled() for task in tasks] == [True, True] + [False] * (LATE_LOADS_MAX - 2)
    assert late.take(hosted, 0) is None
    assert late.take(hosted, 2) is loads[2]
    assert late.take(hosted, 2) is None, "it is the first caller's"
    for task in tasks:
        task.cancel()


def test_one_fetch_of_more_slow_partitions_than_are_read_at_once_gets_all_of_them() -> None:
    async def story(stage: ReplicaStage) -> None:
        count = LOADS_MAX + 2
        for partition in range(count):
            await stage.produce(LEADER, b"%d" % partition, partition=partition)
        slow_down(stage, *range(count))
        asked = [at(0, partition) for partition in range(count)]
        response = await stage.fetch(LEADER, *asked, max_wait_ms=WAIT_MS)
        assert [values_in(one) for one in response.partitions] == [
            [b"%d" % partition] for partition in range(count)
        ]

    run(story, partitions=LOADS_MAX + 2)


# What happens while a read is on its way


async def deposed(stage: ReplicaStage) -> None:
    stage.elect(OTHER, isr=(1, 2, 3))


async def deposed_and_elected_again(stage: ReplicaStage) -> None:
    stage.elect(OTHER, isr=(1, 2, 3))
    await stage.until(lambda: stage.hosted(OTHER).replica.leader is not None)
    stage.elect(LEADER, isr=(1, 2, 3))


async def deleted(stage: ReplicaStage) -> None:
    stage.delete()


async def made_anew(stage: ReplicaStage) -> None:
    stage.delete()
    stage.create(partitions=2, topic_id=b"anew" * 4)


async def records_deleted(stage: ReplicaStage) -> None:
    assert (await stage.delete_records(LEADER, 2)).error.code == common_pb2.NONE


def fetched_meanwhile(
    meanwhile: Callable[[ReplicaStage], Coroutine[Any, Any, None]], **asked: Any
) -> PartitionFetchResult:
    """A consumer's answer whose records were on their way from the disk for all of `meanwhile`."""
    found: list[PartitionFetchResult] = []

    async def story(stage: ReplicaStage) -> None:
        for value in (b"a", b"b", b"c"):
            await stage.must_produce(LEADER, value)
        slow_down(stage, 0)
        fields: dict[str, Any] = {"topic": TOPIC, "partition": 0, "fetch_offset": 0} | asked
        fetch = stage.fetch(LEADER, FetchPartition(**fields), max_wait_ms=WAIT_MS)
        task = asyncio.create_task(fetch)
        await asyncio.sleep(AT_ONCE_S)
        await meanwhile(stage)
        await asyncio.sleep(AT_ONCE_S)
        found.extend((await task).partitions)

    run(story)
    return found[0]


@pytest.mark.parametrize(
    ("meanwhile", "code"),
    [
        (deposed, common_pb2.NOT_LEADER_OR_FOLLOWER),
        (deleted, common_pb2.UNKNOWN_TOPIC_OR_PARTITION),
        (records_deleted, common_pb2.OFFSET_OUT_OF_RANGE),
    ],
)
def test_what_may_not_be_read_any_more_is_refused_after_the_wait(
    meanwhile: Callable[[ReplicaStage], Coroutine[Any, Any, None]], code: common_pb2.ErrorCode
) -> None:
    result = fetched_meanwhile(meanwhile)
    assert common_pb2.ErrorCode.Name(result.error.code) == common_pb2.ErrorCode.Name(code)
    assert result.records == b""


def test_an_epoch_that_ended_meanwhile_is_refused_though_the_same_broker_leads_again() -> None:
    result = fetched_meanwhile(deposed_and_elected_again, current_leader_epoch=0)
    assert result.error.code == common_pb2.FENCED_LEADER_EPOCH
    assert result.records == b""


def test_a_topic_made_anew_meanwhile_is_another_one() -> None:
    result = fetched_meanwhile(made_anew, topic_id=bytes(16))
    assert result.error.code != common_pb2.NONE
    assert result.records == b""


def test_a_read_of_a_topic_made_anew_meanwhile_finds_nothing_of_the_old_one() -> None:
    assert fetched_meanwhile(made_anew).records == b""


def test_what_was_committed_meanwhile_is_read_too() -> None:
    async def more(stage: ReplicaStage) -> None:
        await stage.must_produce(LEADER, b"d")

    result = fetched_meanwhile(more)
    assert values_in(result)[:3] == [b"a", b"b", b"c"]
    assert result.high_watermark == 4


def test_a_disk_that_fails_the_read_takes_the_partition_offline() -> None:
    async def failing(stage: ReplicaStage) -> None:
        path = f"/data/{TOPIC}-0/{0:020d}.log"
        stage.disk(LEADER).faults.fail("read", path, count=1)

    result = fetched_meanwhile(failing)
    assert result.error.code == common_pb2.KAFKA_STORAGE_ERROR, result.error


def test_a_look_up_by_time_asks_for_leadership_again_after_its_wait() -> None:
    async def story(stage: ReplicaStage) -> None:
        await stage.must_produce(LEADER, b"a")
        slow_down(stage, 0)
        looking = asyncio.create_task(
            stage.offsets(LEADER, ListOffsetsRequest.TIMESTAMP, timestamp_ms=1)
        )
        await asyncio.sleep(AT_ONCE_S)
        stage.elect(OTHER, isr=(1, 2, 3))
        assert (await looking).error.code == common_pb2.NOT_LEADER_OR_FOLLOWER

    run(story)


# Bounds


def test_more_reads_than_may_wait_are_refused_and_followers_are_not() -> None:
    async def story(stage: ReplicaStage) -> None:
        await stage.must_produce(LEADER, b"a")
        slow_down(stage, 0, 1)
        first = asyncio.create_task(stage.fetch_one(LEADER, 0, max_wait_ms=WAIT_MS))
        await asyncio.sleep(AT_ONCE_S)
        refused = await stage.fetch_one(LEADER, 0)
        assert refused.error.code == common_pb2.THROTTLING_QUOTA_EXCEEDED
        assert "1 reads wait for the disk" in refused.error.message
        assert (await stage.produce(LEADER, b"x", partition=1)).error.code == common_pb2.NONE
        assert values_in(await first)[0] == b"a"
        again = await stage.fetch_one(LEADER, 0, max_wait_ms=WAIT_MS)
        assert values_in(again)[0] == b"a", "there is room again"

    run(story, waiting_reads_max=1)


def test_a_stream_that_ends_gives_up_its_reads() -> None:
    async def story(stage: ReplicaStage) -> None:
        await stage.must_produce(LEADER, b"a")
        slow_down(stage, 0)
        stream = await stream_to(stage)
        await stream.send(FetchRequest(partitions=[at(0)], max_wait_ms=200))
        await stream.receive()
        reader = stage.manager(LEADER).reader
        assert reader.waiting_reads == 1
        stream.close()
        await stage.until(lambda: not reader.waiting_reads)

    run(story)


def test_a_stream_that_goes_elsewhere_gives_up_what_it_waited_for() -> None:
    async def story(stage: ReplicaStage) -> None:
        for value in (b"a", b"b"):
            await stage.must_produce(LEADER, value)
        slow_down(stage, 0)
        stream = await stream_to(stage)
        await stream.send(FetchRequest(partitions=[at(0)], max_wait_ms=200))
        assert not (await stream.receive()).partitions[0].records
        stage.disk(LEADER).faults.heal()
        await stream.send(FetchRequest(partitions=[at(1)], max_wait_ms=200))
        (result,) = (await stream.receive()).partitions
        assert values_in(result) == [b"b"]
        assert stage.manager(LEADER).reader.waiting_reads == 0

    run(story)


def test_a_stream_that_forgets_a_partition_is_told_nothing_of_it_by_the_read_it_gave_up() -> None:
    async def story(stage: ReplicaStage) -> None:
        await stage.must_produce(LEADER, b"a")
        slow_down(stage, 0)
        stream = await stream_to(stage)
        await stream.send(FetchRequest(partitions=[at(0), at(0, 1)], max_wait_ms=200))
        assert len((await stream.receive()).partitions) == 2
        stage.disk(LEADER).faults.heal()
        forgotten = [ForgottenPartition(topic=TOPIC, partition=0)]
        await stream.send(FetchRequest(forgotten=forgotten, max_wait_ms=200))
        assert list((await stream.receive()).partitions) == []
        stage.elect(OTHER, isr=(1, 2, 3))
        await stream.send(FetchRequest(max_wait_ms=200))
        assert list((await stream.receive()).partitions) == []

    run(story)
