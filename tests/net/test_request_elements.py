"""Elements of a request are counted in its bytes as the parser would make them."""

from __future__ import annotations

import pytest
from google.protobuf.descriptor import Descriptor
from google.protobuf.message import Message

from tidelog.net.request_elements import has_too_many
from tidelog.v1.admin_pb2 import CreateTopicsRequest, ElectLeadersRequest, NewTopic
from tidelog.v1.controller_pb2 import AlterPartitionRequest
from tidelog.v1.data_pb2 import MetadataRequest, ProduceRequest


def kind_of(message: Message) -> Descriptor:
    kind = message.DESCRIPTOR
    assert isinstance(kind, Descriptor)
    return kind


def members(count: int) -> AlterPartitionRequest:
    request = AlterPartitionRequest()
    partition = request.partitions.add(topic="t")
    for _ in range(count - 1):
        partition.new_isr.add(broker_id=1)
    return request


def packed(count: int) -> ElectLeadersRequest:
    return ElectLeadersRequest(
        topics=[ElectLeadersRequest.Topic(name="t", partitions=[1] * (count - 1))]
    )


def produced(count: int) -> ProduceRequest:
    request = ProduceRequest(acks=-1, correlation_id=2**60)
    for _ in range(count):
        request.partitions.add(topic="t", records=b"\x0a\x00" * 500)
    return request


@pytest.mark.parametrize(
    "request_of_ten",
    [
        MetadataRequest(topics=[""] * 10),
        CreateTopicsRequest(topics=[NewTopic(configs={str(n): "v" for n in range(9)})]),
        members(10),
        packed(10),
        produced(10),
    ],
    ids=lambda request: type(request).__name__,
)
def test_elements_at_every_depth_count_and_bytes_within_texts_do_not(
    request_of_ten: Message,
) -> None:
    data = request_of_ten.SerializeToString()
    assert not has_too_many(data, kind_of(request_of_ten), limit=10)
    assert has_too_many(data, kind_of(request_of_ten), limit=9)


@pytest.mark.parametrize(
    "data",
    [
        b"\x0a",  # a length is missing
        b"\x0a\xff\xff\xff\xff\x0f",  # one that goes beyond the end
        b"\x80" * 20,  # a number that does not end
        b"\x09\x00",  # a fixed number cut short
        b"\x0b",  # a group
        b"\x0e",  # a wire type that is none
    ],
)
def test_what_is_no_message_is_left_to_the_parser(data: bytes) -> None:
    assert not has_too_many(data, kind_of(MetadataRequest()), limit=10)
