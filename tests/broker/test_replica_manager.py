"""The replica manager's requests and lives: admission, long polls, topics that come and go."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from tests.broker.replica_stage import CONFIG, TOPIC, ReplicaStage, values_in
from tests.log.partition_logs import batch

from tidelog.broker.replica_manager import ReplicaManager
from tidelog.core.errors import StorageError
from tidelog.simulation.engine.disk import SimFile
from tidelog.v1 import common_pb2
from tidelog.v1.data_pb2 import FetchPartition, ListOffsetsRequest, PartitionProduceData

pytestmark = pytest.mark.sim


async def one_partition(stage: ReplicaStage) -> None:
    """A topic of one replica, on broker 1, open."""
    stage.create(replicas=(1,))
    await stage.until_opened(1)


def test_requests_for_what_is_led_elsewhere_name_the_leader() -> None:
    async def story(stage: ReplicaStage) -> None:
        stage.create(replicas=(2, 3))
        await stage.until_opened(2, 3)
        for broker_id in (1, 3):
            result = await stage.produce(broker_id, b"a")
            assert result.error.code == common_pb2.NOT_LEADER_OR_FOLLOWER
            assert result.base_offset == -1
            assert result.current_leader.leader_id == 2
            assert not result.current_leader.address, "its handler knows the listener"
            fetched = await stage.fetch_one(broker_id, 0)
            assert fetched.error.code == common_pb2.NOT_LEADER_OR_FOLLOWER
            assert fetched.current_leader.leader_id == 2
            offsets = await stage.offsets(broker_id)
            assert offsets.error.code == common_pb2.NOT_LEADER_OR_FOLLOWER

    ReplicaStage().run(story)


def test_unknown_topics_and_partitions_are_refused() -> None:
    async def story(stage: ReplicaStage) -> None:
        assert (await stage.produce(1, b"a")).error.code == common_pb2.UNKNOWN_TOPIC_OR_PARTITION
        await one_partition(stage)
        for partition in (-1, 1, 2**31 - 1):
            result = await stage.produce(1, b"a", partition=partition)
            assert result.error.code == common_pb2.UNKNOWN_TOPIC_OR_PARTITION

    ReplicaStage().run(story)


@pytest.mark.parametrize("acks", [2, -2, 100])
def test_other_acks_are_refused(acks: int) -> None:
    async def story(stage: ReplicaStage) -> None:
        await one_partition(stage)
        result = await stage.produce(1, b"a", acks=acks)
        assert result.error.code == common_pb2.INVALID_REQUIRED_ACKS
        assert (await stage.offsets(1)).log_end_offset == 0

    ReplicaStage().run(story)


def test_a_bad_batch_fails_its_own_partition_and_appends_nothing() -> None:
    async def story(stage: ReplicaStage) -> None:
        stage.create(replicas=(1,), partitions=3, max_message_bytes=200)
        await stage.until_opened(1)
        await stage.until(lambda: stage.hosted(1, 2).is_open)
        good = batch(b"a")
        damaged = good[:-1] + bytes([good[-1] ^ 1])
        response = await stage.produce_raw(
            1,
            PartitionProduceData(topic=TOPIC, partition=0, records=good + damaged),
            PartitionProduceData(topic=TOPIC, partition=1, records=good),
            PartitionProduceData(topic=TOPIC, partition=2, records=batch(b"x" * 300)),
            PartitionProduceData(topic=TOPIC, partition=1, records=b""),
            PartitionProduceData(topic=TOPIC, partition=1, records=good[:30]),
        )
        codes = [result.error.code for result in response.partitions]
        assert codes == [
            common_pb2.CORRUPT_MESSAGE,
            common_pb2.NONE,
            common_pb2.MESSAGE_TOO_LARGE,
            common_pb2.CORRUPT_MESSAGE,
            common_pb2.CORRUPT_MESSAGE,
        ]
        ends = [stage.hosted(1, partition).log.log_end_offset for partition in range(3)]
        assert ends == [0, 1, 0]

    ReplicaStage().run(story)


def test_bytes_in_flight_are_bounded_before_the_append() -> None:
    async def story(stage: ReplicaStage) -> None:
        stage.create()
        await stage.until_opened(1, 2, 3)
        await stage.must_produce(1, b"a")
        stage.cut(2, 3)
        waiting = asyncio.create_task(stage.produce(1, b"x" * 600, timeout_ms=100))
        await asyncio.sleep(0.05)
        refused = await stage.produce(1, b"x" * 600)
        assert refused.error.code == common_pb2.THROTTLING_QUOTA_EXCEEDED
        assert (await stage.offsets(1)).log_end_offset == 2
        late = await waiting
        assert late.error.code == common_pb2.REQUEST_TIMED_OUT
        assert not late.HasField("current_leader"), "it leads still"
        assert (await stage.produce(1, b"x" * 600, acks=1)).error.code == common_pb2.NONE

    ReplicaStage(replace(CONFIG, produce_in_flight_bytes_max=1000)).run(story)


def test_who_waits_when_leadership_moves_hears_where_to() -> None:
    """Else each planned move costs a client a backoff and a metadata request (KIP-951)."""

    async def story(stage: ReplicaStage) -> None:
        stage.create()
        await stage.until_opened(1, 2, 3)
        stage.cut(1)
        waiting = asyncio.create_task(stage.produce(1, b"a"))
        await asyncio.sleep(0.05)
        stage.elect(2, isr=(2, 3))
        late = await waiting
        assert late.error.code == common_pb2.REQUEST_TIMED_OUT
        assert (late.current_leader.leader_id, late.current_leader.leader_epoch) == (2, 1)

    ReplicaStage().run(story)


def test_a_fetch_waits_for_records_and_is_answered_when_they_are_committed() -> None:
    async def story(stage: ReplicaStage) -> None:
        stage.create()
        await stage.until_opened(1, 2, 3)
        await stage.must_produce(1, b"a")
        loop = asyncio.get_running_loop()
        polling = asyncio.create_task(stage.fetch_one(1, 1, max_wait_ms=20_000, min_bytes=1))
        await asyncio.sleep(3)
        assert not polling.done()
        started_s = loop.time()
        await stage.must_produce(1, b"b")
        assert values_in(await polling) == [b"b"]
        assert loop.time() - started_s < 0.2

    ReplicaStage().run(story)


def test_a_fetch_without_news_ends_at_its_deadline_and_leaves_nothing_behind() -> None:
    async def story(stage: ReplicaStage) -> None:
        await one_partition(stage)
        loop = asyncio.get_running_loop()
        started_s = loop.time()
        result = await stage.fetch_one(1, 0, max_wait_ms=700)
        assert not result.records
        assert 0.7 <= loop.time() - started_s < 0.9
        assert stage.manager(1).stats()["waiting_fetches"] == 0
        assert stage.hosted(1).consumers._waiting == {}

    ReplicaStage().run(story)


def test_a_fetch_gathers_min_bytes() -> None:
    async def story(stage: ReplicaStage) -> None:
        await one_partition(stage)
        size = len(batch(b"a"))
        polling = asyncio.create_task(
            stage.fetch_one(1, 0, max_wait_ms=20_000, min_bytes=2 * size + 1)
        )
        for _ in range(2):
            await stage.must_produce(1, b"a")
        await asyncio.sleep(1)
        assert not polling.done()
        await stage.must_produce(1, b"a")
        assert values_in(await polling) == [b"a"] * 3

    ReplicaStage().run(story)


def test_an_answer_keeps_to_max_bytes_and_starves_no_partition() -> None:
    async def story(stage: ReplicaStage) -> None:
        stage.create(replicas=(1,), partitions=3)
        await stage.until_opened(1)
        await stage.until(lambda: stage.hosted(1, 2).is_open)
        for partition in range(3):
            await stage.produce(1, b"x" * 500, partition=partition)
        asked = [
            FetchPartition(topic=TOPIC, partition=partition, fetch_offset=0)
            for partition in range(3)
        ]
        served = set()
        for _ in range(3):
            response = await stage.fetch(1, *asked, max_bytes=700)
            full = [result.partition for result in response.partitions if result.records]
            assert len(full) == 1
            served |= set(full)
        assert served == {0, 1, 2}
        response = await stage.fetch(1, *asked, max_bytes=1)
        assert sum(bool(result.records) for result in response.partitions) == 1

    ReplicaStage().run(story)


def test_the_number_of_waiting_fetches_is_bounded() -> None:
    async def story(stage: ReplicaStage) -> None:
        await one_partition(stage)
        polling = asyncio.create_task(stage.fetch_one(1, 0, max_wait_ms=20_000))
        await asyncio.sleep(0.05)
        refused = await stage.fetch_one(1, 0, max_wait_ms=20_000)
        assert refused.error.code == common_pb2.THROTTLING_QUOTA_EXCEEDED
        await stage.must_produce(1, b"a")
        assert values_in(await polling) == [b"a"]

    ReplicaStage(replace(CONFIG, waiting_fetches_max=1)).run(story)


def test_a_waiting_fetch_hears_at_once_that_its_partition_is_led_elsewhere() -> None:
    async def story(stage: ReplicaStage) -> None:
        stage.create()
        await stage.until_opened(1, 2, 3)
        polling = asyncio.create_task(stage.fetch_one(1, 0, max_wait_ms=20_000))
        await asyncio.sleep(0.05)
        stage.elect(2, isr=(1, 2, 3))
        async with asyncio.timeout(0.2):
            result = await polling
        assert result.error.code == common_pb2.NOT_LEADER_OR_FOLLOWER
        assert result.current_leader.leader_id == 2

    ReplicaStage().run(story)


def test_a_topic_made_anew_shows_nothing_of_its_predecessor() -> None:
    async def story(stage: ReplicaStage) -> None:
        stage.create()
        await stage.until_opened(1, 2, 3)
        await stage.must_produce(1, b"old")
        stage.delete()
        stage.create(topic_id=bytes([7]) * 16)
        await stage.until_opened(1, 2, 3)
        assert await stage.consume(1) == []
        old = FetchPartition(topic=TOPIC, topic_id=bytes(16), partition=0)
        (result,) = (await stage.fetch(1, old)).partitions
        assert result.error.code == common_pb2.INCONSISTENT_TOPIC_ID
        await stage.must_produce(1, b"new")
        await stage.until_equal(1, 2, 3)
        assert await stage.consume(1) == [b"new"]

    ReplicaStage().run(story)


def test_a_broker_that_was_down_sets_the_old_topics_folder_aside() -> None:
    async def story(stage: ReplicaStage) -> None:
        stage.create()
        await stage.until_opened(1, 2, 3)
        await stage.must_produce(1, b"old")
        stage.crash(3)
        stage.delete()
        stage.create(topic_id=bytes([7]) * 16)
        stage.start(3)
        await stage.until_opened(1, 2, 3)
        await stage.must_produce(1, b"new")
        await stage.until(lambda: len(stage.state().isr) == 3)
        await stage.until_equal(1, 2, 3)
        assert await stage.consume(1) == [b"new"]
        assert stage.disk(3).list("/data") == [f"{TOPIC}-0"]

    ReplicaStage().run(story)


def test_a_deleted_topic_leaves_no_folder() -> None:
    async def story(stage: ReplicaStage) -> None:
        stage.create(partitions=3)
        await stage.until_opened(1, 2, 3)
        stage.delete()
        for broker_id in (1, 2, 3):
            disk = stage.disk(broker_id)
            await stage.until(lambda disk=disk: disk.list("/data") == [])  # type: ignore[misc]

    ReplicaStage().run(story)


def test_folders_renamed_before_a_crash_are_removed_at_the_next_start() -> None:
    async def story(stage: ReplicaStage) -> None:
        disk = stage.disk(1)
        disk.make_directory("/data/flights-0.0000-delete")
        disk.open("/data/flights-0.0000-delete/00000000000000000000.log", create=True)
        await disk.sync_directory("/data/flights-0.0000-delete")
        stage.crash(1)
        stage.start(1)
        await stage.until(lambda: disk.list("/data") == [])

    ReplicaStage().run(story)


def test_what_is_left_of_a_topic_deleted_meanwhile_is_removed_at_the_next_start() -> None:
    async def story(stage: ReplicaStage) -> None:
        stage.create(partitions=2)
        await stage.until_opened(1, 2, 3)
        await stage.until(lambda: len(stage.disk(3).list("/data")) == 2)
        stage.kill(3)
        stage.delete()
        stage.disk(3).remove(f"/data/{TOPIC}-1/partition.metadata")
        stage.disk(3).make_directory("/data/__cluster_metadata-0")
        stage.start(3)
        await stage.until(lambda: f"{TOPIC}-0" not in stage.disk(3).list("/data"))
        await asyncio.sleep(1)
        assert stage.disk(3).list("/data") == ["__cluster_metadata-0", f"{TOPIC}-1"]

    ReplicaStage().run(story)


def test_a_replica_that_the_image_gives_to_others_stays_while_its_topic_lives() -> None:
    async def story(stage: ReplicaStage) -> None:
        stage.create(replicas=(1,))
        await stage.until_opened(1)
        name = f"/data/{TOPIC}-0/partition.metadata"
        owner = stage.disk(1).open(name).read_at(0, 9999)
        stage.kill(3)
        stage.disk(3).make_directory(f"/data/{TOPIC}-0")
        stage.disk(3).open(name, create=True).write_at(0, owner)
        stage.start(3)
        await asyncio.sleep(1)
        assert stage.disk(3).list("/data") == [f"{TOPIC}-0"]

    ReplicaStage().run(story)


def test_a_failing_disk_takes_one_partition_offline_and_no_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    write_at = SimFile.write_at

    def failing(self: SimFile, offset: int, data: bytes | bytearray | memoryview) -> None:
        if "flights-0/" in self.path:
            raise StorageError("EIO")
        write_at(self, offset, data)

    async def story(stage: ReplicaStage) -> None:
        stage.create(replicas=(1,), partitions=2)
        await stage.until_opened(1)
        await stage.until(lambda: stage.hosted(1, 1).is_open)
        await stage.must_produce(1, b"a")
        monkeypatch.setattr(SimFile, "write_at", failing)
        result = await stage.produce(1, b"b")
        assert result.error.code == common_pb2.KAFKA_STORAGE_ERROR
        result = await stage.produce(1, b"c")
        assert result.error.code == common_pb2.KAFKA_STORAGE_ERROR
        fetched = await stage.fetch_one(1, 0)
        assert fetched.error.code == common_pb2.KAFKA_STORAGE_ERROR
        assert (await stage.produce(1, b"d", partition=1)).error.code == common_pb2.NONE
        assert stage.manager(1).stats()["offline_replicas"] == 1

    ReplicaStage().run(story)


def test_a_held_broker_takes_no_writes_and_asks_for_no_isr_change() -> None:
    async def story(stage: ReplicaStage) -> None:
        stage.create()
        await stage.until_opened(1, 2, 3)
        await stage.must_produce(1, b"a")
        stage.cut(3)
        await stage.must_produce(1, b"b", acks=1)

        async def hold(manager: ReplicaManager) -> bool:
            manager.hold(manager._clock.monotonic_ms() + 5000)
            return await manager.settle(500)

        assert not await stage.on(1, hold)
        result = await stage.produce(1, b"c")
        assert result.error.code == common_pb2.BROKER_NOT_AVAILABLE
        await asyncio.sleep(3)
        assert stage.state().isr == (1, 2, 3)
        stage.heal()
        assert await stage.on(1, lambda manager: manager.settle(2000))
        await asyncio.sleep(3)
        assert stage.state().isr == (1, 2, 3)
        await stage.must_produce(1, b"d")

    ReplicaStage().run(story)


def test_a_stop_answers_who_waits_and_closes_every_log_cleanly() -> None:
    async def story(stage: ReplicaStage) -> None:
        stage.create()
        await stage.until_opened(1, 2, 3)
        await stage.must_produce(1, b"a")
        await stage.until_equal(1, 2, 3)
        stage.cut(1)
        waiting = asyncio.create_task(stage.produce(1, b"b", timeout_ms=60_000))
        await asyncio.sleep(0.05)
        await asyncio.gather(*(stage.on(one, lambda manager: manager.stop()) for one in (1, 2, 3)))
        assert (await waiting).error.code == common_pb2.REQUEST_TIMED_OUT
        for broker_id in (1, 2, 3):
            assert stage.disk(broker_id).exists(f"/data/{TOPIC}-0/.clean")
            stage.crash(broker_id)
            stage.start(broker_id)
        await stage.until_opened(1, 2, 3)
        assert stage.hosted(2).log.high_watermark == 1

    ReplicaStage().run(story)


def test_a_new_leader_does_not_tell_an_end_before_the_one_its_predecessor_told() -> None:
    """KIP-207: its own high watermark lags by a fetch."""

    async def story(stage: ReplicaStage) -> None:
        stage.create()
        await stage.until_opened(1, 2, 3)
        await stage.must_produce(1, b"a")
        await stage.until_equal(1, 2, 3)
        stage.cut(1)
        stage.hosted(2).log._stable.high_watermark = 0
        stage.elect(2, isr=(1, 2, 3))
        await stage.until(lambda: stage.hosted(2).replica.leader is not None)
        at_time = ListOffsetsRequest.TIMESTAMP
        for spec in (ListOffsetsRequest.LATEST, at_time, ListOffsetsRequest.MAX_TIMESTAMP):
            result = await stage.offsets(2, spec)
            assert (result.error.code, result.offset) == (common_pb2.LEADER_NOT_AVAILABLE, -1)
        earliest = await stage.offsets(2, ListOffsetsRequest.EARLIEST)
        assert (earliest.error.code, earliest.offset) == (common_pb2.NONE, 0)
        stage.heal()
        await stage.until(lambda: stage.hosted(2).log.high_watermark == 1)
        assert (await stage.offsets(2)).offset == 1

    ReplicaStage().run(story)


def test_list_offsets_and_epoch_ends_check_the_callers_epoch_first() -> None:
    async def story(stage: ReplicaStage) -> None:
        await one_partition(stage)
        await stage.must_produce(1, b"a")
        asked = FetchPartition(topic=TOPIC, partition=0, fetch_offset=99, current_leader_epoch=9)
        (result,) = (await stage.fetch(1, asked)).partitions
        assert result.error.code == common_pb2.UNKNOWN_LEADER_EPOCH
        stage.elect(None, isr=(1,))
        stage.elect(1, isr=(1,))
        await asyncio.sleep(0.05)
        asked.current_leader_epoch = 0
        (result,) = (await stage.fetch(1, asked)).partitions
        assert result.error.code == common_pb2.FENCED_LEADER_EPOCH
        asked = FetchPartition(topic=TOPIC, partition=0, fetch_offset=1, last_fetched_epoch=1)
        (result,) = (await stage.fetch(1, asked)).partitions
        assert result.diverging_epoch.leader_epoch == 0
        assert result.diverging_epoch.end_offset == 1

    ReplicaStage().run(story)


async def _never() -> None:
    await asyncio.Event().wait()


async def stop_is_clean(stage: ReplicaStage, broker_id: int) -> bool:
    """Stop a broker, however long it takes; True if all its logs closed."""
    stopped: list[bool] = []

    async def stop(manager: ReplicaManager) -> None:
        stopped.append(await manager.stop())

    stopping = asyncio.create_task(stage.on(broker_id, stop))
    await stage.until(lambda: bool(stopped), within_s=3600)
    stopping.cancel()
    return stopped[0]


def test_a_stop_does_not_wait_for_a_log_that_never_closes_and_calls_it_unclean() -> None:
    async def story(stage: ReplicaStage) -> None:
        stage.create(partitions=2, replicas=(1,))
        held = stage.manager(1)._partitions.held
        await stage.until(lambda: len(held) == 2 and all(one.is_open for one in held.values()))
        held[TOPIC, 1].close = _never  # type: ignore[method-assign]
        assert not await stop_is_clean(stage, 1)

    ReplicaStage().run(story)


def test_a_stop_does_not_wait_for_a_listener_that_never_returns() -> None:
    async def story(stage: ReplicaStage) -> None:
        await one_partition(stage)
        listeners = stage.manager(1).listeners
        listeners._task = asyncio.create_task(_never())
        assert await stop_is_clean(stage, 1)
        assert listeners._task.cancel()

    ReplicaStage().run(story)
