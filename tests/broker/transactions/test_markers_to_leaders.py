"""Markers to brokers: which leads, who answers, and which answers count."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.broker.transactions.coordinated_ids import P0, P1, TOPIC

from tidelog.broker.transactions import marker_leaders
from tidelog.broker.transactions.marker_leaders import MarkerLeaders
from tidelog.broker.transactions.marker_lines import Marker, Place
from tidelog.broker.transactions.marker_requests import ANSWER_TIMEOUT_MS, MarkerRequests
from tidelog.broker.transactions.transaction import Producer, Topic, TransactionPartition
from tidelog.broker.transactions.transaction_shard import Attempt
from tidelog.core.errors import (
    BrokerNotAvailableError,
    CallFailedError,
    KafkaError,
    NotLeaderOrFollowerError,
    TidelogError,
    UnknownServerError,
    UnreachableError,
)
from tidelog.metadata.image import MetadataImage, PartitionImage, TopicImage
from tidelog.net.own_cluster import OwnCluster
from tidelog.v1 import common_pb2
from tidelog.v1.transactions_pb2 import (
    WriteTransactionMarkersRequest,
    WriteTransactionMarkersResponse,
)

FIRST = Attempt("a", Producer(7, 3), is_commit=True, coordinator_epoch=5)
SECOND = Attempt("b", Producer(8, 1), is_commit=False, coordinator_epoch=6)
SENT = [Marker(SECOND, P1), Marker(FIRST, P1), Marker(FIRST, P0)]


class Brokers:
    """Broker 1 is this one, 2 answers at its address, 3 has no address; the rest is unknown."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, WriteTransactionMarkersRequest]] = []
        self.cluster_id = "own"
        self.change: Callable[[WriteTransactionMarkersResponse], None] = lambda _: None
        self.failure: TidelogError | None = None
        self.image = MetadataImage(brokers={2: _broker(2, "h2:1"), 3: _broker(3, "")})
        self.writer = MarkerRequests(
            broker_id=1,
            image=lambda: self.image,
            peers=self,  # type: ignore[arg-type]  # the part of it that is used
            own=OwnCluster("own"),
            write_here=self.write_here,
        )

    async def call(self, address: str, method: Any, request: Any, *, timeout_ms: int) -> Any:
        assert timeout_ms == ANSWER_TIMEOUT_MS
        assert request.cluster_id == "own"
        if self.failure is not None:
            raise self.failure
        del method
        return self._answer(address, request)

    async def write_here(
        self, request: WriteTransactionMarkersRequest
    ) -> WriteTransactionMarkersResponse:
        return self._answer("here", request)

    def _answer(
        self, address: str, request: WriteTransactionMarkersRequest
    ) -> WriteTransactionMarkersResponse:
        self.asked.append((address, request))
        response = WriteTransactionMarkersResponse(cluster_id=self.cluster_id)
        for marker in request.markers:
            answered = response.markers.add(producer_id=marker.producer_id)
            for topic in marker.topics:
                for number in topic.partitions:
                    answered.partitions.add(topic=topic.topic, partition=number)
        self.change(response)
        return response


def _broker(broker_id: int, address: str) -> Any:
    class Known:
        pass

    known: Any = Known()
    known.broker_id, known.address = broker_id, address
    return known


@pytest.mark.asyncio
async def test_markers_of_one_end_share_an_entry_and_results_keep_the_order_asked() -> None:
    brokers = Brokers()

    def refuse_last(response: WriteTransactionMarkersResponse) -> None:
        response.markers[1].partitions[0].error.code = common_pb2.NOT_LEADER_OR_FOLLOWER

    brokers.change = refuse_last
    results = await brokers.writer.write(2, SENT)
    assert isinstance(results[0], NotLeaderOrFollowerError)
    assert results[1:] == [None, None]
    [(address, request)] = brokers.asked
    assert address == "h2:1"
    first, second = request.markers
    assert (first.producer_id, first.producer_epoch, first.coordinator_epoch) == (7, 3, 5)
    assert (first.commit, second.commit) == (True, False)
    assert list(first.topics[0].partitions) == [0, 1]
    assert first.topics[0].topic_id == TOPIC.id


@pytest.mark.asyncio
async def test_markers_for_this_broker_take_no_network() -> None:
    brokers = Brokers()
    brokers.failure = UnreachableError("no network")
    assert await brokers.writer.write(1, SENT) == [None] * 3
    assert [address for address, _ in brokers.asked] == ["here"]


