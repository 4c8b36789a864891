"""Log replication between leader and follower: PySyncObj's, with replaced unsafe parts.

The library decides the commit index and sends entries. Replaced are: appends of a follower
(`RaftLog`: only a conflict truncates, nothing above the verified index is committed), the
processing of answers (the match index never decreases), snapshots (`SnapshotSender`), and access to
the log. See `voting.py` for the name of the class.
"""

from __future__ import annotations

from pysyncobj.node import Node

from tidelog.raft import rules
from tidelog.raft.pysyncobj import voting
from tidelog.raft.pysyncobj.journal import LibraryEntry
from tidelog.raft.pysyncobj.voting import NEVER_S
from tidelog.v1.raft_pb2 import AppendEntriesReply, InstallSnapshotReply, RaftMessage


class SyncObj(voting.SyncObj):
    """Appends, acknowledgements, snapshots."""

    # As a follower

    def _on_leader(self, node: Node, message: RaftMessage) -> None:
        """Handle entries or a piece of a snapshot from the leader of this term."""
        if rules.is_stale(message.term, self.__raftCurrentTerm):
            # The answer carries only the term, which makes the old leader step down.
            self._outbox.promise(node.id).append_entries_reply.SetInParent()
            return
        if message.term > self.__raftCurrentTerm and not self._climb_to(message.term):
            return
        leader = self.__raftLeader
        if not rules.may_lead(None if leader is None else leader.id, node.id):
            return
        self._follow(node)
        answer = self._outbox.promise(node.id)
        if message.HasField("append_entries"):
            self._local.take(message.append_entries, answer.append_entries_reply)
            answer.append_entries_reply.round = message.append_entries.round
        else:
            self._local.take_piece(message.install_snapshot, answer.install_snapshot_reply)
            answer.install_snapshot_reply.round = message.install_snapshot.round
        self.__raftCommitIndex = self._local.commit_index
        self._rejoiner.on_followed()

    # As the leader

    def _on_follower(self, node: Node, message: RaftMessage) -> None:
        """Process an answer of this term; a newer term's makes this node step down.

        The match index never decreases, since answers arrive in any order.
        """
        if message.term > self.__raftCurrentTerm:
            self._climb_to(message.term)
        if rules.is_stale(message.term, self.__raftCurrentTerm) or not self._isLeader():
            return
        if message.HasField("append_entries_reply"):
            self._on_append_reply(node, message.append_entries_reply)
        else:
            self._on_snapshot_reply(node, message.install_snapshot_reply)
        if self.__raftNextIndex[node] > self._log.base_index:
            self._sender.cancel(node.id)

    def _on_append_reply(self, node: Node, reply: AppendEntriesReply) -> None:
        if reply.round > self._reads.round or reply.next_index > self._log.last_index + 1:
            return  # an answer to a message this leader never sent
        self._note_answer(node, reply.round)
        if reply.is_success:
            self._on_agreed(node, reply.next_index - 1)
        elif reply.is_reset:
            next_index = min(reply.next_index, self._log.last_index + 1)
            self.__raftNextIndex[node] = max(next_index, self.__raftMatchIndex[node] + 1)

    def _note_answer(self, node: Node, round_: int) -> None:
        self.__lastResponseTime[node] = self._now_s
        self._has_answered.add(node.id)
        self._reads.on_answer(node.id, round_)

    def _on_snapshot_reply(self, node: Node, reply: InstallSnapshotReply) -> None:
        if reply.round > self._reads.round:
            return  # as above
        self._note_answer(node, reply.round)
        if self._sender.on_taken(node.id, reply):
            self._on_agreed(node, reply.last_index)
            self._resend_due_s = NEVER_S  # the entries after it are due

    def _on_agreed(self, node: Node, index: int) -> None:
        """Note that the follower holds this log up to `index` on stable storage."""
        match_index = rules.next_match(self.__raftMatchIndex[node], index)
        self.__raftMatchIndex[node] = match_index
        self.__raftNextIndex[node] = max(self.__raftNextIndex[node], match_index + 1)

    def _on_new_process(self, peer_id: int) -> None:
        """Reset the peer's progress: another process answers, possibly with another disk."""
        if not self._isLeader():
            return
        node = self._peers[peer_id]
        self.__raftMatchIndex[node] = 0
        self.__raftNextIndex[node] = self._log.last_index + 1
        self._sender.cancel(node.id)

    # Messages to send

    def _send_news(self) -> None:
        """Send followers their missing entries now instead of at the next heartbeat."""
        if not self._isLeader():
            return
        is_behind = any(map(self._lacks_entries, self.__connectedNodes))
        # Not after every answer: without ordering in the network, each would trigger several more.
        may_resend = is_behind and self._now_s >= self._resend_due_s
        is_piece_due = any(map(self._is_piece_due, self.__connectedNodes))
        if self._sent_news != self._news() or may_resend or is_piece_due:
            self._resend_due_s = self._now_s + self._interval_s / 8
            self.__sendAppendEntries()

    def _news(self) -> tuple[int, int, int]:
        return self._log.last_index, self.__raftCommitIndex, self._reads.round

    def _lacks_entries(self, node: Node) -> bool:
        return self._log.base_index < self.__raftNextIndex[node] <= self._log.last_index

    def _is_piece_due(self, node: Node) -> bool:
        return self._needs_snapshot(node) and self._sender.is_due(node.id, self._now_s)

    def _needs_snapshot(self, node: Node) -> bool:
        return self.__raftNextIndex[node] <= self._log.base_index

    def __sendAppendEntries(self) -> None:  # noqa: N802
        """Let the library send entries; hide the followers that need a snapshot from it.

        For those its loop would never end, as it waits for their next index to increase.
        """
        self._sent_news = self._news()
        connected = self.__connectedNodes
        lagging = set(filter(self._needs_snapshot, connected))
        self.__connectedNodes = connected - lagging
        super().__sendAppendEntries()
        self.__connectedNodes = connected
        for node in lagging:
            self._send_piece(node)

    def _send_piece(self, node: Node) -> None:
        """Send the due piece of the snapshot, or a heartbeat that refers to the log's base."""
        if self._sender.is_due(node.id, self._now_s):
            piece = self._outbox.promise(node.id).install_snapshot
            piece.CopyFrom(self._sender.next_piece(node.id, self._now_s))
            piece.round = self._reads.round
            return
        body = self._outbox.promise(node.id).append_entries
        body.previous_index, body.previous_term = self._log.base_index, self._log.base_term
        body.commit_index = self.__raftCommitIndex
        body.round = self._reads.round

    def __onBecomeLeader(self) -> None:  # noqa: N802
        self._reads.begin_term()
        self._has_answered.clear()
        self._sender.cancel_all()
        super().__onBecomeLeader()

    def __applyLogEntries(self) -> bool:  # noqa: N802
        """Apply nothing: `RaftLog` hands out committed entries, a bounded number at a time."""
        self.__raftLastApplied = self.__raftCommitIndex
        return False

    # Log access of the library

    def __getEntries(  # noqa: N802
        self,
        fromIDx: int,  # noqa: N803
        count: int | None = None,
        maxSizeBytes: int | None = None,  # noqa: ARG002, N803  # ours is `append_batch_bytes`
    ) -> list[LibraryEntry]:
        """Index and term of one entry, the base included; without a count, entries to send."""
        if count is not None:
            term = self._log.term_at(fromIDx)
            return [] if term is None else [LibraryEntry(b"", fromIDx, term)]
        entries = self._log.entries_from(
            fromIDx,
            max_entries=self._config.append_batch_entries,
            max_bytes=self._config.append_batch_bytes,
        )
        return [LibraryEntry(entry.command, entry.log_index, entry.term) for entry in entries]

    def __tryLogCompaction(self) -> None:  # noqa: N802
        """Do nothing: the driver takes snapshots and compacts the log."""
