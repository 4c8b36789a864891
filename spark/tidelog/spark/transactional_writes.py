"""Writes of a task in a transaction of its own, and of the driver, which ends them all together.

A task leaves its transaction open and tells the driver of it; one that fails aborts its own. What
nobody ends, the brokers abort after the transaction timeout. `batch_commits` decides.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain

import pyarrow as pa
from pyspark import TaskContext

from tidelog.client.admin import Admin
from tidelog.client.errors import TidelogError
from tidelog.client.producing.producer import Producer
from tidelog.client.producing.transaction_state import TransactionMember
from tidelog.client.sync import LoopThread
from tidelog.net.transport import Transport
from tidelog.spark.batch_commits import Commit, driver_id, is_recorded, task_id
from tidelog.spark.commit_markers import MARKERS, Marker, StreamBatch
from tidelog.spark.compacted_topic import WRITER_TIMEOUT_MS, CompactedTopic
from tidelog.spark.sink_clients import WritingClient, ranges_of
from tidelog.spark.sink_options import SinkOptions
from tidelog.spark.sink_rows import by_topic
from tidelog.spark.task_results import TaskResult, TaskTransaction

_log = logging.getLogger(__name__)
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
    with transactional_client(options, _own_id(group)) as client:
        return _publish(client, chain([first], rows), options.topic, group=group, batch=batch)


@contextmanager
def transactional_client(options: SinkOptions, transactional_id: str) -> Iterator[WritingClient]:
    """A client for one transaction of this id; closing it aborts what was not handed over."""
    timeout_ms = options.transaction_timeout_ms
    client = WritingClient(
        options.bootstrap,
        {
            **options.client,
            "transactional_id": transactional_id,
            "transaction_timeout_ms": _LONGEST if timeout_ms is None else timeout_ms,
        },
    )
    try:
        yield client
    finally:
        client.close()


def _own_id(group: str) -> str:
    context = TaskContext.get()
    task, attempt = (0, 0) if context is None else (context.partitionId(), context.attemptNumber())
    return task_id(group, task=task, attempt=attempt)


def _publish(
    client: WritingClient,
    rows: Iterable[pa.RecordBatch],
    topic: str | None,
    *,
    group: str,
    batch: StreamBatch | None,
) -> TaskResult:
    run, writer = client.loop.run, client.writer
    run(writer.begin_transaction())
    for several in rows:
        for name, records in by_topic(several, topic=topic):
            run(writer.write(name, records))
    written = run(writer.flush())
    member = run(writer.hand_over_transaction())
    opened = None if member is None else TaskTransaction(*member)
    return TaskResult(written.records, ranges_of(written), batch, group=group, transaction=opened)


class Driver:
    """The driver's calls for one group; each opens its own connections, since they are rare."""

    def __init__(self, bootstrap: str, group: str, *, transport: Transport | None = None) -> None:
        self._bootstrap = bootstrap
        self._group = group
        self._transport = transport

    def commit(self, commit: Commit) -> None:
        """Commit the transactions of a `df.write`. Raises those of `Admin.end_transactions`."""
        with LoopThread() as loop:
            loop.run(self._end(_members(commit)))

    def commit_batch(self, batch: StreamBatch, commit: Commit, *, is_replay_skipped: bool) -> None:
        """Commit a stream's batch with its marker; what is recorded already is aborted.

        Raises MarkerError, and the errors of Producer, CompactedTopic and `Admin.end_transactions`:
        nothing of the batch is visible, or, where the outcome is unknown, all of it.
        """
        with LoopThread() as loop:
            loop.run(self._commit_batch(batch, commit, is_replay_skipped=is_replay_skipped))

    def abort(self) -> None:
        """Abort all that the group has open; a failure is logged, as the time-out aborts it too."""
        try:
            with LoopThread() as loop:
                loop.run(self._end(()))
        except TidelogError as error:
            _log.warning("transactions of %s are left to their time-out: %s", self._group, error)

    async def _commit_batch(
        self, batch: StreamBatch, commit: Commit, *, is_replay_skipped: bool
    ) -> None:
        markers = CompactedTopic(MARKERS, self._bootstrap, transport=self._transport)
        await markers.make_sure_it_exists()
        key = batch.query_id.encode()
        producer = Producer(
            self._bootstrap,
            transactional_id=driver_id(self._group),
            transaction_timeout_ms=WRITER_TIMEOUT_MS,
            transport=self._transport,
        )
        # Its start fences an older driver, and waits for the markers of what that one decided.
        async with producer:
            if is_replay_skipped and await self._is_there(markers, key, batch, commit):
                await self._end(())
                return
            assert commit.marker is not None  # a stream's
            await producer.begin_transaction()
            await markers.put_by(producer, key, commit.marker.encode())
            own = await producer.hand_over_transaction()
        await self._end([*_members(commit), *([] if own is None else [own])])

    async def _is_there(
        self, markers: CompactedTopic, key: bytes, batch: StreamBatch, commit: Commit
    ) -> bool:
        stored = await markers.last(key)
        return is_recorded(batch, commit, None if stored is None else Marker.decode(stored))

    async def _end(self, members: Sequence[TransactionMember]) -> None:
        async with Admin(self._bootstrap, transport=self._transport) as admin:
            await admin.end_transactions(self._group, members)


def _members(commit: Commit) -> list[TransactionMember]:
    return [
        TransactionMember(one.transactional_id, one.producer_id, one.producer_epoch)
        for one in commit.transactions
    ]
