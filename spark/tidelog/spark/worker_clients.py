"""The connections of a Spark worker process, kept from task to task.

Spark gives a task no place to keep state: it unpickles a new reader for each task, in a process
that it reuses. So this module and `sink_clients` are the only ones with module state. Connections
are opened when a task needs them: an earlier one would not survive the fork that creates a worker.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Generic, Protocol, TypeVar

from tidelog.client.consuming.range_reader import RangeReader, RangeReaderConfig
from tidelog.client.sync import LoopThread
from tidelog.core.system import keep_freed_memory

CLIENTS_MAX = 4
"""The number of clusters, with their limits, to which one process stays connected."""


class Client(Protocol):
    """A client that can be kept."""

    @property
    def is_usable(self) -> bool:
        """True if the client works in this process: false in a fork of its own process."""

    def close(self) -> None:
        """Close the client; a second call does nothing."""


Kept = TypeVar("Kept", bound=Client)


class WorkerClients(Generic[Kept]):
    """The `clients_max` most recently used clients. Used by one thread, Spark's."""

    def __init__(self, *, clients_max: int = CLIENTS_MAX) -> None:
        self._clients_max = clients_max
        self._clients: dict[Hashable, Kept] = {}

    def get(self, key: Hashable, connect: Callable[[], Kept]) -> Kept:
        """The client kept under `key`, or a new one, which may evict the least recently used."""
        client = self._clients.pop(key, None)
        if client is None or not client.is_usable:
            client = connect()
        self._clients[key] = client
        while len(self._clients) > self._clients_max:
            self.drop(next(iter(self._clients)))
        return client

    def drop(self, key: Hashable) -> None:
        """Close the client kept under `key`, if any: the next task opens a new connection."""
        client = self._clients.pop(key, None)
        if client is not None:
            client.close()


class ReadingClient:
    """A reader of ranges with its event loop."""

    def __init__(self, bootstrap: str, config: RangeReaderConfig) -> None:
        keep_freed_memory()
        self.reader = RangeReader(bootstrap, config=config)
        self.loop = LoopThread()
        self.loop.start()

    @property
    def is_usable(self) -> bool:
        """See `Client`."""
        return self.loop.is_usable

    def close(self) -> None:
        """See `Client`."""
        if self.is_usable:
            self.loop.run(self.reader.close())
        self.loop.close()


READING: WorkerClients[ReadingClient] = WorkerClients()
"""The reading clients of this process."""
