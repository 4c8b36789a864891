"""Partitions held by this broker, and the newest image's state of these and all others.

Serves the look-ups of every request; changes nothing.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Callable

from tidelog.broker.partition.partition import Partition
from tidelog.broker.partition.partition_listener import Leadership
from tidelog.broker.partition.produce import CurrentLeader
from tidelog.broker.replica.events import FollowerIdentity
from tidelog.core.errors import (
    InconsistentTopicIdError,
    KafkaStorageError,
    LeaderNotAvailableError,
    NotLeaderOrFollowerError,
    UnknownTopicIdError,
    UnknownTopicOrPartitionError,
    code_name,
)
from tidelog.core.journal import Event, Kind
from tidelog.metadata.image import EMPTY_IMAGE, MetadataImage
from tidelog.v1 import common_pb2
from tidelog.v1.common_pb2 import Error, LeaderHint

# Errors answered together with the current leader (KIP-951).
TOPIC_CHARACTERS_MAX = 249
HINTED_CODES = frozenset(
    {
        common_pb2.NOT_LEADER_OR_FOLLOWER,
        common_pb2.FENCED_LEADER_EPOCH,
        # Leadership ended while the request waited for the in-sync replicas.
        common_pb2.REQUEST_TIMED_OUT,
    }
)


class PartitionMap:
    """Held partitions by topic name and number; only the replica manager adds and removes."""

    def __init__(self, broker_id: int, note: Callable[[Event], None] = lambda _: None) -> None:
        self.image: MetadataImage = EMPTY_IMAGE
        self.held: dict[tuple[str, int], Partition] = {}
        self.note = note
        """Records an event in the node's journal."""
        self._broker_id = broker_id

    def find(self, topic: str, partition: int, topic_id: bytes = b"") -> Partition:
        """Find an open partition; with `topic_id`, of this incarnation of the topic.

        Raises `KafkaError`: UNKNOWN_TOPIC_ID, INCONSISTENT_TOPIC_ID, UNKNOWN_TOPIC_OR_PARTITION,
        KAFKA_STORAGE_ERROR, NOT_LEADER_OR_FOLLOWER, or LEADER_NOT_AVAILABLE while it is being
        opened.
        """
        self.check_topic_id(topic, topic_id)
        hosted = self.held.get((topic, partition))
        state = self.image.partition(topic, partition)
        if state is None:
            raise UnknownTopicOrPartitionError(
                f"this broker knows no partition {partition} of topic "
                f"{topic[:TOPIC_CHARACTERS_MAX]!r}: create it, or try again if it is new",
            )
        if hosted is not None and hosted.topic_id != self.image.topics[topic].topic_id:
            hosted = None  # of a deleted topic of this name: it is removed in its turn
        if hosted is not None and hosted.is_sound:
            return hosted
        if hosted is not None and hosted.outage is not None:
            raise KafkaStorageError(
                f"{topic}-{partition} is offline on broker {self._broker_id}: {hosted.outage}",
            )
        if state.leader_id == self._broker_id:
            raise LeaderNotAvailableError(
                f"{topic}-{partition} is still being opened on this broker: try again",
            )
        raise NotLeaderOrFollowerError(
            f"broker {self._broker_id} does not lead {topic}-{partition}: ask the leader",
        )

    def find_led(self, leadership: Leadership) -> Partition:
        """Return the partition, which this broker leads in that epoch.

        Raises the errors of `find`; `NotLeaderOrFollowerError`, `FencedLeaderEpochError`.
        """
        partition = self.find(leadership.topic, leadership.partition, leadership.topic_id)
        partition.check_leadership(leadership.leader_epoch)
        return partition

    def note_refusal(self, what: str, topic: str, partition: int, error: Error) -> None:
        """Record in the journal that a client, or a follower, was answered `error`.

        That a new leader is not ready yet is no refusal: followers ask as soon as it is elected.
        """
        if error.code == common_pb2.LEADER_NOT_AVAILABLE:
            return
        state = self.image.partition(topic, partition)
        self.note(
            Event(
                Kind.REFUSAL,
                f"{what}: {code_name(error.code)}: {error.message}",
                before=what,
                after=code_name(error.code),
                topic=topic[:TOPIC_CHARACTERS_MAX],
                partition=partition if partition >= 0 else None,
                leader_epoch=None if state is None else state.leader_epoch,
                partition_epoch=None if state is None else state.partition_epoch,
            )
        )

    def check_topic_id(self, topic: str, topic_id: bytes) -> None:
        """Raise `KafkaError` for another incarnation of a topic; an empty id matches any (KIP-516).

        The refused request was not processed and never will be.
        """
        known = self.image.topics.get(topic)
        if not topic_id or (known is not None and known.topic_id == topic_id):
            return
        if known is None:
            raise UnknownTopicIdError(
                f"this broker knows no topic {topic[:249]!r} with id {topic_id[:16].hex()}: it was "
                "deleted, or is new: refresh the metadata",
            )
        raise InconsistentTopicIdError(
            f"topic {topic!r} has id {known.topic_id.hex()}, not {topic_id[:16].hex()}: it was "
            "recreated, or is about to be: refresh the metadata",
        )

    def leader_hint(self, topic: str, partition: int) -> LeaderHint | None:
        """Return `current_leader` as a message."""
        leader = self.current_leader(topic, partition)
        if leader is None:
            return None
        return LeaderHint(leader_id=leader.leader_id, leader_epoch=leader.leader_epoch)

    def current_leader(self, topic: str, partition: int) -> CurrentLeader | None:
        """Leader according to the image, unless that is this very broker, which just refused.

        Without its address, which depends on the listener that the caller came in by.
        """
        state = self.image.partition(topic, partition)
        if state is None or state.leader_id == self._broker_id:
            return None
        if state.leader_id is None:
            return CurrentLeader(state.leader_epoch)
        return CurrentLeader(state.leader_epoch, state.leader_id)

    def follower(self, broker_id: int, broker_epoch: int) -> FollowerIdentity:
        """Identity of a fetching replica, and whether the image allows it in an ISR."""
        broker = self.image.brokers.get(broker_id)
        return FollowerIdentity(
            broker_id,
            broker_epoch,
            is_eligible=self.image.has_live(broker_id, broker_epoch),
            is_known=broker is not None and broker_epoch <= broker.broker_epoch,
        )

    def address_of(self, broker_id: int) -> str | None:
        """Address of the broker for other nodes; None when it is not in the image."""
        broker = self.image.brokers.get(broker_id)
        return None if broker is None else broker.address
