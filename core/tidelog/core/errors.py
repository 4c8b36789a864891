"""The exception tree: one class per meaning, its wire code and its retry advice as data.

TidelogError                     code, message, is_retriable, is_outcome_unknown
├── InvariantError               a bug: the node stops
├── StorageError                 disk full, EIO, unreadable file: fatal for that log
│   ├── DiskFullError            no space left, or the user's share is used up
│   └── DamagedLogError          stored bytes are not what was written: from an offset on
├── CorruptMessageError          a batch that is not what it says it is
├── MessageTooLargeError
├── UnsupportedCompressionTypeError
├── InvalidRecordError           records this topic does not take
├── InvalidTimestampError
├── OutOfOrderSequenceError      an idempotent producer skipped something
├── InvalidProducerEpochError    an idempotent producer was replaced by a newer one
├── OffsetOutOfRangeError
├── UnreachableError             a call that never reached its server
├── CallFailedError              a call that broke or timed out on its way: outcome unknown
└── KafkaError                   any other wire code, see `error_for`
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from tidelog.v1 import common_pb2
from tidelog.v1.common_pb2 import ErrorCode

RETRIABLE_CODES = frozenset(
    {
        common_pb2.LEADER_NOT_AVAILABLE,
        common_pb2.NOT_LEADER_OR_FOLLOWER,
        common_pb2.REQUEST_TIMED_OUT,
        common_pb2.NOT_ENOUGH_REPLICAS,
        common_pb2.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        common_pb2.NOT_CONTROLLER,
        common_pb2.FENCED_LEADER_EPOCH,
        common_pb2.UNKNOWN_LEADER_EPOCH,
        common_pb2.UNKNOWN_TOPIC_OR_PARTITION,
        common_pb2.UNKNOWN_TOPIC_ID,
        common_pb2.INCONSISTENT_TOPIC_ID,
        common_pb2.BROKER_NOT_AVAILABLE,
        common_pb2.THROTTLING_QUOTA_EXCEEDED,
        common_pb2.KAFKA_STORAGE_ERROR,
        common_pb2.CORRUPT_MESSAGE,
        common_pb2.UNKNOWN_SERVER_ERROR,
    }
)
OUTCOME_UNKNOWN_CODES = frozenset(
    {
        common_pb2.UNKNOWN_SERVER_ERROR,
        common_pb2.REQUEST_TIMED_OUT,
        common_pb2.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    }
)


class TidelogError(Exception):
    """Base of all: `code` is the wire code, `str()` says what was wrong and what to do."""

    code: ErrorCode = common_pb2.UNKNOWN_SERVER_ERROR
    is_retriable: bool = False
    is_outcome_unknown: bool = False

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class InvariantError(TidelogError):
    """Something that must always hold did not: the node must stop before it tells anyone."""


class StorageError(TidelogError):
    """The disk refused: full, failing, or a file that cannot be what it should be."""

    code = common_pb2.KAFKA_STORAGE_ERROR
    is_sync_failure: bool = False
    """What had been written may be gone, and no later sync would tell. Never sync it again."""


class DiskFullError(StorageError):
    """Nothing of what was asked for was kept. With space the same may work later.

    Not where it `is_sync_failure`.
    """


class DamagedLogError(StorageError):
    """Stored, synced bytes are not what was written: from `first_bad_offset` on they are lost here.

    Nothing of the log is served until it was cut to there; other replicas hold the records.
    """

    def __init__(self, message: str, *, first_bad_offset: int) -> None:
        super().__init__(message)
        self.first_bad_offset = first_bad_offset


class CorruptMessageError(TidelogError):
    """A record batch whose CRC, length or structure is wrong. Nothing of it was used."""

    code = common_pb2.CORRUPT_MESSAGE


class EpochContradictionError(CorruptMessageError):
    """A whole batch of an older leader epoch than records that lie below it in this log.

    One of the two logs is wrong; if it is this one, then from `first_bad_offset` on.
    """

    def __init__(self, message: str, *, first_bad_offset: int) -> None:
        super().__init__(message)
        self.first_bad_offset = first_bad_offset


class MessageTooLargeError(TidelogError):
    """A batch above max.message.bytes. Nothing was appended: send smaller ones."""

    code = common_pb2.MESSAGE_TOO_LARGE


class UnsupportedCompressionTypeError(TidelogError):
    """A codec this side does not have."""

    code = common_pb2.UNSUPPORTED_COMPRESSION_TYPE


class InvalidRecordError(TidelogError):
    """Records that this topic does not take. Nothing was appended."""

    code = common_pb2.INVALID_RECORD


class InvalidTimestampError(TidelogError):
    """A timestamp farther from now than the topic allows. Nothing was appended."""

    code = common_pb2.INVALID_TIMESTAMP


class OutOfOrderSequenceError(TidelogError):
    """A batch that neither repeats one of the producer's last ones nor continues them (KIP-98)."""

    code = common_pb2.OUT_OF_ORDER_SEQUENCE_NUMBER


class InvalidProducerEpochError(TidelogError):
    """A newer epoch of the producer id has written: this producer is fenced for good."""

    code = common_pb2.INVALID_PRODUCER_EPOCH


class OffsetOutOfRangeError(TidelogError):
    """An offset below the log start or above the log end; carries both ends."""

    code = common_pb2.OFFSET_OUT_OF_RANGE

    def __init__(self, message: str, *, log_start_offset: int, log_end_offset: int) -> None:
        super().__init__(message)
        self.log_start_offset = log_start_offset
        self.log_end_offset = log_end_offset


class UnreachableError(TidelogError):
    """The server was not reached: the request was certainly not worked on. Try another address."""

    code = common_pb2.BROKER_NOT_AVAILABLE
    is_retriable = True

    def __init__(self, message: str, *, is_broken: bool = False) -> None:
        super().__init__(message)
        self.is_broken = is_broken


class CallFailedError(TidelogError):
    """The call broke or its deadline passed: it may or may not have been worked on."""

    code = common_pb2.REQUEST_TIMED_OUT
    is_retriable = True
    is_outcome_unknown = True

    def __init__(self, message: str, *, is_broken: bool = False) -> None:
        super().__init__(message)
        self.is_broken = is_broken


class KafkaError(TidelogError):
    """An error known by its wire code alone, as answered by a server."""

    def __init__(self, code: ErrorCode, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.is_retriable = code in RETRIABLE_CODES
        self.is_outcome_unknown = code in OUTCOME_UNKNOWN_CODES


_CLASSES: tuple[type[TidelogError], ...] = (
    StorageError,
    CorruptMessageError,
    MessageTooLargeError,
    UnsupportedCompressionTypeError,
    InvalidRecordError,
    InvalidTimestampError,
    OutOfOrderSequenceError,
    InvalidProducerEpochError,
)
_BY_CODE: dict[int, type[TidelogError]] = {cls.code: cls for cls in _CLASSES}


def is_broken_connection(error: TidelogError) -> bool:
    """Whether a call ended as one to a process that is gone does: refused, or its connection broke.

    Others end so too; a time-out never does, since it says nothing.
    """
    return isinstance(error, (UnreachableError, CallFailedError)) and error.is_broken


def error_for(code: ErrorCode, message: str) -> TidelogError:
    """The exception for a wire code; `KafkaError` where no class of its own exists."""
    cls = _BY_CODE.get(code)
    return KafkaError(code, message) if cls is None else cls(message)


def invariant(condition: object, *values: object) -> None:
    """Raise `InvariantError` with `values` unless `condition` holds (-O drops an `assert`)."""
    if not condition:
        raise InvariantError("broken invariant: " + ", ".join(map(repr, values)))
