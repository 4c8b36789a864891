"""The composition root: builds a node's object graph out of ports, starts and stops it in order.

The same `build_node` serves the real process and the simulation, without knowing which.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version

from tidelog.broker.controller_link.channel import ControllerChannel
from tidelog.broker.controller_link.controller_forwarder import ControllerForwarder
from tidelog.broker.controller_link.epoch import ControllerEpoch
from tidelog.broker.controller_link.lifecycle import BrokerIdentity, Lifecycle
from tidelog.broker.controller_link.metadata_follower import MetadataFollower
from tidelog.broker.controller_link.producer_ids import ProducerIds
from tidelog.broker.controller_link.unreachable_reports import UnreachableReports
from tidelog.broker.coordinator.group_coordinator import GroupCoordinator
from tidelog.broker.partition.ports import ReplicaPorts
from tidelog.broker.replica_manager import ControllerCalls, ReplicaHooks, ReplicaManager
from tidelog.core.logs import get_logger
from tidelog.core.metric_family import MetricFamily
from tidelog.core.turns import SharedTurns
from tidelog.metadata.image import EMPTY_IMAGE, MetadataImage
from tidelog.metadata.quorum_controller import QuorumController
from tidelog.net.call import Call
from tidelog.net.own_cluster import OwnCluster
from tidelog.net.unfinished_requests import UnfinishedRequests
from tidelog.net.unread_responses import NodeResponses, UnreadResponses
from tidelog.node.config import NodeConfig
from tidelog.node.groups import build_groups
from tidelog.node.handlers.admin import AdminHandler
from tidelog.node.handlers.broker import BrokerHandler
from tidelog.node.handlers.client_traffic import ClientTraffic
from tidelog.node.handlers.controller import ControllerHandler
from tidelog.node.handlers.coordinator import CoordinatorHandler
from tidelog.node.handlers.node import NodeHandler
from tidelog.node.handlers.transactions import TransactionsHandler
from tidelog.node.image_publisher import ImagePublisher
from tidelog.node.internal_topics import InternalTopics, build_internal_topics
from tidelog.node.journal.node_journal import NodeJournal
from tidelog.node.kafka import build_kafka
from tidelog.node.kafka_apis.broker_ports import BrokerPorts
from tidelog.node.loop_stalls import LoopStalls
from tidelog.node.partition_additions import build_partition_additions
from tidelog.node.ports import Ports
from tidelog.node.quorum import build_quorum
from tidelog.node.start_record import StartRecord
from tidelog.node.transactions import Transactions, build_transactions
from tidelog.v1.admin_pb2 import NodeStatusResponse
from tidelog.v1.controller_pb2 import (
    AlterPartitionRequest,
    AlterPartitionResponse,
    ReportReplicaStateRequest,
    ReportReplicaStateResponse,
    StartLoss,
)
from tidelog.v1.methods import ALTER_PARTITION, REPORT_REPLICA_STATE

ALTER_PARTITION_TIMEOUT_MS = 5000
# Maximum time a held node waits for its followers before it reports that it may stop.
SETTLE_TIMEOUT_MS = 5000

VERSION = version("tidelog")
# A first start names no loss: its disk is new.
_DISKS = {StartLoss.NOTHING: "kept", StartLoss.UNFLUSHED: "unflushed", StartLoss.EVERYTHING: "new"}
log = get_logger(__name__)


class Node:
    """A broker, a controller or both; `services` maps full service names to handlers."""

    def __init__(
        self,
        *,
        config: NodeConfig,
        ports: Ports,
        quorum: QuorumController | None,
        broker: BrokerParts | None,
        journal: NodeJournal,
        reports: UnreachableReports,
        unread: NodeResponses,
    ) -> None:
        self.config = config
        self.unfinished = UnfinishedRequests(config.unfinished)
        self.unread = unread
        """Updated, as `unfinished`, by the transport that serves `services`."""
        self.turns = SharedTurns()
        """Turns of the loop for the clients of all listeners."""
        self.services: dict[str, object] = {}
        self._ports = ports
        self._quorum = quorum
        self._broker = broker
        self._journal = journal
        self._reports = reports
        self._held_until_ms = 0
        self._stalls = LoopStalls(ports.clock)
        self._traffic: ClientTraffic | None = None
        self.kafka = build_kafka(
            config,
            self._add_services(),
            answers=unread.answers,
            turns=self.turns,
            on_fatal=ports.on_fatal,
        )
        """Server of Kafka's protocol; None without such a listener."""

    async def start(self) -> None:
        """Start all parts; the node becomes ready by itself (see `is_ready`)."""
        self._stalls.start()
        if self._quorum is not None:
            await self._quorum.start()
        if self._broker is not None:
            start = await self._broker.start_record.note_start()
            log.info("broker starts", disk=_DISKS[start.loss])
            self._broker.lifecycle.start_loss = start.loss
            self._broker.replica_manager.begin_life(start.life)
            self._broker.groups.start()
            self._broker.transactions.start()
            await self._broker.follower.start()
            await self._broker.lifecycle.start()

    async def stop(self) -> None:
        """Hand over leaderships, unless the whole cluster stops, then close everything cleanly."""
        await self._reports.stop()
        if self._broker is not None:
            if self._ports.clock.monotonic_ms() >= self._held_until_ms:
                await self._broker.lifecycle.controlled_shutdown()
            await self._broker.lifecycle.stop()
            await self._broker.follower.stop()
            await self._broker.groups.stop()
            await self._broker.transactions.stop()
            if await self._broker.replica_manager.stop():
                await self._broker.start_record.note_clean_stop()
        if self._quorum is not None:
            await self._quorum.stop()
        self._stalls.stop()

    def is_ready(self) -> bool:
        """True when the broker is unfenced; for a mere controller, when a leader is known."""
        if self._broker is not None:
            return self._broker.lifecycle.is_ready
        return self._quorum is not None and self._quorum.leader_id is not None

    def stats(self) -> Mapping[str, float]:
        """Metrics of the node."""
        numbers: dict[str, float] = {
            "ready": float(self.is_ready()),
            "events_journal_bytes": self._journal.size_bytes,
            "foreign_cluster_messages": self._ports.strangers.refused,
            "event_loop_stall_seconds": self._stalls.recent_s,
            "event_loop_longest_stall_seconds": self._stalls.longest_s,
            **self.unread.stats(),
            "unfinished_request_bytes": self.unfinished.size_bytes,
            "unfinished_request_hang_ups": self.unfinished.hang_ups,
            **({} if self.kafka is None else self.kafka.stats()),
        }
        if self._broker is not None:
            numbers["metadata_offset"] = self._broker.follower.image.offset
            numbers.update(self._broker.replica_manager.stats())
            numbers.update(self._broker.groups.stats())
            numbers.update(self._broker.transactions.coordinator.stats())
        if self._quorum is not None:
            numbers.update(self._quorum.stats())
        return numbers

    def client_stats(self) -> Mapping[str, Mapping[str, float]]:
        """Metrics of the clients of a broker: by metric, then by client id."""
        return {} if self._traffic is None else self._traffic.stats()

    def families(self) -> list[MetricFamily]:
        """Metrics with labels, but those of clients."""
        of_groups = [] if self._broker is None else self._broker.groups.metrics.families()
        return of_groups if self.kafka is None else [*of_groups, *self.kafka.traffic.families()]

    def _status(self, call: Call) -> NodeStatusResponse:
        return NodeStatusResponse(
            node_id=self.config.node_id,
            pid=self._ports.process_id,
            cluster_id=self.config.cluster_id,
            roles=self.config.process_roles,
            address=call.listener.advertised,
            ready=self.is_ready(),
            controller_id=self._controller_id(),
            metadata_offset=self._image().offset,
            version=VERSION,
            incarnation_id=b"" if self._broker is None else self._broker.lifecycle.incarnation_id,
        )

    async def _prepare_stop(self, hold_ms: int) -> None:
        log.info("the cluster is about to stop", hold_ms=hold_ms)
        self._held_until_ms = until_ms = self._ports.clock.monotonic_ms() + hold_ms
        if self._quorum is not None:
            self._quorum.hold(until_ms)
        if self._broker is not None:
            self._broker.replica_manager.hold(until_ms)
            await self._broker.replica_manager.settle(SETTLE_TIMEOUT_MS)

    def _image(self) -> MetadataImage:
        if self._broker is not None:
            return self._broker.follower.image
        return EMPTY_IMAGE if self._quorum is None else self._quorum.image

    def _controller_id(self) -> int | None:
        if self._quorum is not None:
            return self._quorum.leader_id
        return None if self._broker is None else self._broker.follower.leader_id

    def _node_handler(self) -> NodeHandler:
        return NodeHandler(
            status=self._status,
            prepare_stop=self._prepare_stop,
            list_events=self._journal.list_events,
        )

    def _add_services(self) -> BrokerPorts | None:
        config, peers, clock = self.config, self._ports.peers, self._ports.clock
        own = _own_cluster(config, self._ports)
        self.services["tidelog.v1.Node"] = self._node_handler()
        controller, broker, of_kafka = None, self._broker, None
        if self._quorum is not None:
            controller = ControllerHandler(
                node_id=config.node_id,
                own=own,
                quorum=self._quorum,
                peers=peers,
                voters=config.controller_voters,
                reports=self._reports,
            )
            self.services["tidelog.v1.Controller"] = controller.rpcs()
        if broker is not None:
            handler = BrokerHandler(
                own=own,
                replica_manager=broker.replica_manager,
                image=self._image,
                controller_id=self._controller_id,
                forwarder=broker.forwarder,
                producer_ids=broker.producer_ids,
                reports=self._reports,
            )
            self.services["tidelog.v1.Broker"], self._traffic = handler, handler.traffic
            self.services["tidelog.v1.Coordinator"] = groups = CoordinatorHandler(
                coordinator=broker.groups,
                image=self._image,
                topic=broker.internal_topics.offsets,
                transactions=broker.transactions.coordinator,
            )
            self.services["tidelog.v1.TransactionCoordinator"] = transactions = TransactionsHandler(
                coordinator=broker.transactions.coordinator, image=self._image, own=own, clock=clock
            )
            additions = build_partition_additions(
                config.node_id,
                image=self._image,
                peers=peers,
                own=own,
                own_coordinator=transactions.add_partitions_to_transactions,
                random=self._ports.random,
                background=broker.transactions.tasks,
            )
            broker.replica_manager.appender.transactional.adder = additions
            broker.groups.transactional.adder = additions
            of_kafka = BrokerPorts(
                *(config, self._image, self._controller_id, broker.replica_manager, peers),
                *(broker.forwarder, broker.producer_ids, handler.traffic, groups, clock),
            )
        self.services["tidelog.v1.Admin"] = self._admin_handler(controller).rpcs()
        return of_kafka

    def _admin_handler(self, controller: ControllerHandler | None) -> AdminHandler:
        config, broker = self.config, self._broker
        return AdminHandler(
            config=config.controller,
            voters=config.controller_voters,
            peers=self._ports.peers,
            image=self._image,
            controller_id=self._controller_id,
            forwarder=None if broker is None else broker.forwarder,
            controller=controller,
            obstacles=lambda: [] if broker is None else broker.internal_topics.obstacles,
        )


