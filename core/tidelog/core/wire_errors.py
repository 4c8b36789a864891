"""Typed errors <-> the `Error` message of the wire. Decides nothing about when an error is due."""

from __future__ import annotations

from tidelog.core.errors import OUTCOME_UNKNOWN_CODES, TidelogError, error_for
from tidelog.v1 import common_pb2
from tidelog.v1.common_pb2 import Error, ErrorCode

NO_ERROR = Error()


def error_message(code: ErrorCode, message: str) -> Error:
    """The wire form of a code with its explanation."""
    return Error(code=code, message=message)


def code_name(code: int) -> str:
    """A code as Kafka names it; one that this version does not know stays a number."""
    return ErrorCode.Name(code) if code in ErrorCode.values() else f"{code}"


def to_wire(error: TidelogError) -> Error:
    """The wire form of an exception; an unknown outcome never has the code of a known one."""
    if error.is_outcome_unknown and error.code not in OUTCOME_UNKNOWN_CODES:
        return Error(code=common_pb2.UNKNOWN_SERVER_ERROR, message=error.message)
    return Error(code=error.code, message=error.message)


def raise_for(error: Error) -> None:
    """Raise the exception an answer carries; nothing for NONE."""
    if error.code != common_pb2.NONE:
        raise error_for(error.code, error.message)
