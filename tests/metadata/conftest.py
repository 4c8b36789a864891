"""A controller's world without a quorum: decisions commit at once, and every image is checked."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace
from random import Random as PythonRandom
from typing import Any, TypeVar

import pytest
from tests.metadata.broker_endpoints import registered_at
from tests.metadata.fake_quorum import Nodes

from tidelog.log.config import log_config
from tidelog.metadata.attempts import NumberedRequest, is_numbered
from tidelog.metadata.brokers import ExpireSessions
from tidelog.metadata.commands import COMMANDS
from tidelog.metadata.config import ControllerConfig
from tidelog.metadata.controller import Controller
from tidelog.metadata.delta import replay
from tidelog.metadata.image import EMPTY_IMAGE, MetadataImage, PartitionImage
from tidelog.metadata.settling import SettlePartitions
from tidelog.v1.admin_pb2 import (
    CLUSTER,
    PREFERRED,
    TOPIC,
    AlterConfigsRequest,
    AlterConfigsResponse,
    CreateTopicsRequest,
    CreateTopicsResponse,
    ElectionType,
    ElectLeadersRequest,
    ElectLeadersResponse,
    NewTopic,
)
from tidelog.v1.controller_pb2 import (
    NOTHING,
    AlterPartitionRequest,
    AlterPartitionResponse,
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    RegisterBrokerRequest,
    RegisterBrokerResponse,
    ReportReplicaStateRequest,
    ReportReplicaStateResponse,
    StartLoss,
)
from tidelog.v1.metadata_records_pb2 import MetadataBatch, MetadataRecord

NumberedT = TypeVar("NumberedT", bound=NumberedRequest)


class SeededRandom:
    def __init__(self, seed: int = 0) -> None:
        self._random = PythonRandom(seed)

    def random(self) -> float:
        return self._random.random()

    def randrange(self, start: int, stop: int) -> int:
        return self._random.randrange(start, stop)

    def randbytes(self, length: int) -> bytes:
        return self._random.randbytes(length)


class World:
    """`now_ms` is the clock; `image` what is committed."""

    def __init__(self, seed: int = 0) -> None:
        self.start_controller(ControllerConfig(cluster_id="tide", partitions_max=200), seed)
        self.image: MetadataImage = EMPTY_IMAGE
        self.now_ms = 1_000_000
        self.controller_epoch = 0
        self.attempts = 0
        self.activate()
        self.last_identified: Any = ExpireSessions()
        self._ids = SeededRandom(seed)

    def start_controller(self, config: ControllerConfig, seed: int = 0) -> None:
        """Replace the controller by one with this config."""
        self.config = config
        self.controller = Controller(config, SeededRandom(seed))

    def activate(self) -> None:
        """The controller's node becomes active, in a new controller epoch."""
        self.controller_epoch += 1
        self.controller.activate(self.now_ms, controller_epoch=self.controller_epoch)

    def do(self, command: Any) -> Any:
        """Decide and commit; a numbered request without a number is the next attempt."""
        if is_numbered(command) and not command.attempt:
            command = self.attempt(command)
        if COMMANDS[type(command)].needs_id:
            command.command_id = command.command_id or self._ids.randbytes(16)
            self.last_identified = command
        decision = self.controller.handle(command, self.image, self.now_ms)
        self.commit(decision.records)
        while not decision.is_last:
            rest = decision.rest
            decision = self.controller.handle(command, self.image, self.now_ms, rest=rest)
            self.commit(decision.records)
        reply = decision.reply
        if isinstance(reply, RegisterBrokerResponse) and not reply.error.code:
            reply.broker_epoch = reply.broker_epoch or self.image.offset
        return reply

    def attempt(self, request: NumberedT) -> NumberedT:
        """The next attempt of a request, meant for the controller as it is now."""
        self.attempts += 1
        request.controller_epoch, request.attempt = self.controller_epoch, self.attempts
        return request

    def commit(self, records: Sequence[MetadataRecord]) -> None:
        if records:
            batch = MetadataBatch(
                controller_epoch=1, base_offset=self.image.offset, records=records
            )
            after = replay(self.image, batch, offset=self.image.offset + 2)
            check_step(self.image, after)
            self.image = after

    def register(
        self,
        broker_id: int,
        *,
        incarnation: int = 1,
        cluster_id: str = "tide",
        start_loss: StartLoss = NOTHING,
    ) -> RegisterBrokerResponse:
        request = self._registration(broker_id, incarnation)
        request.cluster_id, request.start_loss = cluster_id, start_loss
        reply = self.do(request)
        assert isinstance(reply, RegisterBrokerResponse)
        return reply

    def begin_to_register(self, broker_id: int, *, incarnation: int) -> None:
        """The first batch of a registration; its process is gone after that."""
        request = self._registration(broker_id, incarnation)
        decision = self.controller.handle(request, self.image, self.now_ms)
        if not decision.is_last:
            self.commit(decision.records)

    def _registration(self, broker_id: int, incarnation: int) -> RegisterBrokerRequest:
        return RegisterBrokerRequest(
            broker_id=broker_id,
            cluster_id="tide",
            incarnation_id=incarnation.to_bytes(16, "big"),
            endpoints=registered_at(f"127.0.0.1:{9191 + broker_id}"),
            previous_broker_epoch=max(self.epoch(broker_id), 0),
        )

    def beat(
        self,
        broker_id: int,
        *,
        epoch: int | None = None,
        offset: int | None = None,
        want_shut_down: bool = False,
    ) -> BrokerHeartbeatResponse:
        """A heartbeat; by default of the current incarnation, which has applied everything."""
        request = BrokerHeartbeatRequest(
            broker_id=broker_id,
            broker_epoch=self.epoch(broker_id) if epoch is None else epoch,
            metadata_offset=self.image.offset if offset is None else offset,
            want_shut_down=want_shut_down,
        )
        reply = self.do(request)
        assert isinstance(reply, BrokerHeartbeatResponse)
        return reply

    def heartbeat(self, broker_id: int) -> BrokerHeartbeatRequest:
        """One that has the broker let in."""
        request = BrokerHeartbeatRequest(
            broker_id=broker_id,
            broker_epoch=self.epoch(broker_id),
            metadata_offset=self.image.offset,
        )
        return self.attempt(request)

    def start(self, *broker_ids: int) -> None:
        for broker_id in broker_ids:
            assert not self.register(broker_id).error.code
            assert not self.beat(broker_id).is_fenced

    def pass_session_but(self, *alive: int) -> None:
        """Let a session pass in which only these brokers are heard of, then check sessions."""
        self.now_ms += self.config.session_timeout_ms
        for broker_id in alive:
            self.beat(broker_id)
        self.do(ExpireSessions())

    def settle(self) -> int:
        """Settle all that is left, as the controller does by itself; the number of batches."""
        batches = 0
        while self.controller.has_unsettled(self.image, self.now_ms):
            before = self.image.offset
            self.do(SettlePartitions())
            assert self.image.offset > before
            batches += 1
        return batches

    def create(
        self,
        name: str,
        *,
        partitions: int = 1,
        replication_factor: int = 3,
        configs: dict[str, str] | None = None,
        validate_only: bool = False,
        internal: bool = False,
    ) -> CreateTopicsResponse.Topic:
        topic = NewTopic(
            name=name,
            partitions=partitions,
            replication_factor=replication_factor,
            configs=configs or {},
        )
        request = CreateTopicsRequest(
            topics=[topic], validate_only=validate_only, internal_topic=internal
        )
        reply = self.do(request)
        assert isinstance(reply, CreateTopicsResponse)
        return reply.topics[0]

    def alter(
        self,
        topic: str,
        isr: Sequence[int],
        *,
        sender: int | None = None,
        sender_epoch: int | None = None,
        leader_epoch: int | None = None,
        partition_epoch: int | None = None,
        member_epochs: dict[int, int] | None = None,
        cause: str = "",
        number: int = 0,
    ) -> AlterPartitionResponse:
        """Ask for an ISR; by default as its leader in the current epochs."""
        partition = self.partition(topic, number)
        by = sender if sender is not None else partition.leader_id or 0
        epochs = member_epochs or {}
        members = [
            AlterPartitionRequest.Member(
                broker_id=member, broker_epoch=epochs.get(member, self.epoch(member))
            )
            for member in isr
        ]
        asked = AlterPartitionRequest.Partition(
            topic=topic,
            topic_id=self.image.topics[topic].topic_id,
            partition=number,
            leader_epoch=partition.leader_epoch if leader_epoch is None else leader_epoch,
            partition_epoch=(
                partition.partition_epoch if partition_epoch is None else partition_epoch
            ),
            new_isr=members,
            cause=cause,
        )
        reply = self.do(
            AlterPartitionRequest(
                broker_id=by,
                broker_epoch=self.epoch(by) if sender_epoch is None else sender_epoch,
                partitions=[asked],
            )
        )
        assert isinstance(reply, AlterPartitionResponse)
        return reply

    def report_damage(
        self,
        broker_id: int,
        topic: str,
        *,
        partition_epoch: int | None = None,
        condition: ReportReplicaStateRequest.Condition = ReportReplicaStateRequest.DAMAGED,
        cause: str = "",
        served_epoch: int = -1,
    ) -> ReportReplicaStateResponse:
        """What the broker says of its log of partition 0."""
        if partition_epoch is None:
            partition_epoch = self.partition(topic).partition_epoch
        asked = ReportReplicaStateRequest.Partition(
            topic=topic,
            topic_id=self.image.topics[topic].topic_id,
            partition=0,
            partition_epoch=partition_epoch,
            condition=condition,
            cause=cause,
            served_leader_epoch=served_epoch,
        )
        epoch = self.epoch(broker_id)
        reply = self.do(
            ReportReplicaStateRequest(broker_id=broker_id, broker_epoch=epoch, partitions=[asked])
        )
        assert isinstance(reply, ReportReplicaStateResponse)
        return reply

    def elect(
        self, *topics: str, kind: ElectionType = PREFERRED
    ) -> dict[tuple[str, int], ElectLeadersResponse.Partition]:
        """Elect leaders of these topics' partitions; none named: of all."""
        named = [ElectLeadersRequest.Topic(name=name) for name in topics]
        reply = self.do(ElectLeadersRequest(election_type=kind, topics=named))
        assert isinstance(reply, ElectLeadersResponse)
        assert not reply.error.code
        return {(one.topic, one.partition): one for one in reply.partitions}

    def configure(self, topic: str, key: str, value: str) -> None:
        resource = AlterConfigsRequest.Resource(
            type=TOPIC if topic else CLUSTER,
            name=topic,
            changes=[AlterConfigsRequest.Change(key=key, value=value)],
        )
        reply = self.do(AlterConfigsRequest(resources=[resource]))
        assert isinstance(reply, AlterConfigsResponse)
        assert not reply.resources[0].error.code

    def partition(self, topic: str, number: int = 0) -> PartitionImage:
        partition = self.image.partition(topic, number)
        assert partition is not None
        return partition

    def epoch(self, broker_id: int) -> int:
        broker = self.image.brokers.get(broker_id)
        return -1 if broker is None else broker.broker_epoch


