"""Replicas of a broker, according to the image, and their background loops.

Owns the partitions' life cycle: opened one after another, changed with each image, closed and
removed when the image assigns them to others. Requests go through `Appender` and `Reader`,
replication through `Fetchers`, ISR changes through `IsrProposals`; the core of each partition
decides.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

from tidelog.broker.controller_link.replica_state_reports import (
    ReplicaStateReports,
    ReportReplicaState,
)
from tidelog.broker.image_changes import ImageChanges
from tidelog.broker.partition.appender import Appender
from tidelog.broker.partition.log_directory import LogDirectory
from tidelog.broker.partition.log_upkeep import LogUpkeep
from tidelog.broker.partition.marker_appender import MarkerAppender
from tidelog.broker.partition.partition import Partition
from tidelog.broker.partition.partition_listeners import PartitionListeners
from tidelog.broker.partition.partition_loader import PartitionLoader
from tidelog.broker.partition.partition_map import PartitionMap
from tidelog.broker.partition.partition_writer import PartitionWriter
from tidelog.broker.partition.ports import ReplicaPorts
from tidelog.broker.partition.reader import Reader
from tidelog.broker.partition.record_deleter import RecordDeleter
from tidelog.broker.partition.replica_config import ReplicaConfig
from tidelog.broker.partition.replica_descriptions import ReplicaDescriptions
from tidelog.broker.partition.replica_stats import ReplicaStats
from tidelog.broker.replica.events import FollowersFenced, LeadershipEnd
from tidelog.broker.replica.leader import Leader
from tidelog.broker.replica.replica import Replica
from tidelog.broker.replication.alter_partition import AlterPartition, IsrProposals
from tidelog.broker.replication.fetch_session import FetchSession
from tidelog.broker.replication.fetcher import Fetchers
from tidelog.core.background import CLOSE_MS_MAX, Background, wait_for_tasks
from tidelog.core.errors import StorageError
from tidelog.core.journal import Event
from tidelog.core.logs import get_logger
from tidelog.log.config import LogConfig
from tidelog.log.log_folder import Life
from tidelog.log.partition_log import Damage
from tidelog.metadata.image import EMPTY_IMAGE, MetadataImage, TopicImage
from tidelog.metadata.topic_rules import effective_config
from tidelog.net.call import LOCAL_CALL, Call
from tidelog.net.own_cluster import OwnCluster
from tidelog.net.unread_responses import UnreadResponses

SETTLE_POLL_MS = 10
RECOVERY_POLL_S = 0.05

log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class ControllerCalls:
    """Requests of a broker's replicas to the controllers."""

    alter_partition: AlterPartition
    report_state: ReportReplicaState


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaHooks:
    """Callbacks of the node around the replicas."""

    on_recovered: Callable[[], Awaitable[None]]
    """Every log was opened in this boot."""
    on_broken: Callable[[int], None]
    """The connection to the leader with this id broke."""
    on_fatal: Callable[[BaseException], None]
    """A background task failed: the node must stop."""
    note: Callable[[Event], None] = lambda _: None
    """An event for the journal."""


