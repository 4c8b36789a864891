"""A broker's additions of partitions to transactions, composed: which broker it asks, and how."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from tidelog.broker.transactions.partition_additions import ATTEMPT_S, PartitionAdditions
from tidelog.broker.transactions.transaction_key import partition_of
from tidelog.core.background import Background
from tidelog.core.env import Random
from tidelog.core.errors import BrokerNotAvailableError
from tidelog.core.internal_topics import TRANSACTIONS_TOPIC
from tidelog.metadata.image import MetadataImage
from tidelog.net.own_cluster import OwnCluster
from tidelog.net.peers import Peers
from tidelog.v1.methods import ADD_PARTITIONS_TO_TRANSACTIONS
from tidelog.v1.transactions_pb2 import (
    AddPartitionsToTransactionsRequest,
    AddPartitionsToTransactionsResponse,
)

OwnCoordinator = Callable[
    [AddPartitionsToTransactionsRequest], Awaitable[AddPartitionsToTransactionsResponse]
]
"""Handler of this broker's own coordinator, called without the network."""


def build_partition_additions(
    broker_id: int,
    *,
    image: Callable[[], MetadataImage],
    peers: Peers,
    own: OwnCluster,
    own_coordinator: OwnCoordinator,
    random: Random,
    background: Background,
) -> PartitionAdditions:
    """Build the additions; coordinators are found in the broker's own metadata."""

    async def ask(
        coordinator_id: int, request: AddPartitionsToTransactionsRequest
    ) -> AddPartitionsToTransactionsResponse:
        own.stamp(request)
        if coordinator_id == broker_id:
            return await own_coordinator(request)
        broker = image().brokers.get(coordinator_id)
        if broker is None or not broker.address:
            raise BrokerNotAvailableError(
                f"broker {coordinator_id} has no address for other brokers"
            )
        response = await peers.call(
            broker.address,
            ADD_PARTITIONS_TO_TRANSACTIONS,
            request,
            timeout_ms=int(1000 * ATTEMPT_S),
        )
        own.check(response, who=f"broker {coordinator_id}")
        return response

    return PartitionAdditions(
        coordinator_of=lambda name: coordinator_of(image(), name),
        ask=ask,
        random=random,
        background=background,
    )


def coordinator_of(image: MetadataImage, transactional_id: str) -> int | None:
    """Broker that coordinates an id, as far as the image knows."""
    topic = image.topics.get(TRANSACTIONS_TOPIC)
    if topic is None or not topic.partitions:
        return None
    return topic.partitions[partition_of(transactional_id, len(topic.partitions))].leader_id
