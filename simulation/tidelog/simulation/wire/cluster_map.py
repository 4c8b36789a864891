"""A client's knowledge of the cluster: brokers' addresses, topics' ids, leaders and epochs. Pure.

As Kafka's clients keep it: what is told of a partition counts unless its leader epoch is older than
the one that is known of the same topic id (KIP-320); hints in answers count if they are newer
(KIP-951).
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from tidelog.kafka.messages.metadata_response import MetadataResponse, MetadataResponseTopic

NOBODY = -1


class Leader(NamedTuple):
    """A partition's leader, -1 for none, and the epoch."""

    node_id: int
    epoch: int


class NodeEndpoint(Protocol):
    """A broker's address, as answers of several APIs tell it."""

    node_id: int
    host: str
    port: int


@dataclass(slots=True)
class TopicView:
    """Knowledge of a topic."""

    topic_id: bytes
    leaders: dict[int, Leader] = field(default_factory=dict)
    """By partition."""


class ClusterMap:
    """See the module."""

    def __init__(self) -> None:
        self.addresses: dict[int, str] = {}
        self.topics: dict[str, TopicView] = {}

    def leader(self, topic: str, partition: int) -> Leader | None:
        """Leader of a partition that has one."""
        view = self.topics.get(topic)
        found = None if view is None else view.leaders.get(partition)
        return found if found is not None and found.node_id in self.addresses else None

    def topic_id(self, topic: str) -> bytes:
        """Id of a topic that is known."""
        return self.topics[topic].topic_id

    def take(self, answer: MetadataResponse) -> None:
        """Take an answer of Metadata."""
        if answer.brokers:
            self.addresses = {one.node_id: f"{one.host}:{one.port}" for one in answer.brokers}
        for topic in answer.topics:
            if topic.error_code == 0 and topic.name is not None:
                self._take_topic(topic.name, topic)

    def take_hint(
        self, topic: str, partition: int, leader: Leader, endpoints: Iterable[NodeEndpoint]
    ) -> bool:
        """Take a leader that an answer's error names; whether it is newer than what is known."""
        view = self.topics.get(topic)
        known = None if view is None else view.leaders.get(partition)
        named = {one.node_id: f"{one.host}:{one.port}" for one in endpoints}
        if view is None or leader.node_id not in named:
            return False
        if known is not None and leader.epoch <= known.epoch:
            return False
        self.addresses.update(named)
        view.leaders[partition] = leader
        return True

    def _take_topic(self, name: str, answer: MetadataResponseTopic) -> None:
        view = self.topics.get(name)
        if view is None or view.topic_id != answer.topic_id:
            view = self.topics[name] = TopicView(answer.topic_id)
        for one in answer.partitions:
            known = view.leaders.get(one.partition_index)
            if known is None or one.leader_epoch >= known.epoch:
                view.leaders[one.partition_index] = Leader(one.leader_id, one.leader_epoch)
