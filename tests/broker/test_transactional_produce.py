"""Transactional batches: appended in order once the coordinator has the partition, or never."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any

import pytest
from tests.broker.replica_stage import CONFIG, TOPIC, ReplicaStage
from tests.log.cleaned_logs import but
from tests.log.partition_logs import batch

from tidelog.broker.partition.replica_config import ReplicaConfig
from tidelog.broker.partition_adder import Producer, Topic, TransactionPartition
from tidelog.broker.replica_manager import ReplicaManager
from tidelog.core.errors import ConcurrentTransactionsError, ProducerFencedError, TidelogError
from tidelog.node.handlers.produce_codec import decode_produce, encode_produce
from tidelog.node.handlers.produce_stream import ProduceStream
from tidelog.records.batch import CONTROL_FLAG, TRANSACTIONAL_FLAG
from tidelog.simulation.engine.scheduler import UnhandledError
from tidelog.simulation.mutants.transactions import ALL
from tidelog.v1 import common_pb2
from tidelog.v1.data_pb2 import (
    PartitionProduceData,
    PartitionProduceResult,
    ProduceRequest,
    ProduceResponse,
)

pytestmark = pytest.mark.sim

ID = "app-1"
WAITS_MAX = 8
WAIT_MS = 1_000
SOON_S = 0.05


class Coordinator:
    """A `PartitionAdder` that answers when it may, as it is told to."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, Producer, TransactionPartition]] = []
        self.refusals: list[TidelogError] = []
        self.may_answer = asyncio.Event()
        self.at_once: set[str] = set()
        """Ids that need not wait for that."""

    async def add(
        self, transactional_id: str, producer: Producer, partition: TransactionPartition
    ) -> None:
        self.asked.append((transactional_id, producer, partition))
        if transactional_id not in self.at_once:
            await self.may_answer.wait()
        if self.refusals:
            raise self.refusals.pop(0)


class Leader:
    """The stage's first broker, with a coordinator."""

    def __init__(self, stage: ReplicaStage, manager: ReplicaManager) -> None:
        self.stage, self.manager, self.coordinator = stage, manager, Coordinator()
        manager.appender.transactional.adder = self.coordinator

    @property
    def log(self) -> Any:
        return self.stage.hosted(1).log

    @property
    def line_is_free(self) -> bool:
        waits = self.manager.appender.transactional
        return waits.waiting == 0 and not waits._order._lines

    async def send(self, *records: bytes, acks: int = -1, name: str = ID) -> ProduceResponse:
        return await _produce(self.manager, _request(*records, acks=acks, name=name))

    async def one(self, records: bytes, **others: Any) -> PartitionProduceResult:
        return (await self.send(records, **others)).partitions[0]

    def later(self, records: bytes, **others: Any) -> asyncio.Task[PartitionProduceResult]:
        return asyncio.create_task(self.one(records, **others))

    def end(self) -> None:
        """The coordinator ends the transaction: its marker has the raised epoch."""
        self.log.append_marker(
            producer_id=7,
            producer_epoch=1,
            coordinator_epoch=0,
            is_commit=False,
            leader_epoch=self.stage.hosted(1).replica.leader_epoch,
        )


Story = Callable[[Leader], Coroutine[Any, Any, None]]


def run(story: Story, config: ReplicaConfig = CONFIG, *, partitions: int = 2) -> None:
    async def whole(stage: ReplicaStage) -> None:
        stage.create(partitions=partitions)
        await stage.until_opened(1, 2, 3)
        held = stage.manager(1)._partitions.held
        await stage.until(lambda: all(one.replica.leader is not None for one in held.values()))
        await stage.on(1, lambda manager: story(Leader(stage, manager)))

    limited = replace(config, transaction_waits_max=WAITS_MAX, transaction_wait_ms_max=WAIT_MS)
    ReplicaStage(limited).run(whole)


def part(
    *values: bytes,
    sequence: int = 0,
    epoch: int = 0,
    producer_id: int = 7,
    attributes: int = TRANSACTIONAL_FLAG,
) -> bytes:
    return but(
        batch(*(values or (b"a",))),
        attributes=attributes,
        producer_id=producer_id,
        producer_epoch=epoch,
        base_sequence=sequence,
    )


def _request(*records: bytes, acks: int = -1, name: str = ID) -> ProduceRequest:
    data = [
        PartitionProduceData(topic=TOPIC, partition=number, records=one)
        for number, one in enumerate(records)
    ]
    return ProduceRequest(acks=acks, timeout_ms=5_000, partitions=data, transactional_id=name)


