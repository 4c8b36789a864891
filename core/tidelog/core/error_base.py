"""Bases of the exception tree; import them from `tidelog.core.errors`."""

from __future__ import annotations

from tidelog.v1 import common_pb2
from tidelog.v1.common_pb2 import ErrorCode


def code_name(code: int) -> str:
    """The name of a code; one that this version lacks stays a number."""
    return ErrorCode.Name(code) if code in ErrorCode.values() else f"{code}"


class TidelogError(Exception):
    """Base of all: `code` is the wire code, `str()` says what was wrong and what to do.

    `is_retriable`: the same request may succeed later. `is_outcome_unknown`: it may have been
    carried out all the same.
    """

    code: ErrorCode = common_pb2.UNKNOWN_SERVER_ERROR
    is_retriable: bool = False
    is_outcome_unknown: bool = False

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class KafkaError(TidelogError):
    """An error that a broker or controller answered; itself only where this version has no class.

    `code` is Kafka's number where Kafka has the error, else 10,000 or more.
    """

    def __repr__(self) -> str:
        return f"{type(self).__name__}({code_name(self.code)}, {self.message!r})"
