"""What coordinators are told of leadership: `Recorder` checks that it holds whenever it is told."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from tests.broker.recorded_leaderships import Recorder, at_once, led, listen
from tests.broker.replica_stage import LAG_S, TOPIC, ReplicaStage
from tests.log.partition_logs import batch

from tidelog.broker.partition.partition_listener import Leadership, LeadershipEnd
from tidelog.broker.replica_manager import ReplicaManager
from tidelog.metadata.image import MetadataImage

pytestmark = pytest.mark.sim

SEGMENT = f"/data/{TOPIC}-0/00000000000000000000.log"


async def listeners(stage: ReplicaStage) -> list[Recorder]:
    """Of brokers 1, 2 and 3."""
    return [(await listen(stage, broker_id))[0] for broker_id in (1, 2, 3)]


async def until_calls(stage: ReplicaStage, recorder: Recorder, count: int) -> None:
    await stage.until(lambda: len(recorder.calls_received()) >= count)
    assert len(recorder.calls_received()) == count


def test_the_leader_alone_is_told_once_and_then_every_high_watermark() -> None:
    async def story(stage: ReplicaStage) -> None:
        first, *others = await listeners(stage)
        stage.create(min_insync_replicas=2)
        await stage.until_opened(1, 2, 3)
        for number in range(5):
            await stage.must_produce(1, b"%d" % number)
        await stage.until_equal(1, 2, 3)
        await stage.until(lambda: first.high_watermarks == {0: 5})
        assert first.calls_received() == [("elected", 0, None)]
        assert first.calls[1] == ("high watermark", Leadership(TOPIC, bytes(16), 0, 0), 0)
        assert [other.calls for other in others] == [[], []]

    ReplicaStage().run(story)


def test_a_new_leader_elsewhere_ends_the_leadership_here() -> None:
    async def story(stage: ReplicaStage) -> None:
        first, second, _ = await listeners(stage)
        stage.create()
        await until_calls(stage, first, 1)
        stage.elect(2, isr=(1, 2, 3))
        await until_calls(stage, first, 2)
        await until_calls(stage, second, 1)
        assert first.calls_received()[1] == ("resigned", 0, LeadershipEnd.DEPOSED)
        assert second.calls_received() == [("elected", 1, None)]

    ReplicaStage().run(story)


def test_a_newer_epoch_of_the_same_leader_is_another_leadership() -> None:
    async def story(stage: ReplicaStage) -> None:
        recorder, _ = await listen(stage, 1)
        stage.create()
        await until_calls(stage, recorder, 1)
        stage.blind = [1]
        stage.elect(None, isr=(1, 2, 3))
        stage.elect(1, isr=(1, 2, 3))
        stage.blind = []
        stage.publish(1)
        await until_calls(stage, recorder, 3)
        assert recorder.calls_received() == [
            ("elected", 0, None),
            ("resigned", 0, LeadershipEnd.DEPOSED),
            ("elected", 2, None),
        ]

    ReplicaStage().run(story)


def test_a_deleted_topic_ends_it_and_one_of_the_same_name_begins_another() -> None:
    async def story(stage: ReplicaStage) -> None:
        recorder, _ = await listen(stage, 1)
        stage.create()
        await until_calls(stage, recorder, 1)
        stage.delete()
        await until_calls(stage, recorder, 2)
        assert recorder.calls_received()[1] == ("resigned", 0, LeadershipEnd.DELETED)
        stage.create(topic_id=bytes(15) + b"1")
        await until_calls(stage, recorder, 3)
        assert recorder.leadership.topic_id == bytes(15) + b"1"

    ReplicaStage().run(story)


def test_a_replica_that_is_given_to_another_broker_leads_no_longer() -> None:
    async def story(stage: ReplicaStage) -> None:
        recorder, _ = await listen(stage, 1)
        stage.create()
        await until_calls(stage, recorder, 1)
        topic = stage.image.topics[TOPIC]
        state = replace(
            topic.partitions[0], replicas=(2, 3), isr=(2, 3), leader_id=2, leader_epoch=1
        )
        image = replace(stage.image, topics={TOPIC: replace(topic, partitions=(state,))})
        await at_once(stage, 1, lambda manager: manager.on_image(image))
        await until_calls(stage, recorder, 2)
        assert recorder.calls_received()[1] == ("resigned", 0, LeadershipEnd.DEPOSED)

    ReplicaStage().run(story)


@pytest.mark.parametrize("is_damaged", [False, True])
def test_a_log_that_fails_or_is_damaged_ends_the_leadership(is_damaged: bool) -> None:
    async def story(stage: ReplicaStage) -> None:
        recorder, _ = await listen(stage, 1)
        stage.create(min_insync_replicas=2)
        await stage.until_opened(1, 2, 3)
        await stage.must_produce(1, b"0")
        await stage.until_equal(1, 2, 3)
        if is_damaged:
            disk = stage.disk(1)
            disk.flip(SEGMENT, disk.size(SEGMENT) // 2, 3)
            await stage.fetch_one(1, 0)
        else:
            stage.disk(1).faults.fail("write", SEGMENT, count=1)
            await stage.produce(1, b"1")
        await until_calls(stage, recorder, 2)
        assert recorder.calls_received()[1] == ("resigned", 0, LeadershipEnd.OFFLINE)

    ReplicaStage().run(story)


def test_a_broker_that_stops_ends_its_leaderships_before_it_has_stopped() -> None:
    async def story(stage: ReplicaStage) -> None:
        recorder, _ = await listen(stage, 1)
        stage.create(partitions=70)
        await stage.until(lambda: len(recorder.current) == 70)
        await stage.on(1, ReplicaManager.stop)
        assert recorder.current == {}
        assert {end for what, _, end in recorder.calls if what == "resigned"} == {
            LeadershipEnd.CLOSED
        }

    ReplicaStage().run(story)


def test_a_broker_that_restarts_is_told_when_its_log_is_open_and_not_before() -> None:
    """`Recorder` finds the log open and the epoch's start in it."""

    async def story(stage: ReplicaStage) -> None:
        stage.create(replicas=(1,))
        await stage.until_opened(1)
        for number in range(3):
            await stage.must_produce(1, b"%d" % number)
        stage.kill(1)
        stage.disk(1).faults.slow_reads(f"/data/{TOPIC}-0/", 1.0)
        stage.start(1)
        recorder, _ = await listen(stage, 1)
        assert recorder.calls == []
        await until_calls(stage, recorder, 1)
        assert recorder.leadership.leader_epoch > 0
        assert recorder.high_watermarks == {0: 3}

    ReplicaStage().run(story)


