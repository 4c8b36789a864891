"""Real nodes for the tests of clients, on the loop of the test: three brokers and a controller.

`build_node` builds them, as in production, on disks of the simulation. A client gets the cluster
as its transport; what no broker does is done on the way, by `meddler`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from tests.client.loop_peers import Host, LoopPeers, MachinePeers, keep_tasks_of_hosts
from tests.client.meddler import Meddler

from tidelog.core.chance import SeededRandom
from tidelog.core.errors import CallFailedError, TidelogError
from tidelog.core.system import SystemClock
from tidelog.log.partition_log import PartitionLog
from tidelog.metadata.config import ControllerConfig
from tidelog.metadata.image import MetadataImage, PartitionImage
from tidelog.net.listeners import one_listener
from tidelog.node.config import NodeConfig
from tidelog.node.data_directory import format_or_check
from tidelog.node.server import Node, Ports, build_node
from tidelog.raft.config import RaftConfig
from tidelog.raft.transport import RaftReceiver
from tidelog.records.batch import BatchHeader, assign_offsets, iter_batches, parse_header
from tidelog.records.records import Record, encode_batch, iter_records
from tidelog.simulation.engine.disk import SimDisk
from tidelog.v1 import common_pb2
from tidelog.v1.admin_pb2 import (
    AlterConfigsRequest,
    ConfigResourceType,
    CreateTopicsRequest,
    DeleteTopicsRequest,
    NewTopic,
)
from tidelog.v1.data_pb2 import DeleteRecordsRequest, ProduceRequest
from tidelog.v1.metadata_records_pb2 import MetadataRecord, PartitionChangeRecord
from tidelog.v1.methods import ALTER_CONFIGS, CREATE_TOPICS, DELETE_RECORDS, DELETE_TOPICS, PRODUCE
from tidelog.v1.raft_pb2 import RaftMessage

ADDRESSES = {1: "node1:9192", 2: "node2:9192", 3: "node3:9192"}
BOOTSTRAP = ",".join(ADDRESSES.values())
CONTROLLER_ID = 9
CONTROLLER_ADDRESS = "node9:9192"
CLUSTER_ID = "real"
DATA_DIRECTORY = "/data"
PATIENCE_MS = 30_000
POLL_S = 0.001


class SoleVoter:
    """The `RaftTransport` of a quorum of one."""

    async def start(self, receiver: RaftReceiver) -> None:
        """See `RaftTransport`."""

    async def stop(self) -> None:
        """See `RaftTransport`."""

    def send(self, peer_id: int, message: RaftMessage) -> bool:
        """See `RaftTransport`; there is nobody."""
        del peer_id, message
        return False


class Machine:
    """A node's disk, which outlives its processes, and the present process."""

    def __init__(self, node_id: int) -> None:
        self.node_id = node_id
        self.address = ADDRESSES.get(node_id, CONTROLLER_ADDRESS)
        self.disk = SimDisk(SeededRandom(node_id), sync_latency_s=0)
        self.host = Host(self.address)
        self.peers = MachinePeers({})
        self.starts = 0
        self.boots = 1
        self._node: Node | None = None

    @property
    def node(self) -> Node:
        """The present process, or the last one."""
        assert self._node is not None, "never started"
        return self._node

    async def start(self, config: NodeConfig, hosts: dict[str, Host]) -> None:
        """Start a process on what the disk holds."""
        self.starts += 1
        host = self.host = hosts[self.address] = Host(self.address)
        self.peers = MachinePeers(hosts)
        self._node = build_node(config, self._ports())
        await host.begin(self._format_and_start(config, host))

    async def _format_and_start(self, config: NodeConfig, host: Host) -> None:
        await format_or_check(self.disk, config)
        host.services = self.node.services
        await self.node.start()

    def _ports(self) -> Ports:
        host = self.host

        def on_fatal(error: BaseException) -> None:
            if host.services is not None:
                raise error

        return Ports(
            clock=SystemClock(),
            disk=self.disk,
            random=SeededRandom(1_000 * self.starts + self.node_id),
            peers=self.peers,
            raft_transport=SoleVoter() if self.node_id == CONTROLLER_ID else None,
            on_fatal=on_fatal,
            boot_id=f"boot-{self.boots}",
        )