def _is_damaged_again(was: PartitionImage, now: PartitionImage) -> bool:
    """Whether nothing changed but epochs, as when a replica known to be damaged reports another."""
    was_then = replace(was, leader_epoch=now.leader_epoch, partition_epoch=now.partition_epoch)
    return now != was and bool(now.damaged) and was_then == now


def check_step(before: MetadataImage, after: MetadataImage) -> None:
    """Invariants I14 and I15, written apart from the code that keeps them; and sound configs."""
    assert after.offset > before.offset
    assert after.next_producer_id >= before.next_producer_id
    for topic in after.topics.values():
        log_config(topic.configs, after.cluster_configs)
    for broker_id, broker in before.brokers.items():
        assert after.brokers[broker_id].broker_epoch >= broker.broker_epoch
    registered = {
        one
        for one, broker in after.brokers.items()
        if one not in before.brokers or broker.broker_epoch != before.brokers[one].broker_epoch
    }
    for topic, now in after.partitions():
        assert registered.isdisjoint(now.isr)
        known = before.topic_by_id(topic.topic_id)
        was = before.partition(topic.name, now.partition) if known is not None else None
        come = set(now.isr) - set(was.isr if was is not None else ())
        if was is None or now.leader_id != was.leader_id:
            come |= set() if now.leader_id is None else {now.leader_id}
        assert all(map(after.is_alive, come))
        assert set(now.isr) | set(now.elr) | set(now.damaged) <= set(now.replicas)
        assert not set(now.isr) & (set(now.elr) | set(now.offline))
        assert now.isr or now.elr or now.last_known_leader_id is not None
        assert now.leader_id is None or now.leader_id in now.isr
        assert (now.leader_id is None) or (now.last_known_leader_id is None)
        if was is not None:
            assert now.partition_epoch == was.partition_epoch + (now != was)
            is_out_of_use = not (
                set(now.damaged) <= set(was.damaged) and set(now.offline) <= set(was.offline)
            )
            is_new = now.leader_id != was.leader_id or is_out_of_use or _is_damaged_again(was, now)
            assert now.leader_epoch == was.leader_epoch + is_new


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture(scope="session")
def new_world() -> type[World]:
    return World


@pytest.fixture(scope="session")
def new_random() -> type[SeededRandom]:
    return SeededRandom


@pytest.fixture
def random() -> SeededRandom:
    return SeededRandom()


@pytest.fixture
async def nodes(random: SeededRandom) -> AsyncIterator[Nodes]:
    """Two controllers; the first is active."""
    nodes = Nodes(random)
    for quorum in nodes.quorums:
        await quorum.start()
    nodes.raft.elect(nodes.logs[0])
    yield nodes
    for quorum in nodes.quorums:
        await quorum.stop()


@pytest.fixture
def rebuild() -> Callable[[list[tuple[int, MetadataBatch]]], MetadataImage]:
    """The image that the batches make on a node that has none."""

    def make(entries: list[tuple[int, MetadataBatch]]) -> MetadataImage:
        image = EMPTY_IMAGE
        for offset, batch in entries:
            image = replay(image, batch, offset=offset)
        return image

    return make
