"""Refusals of an append to an internal topic, in the words of a coordinator. Pure.

    what the partition says                      what the caller is told
    no writes now, too many wait, the producer's the same
    too few in-sync replicas, no such topic      COORDINATOR_NOT_AVAILABLE: ask again
    another leader or incarnation, a failed disk NOT_COORDINATOR: look it up again
    too large, and all others                    the same, with the topic's name: asking again is
                                                 of no use before a config has changed

Source: Kafka's CoordinatorOperationExceptionHelper. What is too large has another code at the
listener of Kafka's protocol, as there.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from tidelog.broker.coordinator.coordinator_records import CoordinatorRecord
from tidelog.core.errors import (
    BrokerNotAvailableError,
    CoordinatorNotAvailableError,
    FencedLeaderEpochError,
    InconsistentTopicIdError,
    InvalidProducerEpochError,
    InvalidRecordError,
    InvalidRequestError,
    KafkaError,
    KafkaStorageError,
    NotCoordinatorError,
    NotEnoughReplicasError,
    NotLeaderOrFollowerError,
    RequestTimedOutError,
    ThrottlingQuotaExceededError,
    TidelogError,
    UnknownTopicIdError,
    UnknownTopicOrPartitionError,
)
from tidelog.records.batch import HEADER_BYTES

OF_PRODUCERS = (InvalidProducerEpochError, InvalidRecordError)
"""Refusals of a producer, of whose transaction the log knows more."""
RECORD_FRAME_BYTES_MAX = 32
"""Bytes of a record beside its key and value, in a batch of its own."""
_PASSED_ON = (BrokerNotAvailableError, ThrottlingQuotaExceededError, *OF_PRODUCERS)
_UNAVAILABLE = (NotEnoughReplicasError, RequestTimedOutError, UnknownTopicOrPartitionError)
_MOVED = (
    FencedLeaderEpochError,
    InconsistentTopicIdError,
    KafkaStorageError,
    NotLeaderOrFollowerError,
    UnknownTopicIdError,
)


def refusal_of(error: TidelogError, topic: str) -> TidelogError:
    """Say why nothing was appended to the internal topic."""
    if isinstance(error, _PASSED_ON):
        return error
    if isinstance(error, _UNAVAILABLE):
        return CoordinatorNotAvailableError(f"the internal topic takes no records now: {error}")
    if isinstance(error, _MOVED) or not isinstance(error, KafkaError):
        return NotCoordinatorError(f"this broker is not the coordinator any more: {error}")
    return type(error)(f"{topic} does not take the coordinator's records: {error.message}")


def is_final(error: TidelogError) -> bool:
    """True for a refusal that stays until a config has changed, or the request has."""
    return isinstance(error, KafkaError) and not error.is_retriable


def check_room(record: CoordinatorRecord, *, spare_bytes: int, batch_bytes_max: int) -> None:
    """Check that a record fits a batch, and one that is larger by `spare_bytes`, too.

    Raises `InvalidRequestError`.
    """
    size = record.key.ByteSize() + (0 if record.value is None else record.value.ByteSize())
    size += HEADER_BYTES + RECORD_FRAME_BYTES_MAX + spare_bytes
    if size > batch_bytes_max:
        raise InvalidRequestError(
            f"its record and those that follow take up to {size} bytes, at most {batch_bytes_max}, "
            "the internal topic's max.message.bytes"
        )
