"""A class per wire code, with the advice to callers as data on the class.

    TidelogError    code, message, is_retriable, is_outcome_unknown
    └── KafkaError  an answer of a broker or controller; one class below it per `ErrorCode`

The classes of group coordinators are in `coordinator_errors`, those of transactions in
`transaction_errors`, both bases in `error_base`.
`error_for` makes the exception of an answer. Import all of these from `tidelog.core.errors`, which
has the rest of the tree.
"""

from __future__ import annotations

from typing import NamedTuple

from tidelog.core import coordinator_errors, transaction_errors
from tidelog.core.coordinator_errors import *  # noqa: F403  # one list of classes, in two files
from tidelog.core.error_base import KafkaError, TidelogError
from tidelog.core.transaction_errors import *  # noqa: F403  # as above
from tidelog.v1 import common_pb2
from tidelog.v1.common_pb2 import ErrorCode

__all__ = [
    "BrokerIdNotRegisteredError",
    "BrokerNotAvailableError",
    "ClusterAuthorizationFailedError",
    "CorruptMessageError",
    "DuplicateBrokerRegistrationError",
    "ElectionNotNeededError",
    "EligibleLeadersNotAvailableError",
    "FencedLeaderEpochError",
    "InconsistentClusterIdError",
    "InconsistentTopicIdError",
    "IneligibleReplicaError",
    "InvalidConfigError",
    "InvalidPartitionsError",
    "InvalidProducerEpochError",
    "InvalidRecordError",
    "InvalidReplicaAssignmentError",
    "InvalidReplicationFactorError",
    "InvalidRequestError",
    "InvalidRequiredAcksError",
    "InvalidTimestampError",
    "InvalidTopicError",
    "InvalidUpdateVersionError",
    "KafkaError",
    "KafkaStorageError",
    "LeaderNotAvailableError",
    "MessageTooLargeError",
    "NotControllerError",
    "NotEnoughReplicasAfterAppendError",
    "NotEnoughReplicasError",
    "NotLeaderOrFollowerError",
    "OffsetOutOfRangeError",
    "OutOfOrderSequenceError",
    "PolicyViolationError",
    "PreferredLeaderNotAvailableError",
    "RequestTimedOutError",
    "StaleAttemptError",
    "StaleBrokerEpochError",
    "StaleControllerEpochError",
    "ThrottlingQuotaExceededError",
    "TidelogError",
    "TopicAlreadyExistsError",
    "UnknownLeaderEpochError",
    "UnknownServerError",
    "UnknownTopicIdError",
    "UnknownTopicOrPartitionError",
    "UnsupportedCompressionTypeError",
]
__all__ += coordinator_errors.__all__
__all__ += transaction_errors.__all__


class UnknownServerError(KafkaError):
    """The server failed while it worked on the request."""

    code = common_pb2.UNKNOWN_SERVER_ERROR
    is_retriable = True
    is_outcome_unknown = True


class OffsetOutOfRangeError(KafkaError):
    """An offset below the log start or above the log end; carries both ends, -1: not known."""

    code = common_pb2.OFFSET_OUT_OF_RANGE

    def __init__(
        self, message: str, *, log_start_offset: int = -1, log_end_offset: int = -1
    ) -> None:
        super().__init__(message)
        self.log_start_offset = log_start_offset
        self.log_end_offset = log_end_offset


class CorruptMessageError(KafkaError):
    """A record batch whose CRC, length or structure is wrong. Nothing of it was used.

    A batch that is corrupt here stays so; one that a broker refuses was damaged on its way, so as
    an answer it is retriable (`error_for`).
    """

    code = common_pb2.CORRUPT_MESSAGE


class UnknownTopicOrPartitionError(KafkaError):
    """The broker's metadata has no such topic or partition; a new one may not have reached it."""

    code = common_pb2.UNKNOWN_TOPIC_OR_PARTITION
    is_retriable = True


class LeaderNotAvailableError(KafkaError):
    """The partition has no leader now, or its leader is not ready."""

    code = common_pb2.LEADER_NOT_AVAILABLE
    is_retriable = True


class NotLeaderOrFollowerError(KafkaError):
    """The broker does not lead the partition."""

    code = common_pb2.NOT_LEADER_OR_FOLLOWER
    is_retriable = True


