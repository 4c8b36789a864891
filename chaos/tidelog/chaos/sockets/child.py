"""A child process of the run: started, signalled, waited for. Other processes are never touched.

Its end is seen through a pidfd that the event loop watches, so that no thread waits for it.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from tidelog.core.config_sources import without_variables
from tidelog.node.config import NODE_KEYS


class Child:
    """A process in a session of its own: what a terminal sends to the run does not reach it.

    Build it on a running loop, with `spawn`.
    """

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self._ended = asyncio.Event()
        self._pidfd = os.pidfd_open(process.pid)
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._pidfd, self._on_end)

    @classmethod
    def spawn(
        cls,
        command: Sequence[str],
        *,
        folder: Path,
        log_path: Path,
        environment: Mapping[str, str],
        stdin: int = subprocess.DEVNULL,
    ) -> Child:
        """Start it in `folder`; what it says is appended to the log.

        A node is what its file says: variables that configure nodes are kept from it.
        """
        with log_path.open("ab") as log:
            process = subprocess.Popen(
                command,
                stdin=stdin,
                stdout=log,
                stderr=log,
                cwd=folder,
                env={**without_variables(NODE_KEYS, os.environ), **environment},
                start_new_session=True,
            )
        return cls(process)

    @property
    def pid(self) -> int:
        """Its process id; a stranger's once `is_running` is False."""
        return self._process.pid

    @property
    def is_running(self) -> bool:
        """False as soon as it has ended, for any reason."""
        return self._process.poll() is None

    @property
    def exit_code(self) -> int | None:
        """None while it runs; negative: the signal that ended it."""
        return self._process.poll()

    def close_stdin(self, last: bytes = b"") -> None:
        """Write this to the pipe it reads from, and end that; nothing happens when it has ended."""
        if self._process.stdin is not None:
            with contextlib.suppress(BrokenPipeError), self._process.stdin as pipe:
                pipe.write(last)

    def send(self, number: signal.Signals) -> None:
        """Send a signal; nothing happens when it has ended."""
        self._process.send_signal(number)

    async def wait_ended(self, *, within_s: float) -> bool:
        """Wait for its end; False: it still runs."""
        try:
            async with asyncio.timeout(within_s):
                await self._ended.wait()
        except TimeoutError:
            return not self.is_running
        return True

    def _on_end(self) -> None:
        self._process.wait()
        self._loop.remove_reader(self._pidfd)
        os.close(self._pidfd)
        self._ended.set()
