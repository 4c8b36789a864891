"""Partitions with a request to the controllers: one request at a time, for all of them.

Owns the waiting partitions, and the time of the next request: at once for new partitions, and for
those that the last one had no room for; after a back-off for those an answer left unresolved.
`send` decides about the contents.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from tidelog.broker.partition.partition import Partition
from tidelog.broker.partition.replica_config import ReplicaConfig
from tidelog.core.env import Random

Key = tuple[bytes, int]
"""Topic id and partition."""
PARTITIONS_PER_REQUEST_MAX = 100
"""The controllers decide on a request in one batch, whose size and time are bounded."""


class PartitionQueue:
    """Waiting partitions by key; `send` removes those that need no further request."""

    def __init__(self, *, random: Random, config: ReplicaConfig) -> None:
        self.waiting: dict[Key, Partition] = {}
        self._random = random
        self._config = config
        self._submitted = asyncio.Event()

    def submit(self, partition: Partition) -> None:
        """Queue a partition."""
        self.waiting[partition.topic_id, partition.partition] = partition
        self._submitted.set()

    async def run(
        self, send: Callable[[], Awaitable[bool]], *, is_held: Callable[[], bool] = lambda: False
    ) -> None:
        """Send until cancelled; nothing while `is_held`.

        `send` returns True when the next request may follow at once.
        """
        while True:
            await self._submitted.wait()
            may_go_on = False
            if not is_held():
                self._submitted.clear()
                may_go_on = await send()
            if may_go_on:
                self._submitted.set()
            elif self.waiting:
                self._submitted.set()
                backoff_ms = self._config.alter_partition_backoff_ms
                await asyncio.sleep(backoff_ms * (0.5 + self._random.random()) / 1000)
