"""Clients of the wire suite by themselves: frames, leaders and epochs, numbers of batches."""

from __future__ import annotations

import pytest

from tidelog.kafka.message import Message
from tidelog.kafka.messages.init_producer_id_request import InitProducerIdRequest
from tidelog.kafka.messages.init_producer_id_response import InitProducerIdResponse
from tidelog.kafka.messages.metadata_response import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from tidelog.simulation.wire.cluster_map import ClusterMap, Leader
from tidelog.simulation.wire.frames import ANSWER_BYTES_MAX, BadAnswerError, FrameConnection
from tidelog.simulation.wire.leader_claims import NO_WAY_BACK, ONE_LEADER, STALE_ID, ClaimChecks
from tidelog.simulation.wire.partition_queue import IN_FLIGHT_MAX, PartitionQueue

VERSION = 4
ID, OTHER_ID = bytes([1] * 16), bytes([2] * 16)


def answer_frame(correlation_id: int, message: Message) -> bytes:
    body = correlation_id.to_bytes(4, "big") + b"\0" + b"".join(message.encode(VERSION))
    return len(body).to_bytes(4, "big") + body


def asked(count: int) -> FrameConnection:
    connection = FrameConnection("client")
    for _ in range(count):
        connection.write(InitProducerIdRequest(transactional_id=None), VERSION)
    return connection


def test_answers_are_read_in_pieces_and_belong_to_the_oldest_requests() -> None:
    connection = asked(2)
    frames = b"".join(answer_frame(one, InitProducerIdResponse(producer_id=one)) for one in (1, 2))

    found = [answer for byte in frames for answer in connection.read(memoryview(bytes([byte])))]

    assert [one.asked.correlation_id for one in found] == [1, 2]
    assert found[1].message == InitProducerIdResponse(producer_id=2)
    assert connection.unanswered == 0


@pytest.mark.parametrize("correlation_id", [2, 0, 7])
def test_an_answer_out_of_its_turn_is_none(correlation_id: int) -> None:
    frame = answer_frame(correlation_id, InitProducerIdResponse())
    with pytest.raises(BadAnswerError, match=f"{correlation_id} is answered, 1 is next"):
        asked(2).read(memoryview(frame))


def test_an_answer_to_a_request_that_has_none_is_refused() -> None:
    connection = FrameConnection("client")
    connection.write(InitProducerIdRequest(transactional_id=None), VERSION, has_answer=False)
    with pytest.raises(BadAnswerError):
        connection.read(memoryview(answer_frame(1, InitProducerIdResponse())))


@pytest.mark.parametrize("size", [-1, 0, 3, ANSWER_BYTES_MAX + 1])
def test_a_size_that_no_answer_has_is_refused_before_it_is_kept(size: int) -> None:
    head = size.to_bytes(4, "big", signed=True) + bytes(4)
    with pytest.raises(BadAnswerError, match=f"of {size} bytes"):
        asked(1).read(memoryview(head))


def metadata(epoch: int, leader_id: int, topic_id: bytes = ID) -> MetadataResponse:
    part = MetadataResponsePartition(leader_id=leader_id, leader_epoch=epoch)
    topic = MetadataResponseTopic(name="t", topic_id=topic_id, partitions=[part])
    brokers = [MetadataResponseBroker(node_id=one, host=f"node-{one}", port=1) for one in (1, 2)]
    return MetadataResponse(brokers=brokers, topics=[topic])


def test_an_older_epoch_changes_nothing_but_of_another_incarnation() -> None:
    known = ClusterMap()
    known.take(metadata(5, 1))
    known.take(metadata(4, 2))
    assert known.leader("t", 0) == Leader(1, 5)
    known.take(metadata(0, 2, OTHER_ID))
    assert known.leader("t", 0) == Leader(2, 0)


def test_a_hint_counts_if_it_is_newer_and_has_an_address() -> None:
    known = ClusterMap()
    known.take(metadata(5, 1))
    endpoint = MetadataResponseBroker(node_id=3, host="node-3", port=1)
    assert not known.take_hint("t", 0, Leader(3, 5), [endpoint])
    assert not known.take_hint("t", 0, Leader(3, 6), [])
    assert known.take_hint("t", 0, Leader(3, 6), [endpoint])
    assert known.leader("t", 0) == Leader(3, 6)


def test_two_leaders_of_an_epoch_and_epochs_that_fall_are_noticed() -> None:
    found: list[str] = []
    checks = ClaimChecks(lambda invariant, _: found.append(invariant), lambda _: None)
    seen: dict[tuple[str, bytes, int], int] = {}
    checks.on_metadata(seen, metadata(5, 1), "node-1")
    checks.on_metadata({}, metadata(4, 1), "a broker that lags")
    assert not found
    checks.on_metadata({}, metadata(5, 2), "node-2")
    assert found == [ONE_LEADER]
    checks.on_metadata(seen, metadata(4, 1), "node-1")
    assert found == [ONE_LEADER, NO_WAY_BACK]


def test_only_an_id_that_is_gone_must_be_refused() -> None:
    found: list[str] = []
    checks = ClaimChecks(lambda invariant, _: found.append(invariant), lambda _: None)
    checks.on_metadata({}, metadata(0, 1), "node-1")
    assert checks.gone_id("t", ID) is None
    assert checks.gone_id("t", OTHER_ID) == ID
    checks.on_gone_id("Fetch", 100)
    assert not found
    checks.on_gone_id("Fetch", 0)
    assert found == [STALE_ID]


def queue_of(count: int) -> PartitionQueue[int]:
    queue: PartitionQueue[int] = PartitionQueue()
    queue.waiting.append((-1, 0.0))
    queue.waiting.extend((number, float(number)) for number in range(count))
    first = queue.next_batch(1)
    assert first is not None
    assert queue.next_batch(1) is None, "the log does not know the producer yet"
    queue.end(first)
    return queue


def test_a_few_batches_fly_and_what_comes_back_is_sent_again_alone_and_as_it_was() -> None:
    queue = queue_of(100)
    flying = [queue.next_batch(2) for _ in range(IN_FLIGHT_MAX)]
    assert queue.next_batch(2) is None
    first, second, *others = [one for one in flying if one is not None]
    assert [one.sequence for one in (first, second, *others)] == [1, 3, 5, 7, 9]

    queue.put_back(first, "not the leader", is_outcome_unknown=False)
    assert queue.next_batch(2) is None, "the others are on their way yet"
    for one in (second, *others):
        queue.put_back(one, "out of order", is_outcome_unknown=False)
    assert queue.next_batch(2) is first
    assert queue.next_batch(2) is None
    queue.end(first)
    assert queue.is_first(second)
    assert queue.next_batch(2) is second


def test_what_is_given_up_may_be_stored_if_an_attempt_had_no_answer() -> None:
    queue = queue_of(4)
    refused, unheard, flying = (queue.next_batch(1) for _ in range(3))
    assert refused is not None
    assert unheard is not None
    assert flying is not None
    queue.put_back(refused, "not the leader", is_outcome_unknown=False)
    queue.put_back(unheard, "gone", is_outcome_unknown=True)
    queue.put_back(unheard, "not the leader", is_outcome_unknown=False)

    assert queue.drop_all() == [(0, False), (1, True), (2, True), (3, False)]
    assert queue.is_empty
