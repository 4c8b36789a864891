"""Real nodes for the tests of clients, on the loop of the test: three brokers and controllers.

`build_node` builds them, as in production, on disks of the simulation. A client gets the cluster
as its transport; what no broker does is done on the way, by `meddler`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping, Sequence
from itertools import islice
from typing import Any, TypeVar

from tests.client.loop_peers import Host, LoopPeers, keep_tasks_of_hosts
from tests.client.meddler import Meddler
from tests.client.patience import PATIENCE_MS, POLL_S, until
from tests.client.real_nodes import Machine
from tests.client.real_topics import RealPartition, RealTopic

from tidelog.broker.coordinator.group_config import GroupConfig
from tidelog.broker.transactions.transaction_config import TransactionConfig
from tidelog.core.errors import CallFailedError, TidelogError
from tidelog.log.partition_log import PartitionLog
from tidelog.metadata.config import ControllerConfig
from tidelog.metadata.image import MetadataImage
from tidelog.net.listeners import one_listener
from tidelog.node.config import NodeConfig
from tidelog.raft.config import RaftConfig
from tidelog.raft.transport import RaftReceiver
from tidelog.records.records import Record, encode_batch
from tidelog.v1.admin_pb2 import (
    AlterConfigsRequest,
    ConfigResourceType,
    CreateTopicsRequest,
    DeleteTopicsRequest,
    NewTopic,
)
from tidelog.v1.metadata_records_pb2 import MetadataRecord, PartitionChangeRecord
from tidelog.v1.methods import (
    ALTER_CONFIGS,
    CREATE_TOPICS,
    DELETE_TOPICS,
    Method,
    Request,
    Response,
)

ADDRESSES = {1: "node1:9192", 2: "node2:9192", 3: "node3:9192"}
BOOTSTRAP = ",".join(ADDRESSES.values())
CONTROLLER_ID = 9
"""The only controller; the first of several."""
CONTROLLERS = {CONTROLLER_ID: "node9:9192", 10: "node10:9192", 11: "node11:9192"}
CLUSTER_ID = "real"
DATA_DIRECTORY = "/data"
GROUPS = GroupConfig(offsets_topic_num_partitions=3)
TRANSACTIONS = TransactionConfig(transaction_state_log_num_partitions=3)


class RealCluster(Meddler):
    """Get one that runs by `started`."""

    def __init__(
        self,
        *,
        auto_create: bool = True,
        controllers: int = 1,
        groups: GroupConfig = GROUPS,
        transactions: TransactionConfig = TRANSACTIONS,
        **controller: Any,
    ) -> None:
        self._groups = groups
        self._transactions = transactions
        self.hosts: dict[str, Host] = {}
        self.direct = LoopPeers(self.hosts)
        """A way to the nodes on which nothing is counted, and nothing happens."""
        super().__init__(self.direct)
        self.voters = dict(islice(CONTROLLERS.items(), controllers))
        """Addresses of the controllers, by id."""
        self._receivers: dict[int, RaftReceiver] = {}
        addresses = {**self.voters, **ADDRESSES}
        self.machines = {one: Machine(one, address) for one, address in addresses.items()}
        options = {"default_replication_factor": 3, **controller}
        self._controller = ControllerConfig(cluster_id=CLUSTER_ID, **options)
        self._auto_create = auto_create
        self._beside: set[asyncio.Task[None]] = set()
        self._electing = asyncio.Lock()

    async def start(self, node_id: int) -> None:
        """Start a node that is down, and wait until it serves."""
        machine = self.machines[node_id]
        await machine.start(self._config(node_id), self.hosts, self._receivers)
        await until(machine.node.is_ready)

    def kill(self, node_id: int) -> None:
        """End a node's process; others lead its partitions as soon as the controller knows."""
        machine = self.machines[node_id]
        machine.end()
        for stream in self.streams:
            if stream.address == machine.address:
                stream.fail(CallFailedError(f"{machine.address} went away"))

    def cut_power(self, node_id: int) -> None:
        """End a node's process and lose what its disk has not synced."""
        self.kill(node_id)
        self.machines[node_id].disk.crash()
        self.machines[node_id].boots += 1

    def isolate(self, node_id: int) -> None:
        """Have a node reach no other one; clients reach it."""
        self.machines[node_id].isolate()

    def rejoin(self, node_id: int) -> None:
        """End the isolation of a broker."""
        self.machines[node_id].rejoin()

    def lag(self, node_id: int, *, is_behind: bool = True) -> None:
        """Have a broker hear nothing new of the metadata, or again all of it."""
        news = self.machines[node_id].peers.has_news
        news.clear() if is_behind else news.set()

    async def fenced(self, *node_ids: int) -> None:
        """Wait until the controller has fenced brokers."""
        await until(lambda: all(self.image.brokers[one].is_fenced for one in node_ids))

    async def ask(
        self, node_id: int | None, method: Method[Request, Response], request: Request
    ) -> Response:
        """Call a node; the call is not counted, and nothing happens to it."""
        assert node_id is not None, "nobody leads"
        address = self.machines[node_id].address
        return await self.direct.call(address, method, request, timeout_ms=PATIENCE_MS)

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
    def quorum(self) -> Any:  # a QuorumController, with what is private
        """The active controller; without one, the first."""
        quorums: list[Any] = [self.machines[one].node._quorum for one in self.voters]
        return next((one for one in quorums if one.is_active), quorums[0])

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
        response = await self._command(CREATE_TOPICS, request)
        assert not response.topics[0].error.code, response.topics[0].error
        await self.settle()
        return self.topics[name]

    async def delete(self, name: str) -> None:
        """Delete a topic, and wait until all know."""
        await self._command(
            DELETE_TOPICS, DeleteTopicsRequest(names=[name], timeout_ms=PATIENCE_MS)
        )
        await self.settle()

    async def configure(self, name: str, **configs: object) -> None:
        """Set configs of a topic, keys with underscores for dots, and wait until all know."""
        request = AlterConfigsRequest(timeout_ms=PATIENCE_MS)
        resource = request.resources.add(type=ConfigResourceType.TOPIC, name=name)
        for key, value in _kafkas(configs).items():
            resource.changes.add(key=key, value=value)
        response = await self._command(ALTER_CONFIGS, request)
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
        dead = [one.node_id for one in self.machines.values() if not one.is_up]
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
        if not machine.is_up or not machine.peers.has_news.is_set():
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

    async def _command(self, method: Method[Request, Response], request: Request) -> Response:
        live = next(one for one in ADDRESSES if self.machines[one].is_up)
        return await self.ask(live, method, request)

    def _config(self, node_id: int) -> NodeConfig:
        return NodeConfig(
            node_id=node_id,
            cluster_id=CLUSTER_ID,
            listeners=one_listener(self.machines[node_id].address),
            data_dir=DATA_DIRECTORY,
            controller_voters=self.voters,
            process_roles=("controller",) if node_id in self.voters else ("broker",),
            rack=f"rack-{node_id}",
            auto_create_topics_enable=self._auto_create,
            controller=self._controller,
            groups=self._groups,
            transactions=self._transactions,
            raft=RaftConfig(
                cluster_id=CLUSTER_ID, wal_reserve_bytes=1 << 16, snapshot_interval_bytes=1 << 15
            ),
        )


