"""The client's view of the cluster: brokers, topics, and the leader of each partition. Pure.

Answers come from brokers that may lag behind each other, so a partition's leader only ever moves to
a newer leader epoch. Epochs start over in a recreated topic (another topic id). The metadata
offsets of the answers show which incarnation is newer, and whether one is gone for good. Sends no
requests: `routing.py` does.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tidelog.client.errors import TidelogError, error_from_wire
from tidelog.client.records import TopicPartition
from tidelog.v1 import common_pb2
from tidelog.v1.common_pb2 import Endpoint, LeaderHint
from tidelog.v1.data_pb2 import MetadataResponse

UNKNOWN_EPOCH = -1
_UNKNOWN = Endpoint()


@dataclass(frozen=True, slots=True)
class Leader:
    """The leader of a partition; `address` is None without a leader or a known address of it."""

    epoch: int
    broker_id: int | None
    address: str | None
    rack: str = ""
    """The broker's rack; empty if unknown."""


@dataclass(frozen=True, slots=True)
class TopicView:
    """A topic; partitions are numbered from 0 without gaps."""

    topic_id: bytes
    leaders: Mapping[int, Leader]
    available: tuple[int, ...]
    """The partitions with a leader, or all if none has one: targets of records without a key."""
    updated_ms: int


