"""The connections with which a Spark worker process writes, kept from task to task.

Like `worker_clients` for reads. A client in use when a task fails is closed, since its buffer may
still hold rows of that task. A transaction has a writer of its own, on connections that are kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from tidelog.client.arrow.table_writer import TableWriter
from tidelog.client.arrow.write_result import WriteResult
from tidelog.client.connections import CONNECTIONS_MAX_IDLE_MS, ConnectionConfig
from tidelog.client.ports import ClientPorts
from tidelog.client.sync import LoopThread
from tidelog.core.system import keep_freed_memory
from tidelog.net.transport import Transport
from tidelog.spark.commit_markers import MARKERS, Marker, StreamBatch
from tidelog.spark.compacted_topic import CompactedTopic
from tidelog.spark.sink_options import SinkOptions
from tidelog.spark.task_results import WrittenRange
from tidelog.spark.worker_clients import WorkerClients

_RUNS_MAX = 64
_CLIENT_ID = "tidelog-table-writer"


class WritingClient:
    """A writer of rows with its event loop, and the commit markers it has read."""

    def __init__(self, bootstrap: str, arguments: Mapping[str, Any]) -> None:  # TableWriter's
        keep_freed_memory()
        self.loop = LoopThread()
        self.loop.start()
        self.writer = self.loop.run(open_writer(bootstrap, arguments))
        self._markers = CompactedTopic(MARKERS, bootstrap)
        self._last: dict[tuple[str, str], Marker | None] = {}

    @property
    def is_usable(self) -> bool:
        """See `Client`."""
        return self.loop.is_usable

    def close(self) -> None:
        """See `Client`."""
        if self.is_usable:
            self.loop.run(self.writer.close())
        self.loop.close()

    def last_before_run(self, batch: StreamBatch) -> Marker | None:
        """The last marker of the batch's query, read once per run of the query.

        A batch that was committed in a run does not come again in the same run, so the first read
        is valid for the whole run. Raises MarkerError and the errors of RangeReader.
        """
        run = (batch.query_id, batch.run_id)
        if run not in self._last:
            stored = self.loop.run(self._markers.last(batch.query_id.encode()))
            self._last[run] = None if stored is None else Marker.decode(stored)
            while len(self._last) > _RUNS_MAX:
                del self._last[next(iter(self._last))]
        return self._last[run]


class Connections:
    """An event loop with connections to brokers, for writers of one transaction each."""

    def __init__(self, connections: ConnectionConfig, transport: Transport | None = None) -> None:
        keep_freed_memory()
        self.loop = LoopThread()
        self.loop.start()
        self._ports = self.loop.run(_open_ports(connections, transport))
        self.transport = self._ports.transport

    @property
    def is_usable(self) -> bool:
        """See `Client`."""
        return self.loop.is_usable

    def close(self) -> None:
        """See `Client`."""
        if self.is_usable:
            self.loop.run(self._ports.close())
        self.loop.close()


_WRITING: WorkerClients[WritingClient] = WorkerClients()
_CONNECTED: WorkerClients[Connections] = WorkerClients()


@contextmanager
def writing_client(
    options: SinkOptions, *, kept: WorkerClients[WritingClient] = _WRITING
) -> Iterator[WritingClient]:
    """The client of this process for a write with these options, for one task at a time."""
    key = (options.bootstrap, *sorted(options.client.items()))
    client = kept.get(key, lambda: WritingClient(options.bootstrap, options.client))
    try:
        yield client
    except BaseException:
        kept.drop(key)
        raise


@contextmanager
def task_connections(
    options: SinkOptions, *, kept: WorkerClients[Connections] = _CONNECTED
) -> Iterator[Connections]:
    """The connections of this process for one task with these options; closed when it fails."""
    named = options.client
    config = ConnectionConfig(
        named.get("client_id", _CLIENT_ID),
        named.get("connections_max_idle_ms", CONNECTIONS_MAX_IDLE_MS),
    )
    key = (options.bootstrap, config)
    connections = kept.get(key, lambda: Connections(config))
    try:
        yield connections
    except BaseException:
        kept.drop(key)
        raise


def ranges_of(written: WriteResult) -> tuple[WrittenRange, ...]:
    """First and last offset of what was written to each partition."""
    return tuple(
        WrittenRange(tp.topic, tp.partition, at.first_offset, at.last_offset)
        for tp, at in sorted(written.partitions.items())
    )


async def open_writer(
    bootstrap: str,
    arguments: Mapping[str, Any],  # TableWriter's
) -> TableWriter:
    """Open a writer of rows with acks=all; raises the errors of TableWriter."""
    return await TableWriter(bootstrap, acks="all", **arguments).__aenter__()


async def _open_ports(connections: ConnectionConfig, transport: Transport | None) -> ClientPorts:
    return ClientPorts.of(transport=transport, clock=None, random=None, connections=connections)
