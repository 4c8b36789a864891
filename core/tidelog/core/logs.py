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

import structlog

LogSink: TypeAlias = Callable[[str, str, dict[str, Any]], None]
"""Takes a line: the level's name, the event, and its fields."""

_sink: ContextVar[LogSink | None] = ContextVar("tidelog-log-sink", default=None)


def get_logger(name: str) -> Any:  # structlog's own type of a lazy logger
    """Create the logger of a module, with structlog's methods: `info`, `warning` and so on."""
    return _Logger(structlog.get_logger(name))


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
    def __init__(self, logger: Any) -> None:  # a lazy logger
        self._logger = logger

    def __getattr__(self, level: str) -> Any:  # a method of structlog's
        sink = _sink.get()
        return getattr(self._logger, level) if sink is None else partial(_hand, sink, level)


def _hand(sink: LogSink, level: str, event: str, **fields: Any) -> None:  # fields of any kind
    sink(level, event, fields)
