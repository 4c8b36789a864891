"""Bounded reads against a scripted broker: what is asked, what is yielded, what is an error."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from contextlib import aclosing
from typing import NoReturn, cast

import pytest
from google.protobuf.message import Message

from tidelog.client.backoff import Backoff
from tidelog.client.consuming.offset_ranges import OffsetBounds, OffsetRange, TopicPartitions
from tidelog.client.consuming.range_reader import RangeReader, RangeReaderConfig
from tidelog.client.records import TopicPartition
from tidelog.core.errors import (
    CorruptMessageError,
    KafkaError,
    OffsetOutOfRangeError,
    UnreachableError,
)
from tidelog.records.records import Record, encode_batch, encode_filler
from tidelog.v1 import common_pb2, data_pb2
from tidelog.v1.common_pb2 import Error
from tidelog.v1.data_pb2 import PartitionFetchResult
from tidelog.v1.methods import FETCH, LIST_OFFSETS, METADATA, Method, Request, Response

WHOLE = OffsetRange("t", b"id", 0, 0, 30)
NOT_LEADER = PartitionFetchResult(error=Error(code=common_pb2.NOT_LEADER_OR_FOLLOWER))


def batch_at(base_offset: int) -> bytes:
    """Ten records."""
    return encode_batch([Record(0, 0, None, b"v")] * 10, base_offset=base_offset)


class TickingClock:
    """Every look at it is a while later."""

    def __init__(self, tick_ms: int) -> None:
        self._now_ms = 0
        self._tick_ms = tick_ms

    def monotonic_ms(self) -> int:
        self._now_ms += self._tick_ms
        return self._now_ms

    def monotonic_s(self) -> float:
        return self.monotonic_ms() / 1000

    def wall_ms(self) -> int:
        return self.monotonic_ms()


class NoRandom:
    """Always the least."""

    def random(self) -> float:
        return 0.0

    def randrange(self, start: int, stop: int) -> int:
        return start

    def randbytes(self, length: int) -> bytes:
        return bytes(length)


class OneBroker:
    """Leads t-0, whose batches hold ten records each from `start` to `end`."""

    def __init__(self, *, start: int = 0, end: int = 30) -> None:
        self.start, self.end = start, end
        self.is_reachable = True
        self.fetched: list[int] = []
        self.metadata_asked: list[list[str]] = []
        self.answers: list[PartitionFetchResult] = []
        """Given instead of records, first come first served."""

    async def open_stream(self, address: str, method: Method[Request, Response]) -> NoReturn:
        raise AssertionError("a range is read by single calls")

    async def call(
        self,
        address: str,
        method: Method[Request, Response],
        request: Request,
        *,
        timeout_ms: int,
    ) -> Response:
        if not self.is_reachable:
            raise UnreachableError(f"no broker answers at {address}")
        answer: Callable[[Message], Message] = {
            METADATA.path: self._metadata,
            LIST_OFFSETS.path: self._list_offsets,
            FETCH.path: self._fetch,
        }[method.path]
        return cast("Response", answer(request))

    def _metadata(self, request: Message) -> Message:
        assert isinstance(request, data_pb2.MetadataRequest)
        self.metadata_asked.append(list(request.topics))
        answer = data_pb2.MetadataResponse()
        answer.brokers.add(node_id=1, address="b:1")
        answer.topics.add(name="t", topic_id=b"id").partitions.add(partition=0, leader_id=1)
        unknown = answer.topics.add(name="nope")
        unknown.error.code = common_pb2.UNKNOWN_TOPIC_OR_PARTITION
        return answer

    def _list_offsets(self, request: Message) -> Message:
        assert isinstance(request, data_pb2.ListOffsetsRequest)
        answer = data_pb2.ListOffsetsResponse()
        for asked in request.partitions:
            offset = {
                data_pb2.ListOffsetsRequest.LATEST: self.end,
                data_pb2.ListOffsetsRequest.EARLIEST: self.start,
                # As if the record at each offset were of that time.
                data_pb2.ListOffsetsRequest.TIMESTAMP: max(asked.timestamp_ms, self.start)
                if asked.timestamp_ms < self.end
                else -1,
            }[asked.spec]
            answer.partitions.add(topic="t", offset=offset)
        return answer

    def _fetch(self, request: Message) -> Message:
        assert isinstance(request, data_pb2.FetchRequest)
        (asked,) = request.partitions
        assert (asked.topic, asked.topic_id, asked.partition) == ("t", b"id", 0)
        self.fetched.append(asked.fetch_offset)
        if self.answers:
            return data_pb2.FetchResponse(partitions=[self.answers.pop(0)])
        result = PartitionFetchResult(high_watermark=self.end, log_start_offset=self.start)
        if not self.start <= asked.fetch_offset <= self.end:
            result.error.code = common_pb2.OFFSET_OUT_OF_RANGE
        elif asked.fetch_offset < self.end:
            base = asked.fetch_offset // 10 * 10
            result.records = batch_at(base)
        return data_pb2.FetchResponse(partitions=[result])


def reader(broker: OneBroker, *, tick_ms: int = 100) -> RangeReader:
    return RangeReader(
        "b:1",
        transport=broker,
        clock=TickingClock(tick_ms),
        random=NoRandom(),
        config=RangeReaderConfig(backoff=Backoff(initial_ms=1, max_ms=1), topic_timeout_ms=300),
    )


async def read(
    broker: OneBroker, wanted: OffsetRange, *, fail_on_data_loss: bool = True
) -> list[int]:
    """Base offsets of the chunks."""
    async with reader(broker) as ranges:
        chunks = ranges.chunks(wanted, fail_on_data_loss=fail_on_data_loss)
        return [int.from_bytes(chunk[:8]) async for chunk in chunks]


async def test_reads_the_range_and_asks_for_nothing_beyond_it() -> None:
    broker = OneBroker()
    assert await read(broker, WHOLE._replace(start_offset=5, end_offset=20)) == [0, 10]
    assert broker.fetched == [5, 10]


async def test_an_empty_batch_is_passed_and_may_reach_beyond_the_range() -> None:
    broker = OneBroker()
    filler = encode_filler(base_offset=10, last_offset=39, leader_epoch=0, max_timestamp=-1)
    broker.end = 40
    broker.answers = [
        PartitionFetchResult(records=batch_at(0)),
        PartitionFetchResult(records=filler),
    ]
    assert await read(broker, WHOLE) == [0, 10]
    assert broker.fetched == [0, 10]


async def test_an_empty_range_asks_nobody() -> None:
    broker = OneBroker()
    assert await read(broker, WHOLE._replace(end_offset=0)) == []
    assert broker.fetched == []


async def test_asks_for_the_next_answer_before_it_yields_one() -> None:
    broker = OneBroker()
    async with reader(broker) as ranges, aclosing(ranges.chunks(WHOLE)) as chunks:
        await anext(chunks)
        await asyncio.sleep(0)
        assert broker.fetched == [0, 10]


async def test_a_leader_that_is_none_any_more_is_asked_again_after_a_refresh() -> None:
    broker = OneBroker()
    broker.answers = [NOT_LEADER, NOT_LEADER]
    assert await read(broker, WHOLE) == [0, 10, 20]


async def test_an_empty_answer_is_waited_out() -> None:
    broker = OneBroker()
    broker.answers = [PartitionFetchResult(high_watermark=0)]
    assert await read(broker, WHOLE) == [0, 10, 20]


async def test_records_that_never_come_are_an_error_that_says_what_is_there() -> None:
    with pytest.raises(KafkaError, match=r"t-0 returns no records from offset 30 on: .* is 30"):
        await read(OneBroker(), WHOLE._replace(end_offset=40))


async def test_records_that_are_gone_are_an_error_that_says_what_is_there() -> None:
    with pytest.raises(OffsetOutOfRangeError, match="offset 0 on are gone: it holds 20 to 30"):
        await read(OneBroker(start=20), WHOLE)


async def test_records_that_are_gone_are_left_out_when_the_caller_says_so() -> None:
    assert await read(OneBroker(start=20), WHOLE, fail_on_data_loss=False) == [20]
    assert (
        await read(OneBroker(end=5), WHOLE._replace(start_offset=9), fail_on_data_loss=False) == []
    )


async def test_another_incarnation_of_the_topic_is_an_error_at_once() -> None:
    broker = OneBroker()
    gone = PartitionFetchResult(error=Error(code=common_pb2.UNKNOWN_TOPIC_ID, message="made anew"))
    broker.answers = [gone]
    with pytest.raises(KafkaError, match="made anew"):
        await read(broker, WHOLE)
    assert broker.fetched == [0]


@pytest.mark.parametrize("code", [common_pb2.UNKNOWN_TOPIC_ID, common_pb2.INCONSISTENT_TOPIC_ID])
async def test_the_rest_of_a_deleted_topic_is_left_out_when_the_caller_says_so(
    code: common_pb2.ErrorCode,
) -> None:
    broker = OneBroker()
    broker.answers = [
        PartitionFetchResult(records=batch_at(0)),
        PartitionFetchResult(error=Error(code=code)),
    ]
    assert await read(broker, WHOLE, fail_on_data_loss=False) == [0]


async def test_another_error_is_none_that_the_caller_may_have_left_out() -> None:
    broker = OneBroker()
    denied = PartitionFetchResult(error=Error(code=common_pb2.INVALID_REQUEST, message="no"))
    broker.answers = [denied]
    with pytest.raises(KafkaError, match="no"):
        await read(broker, WHOLE, fail_on_data_loss=False)


@pytest.mark.parametrize(
    ("records", "message"),
    [
        (b"x" * 61, "t-0 is corrupt at offset 0: record batch magic"),
        (b"x" * 60, "t-0 is corrupt at offset 0: a record batch header is 61 bytes, 60 are left"),
        (batch_at(10), "t-0 is corrupt at offset 0: the next batch has base offset 10"),
        (
            batch_at(0) + batch_at(0),
            "t-0 is corrupt at offset 10: the next batch has base offset 0",
        ),
        (
            batch_at(0) + batch_at(20),
            "t-0 is corrupt at offset 10: the next batch has base offset 20",
        ),
    ],
)
async def test_batches_that_do_not_continue_the_range_are_corrupt(
    records: bytes, message: str
) -> None:
    broker = OneBroker()
    broker.answers = [PartitionFetchResult(records=records)]
    with pytest.raises(CorruptMessageError, match=message):
        await read(broker, WHOLE)
    assert broker.fetched == [0]


async def test_what_lies_beyond_the_range_is_cut_off_unseen() -> None:
    broker = OneBroker()
    broker.answers = [PartitionFetchResult(records=batch_at(0) + batch_at(10) + b"x" * 99)]
    async with reader(broker) as ranges:
        (chunk,) = [c async for c in ranges.chunks(WHOLE._replace(end_offset=11))]
    assert chunk == batch_at(0) + batch_at(10)
    assert broker.fetched == [0]


async def test_a_batch_from_before_the_position_is_no_progress_and_corrupt() -> None:
    broker = OneBroker()
    broker.answers = [PartitionFetchResult(records=batch_at(0))]
    with pytest.raises(CorruptMessageError, match="t-0 is corrupt at offset 10: the next batch"):
        await read(broker, WHOLE._replace(start_offset=10))


async def test_times_are_found_and_their_absence_too() -> None:
    tp = TopicPartition("t", 0)
    async with reader(OneBroker(start=3)) as ranges:
        assert await ranges.offsets_for_times({tp: 7}) == {tp: 7}
        assert await ranges.offsets_for_times({tp: 30}) == {tp: None}
        assert await ranges.offsets_for_times({}) == {}


async def test_one_call_describes_many_topics() -> None:
    broker = OneBroker()
    async with reader(broker) as ranges:
        assert len(await ranges.topics(["t", "nope", "t"])) == 1
    assert broker.metadata_asked[0] == ["t", "nope"]
    assert all(asked == ["t", "nope"] for asked in broker.metadata_asked)


class DeposedLeader(OneBroker):
    """b:1 led epoch 3 and holds ten records; b:2 leads epoch 4, in which there are thirty.

    Brokers describe the cluster as of epoch 3 until `stale_answers` were given.
    """

    def __init__(self, *, stale_answers: int) -> None:
        super().__init__(end=10)
        self._stale_answers = stale_answers
        self._address = ""
        self.asked: list[tuple[str, int | None]] = []
        """Who was asked for records, and with which leader epoch."""

    async def call(
        self,
        address: str,
        method: Method[Request, Response],
        request: Request,
        *,
        timeout_ms: int,
    ) -> Response:
        self._address = address
        return await super().call(address, method, request, timeout_ms=timeout_ms)

    def _metadata(self, request: Message) -> Message:
        assert isinstance(request, data_pb2.MetadataRequest)
        self.metadata_asked.append(list(request.topics))
        leads = 1 if len(self.metadata_asked) <= self._stale_answers else 2
        answer = data_pb2.MetadataResponse()
        for number in (1, 2):
            answer.brokers.add(node_id=number, address=f"b:{number}")
        topic = answer.topics.add(name="t", topic_id=b"id")
        topic.partitions.add(partition=0, leader_id=leads, leader_epoch=leads + 2)
        return answer

    def _fetch(self, request: Message) -> Message:
        assert isinstance(request, data_pb2.FetchRequest)
        (asked,) = request.partitions
        epoch = asked.current_leader_epoch if asked.HasField("current_leader_epoch") else None
        self.asked.append((self._address, epoch))
        own = int(self._address[-1]) + 2
        if epoch is not None and epoch != own:
            code = (
                common_pb2.UNKNOWN_LEADER_EPOCH if epoch > own else common_pb2.FENCED_LEADER_EPOCH
            )
            refused = PartitionFetchResult(error=Error(code=code))
            return data_pb2.FetchResponse(partitions=[refused])
        self.end = 10 if own == 3 else 30
        return super()._fetch(request)


@pytest.mark.parametrize("fail_on_data_loss", [True, False])
async def test_a_deposed_leader_is_not_believed_that_records_are_gone(
    *, fail_on_data_loss: bool
) -> None:
    broker = DeposedLeader(stale_answers=2)
    wanted = WHOLE._replace(leader_epoch=4, start_offset=20)
    assert await read(broker, wanted, fail_on_data_loss=fail_on_data_loss) == [20]
    assert broker.asked[0] == ("b:1", 4)
    assert broker.asked[-1] == ("b:2", 4)


async def test_a_range_of_an_older_epoch_is_read_in_the_one_that_is_known() -> None:
    broker = DeposedLeader(stale_answers=0)
    assert await read(broker, WHOLE._replace(leader_epoch=3)) == [0, 10, 20]
    assert await read(broker, WHOLE) == [0, 10, 20]
    assert set(broker.asked) == {("b:2", 4)}


async def test_a_range_knows_the_leaders_that_its_planner_knew() -> None:
    tp, another = TopicPartition("t", 0), WHOLE._replace(topic_id=b"another")
    async with reader(DeposedLeader(stale_answers=0)) as ranges:
        assert ranges.as_of_now([WHOLE]) == [WHOLE]
        await ranges.bounds([tp])
        known, of_another = ranges.as_of_now([WHOLE, another])
        assert known == WHOLE._replace(leader_epoch=4)
        # Epochs start over with an incarnation: another's say nothing.
        assert of_another == another
        newer = known._replace(leader_epoch=5)
        assert ranges.as_of_now([newer]) == [newer]


class ThreeBrokers(OneBroker):
    """Lead the thousand partitions of t; counts the calls of each method."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: Counter[str] = Counter()

    async def call(
        self,
        address: str,
        method: Method[Request, Response],
        request: Request,
        *,
        timeout_ms: int,
    ) -> Response:
        self.calls[method.path] += 1
        return await super().call(address, method, request, timeout_ms=timeout_ms)

    def _metadata(self, request: Message) -> Message:
        answer = data_pb2.MetadataResponse()
        for number in range(3):
            answer.brokers.add(node_id=number, address=f"b:{number}")
        topic = answer.topics.add(name="t", topic_id=b"id")
        for number in range(1000):
            topic.partitions.add(partition=number, leader_id=number % 3)
        return answer

    def _list_offsets(self, request: Message) -> Message:
        answer = cast("data_pb2.ListOffsetsResponse", super()._list_offsets(request))
        assert isinstance(request, data_pb2.ListOffsetsRequest)
        for asked, found in zip(request.partitions, answer.partitions, strict=True):
            found.partition = asked.partition
        return answer


