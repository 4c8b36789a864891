"""The coordinator of groups: its shards, their timers, assignments, and pushes to members.

The shell over `GroupShard`. Requests are decided in the step in which they arrive; commits at the
end of it, together. Owns what is done without a request: sessions that end, topics that change,
assignments that are made in slices, offsets that expire; and the members' connections.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TypeVar
from uuid import UUID

from tidelog.broker.coordinator.assignors.interface import Assignor
from tidelog.broker.coordinator.catch_up import CatchUp
from tidelog.broker.coordinator.classic_calls import ClassicCalls
from tidelog.broker.coordinator.committer import Committer
from tidelog.broker.coordinator.consumer_heartbeats import Heartbeat, Reply, check_id
from tidelog.broker.coordinator.consumer_live_group import LiveGroup
from tidelog.broker.coordinator.consumer_sessions import Answered
from tidelog.broker.coordinator.coordinator_records import (
    CoordinatorRecord,
    proof_of_leadership,
)
from tidelog.broker.coordinator.group_assignments import GroupAssignments
from tidelog.broker.coordinator.group_config import GroupConfig
from tidelog.broker.coordinator.group_key import check_group_id, partition_of
from tidelog.broker.coordinator.group_metrics import GroupMetrics
from tidelog.broker.coordinator.group_ports import ControllersView, GroupObservers
from tidelog.broker.coordinator.group_shard import GroupShard
from tidelog.broker.coordinator.image_topics import ImageTopics
from tidelog.broker.coordinator.known_epochs import KnownEpochs
from tidelog.broker.coordinator.member_bytes import NodeMembers
from tidelog.broker.coordinator.member_streams import MemberKey, MemberStream, MemberStreams
from tidelog.broker.coordinator.moment import Moment
from tidelog.broker.coordinator.offsets import (
    OffsetResult,
    TopicPartition,
)
from tidelog.broker.coordinator.ordered_heartbeats import answered, is_late, numbered
from tidelog.broker.coordinator.pattern_matching import PatternMatching
from tidelog.broker.coordinator.runtime import CoordinatorRuntime
from tidelog.broker.coordinator.transactional_commits import (
    PARTITIONS_PER_SLICE,
    HostedGroups,
    Offsets,
    TransactionalCommits,
)
from tidelog.broker.partition.partition_listener import Leadership
from tidelog.broker.replica_manager import ReplicaManager
from tidelog.core.background import Background
from tidelog.core.env import Clock, Random
from tidelog.core.errors import (
    CoordinatorNotAvailableError,
    FencedMemberEpochError,
    NotCoordinatorError,
    TidelogError,
    UnknownMemberIdError,
)
from tidelog.core.internal_topics import OFFSETS_TOPIC
from tidelog.core.logs import get_logger

log = get_logger(__name__)

TICK_S = 0.25
"""Interval of looks at sessions and topics."""
GROUPS_PER_TURN = 20
"""Groups that are looked at before other work has the loop."""

T = TypeVar("T")


class GroupCoordinator:
    """Groups of the partitions of `__consumer_offsets` that this broker leads.

    Methods raise `KafkaError`: those of the shard, and those of `Hosted.append` and `committed`.
    """

    def __init__(
        self,
        *,
        config: GroupConfig,
        assignors: Mapping[str, Assignor],
        replica_manager: ReplicaManager,
        controllers: ControllersView,
        clock: Clock,
        random: Random,
        on_fatal: Callable[[BaseException], None],
        observers: GroupObservers,
    ) -> None:
        self.config = config
        self.commits = 0
        """Number of committed offsets since the start."""
        self.streams = MemberStreams(config.group_streams_max)
        self.journal = observers.journal
        self._assignors = assignors
        self._image = controllers.image
        self._clock = clock
        self._random = random
        self._has_session = controllers.has_session
        self._confirm = controllers.confirm
        catch_up = CatchUp(controllers.known_as_of_ms, clock)
        self._background = Background(on_fatal)
        self._patterns = PatternMatching(self._image, self._background)
        self._topics = ImageTopics(self._image, self._patterns.topics)
        timeout_ms = config.offsets_commit_timeout_ms
        self.epochs = KnownEpochs(self._topics, catch_up, clock, timeout_ms=timeout_ms)
        self._replica_manager = replica_manager
        self.runtime: CoordinatorRuntime[GroupShard] = CoordinatorRuntime(
            hooks=self,
            writer=replica_manager.writer,
            loader=replica_manager.loader,
            clock=clock,
            background=self._background,
            watch=observers.journal,
        )
        self.metrics = GroupMetrics(self.runtime, observers.lag)
        self._lag = observers.lag
        self.classic = ClassicCalls(
            find=self._find,
            committed=self._committed,
            proof=self._proof,
            clock=clock,
            random=random,
        )
        """Members of the classic protocol: join, sync, heartbeat, leave."""
        self.transactional = TransactionalCommits(
            find=self._find,
            committed=self._committed,
            writer=replica_manager.writer,
            now=self._now,
            timeout_ms=timeout_ms,
        )
        self._assignments = GroupAssignments(
            self.streams, committed=self._committed, clock=clock, background=self._background
        )
        self._has_timers, self._members = False, NodeMembers(config.group_members_max_bytes)

    def start(self) -> None:
        """Begin to follow the leaderships of the internal topic."""
        self._replica_manager.listeners.add(self.runtime, topic=OFFSETS_TOPIC)
        self._replica_manager.writer.watch_markers(OFFSETS_TOPIC, self.runtime.on_marker_appended)

    async def stop(self) -> None:
        """End all tasks; calls that wait end by their own limits."""
        self.classic.stop()
        await self._background.stop()

    def stats(self) -> Mapping[str, float]:
        """Metrics: counters since the start, and current values."""
        shards = [one.shard for one in self.runtime.active()]
        groups = [group for one in shards for group in one.memberships]
        return {
            "groups": len(groups),
            "group_members": sum(one.member_count for one in groups),
            "group_member_streams": len(self.streams),
            "group_member_bytes": self._members.held_bytes,
            "group_commits": self.commits,
            "group_partition_loads": self.runtime.loads,
            "group_partitions_loading": self.runtime.loading,
            "group_partition_load_seconds": self.journal.load_ms / 1000,
            "group_partition_load_max_seconds": self.journal.load_ms_max / 1000,
            "group_events_left_out": self.journal.left_out,
            **self.metrics.stats(),
        }

    # Members

    async def heartbeat(self, group_id: str, request: Heartbeat) -> Reply:
        """Decide a heartbeat of the consumer protocol; return when its records are committed."""
        await self._match(group_id, request.pattern)
        hosted = self._find(group_id)
        decision = hosted.shard.heartbeat(group_id, request, self._now())
        end = hosted.append(decision.records or self._proof())
        if decision.records:
            self._assignments.touch(hosted, group_id)
        await self._committed(hosted, end, is_write=bool(decision.records))
        return decision.reply

    async def heartbeat_in_order(
        self, group_id: str, request: Heartbeat, connection: int
    ) -> Reply | None:
        """Decide a heartbeat that numbers nothing, of a connection that keeps order.

        `connection` is its number; one request of it is decided at a time. None: its client has a
        later connection, so that nobody waits for this answer, and nothing was changed.
        """

        def newest(shard: GroupShard, group_id: str) -> Answered | None:
            live = shard.groups.get(group_id)
            return None if live is None else live.sessions.answered(request.member_id)

        def note(shard: GroupShard, group_id: str) -> None:
            live = shard.groups.get(group_id)
            if live is not None:
                before = live.sessions.answered(request.member_id)
                now = answered(request, reply, connection, before)
                live.sessions.note_answered(request.member_id, now)

        before = self.peek(group_id, newest)
        if is_late(connection, before):
            return None
        request = numbered(request, connection, before)
        reply = await self.heartbeat(group_id, request)
        self.peek(group_id, note)
        return reply

    def new_member_id(self) -> str:
        """Make an id that no other member has."""
        return str(UUID(bytes=self._random.randbytes(16), version=4))

    def connect(self, group_id: str, member_id: str) -> MemberStream:
        """Take a connection for the member's newest one. `disconnect` must follow."""
        check_group_id(group_id)
        check_id("member id", member_id)
        return self.streams.connect(MemberKey(group_id, member_id))

    def disconnect(self, stream: MemberStream) -> None:
        """Note that a connection ended; the member has its grace to come back."""
        if not self.streams.disconnect(stream):
            return
        try:
            hosted = self._find(stream.key.group_id)
        except TidelogError:
            return  # another broker's member by now
        live = hosted.shard.groups.get(stream.key.group_id)
        if live is not None:
            live.heartbeats.disconnect(stream.key.member_id, self._now())

    # Offsets

    async def commit(
        self, group_id: str, committer: Committer, offsets: Offsets
    ) -> list[OffsetResult]:
        """Commit offsets, a result each; a long request in parts, each for itself."""
        results: list[OffsetResult] = []
        end = 0
        hosted = self._find(group_id)
        for first in range(0, len(offsets) or 1, PARTITIONS_PER_SLICE):
            part = offsets[first : first + PARTITIONS_PER_SLICE]

            def decide(
                shard: GroupShard, part: Offsets = part
            ) -> tuple[list[CoordinatorRecord], list[OffsetResult]]:
                return shard.commit(group_id, committer, part, self._now())

            end, of_part = await hosted.append_soon(decide)
            results += of_part
        self.commits += sum(one.error is None for one in results)
        await self._committed(hosted, end, is_write=bool(results))
        return results

    async def fetch(
        self,
        group_id: str,
        committer: Committer,
        partitions: Sequence[TopicPartition],
        *,
        stable: bool = False,
    ) -> list[OffsetResult]:
        """Read committed offsets; `stable`: none that an open transaction may change."""
        hosted = self._find(group_id)
        results: list[OffsetResult] = []
        for first in range(0, len(partitions) or 1, PARTITIONS_PER_SLICE):
            part = partitions[first : first + PARTITIONS_PER_SLICE]
            results += hosted.shard.fetch(group_id, committer, part, require_stable=stable)
            await asyncio.sleep(0)
        return await self._read_offsets(hosted, results)

    async def fetch_all(
        self,
        group_id: str,
        committer: Committer,
        after: tuple[str, int],
        limit: int,
        *,
        stable: bool = False,
    ) -> list[OffsetResult]:
        """Read the next `limit` committed offsets of existing topics, in order."""
        hosted = self._find(group_id)
        results = hosted.shard.fetch_all(
            group_id, committer, after=after, limit=limit, require_stable=stable
        )
        return await self._read_offsets(hosted, results)

    async def delete_offsets(
        self, group_id: str, partitions: Sequence[TopicPartition]
    ) -> list[OffsetResult]:
        """Delete committed offsets, a result each; a long request in parts."""
        await self._match(group_id)
        hosted = self._find(group_id)
        results: list[OffsetResult] = []
        end, is_write = 0, False
        for first in range(0, len(partitions) or 1, PARTITIONS_PER_SLICE):
            part = partitions[first : first + PARTITIONS_PER_SLICE]
            decision = hosted.shard.delete_offsets(group_id, part, may_be_gone=bool(first))
            with self.journal.because("its offsets were deleted on request"):
                end = hosted.append(decision.records)
            results += decision.results
            is_write = is_write or bool(decision.records)
            await asyncio.sleep(0)
        await self._committed(hosted, end, is_write=is_write)
        return results

    # Groups

    async def delete_group(self, group_id: str) -> None:
        """Delete a group without members, and its offsets; many in parts.

        Raises `NonEmptyGroupError` also when a member joins between two parts: offsets of the
        first ones are gone then.
        """
        hosted = self._find(group_id)
        end = 0
        for part in range(hosted.shard.offsets.count(group_id) // PARTITIONS_PER_SLICE + 1):
            if part and not hosted.shard.exists(group_id):
                break
            with self.journal.because("it was deleted on request"):
                records = hosted.shard.delete_group(group_id, limit=PARTITIONS_PER_SLICE)
                end = hosted.append(records)
            await asyncio.sleep(0)
        await self._committed(hosted, end, is_write=True)

    async def look_at(self, group_id: str, look: Callable[[GroupShard, str], T]) -> T:
        """Read from the group's shard; return what `look` does when that is committed."""
        check_group_id(group_id)
        hosted = self._find(group_id)
        return await self._read(hosted, look(hosted.shard, group_id))

    def peek(self, group_id: str, look: Callable[[GroupShard, str], T]) -> T | None:
        """Look at a group as it is now, committed or not; None: it is of another broker now."""
        try:
            return look(self._find(group_id).shard, group_id)
        except TidelogError:
            return None

    async def group_ids(self) -> list[str]:
        """Ids of all groups of this broker, in order."""
        found: set[str] = set()
        for hosted in self.runtime.active():
            found.update(await self._read(hosted, hosted.shard.group_ids))
        return sorted(found)

    # Work without a request

    async def _tick_forever(self) -> None:
        while True:
            await asyncio.sleep(TICK_S)
            self.journal.report_left_out()
            await self._patterns.follow(self._used_patterns(), timeout_s=TICK_S)
            for hosted in self.runtime.active():
                await self._tick(hosted)

    def _used_patterns(self) -> list[str]:
        groups = (live for one in self.runtime.active() for live in one.shard.groups.values())
        return sorted({pattern for live in groups for pattern in live.state.patterns})

    def _is_matched(self, live: LiveGroup | None) -> bool:
        """True unless patterns of the group, which was loaded, wait to be matched."""
        return live is None or self._patterns.are_known(live.state.patterns)

    async def _tick(self, hosted: HostedGroups) -> None:
        have_topics_changed = hosted.shard.have_topics_changed(self._topics.revision)
        for number, group_id in enumerate(list(hosted.shard.groups), start=1):
            live = hosted.shard.groups.get(group_id)
            if live is not None and self._is_matched(live):
                self._look_after(hosted, group_id, live, have_topics_changed=have_topics_changed)
            if number % GROUPS_PER_TURN == 0 or (live is not None and live.state.patterns):
                await asyncio.sleep(0)
        if have_topics_changed:
            for group_id in hosted.shard.committing_ids:
                with self.journal.because("the topics of its offsets were deleted"):
                    self._append_later(hosted, hosted.shard.forget_topics(group_id))
                await asyncio.sleep(0)

    def _look_after(
        self, hosted: HostedGroups, group_id: str, live: LiveGroup, *, have_topics_changed: bool
    ) -> None:
        now = self._now()
        records = hosted.shard.expire(live, now)
        if have_topics_changed and not records:
            records = hosted.shard.follow_topics(live, now)
        if self._append_later(hosted, records) or live.is_assignment_due(now.monotonic_ms):
            self._assignments.touch(hosted, group_id)
        self._dismiss(group_id, live)

    def _append_later(self, hosted: HostedGroups, records: list[CoordinatorRecord]) -> bool:
        """Append what nobody asked for; what cannot be appended now is found again."""
        if not records:
            return False
        try:
            hosted.append(records)
        except TidelogError as error:
            log.info("no append", partition=hosted.partition, error=str(error))
            return False
        return True

    def _dismiss(self, group_id: str, live: LiveGroup) -> None:
        """Say to connected members that are fenced or removed that they are."""
        for member_id in live.sessions.take_dismissed(live.state.members):
            key = MemberKey(group_id, member_id)
            if member_id in live.state.members:
                why = "it did not let go of partitions in time: let go of all and join again"
                self.journal.note_fenced(group_id, member_id)
                self.streams.push(
                    key, FencedMemberEpochError(f"member {member_id} is fenced: {why}")
                )
            else:
                self.streams.push(
                    key, UnknownMemberIdError(f"member {member_id} was removed: join again")
                )

    async def _retain_forever(self) -> None:
        while True:
            await asyncio.sleep(self.config.offsets_retention_check_interval_ms / 1000)
            for hosted in self.runtime.active():
                for group_id in hosted.shard.group_ids:
                    if not self._is_matched(hosted.shard.groups.get(group_id)):
                        continue
                    with self.journal.because("it expired: offsets.retention.minutes"):
                        self._append_later(hosted, hosted.shard.retain(group_id, self._now()))
                    await asyncio.sleep(0)

    # Shards

    def new_shard(self, leadership: Leadership) -> GroupShard:
        """See `RuntimeHooks`. The first of a broker begins its timers."""
        if not self._has_timers:
            self._has_timers = True
            self._background.spawn("group-sessions", self._tick_forever())
            self._background.spawn("classic-groups", self.classic.watch_forever())
            self._background.spawn("offsets-retention", self._retain_forever())
            self._background.spawn("group-lag", self._lag.run(self.runtime.active))
        return GroupShard(
            config=self.config,
            assignors=self._assignors,
            topics=self._topics,
            leader_epoch=leadership.leader_epoch,
            members_bytes=self._members.begin(leadership.partition),
        )

    async def on_loaded(self, hosted: HostedGroups) -> None:
        """See `RuntimeHooks`."""
        await self.classic.on_loaded(hosted)

    def on_ended(self, hosted: HostedGroups) -> None:
        """See `RuntimeHooks`: members that wait have to find the next coordinator."""
        self.classic.on_ended(hosted)
        self._members.end(hosted.partition)
        for stream in self.streams.all():
            if self._partition_of(stream.key.group_id) in (None, hosted.partition):
                stream.push(NotCoordinatorError("this broker is not the coordinator any more"))

    def _partition_of(self, group_id: str) -> int | None:
        topic = self._image().topics.get(OFFSETS_TOPIC)
        return None if topic is None else partition_of(group_id, len(topic.partitions))

    def _find(self, group_id: str) -> HostedGroups:
        check_group_id(group_id)  # before its hash, which takes a step for each character
        partition = self._partition_of(group_id)
        if partition is None:
            raise CoordinatorNotAvailableError(
                f"{OFFSETS_TOPIC} does not exist yet: ask for the group's coordinator first"
            )
        return self.runtime.find(partition)

    async def _match(self, group_id: str, pattern: str | None = None) -> None:
        """Have a request's pattern and those of the group matched before anything is decided."""
        live = self._find(group_id).shard.groups.get(group_id)
        if pattern or not self._is_matched(live):
            of_group = [] if live is None else sorted(live.state.patterns)
            await self._patterns.match(of_group, pattern)

    async def _read(self, hosted: HostedGroups, seen: T) -> T:
        await self._committed(hosted, hosted.append(self._proof()), is_write=False)
        return seen

    async def _read_offsets(self, hosted: HostedGroups, seen: T) -> T:
        proof = proof_of_leadership(has_session=self._has_session() and await self._confirm())
        await self._committed(hosted, hosted.append(proof), is_write=False)
        return seen

    def _proof(self) -> list[CoordinatorRecord]:
        return proof_of_leadership(has_session=self._has_session())

    def _committed(
        self, hosted: HostedGroups, end_offset: int, *, is_write: bool
    ) -> Awaitable[None]:
        timeout_ms = self.config.offsets_commit_timeout_ms
        return hosted.committed(end_offset, is_write=is_write, timeout_ms=timeout_ms)

    def _now(self) -> Moment:
        return Moment(self._clock.monotonic_ms(), self._clock.wall_ms())
