"""Progress of one follower, as its leader knows it, and the messages it may get next.

Decides the next index and how many appends may be in flight; never what is committed.

    probing       one append in flight, until the logs are known to agree somewhere
    replicating   up to `max_inflight_appends` in flight, `next_index` runs ahead
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
    """State of one follower as of its last answer to this leader."""

    next_index: int
    heard_s: float
    has_answered: bool = False
    match_index: int = 0
    round: int = 0
    sent_commit_index: int = 0
    is_probing: bool = True
    in_flight: deque[int] = field(default_factory=deque)
    """Last indexes of the unanswered appends."""
    snapshot: SnapshotId | None = None
    snapshot_bytes: int = 0
    snapshot_offset: int = 0
    piece_sent_s: float | None = None
    """Time at which the unanswered piece was sent; None: there is none."""

    def may_append(self, *, max_in_flight: int) -> bool:
        """True when one more append may be in flight."""
        return self.snapshot is None and len(self.in_flight) < (
            1 if self.is_probing else max_in_flight
        )

    def on_appended(self, last_index: int) -> None:
        """Note that an append up to `last_index` was sent."""
        self.in_flight.append(last_index)
        self.next_index = last_index + 1

    def on_agreed(self, index: int) -> None:
        """Note that the follower holds the leader's log up to `index` on stable storage."""
        self.match_index = rules.next_match(self.match_index, index)
        self.next_index = max(self.next_index, self.match_index + 1)
        while self.in_flight and self.in_flight[0] <= self.match_index:
            self.in_flight.popleft()
        self.is_probing = False
        self.snapshot = None

    def on_rejected(self, next_index: int, *, last_index: int) -> None:
        """Go back to `next_index`: the follower has no entry that precedes the append."""
        if self.snapshot is not None:
            return
        self.next_index = max(min(next_index, last_index + 1), self.match_index + 1)
        self.in_flight.clear()
        self.is_probing = True

    def on_connection_lost(self) -> None:
        """Forget messages in flight and restart after the last index known to match."""
        self.next_index = self.match_index + 1
        self.in_flight.clear()
        self.is_probing = True
        self.piece_sent_s = None

    def on_new_process(self, last_index: int) -> None:
        """Reset: another process answers for the follower, possibly with another disk."""
        self.match_index = 0
        self.snapshot = None
        self.on_connection_lost()
        self.next_index = last_index + 1

    def begin_snapshot(self, snapshot: SnapshotId, size_bytes: int) -> None:
        """Start sending this snapshot, or continue with it."""
        if self.snapshot != snapshot:
            self.snapshot = snapshot
            self.snapshot_bytes = size_bytes
            self.snapshot_offset = 0
            self.piece_sent_s = None

    def on_piece_taken(self, snapshot_index: int, next_offset: int) -> None:
        """Note the follower's answer: it wants the piece at `next_offset`, or has them all.

        A piece requested again is resent only after a timeout: the follower's disk may be full.
        """
        if self.snapshot is None or self.snapshot.index != snapshot_index:
            return
        if next_offset >= self.snapshot_bytes:
            self.on_agreed(snapshot_index)
        elif next_offset != self.snapshot_offset:
            self.snapshot_offset = next_offset
            self.piece_sent_s = None
