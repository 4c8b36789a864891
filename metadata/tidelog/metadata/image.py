"""The frozen image of all cluster metadata at one metadata offset.

Composes the aspects in `images` and owns the look-ups across them. Never changes:
`tidelog.metadata.delta.replay` makes the next image out of this one and a committed batch.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from tidelog.metadata.images.brokers import BrokerImage
from tidelog.metadata.images.topics import PartitionImage, TopicImage
from tidelog.v1.metadata_records_pb2 import CommandRecord

__all__ = ["EMPTY_IMAGE", "BrokerImage", "MetadataImage", "PartitionImage", "TopicImage"]


@dataclass(frozen=True, slots=True)
class MetadataImage:
    """The metadata as of `offset`, the Raft index of the last batch that applied; 0: none did."""

    offset: int = 0
    controller_epoch: int = 0
    brokers: Mapping[int, BrokerImage] = field(default_factory=dict)
    topics: Mapping[str, TopicImage] = field(default_factory=dict)
    topics_by_id: Mapping[bytes, str] = field(default_factory=dict)
    cluster_configs: Mapping[str, str] = field(default_factory=dict)
    commands: Mapping[bytes, CommandRecord] = field(default_factory=dict)
    """The newest commands that were followed, by id, oldest first, with their replies."""
    commands_bytes: int = 0
    """Size of all `commands` in their serialized form."""
    next_producer_id: int = 0
    """The start of the next block: no broker has an id from here on."""

    def partition(self, topic: str, partition: int) -> PartitionImage | None:
        """The partition, or None when the topic or its partition does not exist."""
        found = self.topics.get(topic)
        if found is None or not 0 <= partition < len(found.partitions):
            return None
        return found.partitions[partition]

    def topic_by_id(self, topic_id: bytes) -> TopicImage | None:
        """The topic of this id, or None when it does not exist."""
        name = self.topics_by_id.get(topic_id)
        return None if name is None else self.topics[name]

    def partitions(self) -> Iterator[tuple[TopicImage, PartitionImage]]:
        """Every partition with its topic, in creation order of the topics."""
        for topic in self.topics.values():
            for partition in topic.partitions:
                yield topic, partition

    def is_alive(self, broker_id: int) -> bool:
        """True when the broker is registered and not fenced."""
        broker = self.brokers.get(broker_id)
        return broker is not None and not broker.is_fenced

    def has_live(self, broker_id: int, broker_epoch: int) -> bool:
        """True when this very incarnation of the broker is alive (KIP-903)."""
        return self.is_alive(broker_id) and self.brokers[broker_id].broker_epoch == broker_epoch

    def live_brokers(self) -> list[int]:
        """Ids of the brokers that are alive, sorted."""
        return sorted(broker_id for broker_id in self.brokers if self.is_alive(broker_id))


EMPTY_IMAGE = MetadataImage()
