"""Groups and committed offsets of one partition of `__consumer_offsets`: the core.

    heartbeat, commit, delete_…     decide: records to append, and the answer once they are there
    expire, follow_topics, retain   decide without a request: time has passed, topics have changed
    replay                          changes the state; nothing else does
    fetch_…, list, describe         read what was replayed

A coordinator appends a decision's records and replays them at once, before the next decision; it
answers when they are committed. Reads are answered when all that they saw is committed. Source:
Kafka's GroupCoordinatorShard, KIP-848.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, cast

from tidelog.broker.coordinator.assignors.interface import Assignor
from tidelog.broker.coordinator.consumer_group import ConsumerGroup
from tidelog.broker.coordinator.consumer_heartbeats import (
    ConsumerHeartbeats,
    Heartbeat,
    HeartbeatDecision,
    HeartbeatLimits,
)
from tidelog.broker.coordinator.consumer_member import JOINING
from tidelog.broker.coordinator.consumer_sessions import ConsumerSessions
from tidelog.broker.coordinator.coordinator_records import CoordinatorRecord
from tidelog.broker.coordinator.group_config import GroupConfig
from tidelog.broker.coordinator.group_key import check_group_id
from tidelog.broker.coordinator.moment import Moment
from tidelog.broker.coordinator.offsets import (
    CommittedOffset,
    CommittedOffsets,
    Decision,
    OffsetResult,
    Retention,
    TopicPartition,
    Topics,
)
from tidelog.broker.coordinator.target_assignments import TargetAssignment
from tidelog.core.errors import (
    FencedInstanceIdError,
    FencedMemberEpochError,
    GroupIdNotFoundError,
    GroupMaxSizeReachedError,
    NonEmptyGroupError,
    StaleMemberEpochError,
    UnknownMemberIdError,
)
from tidelog.v1.coordinator_records_pb2 import (
    CoordinatorKey,
    GroupMemberValue,
    GroupValue,
    OffsetCommitValue,
)

NOBODY_EPOCH = -1
"""Epoch of a commit without membership."""


class Committer(NamedTuple):
    """Sender of a commit or of a fetch of committed offsets, by its own words."""

    member_id: str = ""
    epoch: int = NOBODY_EPOCH
    instance_id: str | None = None
    sequence: int = 0
    """Number of a commit among the member's; 0: not numbered."""

    @property
    def is_nobody(self) -> bool:
        """True for a request without membership, as of a tool."""
        return not self.member_id and self.epoch < 0


class LiveGroup:
    """A group of the consumer protocol, with its sessions, which are in memory only."""

    def __init__(
        self,
        group_id: str,
        *,
        config: GroupConfig,
        topics: Topics,
        assignors: Sequence[str],
        first_version: int,
    ) -> None:
        self.state = ConsumerGroup(group_id)
        self.sessions = ConsumerSessions(
            session_timeout_ms=config.group_consumer_session_timeout_ms,
            disconnect_grace_ms=config.group_consumer_disconnect_grace_ms,
            first_version=first_version,
        )
        limits = HeartbeatLimits(config.group_consumer_max_size, assignors)
        self.heartbeats = ConsumerHeartbeats(self.state, self.sessions, topics, limits)
        self.assigned_ms = 0
        """Time of the last assignment, by the clock that only rises; 0: there was none."""


