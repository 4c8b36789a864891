"""Replica managers on virtual time, under a controller that is one object: no quorum, no lifecycle.

What the controller decides commits at once, by the metadata package's own handlers and replay;
`blind` brokers do not hear of it. Clients call over the simulated network.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, TypeVar

from tests.log.partition_logs import batch, contents
from tests.metadata.broker_endpoints import registered_at
from tests.metadata.decision_contexts import decision_context

from tidelog.broker.partition.fetch import FetchResult
from tidelog.broker.partition.partition import Partition
from tidelog.broker.partition.ports import ReplicaPorts
from tidelog.broker.partition.replica_config import ReplicaConfig
from tidelog.broker.replica_manager import ControllerCalls, ReplicaHooks, ReplicaManager
from tidelog.core.chance import SeededRandom
from tidelog.core.errors import CallFailedError
from tidelog.core.workers import InPlace, Workers
from tidelog.log.checkpoints import NO_LIFE
from tidelog.log.log_folder import Life
from tidelog.metadata.damage import report_damage
from tidelog.metadata.delta import replay
from tidelog.metadata.election import changes_with, changes_without
from tidelog.metadata.image import EMPTY_IMAGE, MetadataImage, PartitionImage
from tidelog.metadata.leaders import elect_leaders
from tidelog.metadata.records import partition_change
from tidelog.metadata.replication import alter_partition
from tidelog.net.unread_responses import UnreadResponses
from tidelog.node.handlers.fetch_codec import decode_fetch, encode_fetch
from tidelog.node.handlers.produce_codec import decode_produce, encode_produce
from tidelog.records.batch import iter_batches
from tidelog.records.records import iter_records
from tidelog.simulation.engine.clock import SimClock
from tidelog.simulation.engine.disk import SimDisk
from tidelog.simulation.engine.network import Host, SimNetwork
from tidelog.simulation.engine.peers import SimPeers
from tidelog.simulation.engine.scheduler import Scheduler
from tidelog.simulation.engine.trace import Trace
from tidelog.v1 import common_pb2
from tidelog.v1.admin_pb2 import UNCLEAN, ElectLeadersRequest
from tidelog.v1.controller_pb2 import (
    NOTHING,
    AlterPartitionRequest,
    AlterPartitionResponse,
    ReportReplicaStateRequest,
    ReportReplicaStateResponse,
)
from tidelog.v1.data_pb2 import (
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    PartitionFetchResult,
    PartitionProduceData,
    PartitionProduceResult,
    ProduceRequest,
    ProduceResponse,
)
from tidelog.v1.metadata_records_pb2 import (
    BrokerFencingRecord,
    ConfigRecord,
    MetadataBatch,
    MetadataRecord,
    PartitionRecord,
    RegisterBrokerRecord,
    RemoveTopicRecord,
    TopicRecord,
)
from tidelog.v1.methods import DELETE_RECORDS, FETCH, LIST_OFFSETS, PRODUCE

T = TypeVar("T")

TOPIC = "flights"
LAG_S = 1.0
CONFIG = ReplicaConfig(replica_lag_time_max_ms=1000, replica_fetch_timeout_ms=1000)


@dataclass(slots=True)
class Machine:
    """What outlives a broker's crash, and its present process."""

    broker_id: int
    disk: SimDisk
    clock: SimClock
    host: Host | None = None
    manager: ReplicaManager | None = None
    is_recovered: bool = False
    """All its logs were opened since the power was cut last."""
    life: int = NO_LIFE

    async def note_recovered(self) -> None:
        self.is_recovered = True


class DataPlane:
    """The requests that brokers and the stage's clients send to a manager's partitions."""

    def __init__(self, manager: ReplicaManager) -> None:
        self._manager = manager

    async def produce(self, request: ProduceRequest) -> ProduceResponse:
        return encode_produce(await self._manager.appender.produce(decode_produce(request)))

    async def fetch(self, request: FetchRequest) -> FetchResponse:
        return encode_fetch(await self._manager.session().fetch(decode_fetch(request)))

    async def fetch_stream(
        self, requests: AsyncIterator[FetchRequest]
    ) -> AsyncGenerator[FetchResponse, None]:
        decoded = (decode_fetch(request) async for request in requests)
        async with aclosing(self._manager.session().answers(decoded)) as answers:
            async for results in answers:
                yield encode_fetch(results)

    async def list_offsets(self, request: ListOffsetsRequest) -> ListOffsetsResponse:
        return await self._manager.reader.list_offsets(request)

    async def delete_records(self, request: DeleteRecordsRequest) -> DeleteRecordsResponse:
        return await self._manager.record_deleter.delete_records(request)


