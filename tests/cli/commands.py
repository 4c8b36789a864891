"""`tidelog` in this process, against real nodes on virtual time: its output and exit code."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import sys
import threading
from collections.abc import Callable, Coroutine, Iterator
from typing import Any, NamedTuple, TypeVar

import pytest
import structlog
from tests.client.driven_cluster import DrivenCluster
from tests.client.real_cluster import RealCluster, start_all
from tests.virtual_loop import VirtualLoop

from tidelog.cli import input_lines
from tidelog.cli.main import main

T = TypeVar("T")


class Done(NamedTuple):
    code: int
    stdout: bytes
    stderr: str


Run = Callable[..., Done]


class _Nodes(RealCluster):
    """Each command makes a transport and closes it."""

    async def close(self) -> None:
        """Nothing to release."""


class CommandCluster(DrivenCluster):
    """Nodes on a loop that runs while a command does, or a step of the test."""

    def __init__(self, **options: Any) -> None:
        self._runner = asyncio.Runner(loop_factory=VirtualLoop)
        self.nodes = self._runner.run(start_all(_Nodes(**options)))

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """See `DrivenCluster.run`; `asyncio.run` for a command, whose tasks end with it."""
        try:
            return self._runner.run(work)
        finally:
            self._runner.run(self._end_clients())

    def close(self) -> None:
        """End the nodes."""
        self._runner.close()

    async def _end_clients(self) -> None:
        for task in self.nodes.tasks_of_clients():
            task.cancel()


@contextlib.contextmanager
def without_logs() -> Iterator[None]:
    """Keep what nodes of this process log out of the output of commands."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    try:
        yield
    finally:
        structlog.reset_defaults()


def command_runner(
    monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> Run:
    """A function that runs the command line with arguments and standard input."""

    async def read(fd: int) -> bytes:  # a virtual loop watches no pipe
        return os.read(fd, input_lines.CHUNK_BYTES)

    monkeypatch.setattr(input_lines, "_read", read)

    def run_command(*arguments: str, stdin: bytes = b"") -> Done:
        read_end, write_end = os.pipe()

        def feed() -> None:
            # A command that gives up reads no further.
            with contextlib.suppress(BrokenPipeError), os.fdopen(write_end, "wb") as pipe:
                pipe.write(stdin)

        feeder = threading.Thread(target=feed)
        feeder.start()
        monkeypatch.setattr(sys, "argv", ["tidelog", *arguments])
        with os.fdopen(read_end) as pipe:
            monkeypatch.setattr(sys, "stdin", pipe)
            with pytest.raises(SystemExit) as ended:
                main()
        feeder.join()
        sys.stdout.flush()
        captured = capfdbinary.readouterr()
        assert isinstance(ended.value.code, int)
        return Done(ended.value.code, captured.out, captured.err.decode())

    return run_command
