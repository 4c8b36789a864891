"""Replication between replica managers: acknowledged records survive, logs converge."""

from __future__ import annotations

import asyncio

import pytest
from tests.broker.replica_stage import CONFIG, LAG_S, TOPIC, ReplicaStage
from tests.log.partition_logs import contents

from tidelog.core.errors import CallFailedError
from tidelog.v1 import common_pb2
from tidelog.v1.data_pb2 import FetchPartition

pytestmark = pytest.mark.sim


def test_acks_all_is_answered_when_the_whole_isr_holds_the_records() -> None:
    async def story(stage: ReplicaStage) -> None:
        stage.create()
        await stage.until_opened(1, 2, 3)
        assert await stage.must_produce(1, b"a", b"b") == 0
        assert await stage.must_produce(1, b"c") == 2
        for broker_id in (1, 2, 3):
            assert [value for _, _, value in contents(stage.hosted(broker_id).log)] == [
                *(b"a", b"b", b"c")
            ]
        assert await stage.consume(1) == [b"a", b"b", b"c"]

    ReplicaStage().run(story)


def test_an_acknowledgement_takes_round_trips_and_no_poll_interval() -> None:
    async def story(stage: ReplicaStage) -> None:
        stage.create()
        await stage.until_opened(1, 2, 3)
        await stage.must_produce(1, b"warm")
        loop = asyncio.get_running_loop()
        for _ in range(20):
            started_s = loop.time()
            await stage.must_produce(1, b"a")
            assert loop.time() - started_s < 0.2

    ReplicaStage().run(story)


def test_consumers_never_see_what_the_isr_does_not_hold() -> None:
    async def story(stage: ReplicaStage) -> None:
        stage.create()
        await stage.until_opened(1, 2, 3)
        await stage.must_produce(1, b"a")
        stage.cut(3)
        assert await stage.must_produce(1, b"b", acks=1) == 1
        await asyncio.sleep(LAG_S / 2)
        assert await stage.consume(1) == [b"a"]
        offsets = await stage.offsets(1)
        assert (offsets.offset, offsets.log_end_offset) == (1, 2)
        result = await stage.fetch_one(1, 2)
        assert result.error.code == common_pb2.NONE
        assert not result.records
        result = await stage.fetch_one(1, 3)
        assert result.error.code == common_pb2.OFFSET_OUT_OF_RANGE

    ReplicaStage().run(story)


def test_a_lagging_follower_leaves_the_isr_and_comes_back() -> None:
    async def story(stage: ReplicaStage) -> None:
        stage.create(min_insync_replicas=2)
        await stage.until_opened(1, 2, 3)
        await stage.must_produce(1, b"a")
        stage.cut(3)
        await stage.must_produce(1, b"b")
        assert sorted(stage.state().isr) == [1, 2]
        await stage.must_produce(1, b"c")
        stage.heal()
        await stage.until(lambda: len(stage.state().isr) == 3)
        await stage.until_equal(1, 2, 3)
        stats = stage.manager(1).stats()
        assert (stats["isr_shrinks"], stats["isr_expands"]) == (1, 1)
        assert stats["under_replicated_partitions"] == 0

    ReplicaStage().run(story)


def test_a_follower_rejoins_while_writes_go_on() -> None:
    async def story(stage: ReplicaStage) -> None:
        stage.create()
        await stage.until_opened(1, 2, 3)
        stage.cut(3)
        await stage.must_produce(1, b"a")
        assert sorted(stage.state().isr) == [1, 2]
        stage.heal()
        for _ in range(300):
            await stage.must_produce(1, b"x" * 1000)
            if len(stage.state().isr) == 3:
                return
        pytest.fail("broker 3 did not come back into the ISR under load")

    ReplicaStage().run(story)


