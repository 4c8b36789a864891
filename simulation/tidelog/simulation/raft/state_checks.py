"""Invariants of state machines: one entry an index, one state an index, nothing lost.

Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from tidelog.raft.replicated_log import CommittedEntry
from tidelog.simulation.raft.machine import Command, KeyValueMachine
from tidelog.simulation.suites.findings import Findings


class _Applied(NamedTuple):
    term: int
    command: bytes
    state_hash: int


class StateChecks:
    """Voters' applied entries, and the promises to clients."""

    def __init__(self, findings: Findings) -> None:
        self.applied: dict[int, _Applied] = {}
        """By index: what was applied there first."""
        self._findings = findings
        self._last_by_node: dict[int, int] = {}
        self._acknowledged: dict[int, CommittedEntry] = {}
        self._attempts: set[tuple[int, int]] = set()
        self._refused: set[tuple[int, int]] = set()

    @property
    def acknowledged(self) -> int:
        """Number of acknowledged commands."""
        return len(self._acknowledged)

    def begin_life(self, node_id: int) -> None:
        """A voter starts with an empty state machine."""
        self._last_by_node[node_id] = 0

    def on_applied(self, node_id: int, entry: CommittedEntry, state_hash: int) -> None:
        """A voter's state has this hash after `entry`."""
        last = self._last_by_node[node_id]
        if entry.index <= last:
            self._findings.report("I18", f"n{node_id} applied {entry.index} after {last}")
        self._last_by_node[node_id] = entry.index
        self._check_is_next(node_id, last, entry.index)
        applied = _Applied(entry.term, entry.command, state_hash)
        known = self.applied.setdefault(entry.index, applied)
        if known[:2] != applied[:2]:
            self._findings.report("I16", f"n{node_id} applied another entry {entry.index}")
        elif known != applied:
            self._findings.report("state_hash", f"n{node_id} has another state at {entry.index}")
        command = Command.decode(entry.command)
        self._attempts.add((command.command_id, command.attempt))
        self._check_not_refused(command)

    def on_restored(self, node_id: int, index: int, term: int, state_hash: int) -> None:
        """A voter's state is that of a snapshot."""
        if index < self._last_by_node[node_id]:
            last = self._last_by_node[node_id]
            self._findings.report("I18", f"n{node_id} went back from {last} to a snapshot {index}")
        self._last_by_node[node_id] = index
        at = next((i for i in range(index, 0, -1) if i in self.applied), None)
        known = None if at is None else self.applied[at]
        if known is not None and known.state_hash != state_hash:
            self._findings.report("state_hash", f"n{node_id} restored another state at {index}")
        if known is not None and (known.term > term or (at == index and known.term != term)):
            self._findings.report("I16", f"n{node_id} restored {index} of term {term}")

    def on_acknowledged(self, entry: CommittedEntry) -> None:
        """A client may know that its command is committed as `entry`."""
        known = self.applied.get(entry.index)
        if known is None or known[:2] != (entry.term, entry.command):
            self._findings.report("acknowledged_lost", f"entry {entry.index} is another's or none")
        self._acknowledged[entry.index] = entry

    def on_refused(self, command: Command) -> None:
        """This attempt was certainly not appended."""
        self._refused.add((command.command_id, command.attempt))
        self._check_not_refused(command)

    def finish(self, machines: Mapping[int, KeyValueMachine]) -> None:
        """At the end every voter knows of every acknowledged command."""
        for node_id, machine in machines.items():
            missing = self._missing(machine, self._acknowledged.values())
            if missing:
                self._findings.report("acknowledged_lost", f"n{node_id} lacks commands {missing}")

    def _missing(self, machine: KeyValueMachine, entries: Iterable[CommittedEntry]) -> list[int]:
        ids = [Command.decode(entry.command).command_id for entry in entries]
        return [command_id for command_id in ids if command_id not in machine.outcomes]

    def _check_is_next(self, node_id: int, last: int, index: int) -> None:
        """Nothing that another voter applied lies between."""
        skipped = [i for i in range(last + 1, index) if i in self.applied]
        if skipped:
            self._findings.report("I16", f"n{node_id} applied {index} without {skipped}")

    def _check_not_refused(self, command: Command) -> None:
        attempt = command.command_id, command.attempt
        if attempt in self._refused and attempt in self._attempts:
            self._findings.report(
                "refused_but_applied", f"command {command.command_id} was applied"
            )
