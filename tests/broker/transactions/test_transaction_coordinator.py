"""The shell of transactions: answers and markers once committed, whatever leaders answer."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any

import pytest
import pytest_asyncio
from tests.broker.transactions.coordinated_ids import P0, P1

from tidelog.broker.partition.partition_listener import Leadership, LeadershipEnd
from tidelog.broker.partition.partition_loader import PartitionSlice
from tidelog.broker.partition_adder import Producer, TransactionPartition
from tidelog.broker.transactions import (
    marker_lines,
    transaction_coordinator,
    transaction_journal,
)
from tidelog.broker.transactions.end_transactions import Member
from tidelog.broker.transactions.marker_lines import Marker, Place
from tidelog.broker.transactions.transaction import State
from tidelog.broker.transactions.transaction_config import TransactionConfig
from tidelog.broker.transactions.transaction_coordinator import (
    TransactionCoordinator,
    TransactionPorts,
)
from tidelog.core.background import Background
from tidelog.core.errors import (
    ConcurrentTransactionsError,
    CoordinatorLoadInProgressError,
    CoordinatorNotAvailableError,
    InvalidProducerEpochError,
    InvalidTxnStateError,
    InvariantError,
    NotCoordinatorError,
    NotLeaderOrFollowerError,
    ProducerFencedError,
    RequestTimedOutError,
    StorageError,
    ThrottlingQuotaExceededError,
    TidelogError,
    TransactionCoordinatorFencedError,
    UnreachableError,
)
from tidelog.core.journal import Event
from tidelog.core.system import SystemClock
from tidelog.records.batch import parse_header
from tidelog.simulation.mutants.transactions import ALL

pytestmark = pytest.mark.asyncio
LED = Leadership("__transaction_state", b"i" * 16, 0, 5)


class Brokers:
    """The log of the coordinator's partition, and leaders that answer what they are told to."""

    def __init__(self) -> None:
        self.batches: list[bytes] = []
        self.end_offset = 0
        self.refusals: list[TidelogError] = []
        self.is_committing = True
        self.led = LED
        self.runtime: Any = None  # the coordinator's, once it is there
        self.has_topic = self.has_session = True
        self.next_id = 100
        self.leaders: dict[TransactionPartition, int | Place] = {P0: 1, P1: 2}
        self.requests: list[tuple[int, list[Marker]]] = []
        self.answers: dict[TransactionPartition, list[TidelogError | None]] = {}
        self.unreachable: set[int] = set()
        self.gate = asyncio.Event()
        self.gate.set()
        self.in_flight: Counter[tuple[int, TransactionPartition]] = Counter()

    def append(self, leadership: Leadership, records: bytes) -> Any:
        assert leadership == self.led
        if self.refusals:
            raise self.refusals.pop(0)
        self.batches.append(records)
        self.end_offset += parse_header(records).records_count
        if self.is_committing:
            asyncio.get_running_loop().call_soon(self.commit)

        class Written:
            end_offset = self.end_offset

        return Written()

    def batch_bytes_max(self, leadership: Leadership) -> int:
        assert leadership == self.led
        return 1 << 20

    def commit(self) -> None:
        self.runtime.on_high_watermark_updated(self.led, self.end_offset)

    async def slices(self, leadership: Leadership, until: object) -> AsyncIterator[PartitionSlice]:
        del leadership, until
        offset = 0
        for batch in list(self.batches):
            offset += parse_header(batch).records_count
            yield PartitionSlice(0, offset, batch)
            await asyncio.sleep(0)

    async def create(self) -> None:
        self.has_topic = True

    async def new_producer_id(self) -> int:
        await asyncio.sleep(0)
        self.next_id += 1
        return self.next_id - 1

    async def write(
        self, broker_id: int, markers: Sequence[Marker]
    ) -> Sequence[TidelogError | None]:
        self.requests.append((broker_id, list(markers)))
        named = {(broker_id, one.partition) for one in markers}
        self.in_flight.update(named)
        assert max(self.in_flight.values()) == 1, "two requests with one partition"
        await self.gate.wait()
        self.in_flight.subtract(named)
        if broker_id in self.unreachable:
            raise UnreachableError("no such broker")
        planned = [self.answers.get(one.partition) for one in markers]
        return [answers.pop(0) if answers else None for answers in planned]