class ClusterMetadata:
    """The newest known state; changed by `update`, `apply_hint` and `forget` only."""

    def __init__(self) -> None:
        self._brokers: dict[int, Endpoint] = {}
        self._topics: dict[str, TopicView] = {}
        self._errors: dict[str, TidelogError] = {}
        self._cluster_id = ""
        self._known_at: dict[str, int] = {}
        """The metadata offset at which a topic's incarnation, or its deletion, is known."""
        self._gone: dict[str, bytes] = {}
        """The last topic id of each deleted topic, by name."""
        self._listener: Callable[[TopicPartition], None] | None = None

    def on_move(self, listener: Callable[[TopicPartition], None]) -> None:
        """Call `listener` for each partition whose leader or topic changes."""
        self._listener = listener

    @property
    def addresses(self) -> list[str]:
        """The addresses of the live brokers."""
        return [broker.address for broker in self._brokers.values()]

    @property
    def leaders(self) -> dict[str, Mapping[int, Leader]]:
        """The leaders of all partitions, by topic."""
        return {name: view.leaders for name, view in self._topics.items()}

    def topic(self, name: str) -> TopicView | None:
        """The topic, if a broker has described it."""
        return self._topics.get(name)

    def error(self, name: str) -> TidelogError | None:
        """The error of the topic in the last answer, if there was one."""
        return self._errors.get(name)

    def is_gone(self, name: str, topic_id: bytes) -> bool:
        """True if this incarnation of a topic, once described, is deleted for good."""
        view = self._topics.get(name)
        is_replaced = view is not None and view.topic_id != topic_id
        return bool(topic_id) and (is_replaced or self._gone.get(name) == topic_id)

    def leader(self, tp: TopicPartition) -> Leader | None:
        """The partition's leader, if there is one and its address is known."""
        view = self._topics.get(tp.topic)
        leader = None if view is None else view.leaders.get(tp.partition)
        return leader if leader is not None and leader.address is not None else None

    def leader_epoch(self, topic: str, topic_id: bytes, partition: int) -> int:
        """The newest known epoch, with a leader or without; UNKNOWN_EPOCH for another incarnation.

        Epochs of two incarnations cannot be compared: each starts over.
        """
        view = self._topics.get(topic)
        if view is None or view.topic_id != topic_id or partition not in view.leaders:
            return UNKNOWN_EPOCH
        return view.leaders[partition].epoch

    def update(self, response: MetadataResponse, *, now_ms: int) -> None:
        """Apply a broker's answer."""
        self._brokers = {broker.node_id: broker for broker in response.brokers}
        if response.cluster_id != self._cluster_id:
            self._cluster_id = response.cluster_id
            self._known_at.clear()
        for topic in response.topics:
            if not self._is_old(topic, response.metadata_offset):
                self._take(topic, response.metadata_offset, now_ms)

    def _is_old(self, topic: MetadataResponse.Topic, offset: int) -> bool:
        """True if the answer is about an earlier incarnation, or the time before the topic."""
        known = self._topics.get(topic.name)
        is_known = known is not None and known.topic_id == topic.topic_id
        is_as_known = is_known and topic.name not in self._gone
        return offset < self._known_at.get(topic.name, 0) and not is_as_known

    def _take(self, topic: MetadataResponse.Topic, offset: int, now_ms: int) -> None:
        known = self._topics.get(topic.name)
        if topic.error.code != common_pb2.NONE:
            self._errors[topic.name] = error_from_wire(topic.error)
            if topic.error.code == common_pb2.UNKNOWN_TOPIC_OR_PARTITION and known is not None:
                self._gone[topic.name] = known.topic_id
                self._known_at[topic.name] = offset
                self._notify_moved(topic.name, known, None)
            return
        self._errors.pop(topic.name, None)
        self._gone.pop(topic.name, None)
        self._known_at[topic.name] = max(offset, self._known_at.get(topic.name, 0))
        before = known
        if known is None or known.topic_id != topic.topic_id:
            known = None
        leaders = {p.partition: self._newer(known, p) for p in topic.partitions}
        view = self._topics[topic.name] = _view(topic.topic_id, leaders, now_ms)
        self._notify_moved(topic.name, before, view)

    def forget(self, name: str) -> None:
        """Forget a topic, which is then as if no broker had described it."""
        for known in (self._topics, self._errors, self._known_at, self._gone):
            known.pop(name, None)

    def apply_hint(self, tp: TopicPartition, hint: LeaderHint) -> bool:
        """Apply the leader that an error answer names (KIP-951); False if it is not newer."""
        view = self._topics.get(tp.topic)
        known = None if view is None else view.leaders.get(tp.partition)
        if view is None or known is None or not hint.address or hint.leader_epoch < known.epoch:
            return False
        if hint.leader_epoch == known.epoch and known.address is not None:
            return False
        rack = self._brokers.get(hint.leader_id, _UNKNOWN).rack
        leader = Leader(hint.leader_epoch, hint.leader_id, hint.address, rack)
        leaders = {**view.leaders, tp.partition: leader}
        self._topics[tp.topic] = _view(view.topic_id, leaders, view.updated_ms)
        if self._listener is not None:
            self._listener(tp)
        return True

    def _notify_moved(self, name: str, before: TopicView | None, now: TopicView | None) -> None:
        """Report the changed partitions: all of them, if the topic is another one or deleted."""
        if self._listener is None:
            return
        old = {} if before is None else before.leaders
        new = {} if now is None else now.leaders
        is_same = before is not None and now is not None and before.topic_id == now.topic_id
        for partition in {**old, **new}:
            if not is_same or old.get(partition) != new.get(partition):
                self._listener(TopicPartition(name, partition))

    def _newer(self, view: TopicView | None, answer: MetadataResponse.Partition) -> Leader:
        known = None if view is None else view.leaders.get(answer.partition)
        if known is not None and known.epoch > answer.leader_epoch:
            return known
        if not answer.HasField("leader_id"):
            return Leader(answer.leader_epoch, None, None)
        broker = self._brokers.get(answer.leader_id, _UNKNOWN)
        address = broker.address or None
        return Leader(answer.leader_epoch, answer.leader_id, address, broker.rack)


def _view(topic_id: bytes, leaders: dict[int, Leader], updated_ms: int) -> TopicView:
    available = tuple(p for p, leader in leaders.items() if leader.address is not None)
    return TopicView(topic_id, leaders, available or tuple(leaders), updated_ms)
