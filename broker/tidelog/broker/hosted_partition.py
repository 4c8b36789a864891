"""One partition replica at work: its core, its log, and who waits on it.

Owns the log's use: carries out what the core orders, in order, and tells it what happened. Appends
and reads are done at once; truncation, and a flush that must precede an acknowledgement, take time:
until they are done a newer state from the image waits, so that roles never change in between.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, Protocol

import structlog

from tidelog.broker.errors import error_message
from tidelog.broker.partition.effects import (
    AnswerDivergingEpoch,
    AppendFetched,
    AppendToLog,
    AssignEpoch,
    BackOff,
    Effect,
    FailWaiters,
    NoteIsrChange,
    ProposeIsr,
    RaiseHighWatermark,
    Refuse,
    ServeRecords,
    StartFetching,
    StopFetching,
    TruncateTo,
    WakeFetches,
)
from tidelog.broker.partition.events import (
    Appended,
    EpochEnd,
    Event,
    FetchRequested,
    Flushed,
    FollowerIdentity,
    FollowersFenced,
    IsrAnswered,
    LogClosed,
    PartitionChanged,
    ProduceRequested,
    Ticked,
)
from tidelog.broker.partition.leader import ACKS_ALL
from tidelog.broker.partition.replica import Replica
from tidelog.broker.purgatory import DelayedProduce, FetchWaiters, OffsetWaiters
from tidelog.broker.replica_stats import ReplicaStats
from tidelog.log.config import LogConfig
from tidelog.log.env import Clock
from tidelog.log.errors import KafkaError, StorageError
from tidelog.log.partition_log import PartitionLog
from tidelog.metadata.image import PartitionImage
from tidelog.v1 import common_pb2
from tidelog.v1.data_pb2 import FetchPartition, PartitionFetchResult

Answer = (
    Refuse
    | AppendToLog
    | ServeRecords
    | AnswerDivergingEpoch
    | TruncateTo
    | AppendFetched
    | BackOff
)

log = structlog.get_logger(__name__)


class PartitionHost(Protocol):
    """What a partition needs of the broker around it; called on the loop, at once."""

    def start_fetching(self, partition: HostedPartition, leader_id: int) -> None:
        """Fetch from `leader_id`, and from nobody else."""

    def stop_fetching(self, partition: HostedPartition) -> None:
        """Fetch from nobody."""

    def propose_isr(self, partition: HostedPartition) -> None:
        """Send `replica.leader.proposal()` to the controller."""

    def spawn(self, name: str, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run it beside everything else; what it raises ends the node."""