class ReplicaManager:
    """Data plane of a broker. Everything runs on the loop that calls `start`."""

    def __init__(
        self,
        *,
        broker_id: int,
        log_dir: str,
        ports: ReplicaPorts,
        config: ReplicaConfig,
        controllers: ControllerCalls,
        hooks: ReplicaHooks,
        unread: UnreadResponses,
        own: OwnCluster | None = None,
    ) -> None:
        clock = ports.clock
        self._broker_id, self._clock, self._config = broker_id, clock, config
        self._held_until_ms, self._are_closed_cleanly = 0, True
        self._found: list[tuple[str, int, bytes]] = []  # folders found before the first image
        self._stats, self._on_recovered = ReplicaStats(), hooks.on_recovered
        self._background = Background(hooks.on_fatal)
        self._log_directory = LogDirectory(log_dir=log_dir, disk=ports.disk, clock=clock)
        partitions = self._partitions = PartitionMap(broker_id, hooks.note)
        self.listeners = PartitionListeners(partitions, self._background)
        """Those of coordinators; they load and append by the next two."""
        self.writer = PartitionWriter(
            partitions=partitions, config=config, is_held=lambda: self.is_held
        )
        self.loader = PartitionLoader(partitions, config)
        self._changes = ImageChanges(self._bring_in_line, config, self._background)
        self._slots, self._beginning = asyncio.Semaphore(config.log_tasks_max), asyncio.Lock()
        self._lives: dict[str, asyncio.Task[None]] = {}
        self.appender = Appender(
            partitions=partitions,
            config=config,
            clock=clock,
            workers=ports.workers,
            is_held=lambda: self.is_held,
        )
        self.reader = Reader(
            partitions=partitions, config=config, clock=clock, stats=self._stats, unread=unread
        )
        self._upkeep = LogUpkeep(
            partitions=partitions, config=config, clock=clock, workers=ports.workers
        )
        self.record_deleter = RecordDeleter(partitions=partitions, config=config, clock=clock)
        self.markers = MarkerAppender(partitions=partitions, writer=self.writer, clock=clock)
        self.descriptions = ReplicaDescriptions(partitions, log_dir=log_dir, disk=ports.disk)
        self._build_replication(ports, controllers, hooks.on_broken, own)

    def _build_replication(
        self,
        ports: ReplicaPorts,
        controllers: ControllerCalls,
        on_broken: Callable[[int], None],
        own: OwnCluster | None,
    ) -> None:
        broker_id, config, partitions = self._broker_id, self._config, self._partitions
        self._fetchers = Fetchers(
            broker_id=broker_id,
            partitions=partitions,
            ports=ports,
            config=config,
            background=self._background,
            on_broken=on_broken,
            own=own,
        )
        self._proposals = IsrProposals(
            broker_id=broker_id,
            partitions=partitions,
            alter_partition=controllers.alter_partition,
            random=ports.random,
            config=config,
            is_held=lambda: self.is_held,
        )
        self._reports = ReplicaStateReports(
            broker_id=broker_id,
            partitions=partitions,
            report_state=controllers.report_state,
            random=ports.random,
            config=config,
        )

    def begin_life(self, life: Life) -> None:
        """Set the life of the process in which logs are opened. Call before `start`."""
        self._log_directory.life = life

    async def start(self, broker_epoch: int) -> None:
        """Start without partitions; `on_image` assigns them."""
        self.set_broker_epoch(broker_epoch)
        for number, owned in enumerate(self._log_directory.list_owned()):
            self._found.append(owned)
            if number % self._config.changes_per_slice_max == 0:
                await asyncio.sleep(0)
        self.spawn("recovery", self._await_recovery())
        self.spawn("remove-leftovers", self._log_directory.remove_leftovers())
        self.spawn("isr-proposals", self._proposals.run())
        self.spawn("replica-state-reports", self._reports.run())
        self.spawn("tick", self._tick_forever())
        self._upkeep.start(self._background)

    async def stop(self) -> bool:
        """Answer waiting requests, end all loops, close all logs; True if all closed cleanly.

        Each wait is bounded: by `CLOSE_MS_MAX` for the disk, by `STOP_MS_MAX` for the rest.
        """
        await self._fetchers.stop()
        for partition in list(self._partitions.held.values()):
            self._live(partition.name, partial(self._close, partition))
        self._are_closed_cleanly &= await wait_for_tasks(
            self._lives.values(), limit_ms=CLOSE_MS_MAX
        )
        await self.listeners.drain()
        await self._background.stop()
        return self._are_closed_cleanly

    @property
    def is_prepared(self) -> bool:
        """True when every log is open, or known to fail, and the controllers know of all damage.

        Before that this broker must not be elected: its reports must come first.
        """
        return (
            self._partitions.image is not EMPTY_IMAGE
            and self._changes.is_idle
            and all(one.is_settled for one in self._partitions.held.values())
            and self._reports.is_idle
        )

    def set_broker_epoch(self, broker_epoch: int) -> None:
        """Set the epoch of a registration, the first or a later one."""
        self._fetchers.broker_epoch = broker_epoch
        self._proposals.broker_epoch = broker_epoch
        self._reports.broker_epoch = broker_epoch

    def on_image(self, image: MetadataImage) -> None:
        """Hold exactly the partitions that `image` assigns to this broker, in their roles.

        Call it with images no older than the broker's own registration: an earlier one may name
        its former self as a leader.
        """
        before, self._partitions.image = self._partitions.image, image
        if before is EMPTY_IMAGE:
            self._remove_strays(image)
        self._changes.note(before, image)
        if image.brokers is not before.brokers:
            self._note_fenced(before, image)

    def session(self, call: Call = LOCAL_CALL) -> FetchSession:
        """Return a fetch session for the connection that `call` came by."""
        return FetchSession(self.reader, self._partitions, self._clock, call)

    @property
    def is_held(self) -> bool:
        """True when the cluster is about to stop."""
        return self._clock.monotonic_ms() < self._held_until_ms

    def hold(self, until_ms: int) -> None:
        """Refuse writes and propose no ISR changes until `until_ms` of the monotonic clock."""
        self._held_until_ms = until_ms

    def release(self) -> None:
        """End a `hold`."""
        self._held_until_ms = 0

    async def settle(self, timeout_ms: int) -> bool:
        """Wait until the ISR holds all records of the led partitions; False on a timeout."""
        deadline_ms = self._clock.monotonic_ms() + timeout_ms
        while not all(leader.is_settled() for leader in self._leaders()):
            if self._clock.monotonic_ms() >= deadline_ms:
                return False
            await asyncio.sleep(SETTLE_POLL_MS / 1000)
        return True

    def led_partitions(self) -> list[Partition]:
        """Partitions led by this broker."""
        held = self._partitions.held.values()
        return [partition for partition in held if partition.replica.leader is not None]

    def stats(self) -> Mapping[str, float]:
        """Metrics: counters since the start, and current values."""
        held, leaders = self._partitions.held, list(self._leaders())
        return {
            "partitions": len(held),
            "leader_partitions": len(leaders),
            "under_replicated_partitions": sum(one.is_under_replicated() for one in leaders),
            "under_min_isr_partitions": sum(not one.has_min_insync() for one in leaders),
            "offline_replicas": sum(partition.is_failed for partition in held.values()),
            "damaged_partitions": sum(partition.damage is not None for partition in held.values()),
            "produce_in_flight_bytes": self.appender.in_flight_bytes,
            "produce_inspections": self.appender.inspections,
            "waiting_fetches": self.reader.waiting_consumers,
            "waiting_reads": self.reader.waiting_reads,
            "replica_unread_response_bytes": self.reader.unread_by_replicas.size_bytes,
            **asdict(self._stats),
        }

    # Called by partitions on their host

    def start_fetching(self, partition: Partition, leader_id: int) -> None:
        """See `PartitionHost`."""
        self._fetchers.start_fetching(partition, leader_id)

    def stop_fetching(self, partition: Partition) -> None:
        """See `PartitionHost`."""
        self._fetchers.stop_fetching(partition)

    def propose_isr(self, partition: Partition) -> None:
        """See `PartitionHost`."""
        self._proposals.submit(partition)

    def report_damage(self, partition: Partition, damage: Damage) -> None:
        """See `PartitionHost`."""
        log.error(
            "log damaged",
            partition=partition.name,
            first_bad_offset=damage.first_bad_offset,
            reason=damage.reason,
        )
        self._reports.submit(partition)

    def report_failure(self, partition: Partition) -> None:
        """See `PartitionHost`."""
        self._reports.submit(partition)

    def touch(self, partition: Partition) -> None:
        """See `PartitionHost`."""
        self._upkeep.touch(partition)

    def note(self, event: Event) -> None:
        """See `PartitionHost`."""
        self._partitions.note(event)

    def spawn(self, name: str, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """See `PartitionHost`."""
        return self._background.spawn(name, work)

    # Lives

    def _note_fenced(self, before: MetadataImage, now: MetadataImage) -> None:
        fenced = frozenset(
            broker_id
            for broker_id, broker in before.brokers.items()
            if not broker.is_fenced and not now.has_live(broker_id, broker.broker_epoch)
        )
        if fenced:
            for partition in self.led_partitions():
                partition.handle(FollowersFenced(fenced))

    def _bring_in_line(self, key: tuple[str, int]) -> None:
        """Hold the partition as in the newest image, or drop it."""
        image = self._partitions.image
        topic, state = image.topics.get(key[0]), image.partition(*key)
        partition = self._partitions.held.get(key)
        if partition is not None and (topic is None or topic.topic_id != partition.topic_id):
            self._remove(partition, LeadershipEnd.DELETED)
            partition = None
        if topic is None or state is None:
            return
        if self._broker_id not in state.replicas:
            if partition is not None:
                self._remove(partition, LeadershipEnd.DEPOSED)
            return
        config = effective_config(topic, image)
        if partition is None:
            partition = self._partitions.held[key] = self._new_partition(topic, state.partition)
            self._live(partition.name, partial(self._open, partition, config))
        partition.change(state, config)
        self._fetchers.note_changed(partition)
        self._note_state(partition)

    def _new_partition(
        self, topic: TopicImage, partition: int, *, served_epoch: int = -1
    ) -> Partition:
        return Partition(
            topic=topic.name,
            topic_id=topic.topic_id,
            partition=partition,
            replica=Replica(
                broker_id=self._broker_id,
                lag_ms_max=self._config.replica_lag_time_max_ms,
                served_epoch=served_epoch,
            ),
            host=self,
            clock=self._clock,
            stats=self._stats,
            listener=self.listeners,
        )

    def _note_state(self, partition: Partition) -> None:
        """Report a disk state that differs from the image's."""
        state = self._partitions.image.partition(partition.topic, partition.partition)
        if state is not None:
            self._reports.note_state(partition, state)

    def _remove(self, partition: Partition, end: LeadershipEnd) -> None:
        del self._partitions.held[partition.topic, partition.partition]
        partition.end_service(end)
        self._live(partition.name, partial(self._close_and_remove, partition))

    def _remove_strays(self, image: MetadataImage) -> None:
        """Remove replicas of topics deleted while this broker was down.

        Only folders with a known owner, whose topic is not in the image, which is at least as new
        as this broker's registration.
        """
        known = {topic.topic_id for topic in image.topics.values()}
        found, self._found = self._found, []
        for topic, partition, topic_id in found:
            if topic_id not in known:
                name = f"{topic}-{partition}"
                log.info("replica of a deleted topic", partition=name, topic_id=topic_id.hex())
                work = partial(self._remove_folder, topic, partition, topic_id)
                self._live(name, work)

    def _live(self, name: str, work: Callable[[], Awaitable[None]]) -> None:
        """Run `work` after all earlier work on a replica in the same folder, unless stopped."""
        previous = self._lives.get(name)

        async def run() -> None:
            if previous is not None:
                await previous
            async with self._slots:
                async with self._beginning:  # starts create files: one per step of the loop
                    await asyncio.sleep(0)
                await work()
            if self._lives[name] is task:
                del self._lives[name]

        task = self._lives[name] = self.spawn(f"life-of-{name}", run())

    async def _open(self, partition: Partition, config: LogConfig) -> None:
        try:
            partition_log = await self._log_directory.open_log(
                partition.topic, partition.partition, topic_id=partition.topic_id, config=config
            )
            if partition_log.is_flush_due and partition_log.damage is None:
                # Unflushed records of a killed process may not be acknowledged by fetching from
                # their end.
                await partition_log.flush()
        except StorageError as error:
            partition.fail(error)
        else:
            partition.open_with(partition_log)
            self._note_state(partition)

    async def _close(self, partition: Partition) -> None:
        self._are_closed_cleanly &= not partition.is_failed
        try:
            await partition.close()
        except StorageError as error:
            self._are_closed_cleanly = False
            log.warning("log not closed cleanly", partition=partition.name, error=str(error))
            partition.fail(error)

    async def _close_and_remove(self, partition: Partition) -> None:
        await self._close(partition)
        await self._remove_folder(partition.topic, partition.partition, partition.topic_id)

    async def _remove_folder(self, topic: str, partition: int, topic_id: bytes) -> None:
        try:
            await self._log_directory.remove(topic, partition, tag=topic_id.hex())
        except StorageError as error:
            log.warning("replica not removed", partition=f"{topic}-{partition}", error=str(error))

    # Loops

    def _leaders(self) -> Iterator[Leader]:
        for partition in self._partitions.held.values():
            if partition.replica.leader is not None:
                yield partition.replica.leader

    async def _await_recovery(self) -> None:
        while not self.is_prepared:  # noqa: ASYNC110  # of many logs and reports
            await asyncio.sleep(RECOVERY_POLL_S)
        await self._on_recovered()

    async def _tick_forever(self) -> None:
        while True:
            await asyncio.sleep(self._config.replica_lag_time_max_ms / 2000)
            for number, partition in enumerate(list(self._partitions.held.values()), start=1):
                if self._partitions.held.get((partition.topic, partition.partition)) is partition:
                    partition.tick()
                    self._note_state(partition)
                if number % self._config.changes_per_slice_max == 0:
                    await asyncio.sleep(0)
            self._reopen_where_space_is()

    def _reopen_where_space_is(self) -> None:
        """Reopen partitions that failed on a full disk, once the controllers know of that."""
        image = self._partitions.image
        full = [
            partition for partition in self._partitions.held.values() if partition.has_only_no_space
        ]
        if not full or not self._log_directory.has_space():
            return
        for partition in full:
            state = image.partition(partition.topic, partition.partition)
            is_known = state is not None and self._broker_id in state.offline
            if is_known and partition.name not in self._lives:
                self._live(partition.name, partial(self._close_and_reopen, partition))

    async def _close_and_reopen(self, partition: Partition) -> None:
        await self._close(partition)
        key, image = (partition.topic, partition.partition), self._partitions.image
        topic, state = image.topics.get(partition.topic), image.partition(*key)
        is_held = self._partitions.held.get(key) is partition
        if topic is None or state is None or not is_held or not partition.has_only_no_space:
            return  # it was deleted, or has failed with another error meanwhile
        config = effective_config(topic, image)
        reopened = self._partitions.held[key] = self._new_partition(
            topic, partition.partition, served_epoch=partition.replica.served_epoch
        )
        reopened.change(state, config)
        await self._open(reopened, config)