@dataclass(frozen=True, slots=True)
class BrokerParts:
    """Parts of the broker role."""

    start_record: StartRecord
    replica_manager: ReplicaManager
    follower: MetadataFollower
    lifecycle: Lifecycle
    forwarder: ControllerForwarder
    producer_ids: ProducerIds
    groups: GroupCoordinator
    transactions: Transactions
    internal_topics: InternalTopics


def build_node(config: NodeConfig, ports: Ports) -> Node:
    """Build the object graph of one node; nothing runs before `Node.start`."""
    journal = NodeJournal(
        node_id=config.node_id,
        clock=ports.clock,
        size_max=config.events_journal_size,
        bytes_max=config.events_journal_bytes,
    )
    quorum = build_quorum(config, ports, journal) if config.is_controller else None
    epoch = ControllerEpoch()

    def image() -> MetadataImage:
        if broker is not None:
            return broker.follower.image
        return EMPTY_IMAGE if quorum is None else quorum.image

    unread = NodeResponses(config.replica.unread, ports.clock.monotonic_ms)
    reports = UnreachableReports(
        node_id=config.node_id,
        image=image,
        broker_epoch=lambda: -1 if broker is None else broker.lifecycle.broker_epoch,
        controllers=_controller_channel(config, ports, epoch),
        timeout_ms=config.controller.session_timeout_ms,
        on_fatal=ports.on_fatal,
    )
    broker = None
    if config.is_broker:
        broker = _build_broker(config, ports, epoch, reports, journal, unread.fetches)
    return Node(
        config=config,
        ports=ports,
        quorum=quorum,
        broker=broker,
        journal=journal,
        reports=reports,
        unread=unread,
    )


