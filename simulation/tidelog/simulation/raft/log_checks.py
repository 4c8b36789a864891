"""Invariants of voters' logs: matching, complete in leaders, unchanged once committed.

It keeps a copy of the terms of each voter's log and looks, whenever a voter speaks, at what is new
in it. Entries are known by index and term; that a pair has one command and one predecessor
everywhere is log matching, by induction over the log. Pure.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from tidelog.simulation.suites.findings import Findings

_WHOLE_LOG = 1 << 30


class LogEntry(Protocol):
    """An entry of a voter's log."""

    @property
    def command(self) -> bytes:
        """The entry's command."""

    @property
    def log_index(self) -> int:
        """The entry's index."""

    @property
    def term(self) -> int:
        """The term of the leader that made it."""


class ObservedLog(Protocol):
    """View of a voter's write-ahead log."""

    base_index: int
    base_term: int

    @property
    def last_index(self) -> int:
        """The last entry's, `base_index` if there is none."""

    def term_at(self, index: int) -> int | None:
        """The entry's term; the base's too; None outside."""

    def entries_from(self, index: int, *, max_entries: int, max_bytes: int) -> Sequence[LogEntry]:
        """The entries from `index` on."""


class Committed(NamedTuple):
    """An entry that some voter held to be committed, in `commit_term`."""

    term: int
    command_crc: int
    commit_term: int


@dataclass(slots=True)
class _Copy:
    """The log of one life of a voter at the last look."""

    base_index: int = 0
    last_index: int = 0
    last_term: int = 0
    terms: dict[int, int] = field(default_factory=dict)
    commit_index: int = 0
    checked_index: int = 0
    """Up to here what it holds committed was compared with what others do."""
    applied_index: int = 0


class LogChecks:
    """Checks of every voter's log from outside."""

    def __init__(self, findings: Findings) -> None:
        self.committed: dict[int, Committed] = {}
        self._findings = findings
        self._copies: dict[int, _Copy] = {}
        self._lineage: dict[tuple[int, int], tuple[int, int]] = {}

    def begin_life(self, node_id: int) -> None:
        """A voter starts: its memory is checked from the beginning."""
        self._copies[node_id] = _Copy()

    def look(
        self,
        node_id: int,
        log: ObservedLog,
        *,
        term: int,
        commit_index: int,
        applied_index: int,
        announced_index: int = 0,
    ) -> None:
        """Check a voter at these indexes in `term`, which announced `announced_index` as committed.

        Its log is as given; not all of it need be on stable storage.
        """
        copy = self._copies[node_id]
        if (log.last_index, log.term_at(log.last_index)) != (copy.last_index, copy.last_term):
            self._look_at_entries(node_id, copy, log)
        copy.base_index = log.base_index
        self._look_at_indexes(node_id, copy, commit_index, applied_index)
        committed_index = max(commit_index, announced_index)
        if committed_index > copy.checked_index:
            self._look_at_committed(node_id, copy, log, term=term, up_to=committed_index)

    def look_at_whole(self, node_id: int, log: ObservedLog) -> None:
        """Compare all that the log holds, not only what is new."""
        old = self._copies[node_id]
        self._copies[node_id] = fresh = _Copy()
        self._look_at_entries(node_id, fresh, log)
        fresh.commit_index, fresh.applied_index = old.commit_index, old.applied_index

    def on_elected(self, node_id: int, term: int, log: ObservedLog) -> None:
        """Leader completeness: it holds all that was committed in earlier terms."""
        for index, entry in self.committed.items():
            if entry.commit_term >= term or index < log.base_index:
                continue
            if log.term_at(index) != entry.term:
                self._findings.report(
                    "leader_completeness",
                    f"n{node_id} leads in term {term} without entry {index} of term {entry.term}, "
                    f"committed in term {entry.commit_term}: it has {log.term_at(index)} there",
                )
                return

    # Log matching

    def _look_at_entries(self, node_id: int, copy: _Copy, log: ObservedLog) -> None:
        first = log.last_index
        while first > log.base_index and copy.terms.get(first) != log.term_at(first):
            first -= 1
        first += 1
        self._look_at_removed(node_id, copy, log, first)
        previous = log.term_at(first - 1) or 0
        for entry in log.entries_from(first, max_entries=_WHOLE_LOG, max_bytes=_WHOLE_LOG):
            self._look_at_entry(node_id, entry, previous)
            copy.terms[entry.log_index] = previous = entry.term
        copy.last_index, copy.last_term = log.last_index, log.term_at(log.last_index) or 0

    def _look_at_removed(self, node_id: int, copy: _Copy, log: ObservedLog, first: int) -> None:
        for index in range(max(first, copy.base_index + 1), copy.last_index + 1):
            term = copy.terms.pop(index, None)
            if index <= log.base_index or term is None:
                continue
            self._findings.coverage["truncated_entries"] += 1
            if index <= copy.checked_index:
                self._findings.report(
                    "committed_entry_changed",
                    f"n{node_id} removed entry {index} of term {term}, which it held committed",
                )

    def _look_at_entry(self, node_id: int, entry: LogEntry, previous: int) -> None:
        key = entry.log_index, entry.term
        fact = previous, zlib.crc32(entry.command)
        known = self._lineage.setdefault(key, fact)
        if known != fact:
            self._findings.report(
                "log_matching",
                f"entry {key[0]} of term {key[1]} follows term {previous} in n{node_id}, term "
                f"{known[0]} elsewhere; commands are {'equal' if known[1] == fact[1] else 'not'}",
            )

    # Commit and applied index

    def _look_at_indexes(
        self, node_id: int, copy: _Copy, commit_index: int, applied_index: int
    ) -> None:
        if commit_index < copy.commit_index:
            self._findings.report(
                "commit_index_falls", f"n{node_id}: {copy.commit_index} to {commit_index}"
            )
        if applied_index < copy.applied_index:
            self._findings.report(
                "I18", f"n{node_id} applied up to {copy.applied_index}, now {applied_index}"
            )
        if applied_index > commit_index:
            self._findings.report(
                "I16", f"n{node_id} applied up to {applied_index}, committed is {commit_index}"
            )
        copy.commit_index, copy.applied_index = commit_index, applied_index

    def _look_at_committed(
        self, node_id: int, copy: _Copy, log: ObservedLog, *, term: int, up_to: int
    ) -> None:
        first = max(copy.checked_index, log.base_index) + 1
        for index in range(first, up_to + 1):
            entry_term = log.term_at(index)
            if entry_term is None:
                self._findings.report(
                    "I16", f"n{node_id} holds {index} committed and has only {log.last_index}"
                )
                break
            crc = self._lineage[index, entry_term][1]
            known = self.committed.setdefault(index, Committed(entry_term, crc, term))
            if known[:2] != (entry_term, crc):
                self._findings.report(
                    "I16",
                    f"n{node_id} holds {index} of term {entry_term} committed; another holds "
                    f"that of term {known.term}",
                )
        copy.checked_index = up_to
