"""Addresses in answers: of the listener that the caller came in by, as in Kafka. Pure."""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Protocol

from tidelog.broker.coordinator import group_key
from tidelog.broker.transactions import transaction_key
from tidelog.core.internal_topics import OFFSETS_TOPIC, TRANSACTIONS_TOPIC
from tidelog.metadata.image import MetadataImage
from tidelog.net.listeners import Listener
from tidelog.v1 import common_pb2
from tidelog.v1.common_pb2 import Endpoint, Error, LeaderHint


class Hinted(Protocol):
    """A partition's answer that may name its leader."""

    @property
    def error(self) -> Error:
        """NONE where the answer names no leader."""

    @property
    def current_leader(self) -> LeaderHint:
        """The leader, without its address."""


def live_brokers(image: MetadataImage, listener: Listener) -> list[Endpoint]:
    """Brokers that a client may call: unfenced, with a listener of this name."""
    return [
        Endpoint(node_id=broker.broker_id, address=address, rack=broker.rack)
        for _, broker in sorted(image.brokers.items())
        if not broker.is_fenced and (address := broker.address_at(listener.name))
    ]


def controllers(
    image: MetadataImage, voters: Mapping[int, str], listener: Listener
) -> list[Endpoint]:
    """Voters; one that is no broker, or without such a listener, at its configured address.

    That is an address of gRPC: at a listener of Kafka's protocol such voters are left out.
    """
    found = [
        Endpoint(
            node_id=node_id,
            address=_address(image, node_id, listener) or ("" if listener.is_kafka else address),
        )
        for node_id, address in sorted(voters.items())
    ]
    return [one for one in found if one.address]


def address_hints(results: Iterable[Hinted], image: MetadataImage, listener: Listener) -> None:
    """Put the leader's address into answers that name one."""
    for result in results:
        if result.error.code != common_pb2.NONE and result.current_leader.HasField("leader_id"):
            hint = result.current_leader
            hint.address = _address(image, hint.leader_id, listener)


def coordinator_of(group_id: str, image: MetadataImage, listener: Listener) -> LeaderHint | None:
    """Name the leader of the group's partition, with its address; None: it has none now."""
    return _leader_of(OFFSETS_TOPIC, partial(group_key.partition_of, group_id), image, listener)


def transaction_coordinator_of(
    transactional_id: str, image: MetadataImage, listener: Listener
) -> LeaderHint | None:
    """Name the leader of the id's partition, with its address; None: it has none now."""
    partition_of = partial(transaction_key.partition_of, transactional_id)
    return _leader_of(TRANSACTIONS_TOPIC, partition_of, image, listener)


def _leader_of(
    name: str, partition_of: Callable[[int], int], image: MetadataImage, listener: Listener
) -> LeaderHint | None:
    topic = image.topics.get(name)
    if topic is None:
        return None
    partition = topic.partitions[partition_of(len(topic.partitions))]
    if partition.leader_id is None:
        return None
    address = _address(image, partition.leader_id, listener)
    return LeaderHint(
        leader_id=partition.leader_id, leader_epoch=partition.leader_epoch, address=address
    )


def _address(image: MetadataImage, node_id: int, listener: Listener) -> str:
    broker = image.brokers.get(node_id)
    return "" if broker is None else broker.address_at(listener.name)
