"""Nothing leaves a voter that a crash would make untrue: I19, looked at message by message.

It reads the write-ahead log of each voter as it is certainly stored, frame by frame as they come,
and compares with that what the voter says at the moment it says it. It trusts nothing the voter
believes about its own syncs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Protocol

from tidelog.raft.wal_file import NOBODY, RecordKind
from tidelog.raft.wal_frames import DamagedFileError, Record, decode_records, frames_in
from tidelog.simulation.suites.findings import Findings
from tidelog.v1.raft_pb2 import RaftMessage

Entry = tuple[int, int]
"""Index and term."""


class StoredLog(Protocol):
    """View of a voter's memory: which entry an index means."""

    term: int
    base_index: int

    def term_at(self, index: int) -> int | None:
        """The entry's term; None where nothing is known."""


class Medium(Protocol):
    """View of a voter's disk."""

    def stored(self, path: str) -> bytearray | None:
        """Bytes that a crash would certainly leave of a file; another object for another file."""


@dataclass(slots=True)
class _Stored:
    """Certain content of a voter's disk."""

    file: bytearray | None = None
    position: int = 0
    number: int = 0
    incarnation: int = 0
    term: int = 0
    base_index: int = 0
    terms: list[int] = field(default_factory=list)
    votes: set[tuple[int, int]] = field(default_factory=set)
    """Term and for whom."""
    reached_index: int = 0
    """The greatest of any entry that ever was stored, removed since or not."""

    def holds(self, index: int, term: int | None) -> bool:
        """True if the entry is stored, or in a snapshot."""
        if index <= self.base_index:
            return True
        if index > self.base_index + len(self.terms):
            return False
        return term == self.terms[index - self.base_index - 1]

    def keeps_vote(self, term: int, candidate: int) -> bool:
        """True if no later life votes for somebody else in this term.

        A compaction that waited through several terms stores the last one's vote alone. That
        suffices: terms never fall, so who finds a greater one on its disk is done with this.
        """
        return term < self.term or (term, candidate) in self.votes

    def read(self, file: bytearray) -> Iterator[Entry]:
        """The entries that came since the last call."""
        if file is not self.file:  # after a compaction, or on another disk
            self.file, self.position, self.number = file, 0, 0
            self.base_index, self.terms = 0, []

        def read_at(offset: int, length: int) -> bytes:
            return bytes(file[offset : offset + length])

        frames = frames_in(read_at, len(file), position=self.position, number=self.number)
        for frame in frames:
            self.position, self.number = frame.end, frame.number + 1
            for record in decode_records(frame):
                yield from self._take(record)

    def _take(self, record: Record) -> Iterator[Entry]:
        match record.kind:
            case RecordKind.START:
                self.incarnation = record.a
            case RecordKind.VOTE:
                self.term = record.a
                if record.b != NOBODY:
                    self.votes.add((record.a, record.b))
            case RecordKind.ENTRY:
                self.terms.append(record.a)
                self.reached_index = max(self.reached_index, record.b)
                yield record.b, record.a
            case RecordKind.TRUNCATION:
                del self.terms[record.b - self.base_index - 1 :]
            case RecordKind.BASE:
                self.base_index, self.terms = record.b, []
                self.reached_index = max(self.reached_index, record.b)


class DiskChecks:
    """Checks of voters' disks, and of the messages that depend on them."""

    def __init__(
        self,
        findings: Findings,
        *,
        voters: int,
        path: str,
        is_calm: bool,
    ) -> None:
        """Silent in a calm simulation: where no crash comes, nothing is untrue after it."""
        self._findings = findings
        self._majority = voters // 2 + 1
        self._path = path
        self._is_calm = is_calm
        self._disks: dict[int, Medium] = {}
        self._stored: dict[int, _Stored] = {}
        self._holders: dict[Entry, set[int]] = {}
        """Voters that ever had an entry on stable storage; a disk that was lost counts."""
        self._committed_index = 0

    def begin_life(self, node_id: int, disk: Medium) -> None:
        """A voter starts, perhaps with a new disk."""
        if self._disks.get(node_id) is not disk:
            self._disks[node_id] = disk
            self._stored[node_id] = _Stored()

    def on_sent(self, message: RaftMessage, log: StoredLog) -> None:
        """A voter handed `message` to its transport; `log` is as it believes it to be."""
        if self._is_calm:
            return
        stored, sender = self._look(message.sender_id), message.sender_id
        kind = message.WhichOneof("body")
        if message.term > stored.term or message.incarnation > stored.incarnation:
            self._report(message, f"its disk has term {stored.term}")
        if kind == "request_vote" and not stored.keeps_vote(message.term, sender):
            self._report(message, "its own vote is not stored")
        elif kind == "vote_granted" and not stored.keeps_vote(message.term, message.receiver_id):
            self._report(message, "this vote is not stored")
        elif kind == "append_entries_reply" and message.append_entries_reply.is_success:
            self._check_acknowledged(message, stored, log)
        elif kind == "append_entries":
            self._check_committed(message, log)

    def _check_acknowledged(self, message: RaftMessage, stored: _Stored, log: StoredLog) -> None:
        index = message.append_entries_reply.next_index - 1
        if message.term == log.term and index > log.base_index:
            is_stored = stored.holds(index, log.term_at(index))
        else:
            # In a later term the entry may be gone again, perhaps in the frame it came in: as if
            # the answer had left before, and been on its way since. Where a compaction took the
            # file away, the frame is not seen; but what is stored in order, with the later term in
            # it, is what such a voter would have been after it: no crash takes it back before.
            is_stored = index <= stored.reached_index or stored.term > message.term
        if not is_stored:
            self._report(message, f"entry {index} is not stored in term {log.term}")

    def _check_committed(self, message: RaftMessage, log: StoredLog) -> None:
        """Entries that a leader reports as committed are stored by a majority."""
        commit_index = message.append_entries.commit_index
        if commit_index <= self._committed_index:
            return
        for node_id in self._disks:
            self._look(node_id)
        for index in range(max(self._committed_index, log.base_index) + 1, commit_index + 1):
            holders = self._holders.get((index, log.term_at(index) or 0), set())
            if len(holders) < self._majority:
                self._report(message, f"entry {index} is stored by {sorted(holders)} alone")
        self._committed_index = commit_index

    def _look(self, node_id: int) -> _Stored:
        stored, file = self._stored[node_id], self._disks[node_id].stored(self._path)
        if file is not None:
            try:
                for entry in stored.read(file):
                    self._holders.setdefault(entry, set()).add(node_id)
            except DamagedFileError as error:
                self._findings.report("I19", f"n{node_id} stored what nobody can read: {error}")
        return stored

    def _report(self, message: RaftMessage, what: str) -> None:
        kind = message.WhichOneof("body")
        self._findings.report(
            "I19", f"n{message.sender_id} says {kind} in term {message.term}, but {what}"
        )
