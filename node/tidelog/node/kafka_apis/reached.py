"""Brokers' addresses in answers: of the listener that the caller came in by, as in Kafka. Pure."""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from tidelog.broker.partition.produce import CurrentLeader
from tidelog.metadata.image import MetadataImage
from tidelog.net.listeners import Listener

NO_LEADER = -1


class BrokerAddress(NamedTuple):
    """A broker at a listener, in the order of the fields in Kafka's messages."""

    node_id: int
    host: str
    port: int
    rack: str | None


def live_brokers(image: MetadataImage, listener: Listener) -> list[BrokerAddress]:
    """Brokers that a client may call: unfenced, with a listener of this name."""
    found = (broker_at(image, broker_id, listener) for broker_id in sorted(image.brokers))
    return [one for one in found if one is not None and not image.brokers[one.node_id].is_fenced]


def controller_among(live: Sequence[BrokerAddress], active: int | None) -> int:
    """Id of the controller that clients are told: a live broker, since each passes commands on."""
    ids = [one.node_id for one in live]
    return active if active in ids else min(ids, default=NO_LEADER)


def leaders_at(
    leaders: Iterable[CurrentLeader | None], image: MetadataImage, listener: Listener
) -> list[BrokerAddress]:
    """Addresses of the leaders that an answer names, each once."""
    ids = {one.leader_id for one in leaders if one is not None and one.leader_id is not None}
    found = (broker_at(image, broker_id, listener) for broker_id in sorted(ids))
    return [one for one in found if one is not None]


def broker_at(image: MetadataImage, broker_id: int, listener: Listener) -> BrokerAddress | None:
    """Address of a broker; None: it has no listener of this name, or is not known."""
    broker = image.brokers.get(broker_id)
    address = "" if broker is None else broker.address_at(listener.name)
    if broker is None or not address:
        return None
    return BrokerAddress(broker_id, *host_and_port(address), broker.rack or None)


def host_and_port(address: str) -> tuple[str, int]:
    """Split an address as Kafka's messages have it, without the brackets of IPv6."""
    host, _, port = address.rpartition(":")
    return host.strip("[]"), int(port)