def test_an_unclean_leader_is_told_its_own_high_watermark() -> None:
    async def story(stage: ReplicaStage) -> None:
        stage.create()
        await stage.until_opened(1, 2, 3)
        await stage.must_produce(1, b"0")
        await stage.until_equal(1, 2, 3)
        stage.kill(3)
        stage.elect(1, isr=(1, 2))
        for number in range(3):
            await stage.must_produce(1, b"%d" % number)
        stage.crash(1)
        stage.crash(2)
        stage.start(3)
        recorder, _ = await listen(stage, 3)
        stage.elect(3, isr=(3,))
        await until_calls(stage, recorder, 1)
        await stage.until(lambda: recorder.high_watermarks == {0: 1})

    ReplicaStage().run(story)


def test_whoever_registers_late_is_told_what_is_led_already() -> None:
    async def story(stage: ReplicaStage) -> None:
        stage.create(partitions=3)
        await stage.until_opened(1, 2, 3)
        await stage.must_produce(1, b"0")
        await stage.until_equal(1, 2, 3)
        whole, _ = await listen(stage, 1)
        one, _ = await listen(stage, 1, partition=2)
        await stage.until(lambda: len(whole.current) == 3 and len(one.current) == 1)
        assert whole.high_watermarks == {0: 1, 1: 0, 2: 0}
        assert one.high_watermarks == {2: 0}

    ReplicaStage().run(story)


def test_a_registration_that_is_removed_is_called_no_more() -> None:
    async def story(stage: ReplicaStage) -> None:
        removed, registration = await listen(stage, 1)
        kept, _ = await listen(stage, 1)
        stage.create()
        await until_calls(stage, kept, 1)

        def remove(manager: ReplicaManager) -> None:
            stage.hosted(1).end_service()
            manager.listeners.remove(registration)

        await at_once(stage, 1, remove)
        await until_calls(stage, kept, 2)
        assert removed.calls_received() == [("elected", 0, None)], "not even what was undelivered"

    ReplicaStage().run(story)


