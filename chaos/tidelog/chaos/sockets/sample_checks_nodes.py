"""Invariants of whole nodes: one active controller a term, bounded, their logs undamaged. Pure.

I15 (broker epochs across a node's processes), I17, I27 and I30.
"""

from __future__ import annotations

from dataclasses import dataclass

from tidelog.chaos.invariants.invariant import Report
from tidelog.chaos.story.samples import NodeSample

MIB = 1 << 20

DAMAGE_EVENTS = frozenset({"log damaged", "partition offline"})
DAMAGE_STATS = ("damaged_partitions", "offline_replicas")


@dataclass(frozen=True, slots=True)
class Limits:
    """I30: of one node. Far above what a few partitions and clients need."""

    rss_bytes: int = 512 * MIB
    tasks: int = 4000
    open_files: int = 4000
    produce_in_flight_bytes: int = 64 * MIB
    """`produce_in_flight_bytes_max` of the replica config."""
    waiting_fetches: int = 10_000
    """`waiting_fetches_max` of the replica config."""


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
            told = f"broker epoch {sample.broker_epoch} after {epoch}"
            self._report("I15", f"node {sample.node_id} started anew with {told}")
        self._registered[sample.node_id] = sample.pid, max(epoch, sample.broker_epoch)

    def _check_sizes(self, sample: NodeSample) -> None:
        limits, stats = self._limits, sample.stats
        for name, size, size_max in (
            ("bytes of memory", sample.rss_bytes, limits.rss_bytes),
            ("tasks", sample.tasks, limits.tasks),
            ("open files", sample.open_files, limits.open_files),
            (
                "bytes of producers in flight",
                stats.get("produce_in_flight_bytes", 0),
                limits.produce_in_flight_bytes,
            ),
            ("waiting fetches", stats.get("waiting_fetches", 0), limits.waiting_fetches),
        ):
            if size > size_max:
                self._report("I30", f"node {sample.node_id}: {size} {name}, at most {size_max}")

    def _check_damage(self, sample: NodeSample) -> None:
        told = [line for line in sample.lines if line.event in DAMAGE_EVENTS]
        for line in told:
            fields = dict(line.fields)
            self._report("I27", f"node {sample.node_id}: {line.event} {fields}, none was expected")
        for name in DAMAGE_STATS if not told else ():
            if sample.stats.get(name):
                self._report("I27", f"node {sample.node_id} has {name}, none was expected")
