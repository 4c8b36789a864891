"""Adapter of the durable log to PySyncObj's journal interface. Decides nothing.

The entry `base_index`, which a snapshot includes (0: the beginning), is presented as the first one:
the library itself represents a compacted log this way. It reads only index and term of the first
and the last entry; entries to send come from the engine.
"""

from __future__ import annotations

from typing import NamedTuple

import pysyncobj.syncobj as library
from pysyncobj.journal import Journal

from tidelog.core.errors import InvariantError, invariant
from tidelog.raft.durable_state import DurableLog
from tidelog.raft.log_origin import term_start

_LIBRARY_NO_OP = bytes([library._COMMAND_TYPE.NO_OP])  # noqa: SLF001


class LibraryEntry(NamedTuple):
    """An entry in the order of fields that the library reads by index."""

    command: bytes
    log_index: int
    term: int


class LogJournal(Journal):  # type: ignore[misc]  # the library has no types
    """Entries, term and vote; `commit_index` is the commit index at the node's start."""

    def __init__(self, log: DurableLog, *, cluster_id: str, commit_index: int) -> None:
        self._log = log
        self._term_start = term_start(cluster_id)
        self._commit_index = commit_index

    def add(self, command: bytes, idx: int, term: int) -> None:
        """Append the no-op that begins a term: the only entry that the library creates."""
        invariant(command == _LIBRARY_NO_OP, "an entry of the library", command)
        self._log.write_entry(self._term_start, index=idx, term=term)

    def setCurrentTerm(self, term: int, votedForNodeId: int | None) -> None:  # noqa: N802, N803
        """Store the term and the vote in it."""
        self._log.write_vote(term=term, voted_for=votedForNodeId)

    def getCurrentTerm(self) -> int:  # noqa: N802
        """Stored term."""
        return self._log.term

    def getVotedForNodeId(self) -> int | None:  # noqa: N802
        """Stored vote; None: no vote."""
        return self._log.voted_for

    def setRaftCommitIndex(self, raftCommitIndex: int) -> None:  # noqa: N802, N803
        """Store nothing: the commit index is learned from the quorum after a start."""

    def getRaftCommitIndex(self) -> int:  # noqa: N802
        """Commit index at the start."""
        return self._commit_index

    def __getitem__(self, item: int) -> LibraryEntry:
        """First entry (0) or last one (-1), without its command."""
        match item:
            case 0:
                return LibraryEntry(b"", self._log.base_index, self._log.base_term)
            case -1:
                return LibraryEntry(b"", self._log.last_index, self._log.last_term)
        raise InvariantError(f"the library asks its journal for the entry at position {item}")

    def __len__(self) -> int:
        """Number of entries including the base, so never 0."""
        return self._log.last_index - self._log.base_index + 1
