"""Appends of this broker's coordinators, to the partitions it leads.

    append      at once, in the leader epoch of the election; the records have their offsets then
    committed   later: the high watermark passed them, or their outcome is unknown

Kafka's `PartitionWriter`. Whether the append is allowed is the partition's core's to say, as for
any producer with acks=all. Owns how many appends wait.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from tidelog.broker.partition import leader_io as leading
from tidelog.broker.partition.partition_listener import Leadership
from tidelog.broker.partition.partition_map import PartitionMap
from tidelog.broker.partition.replica_config import ReplicaConfig
from tidelog.broker.partition_adder import Producer
from tidelog.broker.replica.leader import ACKS_ALL
from tidelog.core.errors import (
    BrokerNotAvailableError,
    CoordinatorNotAvailableError,
    RequestTimedOutError,
    ThrottlingQuotaExceededError,
)
from tidelog.core.wire_errors import raise_for
from tidelog.v1.common_pb2 import Error


class AppendedMarker(NamedTuple):
    """The end of a transaction, as it lies in the log."""

    producer_id: int
    is_commit: bool
    offset: int


MarkerWatch: TypeAlias = Callable[[Leadership, AppendedMarker], None]


class Written:
    """Appended records in the leader's log; await `committed` before anyone is answered."""

    def __init__(self, on_end: Callable[[], None]) -> None:
        self.base_offset = -1
        """Offset of the first record."""
        self.end_offset = -1
        """Exclusive."""
        self.is_duplicate = False
        """True for a marker that was in the log before."""
        self._on_end = on_end
        self._failure: Error | None = None
        self._has_left = False
        self._ended = asyncio.Event()
        self._ended.set()

    async def committed(self, *, timeout_ms: int) -> None:
        """Wait until the in-sync replicas hold the records.

        Raises, each with an unknown outcome: `RequestTimedOutError` when the leadership ended or
        the time is over, `NotEnoughReplicasAfterAppendError` when the ISR fell below
        min.insync.replicas. Where the leadership lasts, the records stay in the log, and
        `on_high_watermark_updated` beyond `end_offset` says that they are committed after all.
        """
        try:
            async with asyncio.timeout(timeout_ms / 1000):
                await self._ended.wait()
        except TimeoutError:
            self._leave()
            message = (
                f"appended up to offset {self.end_offset}, but not on every in-sync replica within "
                f"{timeout_ms} ms: the outcome is unknown"
            )
            raise RequestTimedOutError(message) from None
        if self._failure is not None:
            raise_for(self._failure)

    def _leave(self) -> None:
        """Wait no longer; a marker that another call appended counts no longer either."""
        if self.is_duplicate and not self.is_over:
            self._has_left = True
            self._on_end()

    # For the partition, see `OffsetWaiter`

    @property
    def is_over(self) -> bool:
        """True when nothing is waited for: the entry has its outcome, or was given up."""
        return self._has_left or self._ended.is_set()

    def expect(self, index: int, offset: int) -> None:
        """See `OffsetWaiter`: the one entry waits."""
        del index, offset
        self._ended.clear()

    def resolve(self, index: int, failure: Error | None) -> None:
        """See `OffsetWaiter`."""
        del index
        self._failure = failure
        self._ended.set()
        if not self._has_left:
            self._on_end()


