"""Whatever bytes come in, a message's decoder takes them or names what is wrong: nothing else."""

from __future__ import annotations

import random
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from tests.proto.kafka_fuzz import fuzz, sound
from tests.proto.kafka_values import VERSIONS, class_of, encoded

from tidelog.kafka.errors import (
    KafkaMessageError,
    MalformedMessageError,
    UnencodableMessageError,
    UnsupportedVersionError,
)
from tidelog.kafka.message import Message
from tidelog.kafka.messages.api_versions_request import ApiVersionsRequest
from tidelog.kafka.messages.create_topics_request import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreateTopicsRequest,
)
from tidelog.kafka.messages.fetch_request import FetchRequest
from tidelog.kafka.messages.heartbeat_request import HeartbeatRequest
from tidelog.kafka.messages.metadata_request import MetadataRequest
from tidelog.kafka.messages.offset_commit_request import OffsetCommitRequest
from tidelog.kafka.messages.produce_request import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from tidelog.kafka.wire import ELEMENTS_MAX, TEXT_BYTES_MAX


def refusal_of(kind: type[Message], data: bytes, version: int) -> MalformedMessageError:
    with pytest.raises(MalformedMessageError) as caught:
        kind.decode(data, version)
    assert (caught.value.message, caught.value.version) == (kind.__name__, version)
    return caught.value


@pytest.mark.parametrize(("name", "version"), VERSIONS)
def test_message_that_ends_early_is_refused_wherever_it_ends(name: str, version: int) -> None:
    data = sound(random.Random(f"{name} {version}"), name, version)
    for length in range(len(data)):
        refusal = refusal_of(class_of(name), data[:length], version)
        assert refusal.field or not length


def test_damaged_messages_are_taken_or_refused() -> None:
    counts = fuzz(executions=20_000, seed=7)
    assert counts["MalformedMessageError"] > 10_000
    assert counts["taken"] > 2_000


def test_bytes_behind_a_message_are_refused_or_counted() -> None:
    data = encoded(HeartbeatRequest(group_id="g"), 4) + b"more"
    assert refusal_of(HeartbeatRequest, data, 4).problem == "4 bytes more than the message has"
    assert HeartbeatRequest.decode_prefix(data, 4)[1] == len(data) - 4


@pytest.mark.parametrize("version", [-1, 2, 19])
def test_version_that_the_message_lacks_is_refused(version: int) -> None:
    with pytest.raises(UnsupportedVersionError, match=r"^FetchRequest version -?\d+: .*4 to 18$"):
        FetchRequest.decode(b"", version)
    with pytest.raises(UnsupportedVersionError):
        FetchRequest().encode(version)


# A lie about a length costs nothing but the refusal.


@contextmanager
def at_most(peak_bytes: int) -> Iterator[None]:
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < peak_bytes
    finally:
        tracemalloc.stop()


LONG_TEXT = "818002" + "00" * (TEXT_BYTES_MAX + 1)
FETCH_12 = "ffffffff 00000000 00000000 00000000 00 00000000 00000000 01 01 01"
LIES: list[tuple[type[Message], int, str, str, str]] = [
    (ProduceRequest, 3, "ffff 0001 00000000 7fffffff", "TopicData", "2147483647 elements, 0 left"),
    (ProduceRequest, 3, "ffff 0001 00000000 ffffffff", "TopicData", "-1 elements, 0 left"),
    (ProduceRequest, 9, "00 0001 00000000 ffffffff0f", "TopicData", "4294967294 elements, 0 left"),
    (MetadataRequest, 1, "fffffffe", "Topics", "-2 elements, 0 left"),
    (MetadataRequest, 1, "00000002 0001 61", "Topics", "2 elements, 3 left"),
    (HeartbeatRequest, 0, "fffe", "GroupId", "length -2, 0 left"),
    (HeartbeatRequest, 0, "0003 6161", "GroupId", "length 3, 2 left"),
    (HeartbeatRequest, 0, "0002 c328", "GroupId", "the text is not UTF-8"),
    (HeartbeatRequest, 0, "0001 61 0000", "GenerationId", "the message ends before it"),
    (HeartbeatRequest, 4, "00", "GroupId", "length -1, 0 left"),
    (HeartbeatRequest, 4, "ffffffff10", "GroupId", "a varint of more than 32 bits"),
    (HeartbeatRequest, 4, "808080808000", "GroupId", "a varint of more than 32 bits"),
    (HeartbeatRequest, 4, "8080", "GroupId", "the message ends before it"),
    (HeartbeatRequest, 4, LONG_TEXT, "GroupId", "length 32768, 32768 left"),
    (HeartbeatRequest, 4, "02 61 00000001", "MemberId", "the message ends before it"),
    (ApiVersionsRequest, 3, "0261 0262 ffffffff0f", "tags", "4294967295 elements, 0 left"),
    (ApiVersionsRequest, 3, "0261 0262 01 05 ffffffff07", "tags[5]", "length 2147483647, 0 left"),
    (FetchRequest, 12, FETCH_12 + "01 00 03 0261 00", "ClusterId", "size is wrong"),
    (FetchRequest, 12, FETCH_12 + "01 00 01 0261", "ClusterId", "length 1, 0 left"),
]


