"""Reads of committed records: bounded by the last stable offset, with the aborted transactions."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

import pytest
from tests.broker.replica_stage import TOPIC, ReplicaStage, values_in
from tests.broker.staged_transactions import StagedWriter

from tidelog.broker.partition.fetch import Fetch, FetchPosition, FetchResult
from tidelog.broker.replica_manager import ReplicaManager
from tidelog.v1 import common_pb2
from tidelog.v1.data_pb2 import (
    READ_COMMITTED,
    READ_UNCOMMITTED,
    AbortedTransaction,
    ListOffsetsRequest,
)

pytestmark = pytest.mark.sim

LEADER, NEXT = 1, 2
AN_ID, ANOTHER_ID = 70, 71
Story = Callable[[ReplicaStage, StagedWriter, StagedWriter], Coroutine[Any, Any, None]]


def run(story: Story) -> None:
    """With record 0 in a partition that broker 1 leads, and two transactional producers."""

    async def whole(stage: ReplicaStage) -> None:
        stage.create(message_timestamp_type="CreateTime")
        await stage.until_opened(1, 2, 3)
        await stage.must_produce(LEADER, b"0")
        await story(stage, StagedWriter(stage, AN_ID), StagedWriter(stage, ANOTHER_ID))

    ReplicaStage().run(whole)


async def committed(stage: ReplicaStage, broker_id: int = LEADER) -> None:
    """Wait until all that the leader has is below the high watermark."""
    log = stage.hosted(broker_id).log
    await stage.until(lambda: log.high_watermark == log.log_end_offset)


async def ends(stage: ReplicaStage, broker_id: int = LEADER) -> tuple[int, int]:
    """High watermark and last stable offset that readers are told."""
    answers = [
        await stage.fetch_one(broker_id, 0, isolation_level=level)
        for level in (READ_UNCOMMITTED, READ_COMMITTED)
    ]
    one, other = [(answer.high_watermark, answer.last_stable_offset) for answer in answers]
    assert one == other, "whoever asks"
    return one


async def read(stage: ReplicaStage, offset: int, **fields: Any) -> list[bytes | None]:
    """Values of all records of a committed read, markers and aborted ones too."""
    answer = await stage.fetch_one(LEADER, offset, isolation_level=READ_COMMITTED, **fields)
    assert answer.error.code == common_pb2.NONE, answer.error
    return values_in(answer)


def test_records_of_an_open_transaction_and_those_behind_it_are_not_served() -> None:
    async def story(stage: ReplicaStage, one: StagedWriter, _: StagedWriter) -> None:
        await one.send(b"1", b"2")
        await stage.must_produce(LEADER, b"3")
        assert await ends(stage) == (4, 1)
        assert await read(stage, 0) == [b"0"]
        assert await read(stage, 1) == await read(stage, 3) == []
        assert await stage.consume(LEADER) == [b"0", b"1", b"2", b"3"]

        await one.end(is_commit=True)
        await committed(stage)
        assert await ends(stage) == (5, 5)
        assert (await read(stage, 0))[:4] == [b"0", b"1", b"2", b"3"]

    run(story)


def test_the_first_open_transaction_bounds_readers_whichever_ends_first() -> None:
    async def story(stage: ReplicaStage, one: StagedWriter, two: StagedWriter) -> None:
        await one.send(b"1")
        await two.send(b"2")
        await two.end(is_commit=True)
        await committed(stage)
        assert await ends(stage) == (4, 1)
        await one.end(is_commit=True)
        await committed(stage)
        assert await ends(stage) == (5, 5)

    run(story)


def test_a_marker_that_is_not_committed_decides_nothing() -> None:
    async def story(stage: ReplicaStage, one: StagedWriter, _: StagedWriter) -> None:
        await one.send(b"1")
        await committed(stage)
        stage.cut(LEADER)
        await asyncio.sleep(0.1)
        await one.end(is_commit=True)
        await asyncio.sleep(0.3)
        assert await ends(stage) == (2, 1)
        assert await read(stage, 0) == [b"0"]
        stage.heal()
        await committed(stage)
        assert await ends(stage) == (3, 3)

    run(story)


def test_a_waiting_fetch_is_answered_when_the_transaction_is_decided_and_no_sooner() -> None:
    async def story(stage: ReplicaStage, one: StagedWriter, _: StagedWriter) -> None:
        await one.send(b"1")
        await committed(stage)
        waiting = asyncio.create_task(read(stage, 1, max_wait_ms=20_000, min_bytes=1))
        await stage.must_produce(LEADER, b"2")
        await asyncio.sleep(1)
        assert not waiting.done()
        await one.end(is_commit=True)
        async with asyncio.timeout(1):
            assert (await waiting)[:2] == [b"1", b"2"]

    run(story)


def test_aborted_transactions_are_those_with_records_in_the_answer() -> None:
    async def story(stage: ReplicaStage, one: StagedWriter, two: StagedWriter) -> None:
        await one.send(b"1")
        await two.send(b"2")
        await one.send(b"3")
        await one.end(is_commit=False)  # offset 4
        await two.end(is_commit=False)  # offset 5
        await one.send(b"6")
        await one.end(is_commit=True)  # offset 7
        await committed(stage)

        async def aborted(offset: int, level: Any = READ_COMMITTED, **fields: Any) -> list[Any]:
            answer = await stage.fetch_one(LEADER, offset, isolation_level=level, **fields)
            assert values_in(answer)
            return list(answer.aborted_transactions)

        first = AbortedTransaction(producer_id=AN_ID, first_offset=1)
        second = AbortedTransaction(producer_id=ANOTHER_ID, first_offset=2)
        assert await aborted(0) == [first, second]
        assert await aborted(3) == [first, second], "begun below the read"
        assert await aborted(5) == [second], "the other's marker was read"
        assert await aborted(6) == []
        assert await aborted(0, max_bytes=1) == []
        assert await aborted(1, max_bytes=1) == [first]
        assert await aborted(0, READ_UNCOMMITTED) == []

    run(story)


def test_offsets_are_looked_up_below_the_last_stable_offset() -> None:
    async def story(stage: ReplicaStage, one: StagedWriter, _: StagedWriter) -> None:
        await one.send(b"1")
        await stage.must_produce(LEADER, b"2")

        async def found(spec: ListOffsetsRequest.Spec, level: Any, timestamp_ms: int = 0) -> int:
            asked = ListOffsetsRequest.Partition(
                topic=TOPIC, partition=0, spec=spec, timestamp_ms=timestamp_ms
            )
            request = ListOffsetsRequest(partitions=[asked], isolation_level=level)
            response = await stage.list_offsets(LEADER, request)
            assert response.partitions[0].error.code == common_pb2.NONE
            return response.partitions[0].offset

        latest, earliest = ListOffsetsRequest.LATEST, ListOffsetsRequest.EARLIEST
        time = ListOffsetsRequest.TIMESTAMP
        assert await found(latest, READ_UNCOMMITTED) == 3
        assert await found(latest, READ_COMMITTED) == 1
        assert await found(earliest, READ_COMMITTED) == 0
        await one.end(is_commit=True)  # of the present, the other records of 1970
        await committed(stage)
        await one.send(b"4")
        await one.end(is_commit=True)  # offset 5
        await one.send(b"6")
        await committed(stage)
        assert await found(latest, READ_COMMITTED) == 6
        assert await found(time, READ_COMMITTED, 2) == await found(time, READ_UNCOMMITTED, 2) == 3

    run(story)


def test_no_record_behind_an_open_transaction_is_found_by_time() -> None:
    async def story(stage: ReplicaStage, one: StagedWriter, two: StagedWriter) -> None:
        await one.send(b"1")
        await two.send(b"2")
        await two.end(is_commit=True)  # offset 3, of the present, the other records of 1970
        await committed(stage)

        async def found(spec: ListOffsetsRequest.Spec, level: Any) -> int:
            asked = ListOffsetsRequest.Partition(topic=TOPIC, spec=spec, timestamp_ms=2)
            request = ListOffsetsRequest(partitions=[asked], isolation_level=level)
            return (await stage.list_offsets(LEADER, request)).partitions[0].offset

        for spec, committed_offset in (
            (ListOffsetsRequest.TIMESTAMP, -1),
            (ListOffsetsRequest.MAX_TIMESTAMP, 0),
        ):
            assert await found(spec, READ_UNCOMMITTED) == 3
            assert await found(spec, READ_COMMITTED) == committed_offset

    run(story)


def test_a_new_leader_knows_which_transactions_are_decided() -> None:
    async def story(stage: ReplicaStage, one: StagedWriter, two: StagedWriter) -> None:
        await one.send(b"1")
        await two.send(b"2")
        await one.end(is_commit=False)  # offset 3
        await committed(stage)
        await stage.until_equal(1, 2, 3)
        stage.elect(NEXT, (1, 2, 3))
        await stage.until(lambda: stage.hosted(NEXT).replica.leader is not None)
        await committed(stage, NEXT)
        assert await ends(stage, NEXT) == (4, 2)
        two.leader_id = NEXT
        await two.end(is_commit=True)
        await committed(stage, NEXT)
        assert await ends(stage, NEXT) == (5, 5)
        answer = await stage.fetch_one(NEXT, 0, isolation_level=READ_COMMITTED)
        assert list(answer.aborted_transactions) == [
            AbortedTransaction(producer_id=AN_ID, first_offset=1)
        ]

    run(story)


def test_deleted_records_of_an_open_transaction_let_no_reader_pass_it() -> None:
    """Decision 0058: a user's DeleteRecords may pass it, the last stable offset goes along."""

    async def story(stage: ReplicaStage, one: StagedWriter, _: StagedWriter) -> None:
        await one.send(b"1")
        await stage.must_produce(LEADER, b"2", b"3")
        assert (await stage.delete_records(LEADER, 3)).error.code == common_pb2.NONE
        answer = await stage.fetch_one(LEADER, 3, isolation_level=READ_COMMITTED)
        assert (answer.log_start_offset, answer.last_stable_offset) == (3, 3)
        assert (answer.high_watermark, answer.records) == (4, b"")
        gone = await stage.fetch_one(LEADER, 1, isolation_level=READ_COMMITTED)
        assert gone.error.code == common_pb2.OFFSET_OUT_OF_RANGE
        await one.end(is_commit=True)
        await committed(stage)
        assert (await read(stage, 3))[1] == b"3"

    run(story)


