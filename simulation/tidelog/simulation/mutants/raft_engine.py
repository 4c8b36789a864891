"""Mutants of the engine and of what waits for it that are no single rule."""
# ruff: noqa: SLF001, ARG001  # they take the place of methods

from __future__ import annotations

from tidelog.raft.engine import EngineEntry
from tidelog.raft.pending import Proposals
from tidelog.raft.progress import Progress
from tidelog.raft.raft_log import RaftLog
from tidelog.raft.replicated_log import CommittedEntry, NotLeaderError
from tidelog.raft.voter import Voter
from tidelog.simulation.mutants.mutant import replaces
from tidelog.v1.raft_pb2 import AppendEntries, AppendEntriesReply, RaftMessage

_on_message_of_a_term = Voter._on_message_of_a_term
_take = RaftLog.take


@replaces(Voter, "_on_message_of_a_term")
def ack_without_term(self: Voter, message: RaftMessage, now_s: float) -> None:
    """A leader counts what was acknowledged to it in an earlier term."""
    if message.HasField("append_entries_reply") and self._leading is not None:
        message.term = max(message.term, self._log.term)
    _on_message_of_a_term(self, message, now_s)


@replaces(RaftLog, "take")
def stock_truncation(self: RaftLog, body: AppendEntries, reply: AppendEntriesReply) -> None:
    """Everything behind the previous entry goes, contradicted or not."""
    first = body.previous_index + 1
    is_inside = self._log.base_index < first <= self._log.last_index
    if is_inside and self._log.term_at(first - 1) == body.previous_term:
        self._log.write_truncation(first)
    _take(self, body, reply)


@replaces(RaftLog, "take")
def journal_cleared_on_mismatch(
    self: RaftLog, body: AppendEntries, reply: AppendEntriesReply
) -> None:
    """A follower that cannot put entries behind its log throws the log away."""
    _take(self, body, reply)
    first = self._log.base_index + 1
    if reply.is_reset and first <= self._log.last_index:
        self._log.write_truncation(first)
        reply.next_index = first


@replaces(RaftLog, "take")
def unverified_acknowledged(self: RaftLog, body: AppendEntries, reply: AppendEntriesReply) -> None:
    """A follower acknowledges its whole log, not only what the leader's is known to hold."""
    _take(self, body, reply)
    if reply.is_success:
        reply.next_index = self._log.last_index + 1


@replaces(RaftLog, "take")
def unverified_committed(self: RaftLog, body: AppendEntries, reply: AppendEntriesReply) -> None:
    """Entries the leader committed are committed as far as this log goes, the same or not."""
    _take(self, body, reply)
    if reply.is_success:
        self.commit_index = max(self.commit_index, min(body.commit_index, self._log.last_index))


@replaces(Progress, "on_new_process")
def match_outlives_the_disk(self: Progress, last_index: int) -> None:
    """A voter's acknowledgements outlive its lost disk."""
    self.snapshot = None
    self.on_connection_lost()


@replaces(Proposals, "on_leadership_lost")
def unknown_reported_as_failed(self: Proposals) -> None:
    """A leader that steps down says that appended commands will not happen."""
    appended = list(self._appended.values())
    self._appended.clear()
    self.refuse(appended, NotLeaderError("this node lost the leadership", leader_id=None))


@replaces(Proposals, "on_committed")
def anothers_entry_acknowledged(self: Proposals, entry: EngineEntry) -> None:
    """A command is acknowledged when anything is committed at its index."""
    proposal = self._appended.pop(entry.index, None)
    if proposal is not None and not proposal.result.done():
        proposal.result.set_result(
            CommittedEntry(index=entry.index, term=proposal.term, command=proposal.command)
        )
