"""The processes of a cluster's nodes: started, ended, stopped and continued. Children only."""

from __future__ import annotations

import signal
import sys
from collections.abc import Mapping
from pathlib import Path

from tidelog.chaos.sockets.child import Child
from tidelog.core.system import ALLOCATOR
from tidelog.node.last_words import last_words

STOP_S_MAX = 30.0
KILL_S_MAX = 10.0


class NodeProcess:
    """A node, run by one process after another: `FOLDER/node-ID.toml`, `.setup.json`, `.log`.

    With another `stem` than "node" it is another node of the same id.
    """

    def __init__(
        self, folder: Path, node_id: int, environment: Mapping[str, str], *, stem: str = "node"
    ) -> None:
        self.node_id = node_id
        self._stem = stem
        self.is_paused = False
        self._folder = folder
        self._environment = {**ALLOCATOR, **environment}
        self._child: Child | None = None
        self._log_position = 0

    @property
    def config_path(self) -> Path:
        """Its configuration."""
        return self._folder / f"{self._stem}-{self.node_id}.toml"

    @property
    def setup_path(self) -> Path:
        """Its `NodeSetup`."""
        return self._folder / f"{self._stem}-{self.node_id}.setup.json"

    @property
    def log_path(self) -> Path:
        """The output of its processes."""
        return self._folder / f"{self._stem}-{self.node_id}.log"

    @property
    def is_up(self) -> bool:
        """True if a process runs, or is paused."""
        return self._child is not None and self._child.is_running

    @property
    def pid(self) -> int | None:
        """The pid of the running process; None: none runs."""
        return self._child.pid if self._child is not None and self._child.is_running else None

    @property
    def end(self) -> str | None:
        """The last line of a process that ended by itself; None: it runs, or was ended."""
        if self._child is None or self._child.is_running:
            return None
        return last_words(self.log_path, since=self._log_position)

    def start(self) -> None:
        """Start what is down; returns before it listens."""
        if self.is_up:
            raise ValueError(f"node {self.node_id} is up")
        module = "tidelog.chaos.sockets.node"
        files = ["--config", str(self.config_path), "--setup", str(self.setup_path)]
        self._log_position = self.log_path.stat().st_size if self.log_path.exists() else 0
        self._child = Child.spawn(
            [sys.executable, "-m", module, *files],
            folder=self._folder,
            log_path=self.log_path,
            environment=self._environment,
        )

    async def kill(self) -> bool:
        """End it by SIGKILL, paused or not; False: it was down."""
        return await self._end_by(signal.SIGKILL, within_s=KILL_S_MAX)

    async def stop(self) -> bool:
        """End it by SIGTERM, and by SIGKILL when that takes too long; whether it was not needed.

        One that is paused goes on first: it could not stop.
        """
        self.resume()
        if await self._end_by(signal.SIGTERM, within_s=STOP_S_MAX):
            return True
        await self.kill()
        return False

    async def wait_ended(self) -> None:
        """Wait for an end that somebody else brought about, and take it as ordered."""
        if self._child is not None and await self._child.wait_ended(within_s=KILL_S_MAX):
            self._child, self.is_paused = None, False

    def pause(self) -> None:
        """SIGSTOP; nothing happens when it is down."""
        if self.is_up and self._child is not None:
            self._child.send(signal.SIGSTOP)
            self.is_paused = True

    def resume(self) -> None:
        """SIGCONT; nothing happens when it is down."""
        if self._child is not None:
            self._child.send(signal.SIGCONT)
        self.is_paused = False

    async def _end_by(self, number: signal.Signals, *, within_s: float) -> bool:
        child = self._child
        if child is None or not child.is_running:
            return False
        child.send(number)
        if not await child.wait_ended(within_s=within_s):
            return False
        self._child, self.is_paused = None, False
        return True
