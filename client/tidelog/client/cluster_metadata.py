"""What a client knows of the cluster: brokers, topics, who leads each partition. Pure.

Answers come from brokers that may lag behind each other, so a partition's leader only ever moves to
a newer leader epoch. A topic made anew (another topic id) starts over; which of two incarnations is
the newer, and whether one is gone for good, the metadata offsets of the answers tell. Never asks
for anything: `routing.py` does.
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
    """Who leads a partition; `address` is None while nobody does or nobody knows where it is."""

    epoch: int
    broker_id: int | None
    address: str | None
    rack: str = ""
    """Of that broker; empty: not said."""


@dataclass(frozen=True, slots=True)
class TopicView:
    """One topic; partitions are numbered from 0 without gaps."""

    topic_id: bytes
    leaders: Mapping[int, Leader]
    available: tuple[int, ...]
    """The partitions with a leader, or all when none has one: where records without a key may go.
    """
    updated_ms: int


class ClusterMetadata:
    """The newest known state; grows by `update` and `apply_hint` only."""

    def __init__(self) -> None:
        self._brokers: dict[int, Endpoint] = {}
        self._topics: dict[str, TopicView] = {}
        self._errors: dict[str, TidelogError] = {}
        self._cluster_id = ""
        self._known_at: dict[str, int] = {}
        """The metadata offset as of which a topic's incarnation, or its end, is known."""
        self._gone: dict[str, bytes] = {}
        """The topic id last known under a name, where it was deleted."""
        self._listener: Callable[[TopicPartition], None] | None = None

    def on_move(self, listener: Callable[[TopicPartition], None]) -> None:
        """Call `listener` for each partition whose leader or topic is another than before."""
        self._listener = listener

    @property
    def addresses(self) -> list[str]:
        """Addresses of the live brokers."""
        return [broker.address for broker in self._brokers.values()]

    @property
    def leaders(self) -> dict[str, Mapping[int, Leader]]:
        """Who leads what, by topic."""
        return {name: view.leaders for name, view in self._topics.items()}

    def topic(self, name: str) -> TopicView | None:
        """The topic, when a broker has described it."""
        return self._topics.get(name)

    def error(self, name: str) -> TidelogError | None:
        """Why the last answer did not describe the topic."""
        return self._errors.get(name)

    def is_gone(self, name: str, topic_id: bytes) -> bool:
        """Whether this incarnation of a topic, once described, was deleted: it never comes back."""
        view = self._topics.get(name)
        is_replaced = view is not None and view.topic_id != topic_id
        return bool(topic_id) and (is_replaced or self._gone.get(name) == topic_id)

    def leader(self, tp: TopicPartition) -> Leader | None:
        """The partition's leader, when there is one and its address is known."""
        view = self._topics.get(tp.topic)
        leader = None if view is None else view.leaders.get(tp.partition)
        return leader if leader is not None and leader.address is not None else None

    def leader_epoch(self, topic: str, topic_id: bytes, partition: int) -> int:
        """The newest epoch known, with a leader or without; UNKNOWN_EPOCH of another incarnation.

        Epochs of two incarnations do not compare: each starts over.
        """
        view = self._topics.get(topic)
        if view is None or view.topic_id != topic_id or partition not in view.leaders:
            return UNKNOWN_EPOCH
        return view.leaders[partition].epoch

    def update(self, response: MetadataResponse, *, now_ms: int) -> None:
        """Take over a broker's answer."""
        self._brokers = {broker.node_id: broker for broker in response.brokers}
        if response.cluster_id != self._cluster_id:
            self._cluster_id = response.cluster_id
            self._known_at.clear()
        for topic in response.topics:
            if not self._is_old(topic, response.metadata_offset):
                self._take(topic, response.metadata_offset, now_ms)

    def _is_old(self, topic: MetadataResponse.Topic, offset: int) -> bool:
        """Whether the answer tells of an earlier incarnation, or of a time before there was one."""
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
                self._tell_moved(topic.name, known, None)
            return
        self._errors.pop(topic.name, None)
        self._gone.pop(topic.name, None)
        self._known_at[topic.name] = max(offset, self._known_at.get(topic.name, 0))
        before = known
        if known is None or known.topic_id != topic.topic_id:
            known = None
        leaders = {p.partition: self._newer(known, p) for p in topic.partitions}
        view = self._topics[topic.name] = _view(topic.topic_id, leaders, now_ms)
        self._tell_moved(topic.name, before, view)

    def apply_hint(self, tp: TopicPartition, hint: LeaderHint) -> bool:
        """Take over the leader an error answer names (KIP-951); False when that is no news."""
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

    def _tell_moved(self, name: str, before: TopicView | None, now: TopicView | None) -> None:
        """Tell of the partitions that are not as before: of all, if it is another topic or none."""
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
