"""Invariants of a run, fed by the simulation with voters' messages, applied entries and promises.

It owns which check sees what; the checks themselves are `wire_checks`, `election_checks`,
`log_checks`, `disk_checks`, `state_checks`, `contact_checks` and, over what clients saw,
`linearizability`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tidelog.raft.driver import RaftDriver
from tidelog.simulation.raft import linearizability
from tidelog.simulation.raft.contact_checks import ContactChecks
from tidelog.simulation.raft.disk_checks import DiskChecks, Medium
from tidelog.simulation.raft.election_checks import ElectionChecks
from tidelog.simulation.raft.linearizability import Operation
from tidelog.simulation.raft.log_checks import LogChecks
from tidelog.simulation.raft.machine import KeyValueMachine
from tidelog.simulation.raft.state_checks import StateChecks
from tidelog.simulation.raft.wire_checks import WireChecks
from tidelog.simulation.suites.findings import Findings
from tidelog.simulation.suites.timeline import Timeline
from tidelog.v1.raft_pb2 import RaftMessage


class Checks:
    """Judges one run; `findings` has the verdict."""

    def __init__(
        self,
        findings: Findings,
        timeline: Timeline,
        *,
        contacts: ContactChecks,
        disks: DiskChecks,
        elections: ElectionChecks,
    ) -> None:
        self.findings = findings
        self.disks = disks
        self.contacts = contacts
        self.elections = elections
        self.logs = LogChecks(findings)
        self.states = StateChecks(findings)
        self.wire = WireChecks(findings, on_elected=self._on_elected)
        self._timeline = timeline
        self._drivers: dict[int, RaftDriver] = {}

    def begin_life(self, node_id: int, driver: RaftDriver, disk: Medium) -> None:
        """A voter's new process starts on this disk."""
        self.disks.begin_life(node_id, disk)
        self._drivers[node_id] = driver
        self.logs.begin_life(node_id)
        self.states.begin_life(node_id)

    def on_sent(self, driver: RaftDriver, message: RaftMessage) -> None:
        """A voter handed `message` to its transport: no crash makes it untrue."""
        if driver.storage is not None:
            self.disks.on_sent(message, driver.storage.wal)
        self.look(driver, announced_index=message.append_entries.commit_index)
        self.wire.on_sent(message)
        self.elections.on_sent(message)

    def look(self, driver: RaftDriver, *, announced_index: int = 0) -> None:
        """Look at what is new in a voter; between its steps, or when it speaks."""
        if driver.storage is not None:
            self.logs.look(
                driver.node_id,
                driver.storage.wal,
                term=driver.term,
                commit_index=driver.commit_index,
                applied_index=driver.applied_index,
                announced_index=announced_index,
            )

    def look_at_whole(self, drivers: Iterable[RaftDriver]) -> None:
        """Compare whole logs."""
        for driver in drivers:
            if driver.storage is not None:
                self.logs.look_at_whole(driver.node_id, driver.storage.wal)

    def finish(self, machines: Mapping[int, KeyValueMachine], history: list[Operation]) -> None:
        """Judge the rest and what clients saw, after everything is calm and reported."""
        self.states.finish(machines)
        for complaint in linearizability.complaints(history):
            self.findings.report("linearizability", complaint)

    def _on_elected(self, node_id: int, term: int) -> None:
        self._timeline.note(f"n{node_id}", f"leads in term {term}")
        storage = self._drivers[node_id].storage
        if storage is not None:
            self.logs.on_elected(node_id, term, storage.wal)