@pytest.mark.parametrize(("kind", "version", "data", "field", "problem"), LIES)
def test_lie_is_named_and_costs_nothing(
    kind: type[Message], version: int, data: str, field: str, problem: str
) -> None:
    lie = bytes.fromhex(data)
    kind.decode(encoded(kind(), version), version)
    with at_most(24 << 10):
        refusal = refusal_of(kind, lie, version)
    assert refusal.field == f"{kind.__name__}.{field}"
    said = refusal.problem.replace("where ", "").replace("bytes are ", "")
    assert said.removeprefix("the tagged field's ") == problem
    assert str(refusal).startswith(f"{kind.__name__} version {version}: {refusal.field}: ")


def test_elements_are_bounded_over_all_lists_of_a_message() -> None:
    topics = [CreatableTopic(name="t") for _ in range(ELEMENTS_MAX // 2)]
    topics[-1].assignments = [CreatableReplicaAssignment() for _ in range(ELEMENTS_MAX // 2)]
    data = encoded(CreateTopicsRequest(topics=topics), 7)
    assert CreateTopicsRequest.decode(data, 7).topics == topics
    topics[-1].assignments.append(CreatableReplicaAssignment())
    data = encoded(CreateTopicsRequest(topics=topics), 7)
    refusal = refusal_of(CreateTopicsRequest, data, 7)
    assert refusal.field == "CreatableTopic.Assignments"
    assert refusal.problem == "32769 elements: 1 too many for one message"
    assert CreateTopicsRequest.decode(data, 7, elements_max=ELEMENTS_MAX + 1).topics == topics


def test_message_of_nothing_but_elements_costs_what_its_bound_says() -> None:
    data = b"\x82\x80\x04" + bytes(1 << 20)
    with at_most(1 << 20), pytest.raises(MalformedMessageError, match="1 too many"):
        CreateTopicsRequest.decode(data, 7)


# What a version cannot say is an error of whoever says it.

NOTHING: Any = None
"""What a type checker would refuse."""


@pytest.mark.parametrize(
    ("message", "version", "error"),
    [
        (ProduceRequest(acks=1 << 15), 9, "ProduceRequest version 9: "),
        (HeartbeatRequest(group_id="x" * 40_000), 0, "HeartbeatRequest version 0: "),
        (HeartbeatRequest(group_id="x" * 40_000), 4, "HeartbeatRequest version 4: a text of 40000"),
        (HeartbeatRequest(group_id="\ud800"), 4, "HeartbeatRequest version 4: "),
        (HeartbeatRequest(group_id=NOTHING), 4, "HeartbeatRequest version 4: "),
        (
            MetadataRequest(topics=None),
            0,
            "MetadataRequest version 0: MetadataRequest.Topics: null, which this version",
        ),
        (OffsetCommitRequest(topics=[NOTHING]), 8, "OffsetCommitRequest version 8: "),
    ],
)
def test_value_that_does_not_fit_is_an_error(message: Message, version: int, error: str) -> None:
    with pytest.raises(UnencodableMessageError) as caught:
        message.encode(version)
    assert str(caught.value).startswith(error)
    assert isinstance(caught.value, KafkaMessageError)


# Records are not copied.


@pytest.mark.parametrize("version", [3, 9, 13])
@pytest.mark.parametrize("make_buffer", [bytes, bytearray, memoryview])
def test_records_are_views_and_buffers_of_their_own(
    version: int, make_buffer: Callable[[bytes], bytes]
) -> None:
    records = make_buffer(bytes(10_000))
    parts = [
        PartitionProduceData(0, records),
        PartitionProduceData(1, b"few"),
        PartitionProduceData(2),
    ]
    request = ProduceRequest(acks=-1, topic_data=[TopicProduceData(partition_data=parts)])
    buffers = request.encode(version)
    assert [one is records for one in buffers] == [False, True, False]
    whole = bytearray(b"".join(buffers))
    first, few, none = ProduceRequest.decode(whole, version).topic_data[0].partition_data
    assert none.records is None
    assert isinstance(first.records, memoryview)
    assert first.records.obj is whole
    assert few.records == b"few"
