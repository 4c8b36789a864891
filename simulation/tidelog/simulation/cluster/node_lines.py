"""Words of a run, for people: log lines of nodes in its timeline, and the text of what ended it."""

from __future__ import annotations

import asyncio
import logging
import traceback
from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager
from typing import Any, NoReturn

import structlog
from structlog.typing import Processor

from tidelog.simulation.cluster.cluster_port import SimClusterPort
from tidelog.simulation.engine.loop import NodeLoop
from tidelog.simulation.engine.scheduler import SimulationError
from tidelog.simulation.suites.timeline import Timeline


def error_text(error: Exception) -> str:
    """The simulation's own errors say it all; of others one wants to know where."""
    if isinstance(error, SimulationError):
        return str(error)
    return "".join(traceback.format_exception(error))


@contextmanager
def nodes_logging_to(timeline: Timeline, port: SimClusterPort | None) -> Iterator[None]:
    """Pass nodes' log lines to the timeline and to the port; silent if nobody reads them."""
    if not timeline.is_kept and port is None:
        with nodes_silent():
            yield
        return

    def note_event(_: object, __: str, event: MutableMapping[str, Any]) -> NoReturn:
        loop = asyncio._get_running_loop()  # noqa: SLF001
        who = loop.name if isinstance(loop, NodeLoop) else "?"
        if port is not None:
            port.hear(who, event)
        what = " ".join(f"{key}={value}" for key, value in event.items() if key != "event")
        timeline.note(who, f"{event['event']} {what}")
        raise structlog.DropEvent

    with _logging(logging.INFO, [note_event]):
        yield


@contextmanager
def nodes_silent() -> Iterator[None]:
    """Drop nodes' log lines: their rendering would cost a third of a run's processor time.

    Those of tasks that die with a cluster are tracebacks, which cost most.
    """
    with _logging(logging.CRITICAL, []):
        yield


@contextmanager
def _logging(level: int, processors: list[Processor]) -> Iterator[None]:
    before = structlog.get_config()
    structlog.configure(
        processors=processors, wrapper_class=structlog.make_filtering_bound_logger(level)
    )
    try:
        yield
    finally:
        structlog.configure(**before)


class _ClientLines(logging.Handler):
    def __init__(self, timeline: Timeline) -> None:
        super().__init__()
        self._timeline = timeline

    def emit(self, record: logging.LogRecord) -> None:
        loop = asyncio._get_running_loop()  # noqa: SLF001
        who = loop.name if isinstance(loop, NodeLoop) else "?"
        self._timeline.note(who, record.getMessage())


@contextmanager
def clients_logging_to(timeline: Timeline) -> Iterator[None]:
    """Pass the clients' log lines to the timeline alone; silent if nobody reads it."""
    logger = logging.getLogger("tidelog.client")
    handler = _ClientLines(timeline) if timeline.is_kept else logging.NullHandler()
    propagates, logger.propagate = logger.propagate, False
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.propagate = propagates
