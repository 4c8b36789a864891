"""Events of gRPC for closed loops: dropped without a word, and nothing else is."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tidelog.net.closed_loops import ignore_events_of_closed_loops

PASSES = "Exception in callback PollerCompletionQueue._handle_events(<_UnixSelectorEventLoop>)()"
CLOSED = RuntimeError("Event loop is closed")


@pytest.mark.parametrize(
    ("context", "is_told"),
    [
        ({"message": PASSES, "exception": CLOSED}, False),
        ({"message": PASSES, "exception": RuntimeError("another")}, True),
        ({"message": "Exception in callback other()", "exception": CLOSED}, True),
        ({"message": "Task was destroyed but it is pending!"}, True),
    ],
)
async def test_an_event_of_a_closed_loop_alone_is_dropped(
    context: dict[str, Any], is_told: bool, caplog: pytest.LogCaptureFixture
) -> None:
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(None)
    ignore_events_of_closed_loops(loop)
    loop.call_exception_handler(context)
    loop.set_exception_handler(None)

    assert bool(caplog.records) is is_told


async def test_a_loop_keeps_an_exception_handler_of_its_own() -> None:
    heard: list[dict[str, Any]] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: heard.append(context))
    ignore_events_of_closed_loops(loop)
    loop.call_exception_handler({"message": PASSES, "exception": CLOSED})
    loop.set_exception_handler(None)

    assert len(heard) == 1
