"""Brokers that coordinate one after another over one partition's log, in memory.

Each has its own copy of the log; the leader's is committed when `commit` says so. A broker that was
replaced may not know it: it goes on with its own copy, of which nothing is committed any more.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from functools import lru_cache
from types import SimpleNamespace
from typing import Any

from tidelog.broker.coordinator.assignors.catalogue import assignors_of
from tidelog.broker.coordinator.classic_calls import ClassicCalls
from tidelog.broker.coordinator.classic_messages import (
    JoinAnswer,
    JoinRequest,
    MemberIdGivenError,
    SyncAnswer,
    SyncRequest,
)
from tidelog.broker.coordinator.coordinator_records import CoordinatorRecord, decode
from tidelog.broker.coordinator.group_config import GroupConfig
from tidelog.broker.coordinator.group_coordinator import GroupCoordinator
from tidelog.broker.coordinator.group_journal import GroupJournal
from tidelog.broker.coordinator.group_lag import GroupLag
from tidelog.broker.coordinator.group_ports import ControllersView, GroupObservers
from tidelog.broker.coordinator.group_shard import GroupShard
from tidelog.broker.coordinator.runtime import Hosted
from tidelog.broker.partition.partition_listener import Leadership, LeadershipEnd
from tidelog.broker.partition.partition_loader import PartitionSlice
from tidelog.core.chance import SeededRandom
from tidelog.core.errors import (
    BrokerNotAvailableError,
    CoordinatorLoadInProgressError,
    NotLeaderOrFollowerError,
    TidelogError,
)
from tidelog.core.internal_topics import OFFSETS_TOPIC
from tidelog.core.journal import Event
from tidelog.core.system import SystemClock
from tidelog.records.batch import parse_header

GROUP = "g"
LAG_REFRESH_MS = 3_600_000
TOPIC, TOPIC_ID = "orders", b"o" * 16
ORDERS = SimpleNamespace(topic_id=TOPIC_ID, name=TOPIC, partitions=[None] * 12)
IMAGE: Any = SimpleNamespace(
    topics={OFFSETS_TOPIC: SimpleNamespace(partitions=[None]), TOPIC: ORDERS},
    topic_by_id={TOPIC_ID: ORDERS}.get,
)


class SkewedClock(SystemClock):
    """A clock that may be set forward: the process was paused for so long."""

    def __init__(self) -> None:
        self.ahead_ms = 0

    def monotonic_ms(self) -> int:
        return super().monotonic_ms() + self.ahead_ms


class Broker:
    """A broker that leads the partition in one leader epoch."""

    def __init__(
        self, epoch: int, batches: list[bytes], *, config: GroupConfig, random: SeededRandom
    ) -> None:
        self.led = Leadership(OFFSETS_TOPIC, b"i" * 16, 0, epoch)
        self.batches = list(batches)
        self.high_watermark = 0
        self.refusals: list[TidelogError] = []
        """What each next append raises."""
        self.commits_at_once = True
        self.fatal: list[BaseException] = []
        self.events: list[Event] = []
        self.clock = SkewedClock()
        self.is_deposed = False
        self.has_session = True
        """True while the controllers hear it."""
        listeners = SimpleNamespace(add=lambda listener, topic: None)
        replica_manager: Any = SimpleNamespace(writer=self, loader=self, listeners=listeners)
        self.coordinator = GroupCoordinator(
            config=config,
            assignors=assignors_of(["uniform"]),
            replica_manager=replica_manager,
            controllers=ControllersView(
                lambda: IMAGE, lambda: self.has_session, self.clock.monotonic_ms, self._confirm
            ),
            clock=self.clock,
            random=random,
            on_fatal=self.fatal.append,
            observers=GroupObservers(
                journal=GroupJournal(note=self.events.append, clock=self.clock),
                lag=GroupLag(
                    refresh_ms=LAG_REFRESH_MS,
                    image=lambda: IMAGE,
                    ask=self._no_broker,
                    clock=self.clock,
                ),
            ),
        )

    async def _no_broker(self, broker_id: int, request: object) -> Any:
        raise BrokerNotAvailableError(f"{broker_id} is none, {request}")

    async def _confirm(self) -> bool:
        return self.has_session

    @property
    def calls(self) -> ClassicCalls:
        """The plain interface under a listener."""
        return self.coordinator.classic

    async def elected(self) -> Broker:
        """Be elected, and wait until the shard is loaded."""
        self.coordinator.runtime.on_election(self.led)
        self.note_commit(self.end_offset)
        while True:
            try:
                self.coordinator.runtime.find(0)
            except CoordinatorLoadInProgressError:
                await asyncio.sleep(0.001)
            else:
                return self

    @property
    def hosted(self) -> Hosted[GroupShard]:
        return self.coordinator.runtime.find(0)

    # The log

    @property
    def end_offset(self) -> int:
        return sum(parse_header(one).records_count for one in self.batches)

    def append(self, leadership: Leadership, records: bytes) -> Any:
        """See `PartitionWriter`."""
        if leadership != self.led or self.is_deposed:
            raise NotLeaderOrFollowerError("not the leader")
        if self.refusals:
            raise self.refusals.pop(0)
        self.batches.append(records)
        if self.commits_at_once:
            asyncio.get_running_loop().call_soon(self._commit_soon, self.end_offset)
        return SimpleNamespace(end_offset=self.end_offset)

    async def slices(self, leadership: Leadership, until: object) -> AsyncIterator[PartitionSlice]:
        """See `PartitionLoader`."""
        del leadership, until
        offset = 0
        for batch in list(self.batches):
            end = offset + parse_header(batch).records_count
            yield PartitionSlice(0, end, batch)
            offset = end
            await asyncio.sleep(0)

    def _commit_soon(self, end_offset: int) -> None:
        if self.commits_at_once:
            self.note_commit(end_offset)

    def note_commit(self, end_offset: int) -> None:
        """Have the records below an offset committed."""
        if not self.is_deposed:
            self.high_watermark = max(self.high_watermark, end_offset)
            self.coordinator.runtime.on_high_watermark_updated(self.led, self.high_watermark)

    def depose(self) -> None:
        """Learn that another one leads."""
        if not self.is_deposed:
            self.is_deposed = True
            self.coordinator.runtime.on_resignation(self.led, LeadershipEnd.DEPOSED)

    def records(self, end_offset: int | None = None) -> Iterator[CoordinatorRecord]:
        """Decode the records of the log, below an offset."""
        offset = 0
        for batch in self.batches:
            for record in _decoded(batch):
                if end_offset is None or offset < end_offset:
                    yield record
                offset += 1


@lru_cache(maxsize=10_000)
def _decoded(batch: bytes) -> list[CoordinatorRecord]:
    count = parse_header(batch).records_count
    raw = PartitionSlice(0, count, batch).read_records()
    return [record for one in raw if (record := decode(one.key, one.value)) is not None]


async def joined(broker: Broker, join: JoinRequest) -> JoinAnswer:
    """Join as Kafka's clients do: with the id that is given."""
    try:
        return await broker.calls.join(GROUP, join)
    except MemberIdGivenError as given:
        named = JoinRequest(**{**_fields(join), "member_id": given.member_id})
        return await broker.calls.join(GROUP, named)


def _fields(join: JoinRequest) -> dict[str, Any]:
    return {name: getattr(join, name) for name in join.__dataclass_fields__}


async def synced(
    broker: Broker, answer: JoinAnswer, assignments: dict[str, bytes] | None = None
) -> SyncAnswer:
    """Ask for the assignment of one that has joined."""
    sync = SyncRequest(answer.member_id, answer.generation, assignments=assignments or {})
    return await broker.calls.sync(GROUP, sync)
