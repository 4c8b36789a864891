"""Effects ordered by a partition's core; its shell carries them out in the order given."""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from dataclasses import dataclass, field

from tidelog.broker.replica.events import LeadershipEnd
from tidelog.v1.common_pb2 import ErrorCode


@dataclass(slots=True)
class Refuse:
    """Answer the request with this error; nothing was changed."""

    code: ErrorCode
    message: str


@dataclass(slots=True)
class AppendToLog:
    """Append the producer's batches in this epoch, then report `Appended`."""

    leader_epoch: int


@dataclass(slots=True)
class ServeRecords:
    """Answer the fetch with whole batches below `upper_bound`, possibly none."""

    upper_bound: int


@dataclass(slots=True)
class AnswerDivergingEpoch:
    """Answer the fetch with the point where the caller's log diverges (KIP-595); no records."""

    leader_epoch: int
    end_offset: int


@dataclass(slots=True)
class RaiseHighWatermark:
    """Note that all records below are committed, and answer the requests waiting for that."""

    high_watermark: int


@dataclass(slots=True)
class DeleteRecords:
    """Move the log start up to `offset`, durably; a leader then reports `LogStartRaised`."""

    offset: int


@dataclass(slots=True)
class RaiseLowWatermark:
    """Answer the deletions waiting for this offset: every in-sync replica has deleted below it."""

    low_watermark: int


@dataclass(slots=True)
class AssignEpoch:
    """Assign a new leader's epoch to the log, before anything is appended."""

    leader_epoch: int
    start_offset: int


@dataclass(slots=True)
class AnnounceLeadership:
    """This replica leads from `leader_epoch` on; for the listeners of coordinators.

    Follows `AssignEpoch`: a listener may append. Each is followed by one `AnnounceLeadershipEnd`.
    """

    leader_epoch: int
    high_watermark: int


@dataclass(slots=True)
class AnnounceLeadershipEnd:
    """This replica no longer leads in `leader_epoch`; for the listeners of coordinators."""

    leader_epoch: int
    end: LeadershipEnd


@dataclass(slots=True)
class FailWaiters:
    """Fail producers waiting for acknowledgement, with an unknown outcome."""

    code: ErrorCode
    message: str


@dataclass(slots=True)
class FailDeletions:
    """Fail pending deletions; some replicas may have applied them."""

    code: ErrorCode
    message: str


@dataclass(slots=True)
class WakeFetches:
    """Wake all waiting fetches: the role or the epoch changed."""


@dataclass(slots=True)
class ProposeIsr:
    """Send the leader's proposal, returned by `proposal()`, to the controller."""


@dataclass(slots=True)
class NoteIsrChange:
    """Note in log and counters that the committed ISR changed."""

    before: tuple[int, ...]
    after: tuple[int, ...]


@dataclass(slots=True)
class StartFetching:
    """Follow this leader, from the local log end on."""

    leader_id: int


@dataclass(slots=True)
class StopFetching:
    """Stop following."""


@dataclass(slots=True)
class TruncateTo:
    """Truncate the log, with its epochs, to `offset`, then fetch on. `cause` is for people."""

    offset: int
    cause: str = field(default="", compare=False)


@dataclass(slots=True)
class RestartLog:
    """Drop the whole log and its epochs and restart empty at `offset`; then fetch from there."""

    offset: int
    cause: str = field(default="", compare=False)


@dataclass(slots=True)
class AppendFetched:
    """Append the records of the answer, then report `FetchedAppended`.

    With `restart_offset`, first restart the log, which is empty, at that offset.
    """

    restart_offset: int | None = None


@dataclass(slots=True)
class BackOff:
    """Exclude the partition from fetches for a while: the image or the leader must change first."""


Answer = (
    Refuse
    | AppendToLog
    | ServeRecords
    | AnswerDivergingEpoch
    | DeleteRecords
    | TruncateTo
    | RestartLog
    | AppendFetched
    | BackOff
)
"""Effects that answer an event; the caller of `handle` carries them out."""

Effect = (
    Answer
    | RaiseHighWatermark
    | RaiseLowWatermark
    | AssignEpoch
    | AnnounceLeadership
    | AnnounceLeadershipEnd
    | FailWaiters
    | FailDeletions
    | WakeFetches
    | ProposeIsr
    | NoteIsrChange
    | StartFetching
    | StopFetching
)
