"""A broker's coordinator of transactions, composed: its internal topic, its markers, its life."""

from __future__ import annotations

from collections.abc import Callable

from tidelog.broker.controller_link.lifecycle import Lifecycle
from tidelog.broker.controller_link.metadata_follower import MetadataFollower
from tidelog.broker.controller_link.producer_ids import ProducerIds
from tidelog.broker.coordinator.internal_topic import InternalTopic
from tidelog.broker.replica_manager import ReplicaManager
from tidelog.broker.transactions.marker_leaders import MarkerLeaders
from tidelog.broker.transactions.marker_requests import MarkerRequests
from tidelog.broker.transactions.transaction_coordinator import (
    TransactionCoordinator,
    TransactionPorts,
)
from tidelog.core.background import Background
from tidelog.core.internal_topics import TRANSACTIONS_TOPIC
from tidelog.core.journal import Event
from tidelog.core.wire_errors import raise_for
from tidelog.metadata.image import MetadataImage
from tidelog.net.own_cluster import OwnCluster
from tidelog.node.config import NodeConfig
from tidelog.node.ports import Ports
from tidelog.v1.data_pb2 import InitProducerIdRequest


class Transactions:
    """The coordinator, and when it works."""

    def __init__(
        self, coordinator: TransactionCoordinator, *, manager: ReplicaManager, tasks: Background
    ) -> None:
        self.coordinator = coordinator
        self._manager = manager
        self.tasks = tasks

    def start(self) -> None:
        """Begin to follow the leaderships of the internal topic."""
        self._manager.listeners.add(self.coordinator.runtime, topic=TRANSACTIONS_TOPIC)

    async def stop(self) -> None:
        """End all tasks; calls that wait end by their own limits."""
        await self.tasks.stop()


def build_transactions(
    config: NodeConfig,
    ports: Ports,
    *,
    replica_manager: ReplicaManager,
    topic: InternalTopic,
    follower: MetadataFollower,
    lifecycle: Lifecycle,
    producer_ids: ProducerIds,
    note: Callable[[Event], None],
) -> Transactions:
    """Build the coordinator; it does nothing before its start."""

    def image() -> MetadataImage:
        return follower.image

    tasks = Background(ports.on_fatal)
    leaders = MarkerLeaders(
        image=image, known_as_of_ms=lambda: lifecycle.known_as_of_ms, clock=ports.clock
    )
    markers = MarkerRequests(
        broker_id=config.node_id,
        image=image,
        peers=ports.peers,
        own=OwnCluster(config.cluster_id, ports.strangers),
        write_here=replica_manager.markers.write,
    )

    async def new_producer_id() -> int:
        response = await producer_ids.init_producer_id(InitProducerIdRequest())
        raise_for(response.error)
        return response.producer_id

    coordinator = TransactionCoordinator(
        config=config.transactions,
        ports=TransactionPorts(
            partitions=lambda: topic.partitions,
            create_topic=topic.require,
            has_session=lambda: lifecycle.has_session,
            new_producer_id=new_producer_id,
            leader_of=leaders.leader_of,
            markers=markers,
        ),
        writer=replica_manager.writer,
        loader=replica_manager.loader,
        clock=ports.clock,
        background=tasks,
        note=note,
    )
    return Transactions(coordinator, manager=replica_manager, tasks=tasks)
