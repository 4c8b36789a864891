"""Fetch streams: what is said once is not said again, and nothing is missed for it (KIP-227)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

import pytest
from tests.broker.replica_stage import TOPIC, ReplicaStage, values_in

from tidelog.broker.partition.fetch import Fetch, FetchPosition
from tidelog.broker.replica_manager import ReplicaManager
from tidelog.broker.replication.fetch_session import REQUESTS_MAX
from tidelog.core.errors import CallFailedError
from tidelog.net.transport import Stream
from tidelog.v1 import common_pb2
from tidelog.v1.data_pb2 import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    ForgottenPartition,
)
from tidelog.v1.methods import FETCH_STREAM

pytestmark = pytest.mark.sim

LEADER = 1
WAIT_MS = 200
Fetches = Stream[FetchRequest, FetchResponse]
Story = Callable[[ReplicaStage, "Fetches"], Coroutine[Any, Any, None]]


def at(offset: int, partition: int = 0, **fields: Any) -> FetchPartition:
    return FetchPartition(topic=TOPIC, partition=partition, fetch_offset=offset, **fields)


def request(*partitions: FetchPartition, **fields: Any) -> FetchRequest:
    return FetchRequest(partitions=partitions, **{"max_wait_ms": WAIT_MS} | fields)


async def ask(stream: Fetches, *partitions: FetchPartition, **fields: Any) -> FetchResponse:
    await stream.send(request(*partitions, **fields))
    return await stream.receive()


def sent_partitions(response: FetchResponse) -> dict[int, list[bytes | None]]:
    return {one.partition: values_in(one) for one in response.partitions}


def run(story: Story, *, partitions: int = 2) -> None:
    """With a consumer's stream to the leader of two open partitions."""

    async def whole(stage: ReplicaStage) -> None:
        stage.create(partitions=partitions)
        await stage.until_opened(1, 2, 3)
        held = stage.manager(LEADER)._partitions.held
        await stage.until(lambda: all(one.replica.leader is not None for one in held.values()))
        stream = await stage._peers.open_stream(f"broker-{LEADER}:1", FETCH_STREAM)
        await story(stage, stream)
        stream.close()

    ReplicaStage().run(whole)


def test_what_was_answered_with_records_waits_until_it_is_named_again() -> None:
    async def story(stage: ReplicaStage, stream: Fetches) -> None:
        await stage.must_produce(LEADER, b"0")
        assert sent_partitions(await ask(stream, at(0), at(0, 1))) == {0: [b"0"], 1: []}
        await stage.must_produce(LEADER, b"1")
        assert sent_partitions(await ask(stream)) == {}, "the reader has not said where it goes on"
        assert sent_partitions(await ask(stream, at(1))) == {0: [b"1"]}

    run(story)


def test_a_partition_is_named_once_and_tells_its_news() -> None:
    async def story(stage: ReplicaStage, stream: Fetches) -> None:
        assert sent_partitions(await ask(stream, at(0), at(0, 1))) == {0: [], 1: []}
        assert sent_partitions(await ask(stream)) == {}, "nothing new"
        await stream.send(request())
        await stage.produce(LEADER, b"x", partition=1)
        assert sent_partitions(await stream.receive()) == {1: [b"x"]}

    run(story)


def test_a_partition_woken_for_nothing_says_nothing() -> None:
    async def story(stage: ReplicaStage, stream: Fetches) -> None:
        await ask(stream, at(0), at(0, 1))
        stage.hosted(LEADER).consumers.wake()
        assert list((await ask(stream)).partitions) == []

    run(story)


def test_a_request_ends_the_wait_of_the_one_before_it() -> None:
    async def story(stage: ReplicaStage, stream: Fetches) -> None:
        await stream.send(request(at(0), max_wait_ms=30_000))
        await asyncio.sleep(0.1)
        began_s = stage.scheduler.now_s
        await stream.send(request(at(0, 1)))
        assert sent_partitions(await stream.receive()) == {0: []}
        assert stage.scheduler.now_s - began_s < 0.1
        assert sent_partitions(await stream.receive()) == {1: []}, (
            "it waits as long as it may itself"
        )
        assert stage.scheduler.now_s - began_s >= WAIT_MS / 1000

    run(story)


