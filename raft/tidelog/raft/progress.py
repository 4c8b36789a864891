"""What a leader knows of one follower's log, and what it may send next.

Decides the next index and how much may be under way; never what is committed.

    probing       one append under way, until the logs are known to agree somewhere
    replicating   up to `max_inflight_appends` under way, `next_index` runs ahead
    snapshot      the follower's next entry is no longer kept: pieces of the snapshot, one at a time
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from tidelog.raft import rules
from tidelog.raft.durable_state import SnapshotId


@dataclass(slots=True)
class Progress:
    """One follower, as of its last answer to this leader."""

    next_index: int
    heard_s: float
    has_answered: bool = False
    match_index: int = 0
    round: int = 0
    told_commit_index: int = 0
    is_probing: bool = True
    in_flight: deque[int] = field(default_factory=deque)
    """The last indexes of the appends that were not answered."""
    snapshot: SnapshotId | None = None
    snapshot_bytes: int = 0
    snapshot_offset: int = 0
    piece_sent_s: float | None = None
    """When the piece under way was sent; None: none is."""

    def may_append(self, *, max_in_flight: int) -> bool:
        """Whether one more append may be under way."""
        return self.snapshot is None and len(self.in_flight) < (
            1 if self.is_probing else max_in_flight
        )

    def on_appended(self, last_index: int) -> None:
        """An append up to `last_index` was sent."""
        self.in_flight.append(last_index)
        self.next_index = last_index + 1

    def on_agreed(self, index: int) -> None:
        """The follower holds the leader's log up to `index` on stable storage."""
        self.match_index = rules.next_match(self.match_index, index)
        self.next_index = max(self.next_index, self.match_index + 1)
        while self.in_flight and self.in_flight[0] <= self.match_index:
            self.in_flight.popleft()
        self.is_probing = False
        self.snapshot = None

    def on_rejected(self, next_index: int, *, last_index: int) -> None:
        """The follower has nothing to put an append behind; it would take one at `next_index`."""
        if self.snapshot is not None:
            return
        self.next_index = max(min(next_index, last_index + 1), self.match_index + 1)
        self.in_flight.clear()
        self.is_probing = True

    def on_connection_lost(self) -> None:
        """What was under way is lost; begin again where the logs agree."""
        self.next_index = self.match_index + 1
        self.in_flight.clear()
        self.is_probing = True
        self.piece_sent_s = None

    def on_new_process(self, last_index: int) -> None:
        """Another process answers for the follower, perhaps with another disk."""
        self.match_index = 0
        self.snapshot = None
        self.on_connection_lost()
        self.next_index = last_index + 1

    def begin_snapshot(self, snapshot: SnapshotId, size_bytes: int) -> None:
        """Send this one, or go on with it."""
        if self.snapshot != snapshot:
            self.snapshot = snapshot
            self.snapshot_bytes = size_bytes
            self.snapshot_offset = 0
            self.piece_sent_s = None

    def on_piece_taken(self, snapshot_index: int, next_offset: int) -> None:
        """The follower wants the piece at `next_offset`, or has all of the snapshot.

        Asked for the same piece again it gets it, but not at once: it may have no room.
        """
        if self.snapshot is None or self.snapshot.index != snapshot_index:
            return
        if next_offset >= self.snapshot_bytes:
            self.on_agreed(snapshot_index)
        elif next_offset != self.snapshot_offset:
            self.snapshot_offset = next_offset
            self.piece_sent_s = None
