"""Log of a node's process: logfmt on stderr, one line per event, from every writer.

Records of libraries get one line, too, without a traceback: most are about a caller, and anybody
may call. Equal lines are counted instead of repeated.
"""

from __future__ import annotations

import asyncio
import logging
import math
import sys
import traceback
from typing import Any

import structlog
from structlog.typing import EventDict, Processor

from tidelog.core.env import Clock
from tidelog.core.output_file import OutputFile
from tidelog.net.grpc_log import OfCallersThatLeft
from tidelog.node.repeated_lines import LogLine, RepeatedLines

TEND_INTERVAL_S = 1.0
_REPEATED = "repeated"


class NodeLog:
    """Logging of the process; `output` is the file it writes to, if any."""

    def __init__(self, clock: Clock, *, output: OutputFile | None = None) -> None:
        self._clock = clock
        self._output = output
        self._lines = RepeatedLines()

    def begin(self, *, tap: Processor | None = None) -> None:
        """Install the logging; `tap` sees each line before it is written or counted."""
        if self._output is not None:
            self._output.take_over()
            self._output.turn_if_full()
        structlog.configure(
            processors=[
                *([] if tap is None else [tap]),
                self._leave_out_repeated,
                structlog.processors.add_log_level,
                structlog.processors.TimeStamper(fmt="iso", utc=True),
                structlog.processors.format_exc_info,
                structlog.processors.LogfmtRenderer(key_order=["timestamp", "level", "event"]),
            ],
            logger_factory=structlog.PrintLoggerFactory(sys.stderr),
            wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
            cache_logger_on_first_use=True,
        )
        logging.basicConfig(level=logging.WARNING, handlers=[LibraryLines()], force=True)
        logging.getLogger(OfCallersThatLeft.LOGGER).addFilter(OfCallersThatLeft())

    async def tend(self) -> None:
        """Log counted lines and rotate the file, forever."""
        while True:
            await asyncio.sleep(TEND_INTERVAL_S)
            self.log_counted(self._clock.monotonic_s())
            if self._output is not None:
                self._output.turn_if_full()

    def log_counted(self, now_s: float = math.inf) -> None:
        """Log the counts of repeated lines whose window is over; without a time, all of them."""
        for line, count in self._lines.take_counted(now_s):
            said = {name: value for name, value in line.fields.items() if name != "exc_info"}
            getattr(structlog.get_logger(), line.level)(**said, **{_REPEATED: f"{count} times"})

    def _leave_out_repeated(self, _logger: Any, method: str, fields: EventDict) -> EventDict:
        line = LogLine("error" if method == "exception" else method, dict(fields))
        if _REPEATED in fields or self._lines.is_to_write(line, self._clock.monotonic_s()):
            return fields
        raise structlog.DropEvent


class LibraryLines(logging.Handler):
    """Handler that logs a library's record as one line: message, error, and where it was raised."""

    def emit(self, record: logging.LogRecord) -> None:
        """Log one record; see `logging.Handler`."""
        said: dict[str, str] = {"logger": record.name}
        error = record.exc_info[1] if record.exc_info else None
        if error is not None:
            said["error"] = repr(error)
            frames = traceback.extract_tb(error.__traceback__)
            if frames:
                said["where"] = f"{frames[-1].filename}:{frames[-1].lineno}"
        structlog.get_logger().log(record.levelno, record.getMessage(), **said)