def test_a_stream_is_read_only_a_little_ahead_of_its_answers() -> None:
    async def read_ahead(manager: ReplicaManager) -> int:
        taken = 0

        async def requests() -> AsyncIterator[Fetch]:
            nonlocal taken
            while True:
                taken += 1
                yield Fetch([FetchPosition(TOPIC, 0, 0)], max_wait_ms=WAIT_MS)

        answers = manager.session().answers(requests())
        await anext(answers)
        await asyncio.sleep(0.1)
        await answers.aclose()
        return taken

    async def story(stage: ReplicaStage, _: Fetches) -> None:
        assert await stage.on(LEADER, read_ahead) <= 2 * REQUESTS_MAX

    run(story)


def test_a_partition_named_twice_is_refused_the_second_time() -> None:
    async def story(stage: ReplicaStage, stream: Fetches) -> None:
        await stage.must_produce(LEADER, b"0")
        for answer in (await ask(stream, at(0), at(0)), await stage.fetch(LEADER, at(0), at(0))):
            first, second = sorted(answer.partitions, key=lambda one: one.error.code)
            assert values_in(first) == [b"0"]
            assert second.error.code == common_pb2.INVALID_REQUEST

    run(story)


def test_a_single_fetch_leaves_nobody_waiting() -> None:
    async def story(stage: ReplicaStage, _: Fetches) -> None:
        waiting = stage.hosted(LEADER).consumers._waiting
        fetching = asyncio.create_task(stage.fetch(LEADER, at(0), at(0, 1), max_wait_ms=100))
        await asyncio.sleep(0.05)
        assert len(waiting) == 1
        assert sent_partitions(await fetching) == {0: [], 1: []}, "every partition is told of"
        assert not waiting

    run(story)


def test_a_single_fetch_is_answered_for_every_partition_in_the_order_asked() -> None:
    async def story(stage: ReplicaStage, _: Fetches) -> None:
        for partition in (0, 1):
            await stage.produce(LEADER, bytes(1000), partition=partition)
        for order in ((0, 1), (1, 0), (0, 1), (1, 0)):
            answer = await stage.fetch(LEADER, *(at(0, one) for one in order), max_bytes=100)
            assert [one.partition for one in answer.partitions] == list(order)
            assert [one.high_watermark for one in answer.partitions] == [1, 1]
            assert sorted(len(values_in(one)) for one in answer.partitions) == [0, 1]

        fetching = asyncio.create_task(stage.fetch(LEADER, at(1), at(1, 1), max_wait_ms=100))
        await asyncio.sleep(0.05)
        for partition in (0, 1):
            stage.hosted(LEADER, partition).consumers.wake()
        assert sent_partitions(await fetching) == {0: [], 1: []}, (
            "woken for nothing they are told of, too"
        )

    run(story)


def test_what_is_forgotten_is_not_read() -> None:
    async def story(stage: ReplicaStage, stream: Fetches) -> None:
        await ask(stream, at(0), at(0, 1))
        gone = ForgottenPartition(topic=TOPIC, partition=1)
        assert sent_partitions(await ask(stream, forgotten=[gone])) == {}
        await stage.produce(LEADER, b"x", partition=1)
        assert sent_partitions(await ask(stream)) == {}

    run(story)


def test_an_error_leaves_at_once_and_is_told_once() -> None:
    async def story(stage: ReplicaStage, stream: Fetches) -> None:
        began_s = stage.scheduler.now_s
        (result,) = (await ask(stream, at(5), max_wait_ms=30_000)).partitions
        assert result.error.code == common_pb2.OFFSET_OUT_OF_RANGE
        (result,) = (await ask(stream, at(0, 7), max_wait_ms=30_000)).partitions
        assert result.error.code == common_pb2.UNKNOWN_TOPIC_OR_PARTITION
        assert stage.scheduler.now_s - began_s < 0.1
        await stage.must_produce(LEADER, b"0")
        assert sent_partitions(await ask(stream)) == {}
        assert sent_partitions(await ask(stream, at(0))) == {0: [b"0"]}

    run(story)


def test_a_leader_that_leads_no_more_says_so_by_itself() -> None:
    async def story(stage: ReplicaStage, stream: Fetches) -> None:
        await stream.send(request(at(0), max_wait_ms=30_000))
        await asyncio.sleep(0.05)
        stage.elect(2, (1, 2, 3))
        (result,) = (await stream.receive()).partitions
        assert result.error.code == common_pb2.NOT_LEADER_OR_FOLLOWER
        assert result.current_leader.leader_id == 2

    run(story)


