"""Subscriptions and assignments of classic consumers, against kafka-python's encoder."""

from __future__ import annotations

from typing import Any

import pytest
from kafka.protocol.consumer.metadata import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
)

from tidelog.broker.coordinator.classic_assignment import partitions_of
from tidelog.broker.coordinator.classic_subscription import topics_of

ORDERS = b"\x00\x06orders"


@pytest.mark.parametrize("version", range(4))
def test_kafka_pythons_bytes_are_read(version: int) -> None:
    kind: Any = ConsumerProtocolAssignment
    topics = {"orders": (0, 5), "tides": ()}
    parts = [kind.TopicPartition(topic=one, partitions=topics[one]) for one in topics]
    assigned = kind(version=version, assigned_partitions=parts, user_data=b"x")
    assert partitions_of(assigned.encode(version=version)) == topics
    subscribed: Any = ConsumerProtocolSubscription
    metadata = subscribed(version=version, topics=list(topics), user_data=b"x", owned_partitions=[])
    assert topics_of(metadata.encode(version=version)) == frozenset(topics)


def test_an_assignment_is_read() -> None:
    first = ORDERS + b"\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00\x05"
    second = b"\x00\x05tides\x00\x00\x00\x00"
    whole = b"\x00\x03\x00\x00\x00\x02" + first + second + b"\x00\x00\x00\x01x"
    assert partitions_of(whole) == {"orders": (0, 5), "tides": ()}
    assert partitions_of(b"\x00\x00\x00\x00\x00\x00") == {}


@pytest.mark.parametrize(
    "assignment",
    [
        b"",
        b"a",
        b"\xff\xff\x00\x00\x00\x00",
        b"\x00\x01\xff\xff\xff\xff",
        b"\x00\x01\x7f\xff\xff\xff",
        b"\x00\x01\x00\x00\x00\x01\x00\x09orders",
        b"\x00\x01\x00\x00\x00\x01\xff\xff",
        b"\x00\x01\x00\x00\x00\x01\x00\x01\xff\x00\x00\x00\x00",
        b"\x00\x01\x00\x00\x00\x01" + ORDERS + b"\x7f\xff\xff\xff\x00\x00\x00\x00",
        b"\x00\x01\x00\x00\x00\x01" + ORDERS + b"\xff\xff\xff\xff",
        b"\x00\x01\x00\x00\x00\x01" + ORDERS,
    ],
)
def test_other_bytes_are_none(assignment: bytes) -> None:
    assert partitions_of(assignment) is None
