"""Loggers of nodes and simulations: structlog's, unless the lines of a context go elsewhere.

A node within somebody else's process, as in a test, must not write into that process's log, nor
change how it logs: `log_to` takes the lines of all that begins in its context.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import Context, ContextVar
from functools import partial
from typing import Any, TypeAlias

LogSink: TypeAlias = Callable[[str, str, dict[str, Any]], None]
"""Takes a line: the level's name, the event, and its fields."""

_sink: ContextVar[LogSink | None] = ContextVar("tidelog-log-sink", default=None)


def get_logger(name: str) -> Any:  # structlog's own type of a lazy logger
    """Create the logger of a module, with structlog's methods: `info`, `warning` and so on."""
    return _Logger(name)


@contextmanager
def log_to(sink: LogSink) -> Iterator[None]:
    """Have `sink` take the lines of this context, and of the tasks and callbacks begun in it."""
    token = _sink.set(sink)
    try:
        yield
    finally:
        _sink.reset(token)


def context_logging_to(sink: LogSink) -> Context:
    """Create an empty context whose lines `sink` takes."""
    context = Context()
    context.run(_sink.set, sink)
    return context


class _Logger:
    def __init__(self, name: str) -> None:
        self._name = name
        self._logger: Any = None  # a lazy logger of structlog's

    def __getattr__(self, level: str) -> Any:  # a method of structlog's
        sink = _sink.get()
        if sink is not None:
            return partial(_hand, sink, level)
        if self._logger is None:
            import structlog  # late: a client that logs nothing, and a node with a sink, need none

            self._logger = structlog.get_logger(self._name)
        return getattr(self._logger, level)


def _hand(sink: LogSink, level: str, event: str, **fields: Any) -> None:  # fields of any kind
    sink(level, event, fields)