class HostedPartition:
    """A replica that this broker holds; serves nothing until `open_with` gives it its log."""

    def __init__(
        self,
        *,
        topic: str,
        topic_id: bytes,
        partition: int,
        replica: Replica,
        host: PartitionHost,
        clock: Clock,
        stats: ReplicaStats,
    ) -> None:
        self.topic = topic
        self.topic_id = topic_id
        self.partition = partition
        self.replica = replica
        self.stats = stats
        self.is_failed = False
        """Its disk refused; it serves nothing until the broker starts anew."""
        self.retry_fetch_at_ms = 0
        """No fetch before; set after an answer that the image or the leader must follow up."""
        self.consumers = FetchWaiters()
        """Woken when the high watermark rises or the role changes."""
        self.followers = FetchWaiters()
        """Woken when the log grows or the role changes."""
        self._host = host
        self._clock = clock
        self._log: PartitionLog | None = None
        self._newest: tuple[PartitionImage, LogConfig] | None = None
        self._idle = asyncio.Event()
        self._idle.set()
        self._flush_task: asyncio.Task[None] | None = None
        self._acks_all = OffsetWaiters()
        self._acks_leader = OffsetWaiters()

    @property
    def name(self) -> str:
        """As Kafka writes it, and as its folder is named."""
        return f"{self.topic}-{self.partition}"

    @property
    def log(self) -> PartitionLog:
        """The log; `KafkaError` LEADER_NOT_AVAILABLE until it is open."""
        if self._log is None:
            raise KafkaError(common_pb2.LEADER_NOT_AVAILABLE, f"{self.name} is still being opened")
        return self._log

    @property
    def is_open(self) -> bool:
        """Whether its log is open and works."""
        return self._log is not None and not self.replica.is_closed

    # The image's side

    def open_with(self, partition_log: PartitionLog) -> None:
        """Begin to serve."""
        self._log = partition_log
        self._apply_newest()

    def change(self, state: PartitionImage, config: LogConfig) -> None:
        """The image holds this state; take it over as soon as the log is at rest."""
        self._newest = (state, config)
        self._apply_newest()

    def fail(self, error: StorageError) -> None:
        """Take the partition offline."""
        if not self.replica.is_closed:
            log.error("partition offline", partition=self.name, error=str(error))
            self.is_failed = True
            self.tell(LogClosed())

    async def checkpoint(self) -> None:
        """Save the high watermark and what else bounds the next recovery."""
        if self.is_open:
            try:
                await self.log.checkpoint()
            except StorageError as error:
                self.fail(error)

    async def close(self) -> None:
        """Let go of every role, wait for what the log is doing, close it."""
        if not self.replica.is_closed:
            self.tell(LogClosed())
        await self._idle.wait()
        if self._flush_task is not None:
            await self._flush_task
        if self._log is not None:
            await self._log.close()

    # The leader's side

    def append(self, records: bytes, *, acks: int, produce: DelayedProduce, index: int) -> int:
        """Append a producer's batches and return their base offset.

        Entry `index` of `produce` waits for what `acks` asks. Raises `KafkaError` when refused,
        what `PartitionLog.append_as_leader` raises, with nothing appended, and UNKNOWN_SERVER_ERROR
        when the disk failed: then nobody knows.
        """
        answer = self.tell(ProduceRequested(acks))
        if isinstance(answer, Refuse):
            raise KafkaError(answer.code, answer.message)
        assert isinstance(answer, AppendToLog)  # the core's two answers to this event
        partition_log = self.log
        try:
            done = partition_log.append_as_leader(records, leader_epoch=answer.leader_epoch)
        except StorageError as error:
            self.fail(error)
            raise KafkaError(
                common_pb2.UNKNOWN_SERVER_ERROR, f"the disk failed: {error}; outcome unknown"
            ) from error
        self.stats.bytes_in += len(records)
        counted = self._counted_offset()
        self.tell(Appended(done.log_end_offset, counted))
        self.followers.wake()
        if partition_log.is_flush_due:
            self._flush_soon()
        if acks == ACKS_ALL and partition_log.high_watermark < done.log_end_offset:
            self._acks_all.add(done.log_end_offset, produce, index)
        elif acks == 1 and counted < done.log_end_offset:
            self._acks_leader.add(done.log_end_offset, produce, index)
        return done.base_offset

    def read(
        self,
        asked: FetchPartition,
        result: PartitionFetchResult,
        *,
        follower: FollowerIdentity | None,
        max_bytes: int,
        has_read: bool,
    ) -> int:
        """Fill `result` and return how many bytes of records it holds.

        At most `max_bytes`; unless `has_read`, a single larger batch passes. Instead of records
        there may be an error or a diverging epoch. Raises what the log raises.
        """
        partition_log = self.log
        answer = self.tell(self._fetch_requested(asked, follower))
        result.high_watermark = partition_log.high_watermark
        result.log_start_offset = partition_log.log_start_offset
        match answer:
            case Refuse():
                result.error.CopyFrom(error_message(answer.code, answer.message))
            case AnswerDivergingEpoch():
                result.diverging_epoch.leader_epoch = answer.leader_epoch
                result.diverging_epoch.end_offset = answer.end_offset
            case ServeRecords():
                if follower is not None:
                    result.log_end_offset = partition_log.log_end_offset
                records = self._records(
                    asked, max_bytes=max_bytes, has_read=has_read, upper_bound=answer.upper_bound
                )
                result.records = records
                return len(records)
        return 0

    def epoch_end(self, epoch: int) -> EpochEnd:
        """What the log holds of `epoch` (KIP-279)."""
        return EpochEnd(*self.log.epoch_end_offset(epoch))

    def check_leadership(self, current_leader_epoch: int | None) -> None:
        """Raise `KafkaError` unless this replica leads, in that epoch if one is given."""
        refused = self.replica.leader_refusal(current_leader_epoch)
        if refused is not None:
            raise KafkaError(refused.code, refused.message)

    def answer_isr(self, event: IsrAnswered) -> None:
        """The controller's word on a proposal."""
        self.tell(event)

    def note(self, event: FollowersFenced | Ticked) -> None:
        """What happened to the whole broker."""
        self.tell(event)

    # For those who act for it

    def tell(self, event: Event) -> Answer | None:
        """Let the core handle `event`, carry out its orders, return the one for the caller."""
        answer: Answer | None = None
        for effect in self.replica.handle(event, self._clock.monotonic_ms()):
            if isinstance(effect, Answer):
                answer = effect
            else:
                self._carry_out(effect)
        return answer

    async def truncate_to(self, offset: int) -> None:
        """Cut the log; raises `StorageError`. To be run by `at_rest_after`."""
        before, high_watermark = self.log.log_end_offset, self.log.high_watermark
        await self.log.truncate_to(offset)
        after = self.log.log_end_offset
        self.stats.truncated_records += before - after
        report = log.error if after < high_watermark else log.info
        report(
            "truncated",
            partition=self.name,
            log_end_offset=after,
            before=before,
            high_watermark=high_watermark,
        )

    def at_rest_after(self, work: Coroutine[Any, Any, None]) -> Coroutine[Any, Any, None]:
        """Work on the log that no change of role may interrupt: it counts from this call on."""
        self._idle.clear()

        async def run() -> None:
            try:
                await work
            except StorageError as error:
                self.fail(error)
            finally:
                self._idle.set()
                self._apply_newest()

        return run()

    # Inside

    def _carry_out(self, effect: Effect) -> None:
        match effect:
            case RaiseHighWatermark(offset):
                self.log.set_high_watermark(offset)
                self._acks_all.complete_up_to(offset)
                self.consumers.wake()
            case AssignEpoch(epoch, start_offset):
                self.log.assign_epoch(epoch=epoch, start_offset=start_offset)
                log.info("leading", partition=self.name, epoch=epoch, start_offset=start_offset)
            case FailWaiters(code, message):
                self._acks_all.fail_all(error_message(code, message))
                self._acks_leader.fail_all(error_message(code, message))
            case WakeFetches():
                self.followers.wake()
                self.consumers.wake()
            case ProposeIsr():
                self._host.propose_isr(self)
            case NoteIsrChange(before, after):
                self.stats.isr_shrinks += len(after) < len(before)
                self.stats.isr_expands += len(after) > len(before)
                log.info("isr changed", partition=self.name, before=before, after=after)
            case StartFetching(leader_id):
                self.retry_fetch_at_ms = 0
                self._host.start_fetching(self, leader_id)
            case StopFetching():
                self._host.stop_fetching(self)

    def _apply_newest(self) -> None:
        if self._newest is None or not self.is_open or not self._idle.is_set():
            return
        state, config = self._newest
        self.log.config = config
        self.tell(
            PartitionChanged(
                state=state,
                min_insync_replicas=config.min_insync_replicas,
                log_end_offset=self.log.log_end_offset,
                counted_offset=self._counted_offset(),
                high_watermark=self.log.high_watermark,
                latest_epoch=self.log.latest_epoch,
            )
        )
        if self.replica.leader is not None and self.log.is_flush_due:
            self._flush_soon()

    def _counted_offset(self) -> int:
        return self.log.recovery_point if self.log.is_flush_due else self.log.log_end_offset

    def _flush_soon(self) -> None:
        if self._flush_task is None or self._flush_task.done():
            self._flush_task = self._host.spawn(f"flush-{self.name}", self._flush())

    async def _flush(self) -> None:
        """One flush after the other while more is due: each covers all that came meanwhile."""
        while self.log.is_flush_due:
            try:
                await self.log.flush()
            except StorageError as error:
                self.fail(error)
                return
            counted = self._counted_offset()
            self.tell(Flushed(counted))
            self._acks_leader.complete_up_to(counted)

    def _fetch_requested(
        self, asked: FetchPartition, follower: FollowerIdentity | None
    ) -> FetchRequested:
        has_last = asked.HasField("last_fetched_epoch")
        return FetchRequested(
            fetch_offset=asked.fetch_offset,
            log_start_offset=self.log.log_start_offset,
            current_leader_epoch=(
                asked.current_leader_epoch if asked.HasField("current_leader_epoch") else None
            ),
            last_fetched_epoch=asked.last_fetched_epoch if has_last else None,
            epoch_end=self.epoch_end(asked.last_fetched_epoch) if has_last else None,
            follower=follower,
        )

    def _records(
        self, asked: FetchPartition, *, max_bytes: int, has_read: bool, upper_bound: int
    ) -> bytes:
        if asked.fetch_offset >= upper_bound or (has_read and max_bytes <= 0):
            return b""
        try:
            read = self.log.read(asked.fetch_offset, max_bytes=max_bytes, upper_bound=upper_bound)
        except StorageError as error:
            self.fail(error)
            raise
        return b"" if has_read and len(read.records) > max_bytes else read.records
