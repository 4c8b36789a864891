"""The errors a user of the client meets: those of a broker's answers, and the client's own.

TidelogError                 code, message, is_retriable, is_outcome_unknown
├── KafkaError               what a broker answered: a class per error code, by Kafka's names
│   └── OffsetOutOfRangeError, TopicAlreadyExistsError, NotLeaderOrFollowerError …
│       └── LogTruncationError   records that were read are not in the log any more
├── UnreachableError         the call never reached its broker
│   └── BootstrapRefusedError    before the first connection every address refused: nobody is there
├── CallFailedError          the call broke or timed out: its outcome is unknown
├── DeliveryTimeoutError     not acknowledged in time; `is_outcome_unknown`: may be in the log
├── DeserializationError     a deserializer raised: says which record and which part of it
├── SerializationError       a serializer raised: says for which topic and which part
├── PartitionerError         a partitioner raised, or chose a partition that does not exist
├── BufferExhaustedError     the producer's buffer stayed full for max_block_ms
├── TransactionAbortedError  the transaction is over, none of it is visible: begin another
├── CommitFailedError        a member's partitions are another's by now: nothing was committed
├── NothingAssignedError     a consumer was read before `assign`
├── ClientConfigError        an option out of its range, or against another; a ValueError, too
└── ClientClosedError        used after close()
"""

from __future__ import annotations

from typing import Literal

from tidelog.core import kafka_errors
from tidelog.core.coordinator_errors import *  # noqa: F403  # named again: mypy sees one star
from tidelog.core.errors import CallFailedError, UnreachableError, error_for
from tidelog.core.kafka_errors import *  # noqa: F403  # a class per code; the list stands there
from tidelog.core.kafka_errors import KafkaError, OffsetOutOfRangeError, TidelogError
from tidelog.core.transaction_errors import *  # noqa: F403  # as coordinator_errors
from tidelog.v1 import common_pb2
from tidelog.v1.common_pb2 import Error

__all__ = [
    "BootstrapRefusedError",
    "BufferExhaustedError",
    "CallFailedError",
    "ClientClosedError",
    "ClientConfigError",
    "CommitFailedError",
    "DeliveryTimeoutError",
    "DeserializationError",
    "LogTruncationError",
    "NothingAssignedError",
    "PartitionerError",
    "SerializationError",
    "TransactionAbortedError",
    "UnreachableError",
]
__all__ += kafka_errors.__all__


class ClientConfigError(TidelogError, ValueError):
    """An option of a client is out of its range, or contradicts another; the message says how."""

    code = common_pb2.INVALID_CONFIG


class BootstrapRefusedError(UnreachableError):
    """Every bootstrap address refused the connection before the client had any.

    Start the cluster or name the brokers of a running one; `bootstrap_timeout_ms` waits for one
    that is about to start. A client that was connected once retries instead.
    """

    is_retriable = False


class DeliveryTimeoutError(TidelogError):
    """A record was not acknowledged within delivery_timeout_ms.

    `is_outcome_unknown` is False when every attempt was refused or never reached a broker: then the
    record certainly is not in the log.
    """

    code = common_pb2.REQUEST_TIMED_OUT

    def __init__(self, message: str, *, is_outcome_unknown: bool) -> None:
        super().__init__(message)
        self.is_outcome_unknown = is_outcome_unknown


class LogTruncationError(OffsetOutOfRangeError):
    """Records that were read are not in the log any more: an unclean election lost them (KIP-320).

    Seek: to `divergent_offset`, from which on the log holds others, or elsewhere.
    """

    def __init__(self, message: str, *, divergent_offset: int, log_end_offset: int) -> None:
        super().__init__(message, log_start_offset=-1, log_end_offset=log_end_offset)
        self.divergent_offset = divergent_offset


class DeserializationError(TidelogError):
    """A deserializer raised for the `part` ("key" or "value") of one record; its cause is kept.

    "timestamp": an Arrow column cannot hold it.

    The position stays at that record: seek to `offset + 1` to read on without it.
    """

    code = common_pb2.INVALID_RECORD

    def __init__(
        self,
        message: str,
        *,
        topic: str,
        partition: int,
        offset: int,
        part: Literal["key", "value", "timestamp"],
    ) -> None:
        super().__init__(message)
        self.topic = topic
        self.partition = partition
        self.offset = offset
        self.part: Literal["key", "value", "timestamp"] = part


class SerializationError(TidelogError):
    """A serializer raised for the `part` ("key" or "value") of a record; its cause is kept.

    Nothing was taken. Sending the same again fails the same way.
    """

    code = common_pb2.INVALID_RECORD

    def __init__(self, message: str, *, topic: str, part: Literal["key", "value"]) -> None:
        super().__init__(message)
        self.topic = topic
        self.part: Literal["key", "value"] = part


class PartitionerError(TidelogError):
    """The producer's `partitioner` raised (the cause is kept) or chose no partition of the topic.

    Nothing was taken.
    """

    code = common_pb2.UNKNOWN_TOPIC_OR_PARTITION

    def __init__(self, message: str, *, topic: str) -> None:
        super().__init__(message)
        self.topic = topic


class BufferExhaustedError(TidelogError):
    """The producer's buffer_memory stayed full for max_block_ms.

    The record was not taken: send it again later.
    """

    code = common_pb2.THROTTLING_QUOTA_EXCEEDED
    is_retriable = True


class ClientClosedError(TidelogError):
    """The producer, consumer or admin was closed; make a new one."""

    code = common_pb2.INVALID_REQUEST


class TransactionAbortedError(TidelogError):
    """The transaction was aborted, or can only be aborted; its cause is kept.

    None of its records or offsets becomes visible. Raised by `commit_transaction` it is over: begin
    another one and send them again. Raised by a send: leave the block, or call `abort_transaction`.
    """

    code = common_pb2.INVALID_TXN_STATE


class CommitFailedError(TidelogError):
    """The offsets were not committed: their partitions are another member's by now.

    Their records are handed out again, to their new owner. With `is_outcome_unknown` an attempt
    before the refusal was not answered, and may have been carried out.
    """

    code = common_pb2.STALE_MEMBER_EPOCH


class NothingAssignedError(TidelogError):
    """The consumer has no partitions to read: call `assign` first."""

    code = common_pb2.INVALID_REQUEST


def error_from_wire(error: Error) -> KafkaError:
    """The exception for the error in a broker's answer."""
    return error_for(error.code, error.message)


def raise_for(error: Error) -> None:
    """Raise the error in a broker's answer; do nothing for NONE."""
    if error.code != common_pb2.NONE:
        raise error_from_wire(error)
