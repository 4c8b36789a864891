"""Conversion between typed errors and the wire's `Error`. Does not decide when to fail."""

from __future__ import annotations

from tidelog.core.errors import OUTCOME_UNKNOWN_CODES, TidelogError, error_for
from tidelog.v1 import common_pb2
from tidelog.v1.common_pb2 import Error, ErrorCode


def error_message(code: ErrorCode, message: str) -> Error:
    """Build the wire form of a code with its explanation."""
    return Error(code=code, message=message)


def to_wire(error: TidelogError) -> Error:
    """Build the wire form of an exception; an unknown outcome never gets a definite code."""
    if error.is_outcome_unknown and error.code not in OUTCOME_UNKNOWN_CODES:
        return Error(code=common_pb2.UNKNOWN_SERVER_ERROR, message=error.message)
    return Error(code=error.code, message=error.message)


def raise_for(error: Error) -> None:
    """Raise the exception of an answer's error; do nothing for NONE."""
    if error.code != common_pb2.NONE:
        raise error_for(error.code, error.message)
