"""This voter's Raft log: entries from a leader, the commit index, entries handed out.

Owns the commit index and the cursor of entries handed out, and writes entries to the durable log.
Decides which entries to append and which to truncate; never who leads.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from tidelog.raft import rules
from tidelog.raft.config import RaftConfig
from tidelog.raft.durable_state import REGULAR, DurableLog, SnapshotId, Snapshots, WalEntry
from tidelog.raft.engine import EngineEntry
from tidelog.raft.log_origin import are_own, term_start
from tidelog.v1.raft_pb2 import (
    AppendEntries,
    AppendEntriesReply,
    InstallSnapshot,
    InstallSnapshotReply,
)


class RaftLog:
    """Log of a voter; everything up to the newest snapshot is committed from the start."""

    def __init__(self, log: DurableLog, snapshots: Snapshots, config: RaftConfig) -> None:
        self.commit_index = snapshots.latest.index if snapshots.latest else 0
        self._handed_out = self.commit_index
        self._restored: SnapshotId | None = None
        self._log = log
        self._snapshots = snapshots
        self._config = config

    @property
    def last_entry(self) -> tuple[int, int]:
        """Term and index of the last entry, in the order in which logs compare."""
        return self._log.last_term, self._log.last_index

    @property
    def commit_term(self) -> int | None:
        """Term of the last committed entry."""
        return self._log.term_at(self.commit_index)

    # As the leader

    def append(self, proposal: bytes | None) -> int:
        """Append a command, or a no-op for None, in the current term; return its index."""
        index = self._log.last_index + 1
        cluster_id = self._config.cluster_id
        command = term_start(cluster_id) if proposal is None else REGULAR + proposal
        self._log.write_entry(command, index=index, term=self._log.term)
        return index

    def commit_as_leader(self, index: int) -> None:
        """Commit all entries up to `index`, which a majority holds."""
        if rules.may_commit(self._log.term_at(index), self._log.term):
            self.commit_index = max(self.commit_index, index)

    # As a follower

    def take(self, body: AppendEntries, reply: AppendEntriesReply) -> None:
        """Append the entries of the current term's leader, or reply with the index to retry from.

        Entries that no leader of this log sends are ignored without an answer: those of another
        cluster, or in contradiction to committed ones.
        """
        previous_index, previous_term = body.previous_index, body.previous_term
        entries = [
            WalEntry(entry.command, previous_index + position, entry.term)
            for position, entry in enumerate(body.entries, start=1)
        ]
        if not are_own(entries, self._config.cluster_id):
            return
        below_base = self._log.base_index - previous_index
        if below_base > 0:  # those are committed and in a snapshot: skip them
            previous_index, previous_term = self._log.base_index, self._log.base_term
            entries = entries[below_base:]
        if not rules.follows(previous_term, self._log.term_at(previous_index)):
            reply.is_reset = True
            reply.next_index = self._retry_index(previous_index)
            return
        if not self._may_store(entries, previous_term):
            return
        self._store(entries)
        verified_index = previous_index + len(entries)
        reply.is_success = True
        reply.next_index = verified_index + 1
        commit_index = rules.verified_commit(body.commit_index, verified_index)
        self.commit_index = max(self.commit_index, commit_index)

    def _may_store(self, entries: list[WalEntry], previous_term: int) -> bool:
        new = entries[rules.agreeing(entries, self._log.term_at) :]
        is_open = not new or new[0].log_index > self.commit_index
        return is_open and (not entries or entries[0].term >= previous_term)

    def _store(self, entries: list[WalEntry]) -> None:
        new = entries[rules.agreeing(entries, self._log.term_at) :]
        if new and new[0].log_index <= self._log.last_index:
            self._log.write_truncation(new[0].log_index)
        for entry in new:
            self._log.write_entry(entry.command, index=entry.log_index, term=entry.term)

    def _retry_index(self, previous_index: int) -> int:
        """Index the leader must go back to: behind our last entry, or before a conflicting term."""
        if previous_index > self._log.last_index:
            return self._log.last_index + 1
        term = self._log.term_at(previous_index)
        index = previous_index
        while index > self.commit_index + 1 and self._log.term_at(index - 1) == term:
            index -= 1
        return index

    def take_piece(self, body: InstallSnapshot, reply: InstallSnapshotReply) -> None:
        """Store a piece of the leader's snapshot; the last one replaces the log, if need be."""
        snapshot = SnapshotId(body.last_index, body.last_term)
        reply.last_index = snapshot.index
        reply.next_offset = body.total_bytes
        if snapshot.index <= self.commit_index:
            return
        reply.next_offset = self._snapshots.receive(
            snapshot, total_bytes=body.total_bytes, offset=body.offset, data=body.data
        )
        if 0 < reply.next_offset == body.total_bytes:
            self._install(snapshot)

    def _install(self, snapshot: SnapshotId) -> None:
        if not rules.keeps_log(snapshot.term, self._log.term_at(snapshot.index)):
            self._log.write_base(index=snapshot.index, term=snapshot.term)
        self.commit_index = self._handed_out = snapshot.index
        self._restored = snapshot

    # Results for the driver

    def take_restored(self) -> SnapshotId | None:
        """Snapshot that replaced the log and is on stable storage by now; returned once."""
        restored, latest = self._restored, self._snapshots.latest
        if restored is None or latest is None or latest.index < restored.index:
            return None
        self._restored = None
        return restored

    @property
    def has_more(self) -> bool:
        """True when committed entries wait to be handed out, and no snapshot before them."""
        return self._restored is None and self._handed_out < self.commit_index

    def newly_committed(self) -> list[EngineEntry]:
        """Take the next committed entries, a bounded number at a time."""
        if not self.has_more:
            return []
        waiting = self.commit_index - self._handed_out
        entries = self._log.entries_from(
            self._handed_out + 1,
            max_entries=min(waiting, self._config.append_batch_entries),
            max_bytes=self._config.append_batch_bytes,
        )
        self._handed_out = entries[-1].log_index
        return [
            EngineEntry(
                index=entry.log_index,
                term=entry.term,
                command=entry.command[1:] if entry.command[:1] == REGULAR else None,
            )
            for entry in entries
        ]
