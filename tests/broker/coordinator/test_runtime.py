"""The shell under coordinators: loads, appends, waits for commits, ends with its leadership."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from tidelog.broker.coordinator.coordinator_records import CoordinatorRecord
from tidelog.broker.coordinator.record_batches import BATCH_BYTES, encode_batches
from tidelog.broker.coordinator.runtime import LOAD_BACKOFF_S, CoordinatorRuntime, Hosted, Status
from tidelog.broker.coordinator.slice_replay import RECORDS_PER_TURN
from tidelog.broker.partition.partition_listener import Leadership, LeadershipEnd
from tidelog.broker.partition.partition_loader import PartitionSlice
from tidelog.broker.partition.partition_writer import AppendedMarker
from tidelog.broker.partition_adder import Producer
from tidelog.core.background import Background
from tidelog.core.errors import (
    CoordinatorLoadInProgressError,
    CoordinatorNotAvailableError,
    InvariantError,
    KafkaError,
    MessageTooLargeError,
    NotCoordinatorError,
    NotEnoughReplicasError,
    NotLeaderOrFollowerError,
    RequestTimedOutError,
    StorageError,
    TidelogError,
    UnknownServerError,
)
from tidelog.core.system import SystemClock
from tidelog.records.batch import TRANSACTIONAL_FLAG, parse_header
from tidelog.records.records import ControlMarker, encode_marker
from tidelog.v1.coordinator_records_pb2 import CoordinatorKey, OffsetCommitKey, OffsetCommitValue

pytestmark = pytest.mark.asyncio
OF_PRODUCER = {"producer_id": 5, "producer_epoch": 1, "timestamp_ms": 1}
LED = Leadership("__consumer_offsets", b"i" * 16, 0, 5)


def record(number: int, metadata: str = "") -> CoordinatorRecord:
    key = OffsetCommitKey(group_id="g", topic_id=b"t" * 16, partition=number)
    value = OffsetCommitValue(offset=number, metadata=metadata)
    return CoordinatorRecord(CoordinatorKey(offset_commit=key), value)


class Seen:
    """A shard that remembers the numbers it has seen."""

    def __init__(self) -> None:
        self.numbers: list[int] = []
        self.decided: list[tuple[int, int | bool]] = []
        """Of transactions: producer ids, with numbers of their records and with outcomes."""
        self.metadata: list[str | None] = []
        """None: a tombstone."""

    def replay(self, record: CoordinatorRecord) -> None:
        self.numbers.append(record.key.offset_commit.partition)
        value = record.value
        self.metadata.append(value.metadata if isinstance(value, OffsetCommitValue) else None)

    def replay_pending(self, record: CoordinatorRecord, producer_id: int) -> None:
        self.decided.append((producer_id, record.key.offset_commit.partition))

    def replay_end(self, producer_id: int, *, is_commit: bool) -> None:
        self.decided.append((producer_id, is_commit))

    def pending_of(self, producer_id: int) -> list[CoordinatorRecord]:
        del producer_id
        return []


class Log:
    """Writer and loader of one partition, in memory."""

    def __init__(self) -> None:
        self.batches: list[bytes] = []
        self.end_offset = 0
        self.bytes_max = 1 << 30
        self.refusals: list[TidelogError | None] = []
        """What each next append raises."""
        self.unreadable: list[TidelogError] = []
        """What each next load raises, once it has read everything."""

    def append(self, leadership: Leadership, records: bytes) -> Any:
        assert leadership == LED
        refusal = self.refusals.pop(0) if self.refusals else None
        if refusal is not None:
            raise refusal
        if len(records) > self.bytes_max:
            raise MessageTooLargeError(f"{len(records)} bytes")
        self.batches.append(records)
        self.end_offset += parse_header(records).records_count

        class Written:
            end_offset = self.end_offset

        return Written()

    append_for_producer = append

    def batch_bytes_max(self, leadership: Leadership) -> int:
        assert leadership == LED
        return self.bytes_max

    async def slices(
        self, leadership: Leadership, until: object, *, start: int = 0
    ) -> AsyncIterator[PartitionSlice]:
        del leadership, until
        offset = 0
        for batch in list(self.batches):
            end = offset + parse_header(batch).records_count
            if offset >= start:
                yield PartitionSlice(0, end, batch)
            offset = end
            await asyncio.sleep(0)
        if self.unreadable:
            raise self.unreadable.pop(0)


class Coordinators:
    """A runtime over a log, and what it was called with."""

    def __init__(self) -> None:
        self.log = Log()
        self.ended: list[Hosted[Seen]] = []
        self.loaded_numbers: list[list[int]] = []
        """Numbers of each shard when it was said to be loaded."""
        self.fatal: list[BaseException] = []
        self.runtime: CoordinatorRuntime[Seen] = CoordinatorRuntime(
            hooks=self,
            writer=self.log,  # type: ignore[arg-type]  # the part of it that is used
            loader=self.log,  # type: ignore[arg-type]  # as above
            clock=SystemClock(),
            background=Background(self.fatal.append),
        )

    def new_shard(self, leadership: Leadership) -> Seen:
        assert leadership == LED
        return Seen()

    async def on_loaded(self, hosted: Hosted[Seen]) -> None:
        assert hosted.status is Status.LOADING
        self.loaded_numbers.append(list(hosted.shard.numbers))

    def on_ended(self, hosted: Hosted[Seen]) -> None:
        self.ended.append(hosted)

    async def elected(self) -> Hosted[Seen]:
        """Be elected, and wait until the shard is loaded."""
        self.runtime.on_election(LED)
        return await self.loaded()

    async def loaded(self) -> Hosted[Seen]:
        while True:
            try:
                return self.runtime.find(0)
            except CoordinatorLoadInProgressError:
                await asyncio.sleep(0)

    def commit(self) -> None:
        """Have all that is appended committed."""
        self.runtime.on_high_watermark_updated(LED, self.log.end_offset)


@pytest.fixture
def coordinators() -> Coordinators:
    return Coordinators()


async def test_a_shard_is_loaded_to_the_logs_end_before_it_answers(
    coordinators: Coordinators,
) -> None:
    hosted = await coordinators.elected()
    hosted.append([record(number) for number in range(3 * RECORDS_PER_TURN)])
    coordinators.runtime.on_resignation(LED, LeadershipEnd.DEPOSED)
    with pytest.raises(NotCoordinatorError):
        coordinators.runtime.find(0)
    coordinators.runtime.on_election(LED)
    with pytest.raises(CoordinatorLoadInProgressError):
        coordinators.runtime.find(0)
    assert coordinators.runtime.loading == 1
    again = await coordinators.loaded()
    assert again.shard.numbers == hosted.shard.numbers
    assert coordinators.loaded_numbers == [[], again.shard.numbers]
    assert again.end_offset == coordinators.log.end_offset
    assert (coordinators.runtime.loading, coordinators.runtime.loads) == (0, 2)


async def test_a_load_replays_the_newest_record_of_each_key_of_a_piece_in_their_order(
    coordinators: Coordinators,
) -> None:
    """A group that commits all the time would hold up the next coordinator with all its commits."""
    hosted = await coordinators.elected()
    gone = CoordinatorRecord(record(3).key, None)
    hosted.append([record(1, "old"), record(2), record(3), record(1, "new"), gone])
    hosted.append([record(2, "another piece")])
    coordinators.runtime.on_resignation(LED, LeadershipEnd.DEPOSED)
    again = await coordinators.elected()
    assert again.shard.numbers == [2, 1, 3, 2]
    assert again.shard.metadata == ["", "new", None, "another piece"]
    assert again.end_offset == hosted.end_offset == 6


async def test_a_read_waits_for_what_was_loaded_and_is_not_committed(
    coordinators: Coordinators,
) -> None:
    hosted = await coordinators.elected()
    hosted.append([record(1)])
    coordinators.runtime.on_resignation(LED, LeadershipEnd.DEPOSED)
    again = await coordinators.elected()
    reading = asyncio.create_task(
        again.committed(again.append([]), is_write=False, timeout_ms=60_000)
    )
    await asyncio.sleep(0.01)
    assert not reading.done()
    coordinators.commit()
    await reading


async def test_a_load_that_fails_begins_again_from_nothing(coordinators: Coordinators) -> None:
    hosted = await coordinators.elected()
    hosted.append([record(1), record(2)])
    coordinators.runtime.on_resignation(LED, LeadershipEnd.DEPOSED)
    coordinators.log.unreadable = [StorageError("the disk"), StorageError("again")]
    began_s = asyncio.get_running_loop().time()
    again = await coordinators.elected()
    assert again.shard.numbers == [1, 2]
    assert asyncio.get_running_loop().time() - began_s >= 2 * LOAD_BACKOFF_S


async def test_writes_and_reads_are_answered_once_committed(coordinators: Coordinators) -> None:
    hosted = await coordinators.elected()
    end = hosted.append([record(1)])
    assert hosted.shard.numbers == [1]  # the next decision sees it
    writing = asyncio.create_task(hosted.committed(end, is_write=True, timeout_ms=60_000))
    later = asyncio.create_task(
        hosted.committed(hosted.append([record(2)]), is_write=True, timeout_ms=60_000)
    )
    await asyncio.sleep(0.01)
    assert not writing.done()
    coordinators.runtime.on_high_watermark_updated(LED, 1)
    await writing
    await asyncio.sleep(0.01)
    assert not later.done()
    coordinators.commit()
    await later
    await hosted.committed(hosted.append([]), is_write=False, timeout_ms=1)


async def test_what_is_not_committed_in_time_has_an_unknown_outcome(
    coordinators: Coordinators,
) -> None:
    hosted = await coordinators.elected()
    end = hosted.append([record(1)])
    with pytest.raises(RequestTimedOutError, match="outcome is unknown") as late:
        await hosted.committed(end, is_write=True, timeout_ms=10)
    assert late.value.is_outcome_unknown
    with pytest.raises(CoordinatorNotAvailableError):
        await hosted.committed(hosted.append([]), is_write=False, timeout_ms=10)


async def test_whoever_stops_waiting_for_a_commit_is_held_no_longer(
    coordinators: Coordinators,
) -> None:
    hosted = await coordinators.elected()
    end = hosted.append([record(1)])
    patient = asyncio.create_task(hosted.committed(end, is_write=True, timeout_ms=60_000))
    for _ in range(3):
        late = [hosted.committed(end, is_write=False, timeout_ms=1) for _ in range(100)]
        outcomes = await asyncio.gather(*late, return_exceptions=True)
        assert {type(one) for one in outcomes} == {CoordinatorNotAvailableError}
    gone = asyncio.create_task(hosted.committed(end, is_write=True, timeout_ms=60_000))
    await asyncio.sleep(0)
    gone.cancel()
    await asyncio.wait([gone])
    assert len(hosted._waiters) == 1
    coordinators.commit()
    await patient


async def test_those_who_wait_hear_that_the_leadership_is_over(coordinators: Coordinators) -> None:
    hosted = await coordinators.elected()
    end = hosted.append([record(1)])
    waiting = [
        asyncio.create_task(hosted.committed(end, is_write=is_write, timeout_ms=60_000))
        for is_write in (True, False)
    ]
    await asyncio.sleep(0)
    coordinators.runtime.on_resignation(LED, LeadershipEnd.DEPOSED)
    outcomes = await asyncio.gather(*waiting, return_exceptions=True)
    assert [type(one) for one in outcomes] == [RequestTimedOutError, NotCoordinatorError]
    assert coordinators.ended == [hosted]
    with pytest.raises(NotCoordinatorError):
        hosted.append([record(2)])
    with pytest.raises(RequestTimedOutError):
        await hosted.committed(end, is_write=True, timeout_ms=60_000)


@pytest.mark.parametrize(
    ("refusal", "answer"),
    [
        (NotLeaderOrFollowerError("no"), NotCoordinatorError),
        (NotEnoughReplicasError("few"), CoordinatorNotAvailableError),
    ],
)
async def test_what_was_not_appended_is_not_replayed(
    coordinators: Coordinators, refusal: KafkaError, answer: type[KafkaError]
) -> None:
    hosted = await coordinators.elected()
    coordinators.log.refusals = [refusal]
    with pytest.raises(answer):
        hosted.append([record(1)])
    assert hosted.shard.numbers == []
    hosted.append([record(2)])
    assert hosted.shard.numbers == [2]


async def test_many_records_are_several_batches(coordinators: Coordinators) -> None:
    hosted = await coordinators.elected()
    text = "m" * (BATCH_BYTES // 3)
    hosted.append([record(number, text) for number in range(5)])
    assert len(coordinators.log.batches) == 3
    assert hosted.shard.numbers == [0, 1, 2, 3, 4]
    hosted.append([record(5, "m" * 2 * BATCH_BYTES)])
    assert len(coordinators.log.batches) == 4


@pytest.mark.parametrize("number", [0, 1])
async def test_an_append_that_failed_half_way_has_the_shard_loaded_again(
    coordinators: Coordinators, number: int
) -> None:
    hosted = await coordinators.elected()
    hosted.append([record(9)])
    refusal = NotEnoughReplicasError("few") if number else UnknownServerError("half written")
    coordinators.log.refusals = [None] * number + [refusal]
    text = "m" * BATCH_BYTES
    with pytest.raises(RequestTimedOutError, match="outcome is unknown"):
        hosted.append([record(1, text), record(2, text)])
    assert hosted.shard.numbers == [9]
    with pytest.raises(CoordinatorLoadInProgressError):
        coordinators.runtime.find(0)
    again = await coordinators.loaded()
    assert again is not hosted
    assert again.shard.numbers == [9, 1][: 1 + number]
    assert coordinators.ended == [hosted]


async def test_decisions_of_one_step_share_a_batch_and_fail_alone(
    coordinators: Coordinators,
) -> None:
    hosted = await coordinators.elected()

    def refuse(_: Seen) -> tuple[list[CoordinatorRecord], str]:
        raise NotCoordinatorError("no")

    first = hosted.append_soon(lambda _: ([record(1)], "first"))
    refused = hosted.append_soon(refuse)
    given_up = hosted.append_soon(lambda _: ([record(8)], "given up"))
    given_up.cancel()
    last = hosted.append_soon(lambda shard: ([record(2)], f"{shard.numbers}"))
    assert await first == (2, "first")
    assert await last == (2, "[]")
    with pytest.raises(NotCoordinatorError):
        await refused
    assert len(coordinators.log.batches) == 1
    assert hosted.shard.numbers == [1, 2]


@pytest.mark.parametrize("error", [KeyError("a bug"), InvariantError("no edge")])
async def test_each_decision_of_a_step_has_an_answer_whatever_another_raises(
    coordinators: Coordinators, error: Exception
) -> None:
    hosted = await coordinators.elected()

    def fail(_: Seen) -> tuple[list[CoordinatorRecord], str]:
        raise error

    before = hosted.append_soon(lambda _: ([record(1)], "before"))
    broken = hosted.append_soon(fail)
    after = hosted.append_soon(lambda _: ([record(2)], "after"))
    assert await before == (2, "before")
    assert await after == (2, "after")
    with pytest.raises(type(error)):
        await broken


async def test_each_decision_of_a_step_has_an_answer_when_their_replay_fails(
    coordinators: Coordinators, monkeypatch: pytest.MonkeyPatch
) -> None:
    hosted = await coordinators.elected()

    def fail(_: CoordinatorRecord) -> None:
        raise InvariantError("no edge")

    monkeypatch.setattr(hosted.shard, "replay", fail)
    queued = [hosted.append_soon(lambda _: ([record(1)], None)) for _ in range(2)]
    outcomes = await asyncio.gather(*queued, return_exceptions=True)
    assert [type(one) for one in outcomes] == [InvariantError] * 2


async def test_queued_decisions_fail_with_their_append(coordinators: Coordinators) -> None:
    hosted = await coordinators.elected()
    coordinators.log.refusals = [NotEnoughReplicasError("few")]
    queued = [hosted.append_soon(lambda _: ([record(1)], None)) for _ in range(2)]
    outcomes = await asyncio.gather(*queued, return_exceptions=True)
    assert [type(one) for one in outcomes] == [CoordinatorNotAvailableError] * 2
    ended = hosted.append_soon(lambda _: ([record(1)], None))
    coordinators.runtime.on_resignation(LED, LeadershipEnd.DEPOSED)
    with pytest.raises(NotCoordinatorError):
        await ended


async def test_decisions_that_are_too_large_together_are_appended_each_for_itself(
    coordinators: Coordinators,
) -> None:
    hosted = await coordinators.elected()
    coordinators.log.bytes_max = 2_000
    sizes = (10, 1_500, 3_000, 1_500)

    def decision(size: int) -> Callable[[Seen], tuple[list[CoordinatorRecord], int]]:
        return lambda _: ([record(size, "m" * size)], size)

    queued = [hosted.append_soon(decision(size)) for size in sizes]
    outcomes = await asyncio.gather(*queued, return_exceptions=True)
    assert isinstance(outcomes[2], MessageTooLargeError)
    assert [outcomes[0], outcomes[1], outcomes[3]] == [(1, 10), (2, 1_500), (3, 1_500)]
    assert hosted.shard.numbers == [10, 1_500, 1_500]
    assert hosted.status is Status.ACTIVE


async def test_nothing_of_a_decision_is_appended_whose_last_batch_is_too_large(
    coordinators: Coordinators,
) -> None:
    hosted = await coordinators.elected()
    coordinators.log.bytes_max = BATCH_BYTES + 1_000
    records = [record(1), record(2, "m" * 2 * BATCH_BYTES)]
    with pytest.raises(MessageTooLargeError, match=r"max\.message\.bytes"):
        hosted.append(records)
    assert (coordinators.log.batches, hosted.status) == ([], Status.ACTIVE)


async def test_a_leadership_that_ends_during_the_load_leaves_nothing(
    coordinators: Coordinators,
) -> None:
    coordinators.runtime.on_election(LED)
    coordinators.runtime.on_resignation(LED, LeadershipEnd.DEPOSED)
    await asyncio.sleep(0.01)
    assert (coordinators.runtime.loading, coordinators.runtime.loads) == (0, 0)
    assert coordinators.fatal == []


# Transactions


async def test_markers_are_applied_in_the_order_of_the_log_also_while_it_is_loaded() -> None:
    on = Coordinators()
    for number in range(3):
        on.log.batches += encode_batches([record(number)], 1, Producer(5, 0))
    on.runtime.on_election(LED)
    hosted = on.runtime._hosted[0]
    for _ in range(3):
        await asyncio.sleep(0)
    assert hosted.status is Status.LOADING
    on.log.batches.append(marker := encode_marker(ControlMarker(True, 0), **OF_PRODUCER))
    on.runtime.on_marker_appended(LED, AppendedMarker(5, True, 3))
    await on.loaded()
    assert hosted.shard.decided == [(5, 0), (5, 1), (5, 2), (5, True)]
    on.log.end_offset = 4
    hosted.append([record(9)], producer=Producer(6, 0))
    on.runtime.on_marker_appended(LED, AppendedMarker(6, False, 5))
    assert hosted.shard.decided[4:] == [(6, 9), (6, False)]
    assert hosted.end_offset == 6
    on.runtime.on_marker_appended(LED._replace(leader_epoch=4), AppendedMarker(6, False, 7))
    assert hosted.end_offset == 6, marker


async def test_a_batch_of_a_transaction_has_its_producer_and_begins_at_sequence_0() -> None:
    first, second = encode_batches([record(1, "x" * BATCH_BYTES), record(2)], 1, Producer(5, 3))
    for batch in (first, second):
        header = parse_header(batch)
        assert header.attributes & TRANSACTIONAL_FLAG
        assert (header.producer_id, header.producer_epoch, header.base_sequence) == (5, 3, 0)
    assert not parse_header(encode_batches([record(1)], 1)[0]).attributes & TRANSACTIONAL_FLAG
