"""A broker's coordinator of groups, composed: its journal, and its questions about lag."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tidelog.broker.controller_link.lifecycle import Lifecycle
from tidelog.broker.controller_link.metadata_follower import MetadataFollower
from tidelog.broker.coordinator.assignors.catalogue import assignors_of
from tidelog.broker.coordinator.assignors.interface import Assignor
from tidelog.broker.coordinator.group_coordinator import GroupCoordinator
from tidelog.broker.coordinator.group_journal import GroupJournal
from tidelog.broker.coordinator.group_lag import ANSWERS_TIMEOUT_MS, GroupLag
from tidelog.broker.coordinator.group_ports import ControllersView, GroupObservers
from tidelog.broker.replica_manager import ReplicaManager
from tidelog.core.errors import BrokerNotAvailableError, InvalidConfigError
from tidelog.core.journal import Event
from tidelog.metadata.image import MetadataImage
from tidelog.node.config import NodeConfig
from tidelog.node.ports import Ports
from tidelog.v1.data_pb2 import ListOffsetsRequest, ListOffsetsResponse
from tidelog.v1.methods import LIST_OFFSETS


def build_groups(
    config: NodeConfig,
    ports: Ports,
    replica_manager: ReplicaManager,
    follower: MetadataFollower,
    lifecycle: Lifecycle,
    note: Callable[[Event], None],
) -> GroupCoordinator:
    """Build the coordinator; it does nothing before its start."""

    def image() -> MetadataImage:
        return follower.image

    async def ask(broker_id: int, request: ListOffsetsRequest) -> ListOffsetsResponse:
        if broker_id == config.node_id:
            return await replica_manager.reader.list_offsets(request)
        broker = image().brokers.get(broker_id)
        if broker is None or not broker.address:
            raise BrokerNotAvailableError(f"broker {broker_id} has no address for other brokers")
        return await ports.peers.call(
            broker.address, LIST_OFFSETS, request, timeout_ms=ANSWERS_TIMEOUT_MS
        )

    return GroupCoordinator(
        config=config.groups,
        assignors=group_assignors(config),
        replica_manager=replica_manager,
        controllers=ControllersView(
            image,
            lambda: lifecycle.has_session,
            lambda: lifecycle.known_as_of_ms,
            lifecycle.confirm,
        ),
        clock=ports.clock,
        random=ports.random,
        on_fatal=ports.on_fatal,
        observers=GroupObservers(
            journal=GroupJournal(note=note, clock=ports.clock),
            lag=GroupLag(
                refresh_ms=config.groups.group_lag_refresh_ms,
                image=image,
                ask=ask,
                clock=ports.clock,
            ),
        ),
    )


def group_assignors(config: NodeConfig) -> Mapping[str, Assignor]:
    """Assignors of the configuration; imports those of the operator's own.

    Raises `InvalidConfigError` for one that cannot be had.
    """
    try:
        return assignors_of(config.groups.assignor_names)
    except ValueError as error:
        raise InvalidConfigError(f"group.consumer.assignors: {error}") from error
