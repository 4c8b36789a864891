"""The fault budget: what faults may take, so that a lost record is always the product's fault.

What is promised (README, decisions 0005, 0009, 0013), and what follows for each partition:

- A record acknowledged with acks=all was on every in-sync replica, at least `min.insync.replicas`
  of them, in the page cache. A killed or paused process, a cut link, a clock, a full or slow disk
  take nothing of that: such faults have no budget.
- A power cut takes what a replica had not synced. The replica says so when it starts (another boot
  id) and is out of ISR and ELR until it has caught up: only then does it hold everything again. So
  it is *impaired* from the cut until its present process is in the ISR. As long as at most
  `min.insync.replicas` - 1 replicas are impaired at a time, one of those that had to acknowledge
  holds every record, and only complete replicas are elected.
- With flush.messages=1 what was acknowledged is on stable storage: everyone may lose power.
- A flipped bit below the recovery point is damage, whatever the topic flushes: the replica is
  impaired until the byte was fetched again, or is gone, and it is in the ISR. Indexes and producer
  snapshots are made again from the log: no harm, no budget.
- After a failed sync the kernel may have dropped pages that still look well until the power goes:
  the replica is impaired until it is in the ISR again, and no later start can know. Such a machine
  never loses power after that.
- Where `unclean.leader.election.enable` is set, loss is allowed, and counted.
- A cut that is yet to come (`crash_at`) counts from the moment it is planned.

While no controller runs nobody can say who is in sync, and nothing is taken.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from tidelog.chaos.faults.bit_flip import Flip
from tidelog.chaos.faults.budget import impaired_max
from tidelog.metadata.image import MetadataImage, PartitionImage, TopicImage
from tidelog.simulation.cluster.cluster import DATA_DIRECTORY, SimCluster
from tidelog.simulation.cluster.inside import broker_epoch, newest_image
from tidelog.simulation.cluster.simulation_config import ClusterSimulationConfig

Replica = tuple[int, str, int]
"""Broker id, topic, partition."""


@dataclass(slots=True)
class Impairment:
    """Impairment of one replica of a topic's incarnation."""

    topic_id: bytes
    flips: list[Flip] = field(default_factory=list)
    is_cut: bool = False
    """By a power cut, or one that is planned."""


