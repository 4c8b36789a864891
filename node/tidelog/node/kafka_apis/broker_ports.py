"""Parts of a broker that the handlers of Kafka's APIs work with; those of gRPC have the same."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tidelog.broker.controller_link.controller_forwarder import ControllerForwarder
from tidelog.broker.controller_link.producer_ids import ProducerIds
from tidelog.broker.kafka.peer import ConnectionClosedError
from tidelog.broker.replica_manager import ReplicaManager
from tidelog.core.env import Clock
from tidelog.metadata.image import EMPTY_IMAGE, MetadataImage
from tidelog.net.peers import Peers
from tidelog.node.config import NodeConfig
from tidelog.node.handlers.client_traffic import ClientTraffic
from tidelog.node.handlers.coordinator import CoordinatorHandler


@dataclass(frozen=True, slots=True)
class BrokerPorts:
    """Parts of the node that has the listener."""

    config: NodeConfig
    image: Callable[[], MetadataImage]
    controller_id: Callable[[], int | None]
    replica_manager: ReplicaManager
    peers: Peers
    forwarder: ControllerForwarder
    producer_ids: ProducerIds
    traffic: ClientTraffic
    groups: CoordinatorHandler
    clock: Clock

    def known_image(self) -> MetadataImage:
        """Return the image, of a broker that has metadata.

        Raises `ConnectionClosedError` on one that has none yet, upon which clients ask another: an
        empty answer would mislead them.
        """
        image = self.image()
        if image is EMPTY_IMAGE:
            raise ConnectionClosedError("this broker has reached no controller yet")
        return image
