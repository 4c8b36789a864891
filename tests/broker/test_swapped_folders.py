"""A folder moved to another partition's place serves nothing; contradictions come to an end."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from structlog.testing import capture_logs
from tests.broker.replica_stage import CONFIG, LAG_S, TOPIC, ReplicaStage
from tests.log.partition_logs import batch

from tidelog.broker.partition.follower_io import CONTRADICTIONS_MAX
from tidelog.records.batch import iter_batches
from tidelog.records.records import iter_records
from tidelog.v1 import common_pb2
from tidelog.v1.data_pb2 import PartitionProduceData

pytestmark = pytest.mark.sim

NEVER = replace(CONFIG, log_scrub_bytes_per_second=0)
FOLDERS = (f"/data/{TOPIC}-0", f"/data/{TOPIC}-1")


def swap(stage: ReplicaStage, broker_id: int) -> None:
    disk, (first, second) = stage.disk(broker_id), FOLDERS
    disk.rename(first, "/data/aside")
    disk.rename(second, first)
    disk.rename("/data/aside", second)


async def stop(stage: ReplicaStage, broker_id: int) -> None:
    await stage.on(broker_id, lambda manager: manager.stop())
    stage.kill(broker_id)


async def fill(stage: ReplicaStage, *replicas: int) -> None:
    """Ten records in partition 0, four in partition 1, which say where they are."""
    stage.create(partitions=2, replicas=replicas)
    await stage.until_opened(*replicas)
    leader = replicas[0]
    held = stage.manager(leader)._partitions.held
    await stage.until(lambda: all(one.replica.leader is not None for one in held.values()))
    for partition, count in ((0, 10), (1, 4)):
        for number in range(count):
            data = PartitionProduceData(
                topic=TOPIC, partition=partition, records=batch(b"%d.%d" % (partition, number))
            )
            (result,) = (await stage.produce_raw(leader, data)).partitions
            assert result.error.code == common_pb2.NONE


def values(stage: ReplicaStage, broker_id: int, partition: int) -> list[bytes | None]:
    log = stage.hosted(broker_id, partition).log
    found: list[bytes | None] = []
    while len(found) < log.log_end_offset:
        read = log.read(len(found), max_bytes=1 << 20, upper_bound=log.log_end_offset)
        found += [one.value for _, raw in iter_batches(read.records) for one in iter_records(raw)]
    return found


def expected(partition: int, count: int) -> list[bytes | None]:
    return [b"%d.%d" % (partition, number) for number in range(count)]


def test_swapped_folders_of_a_follower_are_fetched_anew_and_never_led_from() -> None:
    async def story(stage: ReplicaStage) -> None:
        await fill(stage, 1, 2, 3)
        await stop(stage, 3)
        swap(stage, 3)
        with capture_logs() as lines:
            stage.start(3)
            await stage.until(
                lambda: all(len(stage.state(partition).isr) == 3 for partition in (0, 1))
            )
        reported = [
            line for line in lines if line["event"] == "log damaged" and "partition" in line
        ]
        assert {line["partition"] for line in reported} == {f"{TOPIC}-0", f"{TOPIC}-1"}
        assert "this is the log of partition 1, not 0" in str([line["reason"] for line in reported])
        assert values(stage, 3, 0) == expected(0, 10)
        assert values(stage, 3, 1) == expected(1, 4)

    ReplicaStage(NEVER).run(story)


def test_swapped_folders_of_the_last_replicas_serve_nothing_and_may_be_swapped_back() -> None:
    async def story(stage: ReplicaStage) -> None:
        await fill(stage, 1)
        await stop(stage, 1)
        swap(stage, 1)
        stage.start(1)
        await stage.until(lambda: stage.manager(1).stats()["damaged_partitions"] == 2)
        await stage.until(lambda: stage.state().leader_id is None)
        await asyncio.sleep(3 * LAG_S)
        assert (await stage.fetch_one(1, 0)).error.code != common_pb2.NONE
        await stop(stage, 1)
        swap(stage, 1)
        stage.start(1)
        await stage.until_opened(1)
        assert stage.manager(1).stats()["damaged_partitions"] == 0
        assert values(stage, 1, 0) == expected(0, 10)
        assert values(stage, 1, 1) == expected(1, 4)

    ReplicaStage(NEVER).run(story)


def test_a_follower_that_its_leaders_records_contradict_reports_damage_and_heals() -> None:
    async def story(stage: ReplicaStage) -> None:
        stage.create()
        await stage.until_opened(1, 2, 3)
        for number in range(5):
            await stage.must_produce(1, b"%d" % number)
        await stage.until_equal(1, 2, 3)
        stage.cut(3)
        for number in range(5, 10):
            await stage.must_produce(1, b"%d" % number)
        await stage.until_equal(1, 2)
        stage.elect(2, isr=(1, 2))
        await stage.until(lambda: stage.hosted(2).replica.leader is not None)
        stage.elect(1, isr=(1, 2))
        await stage.must_produce(1, b"10")
        epoch = stage.state().leader_epoch

        async def err(_: object) -> None:
            stage.hosted(3).log.assign_epoch(epoch=epoch, start_offset=3)

        await stage.on(3, err)
        with capture_logs() as lines:
            stage.heal()
            await stage.until(lambda: len(stage.state().isr) == 3, within_s=60)
        contradicted = [one for one in lines if "comes after epoch" in str(one.get("why", ""))]
        assert len(contradicted) == CONTRADICTIONS_MAX - 1
        (reported,) = [one for one in lines if one["event"] == "log damaged" and "partition" in one]
        assert (reported["first_bad_offset"], reported["partition"]) == (3, f"{TOPIC}-0")
        await stage.until_equal(1, 2, 3)
        assert values(stage, 3, 0) == [b"%d" % number for number in range(11)]

    ReplicaStage(NEVER).run(story)
