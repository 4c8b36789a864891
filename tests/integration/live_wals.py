"""What all voters' write-ahead logs ever said: votes, entries, and whether they may go together.

Read from the files, of dead and of running nodes, again and again; nothing is forgotten.
"""

from __future__ import annotations

import os
import time
import zlib
from collections.abc import Iterable
from dataclasses import dataclass, field

from tests.integration.live_history import History
from tests.integration.live_nodes import LiveNode

from tidelog.raft.durable_state import REGULAR
from tidelog.raft.wal_file import NOBODY, RecordKind, read_wal
from tidelog.raft.wal_frames import DamagedFileError, Frame, Record
from tidelog.v1.metadata_records_pb2 import MetadataBatch

_ATTEMPTS = 20


@dataclass(slots=True)
class WalView:
    """One node's file as it was read."""

    base_index: int = 0
    entries: dict[int, tuple[int, bytes]] = field(default_factory=dict)
    """Index to term and command."""
    votes: list[tuple[int, int]] = field(default_factory=list)
    """Term and candidate."""
    spent: list[tuple[int, int]] = field(default_factory=list)
    """The same, written by a node that then had forgotten what it voted, so as not to vote."""
    has_rejoined: bool = False
    installed: list[int] = field(default_factory=list)
    """Last indexes of snapshots that replaced the log."""
    incarnations: list[int] = field(default_factory=list)
    frames: list[tuple[Frame, list[Record]]] = field(default_factory=list)
    is_torn: bool = False
    """There is something unfinished behind the last frame."""

    @property
    def last_index(self) -> int:
        """Of the last entry."""
        return max(self.entries, default=self.base_index)

    @property
    def end(self) -> int:
        """The first byte behind the last whole frame."""
        return self.frames[-1][0].end

    def note(self, frame: Frame, record: Record) -> None:
        """Take the next record."""
        if record.kind == RecordKind.UNFINISHED:
            self.is_torn = True
            return
        if not self.frames or self.frames[-1][0].number != frame.number:
            self.frames.append((frame, []))
        self.frames[-1][1].append(record)
        match record.kind:
            case RecordKind.ENTRY:
                self.entries[record.b] = (record.a, record.body)
            case RecordKind.TRUNCATION:
                self.entries = {i: e for i, e in self.entries.items() if i < record.b}
            case RecordKind.BASE:
                self.entries, self.base_index = {}, record.b
                self.installed += [record.b] if frame.number > 0 else []
            case RecordKind.VOTE if self.has_rejoined or frame.number == 0:
                self.votes.append((record.a, record.b))
            case RecordKind.VOTE:
                self.spent.append((record.a, record.b))
            case RecordKind.REJOINED:
                self.has_rejoined = True
            case RecordKind.START:
                self.incarnations.append(record.a)


def read(node: LiveNode) -> WalView | None:
    """The node's file; None when it has none. Errors: `DamagedFileError`.

    A running node may replace the file or be in the middle of a frame: then it is read again.
    """
    for attempt in range(_ATTEMPTS):
        try:
            descriptor = os.open(node.wal_path, os.O_RDONLY)
        except FileNotFoundError:
            return None
        view = WalView()
        try:

            def read_at(position: int, length: int, descriptor: int = descriptor) -> bytes:
                return os.pread(descriptor, length, position)

            for frame, record in read_wal(read_at, os.fstat(descriptor).st_size):
                view.note(frame, record)
        except DamagedFileError:
            if not node.is_running or attempt + 1 == _ATTEMPTS:
                raise
            time.sleep(0.01)
        else:
            return view
        finally:
            os.close(descriptor)
    raise AssertionError("unreachable")


