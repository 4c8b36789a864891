"""Transfer of the newest snapshot to followers: progress of each, and the next piece.

One piece is in flight to each follower; the next one follows its answer, or the same one a timeout.
The library's serializer, which this replaces, forks, pickles, sends a whole dump at once and counts
it as received when it was sent.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from dataclasses import dataclass

from tidelog.core.errors import InvariantError
from tidelog.raft.durable_state import SnapshotId, Snapshots
from tidelog.v1.raft_pb2 import InstallSnapshot, InstallSnapshotReply


@dataclass(slots=True)
class _Sent:
    """Progress of one follower."""

    snapshot: SnapshotId
    size_bytes: int
    offset: int = 0
    piece_sent_s: float | None = None
    """Time at which the unanswered piece was sent; None: there is none."""


class SnapshotSender:
    """Snapshot transfers; call `cancel_all` when this node becomes leader."""

    def __init__(self, snapshots: Snapshots, *, chunk_bytes: int, patience_s: float) -> None:
        self._snapshots = snapshots
        self._chunk_bytes = chunk_bytes
        self._patience_s = patience_s
        self._sent: dict[int, _Sent] = {}

    @property
    def is_sending(self) -> bool:
        """True while a newer snapshot would make a follower start its download over."""
        return bool(self._sent)

    def is_due(self, peer_id: int, now_s: float) -> bool:
        """True when a piece may be sent: none is in flight, or its answer is overdue."""
        sent = self._sent.get(peer_id)
        if sent is None or sent.piece_sent_s is None or sent.snapshot != self._snapshots.latest:
            return True
        return now_s - sent.piece_sent_s >= self._patience_s

    def next_piece(self, peer_id: int, now_s: float) -> InstallSnapshot:
        """Next piece for a follower, counted as sent now."""
        latest = self._snapshots.latest
        if latest is None:
            raise InvariantError("the log begins with a snapshot, and there is none")
        sent = self._sent.get(peer_id)
        if sent is None or sent.snapshot != latest:
            sent = self._sent[peer_id] = _Sent(latest, self._snapshots.size_bytes)
        sent.piece_sent_s = now_s
        return InstallSnapshot(
            last_index=latest.index,
            last_term=latest.term,
            total_bytes=sent.size_bytes,
            offset=sent.offset,
            data=self._snapshots.read_chunk(sent.offset, self._chunk_bytes),
        )

    def on_taken(self, peer_id: int, reply: InstallSnapshotReply) -> bool:
        """Note that a follower wants the piece at `next_offset`; True: it has the whole snapshot.

        A piece requested again is resent only after a timeout: the follower's disk may be full.
        """
        sent = self._sent.get(peer_id)
        if sent is None or sent.snapshot.index != reply.last_index:
            return False
        if reply.next_offset >= sent.size_bytes:
            return True
        if reply.next_offset != sent.offset:
            sent.offset = reply.next_offset
            sent.piece_sent_s = None
        return False

    def cancel(self, peer_id: int) -> None:
        """Forget a follower's progress: it is disconnected, or needs no snapshot anymore."""
        self._sent.pop(peer_id, None)

    def cancel_all(self) -> None:
        """Forget the progress of all followers."""
        self._sent.clear()
