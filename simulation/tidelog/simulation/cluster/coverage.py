"""Coverage: events that a hundred seeds must meet, read from nodes' counters and commits.

Owns the counters; decides nothing about the run.
"""

from __future__ import annotations

from collections import Counter

from tidelog.metadata.image import EMPTY_IMAGE, MetadataImage
from tidelog.node.server import Node
from tidelog.simulation.cluster.cluster import Machine, SimCluster
from tidelog.simulation.cluster.inside import newest_image

COVERAGE = (
    "elections",
    "truncated_records",
    "isr_shrinks",
    "isr_expands",
    "duplicates_refused",
    "lossy_crashes",
    "damaged_replicas_healed",
    "unclean_elections",
    "fenced_brokers",
    "controller_changes",
    "recreated_topics",
    "deletions",
    "unknown_outcomes",
    "table_producers",
    "table_readers",
    "http_producers",
)
_OF_STATS = {
    "truncated_records": "truncated_records",
    "isr_shrinks": "isr_shrinks",
    "isr_expands": "isr_expands",
    "duplicate_batches": "duplicates_refused",
    "unclean_leader_elections": "unclean_elections",
}


class Observer:
    """Looks at the committed image again and again, and at each process's numbers at its end."""

    def __init__(self, cluster: SimCluster, coverage: Counter[str]) -> None:
        self._cluster = cluster
        self._coverage = coverage
        self._image = EMPTY_IMAGE
        cluster.on_process_end = self._on_process_end

    def look(self) -> None:
        """Count what changed since the last look."""
        image = newest_image(self._cluster)
        before = self._image
        if image.offset <= before.offset:
            return
        self._image = image
        if before is EMPTY_IMAGE:
            return
        self._coverage["controller_changes"] += image.controller_epoch > before.controller_epoch
        if image.brokers is not before.brokers:
            self._count_fenced(before, image)
        if image.topics is not before.topics:
            self._count_elections(before, image)

    def finish(self) -> None:
        """The run is over: what runs is counted too."""
        self.look()
        for machine in self._cluster.machines.values():
            self._on_process_end(machine)

    def _count_fenced(self, before: MetadataImage, image: MetadataImage) -> None:
        self._coverage["fenced_brokers"] += sum(
            before.is_alive(broker_id) and broker.is_fenced
            for broker_id, broker in image.brokers.items()
        )

    def _count_elections(self, before: MetadataImage, image: MetadataImage) -> None:
        for topic, partition in image.partitions():
            known = before.topic_by_id(topic.topic_id)
            if known is None or partition.partition >= len(known.partitions):
                continue
            was = known.partitions[partition.partition]
            is_led = partition.leader_id is not None
            self._coverage["elections"] += is_led and partition.leader_epoch > was.leader_epoch

    def _on_process_end(self, machine: Machine) -> None:
        node: Node | None = machine.node
        if node is not None:
            stats = node.stats()
            for name, counter in _OF_STATS.items():
                self._coverage[counter] += int(stats.get(name, 0))
