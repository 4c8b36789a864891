"""Keeps the connections of a Spark worker process, for one task after the other.

Spark gives a task no place to keep anything: it unpickles a new reader each time, in a process that
it uses again. So this module and `sink_clients` have state of their own, no other has. Nothing
is opened before a task asks for it: a connection would not survive the fork that makes a worker.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Generic, Protocol, TypeVar

from tidelog.client.arrow.range_reader import RangeReader, RangeReaderConfig
from tidelog.client.sync import LoopThread
from tidelog.core.system import keep_freed_memory

CLIENTS_MAX = 4
"""Clusters, with their limits, that one process stays connected to."""


class Client(Protocol):
    """What can be kept."""

    @property
    def is_usable(self) -> bool:
        """Whether it still works: false in a process that was forked from its own."""

    def close(self) -> None:
        """End it; a second time does nothing."""


Kept = TypeVar("Kept", bound=Client)


class WorkerClients(Generic[Kept]):
    """The clients used last, at most `clients_max`. One thread, Spark's, uses them."""

    def __init__(self, *, clients_max: int = CLIENTS_MAX) -> None:
        self._clients_max = clients_max
        self._clients: dict[Hashable, Kept] = {}

    def get(self, key: Hashable, connect: Callable[[], Kept]) -> Kept:
        """The client kept under `key`, or a new one, which may push out the one unused longest."""
        client = self._clients.pop(key, None)
        if client is None or not client.is_usable:
            client = connect()
        self._clients[key] = client
        while len(self._clients) > self._clients_max:
            self.drop(next(iter(self._clients)))
        return client

    def drop(self, key: Hashable) -> None:
        """Close what is kept under `key`, if anything: the next task connects anew."""
        client = self._clients.pop(key, None)
        if client is not None:
            client.close()


class ReadingClient:
    """A reader of ranges with the loop it runs on."""

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
"""Those of this process."""