class Coordinated:
    def __init__(self) -> None:
        self.fatal: list[BaseException] = []
        self.brokers = brokers = Brokers()
        self.background = Background(self.fatal.append)
        self.events: list[Event] = []
        self.coordinator = TransactionCoordinator(
            config=TransactionConfig(transaction_commit_timeout_ms=300),
            ports=TransactionPorts(
                partitions=lambda: int(brokers.has_topic),
                create_topic=brokers.create,
                has_session=lambda: brokers.has_session,
                new_producer_id=brokers.new_producer_id,
                leader_of=lambda one: brokers.leaders[one],
                markers=brokers,
            ),
            writer=brokers,  # type: ignore[arg-type]  # the part of it that is used
            loader=brokers,  # type: ignore[arg-type]  # as above
            clock=SystemClock(),
            background=self.background,
            note=self.events.append,
        )
        brokers.runtime = self.coordinator.runtime

    async def elected(self, *, epoch: int = 5) -> None:
        self.brokers.led = LED._replace(leader_epoch=epoch)
        self.coordinator.runtime.on_election(self.brokers.led)
        while True:
            try:
                self.coordinator.runtime.find(0)
            except CoordinatorLoadInProgressError:
                await asyncio.sleep(0)
            else:
                return

    def deposed(self) -> None:
        self.coordinator.runtime.on_resignation(self.brokers.led, LeadershipEnd.DEPOSED)

    async def begun(self, name: str = "a", *partitions: TransactionPartition) -> Producer:
        producer = await self.coordinator.initialise(name, timeout_ms=60_000)
        await self.coordinator.add_partitions(name, producer, partitions or (P0, P1))
        return producer

    def state(self, name: str = "a") -> State:
        return self.coordinator.runtime.find(0).shard.transactions[name].state

    async def until(self, holds: Callable[[], bool]) -> None:
        async with asyncio.timeout(10):
            while not holds():  # noqa: ASYNC110  # any condition
                await asyncio.sleep(0.005)


@pytest_asyncio.fixture
async def all_of_it() -> AsyncIterator[Coordinated]:
    found = Coordinated()
    await found.elected()
    yield found
    await found.background.stop()
    assert found.fatal == []


async def test_a_transaction_is_ended_by_a_marker_of_each_partition(all_of_it: Coordinated) -> None:
    producer = await all_of_it.begun()
    after = await all_of_it.coordinator.end("a", producer, is_commit=True)
    assert after == Producer(100, 1)
    await all_of_it.until(lambda: all_of_it.state() is State.CompleteCommit)
    sent = {(to, one.partition): one.attempt for to, of in all_of_it.brokers.requests for one in of}
    assert set(sent) == {(1, P0), (2, P1)}
    assert {(one.producer, one.is_commit, one.coordinator_epoch) for one in sent.values()} == {
        (after, True, 5)
    }
    assert len(all_of_it.coordinator.decided.sender) == 0


async def test_nothing_is_answered_and_no_marker_sent_before_the_decision_is_committed(
    all_of_it: Coordinated,
) -> None:
    producer = await all_of_it.begun()
    all_of_it.brokers.is_committing = False
    with pytest.raises(RequestTimedOutError):
        await all_of_it.coordinator.end("a", producer, is_commit=True)
    assert all_of_it.brokers.requests == []
    repeated = asyncio.create_task(all_of_it.coordinator.end("a", producer, is_commit=True))
    await asyncio.sleep(0.05)
    assert not repeated.done()
    all_of_it.brokers.is_committing = True
    all_of_it.brokers.commit()
    assert await repeated == Producer(100, 1)
    await all_of_it.until(lambda: all_of_it.state() is State.CompleteCommit)


async def test_the_mutant_that_sends_markers_before_the_commit_is_noticed(
    all_of_it: Coordinated,
) -> None:
    mutant = ALL["markers_before_commit"]
    with mutant.applied(), pytest.raises(AssertionError):
        await test_nothing_is_answered_and_no_marker_sent_before_the_decision_is_committed(
            all_of_it
        )