def test_nobody_is_called_within_a_step_and_a_leadership_that_is_over_by_then_is_left_out() -> None:
    async def story(stage: ReplicaStage) -> None:
        recorder, _ = await listen(stage, 1)
        stage.create(replicas=(1,))
        await until_calls(stage, recorder, 1)
        images: list[MetadataImage] = []
        stage.blind = [1]
        for leader_id in (None, 1, None, 1):
            stage.elect(leader_id, isr=(1,))
            images.append(stage.image)

        def take_over(manager: ReplicaManager) -> int:
            before = len(recorder.calls)
            for image in images:
                manager.on_image(image)
            assert stage.hosted(1).leadership == Leadership(TOPIC, bytes(16), 0, 4)
            return len(recorder.calls) - before

        assert await at_once(stage, 1, take_over) == 0
        await until_calls(stage, recorder, 3)
        assert recorder.calls_received()[1:] == [
            ("resigned", 0, LeadershipEnd.DEPOSED),
            ("elected", 4, None),
        ]

    ReplicaStage().run(story)


def test_of_high_watermarks_that_follow_at_once_the_newest_is_told() -> None:
    async def story(stage: ReplicaStage) -> None:
        stage.create(replicas=(1,))
        recorder = await led(stage)

        def append(manager: ReplicaManager) -> None:
            for number in range(50):
                manager.writer.append(recorder.leadership, batch(b"%d" % number))
                assert recorder.high_watermarks == {0: 0}

        await stage.until(lambda: recorder.high_watermarks == {0: 0})
        await at_once(stage, 1, append)
        await stage.until(lambda: recorder.high_watermarks == {0: 50})
        assert len(recorder.calls) == 3

    ReplicaStage().run(story)


def test_a_high_watermark_of_a_leadership_that_is_over_is_left_out() -> None:
    """`Recorder` would not know the leadership any longer."""

    async def story(stage: ReplicaStage) -> None:
        stage.create(replicas=(1,))
        recorder = await led(stage)
        await stage.until(lambda: recorder.high_watermarks == {0: 0})

        def append_and_end(manager: ReplicaManager) -> None:
            manager.writer.append(recorder.leadership, batch(b"0"))
            stage.hosted(1).end_service()

        await at_once(stage, 1, append_and_end)
        await until_calls(stage, recorder, 2)
        await asyncio.sleep(LAG_S)
        assert recorder.high_watermarks == {0: 0}

    ReplicaStage().run(story)


def test_a_drain_ends_when_all_was_delivered() -> None:
    async def story(stage: ReplicaStage) -> None:
        stage.create(partitions=200, replicas=(1,))
        held = stage.manager(1)._partitions.held
        await stage.until(lambda: len(held) == 200 and all(one.leadership for one in held.values()))
        recorder = Recorder(stage.manager(1))

        async def drain(manager: ReplicaManager) -> int:
            manager.listeners.add(recorder, topic=TOPIC)
            await manager.listeners.drain()
            return len(recorder.current)

        assert await stage.on(1, drain) == 200

    ReplicaStage().run(story)


def test_many_partitions_are_told_of_in_turns_with_the_loop() -> None:
    async def story(stage: ReplicaStage) -> None:
        stage.create(partitions=200, replicas=(1,))
        held = stage.manager(1)._partitions.held
        await stage.until(lambda: len(held) == 200 and all(one.leadership for one in held.values()))
        recorder = Recorder(stage.manager(1))

        async def turns(manager: ReplicaManager) -> int:
            manager.listeners.add(recorder, topic=TOPIC)
            steps = 0
            while len(recorder.current) < 200:
                steps += 1
                await asyncio.sleep(0)
            return steps

        assert await stage.on(1, turns) >= 3

    ReplicaStage().run(story)


def test_a_listener_that_fails_ends_the_node() -> None:
    class Failing(Recorder):
        def on_election(self, leadership: Leadership) -> None:
            raise ValueError(leadership.topic)

    async def story(stage: ReplicaStage) -> None:
        stage.create()
        failing = Failing(stage.manager(1))
        await at_once(stage, 1, lambda manager: manager.listeners.add(failing, topic=TOPIC))
        await stage.until(lambda: bool(stage.fatal), within_s=LAG_S)
        assert [repr(error) for error in stage.fatal] == [repr(ValueError(TOPIC))]
        stage.fatal.clear()

    ReplicaStage().run(story)
