"""Refusals of an append, told by a coordinator: what may be asked again is, nothing else."""

from __future__ import annotations

import pytest

from tidelog.broker.coordinator.append_refusals import is_final, refusal_of
from tidelog.core.errors import (
    CoordinatorNotAvailableError,
    InvalidTimestampError,
    KafkaStorageError,
    MessageTooLargeError,
    NotCoordinatorError,
    NotEnoughReplicasError,
    NotLeaderOrFollowerError,
    StorageError,
    TidelogError,
    UnknownTopicIdError,
    UnknownTopicOrPartitionError,
    UnsupportedCompressionTypeError,
)
from tidelog.node.kafka_apis.groups_errors import group_code
from tidelog.v1 import common_pb2


@pytest.mark.parametrize(
    ("error", "told", "number"),
    [
        (NotEnoughReplicasError, CoordinatorNotAvailableError, 15),
        (UnknownTopicOrPartitionError, CoordinatorNotAvailableError, 15),
        (NotLeaderOrFollowerError, NotCoordinatorError, 16),
        (KafkaStorageError, NotCoordinatorError, 16),
        (UnknownTopicIdError, NotCoordinatorError, 16),
        (StorageError, NotCoordinatorError, 16),
        (MessageTooLargeError, MessageTooLargeError, common_pb2.UNKNOWN_SERVER_ERROR),
        (InvalidTimestampError, InvalidTimestampError, 32),
        (UnsupportedCompressionTypeError, UnsupportedCompressionTypeError, 76),
    ],
)
def test_each_refusal_has_kafkas_number_and_only_final_ones_are_final(
    error: type[TidelogError], told: type[TidelogError], number: int
) -> None:
    found = refusal_of(error("why"), "__consumer_offsets")
    assert type(found) is told
    assert "why" in found.message
    assert group_code(found) == number
    assert is_final(found) == (told is error)
    if is_final(found):
        assert "__consumer_offsets" in found.message