async def _produce(manager: ReplicaManager, request: ProduceRequest) -> ProduceResponse:
    return encode_produce(
        await manager.appender.produce(decode_produce(request)), request.correlation_id
    )


def test_the_first_batch_is_appended_after_the_coordinators_answer_and_the_next_at_once() -> None:
    async def story(leader: Leader) -> None:
        first = leader.later(part())
        await asyncio.sleep(SOON_S)
        where = TransactionPartition(Topic(bytes(16), TOPIC), 0)
        assert leader.coordinator.asked == [(ID, Producer(7, 0), where)]
        assert leader.log.log_end_offset == 0
        leader.coordinator.may_answer.set()
        assert (await first).base_offset == 0
        leader.coordinator.may_answer.clear()
        assert (await leader.one(part(sequence=1))).base_offset == 1
        assert len(leader.coordinator.asked) == 1
        assert leader.log.first_unstable_offset == 0
        assert leader.line_is_free

    run(story)


@pytest.mark.parametrize("wanted", [ProducerFencedError, ConcurrentTransactionsError])
def test_what_the_coordinator_refuses_is_not_appended(wanted: type[TidelogError]) -> None:
    async def story(leader: Leader) -> None:
        leader.coordinator.may_answer.set()
        leader.coordinator.refusals.append(wanted("so it is"))
        assert (await leader.one(part())).error.code == wanted.code
        assert (leader.log.log_end_offset, leader.line_is_free) == (0, True)

    run(story)


def test_a_broker_without_a_coordinator_answers_that() -> None:
    async def story(leader: Leader) -> None:
        leader.manager.appender.transactional.adder = None
        assert (await leader.one(part())).error.code == common_pb2.COORDINATOR_NOT_AVAILABLE
        assert leader.log.log_end_offset == 0

    run(story)


def test_the_wait_holds_back_the_producers_own_batches_in_this_partition_alone() -> None:
    async def story(leader: Leader) -> None:
        waiting = [leader.later(part(sequence=n)) for n in range(3)]
        await asyncio.sleep(0)
        assert (await leader.one(batch(b"plain"), name="")).base_offset == 0
        leader.coordinator.at_once = {"app-2"}
        async with asyncio.timeout(SOON_S):
            assert (await leader.one(part(producer_id=8), name="app-2")).base_offset == 1
        leader.coordinator.may_answer.set()
        results = [await one for one in waiting]
        assert [one.error.code for one in results] == [common_pb2.NONE] * 3
        offsets = [one.base_offset for one in results]
        assert offsets == sorted(offsets)
        asked = [name for name, _, _ in leader.coordinator.asked]
        assert asked == [ID, "app-2"]  # the later two found the transaction open

    run(story)


def test_a_large_batch_is_not_overtaken_by_the_producers_next_one() -> None:
    async def story(leader: Leader) -> None:
        large = leader.later(part(*[b"many"] * 2_000))
        small = leader.later(part(sequence=2_000))
        leader.coordinator.may_answer.set()
        assert ((await large).base_offset, (await small).base_offset) == (0, 2_000)
        again = leader.later(part(*[b"many"] * 2_000, sequence=2_001))
        small = leader.later(part(sequence=4_001))
        assert ((await again).base_offset, (await small).base_offset) == (2_001, 4_001)

    run(story, replace(CONFIG, walk_inline_bytes_max=1_000))


def test_a_batch_that_finds_the_transaction_open_does_not_overtake_those_that_wait() -> None:
    async def story(leader: Leader) -> None:
        waiting = [leader.later(part(sequence=n)) for n in range(WAITS_MAX - 1)]
        await asyncio.sleep(SOON_S)
        leader.coordinator.may_answer.set()
        while not leader.log.log_end_offset:  # noqa: ASYNC110  # step by step
            await asyncio.sleep(0)
        assert leader.log.log_end_offset < WAITS_MAX - 1  # some still wait
        assert (await leader.one(part(sequence=WAITS_MAX - 1))).base_offset == WAITS_MAX - 1
        assert [(await one).base_offset for one in waiting] == list(range(WAITS_MAX - 1))

    run(story)


def test_a_stream_appends_a_producers_batches_in_the_order_sent() -> None:
    async def story(leader: Leader) -> None:
        async def begin(request: ProduceRequest) -> Coroutine[Any, Any, ProduceResponse]:
            return _produce(leader.manager, request)

        async def requests() -> Any:
            for number in range(WAITS_MAX):
                request = _request(part(b"%d" % number, sequence=number))
                request.correlation_id = number
                yield request

        stream = ProduceStream(begin, is_full=lambda: False)
        offsets: dict[int, int] = {}
        asyncio.get_running_loop().call_later(SOON_S, leader.coordinator.may_answer.set)
        async for answers in stream.answers(requests()):
            for one in answers.answers:
                offsets[one.correlation_id] = one.partitions[0].base_offset
        assert offsets == {n: n for n in range(WAITS_MAX)}

    run(story)