async def test_unheard_by_the_controllers_each_answer_waits_for_the_replicas(
    all_of_it: Coordinated,
) -> None:
    """Decision 0056: another one may lead, and may have decided what this one has open."""
    coordinator, brokers = all_of_it.coordinator, all_of_it.brokers
    producer = await all_of_it.begun()
    brokers.has_session = brokers.is_committing = False
    questions: list[Callable[[], Awaitable[object]]] = [
        lambda: coordinator.describe("a"),
        coordinator.list,
        lambda: coordinator.add_partitions("a", producer, [P0]),
    ]
    for ask in questions:
        with pytest.raises(CoordinatorNotAvailableError):
            await ask()
    brokers.is_committing = True
    assert (await coordinator.describe("a")).transaction.state is State.Ongoing


async def test_the_mutant_that_answers_from_memory_is_noticed(all_of_it: Coordinated) -> None:
    mutant = ALL["transactions_not_confirmed"]
    with mutant.applied(), pytest.raises(pytest.fail.Exception):
        await test_unheard_by_the_controllers_each_answer_waits_for_the_replicas(all_of_it)


async def test_a_coordinator_that_moved_sends_all_markers_again_in_its_epoch(
    all_of_it: Coordinated,
) -> None:
    producer = await all_of_it.begun()
    all_of_it.brokers.unreachable = {2}
    await all_of_it.coordinator.end("a", producer, is_commit=False)
    await all_of_it.until(lambda: len(all_of_it.brokers.requests) >= 3)
    all_of_it.deposed()
    with pytest.raises(NotCoordinatorError):
        await all_of_it.coordinator.end("a", producer, is_commit=False)
    assert len(all_of_it.coordinator.decided.sender) == 0
    all_of_it.brokers.unreachable.clear()
    await all_of_it.elected(epoch=6)
    all_of_it.brokers.requests.clear()
    await asyncio.sleep(0.05)
    assert all_of_it.brokers.requests == []  # what was loaded may not be committed
    all_of_it.brokers.commit()
    await all_of_it.until(lambda: all_of_it.state() is State.CompleteAbort)
    sent = [one for _, of in all_of_it.brokers.requests for one in of]
    assert {one.partition for one in sent} == {P0, P1}
    assert {one.attempt.coordinator_epoch for one in sent} == {6}


async def test_a_late_answer_to_another_coordinator_completes_nothing(
    all_of_it: Coordinated,
) -> None:
    producer = await all_of_it.begun()
    all_of_it.brokers.gate.clear()
    await all_of_it.coordinator.end("a", producer, is_commit=True)
    await all_of_it.until(lambda: len(all_of_it.brokers.requests) == 2)
    all_of_it.deposed()
    await all_of_it.elected(epoch=6)
    all_of_it.brokers.leaders = {P0: Place.UNKNOWN, P1: Place.UNKNOWN}
    all_of_it.brokers.gate.set()
    await asyncio.sleep(0.1)
    assert all_of_it.state() is State.PrepareCommit


async def test_a_broken_invariant_of_a_record_nobody_asked_for_ends_the_node(
    all_of_it: Coordinated, monkeypatch: pytest.MonkeyPatch
) -> None:
    all_of_it.brokers.gate.clear()
    producer = await all_of_it.begun()
    await all_of_it.coordinator.end("a", producer, is_commit=True)

    def broken(_record: object) -> None:
        raise InvariantError("no edge from here")

    monkeypatch.setattr(all_of_it.coordinator.runtime.find(0).shard, "replay", broken)
    all_of_it.brokers.gate.set()
    await all_of_it.until(lambda: bool(all_of_it.fatal))
    assert {type(error) for error in all_of_it.fatal} == {InvariantError}
    all_of_it.fatal.clear()


@pytest.mark.parametrize("error", [NotLeaderOrFollowerError("other"), StorageError("disk")])
async def test_markers_are_sent_again_to_whoever_leads_then(
    all_of_it: Coordinated, error: TidelogError
) -> None:
    all_of_it.brokers.answers[P0] = [error, error]  # one after the other: BACKOFF_S_MIN apart
    producer = await all_of_it.begun()
    await all_of_it.coordinator.end("a", producer, is_commit=True)
    all_of_it.brokers.leaders[P0] = 3
    await all_of_it.until(lambda: all_of_it.state() is State.CompleteCommit)
    assert [to for to, of in all_of_it.brokers.requests if of[0].partition == P0][-1] == 3
    assert sum(one.partition == P1 for _, of in all_of_it.brokers.requests for one in of) == 1