def test_who_dies_between_its_fetch_and_the_isr_is_not_waited_for_once_it_is_fenced() -> None:
    async def story(stage: ReplicaStage) -> None:
        stage.create(min_insync_replicas=2)
        await stage.until_opened(1, 2, 3)
        await stage.must_produce(1, b"a", b"b")
        broker_epoch = stage.image.brokers[3].broker_epoch
        stage.kill(3)
        stage.elect(1, isr=(1, 2))
        await stage.must_produce(1, b"c")
        asked = FetchPartition(
            topic=TOPIC,
            fetch_offset=2,
            current_leader_epoch=stage.state().leader_epoch,
            last_fetched_epoch=0,
        )
        await stage.fetch(1, asked, replica_id=3, replica_epoch=broker_epoch)  # its last word
        waiting = asyncio.create_task(stage.must_produce(1, b"d"))
        await asyncio.sleep(LAG_S / 4)
        assert not waiting.done()
        stage.fence(3)
        async with asyncio.timeout(LAG_S / 4):
            assert await waiting == 3

    ReplicaStage().run(story)


def test_below_min_insync_replicas_waiters_fail_after_and_others_before_the_append() -> None:
    async def story(stage: ReplicaStage) -> None:
        stage.create(min_insync_replicas=2)
        await stage.until_opened(1, 2, 3)
        await stage.must_produce(1, b"a")
        stage.cut(1)
        result = await stage.produce(1, b"b", timeout_ms=30_000)
        assert result.error.code == common_pb2.NOT_ENOUGH_REPLICAS_AFTER_APPEND
        result = await stage.produce(1, b"c")
        assert result.error.code == common_pb2.NOT_ENOUGH_REPLICAS
        assert await stage.consume(1) == [b"a"]
        stage.heal()
        await stage.until(lambda: len(stage.state().isr) == 3)
        await stage.must_produce(1, b"d")
        assert await stage.consume(1) == [b"a", b"b", b"d"]

    ReplicaStage().run(story)


def test_a_zombie_leader_acknowledges_nothing_and_its_tail_is_cut() -> None:
    """F05, F12: it does not hear that broker 2 leads, and still takes writes."""

    async def story(stage: ReplicaStage) -> None:
        stage.create(min_insync_replicas=2)
        await stage.until_opened(1, 2, 3)
        await stage.must_produce(1, b"a")
        stage.blind = [1]
        stage.elect(2, isr=(2, 3))
        await asyncio.sleep(0.01)
        await stage.must_produce(1, b"zombie, acks=1", acks=1)
        result = await stage.produce(1, b"zombie, acks=all", timeout_ms=3000)
        assert result.error.code != common_pb2.NONE
        assert await stage.must_produce(2, b"b") == 1
        assert await stage.consume(1) == [b"a"]
        assert await stage.consume(2) == [b"a", b"b"]
        stage.blind = []
        stage.publish(1)
        await stage.until(lambda: len(stage.state().isr) == 3)
        await stage.until_equal(1, 2, 3)
        assert await stage.consume(2) == [b"a", b"b"]
        assert stage.manager(1).stats()["truncated_records"] == 2

    ReplicaStage().run(story)


def test_a_divergence_is_found_after_any_number_of_empty_answers() -> None:
    """KAFKA-15510: an empty answer must not make a follower forget its last epoch."""

    async def story(stage: ReplicaStage) -> None:
        stage.create()
        await stage.until_opened(1, 2, 3)
        await stage.must_produce(1, b"a")
        await asyncio.sleep(2 * CONFIG.replica_fetch_wait_max_ms / 1000)
        stage.cut(1)
        await stage.must_produce(1, b"only on 1", acks=1)
        stage.elect(2, isr=(2, 3))
        await asyncio.sleep(0.01)
        for value in (b"b", b"c"):  # a batch each: one would overlap the private record
            await stage.must_produce(2, value)
        await asyncio.sleep(2 * CONFIG.replica_fetch_wait_max_ms / 1000)
        stage.heal()
        await stage.until_equal(1, 2, 3)
        assert await stage.consume(2) == [b"a", b"b", b"c"]

    ReplicaStage().run(story)