class WalWatch:
    """Everything the voters' files ever said."""

    def __init__(self, history: History) -> None:
        self._history = history
        self._votes: dict[tuple[int, int], int] = {}
        self._spent: set[tuple[int, int, int]] = set()
        self._terms: dict[int, int] = {}
        self._incarnations: dict[int, int] = {}
        self._contents: dict[tuple[int, int], int] = {}
        self._committed: dict[int, tuple[int, int]] = {}
        self._own_commit: dict[int, int] = {}
        self._installed: set[tuple[int, int]] = set()
        self.created: set[bytes] = set()
        """Topic ids of committed entries."""
        self.removed: set[bytes] = set()
        self.values: set[tuple[str, str]] = set()
        """Names and values of configs in committed entries."""

    @property
    def votes(self) -> int:
        """How many were seen."""
        return len(self._votes)

    @property
    def snapshots_installed(self) -> int:
        """How many voters took instead of entries."""
        return len(self._installed)

    @property
    def committed_entries(self) -> int:
        """How many were seen."""
        return len(self._committed)

    @property
    def entries_not_seen(self) -> int:
        """Committed ones that were trimmed before a file was read."""
        return max(self._committed, default=0) - len(self._committed)

    def commit_known(self, node_id: int, commit_index: int) -> None:
        """A node says that its own log is committed so far: it must never lack that again."""
        self._own_commit[node_id] = max(commit_index, self._own_commit.get(node_id, 0))

    def was_emptied(self, node_id: int) -> None:
        """Its disk was taken away: it may lack everything, but not what it voted."""
        self._own_commit.pop(node_id, None)
        self._terms.pop(node_id, None)

    def was_cut(self, node_id: int, first_index: int) -> None:
        """What it had from this entry on was taken away."""
        self._own_commit[node_id] = min(first_index - 1, self._own_commit.get(node_id, 0))

    def look(self, nodes: Iterable[LiveNode]) -> None:
        """Read these nodes' files and hold them against all that was read before."""
        for node in nodes:
            if not node.is_controller:
                continue
            committed = self._own_commit.get(node.node_id, 0)
            try:
                view = read(node)
            except DamagedFileError as error:
                self._history.violation(f"the log of node {node.node_id}: {error}")
                continue
            if view is not None:
                self._take_votes(node.node_id, view)
                self._take_entries(node.node_id, view, committed)

    def _take_votes(self, node_id: int, view: WalView) -> None:
        newest = max((term for term, _ in view.spent), default=0)
        self._spent.update((node_id, *vote) for vote in view.spent)
        for term, candidate in view.votes:
            if term < newest:
                self._history.violation(f"the log of node {node_id} goes back to term {term}")
            newest = max(newest, term)
            if candidate == NOBODY or (node_id, term, candidate) in self._spent:
                continue
            known = self._votes.setdefault((node_id, term), candidate)
            if known != candidate:
                self._history.violation(
                    f"node {node_id} voted twice in term {term}: for {known} and {candidate}"
                )
        if newest < self._terms.get(node_id, 0):
            self._history.violation(f"node {node_id} forgot term {self._terms[node_id]}")
        self._terms[node_id] = newest
        incarnation = max(view.incarnations, default=0)
        if incarnation < self._incarnations.get(node_id, 0):
            self._history.violation(f"node {node_id} started with an earlier incarnation")
        self._incarnations[node_id] = max(incarnation, self._incarnations.get(node_id, 0))

    def _take_entries(self, node_id: int, view: WalView, committed: int) -> None:
        if view.last_index < committed:
            self._history.violation(
                f"node {node_id} lost committed entries {view.last_index + 1} to {committed}"
            )
        self._installed.update((node_id, index) for index in view.installed)
        for index, (term, command) in view.entries.items():
            content = zlib.crc32(command)
            if self._contents.setdefault((index, term), content) != content:
                self._history.violation(f"two entries {index} of term {term}: node {node_id}")
            if index > committed:
                continue
            known = self._committed.get(index)
            if known is None:
                self._committed[index] = (term, content)
                self._take_command(term, command)
            elif known != (term, content):
                self._history.violation(
                    f"node {node_id} has committed another entry {index}, of term {term}"
                )

    def _take_command(self, term: int, command: bytes) -> None:
        if command[:1] != REGULAR:
            return
        batch = MetadataBatch.FromString(command[1:])
        if batch.controller_epoch != term:
            self._history.violation(f"an entry of term {term} says {batch.controller_epoch}")
        self._history.note_leader(term, batch.controller_id, source="a committed entry")
        for record in batch.records:
            if record.HasField("topic"):
                self.created.add(record.topic.topic_id)
            elif record.HasField("remove_topic"):
                self.removed.add(record.remove_topic.topic_id)
            elif record.HasField("config"):
                self.values.add((record.config.resource_name, record.config.value))
