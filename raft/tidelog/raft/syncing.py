"""Syncs of the engine's writes, concurrent with its steps, one after another.

Owns the one task that syncs the log, installs a received snapshot and compacts the log, and the
promises that wait for it. Storage errors are final: they are raised in the Raft task.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import islice

from tidelog.raft.config import RaftConfig
from tidelog.raft.snapshotting import Snapshotting
from tidelog.raft.storage import Storage, Written
from tidelog.v1.raft_pb2 import RaftMessage


class Syncing:
    """Sync task and waiting promises; used by the Raft task, which `on_done` wakes after a sync."""

    def __init__(
        self,
        storage: Storage,
        snapshotting: Snapshotting,
        *,
        config: RaftConfig,
        on_done: Callable[[], None],
    ) -> None:
        self._storage = storage
        self._snapshotting = snapshotting
        self._config = config
        self._on_done = on_done
        self._promises: deque[tuple[Written, RaftMessage]] = deque()
        self._task: asyncio.Task[None] | None = None

    def begin_if_due(self) -> None:
        """Start a sync of all writes, or queue one behind a running sync.

        Raises the error of the previous sync.
        """
        if self._task is not None:
            if not self._task.done():
                return
            task, self._task = self._task, None
            task.result()
        if self._storage.is_dirty or self._snapshotting.is_written:
            self._task = asyncio.create_task(self._sync(), name="raft-sync")
            self._task.add_done_callback(lambda _: self._on_done())

    async def finish(self) -> None:
        """Wait until everything is stored. Raises as `begin_if_due`."""
        self.begin_if_due()
        while self._task is not None:
            await asyncio.wait([self._task])
            self.begin_if_due()

    async def abandon(self) -> None:
        """Wait for a running sync when the node stops, ignoring its outcome."""
        if self._task is not None:
            await asyncio.gather(self._task, return_exceptions=True)

    def promise(self, messages: Iterable[RaftMessage]) -> None:
        """Hold these messages until all current writes are stored; beyond the limit, drop them."""
        written = self._storage.written
        room = self._config.max_promises - len(self._promises)
        self._promises.extend((written, message) for message in islice(messages, max(0, room)))

    def take_kept(self) -> Iterator[RaftMessage]:
        """Take the promises that no crash can undo anymore, in order, each once."""
        while self._promises and self.is_kept(self._promises[0][0]):
            yield self._promises.popleft()[1]

    def is_kept(self, written: Written) -> bool:
        """True when messages that depend on `written` may be sent: no crash loses it (5.2, 5.3)."""
        return self._storage.is_stored(written)

    async def _sync(self) -> None:
        if self._storage.snapshots.has_received:
            await self._snapshotting.wait()
        if self._storage.is_dirty:
            await self._storage.sync()
        await self._snapshotting.finish_if_written()