def _build_broker(
    config: NodeConfig,
    ports: Ports,
    epoch: ControllerEpoch,
    reports: UnreachableReports,
    journal: NodeJournal,
    unread: UnreadResponses,
) -> BrokerParts:
    channel = partial(_controller_channel, config, ports, epoch)
    controllers = channel()
    start_record = _build_start_record(config, ports)
    replica_manager = _build_replica_manager(
        config, ports, controllers, reports, journal, start_record, unread
    )
    publisher = ImagePublisher(replica_manager, start_record)
    follower = MetadataFollower(
        broker_id=config.node_id,
        peers=ports.peers,
        source=channel(),
        clock=ports.clock,
        listener=publisher.on_image,
        on_fatal=ports.on_fatal,
        # On a controller, the quorum reports batches.
        on_batch=None if config.is_controller else journal.on_batch,
    )
    lifecycle = Lifecycle(
        identity=_broker_identity(config),
        controllers=channel(),
        follower=follower,
        random=ports.random,
        is_prepared=lambda: replica_manager.is_prepared,
        on_registered=publisher.on_registered,
        on_fatal=ports.on_fatal,
        note=journal.note,
    )
    forwarder = _build_forwarder(config, ports, controllers, follower)
    producer_ids = _build_producer_ids(config, lifecycle, controllers)
    internal = build_internal_topics(
        config, ports.clock, follower=follower, forwarder=forwarder, note=journal.note
    )
    transactions = build_transactions(
        config,
        ports,
        replica_manager=replica_manager,
        topic=internal.transactions,
        follower=follower,
        lifecycle=lifecycle,
        producer_ids=producer_ids,
        note=journal.note,
    )
    groups = build_groups(config, ports, replica_manager, follower, lifecycle, journal.note)
    return BrokerParts(
        *(start_record, replica_manager, follower, lifecycle, forwarder, producer_ids),
        *(groups, transactions, internal),
    )


