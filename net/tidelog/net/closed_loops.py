"""gRPC events for loops that are closed: nobody waits for them, and no traceback tells of them.

gRPC has one completion queue for all loops of a process. The loop that takes an event from the
queue passes it to the loop of its call; a loop that `asyncio.run` has closed meanwhile refuses it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

_PASSES_EVENTS_ON = "Exception in callback PollerCompletionQueue._handle_events"
_LOOP_IS_CLOSED = "Event loop is closed"
"""asyncio's words for an exception in gRPC's callback, and for a callback for a closed loop."""


def ignore_events_of_closed_loops(loop: asyncio.AbstractEventLoop) -> None:
    """Have the loop drop such exceptions, unless it has an exception handler of its own."""
    if loop.get_exception_handler() is None:
        loop.set_exception_handler(_handle)


def is_event_of_closed_loop(context: Mapping[str, Any]) -> bool:
    """True if the context of an exception handler tells of an event for a closed loop."""
    error = context.get("exception")
    is_closed = isinstance(error, RuntimeError) and str(error) == _LOOP_IS_CLOSED
    return is_closed and str(context.get("message")).startswith(_PASSES_EVENTS_ON)


def _handle(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    if not is_event_of_closed_loop(context):
        loop.default_exception_handler(context)