class PartitionWriter:
    """Appends for coordinators. `is_held` says whether the broker takes no writes."""

    def __init__(
        self, *, partitions: PartitionMap, config: ReplicaConfig, is_held: Callable[[], bool]
    ) -> None:
        self.uncommitted = 0
        """Number of appends that are neither committed nor failed."""
        self._partitions = partitions
        self._config = config
        self._is_held = is_held
        self._marker_watches: dict[str, list[MarkerWatch]] = {}

    def append(self, leadership: Leadership, records: bytes) -> Written:
        """Append whole batches as the leader of that epoch; they are in its log on return.

        Raises, with nothing appended: `FencedLeaderEpochError` or `NotLeaderOrFollowerError` when
        the leadership is over; `UnknownTopicIdError`, `InconsistentTopicIdError` or
        `UnknownTopicOrPartitionError` when the topic is gone; `NotEnoughReplicasError` below
        min.insync.replicas; `BrokerNotAvailableError` while the cluster stops;
        `ThrottlingQuotaExceededError` while `coordinator_appends_max` wait; KAFKA_STORAGE_ERROR
        when the log is offline; and the errors of `PartitionLog.append_as_leader`.
        """
        return self._append(leadership, records, is_for_producer=False)

    def append_for_producer(self, leadership: Leadership, records: bytes) -> Written:
        """Append a transactional batch that is written for its producer. Raises as `append`.

        The partition must be in the producer's transaction: see `is_in_transaction`.
        """
        return self._append(leadership, records, is_for_producer=True)

    def _append(self, leadership: Leadership, records: bytes, *, is_for_producer: bool) -> Written:
        self._check_admission()
        partition = self._partitions.find_led(leadership)
        written = Written(self._note_end)
        done = leading.append(
            partition,
            records,
            acks=ACKS_ALL,
            answer=written,
            index=0,
            transactional=is_for_producer,
            numbered=not is_for_producer,
        )
        written.base_offset, written.end_offset = done.base_offset, done.last_offset + 1
        self.uncommitted += not written.is_over
        return written

    def batch_bytes_max(self, leadership: Leadership) -> int:
        """Largest batch that the partition takes, max.message.bytes. Raises as `append`."""
        return self._partitions.find_led(leadership).log.config.max_message_bytes

    # Transactions

    def is_in_transaction(self, leadership: Leadership, producer: Producer) -> bool:
        """True when the log has the producer's transaction of this epoch open. Raises as `append`.

        Its coordinator has added the partition then.
        """
        partition_log = self._partitions.find_led(leadership).log
        return partition_log.is_in_transaction(producer.id, producer.epoch)

    def forgotten(self, leadership: Leadership) -> int:
        """Producers that the log has forgotten so far. Raises as `append`."""
        return self._partitions.find_led(leadership).log.producers.forgotten

    def check_remembered(
        self, leadership: Leadership, producer: Producer, *, forgotten: int
    ) -> None:
        """Check, after a wait, that the log would know of the transaction's end meanwhile.

        `forgotten`: as before the wait. Raises as `append`, and `CoordinatorNotAvailableError`.
        """
        producers = self._partitions.find_led(leadership).log.producers
        if producers.may_have_forgotten(producer.id, forgotten=forgotten):
            raise CoordinatorNotAvailableError(
                f"{leadership.topic}-{leadership.partition} forgot producers while producer "
                f"{producer.id} waited: nothing was appended, try again"
            )

    def append_marker(
        self, topic: str, partition: int, topic_id: bytes, end: leading.TransactionEnd
    ) -> Written:
        """Append a transaction's marker to a partition that this broker leads, unless it is there.

        Those who watch the topic hear of a new one before this returns.
        `Written.committed` waits for the in-sync replicas in both cases: before that, another
        leader may lack the marker. Raises as `append`, in whatever leader epoch this broker leads,
        and the errors of `PartitionLog.append_marker`; nothing was appended then.
        """
        self._check_admission()
        found = self._partitions.find(topic, partition, topic_id)
        written = Written(self._note_end)
        done = leading.append_marker(found, end, answer=written)
        written.base_offset, written.end_offset = done.last_offset, done.last_offset + 1
        written.is_duplicate = done.is_duplicate
        self.uncommitted += not written.is_over
        if not done.is_duplicate and found.leadership is not None:
            appended = AppendedMarker(end.producer_id, end.is_commit, done.last_offset)
            for watch in self._marker_watches.get(topic, ()):
                watch(found.leadership, appended)
        return written

    def watch_markers(self, topic: str, watch: MarkerWatch) -> None:
        """Call `watch` at each new marker in a topic's partitions, in the step that appends it.

        So it hears of markers in the log's order with its own appends.
        """
        self._marker_watches.setdefault(topic, []).append(watch)

    def _check_admission(self) -> None:
        if self._is_held():
            raise BrokerNotAvailableError("the cluster is stopping: it takes no writes")
        limit = self._config.coordinator_appends_max
        if self.uncommitted >= limit:
            raise ThrottlingQuotaExceededError(
                f"{limit} appends of coordinators wait for their commit: try again later"
            )

    def _note_end(self) -> None:
        self.uncommitted -= 1
