"""Puts on stable storage what the engine writes, beside its steps: one sync after another.

Owns the one task that syncs the log, installs a received snapshot and cuts the log's head off, and
the promises that wait for it. Errors of the storage are final: they are raised in the Raft task.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import islice

from tidelog.raft import rules
from tidelog.raft.config import RaftConfig
from tidelog.raft.snapshotting import Snapshotting
from tidelog.raft.storage import Storage, Written
from tidelog.v1.raft_pb2 import RaftMessage


class Syncing:
    """All methods belong to the Raft task; `on_done` is called when there is news for it."""

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
        """Sync what is written unless a sync runs, which another follows then.

        Errors: whatever the last one ended with.
        """
        if self._task is not None:
            if not self._task.done():
                return
            task, self._task = self._task, None
            task.result()
        if rules.must_sync(self._storage.is_dirty) or self._snapshotting.is_written:
            self._task = asyncio.create_task(self._sync(), name="raft-sync")
            self._task.add_done_callback(lambda _: self._on_done())

    async def finish(self) -> None:
        """Wait until everything is stored. Errors: as of `begin_if_due`."""
        self.begin_if_due()
        while self._task is not None:
            await asyncio.wait([self._task])
            self.begin_if_due()

    async def abandon(self) -> None:
        """The node ends: wait for a running sync, and let whatever comes of it be."""
        if self._task is not None:
            await asyncio.gather(self._task, return_exceptions=True)

    def promise(self, messages: Iterable[RaftMessage]) -> None:
        """These wait for all that is written now; more than may wait are dropped."""
        written = self._storage.written
        room = self._config.max_promises - len(self._promises)
        self._promises.extend((written, message) for message in islice(messages, max(0, room)))

    def kept(self) -> Iterator[RaftMessage]:
        """The promises that no crash takes back any more, in order, each once."""
        while self._promises and self.is_kept(self._promises[0][0]):
            yield self._promises.popleft()[1]

    def is_kept(self, written: Written) -> bool:
        """Whether what waits for this may be told."""
        has_unsynced = not self._storage.is_stored(written)
        return rules.may_promise(not rules.must_sync(has_unsynced))

    async def _sync(self) -> None:
        if self._storage.snapshots.has_received:
            await self._snapshotting.wait()
        if rules.must_sync(self._storage.is_dirty):
            await self._storage.sync()
        await self._snapshotting.finish_if_written()
