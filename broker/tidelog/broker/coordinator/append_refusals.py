"""Refusals of coordinators, above all of an append to their internal topic. Pure.

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

from collections.abc import Iterable

from tidelog.broker.coordinator.coordinator_records import CoordinatorRecord
from tidelog.broker.partition.partition_listener import Leadership
from tidelog.core.errors import (
    BrokerNotAvailableError,
    CoordinatorLoadInProgressError,
    CoordinatorNotAvailableError,
    FencedLeaderEpochError,
    InconsistentTopicIdError,
    InvalidProducerEpochError,
    InvalidRecordError,
    InvalidRequestError,
    KafkaError,
    KafkaStorageError,
    MessageTooLargeError,
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


def check_batches(batches: Iterable[bytes], batch_bytes_max: int, topic: str) -> None:
    """Raise `MessageTooLargeError` unless the partition takes each of the batches."""
    largest = max(map(len, batches))
    if largest > batch_bytes_max:
        raise MessageTooLargeError(
            f"{topic} does not take the coordinator's records: a batch of {largest} bytes is above "
            f"max.message.bytes={batch_bytes_max}"
        )


def gone_error(*, is_write: bool) -> TidelogError:
    """Answer who waits as the leadership ends."""
    if is_write:
        return unknown_error("the coordinator moved before the in-sync replicas had it")
    return NotCoordinatorError("this broker is not the coordinator any more: look it up again")


def unknown_error(why: str) -> RequestTimedOutError:
    """Say that records may be in the log, or not."""
    return RequestTimedOutError(f"{why}: the outcome is unknown")


def loading_error(leadership: Leadership) -> CoordinatorLoadInProgressError:
    """Answer who asks before the shard is loaded."""
    return CoordinatorLoadInProgressError(
        f"the coordinator is reading {name_of(leadership)}: try again"
    )


def name_of(leadership: Leadership) -> str:
    """Name the partition, for people."""
    return f"{leadership.topic}-{leadership.partition}"
