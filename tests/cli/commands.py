"""`tidelog` in this process, against a cluster in a dictionary: its output and exit code."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Callable
from typing import NamedTuple

import pytest
from tests.client.fake_cluster import FakeCluster

from tidelog.cli.main import main


class Done(NamedTuple):
    code: int
    stdout: bytes
    stderr: str


Run = Callable[..., Done]


class Closable(FakeCluster):
    """Each command makes a transport and closes it."""

    async def close(self) -> None:
        """Nothing to release."""


def command_runner(
    monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> Run:
    """A function that runs the command line with arguments and standard input."""

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
