"""Damaged replicas: nothing of them is served, others do not suffer, and they are fetched anew."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from structlog.testing import capture_logs
from tests.broker.replica_stage import CONFIG, LAG_S, TOPIC, ReplicaStage

from tidelog.log.partition_log import Damage
from tidelog.v1 import common_pb2
from tidelog.v1.data_pb2 import ListOffsetsRequest

pytestmark = pytest.mark.sim

SEGMENT = f"/data/{TOPIC}-0/00000000000000000000.log"
EAGER = replace(CONFIG, log_scrub_interval_ms=1000)
NEVER = replace(CONFIG, log_scrub_bytes_per_second=0)


async def ten_records(stage: ReplicaStage, **configs: Any) -> None:
    """A topic of three replicas with ten records, a batch each, on all of them."""
    stage.create(**configs)
    await stage.until_opened(1, 2, 3)
    for number in range(10):
        await stage.must_produce(1, b"%d" % number)
    await stage.until_equal(1, 2, 3)


def damage(stage: ReplicaStage, broker_id: int) -> None:
    """Flip a bit in the middle of the replica's records."""
    disk = stage.disk(broker_id)
    disk.flip(SEGMENT, disk.size(SEGMENT) // 2, 3)


def damaged(stage: ReplicaStage, broker_id: int) -> int:
    return int(stage.manager(broker_id).stats()["damaged_partitions"])


async def flush(stage: ReplicaStage, broker_id: int) -> None:
    async def work(_: object) -> None:
        await stage.hosted(broker_id).log.flush()

    await stage.on(broker_id, work)


@pytest.fixture
def lines() -> Iterator[list[dict[str, object]]]:
    """The log lines about damage."""
    with capture_logs() as captured:
        yield captured  # type: ignore[misc]  # structlog's type of the same


def test_a_leader_that_reads_damage_serves_nothing_and_stays_as_it_is(
    lines: list[dict[str, object]],
) -> None:
    async def story(stage: ReplicaStage) -> None:
        stage.is_deaf_to_damage = True
        await ten_records(stage)
        damage(stage, 1)
        waiting = asyncio.create_task(stage.fetch_one(1, 10, max_wait_ms=20_000))
        await asyncio.sleep(0.05)
        for _ in range(2):
            fetched = await stage.fetch_one(1, 0)
            assert fetched.error.code == common_pb2.KAFKA_STORAGE_ERROR
            assert not fetched.records
        assert (await waiting).error.code == common_pb2.KAFKA_STORAGE_ERROR
        refused = await stage.produce(1, b"x")
        assert refused.error.code == common_pb2.KAFKA_STORAGE_ERROR
        listed = await stage.offsets(1, ListOffsetsRequest.EARLIEST)
        assert listed.error.code == common_pb2.KAFKA_STORAGE_ERROR
        assert (await stage.delete_records(1, 1)).error.code == common_pb2.KAFKA_STORAGE_ERROR
        assert damaged(stage, 1) == 1
        await asyncio.sleep(10 * LAG_S)
        assert damaged(stage, 1) == 1
        assert stage.hosted(1).log.log_end_offset == 10

    ReplicaStage(NEVER).run(story)
    (said,) = [line for line in lines if line["event"] == "log damaged" and "partition" in line]
    assert said["partition"] == f"{TOPIC}-0"
    assert said["log_level"] == "error"
    assert 0 < said["first_bad_offset"] < 10  # type: ignore[operator]  # of any type
    assert said["reason"]


def test_damage_that_others_found_is_noted_at_the_next_upkeep() -> None:
    async def story(stage: ReplicaStage) -> None:
        await ten_records(stage)
        waiting = asyncio.create_task(stage.fetch_one(1, 10, max_wait_ms=20_000))
        await asyncio.sleep(0.05)
        stage.hosted(1).log.damage = Damage(3, "the cleaner saw it")
        async with asyncio.timeout(CONFIG.high_watermark_checkpoint_interval_ms / 1000 + 0.1):
            assert (await waiting).error.code == common_pb2.KAFKA_STORAGE_ERROR

    ReplicaStage(replace(NEVER, replica_lag_time_max_ms=60_000)).run(story)


def test_a_damaged_leader_hands_over_and_heals() -> None:
    async def story(stage: ReplicaStage) -> None:
        await ten_records(stage)
        damage(stage, 1)
        assert (await stage.fetch_one(1, 0)).error.code == common_pb2.KAFKA_STORAGE_ERROR
        await stage.until(lambda: stage.state().leader_id == 2, within_s=LAG_S / 2)
        await stage.until(lambda: damaged(stage, 1) == 0, within_s=LAG_S / 2)
        await stage.must_produce(2, b"after")
        await stage.until(lambda: len(stage.state().isr) == 3)
        assert stage.state().damaged == ()
        await stage.until_equal(1, 2, 3)
        assert len(await stage.consume(2)) == 11

    ReplicaStage(NEVER).run(story)


def test_the_last_complete_replica_is_not_cut_until_somebody_orders_an_election(
    lines: list[dict[str, object]],
) -> None:
    async def story(stage: ReplicaStage) -> None:
        stage.create(replicas=(1,))
        await stage.until_opened(1)
        for number in range(10):
            await stage.must_produce(1, b"%d" % number)
        damage(stage, 1)
        assert (await stage.fetch_one(1, 0)).error.code == common_pb2.KAFKA_STORAGE_ERROR
        await stage.until(lambda: stage.state().leader_id is None)
        await asyncio.sleep(5 * LAG_S)
        assert stage.hosted(1).log.log_end_offset == 10
        stage.elect_unclean()
        await stage.until(lambda: damaged(stage, 1) == 0)
        await stage.must_produce(1, b"after")
        kept = await stage.consume(1)
        assert kept[-1] == b"after"
        assert 0 < len(kept) < 11

    ReplicaStage(NEVER).run(story)
    (cut,) = [line for line in lines if line["event"] == "truncated"]
    assert 0 < cut["committed_records"] == cut["records"] <= 10  # type: ignore[operator]


def test_damage_is_reported_until_the_controllers_know() -> None:
    async def story(stage: ReplicaStage) -> None:
        stage.is_deaf_to_damage = True
        await ten_records(stage)
        damage(stage, 1)
        assert (await stage.fetch_one(1, 0)).error.code == common_pb2.KAFKA_STORAGE_ERROR
        assert not stage.manager(1).is_prepared, "it may not be elected before it was heard"
        await asyncio.sleep(LAG_S)
        stage.is_deaf_to_damage = False
        await stage.until(lambda: stage.state().leader_id == 2)
        await stage.until(lambda: stage.manager(1).is_prepared)

    ReplicaStage(NEVER).run(story)


def test_an_unreported_damaged_leader_heals_once_another_leads_and_it_is_out_of_the_isr() -> None:
    async def story(stage: ReplicaStage) -> None:
        stage.is_deaf_to_damage = True
        await ten_records(stage)
        damage(stage, 1)
        assert (await stage.fetch_one(1, 0)).error.code == common_pb2.KAFKA_STORAGE_ERROR
        await asyncio.sleep(5 * LAG_S)
        assert damaged(stage, 1) == 1
        stage.elect(2, isr=(2, 3))
        await stage.until(lambda: len(stage.state().isr) == 3)
        assert damaged(stage, 1) == 0
        await stage.must_produce(2, b"after")
        await stage.until_equal(1, 2, 3)

    ReplicaStage(NEVER).run(story)


def test_the_scrub_finds_a_damaged_follower_which_leaves_the_isr_and_heals() -> None:
    async def story(stage: ReplicaStage) -> None:
        await ten_records(stage)
        await flush(stage, 3)
        damage(stage, 3)
        await stage.until(lambda: damaged(stage, 3) == 1)
        await stage.must_produce(1, b"more")
        await stage.until(lambda: stage.manager(1).stats()["isr_expands"] == 1)
        await stage.until_equal(1, 2, 3)
        assert stage.state().leader_epoch == 1, "a fetch from before counts for nothing"
        assert damaged(stage, 3) == 0

    ReplicaStage(EAGER).run(story)


def test_a_damaged_follower_in_the_isr_does_not_fetch_and_is_not_cut() -> None:
    async def story(stage: ReplicaStage) -> None:
        stage.is_deaf_to_damage = True
        await ten_records(stage)
        await flush(stage, 3)
        damage(stage, 3)
        await stage.until(lambda: damaged(stage, 3) == 1)
        await stage.must_produce(1, b"more", acks=1)
        await asyncio.sleep(LAG_S / 4)
        assert sorted(stage.state().isr) == [1, 2, 3]
        assert stage.hosted(3).log.log_end_offset == 10

    ReplicaStage(EAGER).run(story)


@pytest.mark.parametrize("configs", [{}, {"flush_messages": 1}], ids=["", "flushed"])
def test_a_broker_that_finds_its_log_damaged_at_its_start_fetches_it_anew(
    configs: dict[str, int],
) -> None:
    async def story(stage: ReplicaStage) -> None:
        await ten_records(stage, segment_bytes=150, **configs)
        await stage.on(3, lambda manager: manager.stop())
        stage.kill(3)
        stage.elect(1, isr=(1, 2))
        disk = stage.disk(3)
        names = [name for name in disk.list(f"/data/{TOPIC}-0") if name.endswith(".log")]
        disk.remove(f"/data/{TOPIC}-0/{names[2]}")
        stage.start(3)
        await stage.until(lambda: len(stage.state().isr) == 3)
        await stage.until_equal(1, 2, 3)

    ReplicaStage(NEVER).run(story)


def test_a_killed_replica_whose_unflushed_bytes_changed_says_so_and_does_not_lead() -> None:
    """Its machine lost no power: what is missing at its start was taken from what it had."""

    async def story(stage: ReplicaStage) -> None:
        await ten_records(stage, segment_bytes=1 << 20)
        assert stage.hosted(3).log.recovery_point == 0
        await stage.until(lambda: stage.is_recovered(3))
        stage.kill(3)
        (path,) = (
            f"/data/{TOPIC}-0/{name}"
            for name in stage.disk(3).list(f"/data/{TOPIC}-0")
            if name.endswith(".log")
        )
        stage.disk(3).flip(path, 200, 1)
        stage.kill(1)
        stage.start(3)
        stage.elect(None, isr=(2, 3))
        await stage.until(lambda: 3 in stage.state().damaged)
        assert stage.state().isr == (2,)
        stage.start(1)
        await stage.until(lambda: sorted(stage.state().isr) == [1, 2, 3])
        assert len(await stage.consume(stage.state().leader_id or 0)) == 10

    ReplicaStage(NEVER).run(story)


def test_a_flushed_replica_that_power_and_a_flipped_bit_shortened_does_not_lead() -> None:
    """Cluster seed 4182: all it held was flushed, so it was eligible; and it was cut at the bit."""

    async def story(stage: ReplicaStage) -> None:
        await ten_records(stage, flush_messages=1, min_insync_replicas=2)
        stage.crash(3)
        stage.disk(3).flip(SEGMENT, 200, 1)
        stage.kill(1)
        stage.is_deaf_to_damage = True
        stage.start(3)
        stage.elect(None, isr=(2, 3))
        await stage.until_opened(3)
        stage.kill(3)
        stage.is_deaf_to_damage = False
        stage.start(3)
        stage.elect(None, isr=(2, 3))
        await stage.until(lambda: 3 not in stage.state().isr)
        stage.start(1)
        await stage.until(lambda: sorted(stage.state().isr) == [1, 2, 3])
        assert len(await stage.consume(stage.state().leader_id or 0)) == 10

    ReplicaStage(NEVER).run(story)


def test_a_log_of_which_nothing_says_whose_it_is_is_damaged_and_fetched_anew(
    lines: list[dict[str, object]],
) -> None:
    async def story(stage: ReplicaStage) -> None:
        await ten_records(stage, flush_messages=1)
        stage.kill(3)
        for name in ("partition.metadata", "checkpoint"):
            stage.disk(3).remove(f"/data/{TOPIC}-0/{name}")
        stage.start(3)
        await stage.until(lambda: len(stage.state().isr) == 3)
        await stage.until_equal(1, 2, 3)
        assert damaged(stage, 3) == 0

    ReplicaStage(NEVER).run(story)
    assert [line["partition"] for line in lines if line["event"] == "log damaged"]


@pytest.mark.parametrize("is_content", [True, False], ids=["torn", "missing"])
def test_whatever_a_folder_lacks_other_partitions_are_served(*, is_content: bool) -> None:
    async def story(stage: ReplicaStage) -> None:
        stage.create(replicas=(1,), partitions=20)
        await stage.until_opened(1)
        for partition in range(20):
            await stage.produce(1, b"a", partition=partition)
        await stage.on(1, lambda manager: manager.stop())
        stage.kill(1)
        disk = stage.disk(1)
        for place, name in enumerate(disk.list(f"/data/{TOPIC}-0")):
            path = f"/data/{TOPIC}-{place}/{name}"
            disk.remove(path)
            if is_content:
                disk.open(path, create=True).write_at(0, b"\xff" * 100)
        disk.remove_tree(f"/data/{TOPIC}-18")
        stage.start(1)
        await stage.until_opened(1)
        await stage.until(lambda: stage.hosted(1, 19).is_open)
        assert (await stage.produce(1, b"b", partition=19)).error.code == common_pb2.NONE
        assert (await stage.produce(1, b"b", partition=18)).error.code == common_pb2.NONE
        assert stage.fatal == []

    ReplicaStage(NEVER).run(story)