async def test_a_deleted_topic_and_a_marker_that_was_written_need_none(
    all_of_it: Coordinated,
) -> None:
    all_of_it.brokers.leaders[P0] = Place.GONE
    all_of_it.brokers.answers[P1] = [InvalidProducerEpochError("a later epoch has written")]
    producer = await all_of_it.begun()
    await all_of_it.coordinator.end("a", producer, is_commit=True)
    await all_of_it.until(lambda: all_of_it.state() is State.CompleteCommit)
    assert [to for to, _ in all_of_it.brokers.requests] == [2]


async def test_a_broker_has_one_request_at_a_time(all_of_it: Coordinated) -> None:
    producers = [(name, await all_of_it.begun(name, P0)) for name in "ab"]
    all_of_it.brokers.gate.clear()
    for count, (name, producer) in enumerate(producers, start=1):
        await all_of_it.coordinator.end(name, producer, is_commit=True)
        await asyncio.sleep(0.02)
        assert len(all_of_it.brokers.requests) == 1, count
    all_of_it.brokers.gate.set()
    await all_of_it.until(lambda: all_of_it.state("b") is State.CompleteCommit)


async def test_a_fenced_coordinator_sends_no_more(all_of_it: Coordinated) -> None:
    fenced = TransactionCoordinatorFencedError("a newer one")
    all_of_it.brokers.answers = {P0: [fenced], P1: [fenced]}
    producer = await all_of_it.begun()
    await all_of_it.coordinator.end("a", producer, is_commit=True)
    await all_of_it.until(lambda: len(all_of_it.coordinator.decided.sender) == 0)
    await asyncio.sleep(0.1)
    assert len(all_of_it.brokers.requests) == 2
    assert all_of_it.state() is State.PrepareCommit


async def test_a_partition_without_a_leader_is_waited_for(all_of_it: Coordinated) -> None:
    """Longer than `BACKOFF_S_MAX`."""
    all_of_it.brokers.leaders[P0] = Place.UNKNOWN
    producer = await all_of_it.begun()
    await all_of_it.coordinator.end("a", producer, is_commit=True)
    await asyncio.sleep(marker_lines.BACKOFF_S_MAX + 0.1)
    assert all_of_it.state() is State.PrepareCommit
    all_of_it.brokers.leaders[P0] = 1
    await all_of_it.until(lambda: all_of_it.state() is State.CompleteCommit)


