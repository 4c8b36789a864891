"""Streaming queries that are started again when Spark gives up on its own Python worker.

Spark waits ten seconds for the worker that plans a stream to connect, and has no setting for it:
too short for a Python that imports PySpark on a busy machine. The query ends before it does
anything.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Protocol

GAVE_UP = "Python worker failed to connect back"
INITIALIZING = "Initializing sources"
STARTS_MAX, POLL_S = 30, 0.05


class Query(Protocol):
    """A `StreamingQuery`, as far as its beginning goes."""

    @property
    def isActive(self) -> bool: ...  # noqa: N802 (Spark's name)
    @property
    def status(self) -> dict[str, Any]: ...
    def exception(self) -> Exception | None: ...


def patient(
    start: Callable[..., Query], wait: Callable[[float], None] = time.sleep
) -> Callable[..., Query]:
    """`DataStreamWriter.start` that starts again while Spark gave up on the worker."""

    def started(*args: Any, **given: Any) -> Query:
        for _ in range(STARTS_MAX):
            query = start(*args, **given)
            while query.isActive and query.status["message"] == INITIALIZING:
                wait(POLL_S)
            if query.isActive or GAVE_UP not in str(query.exception()):
                break
        return query

    return started
