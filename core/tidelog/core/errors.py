"""The exception tree: one class per meaning, its wire code and its retry advice as data.

TidelogError                     code, message, is_retriable, is_outcome_unknown
├── KafkaError                   answered by a broker or controller: one per code (kafka_errors)
│   └── CorruptMessageError      a batch that is not what it says it is
│       └── EpochContradictionError
├── StorageError                 disk full, EIO, unreadable file: fatal for that log
│   ├── DiskFullError            no space left, or the user's share is used up
│   └── DamagedLogError          stored bytes are not what was written: from an offset on
├── UnreachableError             a call that never reached its server
└── CallFailedError              a call that broke or timed out on its way: outcome unknown
    ├── CallExhaustedError       the server has no room for it, or for its response
    └── CallUnauthorizedError    a call that only the cluster's own nodes may make: not worked on

InvariantError                   a bug, and no TidelogError: no handler of those may answer it
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from typing import TypeVar

from tidelog.core import kafka_errors
from tidelog.core.coordinator_errors import *  # noqa: F403  # named again: mypy sees one star
from tidelog.core.error_base import code_name
from tidelog.core.kafka_errors import *  # noqa: F403  # one tree, and its longest list stands once
from tidelog.core.kafka_errors import (
    KAFKA_ERRORS,
    OUTCOME_UNKNOWN_CODES,
    RETRIABLE_CODES,
    CorruptMessageError,
    TidelogError,
    error_for,
)
from tidelog.core.transaction_errors import *  # noqa: F403  # as above
from tidelog.v1 import common_pb2

__all__ = [
    "KAFKA_ERRORS",
    "OUTCOME_UNKNOWN_CODES",
    "RETRIABLE_CODES",
    "CallExhaustedError",
    "CallFailedError",
    "CallUnauthorizedError",
    "DamagedLogError",
    "DiskFullError",
    "EpochContradictionError",
    "InvariantError",
    "StorageError",
    "UnreachableError",
    "as_result",
    "code_name",
    "error_for",
    "invariant",
    "is_broken_connection",
]

_Error = TypeVar("_Error", bound=TidelogError)
__all__ += kafka_errors.__all__


class InvariantError(Exception):
    """A broken invariant: the node must stop before anything leaves it.

    The top of every task and the edge of every protocol end the node on it; in a client it
    reaches the application and ends nothing else.
    """


class StorageError(TidelogError):
    """The disk refused: full, failing, or a file that cannot be what it should be."""

    code = common_pb2.KAFKA_STORAGE_ERROR
    is_sync_failure: bool = False
    """True if a sync failed: bytes may be lost even if a later sync succeeds. Never sync again."""


class DiskFullError(StorageError):
    """No space or quota is left. Nothing of the call was kept; with space it may work later.

    Not where it `is_sync_failure`.
    """


class DamagedLogError(StorageError):
    """Stored, synced bytes are not what was written: from `first_bad_offset` on they are lost here.

    Nothing of the log is served until it was cut to there; other replicas hold the records.
    """

    def __init__(self, message: str, *, first_bad_offset: int) -> None:
        super().__init__(message)
        self.first_bad_offset = first_bad_offset


class EpochContradictionError(CorruptMessageError):
    """A whole batch of an older leader epoch than records that lie below it in this log.

    One of the two logs is wrong; if it is this one, then from `first_bad_offset` on.
    """

    def __init__(self, message: str, *, first_bad_offset: int) -> None:
        super().__init__(message)
        self.first_bad_offset = first_bad_offset


class UnreachableError(TidelogError):
    """The server was not reached: the request was certainly not worked on. Try another address.

    `is_broken`: the address refused the connection, so that nobody listens there.
    """

    code = common_pb2.BROKER_NOT_AVAILABLE
    is_retriable = True

    def __init__(self, message: str, *, is_broken: bool = False) -> None:
        super().__init__(message)
        self.is_broken = is_broken


class CallFailedError(TidelogError):
    """The call broke or its deadline passed: it may or may not have been worked on.

    `is_broken`: the connection broke. `is_refused`: the server found fault with a request.
    """

    code = common_pb2.REQUEST_TIMED_OUT
    is_retriable = True
    is_outcome_unknown = True

    def __init__(self, message: str, *, is_broken: bool = False, is_refused: bool = False) -> None:
        super().__init__(message)
        self.is_broken = is_broken
        self.is_refused = is_refused


class CallExhaustedError(CallFailedError):
    """The server has no room for the request, or for its response (gRPC's RESOURCE_EXHAUSTED).

    A later call may find room; a message that is too large never does.
    """


class CallUnauthorizedError(CallFailedError):
    """Refused: only the cluster's own nodes may call this, at its internal listener.

    The request was certainly not worked on, and is refused again wherever the listener is the same.
    """

    code = common_pb2.CLUSTER_AUTHORIZATION_FAILED
    is_retriable = False
    is_outcome_unknown = False


def is_broken_connection(error: TidelogError) -> bool:
    """True if a call was refused or its connection broke, as when the server's process is gone.

    Other causes do that, too; a time-out never counts, since it proves nothing.
    """
    return isinstance(error, (UnreachableError, CallFailedError)) and error.is_broken


def as_result(error: _Error) -> _Error:
    """Return an error that is kept as a result, without its traceback.

    A traceback holds frames, and these hold the results with the error: a circle that only a
    collection of garbage finds. A wide request has thousands of results.
    """
    return error.with_traceback(None)


def invariant(condition: object, *values: object) -> None:
    """Raise `InvariantError` with `values` unless `condition` holds (-O drops an `assert`)."""
    if not condition:
        raise InvariantError("broken invariant: " + ", ".join(map(repr, values)))