def test_a_transaction_that_ends_before_the_append_has_its_late_batch_refused() -> None:
    async def story(leader: Leader) -> None:
        late = leader.later(part())
        await asyncio.sleep(SOON_S)
        leader.coordinator.may_answer.set()  # the answer is under way
        leader.end()
        assert (await late).error.code == common_pb2.INVALID_PRODUCER_EPOCH
        assert leader.log.log_end_offset == 1  # the marker
        assert leader.log.first_unstable_offset is None
        assert leader.line_is_free

    run(story)


@pytest.mark.parametrize("is_forgotten", [False, True])
def test_a_late_batch_is_refused_though_the_log_forgot_that_its_transaction_ended(
    *, is_forgotten: bool
) -> None:
    """Beyond `PRODUCERS_MAX`, or after the expiration: no marker would ever end it."""

    async def story(leader: Leader) -> None:
        late = leader.later(part())
        await asyncio.sleep(SOON_S)
        leader.coordinator.may_answer.set()
        if is_forgotten:
            leader.end()
            leader.log.set_high_watermark(1)
            leader.log.producers.expire(1 << 60, expiration_ms=0)
        result = await late
        if is_forgotten:
            assert result.error.code == common_pb2.LEADER_NOT_AVAILABLE  # retriable
            assert leader.log.first_unstable_offset is None
        else:
            assert result.base_offset == 0
        assert leader.line_is_free

    run(story, partitions=1)


def test_a_batch_whose_transaction_ends_while_it_waits_in_line_is_refused() -> None:
    async def story(leader: Leader) -> None:
        leader.coordinator.may_answer.set()
        await leader.one(part())
        large = leader.later(part(*[b"many"] * 2_000, sequence=1))
        await asyncio.sleep(0)
        leader.end()
        result = await large
        assert result.error.code in (
            common_pb2.INVALID_PRODUCER_EPOCH,
            common_pb2.LEADER_NOT_AVAILABLE,
        )
        assert leader.log.first_unstable_offset is None

    run(story, replace(CONFIG, walk_inline_bytes_max=1_000))


@pytest.mark.parametrize("comes_back", [False, True])
def test_an_answer_counts_for_its_leadership_alone(*, comes_back: bool) -> None:
    async def story(leader: Leader) -> None:
        late = leader.later(part())
        await asyncio.sleep(SOON_S)
        leader.stage.elect(2, isr=(1, 2, 3))
        if comes_back:
            leader.stage.elect(1, isr=(1, 2, 3))
        await asyncio.sleep(SOON_S)
        leader.coordinator.may_answer.set()
        wanted = (
            common_pb2.LEADER_NOT_AVAILABLE if comes_back else common_pb2.NOT_LEADER_OR_FOLLOWER
        )
        assert (await late).error.code == wanted
        assert (leader.log.log_end_offset, leader.line_is_free) == (0, True)

    run(story, partitions=1)


def test_the_mutant_that_takes_an_answer_of_before_is_noticed() -> None:
    mutant = ALL["older_leaderships_verified"]
    with mutant.applied(), pytest.raises(UnhandledError, match="AssertionError"):
        test_an_answer_counts_for_its_leadership_alone(comes_back=True)


def test_an_answer_does_not_count_for_a_later_topic_of_the_name() -> None:
    async def story(leader: Leader) -> None:
        late = leader.later(part())
        await asyncio.sleep(SOON_S)
        leader.stage.delete()
        leader.stage.create(topic_id=bytes([7]) * 16)
        await leader.stage.until_opened(1)
        leader.coordinator.may_answer.set()
        assert (await late).error.code != common_pb2.NONE
        assert (leader.log.log_end_offset, leader.line_is_free) == (0, True)

    run(story, partitions=1)


def test_no_append_follows_once_the_cluster_stops() -> None:
    async def story(leader: Leader) -> None:
        late = leader.later(part())
        await asyncio.sleep(SOON_S)
        leader.manager.hold(leader.stage.clock(1).monotonic_ms() + 10_000)
        leader.coordinator.may_answer.set()
        assert (await late).error.code == common_pb2.BROKER_NOT_AVAILABLE
        assert leader.log.log_end_offset == 0

    run(story)


