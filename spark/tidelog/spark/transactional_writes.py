"""Writes of a task in a transaction of its own, and of the driver, which ends them all together.

A task leaves its transaction open and tells the driver of it; one that fails aborts its own. What
nobody ends, the brokers abort after the transaction timeout. `batch_commits` decides.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain

import pyarrow as pa
from pyspark import TaskContext

from tidelog.client.admin import Admin
from tidelog.client.connections import ConnectionConfig
from tidelog.client.errors import TidelogError
from tidelog.client.ports import ClientPorts
from tidelog.client.producing.producer import Producer
from tidelog.client.producing.transaction_state import TransactionMember
from tidelog.client.sync import LoopThread
from tidelog.net.transport import Transport
from tidelog.spark.batch_commits import Commit, driver_id, is_recorded, task_id
from tidelog.spark.commit_markers import MARKERS, Marker, StreamBatch
from tidelog.spark.compacted_topic import WRITER_TIMEOUT_MS, CompactedTopic
from tidelog.spark.sink_clients import Connections, open_writer, ranges_of, task_connections
from tidelog.spark.sink_options import SinkOptions
from tidelog.spark.sink_rows import by_topic
from tidelog.spark.task_results import TaskResult, TaskTransaction

_log = logging.getLogger(__name__)
_CONNECTIONS = ConnectionConfig("tidelog-spark-driver")
_LONGEST = 0
"""A transaction timeout: what the brokers allow at most."""


def write_in_transaction(
    options: SinkOptions, rows: Iterator[pa.RecordBatch], *, group: str, batch: StreamBatch | None
) -> TaskResult:
    """Send the rows of one task and leave their transaction open; without rows there is none.

    Returns once all are acknowledged. Raises the errors of TableWriter; the transaction is aborted.
    """
    first = next((several for several in rows if several.num_rows), None)
    if first is None:
        return TaskResult(0, (), batch, group=group)
    with task_connections(options) as connections:
        task = _Task(connections, options, _own_id(group))
        try:
            return task.publish(chain([first], rows), group=group, batch=batch)
        finally:
            task.close()


def _own_id(group: str) -> str:
    context = TaskContext.get()
    task, attempt = (0, 0) if context is None else (context.partitionId(), context.attemptNumber())
    return task_id(group, task=task, attempt=attempt)


class _Task:
    """The transaction of a task, on connections that its process keeps."""

    def __init__(self, connections: Connections, options: SinkOptions, own_id: str) -> None:
        timeout_ms = options.transaction_timeout_ms
        arguments = {
            **options.client,
            "transactional_id": own_id,
            "transaction_timeout_ms": _LONGEST if timeout_ms is None else timeout_ms,
            "transport": connections.transport,
        }
        self._run = connections.loop.run
        self._writer = self._run(open_writer(options.bootstrap, arguments))
        self._topic = options.topic

    def publish(
        self, rows: Iterable[pa.RecordBatch], *, group: str, batch: StreamBatch | None
    ) -> TaskResult:
        """Send the rows; return once all are acknowledged, with what the driver ends."""
        run, writer = self._run, self._writer
        run(writer.begin_transaction())
        for several in rows:
            for name, records in by_topic(several, topic=self._topic):
                run(writer.write(name, records))
        written = run(writer.flush())
        member = run(writer.hand_over_transaction())
        opened = None if member is None else TaskTransaction(*member)
        ranges = ranges_of(written)
        return TaskResult(written.records, ranges, batch, group=group, transaction=opened)

    def close(self) -> None:
        """Abort what was not handed over."""
        self._run(self._writer.close())


class Driver:
    """The driver's calls for one group; each opens its own connections, since they are rare."""

    def __init__(self, bootstrap: str, group: str, *, transport: Transport | None = None) -> None:
        self._bootstrap = bootstrap
        self._group = group
        self._transport = transport

    def commit(self, commit: Commit) -> None:
        """Commit the transactions of a `df.write`. Raises those of `Admin.end_transactions`."""
        self._run(lambda transport: self._end(transport, _members(commit)))

    def commit_batch(self, batch: StreamBatch, commit: Commit, *, is_replay_skipped: bool) -> None:
        """Commit a stream's batch with its marker; what is recorded already is aborted.

        Raises MarkerError, and the errors of Producer, CompactedTopic and `Admin.end_transactions`:
        nothing of the batch is visible, or, where the outcome is unknown, all of it.
        """
        self._run(partial(self._commit_batch, batch, commit, is_replay_skipped=is_replay_skipped))

    def abort(self) -> None:
        """Abort all that the group has open; a failure is logged, as the time-out aborts it too."""
        try:
            self._run(lambda transport: self._end(transport, ()))
        except TidelogError as error:
            _log.warning("transactions of %s are left to their time-out: %s", self._group, error)

    def _run(self, call: Callable[[Transport], Coroutine[None, None, None]]) -> None:
        """Run `call` on connections that its clients share."""

        async def run() -> None:
            ports = ClientPorts.of(
                transport=self._transport, clock=None, random=None, connections=_CONNECTIONS
            )
            try:
                await call(ports.transport)
            finally:
                await ports.close()

        with LoopThread() as loop:
            loop.run(run())

    async def _commit_batch(
        self, batch: StreamBatch, commit: Commit, transport: Transport, *, is_replay_skipped: bool
    ) -> None:
        markers = CompactedTopic(MARKERS, self._bootstrap, transport=transport)
        key = batch.query_id.encode()
        producer = Producer(
            self._bootstrap,
            transactional_id=driver_id(self._group),
            transaction_timeout_ms=WRITER_TIMEOUT_MS,
            transport=transport,
        )
        # Its start fences an older driver, and waits for the markers of what that one decided.
        async with producer:
            last = await markers.last(key) if is_replay_skipped else None
            if is_recorded(batch, commit, None if last is None else Marker.decode(last)):
                await self._end(transport, ())
                return
            if last is None:
                await markers.make_sure_it_exists()
            assert commit.marker is not None  # a stream's
            await producer.begin_transaction()
            await markers.put_by(producer, key, commit.marker.encode())
            own = await producer.hand_over_transaction()
        await self._end(transport, [*_members(commit), *([] if own is None else [own])])

    async def _end(self, transport: Transport, members: Sequence[TransactionMember]) -> None:
        async with Admin(self._bootstrap, transport=transport) as admin:
            await admin.end_transactions(self._group, members)


def _members(commit: Commit) -> list[TransactionMember]:
    return [
        TransactionMember(one.transactional_id, one.producer_id, one.producer_epoch)
        for one in commit.transactions
    ]
