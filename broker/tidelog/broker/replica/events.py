"""What happened to one partition replica, in the past tense. Facts alone; nothing here decides.

Offsets are exclusive ends. A replica's own log is described by whoever owns it, at the moment of
the event: cores never look anything up.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from tidelog.metadata.image import PartitionImage
from tidelog.v1 import common_pb2
from tidelog.v1.common_pb2 import ErrorCode


class EpochEnd(NamedTuple):
    """The largest leader epoch not above one asked for, and where it ends; -1: there is none."""

    leader_epoch: int
    end_offset: int


class FollowerIdentity(NamedTuple):
    """Who fetches. `is_eligible`: alive in the image, and in this very incarnation (KIP-903).

    `is_known`: the image holds this incarnation, or a later one.
    """

    broker_id: int
    broker_epoch: int
    is_eligible: bool
    is_known: bool = True


@dataclass(slots=True)
class PartitionChanged:
    """The image holds this state of the partition, perhaps the one already known."""

    state: PartitionImage
    min_insync_replicas: int
    log_end_offset: int
    counted_offset: int
    """What of the own log may be acknowledged: its end, unless a demanded flush is running."""
    high_watermark: int
    latest_epoch: int
    log_start_offset: int = 0
    first_bad_offset: int | None = None
    """Where the own log is damaged; None: nowhere known."""


@dataclass(slots=True)
class LogClosed:
    """The log is out of use for good: the disk failed, or the replica is put away."""


@dataclass(slots=True)
class LogDamaged:
    """Stored bytes are not what was written: the log is out of use until it is cut."""


@dataclass(slots=True)
class ProduceRequested:
    """A producer wants to append; `acks` is -1, 0 or 1."""

    acks: int


@dataclass(slots=True)
class Appended:
    """The leader's log grew; see `PartitionChanged` for `counted_offset`."""

    log_end_offset: int
    counted_offset: int


@dataclass(slots=True)
class Flushed:
    """A flush that flush.messages demanded has ended."""

    counted_offset: int


@dataclass(slots=True)
class FetchRequested:
    """A consumer or, with `follower`, a replica wants records from `fetch_offset` on."""

    fetch_offset: int
    current_leader_epoch: int | None = None
    last_fetched_epoch: int | None = None
    epoch_end: EpochEnd | None = None
    """The leader's log on `last_fetched_epoch`; None exactly when that is None."""
    follower: FollowerIdentity | None = None
    follower_log_start_offset: int = 0
    """Of the follower's own log."""


@dataclass(slots=True)
class DeleteRecordsRequested:
    """Somebody wants all records below `offset` deleted; -1: all that are committed."""

    offset: int
    is_allowed: bool
    """Whether the topic's cleanup.policy holds delete."""


@dataclass(slots=True)
class LogStartRaised:
    """Durably: by an order to delete records, or by retention."""

    log_start_offset: int


@dataclass(slots=True)
class IsrAnswered:
    """The controller answered, or could not be asked about, the proposal with these epochs."""

    asked_leader_epoch: int
    asked_partition_epoch: int
    error: ErrorCode
    leader_epoch: int = -1
    partition_epoch: int = -1
    isr: tuple[int, ...] = ()
    elr: tuple[int, ...] = ()


@dataclass(slots=True)
class FollowersFenced:
    """The image would not have these brokers, in the incarnation known so far, in any ISR."""

    broker_ids: frozenset[int]


@dataclass(slots=True)
class Ticked:
    """Time passed; `now_ms` says how much."""


@dataclass(slots=True)
class FetchAnswered:
    """The leader answered a fetch that this follower sent in `leader_epoch` from `fetch_offset`."""

    leader_epoch: int
    fetch_offset: int
    log_end_offset: int
    """Of the own log, now."""
    own_high_watermark: int
    own_log_start_offset: int
    error: ErrorCode = common_pb2.NONE
    first_offset: int | None = None
    """Where the first batch of the answer begins; None: there is none."""
    high_watermark: int = 0
    log_start_offset: int = 0
    """The leader's."""
    diverging_epoch: EpochEnd | None = None
    own_epoch_end: EpochEnd | None = None
    """The own log on the diverging epoch; None exactly when that is None."""


@dataclass(slots=True)
class FetchedAppended:
    """The fetched records are in the follower's log, and flushed where that is demanded."""

    leader_epoch: int
    log_end_offset: int
    own_high_watermark: int
    own_log_start_offset: int
    high_watermark: int
    """The leader's, as the same answer gave it."""
    log_start_offset: int
    """The leader's, likewise."""


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