@dataclass(frozen=True)
class RealPartition:
    """A partition as its leader has it."""

    cluster: RealCluster
    topic: str
    number: int

    @property
    def image(self) -> PartitionImage:
        """Its leader, ISR and epochs, as committed."""
        found = self.cluster.image.partition(self.topic, self.number)
        assert found is not None, f"no {self.topic}-{self.number}"
        return found

    @property
    def leader_id(self) -> int | None:
        """The leader's broker id."""
        return self.image.leader_id

    @property
    def log(self) -> PartitionLog:
        """The leader's log; without a leader the last one's."""
        image = self.image
        leader_id = image.last_known_leader_id if image.leader_id is None else image.leader_id
        return self.cluster.log(leader_id or image.replicas[0], self.topic, self.number)

    @property
    def end_offset(self) -> int:
        """The leader's log end offset."""
        return self.log.log_end_offset

    @property
    def start_offset(self) -> int:
        """The leader's log start offset."""
        return self.log.log_start_offset

    @property
    def batches(self) -> tuple[bytes, ...]:
        """Batches in the leader's log, from its start offset on."""
        log, batches = self.log, list[bytes]()
        offset, end = log.log_start_offset, log.log_end_offset
        while offset < end:  # a read ends with its segment
            read = log.read(offset, max_bytes=1 << 30, upper_bound=end)
            batches += [bytes(batch) for _, batch in iter_batches(bytes(read.records))]
            offset = read.next_offset
        return tuple(batches)

    def headers(self) -> list[BatchHeader]:
        """Headers of the batches."""
        return list(map(parse_header, self.batches))

    def records(self) -> list[Record]:
        """Records of the batches."""
        return [record for batch in self.batches for record in iter_records(batch)]

    def values(self) -> list[bytes | None]:
        """Values of the records."""
        return [record.value for record in self.records()]

    async def append(self, records: bytes, *, acks: int = -1) -> int:
        """Have the leader append batches, as any producer may; the first offset."""
        request = ProduceRequest(acks=acks, timeout_ms=PATIENCE_MS)
        request.partitions.add(topic=self.topic, partition=self.number, records=records)
        leader_id = self.leader_id
        assert leader_id is not None
        response = await self.cluster.direct.call(
            ADDRESSES[leader_id], PRODUCE, request, timeout_ms=PATIENCE_MS
        )
        (result,) = response.partitions
        assert result.error.code == common_pb2.NONE, result.error
        return result.base_offset

    async def delete_before(self, offset: int) -> None:
        """Delete the records below an offset."""
        request = DeleteRecordsRequest(timeout_ms=PATIENCE_MS)
        request.partitions.add(topic=self.topic, partition=self.number, offset=offset)
        response = await self.cluster.direct.call(
            ADDRESSES[self.leader_id or 0], DELETE_RECORDS, request, timeout_ms=PATIENCE_MS
        )
        assert response.partitions[0].low_watermark == offset

    async def lay(self, batches: Iterable[bytes]) -> None:
        """Have every replica hold these batches, as after compaction, and elect the next one."""
        image = self.image
        for node_id in image.replicas:
            log = self.cluster.log(node_id, self.topic, self.number)
            for header, batch in map(_alone, batches):
                _, pieces = assign_offsets(
                    [(header, batch)],
                    base_offset=header.base_offset,
                    leader_epoch=image.leader_epoch,
                )
                log.append_as_follower(b"".join(pieces))
        leader_id = next(one for one in image.isr if one != image.leader_id)
        await self.cluster.move(self.topic, self.number, leader_id=leader_id)
        end = self.log.log_end_offset
        await until(lambda: self.log.high_watermark == end)


@dataclass(frozen=True)
class RealTopic:
    """A topic of the cluster."""

    topic_id: bytes
    partitions: Sequence[RealPartition]