async def test_what_a_thousand_partitions_hold_is_asked_in_a_few_calls() -> None:
    brokers = ThreeBrokers()
    async with reader(brokers, tick_ms=1) as ranges:
        (topic,) = (await ranges.topics(["t"])).values()
        partitions = [TopicPartition("t", number) for number in topic.partitions]
        bounds = await ranges.bounds(partitions)
        times = await ranges.offsets_for_times(dict.fromkeys(partitions, 7))
    assert bounds == dict.fromkeys(partitions, OffsetBounds(0, 30))
    assert times == dict.fromkeys(partitions, 7)
    # One description, and from each leader the earliest, the latest and the times.
    assert brokers.calls == {METADATA.path: 1, LIST_OFFSETS.path: 3 * 3}


async def test_finds_topics_and_what_they_hold() -> None:
    async with reader(OneBroker(start=3)) as ranges:
        assert await ranges.topics(["t", "nope"]) == {"t": TopicPartitions(b"id", (0,))}
        assert await ranges.all_topics() == {"t": TopicPartitions(b"id", (0,))}
        tp = TopicPartition("t", 0)
        assert await ranges.bounds([tp]) == {tp: OffsetBounds(3, 30)}


async def test_a_cluster_that_does_not_answer_is_named() -> None:
    broker = OneBroker()
    broker.is_reachable = False
    async with reader(broker) as ranges:
        with pytest.raises(UnreachableError, match="no broker answers at b:1"):
            await ranges.topics(["t"])
