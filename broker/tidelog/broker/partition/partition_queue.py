"""Partitions with a request to the controllers: one request at a time, for all of them.

Owns the waiting partitions, and the time of the next request: at once for new partitions, after a
back-off for those an answer left unresolved. `send` decides about the contents.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from tidelog.broker.partition.partition import Partition
from tidelog.broker.partition.replica_config import ReplicaConfig
from tidelog.core.env import Random

Key = tuple[bytes, int]
"""Topic id and partition."""


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
        self, send: Callable[[], Awaitable[None]], *, is_held: Callable[[], bool] = lambda: False
    ) -> None:
        """Send until cancelled; nothing while `is_held`."""
        while True:
            await self._submitted.wait()
            if not is_held():
                self._submitted.clear()
                await send()
            if self.waiting:
                self._submitted.set()
                backoff_ms = self._config.alter_partition_backoff_ms
                await asyncio.sleep(backoff_ms * (0.5 + self._random.random()) / 1000)