@pytest.mark.parametrize("first", [READ_COMMITTED, READ_UNCOMMITTED])
def test_a_streams_level_is_its_first_requests(first: Any) -> None:
    other = READ_UNCOMMITTED if first == READ_COMMITTED else READ_COMMITTED

    async def requests() -> AsyncIterator[Fetch]:
        yield Fetch([FetchPosition(TOPIC, 0, 0)], isolation_level=first)
        yield Fetch([FetchPosition(TOPIC, 0, 0)], isolation_level=other)

    async def follow(manager: ReplicaManager) -> list[FetchResult]:
        return [one async for (one,) in manager.session().answers(requests())]

    async def story(stage: ReplicaStage, one: StagedWriter, _: StagedWriter) -> None:
        await one.send(b"1")
        await committed(stage)
        answers = await stage.on(LEADER, follow)
        expected = [b"0"] if first == READ_COMMITTED else [b"0", b"1"]
        assert [values_in(answer) for answer in answers] == [expected, expected]

    run(story)


def test_a_partition_read_to_the_last_stable_offset_is_not_read_again_without_news(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its high watermark is beyond, but there is nothing that did not fit."""

    async def requests() -> AsyncIterator[Fetch]:
        yield Fetch([FetchPosition(TOPIC, 0, 1)], isolation_level=READ_COMMITTED)
        yield Fetch([], max_wait_ms=10_000)

    async def follow(manager: ReplicaManager) -> list[int]:
        right, reads = manager.reader.read_one, list[int]()

        def counted(*args: Any, **of: Any) -> int:
            reads.append(right(*args, **of))
            return reads[-1]

        monkeypatch.setattr(manager.reader, "read_one", counted)
        async for _ in manager.session().answers(requests()):
            pass
        return reads

    async def story(stage: ReplicaStage, one: StagedWriter, _: StagedWriter) -> None:
        await one.send(b"1")
        await committed(stage)
        assert await stage.on(LEADER, follow) == [0]

    run(story)


def test_a_level_that_does_not_exist_is_refused() -> None:
    async def story(stage: ReplicaStage, *_: StagedWriter) -> None:
        answer = await stage.fetch_one(LEADER, 0, isolation_level=7)
        assert answer.error.code == common_pb2.INVALID_REQUEST
        assert "isolation level 7" in answer.error.message
        assert not answer.records
        request = ListOffsetsRequest(partitions=[ListOffsetsRequest.Partition(topic=TOPIC)])
        request.isolation_level = 7  # type: ignore[assignment]  # what it is about
        (looked_up,) = (await stage.list_offsets(LEADER, request)).partitions
        assert (looked_up.error.code, looked_up.offset) == (common_pb2.INVALID_REQUEST, -1)

    run(story)
