"""Mutants of group coordinators: what is given, believed, loaded, kept, and taken for committed."""
# ruff: noqa: SLF001  # they take the place of methods

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tidelog.broker.coordinator import consumer_group, consumer_member
from tidelog.broker.coordinator.committer import Committer
from tidelog.broker.coordinator.consumer_group import ConsumerGroup
from tidelog.broker.coordinator.consumer_live_group import LiveGroup
from tidelog.broker.coordinator.consumer_member import Member, PartitionId
from tidelog.broker.coordinator.consumer_sessions import ConsumerSessions
from tidelog.broker.coordinator.coordinator_records import CoordinatorRecord
from tidelog.broker.coordinator.group_shard import GroupShard
from tidelog.broker.coordinator.offset_retention import Retention
from tidelog.broker.coordinator.offsets import CommittedOffsets, Resolver, TopicPartition
from tidelog.broker.coordinator.runtime import CoordinatorRuntime, Hosted
from tidelog.broker.partition import partition_loader
from tidelog.broker.partition.partition_listener import Leadership, LeadershipEnd
from tidelog.core.errors import StaleMemberEpochError
from tidelog.log.partition_log import PartitionLog
from tidelog.simulation.mutants.mutant import replaces

_check_member = LiveGroup._check_member
_delete_group = CommittedOffsets.delete_group
_expire = CommittedOffsets.expire
_finish = ConsumerGroup.finish
_has_expired = ConsumerSessions.has_expired
_reconcile = consumer_member.reconcile
_resolve = Resolver.resolve

# Members


@replaces(consumer_group, "reconcile")
def given_before_let_go(
    member: Member,
    assignment_epoch: int,
    is_free: Callable[[PartitionId], bool],
    *,
    knows_epoch: bool,
) -> Member:
    """A partition is given before its last owner has let go (KAFKA-16147)."""
    del is_free
    return _reconcile(member, assignment_epoch, lambda _: True, knows_epoch=knows_epoch)


@replaces(ConsumerSessions, "confirms")
def late_confirmations_taken(_self: ConsumerSessions, _member: Member, _version: int) -> bool:
    """A request of before an assignment confirms that its partitions were let go of."""
    return True


@replaces(ConsumerSessions, "is_late")
def late_requests_taken(_self: ConsumerSessions, _member_id: str, _sequence: int) -> bool:
    """A request that a later one has overtaken counts, a leave included."""
    return False


@replaces(ConsumerSessions, "has_expired")
def sessions_not_restarted_after_a_load(
    self: ConsumerSessions, member: Member, now_ms: int
) -> bool:
    """A coordinator that has loaded a group removes whom it has not heard of."""
    if member.member_id not in self._by_member:
        return True
    return _has_expired(self, member, now_ms)


@replaces(ConsumerSessions, "has_expired")
def stuck_members_removed_at_once(self: ConsumerSessions, member: Member, now_ms: int) -> bool:
    """A member that does not let go in time is removed, while it reads on (as in Kafka)."""
    return self.is_stuck(member, now_ms) or _has_expired(self, member, now_ms)


@replaces(ConsumerSessions, "has_expired")
def grace_not_waited(self: ConsumerSessions, member: Member, now_ms: int) -> bool:
    """A member whose connection breaks is removed at once."""
    return self.is_disconnected(member.member_id) or _has_expired(self, member, now_ms)


@replaces(ConsumerGroup, "finish")
def assigned_under_a_newer_epoch(
    self: ConsumerGroup, _epoch: int, assignor: str
) -> CoordinatorRecord:
    """An assignment counts for the newest epoch, whatever came while it was made."""
    return _finish(self, self.state.epoch, assignor)


@replaces(GroupShard, "have_topics_changed")
def topics_not_followed(_self: GroupShard, _seen: object) -> bool:
    """New partitions, and topics made again, are nobody's."""
    return False


# Offsets


@replaces(LiveGroup, "_check_member")
def commits_of_any_epoch_taken(self: LiveGroup, committer: Committer) -> None:
    """A member commits under an epoch that is over."""
    try:
        _check_member(self, committer)
    except StaleMemberEpochError:
        return


@replaces(ConsumerSessions, "note_commit")
def late_commits_taken(_self: ConsumerSessions, _member_id: str, _sequence: int) -> bool:
    """A commit that a later one has overtaken brings its older offset back."""
    return True


@replaces(Resolver, "resolve")
def commits_of_deleted_topics_taken(self: Resolver, asked: TopicPartition) -> TopicPartition:
    """An offset of a deleted topic is committed for the one of its name."""
    return _resolve(self, asked._replace(topic_id=b"") if asked.topic else asked)


@replaces(CommittedOffsets, "expire")
def expiry_ignores_members(
    self: CommittedOffsets, group_id: str, retention: Retention, now_ms: int
) -> list[CoordinatorRecord]:
    """Offsets expire while members read their topics (before KIP-211)."""
    bare = replace(retention, subscribed=(), empty_since_ms=None)
    return _expire(self, group_id, bare, now_ms)


@replaces(CommittedOffsets, "delete_group")
def tombstones_forgotten(
    self: CommittedOffsets, group_id: str, limit: int | None = None
) -> list[CoordinatorRecord]:
    """Deleted offsets are gone from memory, and stay in the log."""
    for tombstone in _delete_group(self, group_id, limit):
        self.replay(tombstone.key.offset_commit, None)
    return []


# Shards


@replaces(Hosted, "committed")
async def answered_before_commit(
    _self: Hosted[Any], _end_offset: int, *, is_write: bool, timeout_ms: int
) -> None:
    """Members are answered before the in-sync replicas have what they are told."""
    del is_write, timeout_ms


@replaces(partition_loader, "_end")
def loaded_to_high_watermark(partition_log: PartitionLog, _until: object) -> int:
    """A shard is loaded without the records that its leader is about to commit."""
    return partition_log.high_watermark


@replaces(CoordinatorRuntime, "on_resignation")
def shard_outlives_leadership(
    _self: CoordinatorRuntime[Any], _leadership: Leadership, _end: LeadershipEnd
) -> None:
    """A broker that leads no more answers from what it remembers."""