class RequestTimedOutError(KafkaError):
    """The server's deadline passed: the request may or may not have been carried out."""

    code = common_pb2.REQUEST_TIMED_OUT
    is_retriable = True
    is_outcome_unknown = True


class BrokerNotAvailableError(KafkaError):
    """The broker is stopping and takes no more writes."""

    code = common_pb2.BROKER_NOT_AVAILABLE
    is_retriable = True


class MessageTooLargeError(KafkaError):
    """A batch above max.message.bytes. Nothing was appended: send smaller ones."""

    code = common_pb2.MESSAGE_TOO_LARGE


class StaleControllerEpochError(KafkaError):
    """The request names another controller epoch. It was not and will not be carried out."""

    code = common_pb2.STALE_CONTROLLER_EPOCH


class InvalidTopicError(KafkaError):
    """A name that no topic may have."""

    code = common_pb2.INVALID_TOPIC


class NotEnoughReplicasError(KafkaError):
    """The ISR was below min.insync.replicas before the append. Nothing was appended."""

    code = common_pb2.NOT_ENOUGH_REPLICAS
    is_retriable = True


class NotEnoughReplicasAfterAppendError(KafkaError):
    """The ISR shrank below min.insync.replicas after the append: it may or may not be committed."""

    code = common_pb2.NOT_ENOUGH_REPLICAS_AFTER_APPEND
    is_retriable = True
    is_outcome_unknown = True


class InvalidRequiredAcksError(KafkaError):
    """An acks other than -1, 0 and 1."""

    code = common_pb2.INVALID_REQUIRED_ACKS


class ClusterAuthorizationFailedError(KafkaError):
    """Only the cluster's own nodes may send this, to the internal listener. Nothing happened."""

    code = common_pb2.CLUSTER_AUTHORIZATION_FAILED


class RefusedRecord(NamedTuple):
    """A record that is to blame for the refusal of its batch (KIP-467)."""

    batch_index: int
    """Its place in the batch, from 0 on."""
    message: str = ""


class InvalidTimestampError(KafkaError):
    """A timestamp farther from now than the topic allows. Nothing was appended.

    `record_errors` names the records to blame: the others may be sent again without these.
    """

    code = common_pb2.INVALID_TIMESTAMP

    def __init__(self, message: str, *, record_errors: tuple[RefusedRecord, ...] = ()) -> None:
        super().__init__(message)
        self.record_errors = record_errors


class TopicAlreadyExistsError(KafkaError):
    """A topic of this name exists. Nothing was created."""

    code = common_pb2.TOPIC_ALREADY_EXISTS


class InvalidPartitionsError(KafkaError):
    """An impossible number of partitions: none, too many, or no increase."""

    code = common_pb2.INVALID_PARTITIONS


class InvalidReplicationFactorError(KafkaError):
    """An impossible number of replicas: none, or more than there are brokers."""

    code = common_pb2.INVALID_REPLICATION_FACTOR


class InvalidReplicaAssignmentError(KafkaError):
    """An impossible assignment: an unknown broker, one named twice, or unequal lengths."""

    code = common_pb2.INVALID_REPLICA_ASSIGNMENT


class InvalidConfigError(KafkaError):
    """An unknown config key, or a value the key cannot have. Nothing was changed."""

    code = common_pb2.INVALID_CONFIG


class NotControllerError(KafkaError):
    """No controller is active, or not the one asked."""

    code = common_pb2.NOT_CONTROLLER
    is_retriable = True


class InvalidRequestError(KafkaError):
    """A request that contradicts itself or lacks something; sent again it fails again."""

    code = common_pb2.INVALID_REQUEST


class PolicyViolationError(KafkaError):
    """An operation the topic's configs rule out: deleting records of a compacted topic, say."""

    code = common_pb2.POLICY_VIOLATION


class OutOfOrderSequenceError(KafkaError):
    """A batch that neither repeats one of the producer's last ones nor continues them (KIP-98)."""

    code = common_pb2.OUT_OF_ORDER_SEQUENCE_NUMBER


class InvalidProducerEpochError(KafkaError):
    """A newer epoch of the producer id has written: this producer is fenced for good."""

    code = common_pb2.INVALID_PRODUCER_EPOCH


class KafkaStorageError(KafkaError):
    """The broker's disk failed. Its own disk's failure is a `StorageError` to a node."""

    code = common_pb2.KAFKA_STORAGE_ERROR
    is_retriable = True


