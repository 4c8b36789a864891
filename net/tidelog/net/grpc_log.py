"""Filter of gRPC's own log records on calls whose caller has left, or whose server stops.

Both are ordinary. gRPC would log a traceback for each, and anybody can call and leave.
"""

from __future__ import annotations

import asyncio
import logging

import grpc.aio


def is_caller_gone(error: BaseException | None) -> bool:
    """True when gRPC raised `error` because the call is over, so that there is nobody to answer.

    `BaseError` is raised by its core; the two subclasses here are a deliberate answer, and wrong
    use of gRPC, which is a bug here.
    """
    if isinstance(error, (grpc.aio.AbortError, grpc.aio.UsageError)):
        return False
    return isinstance(error, (grpc.aio.BaseError, asyncio.CancelledError))


class OfCallersThatLeft(logging.Filter):
    """Filter that drops those records."""

    LOGGER = "grpc._cython.cygrpc"

    def filter(self, record: logging.LogRecord) -> bool:
        """Drop the record of a caller that left; see `logging.Filter`."""
        if record.exc_info:
            return not is_caller_gone(record.exc_info[1])
        return not record.getMessage().startswith("Aborting method")