def test_elections_without_writes_leave_followers_able_to_join() -> None:
    """KAFKA-10706: epochs without records must be cut from the followers' logs too."""

    async def story(stage: ReplicaStage) -> None:
        stage.create()
        await stage.until_opened(1, 2, 3)
        await stage.must_produce(1, b"a")
        for leader_id in (2, 3, 1, 2, 3):
            stage.elect(leader_id, isr=(leader_id,))
            await asyncio.sleep(0.05)
        await stage.until(lambda: len(stage.state().isr) == 3, within_s=2.0)
        await stage.must_produce(3, b"b")
        await stage.until_equal(1, 2, 3)

    ReplicaStage().run(story)


def test_three_fast_leader_changes_with_private_tails_converge() -> None:
    """KIP-279: a leader that lacks a follower's epoch still finds where they part."""

    async def story(stage: ReplicaStage) -> None:
        stage.create()
        await stage.until_opened(1, 2, 3)
        await stage.must_produce(1, b"common")
        stage.cut(1)
        stage.cut(2)
        for leader_id in (1, 2, 1, 2):
            stage.elect(leader_id, isr=(leader_id,))
            await asyncio.sleep(0.05)
            await stage.must_produce(leader_id, b"tail of %d" % leader_id, acks=1)
        stage.elect(3, isr=(3,))
        await asyncio.sleep(0.05)
        await stage.must_produce(3, b"kept")
        stage.heal()
        await stage.until_equal(1, 2, 3)
        assert await stage.consume(3) == [b"common", b"kept"]

    ReplicaStage().run(story)


def test_a_crashed_follower_comes_back_with_what_its_disk_kept() -> None:
    async def story(stage: ReplicaStage) -> None:
        stage.create(min_insync_replicas=2)
        await stage.until_opened(1, 2, 3)
        for number in range(20):
            await stage.must_produce(1, b"%d" % number)
        stage.crash(3)
        stage.elect(1, isr=(1, 2))
        await stage.must_produce(1, b"without 3")
        stage.start(3)
        await stage.until_opened(3)
        await stage.until(lambda: len(stage.state().isr) == 3)
        await stage.until_equal(1, 2, 3)

    ReplicaStage().run(story)


def test_followers_tell_of_a_leader_whose_connections_broke_and_of_no_silent_one() -> None:
    async def story(stage: ReplicaStage) -> None:
        stage.create(min_insync_replicas=2)
        await stage.until_opened(1, 2, 3)
        await stage.must_produce(1, b"a")
        stage.cut(1)
        await asyncio.sleep(5)
        assert stage.broken == []
        stage.heal()
        stage.broken.clear()
        await stage.must_produce(1, b"b")
        stage.kill(1)
        await asyncio.sleep(0.05)
        noticed = len(stage.broken)
        assert noticed >= 2, "both, at once"
        await asyncio.sleep(1)
        assert set(stage.broken) == {1}
        assert len(stage.broken) > 2 * noticed, "for as long as it refuses"

    ReplicaStage().run(story)


def test_acknowledged_records_survive_the_leaders_crash() -> None:
    async def story(stage: ReplicaStage) -> None:
        stage.create(min_insync_replicas=2)
        await stage.until_opened(1, 2, 3)
        sent = [b"%d" % number for number in range(20)]
        for value in sent:
            await stage.must_produce(1, value)
        stage.crash(1)
        stage.elect(2, isr=(2, 3))
        await asyncio.sleep(0.05)
        await stage.must_produce(2, b"after")
        assert await stage.consume(2) == [*sent, b"after"]
        stage.start(1)
        await stage.until_opened(1)
        await stage.until(lambda: len(stage.state().isr) == 3)
        await stage.until_equal(1, 2, 3)

    ReplicaStage().run(story)


def test_an_isr_change_whose_answer_is_lost_is_resolved() -> None:
    async def story(stage: ReplicaStage) -> None:
        stage.create()
        await stage.until_opened(1, 2, 3)
        stage.alter_partition_errors = [CallFailedError("the answer was lost")] * 2
        stage.cut(3)
        await stage.must_produce(1, b"a")
        assert sorted(stage.state().isr) == [1, 2]
        stage.heal()
        await stage.until(lambda: len(stage.state().isr) == 3)
        await stage.until_equal(1, 2, 3)

    ReplicaStage().run(story)