def test_a_disconnected_client_leaves_its_place_in_line() -> None:
    async def story(leader: Leader) -> None:
        gone = leader.later(part())
        stays = leader.later(part(b"b"))
        await asyncio.sleep(SOON_S)
        gone.cancel()
        leader.coordinator.may_answer.set()
        assert (await stays).base_offset == 0
        await asyncio.gather(gone, return_exceptions=True)
        assert leader.line_is_free

    run(story)


def test_a_wait_ends_with_a_certain_and_retriable_answer() -> None:
    async def story(leader: Leader) -> None:
        both = [leader.later(part()), leader.later(part(sequence=1))]
        async with asyncio.timeout(WAIT_MS / 1000 + SOON_S):
            results = [await one for one in both]
        wanted = common_pb2.COORDINATOR_NOT_AVAILABLE
        assert [one.error.code for one in results] == [wanted] * 2
        assert (leader.log.log_end_offset, leader.line_is_free) == (0, True)

    run(story)


def test_no_more_than_so_many_wait() -> None:
    async def story(leader: Leader) -> None:
        waiting = [leader.later(part(producer_id=n)) for n in range(WAITS_MAX)]
        await asyncio.sleep(SOON_S)
        over = await leader.one(part(producer_id=WAITS_MAX))
        assert over.error.code == common_pb2.THROTTLING_QUOTA_EXCEEDED
        leader.coordinator.may_answer.set()
        for one in waiting:
            assert (await one).error.code == common_pb2.NONE

    run(story)


@pytest.mark.parametrize(
    ("records", "wanted"),
    [
        (part(attributes=0), common_pb2.INVALID_RECORD),
        (part(attributes=TRANSACTIONAL_FLAG | CONTROL_FLAG), common_pb2.INVALID_RECORD),
        (part(attributes=CONTROL_FLAG), common_pb2.INVALID_RECORD),
        (part(producer_id=-1), common_pb2.INVALID_RECORD),
        (part(epoch=-1), common_pb2.INVALID_RECORD),
        (part(sequence=-1), common_pb2.INVALID_RECORD),
        (part() + part(sequence=1), common_pb2.INVALID_RECORD),
        (part()[:20], common_pb2.CORRUPT_MESSAGE),
        (b"", common_pb2.CORRUPT_MESSAGE),
    ],
)
def test_what_is_no_transactional_batch_reaches_no_coordinator(
    records: bytes, wanted: common_pb2.ErrorCode
) -> None:
    async def story(leader: Leader) -> None:
        leader.coordinator.may_answer.set()
        # The other partition's batch is not concerned; its producer is the same or none.
        good = part(producer_id=7) if wanted == common_pb2.CORRUPT_MESSAGE else b""
        bad = (await leader.send(records, *filter(None, [good]))).partitions
        assert bad[0].error.code == wanted
        assert [one.error.code for one in bad[1:]] == [common_pb2.NONE] * len(bad[1:])
        assert len(leader.coordinator.asked) == len(bad[1:])
        assert leader.log.log_end_offset == 0

    run(story)


@pytest.mark.parametrize(
    ("fields", "wanted"),
    [
        ({"name": "x" * 250}, common_pb2.INVALID_REQUEST),
        ({"name": ""}, common_pb2.INVALID_RECORD),
        ({"acks": 1}, common_pb2.INVALID_REQUIRED_ACKS),
        ({"acks": 0}, common_pb2.INVALID_REQUIRED_ACKS),
    ],
)
def test_a_request_without_a_proper_id_or_acks_appends_nothing(
    fields: dict[str, Any], wanted: common_pb2.ErrorCode
) -> None:
    async def story(leader: Leader) -> None:
        leader.coordinator.may_answer.set()
        await leader.one(part())
        response = await leader.send(part(sequence=1), part(), **fields)
        assert [one.error.code for one in response.partitions] == [wanted] * 2
        assert all(
            "id" in one.error.message or "-1" in one.error.message for one in response.partitions
        )
        assert leader.log.log_end_offset == 1

    run(story)


@pytest.mark.parametrize("other", [part(producer_id=8), part(epoch=1)])
def test_batches_of_two_producers_under_one_id_are_refused_whole(other: bytes) -> None:
    async def story(leader: Leader) -> None:
        leader.coordinator.may_answer.set()
        response = await leader.send(part(), other)
        codes = [one.error.code for one in response.partitions]
        assert codes == [common_pb2.INVALID_RECORD] * 2
        assert (leader.coordinator.asked, leader.log.log_end_offset) == ([], 0)

    run(story)