ClusterT = TypeVar("ClusterT", bound=RealCluster)


async def started(
    *,
    auto_create: bool = True,
    controllers: int = 1,
    groups: GroupConfig = GROUPS,
    transactions: TransactionConfig = TRANSACTIONS,
    **controller: Any,
) -> RealCluster:
    """A cluster that serves; `controller` are fields of its `ControllerConfig`."""
    return await start_all(
        RealCluster(
            auto_create=auto_create,
            controllers=controllers,
            groups=groups,
            transactions=transactions,
            **controller,
        )
    )


async def start_all(cluster: ClusterT) -> ClusterT:
    """Start every node; they end with the loop."""
    keep_tasks_of_hosts()
    await asyncio.gather(*map(cluster.start, cluster.voters))
    await asyncio.gather(*map(cluster.start, ADDRESSES))
    return cluster


def encoded(values: Sequence[bytes], **fields: Any) -> bytes:  # fields of encode_batch
    """One batch of records without keys."""
    return encode_batch([Record(0, 1_000, None, value) for value in values], **fields)


def _kafkas(configs: Mapping[str, object]) -> dict[str, str]:
    texts = {True: "true", False: "false"}
    return {
        key.replace("_", "."): texts[value] if isinstance(value, bool) else str(value)
        for key, value in configs.items()
    }
