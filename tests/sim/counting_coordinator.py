"""A toy coordinator: a count for each key, kept in the partitions of an internal topic.

As small as a coordinator can be that loses nothing: it loads what its partition's leader holds,
answers for what it has loaded in the epoch it was elected in, and answers once that is committed.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from google.protobuf.wrappers_pb2 import Int64Value, StringValue

from tidelog.broker.partition.partition_listener import Leadership, LeadershipEnd
from tidelog.broker.partition.partition_loader import LoadEnd
from tidelog.broker.replica_manager import ReplicaManager
from tidelog.core.errors import TidelogError
from tidelog.node.config import NodeConfig
from tidelog.node.server import Node
from tidelog.records.records import BatchBuilder
from tidelog.simulation.cluster.cluster import Machine, SimCluster
from tidelog.simulation.engine.network import Host
from tidelog.v1.methods import Method

TOPIC = "__counts"
SERVICE = "toy.Counter"
ADD = Method(SERVICE, "Add", StringValue, Int64Value)
COMMIT_TIMEOUT_MS = 3_000
NOT_COORDINATOR = -1
OUTCOME_UNKNOWN = -2


@dataclass(slots=True)
class Shard:
    """The counts of one partition, in one leader epoch."""

    leadership: Leadership
    counts: dict[bytes, int] = field(default_factory=dict)
    is_loaded: bool = False
    loading: asyncio.Task[None] | None = None


class CountingCoordinator:
    """The shards of the partitions that this broker leads."""

    def __init__(self, replica_manager: ReplicaManager, partitions: int) -> None:
        self._replica_manager = replica_manager
        self._partitions = partitions
        self._shards: dict[int, Shard] = {}

    # PartitionListener

    def on_election(self, leadership: Leadership) -> None:
        shard = self._shards[leadership.partition] = Shard(leadership)
        shard.loading = asyncio.create_task(self._load(shard))

    def on_high_watermark_updated(self, leadership: Leadership, high_watermark: int) -> None:
        pass

    def on_resignation(self, leadership: Leadership, end: LeadershipEnd) -> None:
        shard = self._shards.pop(leadership.partition)
        assert shard.leadership == leadership
        if shard.loading is not None:
            shard.loading.cancel()

    # The service

    async def add(self, request: StringValue) -> Int64Value:
        """Count the key once more; its new count, once that cannot be lost, or a code below 0."""
        key = request.value.encode()
        shard = self._shards.get(partition_of(key, self._partitions))
        if shard is None or not shard.is_loaded:
            return Int64Value(value=NOT_COORDINATOR)
        count = shard.counts.get(key, 0) + 1
        builder = BatchBuilder()
        builder.append(timestamp_ms=1, key=key, value=b"%d" % count)
        try:
            written = self._replica_manager.writer.append(shard.leadership, builder.build())
            shard.counts[key] = count
            await written.committed(timeout_ms=COMMIT_TIMEOUT_MS)
        except TidelogError as error:
            code = OUTCOME_UNKNOWN if error.is_outcome_unknown else NOT_COORDINATOR
            return Int64Value(value=code)
        return Int64Value(value=count)

    async def _load(self, shard: Shard) -> None:
        loader = self._replica_manager.loader
        try:
            async for one in loader.slices(shard.leadership, LoadEnd.LOG_END):
                for record in one.read_records():
                    shard.counts[record.key or b""] = int(record.value or b"")
        except TidelogError:
            return  # the resignation comes
        shard.is_loaded = True


def partition_of(key: bytes, partitions: int) -> int:
    """The partition that holds a key's count."""
    return sum(key) % partitions


class CountingCluster(SimCluster):
    """A cluster each of whose nodes offers the service."""

    partitions = 3

    def _build(self, machine: Machine, host: Host, config: NodeConfig) -> Node:
        node = super()._build(machine, host, config)
        assert node._broker is not None
        manager = node._broker.replica_manager
        coordinator = CountingCoordinator(manager, self.partitions)
        manager.listeners.add(coordinator, topic=TOPIC)
        node.services[SERVICE] = coordinator
        return node