class GroupShard:
    """State of the groups of one partition, as of one leader epoch of this broker."""

    def __init__(
        self,
        *,
        config: GroupConfig,
        assignors: Mapping[str, Assignor],
        topics: Topics,
        leader_epoch: int,
    ) -> None:
        self._config = config
        self._assignors = assignors
        self._topics = topics
        # No other coordinator of a group has had these numbers.
        self._first_version = leader_epoch << 32
        self.offsets = CommittedOffsets(metadata_bytes_max=config.offset_metadata_max_bytes)
        self.groups: dict[str, LiveGroup] = {}
        self._topics_seen: object = None

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

    def _replay_group(self, record: CoordinatorRecord) -> None:
        group_id = record.key.group.group_id
        live = self._live(group_id)
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

    def _live(self, group_id: str) -> LiveGroup:
        live = self.groups.get(group_id)
        if live is None:
            live = self.groups[group_id] = self._new(group_id)
        return live

    def _new(self, group_id: str) -> LiveGroup:
        return LiveGroup(
            group_id,
            config=self._config,
            topics=self._topics,
            assignors=list(self._assignors),
            first_version=self._first_version,
        )

    # Members

    def heartbeat(self, group_id: str, request: Heartbeat, now: Moment) -> HeartbeatDecision:
        """Decide a heartbeat of the consumer protocol. Raises `KafkaError`; nothing has changed."""
        check_group_id(group_id)
        live = self.groups.get(group_id)
        if live is None:
            if request.epoch == JOINING:
                self._check_room(group_id)
            live = self._new(group_id)
        decision = live.heartbeats.decide(request, now)
        if decision.records:
            # With the session that the decision began.
            self.groups.setdefault(group_id, live)
        return decision

    def _check_room(self, group_id: str) -> None:
        limit = self._config.groups_max
        if len(self.groups) >= limit and not self.offsets.has_offsets(group_id):
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
        if not live.state.members or not live.state.have_topics_changed(self._topics):
            return []
        return live.state.begin("subscribed topics changed", now.wall_ms, self._topics)

    def target_of(self, live: LiveGroup) -> TargetAssignment:
        """Begin the target assignment of the newest group epoch."""
        return TargetAssignment(live.state, self._assignors, self._topics)

    # Offsets

    def commit(
        self,
        group_id: str,
        committer: Committer,
        offsets: Iterable[tuple[TopicPartition, CommittedOffset]],
        now: Moment,
    ) -> Decision:
        """Commit offsets. Raises `KafkaError` when the whole request is refused."""
        check_group_id(group_id)
        self._check_committer(group_id, committer)
        self._check_sequence(group_id, committer)
        if not self.offsets.has_offsets(group_id) and group_id not in self.groups:
            self._check_room(group_id)
        live = self.groups.get(group_id)
        return self.offsets.commit(
            group_id,
            offsets,
            self._topics,
            now.wall_ms,
            check=None if live is None else _owner_check(live.state, committer.member_id),
            offsets_max=self._config.group_offsets_max,
        )

    def _check_sequence(self, group_id: str, committer: Committer) -> None:
        """Raise `StaleMemberEpochError` for a commit that a later one has overtaken."""
        live = self.groups.get(group_id)
        if live is None or not committer.sequence:
            return
        if not live.sessions.note_commit(committer.member_id, committer.sequence):
            raise StaleMemberEpochError(
                f"commit {committer.sequence} of member {committer.member_id} came late: a later "
                "one came before"
            )

    def fetch(
        self, group_id: str, committer: Committer, partitions: Iterable[TopicPartition]
    ) -> list[OffsetResult]:
        """Read committed offsets of partitions. Raises as `commit`, for one that names itself."""
        self._check_reader(group_id, committer)
        return self.offsets.fetch(group_id, partitions, self._topics)

    def fetch_all(
        self, group_id: str, committer: Committer, *, after: tuple[str, int], limit: int
    ) -> list[OffsetResult]:
        """Read the next `limit` committed offsets, in order. Raises as `fetch`."""
        self._check_reader(group_id, committer)
        return self.offsets.fetch_all(group_id, self._topics, after=after, limit=limit)

    def delete_offsets(self, group_id: str, partitions: Iterable[TopicPartition]) -> Decision:
        """Delete offsets of topics without subscribers. Raises `GroupIdNotFoundError`."""
        self._check_exists(group_id)
        live = self.groups.get(group_id)
        subscribed = frozenset[str]() if live is None else live.state.topics
        return self.offsets.delete(group_id, partitions, self._topics, subscribed)

    def _check_reader(self, group_id: str, committer: Committer) -> None:
        check_group_id(group_id)
        if not committer.is_nobody:
            self._check_committer(group_id, committer)

    def _check_committer(self, group_id: str, committer: Committer) -> None:
        live = self.groups.get(group_id)
        if committer.is_nobody and (live is None or not live.state.members):
            return
        member = None if live is None else live.state.members.get(committer.member_id)
        if live is not None and committer.instance_id is not None:
            holder = live.state.instance(committer.instance_id)
            if holder is not None and holder.member_id != committer.member_id:
                raise FencedInstanceIdError(
                    f"group.instance.id {committer.instance_id!r} belongs to another member now: "
                    f"{holder.member_id}"
                )
        if live is None or member is None:
            raise UnknownMemberIdError(
                f"group {group_id!r} has no member {committer.member_id!r}: join it, or stop its "
                "members to commit without membership"
            )
        if live.sessions.is_fenced(member.member_id):
            raise FencedMemberEpochError(
                f"member {member.member_id} is fenced: let go of all partitions and join again"
            )
        if committer.epoch != member.epoch:
            raise StaleMemberEpochError(
                f"member {member.member_id} is at epoch {member.epoch}, not {committer.epoch}: "
                "commit again at its newest epoch what it still owns"
            )

    # Groups

    def delete_group(self, group_id: str) -> list[CoordinatorRecord]:
        """Delete a group without members and its offsets. Raises `KafkaError`."""
        self._check_exists(group_id)
        live = self.groups.get(group_id)
        if live is not None and live.state.members:
            raise NonEmptyGroupError(
                f"group {group_id!r} has {len(live.state.members)} members: stop them first"
            )
        # The group's record goes last: what is left of half a deletion can be deleted again.
        of_group = [] if live is None else live.state.delete()
        return [*self.offsets.delete_group(group_id), *of_group]

    def retain(self, group_id: str, now: Moment) -> list[CoordinatorRecord]:
        """Delete expired offsets of a group, and the group if nothing is left of it (KIP-211)."""
        live = self.groups.get(group_id)
        has_members = live is not None and bool(live.state.members)
        retention = Retention(
            retention_ms=self._config.retention_ms,
            subscribed=frozenset() if live is None else live.state.topics,
            empty_since_ms=None if live is None or has_members else live.state.changed_ms,
        )
        records = self.offsets.expire(group_id, retention, now.wall_ms)
        is_bare = len(records) == self.offsets.count(group_id)
        if live is not None and not has_members and is_bare and self._is_old(live, now):
            records += live.state.delete()
        return records

    def _is_old(self, live: LiveGroup, now: Moment) -> bool:
        return now.wall_ms - live.state.changed_ms >= self._config.retention_ms

    def forget_topics(self, group_id: str) -> list[CoordinatorRecord]:
        """Delete a group's offsets of topics that were deleted."""
        return self.offsets.forget_topics(group_id, lambda one: self._topics.name(one) is None)

    @property
    def group_ids(self) -> list[str]:
        """Ids of groups with a state or with offsets, in order."""
        return sorted({*self.groups, *self.offsets.groups})

    def exists(self, group_id: str) -> bool:
        """True for a group with a state or with offsets."""
        return group_id in self.groups or self.offsets.has_offsets(group_id)

    def _check_exists(self, group_id: str) -> None:
        check_group_id(group_id)
        if not self.exists(group_id):
            raise GroupIdNotFoundError(f"group {group_id!r} does not exist: check its name")


def _owner_check(group: ConsumerGroup, member_id: str) -> Callable[[TopicPartition], None]:
    """Refuse offsets of partitions that another member has: they come late."""

    def check(partition: TopicPartition) -> None:
        holder = group.holder((partition.topic_id, partition.partition))
        if holder not in (None, member_id):
            raise StaleMemberEpochError(
                f"{partition.topic}-{partition.partition} belongs to member {holder} now"
            )

    return check
