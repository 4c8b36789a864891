"""Extra latency of each sync of a node's disk: set by the run, in a file beside the node.

    FOLDER/node-4.sync-ms     in milliseconds; not there: no longer

The file is read at each sync, so that a new process finds its disk as slow as it was.
What a node writes and reads is as fast as ever.
"""

from __future__ import annotations

import time
from pathlib import Path


class SyncLatency:
    """Sync latency of one node; `path` is the file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def set(self, sync_s: float | None) -> None:
        """Let each sync that begins from now on take so much longer; None: no longer than usual."""
        if sync_s is None:
            self.path.unlink(missing_ok=True)
            return
        # Whole or not at all: a node may read it at any time.
        written = self.path.with_suffix(".new")
        written.write_text(f"{sync_s * 1000:.0f}", encoding="ascii")
        written.replace(self.path)

    def wait(self) -> None:
        """Take the time; on the thread of a sync that begins now."""
        try:
            sync_ms = int(self.path.read_text(encoding="ascii"))
        except FileNotFoundError:
            return
        time.sleep(sync_ms / 1000)
