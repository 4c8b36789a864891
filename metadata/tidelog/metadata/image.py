"""The frozen image of all cluster metadata at one metadata offset.

Owns the shapes and the look-ups. Decides nothing and never changes: `tidelog.metadata.delta.replay`
makes the next image out of this one and a committed batch.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from tidelog.v1.metadata_records_pb2 import CommandRecord


@dataclass(frozen=True, slots=True)
class BrokerImage:
    """A registered broker. `broker_epoch` is the metadata offset of its registration (KIP-631)."""

    broker_id: int
    incarnation_id: bytes
    broker_epoch: int
    address: str
    rack: str
    is_fenced: bool


@dataclass(frozen=True, slots=True)
class PartitionImage:
    """A partition. `replicas` in order of preference; `leader_id` is None or a member of `isr`.

    Who is in which set is decided in `tidelog.metadata.election`.
    """

    partition: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    leader_id: int | None
    leader_epoch: int
    partition_epoch: int
    elr: tuple[int, ...] = ()
    """Eligible leader replicas: outside the ISR, and hold all that is committed (KIP-966)."""
    last_known_leader_id: int | None = None
    """Who led last; None while somebody leads."""
    damaged: tuple[int, ...] = ()
    """Whose log was found damaged, and that did not join the ISR since."""
    offline: tuple[int, ...] = ()
    """Whose disk failed, and that neither started anew since nor said that it works again."""


@dataclass(frozen=True, slots=True)
class TopicImage:
    """A topic: `partitions[n].partition == n`; `configs` holds only what was set on the topic."""

    name: str
    topic_id: bytes
    partitions: tuple[PartitionImage, ...]
    configs: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class MetadataImage:
    """Everything, as of `offset`: the Raft index of the last batch that applied; 0: none did."""

    offset: int = 0
    controller_epoch: int = 0
    brokers: Mapping[int, BrokerImage] = field(default_factory=dict)
    topics: Mapping[str, TopicImage] = field(default_factory=dict)
    topics_by_id: Mapping[bytes, str] = field(default_factory=dict)
    cluster_configs: Mapping[str, str] = field(default_factory=dict)
    commands: Mapping[bytes, CommandRecord] = field(default_factory=dict)
    """The newest commands that were followed, by id, oldest first, with what they were answered."""
    commands_bytes: int = 0
    """The size of all in `commands`."""
    next_producer_id: int = 0
    """No producer id from here on was given to a broker."""

    def partition(self, topic: str, partition: int) -> PartitionImage | None:
        """The partition, or None when the topic or its partition does not exist."""
        found = self.topics.get(topic)
        if found is None or not 0 <= partition < len(found.partitions):
            return None
        return found.partitions[partition]

    def topic_by_id(self, topic_id: bytes) -> TopicImage | None:
        """The topic of this id, or None when it does not exist (any more)."""
        name = self.topics_by_id.get(topic_id)
        return None if name is None else self.topics[name]

    def partitions(self) -> Iterator[tuple[TopicImage, PartitionImage]]:
        """Every partition with its topic, in creation order of the topics."""
        for topic in self.topics.values():
            for partition in topic.partitions:
                yield topic, partition

    def is_alive(self, broker_id: int) -> bool:
        """Whether the broker is registered and not fenced."""
        broker = self.brokers.get(broker_id)
        return broker is not None and not broker.is_fenced

    def has_live(self, broker_id: int, broker_epoch: int) -> bool:
        """Whether this very incarnation of the broker is alive (KIP-903)."""
        return self.is_alive(broker_id) and self.brokers[broker_id].broker_epoch == broker_epoch

    def live_brokers(self) -> list[int]:
        """Ids of the brokers that are alive, sorted."""
        return sorted(broker_id for broker_id in self.brokers if self.is_alive(broker_id))


EMPTY_IMAGE = MetadataImage()
