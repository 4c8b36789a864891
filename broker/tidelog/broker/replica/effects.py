"""What a partition replica orders its shell to do; carried out in the order given."""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from dataclasses import dataclass, field

from tidelog.v1.common_pb2 import ErrorCode


@dataclass(slots=True)
class Refuse:
    """Answer the request with this error; nothing was changed."""

    code: ErrorCode
    message: str


@dataclass(slots=True)
class AppendToLog:
    """Append the producer's batches in this epoch, then tell `Appended`."""

    leader_epoch: int


@dataclass(slots=True)
class ServeRecords:
    """Answer the fetch with whole batches below `upper_bound`, perhaps none."""

    upper_bound: int


@dataclass(slots=True)
class AnswerDivergingEpoch:
    """Answer the fetch with where the caller's log parts from this one (KIP-595); no records."""

    leader_epoch: int
    end_offset: int


@dataclass(slots=True)
class RaiseHighWatermark:
    """Records below are committed: note it, answer those who wait for it."""

    high_watermark: int


@dataclass(slots=True)
class DeleteRecords:
    """Move the log start up to `offset`, durably; a leader's shell then tells `LogStartRaised`."""

    offset: int


@dataclass(slots=True)
class RaiseLowWatermark:
    """Records below are deleted on every in-sync replica: answer those who wait for it."""

    low_watermark: int


@dataclass(slots=True)
class AssignEpoch:
    """A new leader's epoch begins here; note it in the log before anything is appended."""

    leader_epoch: int
    start_offset: int


@dataclass(slots=True)
class FailWaiters:
    """Producers that wait for acknowledgement get this error, whose outcome is unknown."""

    code: ErrorCode
    message: str


@dataclass(slots=True)
class FailDeletions:
    """Those who wait for deletions get this error: some replicas may have carried them out."""

    code: ErrorCode
    message: str


@dataclass(slots=True)
class WakeFetches:
    """All fetches that wait here look again: the role or the epoch changed."""


@dataclass(slots=True)
class ProposeIsr:
    """The leader holds a proposal for the controller: fetch it with `proposal()` and send it."""


@dataclass(slots=True)
class NoteIsrChange:
    """The committed ISR changed; for the log line and the counters."""

    before: tuple[int, ...]
    after: tuple[int, ...]


@dataclass(slots=True)
class StartFetching:
    """Follow this leader, from the own log end."""

    leader_id: int


@dataclass(slots=True)
class StopFetching:
    """Follow nobody."""


@dataclass(slots=True)
class TruncateTo:
    """Cut the log, and its epochs, to `offset`, then fetch from there. `cause` is for people."""

    offset: int
    cause: str = field(default="", compare=False)


@dataclass(slots=True)
class StartAnew:
    """Drop the whole log and its epochs and begin, empty, at `offset`; then fetch from there."""

    offset: int
    cause: str = field(default="", compare=False)


@dataclass(slots=True)
class AppendFetched:
    """Append the records of the answer, then tell `FetchedAppended`.

    With `anew_from`, drop the log, which is empty, and begin there first.
    """

    anew_from: int | None = None


@dataclass(slots=True)
class BackOff:
    """Leave the partition out of fetches for a while; the image or the leader must change first."""


Answer = (
    Refuse
    | AppendToLog
    | ServeRecords
    | AnswerDivergingEpoch
    | DeleteRecords
    | TruncateTo
    | StartAnew
    | AppendFetched
    | BackOff
)
"""The orders that answer an event: its teller carries them out."""

Effect = (
    Answer
    | RaiseHighWatermark
    | RaiseLowWatermark
    | AssignEpoch
    | FailWaiters
    | FailDeletions
    | WakeFetches
    | ProposeIsr
    | NoteIsrChange
    | StartFetching
    | StopFetching
)
