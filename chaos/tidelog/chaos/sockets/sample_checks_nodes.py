"""Invariants of whole nodes: one active controller a term, bounded, their logs undamaged. Pure.

I15 (broker epochs across a node's processes), I17, I27 and I30.
"""

from __future__ import annotations

from tidelog.chaos.invariants.invariant import Report
from tidelog.chaos.invariants.sizes import Limits, Sizes, oversized
from tidelog.chaos.story.samples import NodeSample

DAMAGE_EVENTS = frozenset({"log damaged", "partition offline"})
DAMAGE_STATS = ("damaged_partitions", "offline_replicas")


class NodeChecks:
    """Checks of every node."""

    def __init__(self, report: Report, *, limits: Limits, is_damage_expected: bool) -> None:
        self.compared = 0
        """Samples judged."""
        self._report = report
        self._limits = limits
        self._is_damage_expected = is_damage_expected
        self._active: dict[int, int] = {}
        self._registered: dict[int, tuple[int, int]] = {}

    def on_sample(self, sample: NodeSample) -> None:
        """A node's, in the order of its samples."""
        self.compared += 1
        self._check_controller(sample)
        self._check_registration(sample)
        self._check_sizes(sample)
        if not self._is_damage_expected:
            self._check_damage(sample)

    def _check_controller(self, sample: NodeSample) -> None:
        # Both: one of them may be of the term before for a moment.
        if not (sample.is_active_controller and sample.raft_leader_id == sample.node_id):
            return
        first = self._active.setdefault(sample.term, sample.node_id)
        if first != sample.node_id:
            both = f"nodes {first} and {sample.node_id}"
            self._report("I17", f"{both} are the active controller of term {sample.term}")

    def _check_registration(self, sample: NodeSample) -> None:
        """A node's new process is registered at a newer metadata offset."""
        if sample.broker_epoch < 0:
            return
        pid, epoch = self._registered.get(sample.node_id, (sample.pid, sample.broker_epoch))
        if pid != sample.pid and sample.broker_epoch <= epoch:
            reported = f"broker epoch {sample.broker_epoch} after {epoch}"
            self._report("I15", f"node {sample.node_id} started anew with {reported}")
        self._registered[sample.node_id] = sample.pid, max(epoch, sample.broker_epoch)

    def _check_sizes(self, sample: NodeSample) -> None:
        stats = sample.stats
        sizes = Sizes(
            produce_in_flight_bytes=int(stats.get("produce_in_flight_bytes", 0)),
            waiting_fetches=int(stats.get("waiting_fetches", 0)),
            tasks=sample.tasks,
            rss_bytes=sample.rss_bytes,
            open_files=sample.open_files,
        )
        for broken in oversized(f"node {sample.node_id}", sizes, self._limits):
            self._report(*broken)

    def _check_damage(self, sample: NodeSample) -> None:
        reported = [line for line in sample.lines if line.event in DAMAGE_EVENTS]
        for line in reported:
            fields = dict(line.fields)
            self._report("I27", f"node {sample.node_id}: {line.event} {fields}, none was expected")
        for name in DAMAGE_STATS if not reported else ():
            if sample.stats.get(name):
                self._report("I27", f"node {sample.node_id} has {name}, none was expected")
