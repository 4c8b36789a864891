"""Plain fetches, of whichever protocol, through session, reader and core: no message in between."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

import pytest
from tests.broker.replica_stage import TOPIC, ReplicaStage, values_in

from tidelog.broker.partition import leader_io as leading
from tidelog.broker.partition.fetch import Fetch, FetchPosition, FetchResult
from tidelog.broker.partition.produce import CurrentLeader
from tidelog.broker.replica.events import EpochEnd
from tidelog.broker.replica_manager import ReplicaManager
from tidelog.log.segment_walk import ReadResult
from tidelog.v1 import common_pb2

pytestmark = pytest.mark.sim

LEADER, FOLLOWER = 1, 2
Story = Callable[[ReplicaStage], Coroutine[Any, Any, None]]


def run(story: Story) -> None:
    """With two records in a partition that broker 1 leads."""

    async def whole(stage: ReplicaStage) -> None:
        stage.create()
        await stage.until_opened(1, 2, 3)
        for value in (b"0", b"1"):
            await stage.must_produce(LEADER, value)
        await story(stage)

    ReplicaStage().run(whole)


async def fetch(stage: ReplicaStage, request: Fetch, broker_id: int = LEADER) -> list[FetchResult]:
    return await stage.on(broker_id, lambda manager: manager.session().fetch(request))


def test_a_consumer_reads_below_the_high_watermark() -> None:
    async def story(stage: ReplicaStage) -> None:
        (result,) = await fetch(stage, Fetch([FetchPosition(TOPIC, 0, 1)]))
        assert values_in(result) == [b"1"]
        assert result == FetchResult(
            TOPIC, 0, high_watermark=2, last_stable_offset=2, records=result.records
        )

    run(story)


def test_records_are_what_the_log_read(monkeypatch: pytest.MonkeyPatch) -> None:
    right, read = leading._records, list[bytes]()

    def seen(*args: Any, **limits: Any) -> ReadResult:
        found = right(*args, **limits)
        read.append(found.records)
        return found

    async def story(stage: ReplicaStage) -> None:
        monkeypatch.setattr(leading, "_records", seen)
        (result,) = await fetch(stage, Fetch([FetchPosition(TOPIC, 0, 0)]))
        assert any(result.records is one for one in read), "nothing copied them"

    run(story)


def test_a_replica_is_told_the_log_end_and_where_it_diverges() -> None:
    async def story(stage: ReplicaStage) -> None:
        stage.kill(FOLLOWER)  # the test takes its place
        epoch = stage.image.brokers[FOLLOWER].broker_epoch

        async def as_replica(position: FetchPosition) -> FetchResult:
            request = Fetch([position], replica_id=FOLLOWER, replica_epoch=epoch)
            (result,) = await fetch(stage, request)
            return result

        await stage.produce(LEADER, b"2", acks=1)
        at = FetchPosition(TOPIC, 0, 2, current_leader_epoch=0)
        served = await as_replica(at)
        assert (values_in(served), served.log_end_offset) == ([b"2"], 3)
        diverging = await as_replica(at._replace(fetch_offset=9, last_fetched_epoch=0))
        assert (diverging.diverging_epoch, diverging.records) == (EpochEnd(0, 3), b"")

    run(story)


def test_a_refusal_names_the_leader() -> None:
    async def story(stage: ReplicaStage) -> None:
        (result,) = await fetch(stage, Fetch([FetchPosition(TOPIC, 0, 0)]), FOLLOWER)
        assert result.error == common_pb2.NOT_LEADER_OR_FOLLOWER
        assert "does not lead" in result.error_message
        assert result.current_leader == CurrentLeader(0, LEADER)

    run(story)


def test_a_session_remembers_and_forgets() -> None:
    async def requests() -> AsyncIterator[Fetch]:
        yield Fetch([FetchPosition(TOPIC, 0, 2)])
        yield Fetch([])
        yield Fetch([], forgotten=[(TOPIC, 0)])

    async def follow(manager: ReplicaManager) -> list[int]:
        waiters, waiting = manager._partitions.held[TOPIC, 0].consumers._waiting, []
        async for _ in manager.session().answers(requests()):
            waiting.append(len(waiters))  # noqa: PERF401 - the length changes with each
        return waiting

    async def story(stage: ReplicaStage) -> None:
        assert await stage.on(LEADER, follow) == [1, 1, 0]

    run(story)