class RealCluster(Meddler):
    """Get one that runs by `started`."""

    def __init__(self, *, auto_create: bool = True, **controller: Any) -> None:
        self.hosts: dict[str, Host] = {}
        self.direct = LoopPeers(self.hosts)
        """A way to the nodes on which nothing is counted, and nothing happens."""
        super().__init__(self.direct)
        self.machines = {node_id: Machine(node_id) for node_id in (CONTROLLER_ID, *ADDRESSES)}
        options = {"default_replication_factor": 3, **controller}
        self._controller = ControllerConfig(cluster_id=CLUSTER_ID, **options)
        self._auto_create = auto_create
        self._beside: set[asyncio.Task[None]] = set()
        self._electing = asyncio.Lock()

    async def start(self, node_id: int) -> None:
        """Start a node that is down, and wait until it serves."""
        machine = self.machines[node_id]
        await machine.start(self._config(node_id), self.hosts)
        await until(machine.node.is_ready)

    def kill(self, node_id: int) -> None:
        """End a node's process; others lead its partitions as soon as the controller knows."""
        machine = self.machines[node_id]
        machine.host.end()
        for stream in self.streams:
            if stream.address == machine.address:
                stream.fail(CallFailedError(f"{machine.address} went away"))

    def cut_power(self, node_id: int) -> None:
        """End a node's process and lose what its disk has not synced."""
        self.kill(node_id)
        self.machines[node_id].disk.crash()
        self.machines[node_id].boots += 1

    def isolate(self, node_id: int) -> None:
        """Have a broker reach no other node; clients reach it."""
        self.lag(node_id)
        self.machines[node_id].peers.is_cut_off = True

    def lag(self, node_id: int, *, is_behind: bool = True) -> None:
        """Have a broker hear nothing new of the metadata, or again all of it."""
        news = self.machines[node_id].peers.has_news
        news.clear() if is_behind else news.set()

    async def fenced(self, *node_ids: int) -> None:
        """Wait until the controller has fenced brokers."""
        await until(lambda: all(self.image.brokers[one].is_fenced for one in node_ids))

    def tasks_of_clients(self) -> set[asyncio.Task[Any]]:
        """Tasks that are neither a node's nor the running one."""
        ours = {task for one in self.machines.values() for task in one.host.tasks}
        return asyncio.all_tasks() - ours - {asyncio.current_task()}

    # Topics

    @property
    def image(self) -> MetadataImage:
        """What the controller has committed."""
        image: MetadataImage = self.quorum.image
        return image

    @property
    def quorum(self) -> Any:  # the controller's QuorumController, with what is private
        """The controller."""
        return self.machines[CONTROLLER_ID].node._quorum

    @property
    def topics(self) -> Mapping[str, RealTopic]:
        """Topics by their names."""
        return {
            name: RealTopic(
                topic.topic_id,
                [RealPartition(self, name, number) for number in range(len(topic.partitions))],
            )
            for name, topic in self.image.topics.items()
        }

    def values(self, name: str) -> list[list[bytes | None]]:
        """Values in each partition of a topic."""
        return [partition.values() for partition in self.topics[name].partitions]

    def log(self, node_id: int, topic: str, number: int) -> PartitionLog:
        """The log of a node's replica."""
        broker: Any = self.machines[node_id].node._broker
        found: PartitionLog = broker.replica_manager._partitions.held[topic, number].log
        return found

    async def create(
        self, name: str, *, partitions: int = 1, replicas: int = 3, **configs: object
    ) -> RealTopic:
        """Create a topic, partition n led by broker n % 3 + 1, and wait until all serve it."""
        topic = NewTopic(name=name, configs=_kafkas(configs))
        ids = list(ADDRESSES)
        for number in range(partitions):
            chosen = [ids[(number + place) % 3] for place in range(replicas)]
            topic.assignments.add(partition=number, broker_ids=chosen)
        request = CreateTopicsRequest(topics=[topic], timeout_ms=PATIENCE_MS)
        response = await self._ask(CREATE_TOPICS, request)
        assert not response.topics[0].error.code, response.topics[0].error
        await self.settle()
        return self.topics[name]

    async def delete(self, name: str) -> None:
        """Delete a topic, and wait until all know."""
        await self._ask(DELETE_TOPICS, DeleteTopicsRequest(names=[name], timeout_ms=PATIENCE_MS))
        await self.settle()

    async def configure(self, name: str, **configs: object) -> None:
        """Set configs of a topic, keys with underscores for dots, and wait until all know."""
        request = AlterConfigsRequest(timeout_ms=PATIENCE_MS)
        resource = request.resources.add(type=ConfigResourceType.TOPIC, name=name)
        for key, value in _kafkas(configs).items():
            resource.changes.add(key=key, value=value)
        response = await self._ask(ALTER_CONFIGS, request)
        assert not response.error.code, response.error
        await self.settle()

    def move(self, name: str, partition: int, *, leader_id: int | None) -> asyncio.Task[None]:
        """Elect another member of the ISR, or nobody; await the task to wait until all know."""
        return self.beside(self._elect(name, partition, leader_id))

    def beside(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Have work done beside the test; `rest` waits for it."""
        task = self.machines[CONTROLLER_ID].host.begin(work)
        self._beside.add(task)
        task.add_done_callback(self._beside.discard)
        return task

    async def rest(self) -> None:
        """Wait until all that was begun is done, and every broker acts by it."""
        await asyncio.gather(*self._beside)
        await self.settle()

    async def failed_over(self) -> None:
        """Wait until live brokers lead what the killed ones did."""
        dead = [one.node_id for one in self.machines.values() if one.host.services is None]
        await until(
            lambda: (
                not any(
                    partition.leader_id in dead
                    for topic in self.image.topics.values()
                    for partition in topic.partitions
                )
            )
        )
        await self.settle()

    async def leave_only(self, node_id: int) -> None:
        """Have every other broker be down and fenced, and this one, which was down, run."""
        others = [one for one in ADDRESSES if one != node_id]
        for one in others:
            self.kill(one)
        await self.fenced(*others)
        await self.start(node_id)
        await self.settle()

    async def settle(self) -> None:
        """Wait until each live broker acts by the newest metadata."""
        await until(lambda: all(map(self._is_settled, ADDRESSES)))

    def _is_settled(self, node_id: int) -> bool:
        machine = self.machines[node_id]
        if machine.host.services is None or not machine.peers.has_news.is_set():
            return True
        broker: Any = machine.node._broker
        manager = broker.replica_manager
        return bool(
            broker.follower.image.offset >= self.image.offset
            and manager.is_prepared
            and all(one._idle.is_set() for one in manager._partitions.held.values())
        )

    async def _elect(self, name: str, number: int, leader_id: int | None) -> None:
        async with self._electing:
            while True:
                change = self._election(name, number, leader_id)
                try:
                    await self.quorum._active.commit(
                        [MetadataRecord(partition_change=change)],
                        base_offset=self.image.offset,
                        term=self.quorum.term,
                    )
                    break
                except TidelogError:  # another change came first
                    await asyncio.sleep(POLL_S)
        await self.settle()

    def _election(self, name: str, number: int, leader_id: int | None) -> PartitionChangeRecord:
        before = self.image.partition(name, number)
        assert before is not None
        assert leader_id is None or leader_id in before.isr
        change = PartitionChangeRecord(
            topic_id=self.image.topics[name].topic_id,
            partition=number,
            isr=before.isr,
            leader_epoch=before.leader_epoch + 1,
            partition_epoch=before.partition_epoch + 1,
            elr=before.elr,
            cause="the test",
        )
        if leader_id is not None:
            change.leader_id = leader_id
        else:
            change.last_known_leader_id = before.leader_id or before.last_known_leader_id or 0
        return change

    async def _ask(self, method: Any, request: Any) -> Any:  # of any command of the controllers
        address = next(a for a in ADDRESSES.values() if self.hosts[a].services is not None)
        return await self.direct.call(address, method, request, timeout_ms=PATIENCE_MS)

    def _config(self, node_id: int) -> NodeConfig:
        return NodeConfig(
            node_id=node_id,
            cluster_id=CLUSTER_ID,
            listeners=one_listener(self.machines[node_id].address),
            data_dir=DATA_DIRECTORY,
            controller_voters={CONTROLLER_ID: CONTROLLER_ADDRESS},
            process_roles=("controller",) if node_id == CONTROLLER_ID else ("broker",),
            rack=f"rack-{node_id}",
            auto_create_topics_enable=self._auto_create,
            controller=self._controller,
            raft=RaftConfig(
                cluster_id=CLUSTER_ID, wal_reserve_bytes=1 << 16, snapshot_interval_bytes=1 << 15
            ),
        )


ClusterT = TypeVar("ClusterT", bound=RealCluster)


async def started(*, auto_create: bool = True, **controller: Any) -> RealCluster:
    """A cluster that serves; `controller` are fields of its `ControllerConfig`."""
    return await start_all(RealCluster(auto_create=auto_create, **controller))


async def start_all(cluster: ClusterT) -> ClusterT:
    """Start every node; they end with the loop."""
    keep_tasks_of_hosts()
    await cluster.start(CONTROLLER_ID)
    await asyncio.gather(*map(cluster.start, ADDRESSES))
    return cluster


async def until(condition: Callable[[], bool]) -> None:
    """Wait until something holds."""
    async with asyncio.timeout(PATIENCE_MS / 1000):
        while not condition():  # noqa: ASYNC110  # any condition
            await asyncio.sleep(POLL_S)


def encoded(values: Sequence[bytes], **fields: Any) -> bytes:  # fields of encode_batch
    """One batch of records without keys."""
    return encode_batch([Record(0, 1_000, None, value) for value in values], **fields)


def _alone(batch: bytes) -> tuple[BatchHeader, memoryview]:
    (found,) = iter_batches(batch)
    return found


def _kafkas(configs: Mapping[str, object]) -> dict[str, str]:
    texts = {True: "true", False: "false"}
    return {
        key.replace("_", "."): texts[value] if isinstance(value, bool) else str(value)
        for key, value in configs.items()
    }
