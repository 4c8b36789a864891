"""aiokafka's clients in a workload: what is known of their calls, and what members are told."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from aiokafka import TopicPartition as AioPartition
from aiokafka.errors import (
    IllegalStateError,
    KafkaConnectionError,
    KafkaTimeoutError,
    LeaderNotAvailableError,
    NotLeaderForPartitionError,
    OffsetOutOfRangeError,
    OutOfOrderSequenceNumber,
)
from aiokafka.protocol.produce import ProduceRequest

from tidelog.chaos.kafka_clients import failures, producer, starting
from tidelog.chaos.kafka_clients.logs import log_to
from tidelog.chaos.kafka_clients.member import AioMemberConsumer, _Listener
from tidelog.chaos.kafka_clients.producer import AioProducer
from tidelog.chaos.kafka_clients.reader import AioReader
from tidelog.chaos.workloads.clients import BrokenClientError
from tidelog.chaos.workloads.plans import MemberPlan, ProducerPlan
from tidelog.client import ConsumerInterceptor, RebalanceListener, TopicPartition
from tidelog.client.errors import OffsetOutOfRangeError as OurOffsetOutOfRangeError
from tidelog.core.errors import CallFailedError, UnreachableError
from tidelog.v1 import common_pb2

PLAN = ProducerPlan(
    "producer-1",
    "steady",
    acks=-1,
    pause_s_max=0.1,
    burst_max=1,
    request_timeout_ms=2_000,
    delivery_timeout_ms=30_000,
    value_bytes=100,
)


# What is known of a call that failed


@pytest.mark.parametrize("is_idempotent", [True, False])
@pytest.mark.parametrize(
    "error", [NotLeaderForPartitionError(), LeaderNotAvailableError(), RuntimeError()]
)
def test_of_a_record_that_was_taken_nothing_is_known_whatever_the_last_attempt_met(
    error: BaseException, is_idempotent: bool
) -> None:
    found = failures.of_record(error, is_idempotent=is_idempotent)
    assert found.is_outcome_unknown
    assert isinstance(found, BrokenClientError) == is_idempotent


def test_a_call_that_the_client_itself_refuses_was_not_made() -> None:
    assert not failures.of_call(IllegalStateError()).is_outcome_unknown
    assert failures.of_call(KafkaConnectionError()).is_outcome_unknown
    assert isinstance(failures.of_call(OffsetOutOfRangeError({})), OurOffsetOutOfRangeError)


# Starting


class StubbornClient:
    def __init__(self, refusals: list[BaseException]) -> None:
        self._refusals = refusals
        self.is_stopped = False

    async def start(self) -> None:
        if self._refusals:
            raise self._refusals.pop()

    async def stop(self) -> None:
        self.is_stopped = True


async def test_a_start_is_tried_again_by_a_new_client_while_no_broker_answers() -> None:
    refusals: list[BaseException] = [KafkaConnectionError(), KafkaConnectionError()]
    made = list[StubbornClient]()

    def make() -> StubbornClient:
        made.append(StubbornClient(refusals))
        return made[-1]

    last = await starting.started(make)
    assert last is made[2]
    assert [one.is_stopped for one in made] == [True, True, False]


async def test_a_start_that_fails_of_anything_else_is_not_tried_again() -> None:
    client = StubbornClient([ValueError("odd")])
    with pytest.raises(ValueError, match="odd"):
        await starting.started(lambda: client)
    assert client.is_stopped


async def test_a_start_ends_after_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(starting, "START_S_MAX", -1.0)
    with pytest.raises(CallFailedError, match="KafkaConnectionError"):
        await starting.started(lambda: StubbornClient([KafkaConnectionError()]))


# A producer


class FakeProducer:
    """Takes a record after so many refusals; its answer is the test's."""

    def __init__(self, refusals: list[BaseException]) -> None:
        self.refusals = refusals
        self.sent = list[asyncio.Future[Any]]()

    async def send(self, *_: object, **__: object) -> asyncio.Future[Any]:
        if self.refusals:
            raise self.refusals.pop()
        self.sent.append(asyncio.get_running_loop().create_future())
        return self.sent[-1]


def producer_over(fake: FakeProducer, plan: ProducerPlan = PLAN) -> AioProducer:
    made = AioProducer(plan, [], lambda *_: None)
    made._producer = fake
    return made


async def test_a_record_waits_until_the_buffer_takes_it() -> None:
    fake = FakeProducer([KafkaTimeoutError(), KafkaTimeoutError()])
    answered = await producer_over(fake).submit("steady", value=b"v", partition=0)
    fake.sent[0].set_result(SimpleNamespace(offset=7, timestamp=8))
    assert (await answered)[1:] == (0, 7, 8)


async def test_a_record_that_is_never_taken_was_definitely_not_sent() -> None:
    fake = FakeProducer([KafkaConnectionError()])
    with pytest.raises(UnreachableError):
        await producer_over(fake).submit("steady", value=b"v", partition=0)


async def test_a_record_that_fails_has_an_unknown_outcome() -> None:
    fake = FakeProducer([])
    answered = await producer_over(fake).submit("steady", value=b"v", partition=0)
    fake.sent[0].set_exception(OutOfOrderSequenceNumber())
    with pytest.raises(BrokenClientError, match="OutOfOrderSequenceNumber"):
        await answered