class FencedLeaderEpochError(KafkaError):
    """The request's leader epoch is older than the broker's."""

    code = common_pb2.FENCED_LEADER_EPOCH
    is_retriable = True


class UnknownLeaderEpochError(KafkaError):
    """The request's leader epoch is newer than the broker's."""

    code = common_pb2.UNKNOWN_LEADER_EPOCH
    is_retriable = True


class UnsupportedCompressionTypeError(KafkaError):
    """A codec this side does not have."""

    code = common_pb2.UNSUPPORTED_COMPRESSION_TYPE


class StaleBrokerEpochError(KafkaError):
    """Another process has registered under the caller's broker id since."""

    code = common_pb2.STALE_BROKER_EPOCH


class PreferredLeaderNotAvailableError(KafkaError):
    """The preferred replica is not in sync, or not alive."""

    code = common_pb2.PREFERRED_LEADER_NOT_AVAILABLE


class EligibleLeadersNotAvailableError(KafkaError):
    """No live replica may lead."""

    code = common_pb2.ELIGIBLE_LEADERS_NOT_AVAILABLE


class ElectionNotNeededError(KafkaError):
    """The partition already has the leader an election would give it."""

    code = common_pb2.ELECTION_NOT_NEEDED


class InvalidRecordError(KafkaError):
    """Records that this topic does not take. Nothing was appended.

    `record_errors` as in `InvalidTimestampError`; empty: all of the batch.
    """

    code = common_pb2.INVALID_RECORD

    def __init__(self, message: str, *, record_errors: tuple[RefusedRecord, ...] = ()) -> None:
        super().__init__(message)
        self.record_errors = record_errors


class ThrottlingQuotaExceededError(KafkaError):
    """The broker's in-flight bytes or another limit is used up. Nothing was appended."""

    code = common_pb2.THROTTLING_QUOTA_EXCEEDED
    is_retriable = True


class InvalidUpdateVersionError(KafkaError):
    """AlterPartition: the request's partition epoch is not the current one."""

    code = common_pb2.INVALID_UPDATE_VERSION


class UnknownTopicIdError(KafkaError):
    """No topic has this id: it was deleted, or the broker does not know it yet."""

    code = common_pb2.UNKNOWN_TOPIC_ID
    is_retriable = True


class DuplicateBrokerRegistrationError(KafkaError):
    """Another live process is registered under this broker id."""

    code = common_pb2.DUPLICATE_BROKER_REGISTRATION


class BrokerIdNotRegisteredError(KafkaError):
    """The broker has to register first."""

    code = common_pb2.BROKER_ID_NOT_REGISTERED


class InconsistentTopicIdError(KafkaError):
    """The topic of this name has another id: it was deleted and recreated."""

    code = common_pb2.INCONSISTENT_TOPIC_ID
    is_retriable = True


class InconsistentClusterIdError(KafkaError):
    """The caller belongs to another cluster: it asked at a wrong address."""

    code = common_pb2.INCONSISTENT_CLUSTER_ID


class IneligibleReplicaError(KafkaError):
    """AlterPartition: a proposed ISR member is fenced, unknown or of an older incarnation."""

    code = common_pb2.INELIGIBLE_REPLICA


class StaleAttemptError(KafkaError):
    """A later attempt of this broker was decided. This one was not and will not be carried out."""

    code = common_pb2.STALE_ATTEMPT


KAFKA_ERRORS: dict[ErrorCode, type[KafkaError]] = {
    cls.code: cls for cls in KafkaError.__subclasses__()
}
"""Every class above by its code: one for each `ErrorCode` but NONE."""

RETRIABLE_CODES = frozenset(
    {
        common_pb2.CORRUPT_MESSAGE,  # of an answer: sent again the batch may arrive whole
        *(code for code, cls in KAFKA_ERRORS.items() if cls.is_retriable),
    }
)
OUTCOME_UNKNOWN_CODES = frozenset(
    code for code, cls in KAFKA_ERRORS.items() if cls.is_outcome_unknown
)


def error_for(code: ErrorCode, message: str) -> KafkaError:
    """The exception of an answer; a plain `KafkaError` for a code that this version lacks."""
    error = KAFKA_ERRORS.get(code, KafkaError)(message)
    error.code = code
    error.is_retriable = code in RETRIABLE_CODES
    return error