@pytest.mark.asyncio
async def test_of_a_dead_broker_and_of_a_late_answer_nothing_is_known() -> None:
    brokers = Brokers()
    for failure in (UnreachableError("dead"), CallFailedError("no answer in 5000 ms")):
        brokers.failure = failure
        with pytest.raises(TidelogError):
            await brokers.writer.write(2, SENT)
    for broker_id in (3, 4):
        with pytest.raises(BrokerNotAvailableError, match="no address"):
            await brokers.writer.write(broker_id, SENT)


@pytest.mark.asyncio
async def test_the_answer_of_a_broker_of_another_cluster_does_not_count() -> None:
    brokers = Brokers()
    brokers.cluster_id = "other"
    with pytest.raises(KafkaError, match="cluster"):
        await brokers.writer.write(2, SENT)


@pytest.mark.asyncio
async def test_an_answer_about_other_markers_does_not_count() -> None:
    def lacks_one(response: WriteTransactionMarkersResponse) -> None:
        del response.markers[0].partitions[0]

    def names_another(response: WriteTransactionMarkersResponse) -> None:
        response.markers[0].partitions[0].partition = 9

    def is_refused(response: WriteTransactionMarkersResponse) -> None:
        response.Clear()
        response.cluster_id = "own"
        response.error.code = common_pb2.INVALID_REQUEST

    brokers = Brokers()
    for change in (lacks_one, names_another):
        brokers.change = change
        with pytest.raises(UnknownServerError, match="other markers"):
            await brokers.writer.write(2, SENT)
    brokers.change = is_refused
    with pytest.raises(KafkaError):
        await brokers.writer.write(2, SENT)


class Known:
    """What a broker knows, and since when."""

    def __init__(self) -> None:
        self.image = MetadataImage()
        self.as_of_ms: int | None = None
        self.now_ms = 100
        self.leaders = MarkerLeaders(
            image=lambda: self.image,
            known_as_of_ms=lambda: self.as_of_ms,
            clock=self,  # type: ignore[arg-type]  # the part of it that is used
        )

    def monotonic_ms(self) -> int:
        return self.now_ms

    def knows(self, *leaders: int | None) -> None:
        partitions = tuple(
            PartitionImage(number, (1, 2), (1, 2), leader, 4, 4)
            for number, leader in enumerate(leaders)
        )
        topic = TopicImage(TOPIC.name, TOPIC.id, partitions, {})
        self.image = MetadataImage(topics={TOPIC.name: topic}, topics_by_id={TOPIC.id: TOPIC.name})


def test_the_leader_of_the_image_gets_the_marker() -> None:
    known = Known()
    known.knows(2, None)
    assert known.leaders.leader_of(P0) == 2
    assert known.leaders.leader_of(P1) is Place.UNKNOWN
    assert known.leaders.leader_of(TransactionPartition(TOPIC, 9)) is Place.UNKNOWN


def test_a_missing_topic_is_deleted_only_by_what_was_decided_before_it_was_missed() -> None:
    known = Known()
    assert known.leaders.leader_of(P0) is Place.UNKNOWN
    known.now_ms = 200
    assert known.leaders.leader_of(P0) is Place.UNKNOWN, "nothing is surely known"
    known.as_of_ms = 100  # as old as the first look
    assert known.leaders.leader_of(P0) is Place.UNKNOWN
    known.as_of_ms = 101
    assert known.leaders.leader_of(P0) is Place.GONE
    assert known.leaders.leader_of(P1) is Place.GONE, "a partition of the same topic"


def test_a_topic_that_was_heard_of_late_is_not_deleted_and_its_next_absence_begins_anew() -> None:
    known = Known()
    assert known.leaders.leader_of(P0) is Place.UNKNOWN
    known.knows(2)
    known.as_of_ms = 150
    assert known.leaders.leader_of(P0) == 2
    known.image, known.now_ms = MetadataImage(), 200
    assert known.leaders.leader_of(P0) is Place.UNKNOWN


def test_a_later_topic_of_the_name_is_another() -> None:
    known = Known()
    known.knows(2)
    other = TransactionPartition(Topic(b"o" * 16, TOPIC.name), 0)
    assert known.leaders.leader_of(other) is Place.UNKNOWN
    known.as_of_ms = 101
    assert known.leaders.leader_of(other) is Place.GONE


def test_only_so_many_missing_topics_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(marker_leaders, "MISSED_MAX", 2)
    known = Known()
    missing = [TransactionPartition(Topic(bytes([n]) * 16, "x"), 0) for n in range(3)]
    for one in missing:
        known.leaders.leader_of(one)
    known.as_of_ms = 101
    assert known.leaders.leader_of(missing[2]) is Place.GONE
    assert known.leaders.leader_of(missing[0]) is Place.UNKNOWN, "looked at anew"
