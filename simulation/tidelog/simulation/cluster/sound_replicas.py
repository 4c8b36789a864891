"""Replicas that can be held to their promises: sound, running, and registered."""

from __future__ import annotations

from tidelog.broker.partition.partition import Partition
from tidelog.chaos.invariants.images import ImageChecks
from tidelog.chaos.node_inside import held_by, is_listed_incarnation
from tidelog.metadata.image import PartitionImage
from tidelog.simulation.cluster.cluster import SimCluster


class SoundReplicas:
    """Looks at all nodes; changes nothing."""

    def __init__(self, cluster: SimCluster, images: ImageChecks) -> None:
        self._cluster = cluster
        self._images = images

    def newest_state(self, hosted: Partition) -> PartitionImage | None:
        """State of its partition, by the newest image; None once the topic is deleted."""
        topic = self._images.newest.topic_by_id(hosted.topic_id)
        if topic is None or hosted.partition >= len(topic.partitions):
            return None
        return topic.partitions[hosted.partition]

    def sound_replica(
        self, node_id: int, topic_id: bytes, partition: int, *, broker_epoch: int | None = None
    ) -> Partition | None:
        """The replica of a running node, if its log is sound, and it has no loss to report.

        Of the process that is registered, and with `broker_epoch` of that one.
        """
        machine = self._cluster.machines[node_id]
        topic = self._images.newest.topic_by_id(topic_id)
        broker = self._images.newest.brokers.get(node_id)
        if machine.node is None or topic is None or broker is None:
            return None
        epochs = (broker.broker_epoch, broker_epoch or broker.broker_epoch)
        if not all(is_listed_incarnation(epoch, machine.node) for epoch in epochs):
            return None
        hosted = held_by(machine.node).get((topic.name, partition))
        if hosted is None or hosted.topic_id != topic_id:
            return None
        if not hosted.is_sound or hosted.may_have_lost:
            return None
        return hosted
