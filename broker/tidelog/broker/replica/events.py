"""Events of a partition replica, in the past tense. Facts only; no decisions.

Offsets are exclusive ends. The owner of a replica's log describes it at the moment of the event:
cores never look anything up.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from tidelog.metadata.image import PartitionImage
from tidelog.v1 import common_pb2
from tidelog.v1.common_pb2 import ErrorCode


class LeadershipEnd(Enum):
    """Why a replica stopped leading in an epoch."""

    DEPOSED = "deposed"
    """The controllers gave the partition a newer leader epoch, or took the replica from it."""
    DELETED = "deleted"
    """The topic was deleted."""
    OFFLINE = "offline"
    """The disk failed, or the log is damaged."""
    CLOSED = "closed"
    """The broker stops."""


class EpochEnd(NamedTuple):
    """Largest leader epoch not above a requested one, and its end offset; -1: there is none."""

    leader_epoch: int
    end_offset: int


class FollowerIdentity(NamedTuple):
    """Identity of a fetching replica.

    `is_eligible`: alive in the image, in this very incarnation (KIP-903). `is_known`: the image
    contains this incarnation, or a later one.
    """

    broker_id: int
    broker_epoch: int
    is_eligible: bool
    is_known: bool = True


@dataclass(slots=True)
class PartitionChanged:
    """The image has this state of the partition, which may be known already."""

    state: PartitionImage
    min_insync_replicas: int
    log_end_offset: int
    ackable_offset: int
    """End of the own ackable records: the log end, unless a flush must come first."""
    high_watermark: int
    latest_epoch: int
    log_start_offset: int = 0
    first_bad_offset: int | None = None
    """First damaged offset of the own log; None: no damage is known."""


@dataclass(slots=True)
class LogClosed:
    """The log is out of use for good: its disk failed, or the replica is being removed."""

    end: LeadershipEnd = LeadershipEnd.CLOSED


@dataclass(slots=True)
class LogDamaged:
    """Stored bytes have changed: the log is out of use until it is truncated."""


@dataclass(slots=True)
class ProduceRequested:
    """A producer wants to append; `acks` is -1, 0 or 1."""

    acks: int


@dataclass(slots=True)
class Appended:
    """The leader's log grew; see `PartitionChanged` for `ackable_offset`."""

    log_end_offset: int
    ackable_offset: int


@dataclass(slots=True)
class Flushed:
    """A flush required by flush.messages has ended."""

    ackable_offset: int


@dataclass(slots=True)
class FetchRequested:
    """A consumer or, with `follower`, a replica requested records from `fetch_offset` on."""

    fetch_offset: int
    current_leader_epoch: int | None = None
    last_fetched_epoch: int | None = None
    epoch_end: EpochEnd | None = None
    """End of `last_fetched_epoch` in the leader's log; None exactly when that is None."""
    follower: FollowerIdentity | None = None
    follower_log_start_offset: int = 0
    """Log start offset of the follower."""


@dataclass(slots=True)
class DeleteRecordsRequested:
    """A client requested to delete all records below `offset`; -1: all committed ones."""

    offset: int
    is_allowed: bool
    """True when the topic's cleanup.policy includes delete."""


@dataclass(slots=True)
class LogStartRaised:
    """The log start moved up, durably: by an order to delete records, or by retention."""

    log_start_offset: int


@dataclass(slots=True)
class IsrAnswered:
    """The controller answered, or could not be reached about, the proposal with these epochs."""

    asked_leader_epoch: int
    asked_partition_epoch: int
    error: ErrorCode
    leader_epoch: int = -1
    partition_epoch: int = -1
    isr: tuple[int, ...] = ()
    elr: tuple[int, ...] = ()


@dataclass(slots=True)
class FollowersFenced:
    """These brokers, in the incarnations known so far, may not be in any ISR."""

    broker_ids: frozenset[int]


@dataclass(slots=True)
class Ticked:
    """Time passed; `now_ms` tells how much."""


@dataclass(slots=True)
class FetchAnswered:
    """The leader answered a fetch that this follower sent in `leader_epoch` from `fetch_offset`."""

    leader_epoch: int
    fetch_offset: int
    log_end_offset: int
    """Current end of the follower's log."""
    own_high_watermark: int
    own_log_start_offset: int
    error: ErrorCode = common_pb2.NONE
    first_offset: int | None = None
    """Base offset of the first batch in the answer; None: there is none."""
    high_watermark: int = 0
    log_start_offset: int = 0
    """Log start offset of the leader."""
    diverging_epoch: EpochEnd | None = None
    own_epoch_end: EpochEnd | None = None
    """End of the diverging epoch in the follower's log; None exactly when that is None."""


@dataclass(slots=True)
class FetchedAppended:
    """The fetched records are in the follower's log, and flushed where required."""

    leader_epoch: int
    log_end_offset: int
    own_high_watermark: int
    own_log_start_offset: int
    high_watermark: int
    """High watermark of the leader, from the same answer."""
    log_start_offset: int
    """Log start offset of the leader, from the same answer."""


LeaderEvent = (
    ProduceRequested
    | Appended
    | Flushed
    | FetchRequested
    | DeleteRecordsRequested
    | LogStartRaised
    | IsrAnswered
    | FollowersFenced
    | Ticked
)
FollowerEvent = FetchAnswered | FetchedAppended
Event = PartitionChanged | LogClosed | LogDamaged | LeaderEvent | FollowerEvent
