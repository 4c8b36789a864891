"""Nodes as real processes: `python -m tidelog.node` on loopback, killed, paused, started again.

Each is known by its process object, so that nobody else's process is ever signalled.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from tidelog.raft.snapshot_file import parse_name
from tidelog.raft.wal import FILE_NAME

REFUSAL_TIMEOUT_S = 300
STOP_TIMEOUT_S = 300

CLUSTER_ID = "live-quorum"


class LiveNode:
    """One node, its folder and its configuration; it runs between `start` and `kill` or `stop`."""

    def __init__(
        self,
        node_id: int,
        *,
        roles: Sequence[str],
        address: str,
        voters: Mapping[int, str],
        folder: Path,
        settings: Mapping[str, int | str],
    ) -> None:
        self.node_id = node_id
        self.address = address
        self.is_controller = "controller" in roles
        self.is_broker = "broker" in roles
        self.data_dir = folder / f"node-{node_id}"
        self.metadata_dir = self.data_dir / "__cluster_metadata-0"
        self.wal_path = self.metadata_dir / FILE_NAME
        self.log_path = folder / f"node-{node_id}.log"
        self.config_path = folder / f"node-{node_id}.toml"
        self._process: subprocess.Popen[bytes] | None = None
        config = {
            "node.id": node_id,
            "cluster.id": CLUSTER_ID,
            "process.roles": list(roles),
            "listeners": address,
            "log.dirs": str(self.data_dir),
            **settings,
        }
        lines = [f"{json.dumps(key)} = {json.dumps(value)}" for key, value in config.items()]
        pairs = ", ".join(f'"{voter}" = "{where}"' for voter, where in voters.items())
        lines.append(f'"controller.quorum.voters" = {{ {pairs} }}')
        self.config_path.write_text("\n".join(lines))

    @property
    def is_running(self) -> bool:
        """Whether its process has not ended, paused or not."""
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Start its process, which takes its time."""
        assert not self.is_running
        command = [sys.executable, "-m", "tidelog.node", "--config", str(self.config_path)]
        with self.log_path.open("ab") as log:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )

    def kill(self) -> None:
        """kill -9; it may take a moment to be gone."""
        self._running().kill()

    def pause(self) -> None:
        """SIGSTOP."""
        self._running().send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """SIGCONT."""
        self._running().send_signal(signal.SIGCONT)

    def stop(self) -> int:
        """SIGTERM; the exit code."""
        self._running().terminate()
        return self._running().wait(timeout=STOP_TIMEOUT_S)

    def end(self) -> None:
        """Whatever state it is in: no process is left."""
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            self._process.wait()

    def start_refused(self) -> tuple[int, str]:
        """Start it where it is to refuse: exit code and what it said."""
        position = self.log_path.stat().st_size
        self.start()
        code = self._running().wait(timeout=REFUSAL_TIMEOUT_S)
        return code, self.log_path.read_bytes()[position:].decode("utf-8", "replace")

    def last_words(self) -> str:
        """The last line of its log."""
        lines = self.log_path.read_text("utf-8", "replace").splitlines()
        return lines[-1] if lines else "nothing"

    def snapshots(self) -> list[Path]:
        """Its snapshot files, oldest first."""
        return sorted(path for path in self.metadata_dir.glob("*") if parse_name(path.name))

    def _running(self) -> subprocess.Popen[bytes]:
        assert self._process is not None
        return self._process
