"""Groups over frames on simulated nodes: a client at the coordinator of group `g`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from tests.sim.kafka_wire import WireClient, led_topic, listeners

from tidelog.kafka.messages.find_coordinator_request import FindCoordinatorRequest
from tidelog.kafka.messages.find_coordinator_response import Coordinator, FindCoordinatorResponse
from tidelog.kafka.messages.join_group_request import JoinGroupRequest, JoinGroupRequestProtocol
from tidelog.kafka.messages.join_group_response import JoinGroupResponse
from tidelog.kafka.messages.leave_group_request import LeaveGroupRequest, MemberIdentity
from tidelog.kafka.messages.leave_group_response import LeaveGroupResponse
from tidelog.kafka.messages.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from tidelog.kafka.messages.offset_commit_response import OffsetCommitResponse
from tidelog.kafka.messages.offset_fetch_request import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from tidelog.kafka.messages.offset_fetch_response import OffsetFetchResponse
from tidelog.kafka.messages.sync_group_request import SyncGroupRequest, SyncGroupRequestAssignment
from tidelog.kafka.messages.sync_group_response import SyncGroupResponse
from tidelog.node.config import NodeConfig
from tidelog.simulation.cluster.cluster import SimCluster, SimClusterConfig
from tidelog.v1 import common_pb2

RETRIED = {
    common_pb2.COORDINATOR_NOT_AVAILABLE,
    common_pb2.COORDINATOR_LOAD_IN_PROGRESS,
    common_pb2.NOT_COORDINATOR,
}
Fetched = dict[tuple[str, int], tuple[int, int, int, str | None]]
"""Error, offset, leader epoch and text by topic and partition."""


class World(NamedTuple):
    """A connection to the coordinator of `g`, and topic `t` of three partitions."""

    cluster: SimCluster
    client: WireClient
    coordinator_id: int
    topic_id: bytes

    async def connect(self) -> WireClient:
        """A further connection to the coordinator."""
        return await WireClient.connect(self.cluster, f"node-{self.coordinator_id}:9092")


def configured(config: NodeConfig) -> NodeConfig:
    """Small groups that wait for nobody; topics of three partitions with three replicas each."""
    return replace(
        config,
        controller=replace(config.controller, num_partitions=3, default_replication_factor=3),
        groups=replace(
            config.groups, offsets_topic_num_partitions=3, group_initial_rebalance_delay_ms=100
        ),
    )


async def coordinator_of(client: WireClient, group_id: str) -> Coordinator:
    """Look the coordinator up until there is one."""
    request = FindCoordinatorRequest(coordinator_keys=[group_id])
    while True:
        answer = await client.call(request, 6, FindCoordinatorResponse)
        (found,) = answer.coordinators
        if found.error_code not in RETRIED:
            return found
        await asyncio.sleep(0.5)


def play(
    story: Callable[[World], Coroutine[Any, Any, None]],
    configure: Callable[[NodeConfig], NodeConfig] = configured,
) -> None:
    """Run a story on three nodes, once the group's coordinator is loaded."""
    cluster = SimCluster(seed=3, config=SimClusterConfig(listeners=listeners, configure=configure))

    async def main() -> None:
        async with asyncio.timeout(600):
            first, topic, _ = await led_topic(cluster, "t")
            found = await coordinator_of(first, "g")
            address = f"{found.host}:{found.port}"
            client = await WireClient.connect(cluster, address)
            for _ in range(100):
                if (await fetched(client, 2))[0] not in RETRIED:
                    break
                await asyncio.sleep(0.1)
            await story(World(cluster, client, found.node_id, topic.topic_id))

    try:
        cluster.run(main())
    finally:
        cluster.close()


# Offsets


def commit(
    offsets: Mapping[int, int],
    *,
    group_id: str = "g",
    topic: str = "t",
    topic_id: bytes = bytes(16),
    metadata: str | None = "",
    leader_epoch: int = -1,
    **fields: Any,
) -> OffsetCommitRequest:
    """A commit of offsets by partition of one topic."""
    return OffsetCommitRequest(
        group_id=group_id,
        topics=[
            OffsetCommitRequestTopic(
                name=topic,
                topic_id=topic_id,
                partitions=[
                    OffsetCommitRequestPartition(partition, offset, leader_epoch, metadata)
                    for partition, offset in offsets.items()
                ],
            )
        ],
        **fields,
    )


