"""One partition replica at work: its core, its log, and who waits on it.

Owns the log's use: carries out what the core orders, in order, and tells it what happened. Appends
and reads are done at once; truncation, and a flush that must precede an acknowledgement, take time:
until they are done a newer state from the image waits, so that roles never change in between.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Protocol, TypeVar

import structlog

from tidelog.broker.partition.log_at_work import LogAtWork
from tidelog.broker.partition.purgatory import FetchWaiters, OffsetWaiters
from tidelog.broker.partition.replica_stats import ReplicaStats
from tidelog.broker.replica.effects import (
    Answer,
    AssignEpoch,
    DeleteRecords,
    Effect,
    FailDeletions,
    FailWaiters,
    NoteIsrChange,
    ProposeIsr,
    RaiseHighWatermark,
    RaiseLowWatermark,
    StartAnew,
    StartFetching,
    StopFetching,
    TruncateTo,
    WakeFetches,
)
from tidelog.broker.replica.events import (
    EpochEnd,
    Event,
    FetchAnswered,
    FetchRequested,
    Flushed,
    LogClosed,
    LogDamaged,
    LogStartRaised,
    PartitionChanged,
    ProduceRequested,
    Ticked,
)
from tidelog.broker.replica.replica import Replica
from tidelog.core.env import Clock
from tidelog.core.errors import DamagedLogError, DiskFullError, KafkaError, StorageError
from tidelog.core.journal import Event as JournalEvent
from tidelog.core.journal import Kind
from tidelog.core.wire_errors import code_name, error_message
from tidelog.log.config import LogConfig
from tidelog.log.partition_log import Damage, PartitionLog
from tidelog.metadata.image import PartitionImage
from tidelog.v1 import common_pb2
from tidelog.v1.common_pb2 import Error

T = TypeVar("T")

_CHANGE_NO_LOG = (Ticked, ProduceRequested, FetchRequested, FetchAnswered)
"""Events after which the log is as before, unless an effect or a later event says otherwise."""

log = structlog.get_logger(__name__)


class PartitionHost(Protocol):
    """What a partition needs of the broker around it; called on the loop, at once."""

    def start_fetching(self, partition: HostedPartition, leader_id: int) -> None:
        """Fetch from `leader_id`, and from nobody else."""

    def stop_fetching(self, partition: HostedPartition) -> None:
        """Fetch from nobody."""

    def propose_isr(self, partition: HostedPartition) -> None:
        """Send `replica.leader.proposal()` to the controller."""

    def report_damage(self, partition: HostedPartition, damage: Damage) -> None:
        """Its log is damaged: nothing of it is served."""

    def report_failure(self, partition: HostedPartition) -> None:
        """Its disk refused, see `failure`, or its start may have lost something."""

    def touch(self, partition: HostedPartition) -> None:
        """Something happened to it."""

    def note(self, event: JournalEvent) -> None:
        """Have the node's journal tell of it."""

    def spawn(self, name: str, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run it beside everything else; what it raises ends the node."""


def may_work_again(error: StorageError) -> bool:
    """Whether the same log may be used again in this process: nothing of it can have been lost.

    After any other error it must not: a failed fsync may have dropped what it was to store, and
    the next one would say that all is well.
    """
    is_unknown = error.is_outcome_unknown or error.is_sync_failure
    return isinstance(error, DiskFullError) and not is_unknown


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
        self.failure: str | None = None
        """What its disk refused; it serves nothing until it is opened anew."""
        self.has_only_no_space = False
        """All that its disk refused was for want of space: opened anew, it may work."""
        self.has_failed_sync = False
        """What it was to store then may be gone: it may not hold any more what it held."""
        self.retry_fetch_at_ms = 0
        """No fetch before; set after an answer that the image or the leader must follow up."""
        self.consumers = FetchWaiters()
        """Woken when the high watermark rises or the role changes."""
        self.followers = FetchWaiters()
        """Woken when the log grows or the role changes."""
        self.acks_all = OffsetWaiters()
        """Producers, until the high watermark has come to an offset."""
        self.acks_leader = OffsetWaiters()
        """Producers, until the own log is flushed up to an offset."""
        self.deletions = OffsetWaiters()
        """Those who had records deleted, until the low watermark has come to an offset."""
        self._host = host
        self._clock = clock
        self._log: PartitionLog | None = None
        self._newest: tuple[PartitionImage, LogConfig] | None = None
        self._idle = asyncio.Event()
        self._idle.set()
        self._flush_task: asyncio.Task[None] | None = None
        self._known_damage: Damage | None = None
        self.contradictions = 0
        """Answers of its leader, in a row, that its own log rules out."""

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
    def is_failed(self) -> bool:
        """Whether its disk refused."""
        return self.failure is not None

    @property
    def is_open(self) -> bool:
        """Whether its log is open and works."""
        return self._log is not None and not self.replica.is_closed

    @property
    def damage(self) -> Damage | None:
        """Where the log is not what was written; None: nowhere, as far as anybody looked."""
        return None if self._log is None else self._log.damage

    @property
    def may_have_lost(self) -> bool:
        """Whether a start cut off what may have been acknowledged, and nobody was told."""
        return self._log is not None and self._log.folder.may_have_lost

    @property
    def is_settled(self) -> bool:
        """Whether its log was opened, or cannot be."""
        return self._log is not None or self.replica.is_closed

    @property
    def is_sound(self) -> bool:
        """Whether its log is open, works, and is not known to be damaged."""
        return self.is_open and self.damage is None

    @property
    def outage(self) -> str | None:
        """Why it serves nothing, for people; None when it is in order, or still being opened."""
        if self.is_failed:
            return "its disk failed"
        damage = self.damage
        return damage and f"its log is damaged from offset {damage.first_bad_offset} on"

    # The image's side

    def open_with(self, partition_log: PartitionLog) -> None:
        """Begin to serve."""
        self._log = partition_log
        self._apply_newest()
        if self.may_have_lost:
            self._host.report_failure(self)

    def change(self, state: PartitionImage, config: LogConfig) -> None:
        """The image holds this state; take it over as soon as the log is at rest."""
        self._newest = (state, config)
        self._apply_newest()

    def fail(self, error: StorageError) -> None:
        """Take the partition offline: until its log is healed if that is damaged, else for good."""
        if isinstance(error, DamagedLogError):
            self._note_damage()
            return
        is_news = error.is_sync_failure and not self.has_failed_sync
        if is_news and self._log is not None:
            self._log.folder.note_loss()
        self.has_failed_sync |= error.is_sync_failure
        is_first = self.failure is None and not self.replica.is_closed
        self.has_only_no_space = may_work_again(error) and (is_first or self.has_only_no_space)
        if is_first:
            log.error("partition offline", partition=self.name, error=str(error))
            self.failure = error.message
            self._note(Kind.DISK, error.message, after="offline")
            self.tell(LogClosed())
            is_news = True
        if is_news:
            self._host.report_failure(self)

    async def tend(self, work: Callable[[PartitionLog], Awaitable[T]]) -> T | None:
        """Do upkeep on the log, unless it is out of use; never raises for what the disk does."""
        done = None
        if self.is_sound:
            log_start_offset = self.log.log_start_offset
            try:
                done = await work(self.log)
                if self.log.log_start_offset != log_start_offset:
                    self.tell(LogStartRaised(self.log.log_start_offset))
            except StorageError as error:
                self.fail(error)
        if self.is_open:
            self._note_damage()
        return done

    def note_loss_told(self) -> None:
        """The controllers know that it `may_have_lost`."""
        try:
            self.log.folder.forget_loss()
        except StorageError as error:
            self.fail(error)

    def tick(self) -> None:
        """Time passed."""
        self.tell(Ticked())
        if self.damage is not None:
            self._apply_newest()

    def end_service(self) -> None:
        """Let go of every role, at once: whoever waits is told that the outcome is unknown."""
        if not self.replica.is_closed:
            self.tell(LogClosed())

    async def close(self) -> None:
        """End the service, wait for what the log is doing, close it."""
        self.end_service()
        await self._idle.wait()
        if self._flush_task is not None:
            await self._flush_task
        if self._log is not None:
            await self._log.close()

    # For those who act for it

    def epoch_end(self, epoch: int) -> EpochEnd:
        """What the log holds of `epoch` (KIP-279)."""
        return EpochEnd(*self.log.epoch_end_offset(epoch))

    def check_leadership(self, current_leader_epoch: int | None) -> None:
        """Raise `KafkaError` unless this replica leads, in that epoch if one is given."""
        refused = self.replica.leader_refusal(current_leader_epoch)
        if refused is not None:
            raise KafkaError(refused.code, refused.message)

    def tell(self, event: Event) -> Answer | None:
        """Let the core handle `event`, carry out its orders, return the one for the caller."""
        if not isinstance(event, _CHANGE_NO_LOG):
            self._host.touch(self)
        answer: Answer | None = None
        for effect in self.replica.handle(event, self._clock.monotonic_ms()):
            if isinstance(effect, Answer):
                answer = effect
            else:
                self._carry_out(effect)
        return answer

    def note_refused_fetch(self, error: Error) -> None:
        """The leader answered it so."""
        code = code_name(error.code)
        cause = f"the leader refused a fetch: {code}: {error.message}"
        self._note(Kind.REFUSAL, cause, before="own fetch refused", after=code)

    def counted_offset(self) -> int:
        """What of the log may be acknowledged: its end, unless a flush must come first."""
        return self.log.recovery_point if self.log.is_flush_due else self.log.log_end_offset

    def flush_soon(self) -> None:
        """Flush while flush.messages demands it; who waits for that is told."""
        if self._flush_task is None or self._flush_task.done():
            self._flush_task = self._host.spawn(f"flush-{self.name}", self._flush())

    def at_work(self) -> LogAtWork:
        """The log; a `StorageError` takes the partition offline before it goes on to the caller."""
        return LogAtWork(self)

    def ordered(self, order: Answer | None) -> Coroutine[Any, Any, object] | None:
        """The work on the log that the core orders, if it is any; to be run by `at_rest_after`."""
        match order:
            case TruncateTo(offset, cause):
                return self._truncate_to(offset, cause)
            case StartAnew(offset, cause):
                return self._start_anew(offset, cause)
            case DeleteRecords(offset):
                return self.log.delete_records(offset)
        return None

    def at_rest_after(self, work: Coroutine[Any, Any, object]) -> asyncio.Task[None]:
        """Work on the log that no change of role may interrupt: it counts from this call on.

        It runs whether or not the caller comes to await it, and the log is at rest after its end,
        whatever that is: a log that never rests could never be closed.
        """
        self._idle.clear()

        async def run() -> None:
            try:
                await work
            except StorageError as error:
                self.fail(error)

        task = self._host.spawn(f"work-on-{self.name}", run())
        task.add_done_callback(lambda _: self._rest(work))
        return task

    def _rest(self, work: Coroutine[Any, Any, object]) -> None:
        work.close()
        self._idle.set()
        self._apply_newest()

    # Inside

    def _carry_out(self, effect: Effect) -> None:
        match effect:
            case RaiseHighWatermark(offset):
                self._host.touch(self)
                self.log.set_high_watermark(offset)
                self.acks_all.complete_up_to(offset)
                self.consumers.wake()
                self.followers.note()
            case RaiseLowWatermark(offset):
                self.deletions.complete_up_to(offset)
            case AssignEpoch(epoch, start_offset):
                self.log.assign_epoch(epoch=epoch, start_offset=start_offset)
                log.info("leading", partition=self.name, epoch=epoch, start_offset=start_offset)
                cause = f"this broker leads: epoch {epoch} begins at offset {start_offset}"
                self._note(Kind.EPOCH, cause, after=f"{start_offset}")
            case FailWaiters(code, message):
                self.acks_all.fail_all(error_message(code, message))
                self.acks_leader.fail_all(error_message(code, message))
            case FailDeletions(code, message):
                self.deletions.fail_all(error_message(code, message))
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
        if not self.is_open or not self._idle.is_set():
            return
        self._note_damage()
        if self._newest is None:
            return
        state, config = self._newest
        self.log.config = config
        work = self.ordered(self.tell(self._partition_changed(state, config)))
        if work is not None:
            self.at_rest_after(work)
        if self.replica.role is not None and self.log.is_flush_due:
            # A follower's too: where flush.messages is 1 now, a power cut must take nothing.
            self.flush_soon()

    def _partition_changed(self, state: PartitionImage, config: LogConfig) -> PartitionChanged:
        damage = self.damage
        return PartitionChanged(
            state=state,
            min_insync_replicas=config.min_insync_replicas,
            log_start_offset=self.log.log_start_offset,
            log_end_offset=self.log.log_end_offset,
            counted_offset=self.counted_offset(),
            high_watermark=self.log.high_watermark,
            latest_epoch=self.log.latest_epoch,
            first_bad_offset=None if damage is None else damage.first_bad_offset,
        )

    def _note_damage(self) -> None:
        """A log that was found damaged is out of use, from now on until it was cut."""
        damage = self.damage
        if damage is not None and damage != self._known_damage:
            self.tell(LogDamaged())
            self._note(Kind.DAMAGE, damage.reason, after=f"{damage.first_bad_offset}")
            self._host.report_damage(self, damage)
        self._known_damage = damage

    async def _flush(self) -> None:
        """One flush after the other while more is due: each covers all that came meanwhile."""
        while self.log.is_flush_due:
            try:
                await self.log.flush()
            except StorageError as error:
                self.fail(error)
                return
            counted = self.counted_offset()
            self.tell(Flushed(counted))
            self.acks_leader.complete_up_to(counted)

    def _note(self, kind: Kind, cause: str, *, before: str = "", after: str) -> None:
        state = None if self._newest is None else self._newest[0]
        self._host.note(
            JournalEvent(
                kind,
                cause,
                before=before,
                after=after,
                topic=self.topic,
                partition=self.partition,
                leader_epoch=None if state is None else state.leader_epoch,
                partition_epoch=None if state is None else state.partition_epoch,
            )
        )

    async def _truncate_to(self, offset: int, cause: str) -> None:
        before, high_watermark = self.log.log_end_offset, self.log.high_watermark
        await self.log.truncate_to(offset)
        after = self.log.log_end_offset
        self.stats.truncated_records += before - after
        self._note(
            Kind.TRUNCATION,
            f"{before - after} records: {cause}",
            before=f"{before}",
            after=f"{after}",
        )
        report = log.error if after < high_watermark else log.info
        report(
            "truncated",
            partition=self.name,
            log_end_offset=after,
            before=before,
            high_watermark=high_watermark,
            records=before - after,
            committed_records=max(0, high_watermark - after),
        )

    async def _start_anew(self, offset: int, cause: str) -> None:
        before = self.log.log_end_offset
        records = before - self.log.log_start_offset
        await self.log.start_anew(offset)
        log.warning(
            "log begun anew", partition=self.name, offset=offset, before=before, records=records
        )
        if (before, records) != (offset, 0):
            cause = f"{records} records, begun anew: {cause}"
            self._note(Kind.TRUNCATION, cause, before=f"{before}", after=f"{offset}")
