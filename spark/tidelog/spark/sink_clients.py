"""The connections with which a Spark worker process writes, kept from task to task.

Like `worker_clients` for reads. A client in use when a task fails is closed, since its buffer may
still hold rows of that task.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from tidelog.client.arrow.table_writer import TableWriter
from tidelog.client.arrow.write_result import WriteResult
from tidelog.client.sync import LoopThread
from tidelog.core.system import keep_freed_memory
from tidelog.spark.commit_markers import MARKERS, Marker, StreamBatch
from tidelog.spark.compacted_topic import CompactedTopic
from tidelog.spark.sink_options import SinkOptions
from tidelog.spark.task_results import WrittenRange
from tidelog.spark.worker_clients import WorkerClients

_RUNS_MAX = 64


class WritingClient:
    """A writer of rows with its event loop, and the commit markers it has read."""

    def __init__(self, bootstrap: str, arguments: Mapping[str, Any]) -> None:  # TableWriter's
        keep_freed_memory()
        self.loop = LoopThread()
        self.loop.start()
        self.writer = self.loop.run(_open(bootstrap, arguments))
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


_WRITING: WorkerClients[WritingClient] = WorkerClients()


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


def ranges_of(written: WriteResult) -> tuple[WrittenRange, ...]:
    """First and last offset of what was written to each partition."""
    return tuple(
        WrittenRange(tp.topic, tp.partition, at.first_offset, at.last_offset)
        for tp, at in sorted(written.partitions.items())
    )


async def _open(bootstrap: str, arguments: Mapping[str, Any]) -> TableWriter:  # TableWriter's
    return await TableWriter(bootstrap, acks="all", **arguments).__aenter__()
