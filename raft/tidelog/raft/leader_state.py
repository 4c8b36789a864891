"""Leader state of one term: followers' progress, the commit index, confirmed reads.

Owns the progress of the followers, the rounds and the waiting reads; created when a candidate wins,
dropped when it steps down. It appends nothing: see `voter.py`.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence

from tidelog.core.errors import InvariantError, invariant
from tidelog.raft import rules
from tidelog.raft.config import RaftConfig
from tidelog.raft.durable_state import DurableLog, Snapshots
from tidelog.raft.engine import ConfirmedRead
from tidelog.raft.outbox import Outbox
from tidelog.raft.progress import Progress
from tidelog.raft.replicated_log import PeerStatus
from tidelog.v1.raft_pb2 import AppendEntriesReply, InstallSnapshotReply


class LeaderState:
    """State of this node as the leader of one term.

    All its messages leave at once: followers sync concurrently with it, and its own vote is stored.
    """

    def __init__(
        self,
        peers: Sequence[int],
        *,
        log: DurableLog,
        snapshots: Snapshots,
        outbox: Outbox,
        config: RaftConfig,
        now_s: float,
    ) -> None:
        self.own_term_index = log.last_index
        """Index of the no-op, just appended, that begins this term."""
        self.heartbeat_due_s = now_s
        self._log = log
        self._snapshots = snapshots
        self._outbox = outbox
        self._config = config
        self._round = 0
        self._reads: deque[tuple[int, int]] = deque()  # round, read id
        self.followers = {
            peer_id: Progress(next_index=self.own_term_index, heard_s=now_s) for peer_id in peers
        }

    # Answers of the followers

    def on_append_reply(self, peer_id: int, reply: AppendEntriesReply, now_s: float) -> None:
        """Handle a follower's answer in this term: it appended entries, or rejected them."""
        if reply.round > self._round or reply.next_index > self._log.last_index + 1:
            return  # an answer to a message this leader never sent
        follower = self._note_heard(peer_id, reply.round, now_s)
        if reply.is_success:
            follower.on_agreed(reply.next_index - 1)
        elif reply.is_reset:
            follower.on_rejected(reply.next_index, last_index=self._log.last_index)

    def on_snapshot_reply(self, peer_id: int, reply: InstallSnapshotReply, now_s: float) -> None:
        """Handle a follower's answer in this term: it stored a piece of a snapshot, or the last."""
        if reply.round > self._round:
            return  # as above
        follower = self._note_heard(peer_id, reply.round, now_s)
        follower.on_piece_taken(reply.last_index, reply.next_offset)

    def _note_heard(self, peer_id: int, round_: int, now_s: float) -> Progress:
        follower = self.followers[peer_id]
        follower.heard_s = now_s
        follower.has_answered = True
        follower.round = max(follower.round, round_)
        return follower

    def silent_s(self, now_s: float) -> float:
        """Time without answers of a majority; 0 for a sole voter."""
        heard_s = [now_s, *(follower.heard_s for follower in self.followers.values())]
        return now_s - sorted(heard_s, reverse=True)[len(heard_s) // 2]

    def commit_index(self) -> int:
        """Last index that a majority, with or without this node, holds on stable storage.

        It is committed only if `rules.may_commit` holds for the entry's term.
        """
        return rules.quorum_index(
            [self.own_index(), *(follower.match_index for follower in self.followers.values())]
        )

    def own_index(self) -> int:
        """The end of what a leader counts of its own log: of stable storage alone (10.2.1)."""
        return self._log.durable_index

    # Reads

    def ask_reads(self, read_ids: Sequence[int]) -> None:
        """Confirm these reads by a round of messages that begins now."""
        if read_ids:
            self._round += 1
            self.heartbeat_due_s = float("-inf")
            self._reads.extend((self._round, read_id) for read_id in read_ids)

    def confirmed_reads(self, commit_index: int) -> Iterable[ConfirmedRead]:
        """Take the reads whose round a majority answered, with the index to apply first."""
        if not self._reads or not rules.may_read(self.own_term_index, commit_index):
            return
        rounds = [follower.round for follower in self.followers.values()]
        quorum_round = rules.quorum_index([self._round, *rounds])
        while self._reads and rules.is_read_confirmed(self._reads[0][0], quorum_round):
            yield ConfirmedRead(self._reads.popleft()[1], commit_index)

    # Messages to the followers

    def send(self, connected: Iterable[int], *, commit_index: int, now_s: float) -> None:
        """Send messages that are due: to all when a heartbeat is, else to followers that lag."""
        is_heartbeat_due = now_s >= self.heartbeat_due_s
        if is_heartbeat_due:
            self.heartbeat_due_s = now_s + self._config.heartbeat_interval_ms / 1000
        for peer_id in connected:
            follower = self.followers[peer_id]
            if follower.next_index <= self._log.base_index:
                self._send_piece(peer_id, follower, now_s)
            has_sent = self._send_entries(peer_id, follower, commit_index)
            if not has_sent and (is_heartbeat_due or follower.sent_commit_index < commit_index):
                self._send_append(peer_id, follower, commit_index, is_empty=True)

    def _send_entries(self, peer_id: int, follower: Progress, commit_index: int) -> bool:
        """Send as many appends as may be in flight; False: none was sent."""
        has_sent = False
        limit = self._config.max_inflight_appends
        while follower.next_index <= self._log.last_index and follower.may_append(
            max_in_flight=limit
        ):
            self._send_append(peer_id, follower, commit_index, is_empty=False)
            has_sent = True
        return has_sent

    def _send_append(
        self, peer_id: int, follower: Progress, commit_index: int, *, is_empty: bool
    ) -> None:
        previous_index = max(follower.next_index - 1, self._log.base_index)
        previous_term = self._log.term_at(previous_index)
        invariant(previous_term is not None, "a leader's log has no holes", previous_index)
        body = self._outbox.hint(peer_id).append_entries
        body.previous_index = previous_index
        body.previous_term = previous_term or 0
        body.commit_index = commit_index
        body.round = self._round
        follower.sent_commit_index = commit_index
        if is_empty:
            return
        entries = self._log.entries_from(
            follower.next_index,
            max_entries=self._config.append_batch_entries,
            max_bytes=self._config.append_batch_bytes,
        )
        for entry in entries:
            body.entries.add(command=entry.command, term=entry.term)
        follower.on_appended(entries[-1].log_index)

    def _send_piece(self, peer_id: int, follower: Progress, now_s: float) -> None:
        """Send the next piece of the newest snapshot, or resend a lost one after a timeout."""
        snapshot = self._snapshots.latest
        if snapshot is None:
            raise InvariantError(f"the log begins at {self._log.base_index} without a snapshot")
        follower.begin_snapshot(snapshot, self._snapshots.size_bytes)
        patience_s = self._config.election_timeout_max_ms / 1000
        if follower.piece_sent_s is not None and now_s - follower.piece_sent_s < patience_s:
            return
        follower.piece_sent_s = now_s
        body = self._outbox.hint(peer_id).install_snapshot
        body.last_index, body.last_term = snapshot.index, snapshot.term
        body.total_bytes = self._snapshots.size_bytes
        body.offset = follower.snapshot_offset
        body.data = self._snapshots.read_chunk(
            follower.snapshot_offset, self._config.snapshot_chunk_bytes
        )
        body.round = self._round

    # Status

    @property
    def is_sending_snapshot(self) -> bool:
        """True while a newer snapshot would make a follower start its download over."""
        return any(follower.snapshot is not None for follower in self.followers.values())

    def peers(self, now_s: float) -> tuple[PeerStatus, ...]:
        """See `Engine.peers`."""
        return tuple(
            PeerStatus(
                node_id=peer_id,
                match_index=follower.match_index,
                last_contact_ms=(
                    round((now_s - follower.heard_s) * 1000) if follower.has_answered else None
                ),
            )
            for peer_id, follower in sorted(self.followers.items())
        )