def test_waiting_producers_are_told_at_once_when_leadership_ends() -> None:
    async def story(stage: ReplicaStage) -> None:
        stage.create()
        await stage.until_opened(1, 2, 3)
        await stage.must_produce(1, b"a")
        stage.cut(3)
        waiting = asyncio.create_task(stage.produce(1, b"b"))
        await asyncio.sleep(0.02)
        stage.elect(2, isr=(1, 2))
        async with asyncio.timeout(0.2):
            result = await waiting
        assert result.error.code == common_pb2.REQUEST_TIMED_OUT

    ReplicaStage().run(story)


def test_flush_messages_1_acknowledges_only_what_every_crash_leaves() -> None:
    async def story(stage: ReplicaStage) -> None:
        stage.create(flush_messages=1)
        await stage.until_opened(1, 2, 3)
        sent = [b"%d" % number for number in range(20)]
        for value in sent[:10]:
            await stage.must_produce(1, value)
        await asyncio.gather(*(stage.must_produce(1, value) for value in sent[10:]))
        for broker_id in (1, 2, 3):
            stage.crash(broker_id)
        for broker_id in (1, 2, 3):
            stage.start(broker_id)
        await stage.until_opened(1, 2, 3)
        await stage.until_equal(1, 2, 3)
        assert sorted(value or b"" for value in await stage.consume(3)) == sorted(sent)

    ReplicaStage().run(story)


def test_flush_messages_1_with_acks_1_survives_the_only_replicas_crash() -> None:
    async def story(stage: ReplicaStage) -> None:
        stage.create(replicas=(1,), flush_messages=1)
        await stage.until_opened(1)
        for number in range(10):
            await stage.must_produce(1, b"%d" % number, acks=1)
        stage.crash(1)
        stage.start(1)
        await stage.until_opened(1)
        assert len(contents(stage.hosted(1).log)) == 10

    ReplicaStage().run(story)


def test_what_a_killed_follower_left_unflushed_is_flushed_before_it_counts() -> None:
    async def story(stage: ReplicaStage) -> None:
        stage.create(flush_messages=1)
        await stage.until_opened(1, 2, 3)
        await stage.must_produce(1, b"a")
        stage.disk(3).slow_down(1000.0)
        waiting = asyncio.create_task(stage.produce(1, b"b", timeout_ms=100))
        await stage.until(lambda: stage.hosted(3).log.log_end_offset == 2)
        assert (await waiting).error.code == common_pb2.REQUEST_TIMED_OUT
        stage.kill(3)
        stage.disk(3).slow_down(0.001)
        stage.start(3)
        await stage.until_opened(3)
        log = stage.hosted(3).log
        assert (log.log_end_offset, log.recovery_point) == (2, 2)

    ReplicaStage().run(story)


def test_a_role_waits_until_the_truncation_that_runs_has_ended() -> None:
    async def story(stage: ReplicaStage) -> None:
        stage.create()
        await stage.until_opened(1, 2, 3)
        await stage.must_produce(1, b"a")
        stage.cut(1)
        await stage.must_produce(1, b"tail", acks=1)
        stage.elect(2, isr=(2, 3))
        await asyncio.sleep(0.05)
        stage.disk(1).slow_down(0.3)
        stage.heal()
        await stage.until(lambda: stage.hosted(1).log.log_end_offset == 1)
        stage.elect(1, isr=(1, 2, 3))
        await asyncio.sleep(0.05)
        refused = await stage.produce(1, b"b")
        assert refused.error.code == common_pb2.NOT_LEADER_OR_FOLLOWER
        assert not refused.HasField("current_leader")
        await stage.until(lambda: stage.hosted(1).replica.leader is not None, within_s=1.0)
        assert await stage.must_produce(1, b"b") == 1
        await stage.until_equal(1, 2, 3)

    ReplicaStage().run(story)
