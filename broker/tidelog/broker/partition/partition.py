"""A partition replica at work: its core, its log, and its waiting requests.

Owns the log's use: carries out the core's orders, in order, and reports back events. Appends and
reads complete at once; truncation, and a flush that must precede an acknowledgement, take time:
until they are done a newer state from the image waits, so that roles never change in between.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Protocol, TypeVar

from tidelog.broker.partition import log_cuts
from tidelog.broker.partition.log_at_work import LogAtWork, may_work_again
from tidelog.broker.partition.partition_listener import (
    Leadership,
    LeadershipEnd,
    PartitionListener,
)
from tidelog.broker.partition.purgatory import FetchWaiters, OffsetWaiters
from tidelog.broker.partition.replica_stats import ReplicaStats
from tidelog.broker.replica.effects import (
    AnnounceLeadership,
    AnnounceLeadershipEnd,
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
    RestartLog,
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
from tidelog.core.errors import (
    DamagedLogError,
    LeaderNotAvailableError,
    StorageError,
    code_name,
    error_for,
)
from tidelog.core.journal import Event as JournalEvent
from tidelog.core.journal import Kind
from tidelog.core.logs import get_logger
from tidelog.core.wire_errors import error_message
from tidelog.log.config import LogConfig
from tidelog.log.partition_log import Damage, PartitionLog
from tidelog.metadata.image import PartitionImage
from tidelog.v1.common_pb2 import Error

T = TypeVar("T")

_CHANGE_NO_LOG = (Ticked, ProduceRequested, FetchRequested, FetchAnswered)
"""Events after which the log is unchanged, unless an effect or a later event says otherwise."""

log = get_logger(__name__)


class PartitionHost(Protocol):
    """Port of a partition to its broker; called on the loop, returns at once."""

    def start_fetching(self, partition: Partition, leader_id: int) -> None:
        """Fetch from `leader_id` only."""

    def stop_fetching(self, partition: Partition) -> None:
        """Stop fetching."""

    def propose_isr(self, partition: Partition) -> None:
        """Send `replica.leader.proposal()` to the controller."""

    def report_damage(self, partition: Partition, damage: Damage) -> None:
        """Report a damaged log, which is not served."""

    def report_failure(self, partition: Partition) -> None:
        """Report a failed disk, see `failure`, or a start that may have lost records."""

    def touch(self, partition: Partition) -> None:
        """Note that the partition's log may have changed."""

    def note(self, event: JournalEvent) -> None:
        """Record the event in the node's journal."""

    def spawn(self, name: str, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run `work` in the background; its exceptions end the node."""


class Partition:
    """A replica held by this broker; serves nothing until `open_with` provides its log."""

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
        listener: PartitionListener,
    ) -> None:
        self.topic = topic
        self.topic_id = topic_id
        self.partition = partition
        self.replica = replica
        self.stats = stats
        self.leadership: Leadership | None = None
        """As announced to the listener; None while it leads in no epoch."""
        self.failure: str | None = None
        """Error of its disk; while set, it serves nothing until it is reopened."""
        self.has_only_no_space = False
        """True: all its disk errors were a lack of space, so it may work when reopened."""
        self.has_failed_sync = False
        """True: records of a failed sync may be lost, acknowledged ones included."""
        self.retry_fetch_at_ms = 0
        """Earliest time of the next fetch; set after an answer that needs a change first."""
        self.consumers = FetchWaiters()
        """Consumer fetches, woken when the high watermark rises or the role changes."""
        self.followers = FetchWaiters()
        """Follower fetches, woken when the log grows or the role changes."""
        self.acks_all = OffsetWaiters()
        """Producers waiting for the high watermark to reach an offset."""
        self.acks_leader = OffsetWaiters()
        """Producers waiting for this log to be flushed up to an offset."""
        self.deletions = OffsetWaiters()
        """Deletions waiting for the low watermark to reach an offset."""
        self._host = host
        self._listener = listener
        self._clock = clock
        self._log: PartitionLog | None = None
        self._newest: tuple[PartitionImage, LogConfig] | None = None
        self._idle = asyncio.Event()
        self._idle.set()
        self._flush_task: asyncio.Task[None] | None = None
        self._known_damage: Damage | None = None
        self.contradictions = 0
        """Number of consecutive leader's answers in contradiction to this log."""

    @property
    def name(self) -> str:
        """Name as in Kafka, which is also the folder's name."""
        return f"{self.topic}-{self.partition}"

    @property
    def log(self) -> PartitionLog:
        """Log of the replica; raises `KafkaError` LEADER_NOT_AVAILABLE until it is open."""
        if self._log is None:
            raise LeaderNotAvailableError(f"{self.name} is still being opened")
        return self._log

    @property
    def is_failed(self) -> bool:
        """True when its disk failed."""
        return self.failure is not None

    @property
    def is_open(self) -> bool:
        """True when its log is open and usable."""
        return self._log is not None and not self.replica.is_closed

    @property
    def damage(self) -> Damage | None:
        """Known damage of the log; None: there is none."""
        return None if self._log is None else self._log.damage

    @property
    def may_have_lost(self) -> bool:
        """True when a start cut off possibly acknowledged records, which is unreported."""
        return self._log is not None and self._log.folder.may_have_lost

    @property
    def is_settled(self) -> bool:
        """True when its log was opened, or cannot be."""
        return self._log is not None or self.replica.is_closed

    @property
    def is_sound(self) -> bool:
        """True when its log is open, usable, and not known to be damaged."""
        return self.is_open and self.damage is None

    @property
    def outage(self) -> str | None:
        """Reason why it serves nothing, for people; None when it works or is being opened."""
        if self.is_failed:
            return "its disk failed"
        damage = self.damage
        return damage and f"its log is damaged from offset {damage.first_bad_offset} on"

    # Called for the image

    def open_with(self, partition_log: PartitionLog) -> None:
        """Start serving with an open log."""
        self._log = partition_log
        self._apply_newest()
        if self.may_have_lost:
            self._host.report_failure(self)

    def change(self, state: PartitionImage, config: LogConfig) -> None:
        """Take over a state from the image as soon as no log work is running."""
        self._newest = (state, config)
        self._apply_newest()

    def fail(self, error: StorageError) -> None:
        """Take the partition offline: if damaged, until its log is healed, otherwise for good."""
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
            self.handle(LogClosed(LeadershipEnd.OFFLINE))
            is_news = True
        if is_news:
            self._host.report_failure(self)

    async def tend(self, work: Callable[[PartitionLog], Awaitable[T]]) -> T | None:
        """Run upkeep on the log if it is usable; never raises for disk errors."""
        done = None
        if self.is_sound:
            log_start_offset = self.log.log_start_offset
            try:
                done = await work(self.log)
                if self.log.log_start_offset != log_start_offset:
                    self.handle(LogStartRaised(self.log.log_start_offset))
            except StorageError as error:
                self.fail(error)
        if self.is_open:
            self._note_damage()
        return done

    def note_loss_reported(self) -> None:
        """Note that the controllers know that it `may_have_lost`."""
        try:
            self.log.folder.forget_loss()
        except StorageError as error:
            self.fail(error)

    def tick(self) -> None:
        """Handle the passing of time."""
        self.handle(Ticked())
        if self.damage is not None:
            self._apply_newest()

    def end_service(self, end: LeadershipEnd = LeadershipEnd.CLOSED) -> None:
        """End every role at once: waiting requests fail with an unknown outcome."""
        if not self.replica.is_closed:
            self.handle(LogClosed(end))

    async def close(self) -> None:
        """End the service, wait for running log work, close the log."""
        self.end_service()
        await self._idle.wait()
        if self._flush_task is not None:
            await self._flush_task
        if self._log is not None:
            await self._log.close()

    # Called by appender, reader and fetcher

    def epoch_end(self, epoch: int) -> EpochEnd:
        """Largest epoch ≤ `epoch` in the log, and its end offset (KIP-279)."""
        return EpochEnd(*self.log.epoch_end_offset(epoch))

    def check_leadership(self, current_leader_epoch: int | None) -> None:
        """Raise `KafkaError` unless this replica leads, in that epoch if given."""
        refused = self.replica.leader_refusal(current_leader_epoch)
        if refused is not None:
            raise error_for(refused.code, refused.message)

    def handle(self, event: Event) -> Answer | None:
        """Pass `event` to the core, carry out its effects, return the one for the caller."""
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
        """Record in the journal that the leader refused a fetch."""
        code = code_name(error.code)
        cause = f"the leader refused a fetch: {code}: {error.message}"
        self._note(Kind.REFUSAL, cause, before="own fetch refused", after=code)

    def ackable_offset(self) -> int:
        """End of the ackable records: the log end, unless a flush must come first."""
        return self.log.recovery_point if self.log.is_flush_due else self.log.log_end_offset

    def flush_soon(self) -> None:
        """Flush in the background while flush.messages requires it; then answer producers."""
        if self._flush_task is None or self._flush_task.done():
            self._flush_task = self._host.spawn(f"flush-{self.name}", self._flush())

    def at_work(self) -> LogAtWork:
        """Context manager for the log; a `StorageError` takes the partition offline."""
        return LogAtWork(self)

    def prepare_work(self, order: Answer | None) -> Coroutine[Any, Any, object] | None:
        """Log work ordered by the core, if any; to be run by `at_rest_after`."""
        match order:
            case TruncateTo(offset, cause):
                return log_cuts.truncate_to(
                    self.log,
                    offset,
                    name=self.name,
                    cause=cause,
                    stats=self.stats,
                    note=self._note_cut,
                )
            case RestartLog(offset, cause):
                return log_cuts.restart_at(
                    self.log, offset, name=self.name, cause=cause, note=self._note_cut
                )
            case DeleteRecords(offset):
                return self.log.delete_records(offset)
        return None

    def at_rest_after(self, work: Coroutine[Any, Any, object]) -> asyncio.Task[None]:
        """Run log work that no role change may interrupt; it counts as running from this call on.

        It runs whether or not the caller awaits it, and the log is at rest after its end, even on
        an error: otherwise it could never be closed.
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

    # Internals

    def _carry_out(self, effect: Effect) -> None:
        match effect:
            case RaiseHighWatermark(offset):
                self._host.touch(self)
                self.log.set_high_watermark(offset)
                self.acks_all.complete_up_to(offset)
                self.consumers.wake()
                self.followers.note()
                if self.leadership is not None:
                    self._listener.on_high_watermark_updated(self.leadership, offset)
            case RaiseLowWatermark(offset):
                self.deletions.complete_up_to(offset)
            case AssignEpoch(epoch, start_offset):
                self.log.assign_epoch(epoch=epoch, start_offset=start_offset)
                log.info("leading", partition=self.name, epoch=epoch, start_offset=start_offset)
                cause = f"this broker leads: epoch {epoch} begins at offset {start_offset}"
                self._note(Kind.EPOCH, cause, after=f"{start_offset}")
            case AnnounceLeadership() | AnnounceLeadershipEnd():
                self._announce(effect)
            case FailWaiters() | FailDeletions():
                self._fail_waiting(effect)
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

    def _fail_waiting(self, effect: FailWaiters | FailDeletions) -> None:
        error = error_message(effect.code, effect.message)
        if isinstance(effect, FailDeletions):
            self.deletions.fail_all(error)
        else:
            self.acks_all.fail_all(error)
            self.acks_leader.fail_all(error)

    def _announce(self, effect: AnnounceLeadership | AnnounceLeadershipEnd) -> None:
        leadership = Leadership(self.topic, self.topic_id, self.partition, effect.leader_epoch)
        if isinstance(effect, AnnounceLeadershipEnd):
            self.leadership = None
            self._listener.on_resignation(leadership, effect.end)
            return
        self.leadership = leadership
        self._listener.on_election(leadership)
        self._listener.on_high_watermark_updated(leadership, effect.high_watermark)

    def _apply_newest(self) -> None:
        if not self.is_open or not self._idle.is_set():
            return
        self._note_damage()
        if self._newest is None:
            return
        state, config = self._newest
        self.log.config = config
        work = self.prepare_work(self.handle(self._partition_changed(state, config)))
        if work is not None:
            self.at_rest_after(work)
        if self.replica.role is not None and self.log.is_flush_due:
            # For followers, too: with flush.messages=1 a power loss must lose nothing.
            self.flush_soon()

    def _partition_changed(self, state: PartitionImage, config: LogConfig) -> PartitionChanged:
        damage = self.damage
        return PartitionChanged(
            state=state,
            min_insync_replicas=config.min_insync_replicas,
            log_start_offset=self.log.log_start_offset,
            log_end_offset=self.log.log_end_offset,
            ackable_offset=self.ackable_offset(),
            high_watermark=self.log.high_watermark,
            latest_epoch=self.log.latest_epoch,
            first_bad_offset=None if damage is None else damage.first_bad_offset,
        )

    def _note_damage(self) -> None:
        """Take a log found damaged out of use, until it is cut."""
        damage = self.damage
        if damage is not None and damage != self._known_damage:
            self.handle(LogDamaged())
            self._note(Kind.DAMAGE, damage.reason, after=f"{damage.first_bad_offset}")
            self._host.report_damage(self, damage)
        self._known_damage = damage

    async def _flush(self) -> None:
        """Flush repeatedly while required: each flush covers all appends before it."""
        while self.log.is_flush_due:
            try:
                await self.log.flush()
            except StorageError as error:
                self.fail(error)
                return
            counted = self.ackable_offset()
            self.handle(Flushed(counted))
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

    def _note_cut(self, cut: log_cuts.Cut) -> None:
        self._note(Kind.TRUNCATION, cut.cause, before=f"{cut.before}", after=f"{cut.after}")
