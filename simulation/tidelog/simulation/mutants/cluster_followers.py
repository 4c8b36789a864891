"""Mutants of a replica that follows: how it cuts its log, and what it takes from its leader."""
# ruff: noqa: SLF001  # they take the place of methods

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any
from weakref import WeakKeyDictionary

from tidelog.broker.partition import follower_io as following
from tidelog.broker.partition.partition import Partition
from tidelog.broker.replica import follower, replica
from tidelog.broker.replica.effects import Effect, TruncateTo
from tidelog.broker.replica.events import (
    EpochEnd,
    FetchAnswered,
    FollowerEvent,
    PartitionChanged,
)
from tidelog.broker.replica.follower import Follower
from tidelog.broker.replica.replica import Replica
from tidelog.simulation.mutants.mutant import replaces
from tidelog.v1.data_pb2 import FetchPartition, PartitionFetchResult

_fetch_answered = follower._fetch_answered
_follow = Replica._follow
_next_fetch = following.next_fetch

# Truncation


@replaces(Replica, "_follow")
def truncated_to_high_watermark(self: Replica, event: PartitionChanged) -> list[Effect]:
    """A new follower cuts its log to its high watermark, which lags (before KIP-101)."""
    return [*_follow(self, event), TruncateTo(event.high_watermark)]


@replaces(follower, "truncation_offset")
def cut_to_leaders_end(*, leader: EpochEnd, own: EpochEnd) -> int:  # noqa: ARG001
    """A diverging log is cut where the leader's epoch ends, whatever the own one says (KIP-279)."""
    return leader.end_offset


@replaces(follower, "truncation_offset")
def cut_to_own_end(*, leader: EpochEnd, own: EpochEnd) -> int:  # noqa: ARG001
    """A diverging log is cut where the own epoch ends, whatever the leader's says."""
    return own.end_offset


@replaces(following, "next_fetch")
def last_epoch_not_named(partition: Partition, *, max_bytes: int) -> FetchPartition | None:
    """A follower does not say which epoch its log ends in: nobody finds that the logs part."""
    asked = _next_fetch(partition, max_bytes=max_bytes)
    if asked is not None:
        asked.ClearField("last_fetched_epoch")
    return asked


_known: WeakKeyDictionary[Partition, tuple[int | None, int, bool]] = WeakKeyDictionary()
"""The leader, its epoch, and whether the same one led before."""


@replaces(following, "next_fetch")
def same_leader_not_compared(partition: Partition, *, max_bytes: int) -> FetchPartition | None:
    """A follower whose leader leads again, in a new epoch, cuts nothing (KAFKA-7164)."""
    asked = _next_fetch(partition, max_bytes=max_bytes)
    role = partition.replica.follower
    if asked is None or role is None:
        return asked
    leader_id, epoch, is_same = _known.get(partition, (None, -1, False))
    if role.leader_epoch != epoch:
        is_same = role.leader_id == leader_id
        _known[partition] = (role.leader_id, role.leader_epoch, is_same)
    if is_same:
        asked.ClearField("last_fetched_epoch")
    return asked


@replaces(replica, "may_cut")
def damage_cut_in_sync(event: PartitionChanged, _broker_id: int, _served_epoch: int) -> bool:
    """A damaged replica cuts its log while others count on it."""
    return event.state.leader_id is not None


# What the leader says


@replaces(follower, "_fetch_answered")
def diverging_answer_raises_high_watermark(event: FetchAnswered) -> list[Effect]:
    """An answer that orders a truncation raises the high watermark first (KAFKA-14704)."""
    orders = _fetch_answered(event)
    if event.diverging_epoch is None:
        return orders
    return [*follower._take_over(event), *orders]


@replaces(Follower, "handle")
def answers_of_older_epochs_taken(_self: Follower, event: FollowerEvent) -> list[Effect]:
    """Answers of a deposed leader are still applied."""
    if isinstance(event, FetchAnswered):
        return _fetch_answered(event)
    return follower._take_over(event)


@replaces(follower, "is_out_of_reach")
def out_of_range_restarts_log(_event: FetchAnswered) -> bool:
    """A follower that asks for an offset the leader lacks drops its whole log (KAFKA-7414)."""
    return True


@replaces(following, "_flush")
async def fetched_not_flushed(
    partition: Partition, asked: FetchPartition, result: PartitionFetchResult
) -> None:
    """A follower acknowledges what flush.messages=1 wants on stable storage before it is there."""
    work: Coroutine[Any, Any, object] | None = partition.prepare_work(
        partition.handle(following._fetched_appended(partition, asked, result))
    )
    if work is not None:
        await work
