"""What gRPC's own logger says of calls whose caller has left, or whose server stops: nothing.

Both are ordinary. It would write a traceback for each, and anybody can call and leave.
"""

from __future__ import annotations

import asyncio
import logging

import grpc.aio


def is_caller_gone(error: BaseException | None) -> bool:
    """Whether gRPC raised it because the call is over: nobody is left to answer.

    `BaseError` is what its core raises; the two below it are an answer made on purpose, and wrong
    use of gRPC, which is a bug here.
    """
    if isinstance(error, (grpc.aio.AbortError, grpc.aio.UsageError)):
        return False
    return isinstance(error, (grpc.aio.BaseError, asyncio.CancelledError))


class OfCallersThatLeft(logging.Filter):
    """Drops those records."""

    LOGGER = "grpc._cython.cygrpc"

    def filter(self, record: logging.LogRecord) -> bool:
        """See `logging.Filter`."""
        if record.exc_info:
            return not is_caller_gone(record.exc_info[1])
        return not record.getMessage().startswith("Aborting method")