class ReplicaStage:
    """Three brokers without topics; a test's story runs beside them as a client."""

    def __init__(self, config: ReplicaConfig = CONFIG) -> None:
        self.config = config
        self.image: MetadataImage = EMPTY_IMAGE
        self.workers: Workers = InPlace()
        self.blind: list[int] = []
        """Brokers that hear nothing from the controller."""
        self.alter_partition_errors: list[Exception] = []
        """The next answers are lost in this way, though the requests are carried out."""
        self.is_deaf_to_damage = False
        """Damage is reported in vain."""
        self.broken: list[int] = []
        """Leaders whose connections broke, as their followers saw it."""
        self.fatal: list[BaseException] = []
        self.scheduler = Scheduler(trace=Trace())
        self.network = SimNetwork(scheduler=self.scheduler, random=SeededRandom(1))
        self._client = self._attach("client")
        self._peers = SimPeers(network=self.network, host=self._client)
        self._machines = {broker_id: self._machine(broker_id) for broker_id in (1, 2, 3)}

    def run(self, story: Callable[[ReplicaStage], Coroutine[Any, Any, T]]) -> T:
        try:
            return self.scheduler.run(self._client.loop, self._run_story(story))
        finally:
            self.scheduler.close()

    async def _run_story(self, story: Callable[[ReplicaStage], Coroutine[Any, Any, T]]) -> T:
        for broker_id in self._machines:
            self.start(broker_id)
        result = await story(self)
        assert self.fatal == []
        return result

    # Machines

    def start(self, broker_id: int) -> None:
        """A new incarnation on what the disk holds; registered, unfenced."""
        machine = self._machines[broker_id]
        host = machine.host = self._attach(f"broker-{broker_id}", machine.clock)
        manager = machine.manager = self._manager(machine, host)
        manager.begin_life(Life(machine.life + 1, machine.life, machine.is_recovered))
        machine.life += 1
        register = RegisterBrokerRecord(
            broker_id=broker_id, incarnation_id=bytes(16), endpoints=registered_at(host.address)
        )
        leaving = changes_without(self.image, [broker_id], cause="", start_loss=NOTHING)
        self.commit(MetadataRecord(register_broker=register), *leaving)
        broker_epoch = self.image.offset
        fencing = BrokerFencingRecord(broker_id=broker_id, broker_epoch=broker_epoch)
        host.services = {"tidelog.v1.Broker": DataPlane(manager)}
        host.loop.create_task(manager.start(broker_epoch))
        returning = changes_with(self.image, broker_id, cause="")
        self.commit(MetadataRecord(broker_fencing=fencing), *returning)

    def crash(self, broker_id: int) -> None:
        """Cut a broker's power; what its disk had not synced is lost or torn."""
        self.kill(broker_id)
        self._machines[broker_id].disk.crash()
        self._machines[broker_id].is_recovered = False

    def kill(self, broker_id: int) -> None:
        """Kill a broker's process; its disk forgets nothing."""
        machine = self._machines[broker_id]
        assert machine.host is not None
        self.network.crash(machine.host)
        machine.host.loop.kill()
        machine.host = machine.manager = None

    def cut(self, *broker_ids: int) -> None:
        """Cut these brokers off the others, not off the clients and not off the controller."""
        for one in broker_ids:
            for other in self._machines:
                if other not in broker_ids:
                    self.network.cut(f"broker-{one}", f"broker-{other}")
                    self.network.cut(f"broker-{other}", f"broker-{one}")

    def heal(self) -> None:
        for one in self._machines:
            for other in self._machines:
                if one != other:
                    self.network.heal(f"broker-{one}", f"broker-{other}")

    async def on(self, broker_id: int, work: Callable[[ReplicaManager], Awaitable[T]]) -> T:
        """Run `work` with a broker's manager on that broker's loop."""
        host = self._machines[broker_id].host
        assert host is not None
        done: list[T] = []

        async def run() -> None:
            done.append(await work(self.manager(broker_id)))

        host.loop.create_task(run())
        await self.until(lambda: bool(done))
        return done[0]

    def manager(self, broker_id: int) -> ReplicaManager:
        manager = self._machines[broker_id].manager
        assert manager is not None
        return manager

    def is_recovered(self, broker_id: int) -> bool:
        return self._machines[broker_id].is_recovered

    def disk(self, broker_id: int) -> SimDisk:
        return self._machines[broker_id].disk

    def clock(self, broker_id: int) -> SimClock:
        return self._machines[broker_id].clock

    def hosted(self, broker_id: int, partition: int = 0) -> Partition:
        return self.manager(broker_id)._partitions.held[TOPIC, partition]

    # The controller

    def create(
        self,
        *,
        partitions: int = 1,
        replicas: tuple[int, ...] = (1, 2, 3),
        topic_id: bytes = bytes(16),
        **configs: int | str,
    ) -> None:
        """Make the topic; the first replica leads, `min_insync_replicas=2` sets a config."""
        records = [MetadataRecord(topic=TopicRecord(name=TOPIC, topic_id=topic_id))]
        for name, value in configs.items():
            config = ConfigRecord(resource_name=TOPIC, key=name.replace("_", "."), value=str(value))
            records.append(MetadataRecord(config=config))
        for partition in range(partitions):
            record = PartitionRecord(
                topic_id=topic_id,
                partition=partition,
                replicas=replicas,
                isr=replicas,
                leader_id=replicas[0],
                leader_epoch=0,
            )
            records.append(MetadataRecord(partition=record))
        self.commit(*records)

    def delete(self) -> None:
        topic_id = self.image.topics[TOPIC].topic_id
        self.commit(MetadataRecord(remove_topic=RemoveTopicRecord(topic_id=topic_id)))

    def elect(self, leader_id: int | None, isr: tuple[int, ...]) -> None:
        """Give partition 0 this leader and ISR."""
        topic = self.image.topics[TOPIC]
        self.commit(
            partition_change(topic.topic_id, topic.partitions[0], isr=isr, leader_id=leader_id)
        )

    def elect_unclean(self) -> None:
        """As an operator orders it."""
        decision = elect_leaders(
            ElectLeadersRequest(election_type=UNCLEAN), self.image, decision_context()
        )
        self.commit(*decision.records)

    def fence(self, broker_id: int) -> None:
        fencing = BrokerFencingRecord(
            broker_id=broker_id,
            broker_epoch=self.image.brokers[broker_id].broker_epoch,
            fenced=True,
        )
        self.commit(MetadataRecord(broker_fencing=fencing))

    def state(self, partition: int = 0) -> PartitionImage:
        return self.image.topics[TOPIC].partitions[partition]

    def commit(self, *records: MetadataRecord) -> None:
        batch = MetadataBatch(
            controller_epoch=1, base_offset=self.image.offset, records=list(records)
        )
        before, self.image = self.image, replay(self.image, batch, offset=self.image.offset + 1)
        assert self.image is not before
        for broker_id in self._machines:
            self.publish(broker_id)

    def publish(self, broker_id: int) -> None:
        """Let a broker that is up, and not blind, have the present image."""
        machine, image = self._machines[broker_id], self.image
        if machine.host is not None and machine.manager and broker_id not in self.blind:
            on_image = machine.manager.on_image
            self.scheduler.deliver(machine.host.loop, lambda: on_image(image), delay_s=0.001)

    async def _alter_partition(self, request: AlterPartitionRequest) -> AlterPartitionResponse:
        await asyncio.sleep(0.002)
        if request.broker_id in self.blind:
            raise CallFailedError("no controller answers")
        decision = alter_partition(request, self.image, decision_context())
        if decision.records:
            self.commit(*decision.records)
        if self.alter_partition_errors:
            raise self.alter_partition_errors.pop(0)
        return decision.reply

    async def _report_state(self, request: ReportReplicaStateRequest) -> ReportReplicaStateResponse:
        await asyncio.sleep(0.002)
        if request.broker_id in self.blind or self.is_deaf_to_damage:
            raise CallFailedError("no controller answers")
        decision = report_damage(request, self.image, decision_context())
        if decision.records:
            self.commit(*decision.records)
        return decision.reply

    # Clients

    async def produce(
        self,
        broker_id: int,
        *values: bytes,
        acks: int = -1,
        timeout_ms: int = 5000,
        partition: int = 0,
    ) -> PartitionProduceResult:
        """One batch with a record a value."""
        (result,) = (
            await self.produce_raw(
                broker_id,
                PartitionProduceData(topic=TOPIC, partition=partition, records=batch(*values)),
                acks=acks,
                timeout_ms=timeout_ms,
            )
        ).partitions
        return result

    async def produce_raw(
        self,
        broker_id: int,
        *partitions: PartitionProduceData,
        acks: int = -1,
        timeout_ms: int = 5000,
    ) -> ProduceResponse:
        request = ProduceRequest(acks=acks, timeout_ms=timeout_ms, partitions=partitions)
        return await self._peers.call(_address(broker_id), PRODUCE, request, timeout_ms=60_000)

    async def must_produce(self, broker_id: int, *values: bytes, acks: int = -1) -> int:
        """The base offset, once the broker knows that it leads; else but success fails the test."""
        await self.until(lambda: self.hosted(broker_id).replica.leader is not None)
        result = await self.produce(broker_id, *values, acks=acks)
        assert result.error.code == common_pb2.NONE, result.error
        return result.base_offset

    async def fetch(
        self, broker_id: int, *partitions: FetchPartition, **fields: Any
    ) -> FetchResponse:
        """A consumer's fetch; `fields` are FetchRequest's."""
        request = FetchRequest(partitions=partitions, **fields)
        return await self._peers.call(_address(broker_id), FETCH, request, timeout_ms=60_000)

    async def fetch_one(self, broker_id: int, offset: int, **fields: Any) -> PartitionFetchResult:
        asked = FetchPartition(topic=TOPIC, partition=0, fetch_offset=offset)
        (result,) = (await self.fetch(broker_id, asked, **fields)).partitions
        return result

    async def consume(self, broker_id: int, offset: int = 0) -> list[bytes | None]:
        """The values a consumer gets from `offset` on, without waiting."""
        return values_in(await self.fetch_one(broker_id, offset))

    async def offsets(
        self,
        broker_id: int,
        spec: ListOffsetsRequest.Spec = ListOffsetsRequest.LATEST,
        *,
        timestamp_ms: int = 0,
    ) -> ListOffsetsResponse.Partition:
        asked = ListOffsetsRequest.Partition(
            topic=TOPIC, partition=0, spec=spec, timestamp_ms=timestamp_ms
        )
        request = ListOffsetsRequest(partitions=[asked])
        return (await self.list_offsets(broker_id, request)).partitions[0]

    async def list_offsets(
        self, broker_id: int, request: ListOffsetsRequest
    ) -> ListOffsetsResponse:
        return await self._peers.call(_address(broker_id), LIST_OFFSETS, request, timeout_ms=60_000)

    async def delete_records(
        self, broker_id: int, offset: int, *, timeout_ms: int = 5000
    ) -> DeleteRecordsResponse.Partition:
        asked = DeleteRecordsRequest.Partition(topic=TOPIC, partition=0, offset=offset)
        request = DeleteRecordsRequest(partitions=[asked], timeout_ms=timeout_ms)
        response = await self._peers.call(
            _address(broker_id), DELETE_RECORDS, request, timeout_ms=60_000
        )
        return response.partitions[0]

    async def until(self, condition: Callable[[], bool], *, within_s: float = 10.0) -> None:
        """Wait for something that must become true."""
        async with asyncio.timeout(within_s):
            while not condition():  # noqa: ASYNC110  # looks into brokers on other loops
                await asyncio.sleep(0.001)

    async def until_opened(self, *broker_ids: int) -> None:
        def are_open() -> bool:
            held = [self.manager(one)._partitions.held.get((TOPIC, 0)) for one in broker_ids]
            topic_id = self.image.topics[TOPIC].topic_id
            return all(
                hosted is not None and hosted.is_open and hosted.topic_id == topic_id
                for hosted in held
            )

        await self.until(are_open)

    async def until_equal(self, *broker_ids: int) -> None:
        """Wait until these brokers' logs of partition 0 hold the same records, all committed."""

        def are_equal() -> bool:
            logs = [self.hosted(one).log for one in broker_ids]
            return all(
                log.high_watermark == log.log_end_offset
                and log.log_end_offset == logs[0].log_end_offset
                for log in logs
            )

        await self.until(are_equal)
        first, *others = [contents(self.hosted(one).log) for one in broker_ids]
        for other in others:
            assert other == first

    # Building

    def _attach(self, name: str, clock: SimClock | None = None) -> Host:
        host = Host(name=name, loop=self.scheduler.new_loop(name, clock), address=f"{name}:1")
        self.network.attach(host)
        return host

    def _machine(self, broker_id: int) -> Machine:
        return Machine(
            broker_id=broker_id,
            disk=SimDisk(SeededRandom(broker_id), sync_latency_s=0.001),
            clock=SimClock(lambda: self.scheduler.now_s, offset_s=1000.0 * broker_id),
        )

    def _manager(self, machine: Machine, host: Host) -> ReplicaManager:
        return ReplicaManager(
            broker_id=machine.broker_id,
            log_dir="/data",
            ports=ReplicaPorts(
                disk=machine.disk,
                clock=machine.clock,
                random=SeededRandom(machine.broker_id),
                peers=SimPeers(network=self.network, host=host),
                workers=self.workers,
            ),
            config=self.config,
            controllers=ControllerCalls(self._alter_partition, self._report_state),
            hooks=ReplicaHooks(
                on_recovered=machine.note_recovered,
                on_broken=self.broken.append,
                on_fatal=self.fatal.append,
            ),
            unread=UnreadResponses(self.config.unread, machine.clock.monotonic_ms),
        )


def values_in(result: PartitionFetchResult | FetchResult) -> list[bytes | None]:
    """The values of all records of a fetch's result."""
    return [
        record.value for _, data in iter_batches(result.records) for record in iter_records(data)
    ]


def _address(broker_id: int) -> str:
    return f"broker-{broker_id}:1"