async def test_each_answer_to_a_produce_request_is_told_with_its_node() -> None:
    told = list[tuple[int, int, int]]()

    async def send(*_: object, **__: object) -> Any:
        code = common_pb2.NOT_LEADER_OR_FOLLOWER
        return SimpleNamespace(topics=[("steady", [(0, common_pb2.NONE, 5), (1, code, -1)])])

    tapped = producer._tapped(send, lambda *answer: told.append(answer))
    await tapped(4, ProduceRequest(None, -1, 2_000, []))
    await tapped(5, ProduceRequest(None, 0, 2_000, []))
    await tapped(6, object())
    assert told == [(4, common_pb2.NONE, -1), (4, common_pb2.NOT_LEADER_OR_FOLLOWER, -1)]


# A reader


class FakeConsumer:
    """A consumer of aiokafka that has these records, or fails."""

    def __init__(self, found: Mapping[AioPartition, list[Any]] | BaseException) -> None:
        self._found = found
        self._coordinator = SimpleNamespace(generation=3, member_id="m")
        self.committed = list[Mapping[AioPartition, int]]()
        self.may_commit = asyncio.Event()
        self.may_commit.set()

    async def getmany(self, **_: object) -> Any:
        if isinstance(self._found, BaseException):
            raise self._found
        return self._found

    async def commit(self, offsets: Mapping[AioPartition, int]) -> None:
        await self.may_commit.wait()
        self.committed.append(offsets)


def record(offset: int) -> Any:
    return SimpleNamespace(
        topic="t",
        partition=0,
        offset=offset,
        timestamp=1,
        key=None,
        value=b"v",
        headers=(("h", b"1"),),
    )


async def test_a_reader_hands_out_records_as_ours_and_errors_too() -> None:
    reader = AioReader("reader", [])
    reader._consumer = FakeConsumer({AioPartition("t", 0): [record(4), record(5)]})
    found = await reader.getmany(timeout_ms=1, max_records=9)
    assert [(one.offset, one.value, one.headers) for one in found] == [
        (4, b"v", (("h", b"1"),)),
        (5, b"v", (("h", b"1"),)),
    ]
    reader._consumer = FakeConsumer(OffsetOutOfRangeError({}))
    with pytest.raises(OurOffsetOutOfRangeError):
        await reader.getmany(timeout_ms=1, max_records=9)


# A member


class Told(RebalanceListener, ConsumerInterceptor[bytes, bytes]):
    """What a member is told, in order."""

    def __init__(self) -> None:
        self.calls = list[tuple[str, Any]]()

    def on_consume(self, records: list[Any]) -> list[Any]:
        self.calls.append(("records", [one.offset for one in records]))
        return records

    async def on_partitions_assigned(self, consumer: Any, partitions: Any) -> None:
        self.calls.append(("assigned", partitions))

    async def on_partitions_revoked(self, consumer: Any, partitions: Any) -> None:
        self.calls.append(("revoked", partitions))

    async def on_partitions_lost(self, consumer: Any, partitions: Any) -> None:
        self.calls.append(("lost", partitions))


def member_over(fake: FakeConsumer, told: Told) -> tuple[AioMemberConsumer, _Listener]:
    member = AioMemberConsumer(MemberPlan("member-1"), [], told)
    member._consumer, member._commits = fake, asyncio.Lock()
    return member, _Listener(member, told, member._commits)


async def test_a_member_is_told_of_records_and_partitions_under_its_generation() -> None:
    told, fake = Told(), FakeConsumer({AioPartition("t", 0): [record(4)]})
    member, listener = member_over(fake, told)
    await listener.on_partitions_assigned({("t", 1), ("t", 0)})
    await member.getmany(timeout_ms=1, max_records=1)
    assert member.group_metadata()[:3] == ("readers", "m", 3)
    await listener.on_partitions_revoked({("t", 0)})
    both = [TopicPartition("t", 0), TopicPartition("t", 1)]
    assert told.calls == [("assigned", both), ("records", [4]), ("revoked", both[:1])]


async def test_what_went_after_the_coordinator_forgot_the_member_is_lost() -> None:
    told, fake = Told(), FakeConsumer({})
    member, listener = member_over(fake, told)
    fake._coordinator.generation = -1
    await listener.on_partitions_revoked({("t", 0)})
    assert [kind for kind, _ in told.calls] == ["lost"]
    assert member.group_metadata().epoch == 0


async def test_what_went_has_gone_only_when_no_commit_of_it_is_under_way() -> None:
    told, fake = Told(), FakeConsumer({})
    member, listener = member_over(fake, told)
    fake.may_commit.clear()
    committing = asyncio.create_task(member.commit({TopicPartition("t", 0): 5}))
    await asyncio.sleep(0)
    revoking = asyncio.create_task(listener.on_partitions_revoked({("t", 0)}))
    await asyncio.sleep(1)
    assert not revoking.done()
    fake.may_commit.set()
    await asyncio.gather(committing, revoking)
    assert fake.committed == [{AioPartition("t", 0): 5}]


# Its log


def test_what_it_says_goes_to_a_file_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    logger = logging.getLogger("aiokafka.client")
    with log_to(tmp_path / "aiokafka.log"):
        logger.warning("no broker")
    assert "no broker" in (tmp_path / "aiokafka.log").read_text()
    assert "no broker" not in "".join(capsys.readouterr())
    assert not logging.getLogger("aiokafka").handlers