def test_a_topic_made_anew_tells_its_own_news() -> None:
    async def story(stage: ReplicaStage, stream: Fetches) -> None:
        await ask(stream, at(0))
        held = stage.manager(LEADER)._partitions.held
        stage.delete()
        await stage.until(lambda: (TOPIC, 0) not in held)
        stage.create(topic_id=bytes([1] * 16))
        await stage.until(lambda: (TOPIC, 0) in held and held[TOPIC, 0].replica.leader is not None)
        await stream.send(request(at(0), max_wait_ms=30_000))
        await asyncio.sleep(0.1)
        await stage.must_produce(LEADER, b"new")
        async with asyncio.timeout(1):
            assert sent_partitions(await stream.receive()) == {0: [b"new"]}

    run(story)


@pytest.mark.parametrize("max_bytes", [100, 1500])
def test_what_has_no_room_comes_with_the_next_answer(max_bytes: int) -> None:
    async def story(stage: ReplicaStage, stream: Fetches) -> None:
        for partition in (0, 1):
            await stage.produce(LEADER, bytes(1000), partition=partition)
        first = await ask(stream, at(0), at(0, 1), max_bytes=max_bytes)
        second = await ask(stream, max_bytes=max_bytes)
        read = [
            [number for number, values in sent_partitions(one).items() if values]
            for one in (first, second)
        ]
        assert sorted(read) == [[0], [1]]

    run(story)


def test_more_bytes_are_waited_for() -> None:
    async def story(stage: ReplicaStage, stream: Fetches) -> None:
        await stage.must_produce(LEADER, bytes(100))
        await stream.send(request(at(0), min_bytes=300, max_wait_ms=30_000))
        await asyncio.sleep(0.05)
        await stage.must_produce(LEADER, bytes(200))
        (result,) = (await stream.receive()).partitions
        assert [len(value or b"") for value in values_in(result)] == [100, 200]

    run(story)


def test_another_replica_cannot_go_on_with_a_stream() -> None:
    async def story(stage: ReplicaStage, stream: Fetches) -> None:
        await ask(stream, at(0))
        with pytest.raises(CallFailedError, match="replica 3"):
            await ask(stream, at(0), replica_id=3)

    run(story)


def test_a_follower_hears_of_the_high_watermark_with_the_next_answer() -> None:
    async def story(stage: ReplicaStage, stream: Fetches) -> None:
        who: dict[str, Any] = {
            "replica_id": 2,
            "replica_epoch": stage.image.brokers[2].broker_epoch,
        }
        stage.kill(2)  # the test takes its place
        stage.cut(3)
        await stage.produce(LEADER, b"0", acks=1)
        await ask(stream, at(1, current_leader_epoch=0), **who)
        stage.heal()
        await stage.until(lambda: stage.hosted(LEADER).log.high_watermark == 1)
        began_s = stage.scheduler.now_s
        (result,) = (await ask(stream, **who)).partitions
        assert result.high_watermark == 1
        assert stage.scheduler.now_s - began_s >= WAIT_MS / 1000, "it is no reason for an answer"

    run(story)


def named_in(stage: ReplicaStage) -> list[FetchRequest]:
    """The followers' requests from now on."""
    seen: list[FetchRequest] = []

    def tap(_: object, asked: object, answered: object) -> None:
        if isinstance(asked, FetchRequest) and answered is None and asked.HasField("replica_id"):
            seen.append(asked)

    stage.network.tap = tap
    return seen


def test_followers_name_what_changed_and_now_and_then_everything() -> None:
    partitions, seconds = 50, 10

    async def story(stage: ReplicaStage, _: Fetches) -> None:
        await asyncio.sleep(3)
        seen = named_in(stage)
        await asyncio.sleep(seconds)
        silent = sum(len(one.partitions) for one in seen)
        assert partitions * seconds / 2 <= silent <= partitions * seconds * 1.5, "two followers"
        seen.clear()
        for _number in range(20):
            await stage.must_produce(LEADER, b"x")
        names = [sorted({one.partition for one in asked.partitions}) for asked in seen]
        assert sum(one == [0] for one in names) >= 2 * 20, "each tells that it has the record"

    run(story, partitions=partitions)


def test_a_silent_partition_keeps_its_in_sync_replicas() -> None:
    async def story(stage: ReplicaStage, _: Fetches) -> None:
        await stage.must_produce(LEADER, b"0")
        epoch = stage.state().partition_epoch
        for _number in range(5):
            await asyncio.sleep(5)
            await stage.must_produce(LEADER, b"x")
        assert stage.state().partition_epoch == epoch

    run(story)