class FaultBudget:
    """Impaired replicas. Faults ask before they take anything, and note what they took."""

    def __init__(
        self, cluster: SimCluster, config: ClusterSimulationConfig, coverage: Counter[str]
    ) -> None:
        self._cluster = cluster
        self._config = config
        self._coverage = coverage
        self._impaired: dict[Replica, Impairment] = {}
        self._planned: set[int] = set()  # never iterated
        self._tainted: set[int] = set()  # never iterated

    # What faults ask

    def may_lose_power(self, node_id: int) -> bool:
        """True if this node's power may go now, or soon."""
        self.look()
        image = newest_image(self._cluster)
        if node_id in self._tainted or not image.offset:
            return False
        hosted = list(_hosted(image, node_id))
        return all(self._has_room(node_id, topic, one) for topic, one in hosted)

    def may_damage(self, node_id: int, topic: str, partition: int) -> bool:
        """True if stored bytes of this replica may change behind its back."""
        self.look()
        image = newest_image(self._cluster)
        state = image.partition(topic, partition)
        if state is None or node_id not in state.replicas:
            return False
        return self._is_free(node_id, topic, state)

    # Notes of faults

    def plan_cut(self, node_id: int) -> None:
        """Its power may go at any time from now on."""
        self._planned.add(node_id)
        self._impair(node_id)

    def cancel_cut(self, node_id: int) -> None:
        """It did not go, and will not."""
        self._planned.discard(node_id)

    def note_cut(self, node_id: int) -> None:
        """Its power went."""
        self._planned.discard(node_id)
        self._coverage["lossy_crashes"] += 1
        self._impair(node_id)

    def note_flip(self, topic: str, partition: int, flip: Flip) -> None:
        """A bit was flipped."""
        known = newest_image(self._cluster).topics[topic]
        self._impairment(flip.node_id, known, partition).flips.append(flip)

    def note_damage(self, node_id: int, topic: str, partition: int) -> None:
        """A file of it is gone, or worse than flipped: it heals as it comes into the ISR again."""
        self._impairment(node_id, newest_image(self._cluster).topics[topic], partition)

    def note_failed_sync(self, node_id: int, topic: str, partition: int) -> None:
        """Nobody knows what of its page cache is on its disk."""
        self._tainted.add(node_id)
        self.note_damage(node_id, topic, partition)

    # How it heals

    def look(self) -> None:
        """Let go of what has healed."""
        image = newest_image(self._cluster)
        if not self._impaired or not image.offset:
            return
        for replica, impairment in list(self._impaired.items()):
            if self._is_gone(replica, impairment, image):
                del self._impaired[replica]
            elif self._has_healed(replica, impairment, image):
                self._coverage["damaged_replicas_healed"] += bool(impairment.flips)
                del self._impaired[replica]

    def outstanding(self) -> Iterator[str]:
        """Yield what will heal by itself and has not yet, for people: a scrub reads logs only.

        Other files are read at a start; until then the replica stays impaired, and does well.
        """
        self.look()
        for (node_id, topic, partition), impairment in self._impaired.items():
            in_logs = [one for one in impairment.flips if one.path.endswith(".log")]
            if impairment.is_cut or any(map(self._is_wrong, in_logs)):
                yield f"{topic}-{partition} on node {node_id} has not healed: {impairment}"

    def _has_healed(self, replica: Replica, impairment: Impairment, image: MetadataImage) -> bool:
        node_id, topic, partition = replica
        state = image.partition(topic, partition)
        if node_id in self._planned or state is None or node_id not in state.isr:
            return False
        if any(map(self._is_wrong, impairment.flips)):
            return False
        # the registration of this very process, or a late one of the process that lost power
        return broker_epoch(self._cluster.machines[node_id]) == image.brokers[node_id].broker_epoch

    def _is_wrong(self, flip: Flip) -> bool:
        disk = self._cluster.disk(flip.node_id)
        return disk.look(flip.path, flip.byte, 1) == bytes([flip.wrong])

    @staticmethod
    def _is_gone(replica: Replica, impairment: Impairment, image: MetadataImage) -> bool:
        topic = image.topics.get(replica[1])
        return topic is None or topic.topic_id != impairment.topic_id

    # Counting

    def _has_room(self, node_id: int, topic: TopicImage, state: PartitionImage) -> bool:
        return self._config.plan(topic.name).is_flushed or self._is_free(node_id, topic.name, state)

    def _is_free(self, node_id: int, topic: str, state: PartitionImage) -> bool:
        plan = self._config.plan(topic)
        others = sum(
            (one, topic, state.partition) in self._impaired
            for one in state.replicas
            if one != node_id
        )
        return plan.is_lossy or others < impaired_max(plan.min_insync_replicas)

    def _impair(self, node_id: int) -> None:
        for topic, state in _hosted(newest_image(self._cluster), node_id):
            if not self._config.plan(topic.name).is_flushed:
                self._impairment(node_id, topic, state.partition).is_cut = True

    def _impairment(self, node_id: int, topic: TopicImage, partition: int) -> Impairment:
        key = (node_id, topic.name, partition)
        known = self._impaired.get(key)
        if known is None or known.topic_id != topic.topic_id:
            known = self._impaired[key] = Impairment(topic.topic_id)
        return known


def folder_of(topic: str, partition: int) -> str:
    """The folder of a replica on its node's disk."""
    return f"{DATA_DIRECTORY}/{topic}-{partition}"


def partition_of(path: str) -> tuple[str, int]:
    """The topic and the partition of a file in a replica's folder."""
    topic, _, partition = path.split("/")[-2].rpartition("-")
    return topic, int(partition)


def _hosted(image: MetadataImage, node_id: int) -> Iterator[tuple[TopicImage, PartitionImage]]:
    return ((topic, state) for topic, state in image.partitions() if node_id in state.replicas)
