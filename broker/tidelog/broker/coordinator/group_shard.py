"""Groups and committed offsets of one partition of `__consumer_offsets`: the core.

    heartbeat, join, commit, delete_…  decide: records to append, and the answer once they are there
    expire, follow_topics, retain   decide without a request: time has passed, topics have changed
    replay                          changes the state; nothing else does
    fetch_…, list, describe         read what was replayed

A coordinator appends a decision's records and replays them at once, before the next decision; it
answers when they are committed. Reads are answered when all that they saw is committed. Source:
Kafka's GroupCoordinatorShard, KIP-848.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import chain
from typing import TypeVar, cast

from tidelog.broker.coordinator.assignors.interface import Assignor
from tidelog.broker.coordinator.classic_groups import ClassicGroups
from tidelog.broker.coordinator.classic_joins import PROTOCOLS_MAX
from tidelog.broker.coordinator.classic_live_group import LiveClassicGroup
from tidelog.broker.coordinator.classic_member import held_bytes_of
from tidelog.broker.coordinator.classic_messages import ClassicStep, JoinRequest, Ticket
from tidelog.broker.coordinator.classic_record import Recorded
from tidelog.broker.coordinator.committer import Committer, Membership
from tidelog.broker.coordinator.consumer_group import FIRST_EPOCH
from tidelog.broker.coordinator.consumer_heartbeats import Heartbeat, HeartbeatDecision
from tidelog.broker.coordinator.consumer_live_group import LiveGroup, unknown_member
from tidelog.broker.coordinator.consumer_member import JOINING
from tidelog.broker.coordinator.coordinator_records import CoordinatorRecord
from tidelog.broker.coordinator.group_config import GroupConfig
from tidelog.broker.coordinator.group_key import check_group_id
from tidelog.broker.coordinator.member_bytes import GROWTH_BYTES_FREE, MemberBytes
from tidelog.broker.coordinator.moment import Moment
from tidelog.broker.coordinator.offset_records import offset_key
from tidelog.broker.coordinator.offset_retention import Retention
from tidelog.broker.coordinator.offsets import (
    CommittedOffset,
    CommittedOffsets,
    Decision,
    OffsetResult,
    TopicPartition,
    Topics,
)
from tidelog.broker.coordinator.state_bytes import StateBytes, asked_bytes, grows, no_room
from tidelog.broker.coordinator.target_assignments import TargetAssignment
from tidelog.core.errors import (
    GroupIdNotFoundError,
    GroupMaxSizeReachedError,
    InconsistentGroupProtocolError,
    NonEmptyGroupError,
)
from tidelog.v1.coordinator_records_pb2 import (
    ClassicGroupValue,
    CoordinatorKey,
    GroupMemberValue,
    GroupValue,
    OffsetCommitValue,
)

Former = TypeVar("Former", LiveGroup, LiveClassicGroup)


class GroupShard:
    """State of the groups of one partition, as of one leader epoch of this broker."""

    def __init__(
        self,
        *,
        config: GroupConfig,
        assignors: Mapping[str, Assignor],
        topics: Topics,
        leader_epoch: int,
        members_bytes: MemberBytes | None = None,
    ) -> None:
        """`members_bytes` counts its members in the node's pool."""
        self._config = config
        self._members_bytes = members_bytes or MemberBytes()
        self._assignors = assignors
        self.topics = topics
        # No other coordinator of a group has had these numbers.
        self._first_version = leader_epoch << 32
        self.offsets = CommittedOffsets(metadata_bytes_max=config.offset_metadata_max_bytes)
        self.groups: dict[str, LiveGroup] = {}
        """Groups of the consumer protocol."""
        self.classic = ClassicGroups(config.classic_limits, self._members_bytes)
        self._topics_seen: object = None
        self._begun: LiveGroup | None = None
        """Group of the newest decision to begin one: it is there when its records are replayed."""
        self._bytes = StateBytes()

    # Change

    def replay(self, record: CoordinatorRecord) -> None:
        """Apply a record that was appended or loaded."""
        kind = record.key.WhichOneof("kind")
        if kind == "offset_commit":
            value = cast("OffsetCommitValue | None", record.value)  # as of `VALUE_TYPES`
            self.offsets.replay(record.key.offset_commit, value)
        elif kind == "group":
            self._replay_group(record)
        elif kind == "member":
            self._replay_member(record.key, cast("GroupMemberValue | None", record.value))
        elif kind == "classic_group":
            self._replay_classic(record)
        if kind in ("group", "member", "classic_group"):
            self._count_bytes(getattr(record.key, kind).group_id)

    def replay_pending(self, record: CoordinatorRecord, producer_id: int) -> None:
        """Apply a record of a producer's transaction: offsets alone are written so."""
        value = record.value
        if isinstance(value, OffsetCommitValue):
            self.offsets.replay_pending(record.key.offset_commit, value, producer_id)

    def replay_end(self, producer_id: int, *, is_commit: bool) -> None:
        """Apply the end of a producer's transaction."""
        self.offsets.replay_end(producer_id, is_commit=is_commit)

    def pending_of(self, producer_id: int) -> list[CoordinatorRecord]:
        """Records that the end of a producer's transaction decides."""
        return [
            CoordinatorRecord(offset_key(one.group_id, *one.held), one.value)
            for one in self.offsets.pending.of_producer(producer_id)
        ]

    @property
    def state_bytes(self) -> int:
        """Bytes of all that is kept, about as many as in its records."""
        return self._bytes.total + self._members_bytes.classic_total + self.offsets.state_bytes

    def bytes_of(self, group_id: str) -> int:
        """Bytes of a group, its committed offsets aside."""
        classic = self.classic.by_id.get(group_id)
        return self._bytes.of(group_id) + (0 if classic is None else classic.state.held_bytes)

    def _count_bytes(self, group_id: str) -> None:
        live = self.groups.get(group_id)
        self._bytes.note(group_id, 0 if live is None else live.state.state_bytes)

    def _replay_group(self, record: CoordinatorRecord) -> None:
        group_id = record.key.group.group_id
        live = self._live(group_id)
        if record.value is not None:
            # A record of one protocol ends the group of the other, which had no members.
            self.classic.drop(group_id)
        live.state.replay_group(cast("GroupValue | None", record.value))
        if record.value is None and not live.state.members:
            del self.groups[group_id]

    def _replay_member(self, key: CoordinatorKey, value: GroupMemberValue | None) -> None:
        if value is None and key.member.group_id not in self.groups:
            return  # compaction may leave a tombstone of a group that was deleted
        live = self._live(key.member.group_id)
        live.state.replay_member(key.member.member_id, value)
        if value is None:
            live.sessions.end(key.member.member_id)

    def _replay_classic(self, record: CoordinatorRecord) -> None:
        group_id = record.key.classic_group.group_id
        self.classic.replay(group_id, cast("ClassicGroupValue | None", record.value))
        if record.value is not None:
            self.groups.pop(group_id, None)

    def _live(self, group_id: str) -> LiveGroup:
        live = self.groups.get(group_id)
        if live is None:
            live, self._begun = self._begun, None
            if live is None or live.state.group_id != group_id:
                live = self._new(group_id)
            self.groups[group_id] = live
        return live

    def _new(self, group_id: str, *, after: int = 0) -> LiveGroup:
        return LiveGroup(
            group_id,
            config=self._config,
            topics=self.topics,
            assignors=list(self._assignors),
            first_version=self._first_version,
            first_epoch=max(FIRST_EPOCH, after),
            members_bytes=self._members_bytes,
        )

    # Members

    def heartbeat(self, group_id: str, request: Heartbeat, now: Moment) -> HeartbeatDecision:
        """Decide a heartbeat of the consumer protocol. Raises `KafkaError`; nothing has changed."""
        check_group_id(group_id)
        former = self._former(self.classic.by_id, group_id)
        live = self.groups.get(group_id)
        if live is None:
            if request.epoch == JOINING:
                self._check_room(group_id)
            live = self._new(group_id, after=0 if former is None else former.epoch)
        if grows(live.state, request):
            if self.state_bytes >= self._config.group_partition_state_bytes:
                raise no_room(group_id, self.state_bytes)
            self._members_bytes.check_room(group_id, request.host, asked_bytes(request))
        decision = live.heartbeats.decide(request, now)
        if decision.records and group_id not in self.groups:
            # With the session that the decision began, once its records are appended.
            self._begun = live
        if decision.records and former is not None:
            decision.records[:0] = former.delete()
        return decision

    def join(
        self, group_id: str, request: JoinRequest, *, ticket: Ticket, fresh_id: str, now: Moment
    ) -> ClassicStep:
        """Decide a join of the classic protocol, see `ClassicRequests`."""
        check_group_id(group_id)
        former = self._former(self.groups, group_id)
        if group_id not in self.classic.by_id:
            self._check_room(group_id)
        self._check_join(group_id, request)
        first = Recorded(generation=0 if former is None else former.epoch)
        step = self.classic.join(
            group_id, request, ticket=ticket, fresh_id=fresh_id, now=now, first=first
        )
        if former is not None:
            # A generation of nobody: what follows has a higher number than the epochs before.
            live = self.classic.by_id[group_id].state
            record = live.record(replace(live.recorded, since_ms=now.wall_ms))
            step.records[:0] = [*former.delete(), record]
        return step

    def _check_join(self, group_id: str, request: JoinRequest) -> None:
        """Refuse a newcomer, or a member that grows, for which there is no room."""
        if len(request.protocols) > PROTOCOLS_MAX:
            return  # it is refused for that
        member = self.classic.member(group_id, request)
        growth = held_bytes_of(request, request.protocols)
        if member is not None:
            growth -= member.held_bytes
            if growth <= GROWTH_BYTES_FREE:
                return
        if self.state_bytes + growth > self._config.group_partition_state_bytes:
            raise no_room(group_id, self.state_bytes)
        self._members_bytes.check_room(group_id, request.host, growth)

    def _former(self, groups: Mapping[str, Former], group_id: str) -> Former | None:
        """Find the group of the other protocol that becomes one of this, since it is empty.

        Raises `InconsistentGroupProtocolError` if it has members.
        """
        former = groups.get(group_id)
        if former is not None and former.member_count:
            raise InconsistentGroupProtocolError(
                f"group {group_id!r} has {former.member_count} members of the {former.protocol} "
                "protocol: stop them first, or join another group"
            )
        return former

    def _check_room(self, group_id: str) -> None:
        limit = self._config.groups_max
        # Of pending offsets groups become.
        count = max(self.group_count, self.offsets.group_count + self.offsets.pending.group_count)
        if count >= limit and not self.exists(group_id):
            raise GroupMaxSizeReachedError(
                f"the coordinator of group {group_id!r} has {limit} groups, its maximum: "
                "delete groups that are not needed"
            )

    def expire(self, live: LiveGroup, now: Moment) -> list[CoordinatorRecord]:
        """Remove members whose sessions are over."""
        return live.heartbeats.expire(now)

    def have_topics_changed(self, seen: object) -> bool:
        """True when `seen`, the topics of an image, are others than at the last call."""
        before, self._topics_seen = self._topics_seen, seen
        return before is not seen

    def follow_topics(self, live: LiveGroup, now: Moment) -> list[CoordinatorRecord]:
        """Rebalance a group whose subscribed topics have other partitions than at its epoch."""
        if not live.state.members or not live.state.have_topics_changed(self.topics):
            return []
        return live.state.begin("subscribed topics changed", now.wall_ms, self.topics)

    def target_of(self, live: LiveGroup) -> TargetAssignment:
        """Begin the target assignment of the newest group epoch."""
        return TargetAssignment(live.state, self._assignors, self.topics)

    # Offsets

    def commit(
        self,
        group_id: str,
        committer: Committer,
        offsets: Iterable[tuple[TopicPartition, CommittedOffset]],
        now: Moment,
        *,
        producer_id: int | None = None,
    ) -> Decision:
        """Commit offsets. Raises `KafkaError` when the whole request is refused.

        `producer_id`: in the open transaction of this producer; the sender is checked for that.
        """
        group = self.check_committer(
            group_id, committer, now, is_transactional=producer_id is not None
        )
        if not self.exists(group_id) and not self.offsets.pending.has_group(group_id):
            self._check_room(group_id)
        # Nobody commits among members in a transaction alone, whose producer answers for it.
        has_owners = group is not None and (producer_id is None or not committer.is_nobody)
        return self.offsets.commit(
            group_id,
            offsets,
            self.topics,
            now.wall_ms,
            check=group.owner_check(committer.member_id) if group and has_owners else None,
            offsets_max=self._config.group_offsets_max,
            bytes_max=self._config.group_partition_state_bytes - self._bytes.total,
            producer_id=producer_id,
        )

    def check_committer(
        self, group_id: str, committer: Committer, now: Moment, *, is_transactional: bool
    ) -> LiveGroup | LiveClassicGroup | None:
        """Find the group of who commits. Raises `KafkaError` unless it may."""
        check_group_id(group_id)
        group = self.group(group_id)
        if group is not None and is_transactional:
            group.check_transactional_commit(committer)
        elif group is not None:
            group.check_commit(committer, now)
        elif not committer.is_nobody:
            raise unknown_member(group_id, committer)
        return group

    def fetch(
        self,
        group_id: str,
        committer: Committer,
        partitions: Iterable[TopicPartition],
        *,
        require_stable: bool = False,
    ) -> list[OffsetResult]:
        """Read committed offsets of partitions. Raises as `commit`, for one that names itself."""
        self._check_reader(group_id, committer)
        return self.offsets.fetch(group_id, partitions, self.topics, require_stable=require_stable)

    def fetch_all(
        self,
        group_id: str,
        committer: Committer,
        *,
        after: tuple[str, int],
        limit: int,
        require_stable: bool = False,
    ) -> list[OffsetResult]:
        """Read the next `limit` committed offsets, in order. Raises as `fetch`."""
        self._check_reader(group_id, committer)
        return self.offsets.fetch_all(
            group_id, self.topics, after=after, limit=limit, require_stable=require_stable
        )

    def delete_offsets(
        self, group_id: str, partitions: Iterable[TopicPartition], *, may_be_gone: bool = False
    ) -> Decision:
        """Delete offsets of topics without subscribers. Raises `GroupIdNotFoundError`.

        `may_be_gone`: for a later part of a request, whose first parts may have ended the group.
        """
        if not may_be_gone:
            self._check_exists(group_id)
        group = self.group(group_id)
        if group is not None:
            group.check_offset_delete()
        subscribed = () if group is None else group.topics
        return self.offsets.delete(group_id, partitions, self.topics, subscribed)

    def _check_reader(self, group_id: str, committer: Committer) -> None:
        check_group_id(group_id)
        if committer.is_nobody:
            return
        group = self.group(group_id)
        if group is None:
            raise unknown_member(group_id, committer)
        group.check_fetch(committer)

    # Groups

    def delete_group(self, group_id: str, *, limit: int | None = None) -> list[CoordinatorRecord]:
        """Delete a group without members and its offsets. Raises `KafkaError`.

        Deletes at most `limit` offsets; the group is there until all are gone.
        """
        self._check_exists(group_id)
        group = self.group(group_id)
        if group is not None and group.member_count:
            raise NonEmptyGroupError(
                f"group {group_id!r} has {group.member_count} members: stop them first"
            )
        if self.offsets.pending.has_group(group_id):
            raise NonEmptyGroupError(
                f"an open transaction has offsets of group {group_id!r}: end it first"
            )
        # The group's record goes last: what is left of half a deletion can be deleted again.
        records = self.offsets.delete_group(group_id, limit)
        if group is not None and len(records) == self.offsets.count(group_id):
            records += group.delete()
        return records

    def retain(self, group_id: str, now: Moment) -> list[CoordinatorRecord]:
        """Delete expired offsets of a group, and the group if nothing is left of it (KIP-211)."""
        group = self.group(group_id)
        empty_since_ms = None if group is None else group.empty_since_ms
        retention = Retention(
            retention_ms=self._config.retention_ms,
            subscribed=() if group is None else group.topics,
            empty_since_ms=empty_since_ms,
        )
        records = self.offsets.expire(group_id, retention, now.wall_ms)
        is_bare = len(records) == self.offsets.count(group_id)
        is_bare = is_bare and not self.offsets.pending.has_group(group_id)
        if group is not None and empty_since_ms is not None and is_bare:
            is_old = now.wall_ms - empty_since_ms >= self._config.retention_ms
            records += group.delete() if is_old else []
        return records

    def forget_topics(self, group_id: str) -> list[CoordinatorRecord]:
        """Delete a group's offsets of topics that were deleted."""
        return self.offsets.forget_topics(group_id, lambda one: self.topics.name(one) is None)

    @property
    def group_ids(self) -> list[str]:
        """Ids of groups with a state or with offsets, in order."""
        return sorted({*self.groups, *self.classic.by_id, *self.offsets.groups})

    def group(self, group_id: str) -> LiveGroup | LiveClassicGroup | None:
        """Find a group of either protocol; of two without members the recorded one."""
        live, classic = self.groups.get(group_id), self.classic.by_id.get(group_id)
        if live is None or classic is None:
            return live or classic
        return classic if classic.member_count or classic.state.is_recorded else live

    @property
    def group_count(self) -> int:
        """Number of groups of either protocol, those with committed offsets alone left out."""
        return len(self.groups) + len(self.classic.by_id)

    @property
    def memberships(self) -> Iterator[Membership]:
        """Groups of either protocol, those with committed offsets alone left out."""
        return chain(self.groups.values(), self.classic.by_id.values())

    def exists(self, group_id: str) -> bool:
        """True for a group with a state or with offsets."""
        return self.group(group_id) is not None or self.offsets.has_offsets(group_id)

    @property
    def committing_ids(self) -> list[str]:
        """Ids of groups with offsets, pending ones too, in order."""
        return sorted({*self.offsets.groups, *self.offsets.pending.groups})

    def _check_exists(self, group_id: str) -> None:
        check_group_id(group_id)
        if not self.exists(group_id):
            raise GroupIdNotFoundError(f"group {group_id!r} does not exist: check its name")
