"""Log lines of nodes within tests: plain, since tracebacks are many and mostly expected.

With colours, source and locals, as structlog shows them by default, each costs tenths of a second.
"""

from __future__ import annotations

import structlog


def configure_logs() -> None:
    """Have lines printed plainly, whatever was configured before."""
    renderer = structlog.dev.ConsoleRenderer(
        colors=False, exception_formatter=structlog.dev.plain_traceback
    )
    structlog.reset_defaults()
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            renderer,
        ]
    )
