"""Loggers, whose lines a context may take elsewhere."""

from __future__ import annotations

import asyncio
from typing import Any

from structlog.testing import capture_logs

from tidelog.core.logs import get_logger, log_to


async def test_lines_of_a_context_and_of_its_tasks_go_to_its_sink() -> None:
    log = get_logger("any")
    lines: list[tuple[str, str, dict[str, Any]]] = []

    async def works() -> None:
        await asyncio.sleep(0)
        log.warning("of the task", number=1)

    with capture_logs() as of_the_process:
        with log_to(lambda *line: lines.append(line)):
            task = asyncio.create_task(works())
            log.info("of the context")
        log.info("of the process")
        await task
    assert lines == [("info", "of the context", {}), ("warning", "of the task", {"number": 1})]
    assert [line["event"] for line in of_the_process] == ["of the process"]