def _build_start_record(config: NodeConfig, ports: Ports) -> StartRecord:
    return StartRecord(ports.disk, config.data_dir, boot_id=ports.boot_id, random=ports.random)


def _build_forwarder(
    config: NodeConfig, ports: Ports, controllers: ControllerChannel, follower: MetadataFollower
) -> ControllerForwarder:
    return ControllerForwarder(
        controllers=controllers,
        follower=follower,
        random=ports.random,
        auto_create=config.auto_create_topics_enable,
        topics_max=config.controller.topics_per_request_max,
    )


def _build_producer_ids(
    config: NodeConfig, lifecycle: Lifecycle, controllers: ControllerChannel
) -> ProducerIds:
    return ProducerIds(
        broker_id=config.node_id,
        broker_epoch=lambda: lifecycle.broker_epoch,
        controllers=controllers,
    )


def _broker_identity(config: NodeConfig) -> BrokerIdentity:
    return BrokerIdentity(
        broker_id=config.node_id,
        cluster_id=config.cluster_id,
        listeners=config.listeners,
        rack=config.rack,
        heartbeat_interval_ms=config.broker_heartbeat_interval_ms,
        session_timeout_ms=config.controller.session_timeout_ms,
    )


def _controller_channel(
    config: NodeConfig, ports: Ports, epoch: ControllerEpoch
) -> ControllerChannel:
    """Channel to the node's own controller first, then to the others."""
    voters = sorted(config.controller_voters, key=lambda node_id: node_id != config.node_id)
    addresses = [config.controller_voters[node_id] for node_id in voters]
    return ControllerChannel(
        peers=ports.peers,
        addresses=addresses,
        clock=ports.clock,
        epoch=epoch,
        own=_own_cluster(config, ports),
    )


def _own_cluster(config: NodeConfig, ports: Ports) -> OwnCluster:
    return OwnCluster(config.cluster_id, ports.strangers)


def _build_replica_manager(
    config: NodeConfig,
    ports: Ports,
    controllers: ControllerChannel,
    reports: UnreachableReports,
    journal: NodeJournal,
    start_record: StartRecord,
    unread: UnreadResponses,
) -> ReplicaManager:
    async def alter_partition(request: AlterPartitionRequest) -> AlterPartitionResponse:
        return await controllers.call(
            ALTER_PARTITION, request, timeout_ms=ALTER_PARTITION_TIMEOUT_MS
        )

    async def report_state(request: ReportReplicaStateRequest) -> ReportReplicaStateResponse:
        return await controllers.call(
            REPORT_REPLICA_STATE, request, timeout_ms=ALTER_PARTITION_TIMEOUT_MS
        )

    return ReplicaManager(
        broker_id=config.node_id,
        log_dir=config.data_dir,
        ports=ReplicaPorts(
            disk=ports.disk,
            clock=ports.clock,
            random=ports.random,
            peers=ports.peers,
            workers=ports.workers,
        ),
        config=config.replica,
        controllers=ControllerCalls(alter_partition, report_state),
        hooks=ReplicaHooks(
            on_recovered=start_record.note_recovered,
            on_broken=reports.note_broken,
            on_fatal=ports.on_fatal,
            note=journal.note,
        ),
        unread=unread,
        own=_own_cluster(config, ports),
    )