async def test_markers_of_many_transactions_share_bounded_requests(
    all_of_it: Coordinated, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(marker_lines, "MARKERS_PER_REQUEST", 3)
    members = [Member(f"g/{n}", await all_of_it.begun(f"g/{n}", P0)) for n in range(7)]
    await all_of_it.coordinator.end_group("g", members)
    await all_of_it.until(lambda: all_of_it.state("g/6") is State.CompleteCommit)
    assert [len(of) for _, of in all_of_it.brokers.requests] == [3, 3, 1]
    await all_of_it.coordinator.end_group("g", members)


async def test_a_record_of_the_end_that_cannot_be_appended_now_is_appended_later(
    all_of_it: Coordinated,
) -> None:
    producer = await all_of_it.begun()
    all_of_it.brokers.gate.clear()
    await all_of_it.coordinator.end("a", producer, is_commit=True)
    all_of_it.brokers.refusals = [ThrottlingQuotaExceededError("full")]
    all_of_it.brokers.gate.set()
    await all_of_it.until(lambda: all_of_it.state() is State.CompleteCommit)
    assert all_of_it.brokers.refusals == []


async def test_a_transaction_times_out(all_of_it: Coordinated) -> None:
    producer = await all_of_it.coordinator.initialise("a", timeout_ms=1)
    await all_of_it.coordinator.add_partitions("a", producer, [P0])
    await all_of_it.until(lambda: all_of_it.state() is State.CompleteAbort)
    assert all_of_it.coordinator.timed_out == 1
    with pytest.raises(ProducerFencedError):
        await all_of_it.coordinator.end("a", producer, is_commit=True)


async def test_refusals_that_changed_something_are_answered_once_committed(
    all_of_it: Coordinated,
) -> None:
    producer = await all_of_it.begun("g/1")
    await all_of_it.coordinator.initialise("g/2", timeout_ms=9)
    all_of_it.brokers.is_committing = False
    members = [Member("g/1", producer), Member("g/2", Producer(1, 1))]
    refused = asyncio.create_task(all_of_it.coordinator.end_group("g", members))
    await asyncio.sleep(0.05)
    assert not refused.done()
    all_of_it.brokers.is_committing = True
    all_of_it.brokers.commit()
    with pytest.raises(InvalidTxnStateError):
        await refused
    producer = await all_of_it.begun("b")
    with pytest.raises(ConcurrentTransactionsError):
        await all_of_it.coordinator.initialise("b", timeout_ms=9)
    await all_of_it.until(lambda: all_of_it.state("b") is State.CompleteAbort)


async def test_ids_are_described_and_listed_and_aborted(all_of_it: Coordinated) -> None:
    await all_of_it.begun("b")
    await all_of_it.coordinator.initialise("a", timeout_ms=9)
    found, epoch, partitions = await all_of_it.coordinator.describe("b")
    assert (found.state, epoch, partitions) == (State.Ongoing, 5, [P0, P1])
    names = [one.transactional_id for one in await all_of_it.coordinator.list()]
    assert names == ["a", "b"]
    [one] = await all_of_it.coordinator.list(lambda one: one.state is State.Empty)
    assert one.transactional_id == "a"
    [one] = await all_of_it.coordinator.list(limit=1)
    assert one.transactional_id == "a"
    assert await all_of_it.coordinator.abort("b") == found.producer
    with pytest.raises(InvalidTxnStateError, match="nothing to abort"):
        await all_of_it.coordinator.abort("b")


async def test_of_a_decided_transaction_what_lacks_a_marker_is_described(
    all_of_it: Coordinated,
) -> None:
    all_of_it.brokers.leaders[P1] = Place.UNKNOWN
    producer = await all_of_it.begun("b")
    await all_of_it.coordinator.end("b", producer, is_commit=True)
    lacking: Sequence[TransactionPartition] = [P0, P1]
    async with asyncio.timeout(10):
        while lacking == [P0, P1]:
            await asyncio.sleep(0.005)
            found, _, lacking = await all_of_it.coordinator.describe("b")
    assert (found.state, lacking) == (State.PrepareCommit, [P1])


async def test_events_wait_for_the_commit_and_are_bounded(
    all_of_it: Coordinated, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transaction_journal, "PENDING_MAX", 1)
    for name in ("a", "b"):
        await all_of_it.begun(name)
    all_of_it.brokers.is_committing = False
    for name in ("a", "b"):
        with pytest.raises(RequestTimedOutError):
            await all_of_it.coordinator.abort(name)
    assert all_of_it.events == []
    all_of_it.brokers.commit()
    assert [one.cause for one in all_of_it.events] == ["a: aborted on request"]
    assert all_of_it.coordinator.stats()["transaction_events_left_out"] == 1


async def test_events_of_an_ended_leadership_are_dropped(all_of_it: Coordinated) -> None:
    await all_of_it.begun()
    all_of_it.brokers.is_committing = False
    aborting = asyncio.create_task(all_of_it.coordinator.abort("a"))
    await asyncio.sleep(0.01)
    all_of_it.deposed()
    with pytest.raises(RequestTimedOutError):
        await aborting
    all_of_it.brokers.commit()
    assert all_of_it.events == []


async def test_the_topic_is_created_at_the_first_use(all_of_it: Coordinated) -> None:
    all_of_it.brokers.has_topic = False
    with pytest.raises(CoordinatorNotAvailableError):
        await all_of_it.coordinator.initialise("a", timeout_ms=9)
    await all_of_it.coordinator.require_topic()
    assert all_of_it.brokers.has_topic
    await all_of_it.coordinator.initialise("a", timeout_ms=9)


async def test_only_so_many_requests_wait(
    all_of_it: Coordinated, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transaction_coordinator, "WAITING_MAX", 2)
    all_of_it.brokers.is_committing = False
    waiting = [
        asyncio.create_task(all_of_it.coordinator.initialise(name, timeout_ms=9)) for name in "ab"
    ]
    await asyncio.sleep(0.02)
    with pytest.raises(ThrottlingQuotaExceededError):
        await all_of_it.coordinator.initialise("c", timeout_ms=9)
    all_of_it.brokers.commit()
    await asyncio.gather(*waiting)
    all_of_it.brokers.is_committing = True
    await all_of_it.coordinator.initialise("c", timeout_ms=9)
