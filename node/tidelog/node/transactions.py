"""A broker's coordinator of transactions, composed: its internal topic, its markers, its life."""

from __future__ import annotations

from collections.abc import Callable

from tidelog.broker.controller_link.controller_forwarder import ControllerForwarder
from tidelog.broker.controller_link.lifecycle import Lifecycle
from tidelog.broker.controller_link.metadata_follower import MetadataFollower
from tidelog.broker.controller_link.producer_ids import ProducerIds
from tidelog.broker.replica_manager import ReplicaManager
from tidelog.broker.transactions.marker_leaders import MarkerLeaders
from tidelog.broker.transactions.marker_requests import MarkerRequests
from tidelog.broker.transactions.transaction_config import TransactionConfig
from tidelog.broker.transactions.transaction_coordinator import (
    TransactionCoordinator,
    TransactionPorts,
)
from tidelog.core.background import Background
from tidelog.core.errors import CoordinatorNotAvailableError, TidelogError
from tidelog.core.internal_topics import TRANSACTIONS_TOPIC
from tidelog.core.journal import Event
from tidelog.core.wire_errors import raise_for
from tidelog.log.internal_configs import internal_configs
from tidelog.metadata.image import MetadataImage
from tidelog.net.own_cluster import OwnCluster
from tidelog.node.config import NodeConfig
from tidelog.node.ports import Ports
from tidelog.v1.admin_pb2 import NewTopic
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
    follower: MetadataFollower,
    lifecycle: Lifecycle,
    forwarder: ControllerForwarder,
    producer_ids: ProducerIds,
    note: Callable[[Event], None],
) -> Transactions:
    """Build the coordinator; it does nothing before its start."""

    def image() -> MetadataImage:
        return follower.image

    tasks = Background(ports.on_fatal)
    topic = _StateTopic(config.transactions, follower, forwarder)
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
            partitions=topic.partitions,
            create_topic=topic.create,
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


class _StateTopic:
    """`__transaction_state`, as this broker knows it."""

    def __init__(
        self,
        config: TransactionConfig,
        follower: MetadataFollower,
        forwarder: ControllerForwarder,
    ) -> None:
        self._config = config
        self._follower = follower
        self._forwarder = forwarder

    def partitions(self) -> int:
        """Return the number of its partitions; 0: it does not exist yet."""
        topic = self._follower.image.topics.get(TRANSACTIONS_TOPIC)
        return 0 if topic is None else len(topic.partitions)

    async def create(self) -> None:
        """Create it, and wait until it is known. Raises `CoordinatorNotAvailableError`."""
        try:
            await self._forwarder.create_internal(new_transactions_topic(self._config))
        except TidelogError as error:
            raise CoordinatorNotAvailableError(
                f"{TRANSACTIONS_TOPIC} could not be created: {error} (its replicas are "
                "transaction.state.log.replication.factor)"
            ) from error
        if not self.partitions():
            raise CoordinatorNotAvailableError(
                f"{TRANSACTIONS_TOPIC} was just created, and this broker has not heard of it yet: "
                "try again"
            )


def new_transactions_topic(config: TransactionConfig) -> NewTopic:
    """Describe `__transaction_state` as it is created."""
    factor = config.transaction_state_log_replication_factor
    return NewTopic(
        name=TRANSACTIONS_TOPIC,
        partitions=config.transaction_state_log_num_partitions,
        replication_factor=factor,
        configs=internal_configs(
            segment_bytes=config.transaction_state_log_segment_bytes,
            min_isr=min(config.transaction_state_log_min_isr, factor),
        ),
    )