async def committed(client: WireClient, request: OffsetCommitRequest, version: int) -> list[int]:
    """Commit; the error of each partition."""
    answer = await client.call(request, version, OffsetCommitResponse)
    return [one.error_code for topic in answer.topics for one in topic.partitions]


async def fetched(
    client: WireClient,
    version: int,
    partitions: Mapping[str, list[int]] | None = None,
    *,
    group_id: str = "g",
    member_id: str | None = None,
    epoch: int = -1,
) -> tuple[int, Fetched]:
    """Fetch offsets of topics by name, None: of all; the error of the whole, and each partition."""
    if version < 8:
        topics = None
        if partitions is not None:
            topics = [OffsetFetchRequestTopic(*one) for one in partitions.items()]
        request = OffsetFetchRequest(group_id=group_id, topics=topics)
        answer = await client.call(request, version, OffsetFetchResponse)
        return answer.error_code, {
            (topic.name, one.partition_index): (
                one.error_code,
                one.committed_offset,
                one.committed_leader_epoch,
                one.metadata,
            )
            for topic in answer.topics
            for one in topic.partitions
        }
    group = OffsetFetchRequestGroup(group_id, member_id, epoch, None)
    if partitions is not None:
        group.topics = [
            OffsetFetchRequestTopics(name=name, partition_indexes=numbers)
            for name, numbers in partitions.items()
        ]
    request = OffsetFetchRequest(groups=[group], require_stable=True)
    answer = await client.call(request, version, OffsetFetchResponse)
    (found,) = answer.groups
    return found.error_code, {
        (topic.name or topic.topic_id.hex(), one.partition_index): (
            one.error_code,
            one.committed_offset,
            one.committed_leader_epoch,
            one.metadata,
        )
        for topic in found.topics
        for one in topic.partitions
    }


# Members of the classic protocol


def join(
    member_id: str = "", *, names: tuple[str, ...] = ("range",), **fields: Any
) -> JoinGroupRequest:
    """A join of a consumer with a session of 10 seconds."""
    values: dict[str, Any] = {
        "group_id": "g",
        "session_timeout_ms": 10_000,
        "rebalance_timeout_ms": 20_000,
        "protocol_type": "consumer",
        "protocols": [JoinGroupRequestProtocol(name, b"of " + name.encode()) for name in names],
    }
    return JoinGroupRequest(member_id=member_id, **(values | fields))


async def joined(client: WireClient, version: int = 9, **fields: Any) -> JoinGroupResponse:
    """Join, with the id that is asked for first."""
    answer = await client.call(join(**fields), version, JoinGroupResponse)
    if answer.error_code == common_pb2.MEMBER_ID_REQUIRED:
        fields["member_id"] = answer.member_id
        answer = await client.call(join(**fields), version, JoinGroupResponse)
    return answer


def sync(
    of: JoinGroupResponse, assignments: Mapping[str, bytes] | None = None, **fields: Any
) -> SyncGroupRequest:
    """A sync of a member that has joined."""
    values: dict[str, Any] = {
        "group_id": "g",
        "generation_id": of.generation_id,
        "member_id": of.member_id,
        "protocol_type": "consumer",
        "protocol_name": "range",
        "assignments": [SyncGroupRequestAssignment(*one) for one in (assignments or {}).items()],
    }
    return SyncGroupRequest(**(values | fields))


async def synced(
    client: WireClient, of: JoinGroupResponse, assignments: Mapping[str, bytes] | None = None
) -> SyncGroupResponse:
    """Sync with the newest version."""
    return await client.call(sync(of, assignments), 5, SyncGroupResponse)


async def left(client: WireClient, *members: tuple[str, str | None]) -> LeaveGroupResponse:
    """Members leave, each by id and instance id."""
    request = LeaveGroupRequest(
        group_id="g", members=[MemberIdentity(*one, "done") for one in members]
    )
    return await client.call(request, 5, LeaveGroupResponse)
