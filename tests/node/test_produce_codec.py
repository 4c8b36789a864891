"""The gRPC codec of Produce: what a message says is what is asked, and the answer says it all."""

from __future__ import annotations

import pytest

from tidelog.broker.partition.produce import CurrentLeader, ProduceData, ProduceResult
from tidelog.node.handlers.produce_codec import decode_produce, encode_produce
from tidelog.v1 import common_pb2
from tidelog.v1.common_pb2 import Error, LeaderHint
from tidelog.v1.data_pb2 import (
    PartitionProduceData,
    PartitionProduceResult,
    ProduceRequest,
    ProduceResponse,
)


def test_a_request_keeps_its_fields_and_its_size() -> None:
    message = ProduceRequest(
        acks=0,
        timeout_ms=7,
        partitions=[
            PartitionProduceData(topic="a", partition=3, records=b"xyz", topic_id=bytes(16)),
            PartitionProduceData(topic="b"),
        ],
    )
    request = decode_produce(message)
    assert (request.acks, request.timeout_ms) == (0, 7)
    assert request.size_bytes == len(message.SerializeToString())
    assert list(request.partitions) == [
        ProduceData("a", 3, memoryview(b"xyz"), bytes(16)),
        ProduceData("b", 0, memoryview(b""), b""),
    ]


@pytest.mark.parametrize(
    ("message", "acks"),
    [(ProduceRequest(), -1), (ProduceRequest(acks=0), 0), (ProduceRequest(acks=1), 1)],
)
def test_absent_acks_are_all(message: ProduceRequest, acks: int) -> None:
    assert decode_produce(message).acks == acks


def test_records_of_one_partition_at_a_time_are_copied() -> None:
    """They would be in memory twice, beside their message, until the request is answered."""
    data = [PartitionProduceData(topic="a", partition=one, records=b"x") for one in range(3)]
    request = decode_produce(ProduceRequest(partitions=data))
    assert iter(request.partitions) is request.partitions


def test_results_keep_their_fields() -> None:
    response = encode_produce(
        [
            ProduceResult("a", 3, base_offset=7, log_start_offset=5, log_append_time_ms=0),
            ProduceResult("b", 0, base_offset=0),
        ],
        correlation_id=9,
    )
    assert response == ProduceResponse(
        correlation_id=9,
        partitions=[
            PartitionProduceResult(
                topic="a", partition=3, base_offset=7, log_start_offset=5, log_append_time_ms=0
            ),
            PartitionProduceResult(topic="b"),
        ],
    )
    assert response.partitions[0].HasField("log_append_time_ms")


@pytest.mark.parametrize(
    ("leader", "hint"),
    [
        (None, None),
        (CurrentLeader(4), LeaderHint(leader_epoch=4)),
        (
            CurrentLeader(4, 0),
            LeaderHint(leader_epoch=4, leader_id=0),
        ),
    ],
)
def test_an_error_names_the_leader_that_is_known(
    leader: CurrentLeader | None, hint: LeaderHint | None
) -> None:
    code = common_pb2.NOT_LEADER_OR_FOLLOWER
    result = ProduceResult("a", 3, error=code, error_message="no", current_leader=leader)
    (answer,) = encode_produce([result]).partitions
    assert answer == PartitionProduceResult(
        topic="a",
        partition=3,
        base_offset=-1,
        error=Error(code=code, message="no"),
        current_leader=hint,
    )
    assert answer.HasField("current_leader") == (hint is not None)
