"""A broker's coordinator of groups, composed: its journal, and its questions about lag."""

from __future__ import annotations

from collections.abc import Callable

from tidelog.broker.coordinator.assignors.catalogue import assignors_of
from tidelog.broker.coordinator.group_coordinator import GroupCoordinator
from tidelog.broker.coordinator.group_journal import GroupJournal
from tidelog.broker.coordinator.group_lag import ANSWERS_TIMEOUT_MS, GroupLag
from tidelog.broker.replica_manager import ReplicaManager
from tidelog.core.env import Clock, Random
from tidelog.core.errors import BrokerNotAvailableError
from tidelog.core.journal import Event
from tidelog.metadata.image import MetadataImage
from tidelog.net.peers import Peers
from tidelog.node.config import NodeConfig
from tidelog.v1.data_pb2 import ListOffsetsRequest, ListOffsetsResponse
from tidelog.v1.methods import LIST_OFFSETS


def build_groups(
    config: NodeConfig,
    *,
    peers: Peers,
    clock: Clock,
    random: Random,
    on_fatal: Callable[[BaseException], None],
    replica_manager: ReplicaManager,
    image: Callable[[], MetadataImage],
    note: Callable[[Event], None],
) -> GroupCoordinator:
    """Build the coordinator; it does nothing before its start."""

    async def ask(broker_id: int, request: ListOffsetsRequest) -> ListOffsetsResponse:
        if broker_id == config.node_id:
            return await replica_manager.reader.list_offsets(request)
        broker = image().brokers.get(broker_id)
        if broker is None or not broker.address:
            raise BrokerNotAvailableError(f"broker {broker_id} has no address for other brokers")
        return await peers.call(
            broker.address, LIST_OFFSETS, request, timeout_ms=ANSWERS_TIMEOUT_MS
        )

    return GroupCoordinator(
        config=config.groups,
        assignors=assignors_of(config.groups.assignor_names),
        replica_manager=replica_manager,
        image=image,
        clock=clock,
        random=random,
        on_fatal=on_fatal,
        journal=GroupJournal(note=note, clock=clock),
        lag=GroupLag(
            refresh_ms=config.groups.group_lag_refresh_ms, image=image, ask=ask, clock=clock
        ),
    )
