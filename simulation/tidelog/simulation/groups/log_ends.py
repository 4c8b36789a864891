"""High watermarks, as the leaders that the newest image names have them."""

from __future__ import annotations

from tidelog.chaos.node_inside import held_by, log_of
from tidelog.simulation.cluster.simulation import ClusterSimulation


def high_watermark(base: ClusterSimulation, topic: str, partition: int) -> int:
    """Find a partition's high watermark; 0 where nobody leads it now."""
    found = base.image.partition(topic, partition)
    if found is None or found.leader_id is None:
        return 0
    node = base.machine(found.leader_id).node
    hosted = None if node is None else held_by(node).get((topic, partition))
    log = None if hosted is None else log_of(hosted)
    return 0 if log is None else log.high_watermark
