"""Appends of coordinators: in one leader epoch, with an outcome that is known or said not to be."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from tests.broker.recorded_leaderships import Recorder, at_once, led
from tests.broker.replica_stage import CONFIG, LAG_S, TOPIC, ReplicaStage
from tests.log.partition_logs import batch

from tidelog.broker.partition.partition_listener import Leadership
from tidelog.broker.partition.partition_writer import Written
from tidelog.broker.replica_manager import ReplicaManager
from tidelog.core.errors import RequestTimedOutError, TidelogError
from tidelog.v1 import common_pb2

pytestmark = pytest.mark.sim

LONG_MS = 60_000


async def lead(stage: ReplicaStage) -> Recorder:
    stage.create(min_insync_replicas=2)
    await stage.until_opened(1, 2, 3)
    return await led(stage)


def isr_at_leader(stage: ReplicaStage) -> tuple[int, ...]:
    leader = stage.hosted(1).replica.leader
    return () if leader is None else leader.isr.committed


async def append(
    stage: ReplicaStage, leadership: Leadership, *values: bytes, broker_id: int = 1
) -> Written:
    return await at_once(
        stage, broker_id, lambda manager: manager.writer.append(leadership, batch(*values))
    )


async def outcome(
    stage: ReplicaStage, written: Written, *, timeout_ms: int = LONG_MS, broker_id: int = 1
) -> TidelogError | None:
    """What `committed` raises, None when it returns."""

    async def wait(_: ReplicaManager) -> TidelogError | None:
        try:
            await written.committed(timeout_ms=timeout_ms)
        except TidelogError as error:
            return error
        return None

    return await stage.on(broker_id, wait)


async def refused(
    stage: ReplicaStage, leadership: Leadership, *, broker_id: int = 1
) -> TidelogError:
    """What `append` raises; nothing is in the log then, and nothing waits."""

    def run(manager: ReplicaManager) -> TidelogError:
        held = manager._partitions.held.get((TOPIC, 0))
        end_offset = None if held is None else held.log.log_end_offset
        with pytest.raises(TidelogError) as raised:
            manager.writer.append(leadership, batch(b"x"))
        assert held is None or held.log.log_end_offset == end_offset
        return raised.value

    return await at_once(stage, broker_id, run)


def test_records_have_offsets_at_once_and_are_committed_by_the_in_sync_replicas() -> None:
    async def story(stage: ReplicaStage) -> None:
        recorder = await lead(stage)
        first = await append(stage, recorder.leadership, b"0", b"1")
        second = await append(stage, recorder.leadership, b"2")
        assert (first.base_offset, first.end_offset) == (0, 2)
        assert (second.base_offset, second.end_offset) == (2, 3)
        assert not second.is_over
        assert await outcome(stage, second) is None
        assert first.is_over
        assert stage.hosted(1).log.high_watermark == 3
        assert await stage.consume(1) == [b"0", b"1", b"2"]
        assert stage.manager(1).writer.uncommitted == 0

    ReplicaStage().run(story)


def test_a_leader_that_is_alone_commits_at_once() -> None:
    async def story(stage: ReplicaStage) -> None:
        stage.create(replicas=(1,))
        recorder = await led(stage)
        written = await append(stage, recorder.leadership, b"0")
        assert written.is_over
        assert await outcome(stage, written, timeout_ms=0) is None
        assert stage.manager(1).writer.uncommitted == 0

    ReplicaStage().run(story)


def test_leadership_that_ends_before_the_commit_leaves_the_outcome_unknown() -> None:
    async def story(stage: ReplicaStage) -> None:
        recorder = await lead(stage)
        stage.cut(1)
        written = await append(stage, recorder.leadership, b"0")
        stage.elect(2, isr=(1, 2, 3))
        error = await outcome(stage, written)
        assert error is not None
        assert error.code == common_pb2.REQUEST_TIMED_OUT
        assert error.is_outcome_unknown
        assert stage.manager(1).writer.uncommitted == 0
        code = (await refused(stage, recorder.ended[0])).code
        assert code == common_pb2.FENCED_LEADER_EPOCH
        # The other leader does not take it for its own either.
        error = await refused(stage, recorder.ended[0], broker_id=2)
        assert error.code == common_pb2.FENCED_LEADER_EPOCH
        assert not error.is_outcome_unknown

    ReplicaStage().run(story)


def test_a_newer_epoch_of_the_same_leader_fences_the_older_and_keeps_its_records() -> None:
    async def story(stage: ReplicaStage) -> None:
        recorder = await lead(stage)
        stage.cut(1)
        written = await append(stage, recorder.leadership, b"0")
        stage.blind = [1]
        stage.elect(None, isr=(1, 2, 3))
        stage.elect(1, isr=(1, 2, 3))
        stage.blind = []
        stage.publish(1)
        await stage.until(lambda: bool(recorder.ended))
        assert (await refused(stage, recorder.ended[0])).code == common_pb2.FENCED_LEADER_EPOCH
        stage.heal()
        assert await outcome(stage, written) is None
        await stage.until(lambda: recorder.high_watermarks == {0: 1})

    ReplicaStage().run(story)


def test_an_epoch_that_is_to_come_is_refused() -> None:
    async def story(stage: ReplicaStage) -> None:
        recorder = await lead(stage)
        later = recorder.leadership._replace(leader_epoch=1)
        assert (await refused(stage, later)).code == common_pb2.UNKNOWN_LEADER_EPOCH

    ReplicaStage().run(story)


def test_below_min_insync_replicas_nothing_is_appended() -> None:
    async def story(stage: ReplicaStage) -> None:
        recorder = await lead(stage)
        stage.cut(1)
        stage.elect(1, isr=(1,))
        await stage.until(lambda: isr_at_leader(stage) == (1,))
        error = await refused(stage, recorder.leadership)
        assert error.code == common_pb2.NOT_ENOUGH_REPLICAS
        assert not error.is_outcome_unknown

    ReplicaStage().run(story)


def test_an_isr_that_falls_after_the_append_leaves_it_unknown_until_the_high_watermark_tells() -> (
    None
):
    async def story(stage: ReplicaStage) -> None:
        recorder = await lead(stage)
        stage.cut(1)
        written = await append(stage, recorder.leadership, b"0")
        error = await outcome(stage, written)
        assert error is not None
        assert error.code == common_pb2.NOT_ENOUGH_REPLICAS_AFTER_APPEND
        assert error.is_outcome_unknown
        assert recorder.calls_received() == [("elected", 0, None)]
        assert recorder.high_watermarks == {0: 0}
        stage.heal()
        await stage.until(lambda: recorder.high_watermarks == {0: written.end_offset})

    ReplicaStage().run(story)


def test_a_wait_that_is_over_may_be_taken_up_again() -> None:
    async def story(stage: ReplicaStage) -> None:
        recorder = await lead(stage)
        stage.cut(1)
        written = await append(stage, recorder.leadership, b"0")
        error = await outcome(stage, written, timeout_ms=100)
        assert error is not None
        assert error.code == common_pb2.REQUEST_TIMED_OUT
        assert error.is_outcome_unknown
        stage.heal()
        assert await outcome(stage, written) is None

    ReplicaStage().run(story)


def test_a_deleted_topic_and_one_of_the_same_name_take_nothing() -> None:
    async def story(stage: ReplicaStage) -> None:
        recorder = await lead(stage)
        leadership = recorder.leadership
        stage.cut(1)
        written = await append(stage, leadership, b"0")
        stage.delete()
        error = await outcome(stage, written)
        assert error is not None
        assert error.is_outcome_unknown
        await stage.until(lambda: not recorder.current)
        assert (await refused(stage, leadership)).code == common_pb2.UNKNOWN_TOPIC_ID
        stage.create(topic_id=bytes(15) + b"1")
        await stage.until(lambda: bool(recorder.current))
        assert (await refused(stage, leadership)).code == common_pb2.INCONSISTENT_TOPIC_ID

    ReplicaStage().run(story)


def test_a_disk_that_fails_refuses_the_append_and_ends_the_wait_of_others() -> None:
    async def story(stage: ReplicaStage) -> None:
        recorder = await lead(stage)
        leadership = recorder.leadership
        stage.cut(1)
        written = await append(stage, leadership, b"0")
        segment = f"/data/{TOPIC}-0/00000000000000000000.log"
        stage.disk(1).faults.fail("write", segment, count=1)
        assert (await refused(stage, leadership)).code == common_pb2.KAFKA_STORAGE_ERROR
        error = await outcome(stage, written)
        assert error is not None
        assert error.is_outcome_unknown
        await stage.until(lambda: recorder.ended == [leadership])
        assert (await refused(stage, leadership)).code == common_pb2.KAFKA_STORAGE_ERROR

    ReplicaStage().run(story)


def test_a_cluster_that_stops_takes_no_appends() -> None:
    async def story(stage: ReplicaStage) -> None:
        recorder = await lead(stage)
        await at_once(stage, 1, lambda manager: manager.hold(1 << 60))
        error = await refused(stage, recorder.leadership)
        assert error.code == common_pb2.BROKER_NOT_AVAILABLE
        await at_once(stage, 1, ReplicaManager.release)
        assert await outcome(stage, await append(stage, recorder.leadership, b"0")) is None

    ReplicaStage().run(story)


def test_only_so_many_appends_wait() -> None:
    async def story(stage: ReplicaStage) -> None:
        recorder = await lead(stage)
        stage.cut(1)
        waiting = [await append(stage, recorder.leadership, b"%d" % one) for one in range(3)]
        error = await refused(stage, recorder.leadership)
        assert error.code == common_pb2.THROTTLING_QUOTA_EXCEEDED
        stage.heal()
        await asyncio.sleep(LAG_S)
        assert all([await outcome(stage, one) is None for one in waiting])
        assert await outcome(stage, await append(stage, recorder.leadership, b"3")) is None

    ReplicaStage(replace(CONFIG, coordinator_appends_max=3)).run(story)


@pytest.mark.parametrize(("is_duplicate", "ends"), [(True, 1), (False, 0)])
async def test_a_marker_that_was_there_counts_only_while_somebody_waits_for_it(
    is_duplicate: bool, ends: int
) -> None:
    """Each repeated request names it again; an append counts until the log knows its outcome."""
    ended: list[bool] = []
    written = Written(lambda: ended.append(True))
    written.is_duplicate = is_duplicate
    written.expect(0, 5)
    for _ in range(2):
        with pytest.raises(RequestTimedOutError):
            await written.committed(timeout_ms=1)
        assert len(ended) == ends
    assert written.is_over is is_duplicate
    written.resolve(0, None)
    await written.committed(timeout_ms=1)
    assert len(ended) == 1
