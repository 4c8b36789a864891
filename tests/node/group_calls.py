"""Calls of groups on real nodes, as a tool or a hand-made member makes them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from tests.client.patience import PATIENCE_MS, POLL_S, until
from tests.client.real_cluster import ADDRESSES, RealCluster

from tidelog.core.errors import code_name
from tidelog.v1.common_pb2 import ErrorCode
from tidelog.v1.coordinator_pb2 import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    DeleteGroupsRequest,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
    FindCoordinatorRequest,
    ListGroupsRequest,
    OffsetCommitRequest,
    OffsetFetchRequest,
)
from tidelog.v1.methods import (
    CONSUMER_GROUP_HEARTBEAT,
    DELETE_GROUPS,
    DESCRIBE_GROUPS,
    FIND_COORDINATOR,
    GROUP_STREAM,
    LIST_GROUPS,
    OFFSET_COMMIT,
    OFFSET_FETCH,
    Method,
)

_RETRIED = frozenset(
    {
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
    }
)
Numbers = Sequence[int]


class GroupCalls:
    """Asks a group's coordinator, wherever it is."""

    def __init__(self, cluster: RealCluster, group_id: str = "g") -> None:
        self.cluster = cluster
        self.group_id = group_id

    async def coordinator(self) -> int:
        """Broker id of the coordinator, once there is one."""
        live = next(one for one in ADDRESSES if self.cluster.machines[one].is_up)
        async with asyncio.timeout(PATIENCE_MS / 1000):
            while True:
                request = FindCoordinatorRequest(group_ids=[self.group_id])
                found = await self.cluster.ask(live, FIND_COORDINATOR, request)
                if not found.error.code and not found.coordinators[0].error.code:
                    node_id: int = found.coordinators[0].broker.node_id
                    if self.cluster.machines[node_id].is_up:
                        return node_id
                await asyncio.sleep(POLL_S)

    async def ask(self, method: Method[Any, Any], request: Any) -> Any:
        """Ask the coordinator until it is one that has loaded the group."""
        async with asyncio.timeout(PATIENCE_MS / 1000):
            while True:
                response = await self.cluster.ask(await self.coordinator(), method, request)
                result = response
                if method in (DESCRIBE_GROUPS, DELETE_GROUPS):
                    result = response.groups[0]
                if result.error.code not in _RETRIED:
                    return response
                await asyncio.sleep(POLL_S)

    # Offsets

    async def commit(
        self,
        offsets: Mapping[tuple[str, int], int],
        *,
        member_id: str = "",
        epoch: int = -1,
        **fields: Any,
    ) -> list[str]:
        """Commit offsets; the name of the whole request's error, or of each partition's."""
        request = OffsetCommitRequest(
            group_id=self.group_id, member_id=member_id, member_epoch=epoch
        )
        for (topic, partition), offset in offsets.items():
            request.topics.add(
                topic=topic,
                partitions=[
                    OffsetCommitRequest.Partition(partition=partition, offset=offset, **fields)
                ],
            )
        response = await self.ask(OFFSET_COMMIT, request)
        if response.error.code:
            return [code_name(response.error.code)]
        return [code_name(one.error.code) for topic in response.topics for one in topic.partitions]

    async def committed(self) -> dict[tuple[str, int], int]:
        """Every committed offset, all pages."""
        found: dict[tuple[str, int], int] = {}
        request = OffsetFetchRequest(group_id=self.group_id, member_epoch=-1)
        while True:
            response = await self.ask(OFFSET_FETCH, request)
            assert not response.error.code, response.error
            for topic in response.topics:
                for one in topic.partitions:
                    found[topic.topic, one.partition] = one.offset
            if not response.has_more:
                return found
            request.after_topic, request.after_partition = list(found)[-1]

    # Groups

    async def describe(self) -> DescribeGroupsResponse.Group:
        """Describe the group."""
        request = DescribeGroupsRequest(group_ids=[self.group_id])
        response = await self.ask(DESCRIBE_GROUPS, request)
        described: DescribeGroupsResponse.Group = response.groups[0]
        return described

    async def delete(self) -> str:
        """Delete the group; the error's name."""
        response = await self.ask(DELETE_GROUPS, DeleteGroupsRequest(group_ids=[self.group_id]))
        return code_name(response.groups[0].error.code)

    async def listed(self) -> dict[str, str]:
        """States of all groups of all brokers, once all are loaded."""
        found: dict[str, str] = {}
        for node_id in ADDRESSES:
            if self.cluster.machines[node_id].is_up:
                response = await self.cluster.ask(node_id, LIST_GROUPS, ListGroupsRequest())
                found |= {one.group_id: one.state for one in response.groups}
        return found

    async def until_stable(self, members: int) -> DescribeGroupsResponse.Group:
        """Wait until the group is stable with so many members."""
        async with asyncio.timeout(PATIENCE_MS / 1000):
            while True:
                group = await self.describe()
                if group.state == "Stable" and len(group.members) == members:
                    return group
                await asyncio.sleep(0.01)


class HandMember:
    """A member by hand, which does as it is asked, over a stream or by single calls."""

    def __init__(self, calls: GroupCalls, member_id: str, *topics: str) -> None:
        self.calls = calls
        self.member_id = member_id
        self.topics = topics
        self.pattern = ""
        self.assignor = ""
        self.epoch = 0
        self.version = 0
        self.sequence = 0
        self.owned: set[tuple[bytes, int]] = set()
        self.instance_id: str | None = None
        self.rebalance_timeout_ms = 60_000
        self.is_stubborn = False
        """Whether it keeps what it has, and does not answer."""
        self.errors: list[str] = []
        self._stream: Any = None
        self._task: asyncio.Task[None] | None = None

    def request(self, epoch: int | None = None) -> ConsumerGroupHeartbeatRequest:
        """A heartbeat with every field."""
        self.sequence += 1
        request = ConsumerGroupHeartbeatRequest(
            group_id=self.calls.group_id,
            member_id=self.member_id,
            member_epoch=self.epoch if epoch is None else epoch,
            instance_id=self.instance_id,
            rebalance_timeout_ms=self.rebalance_timeout_ms,
            sequence=self.sequence,
            assignment_version=self.version,
            client_id="hand",
            assignor=self.assignor,
        )
        request.subscription.topics.extend(self.topics)
        request.subscription.pattern = self.pattern
        request.owned.SetInParent()
        for topic_id, number in sorted(self.owned):
            request.owned.topics.add(topic_id=topic_id, partitions=[number])
        return request

    async def ask(self, epoch: int | None = None) -> str:
        """Make a single call; the error's name."""
        request = self.request(epoch)
        response = await self.calls.ask(CONSUMER_GROUP_HEARTBEAT, request)
        self.take(response)
        return code_name(response.error.code)

    def take(self, response: ConsumerGroupHeartbeatResponse) -> bool:
        """Do as asked; True if the assignment is another one."""
        if response.error.code:
            self.errors.append(code_name(response.error.code))
            return False
        self.epoch, self.version = response.member_epoch, response.assignment_version
        before = set(self.owned)
        if response.HasField("assignment"):
            self.owned = {
                (topic.topic_id, number)
                for topic in response.assignment.topics
                for number in topic.partitions
            }
        return before != self.owned

    async def connect(self) -> None:
        """Open a stream to the coordinator, join by it, and do as it asks from then on."""
        await self.calls.describe()  # it is loaded then
        address = ADDRESSES[await self.calls.coordinator()]
        self._stream = await self.calls.cluster.direct.open_stream(address, GROUP_STREAM)
        await self._stream.send(self.request())
        self._task = asyncio.create_task(self._follow())

    async def _follow(self) -> None:
        while True:
            if self.take(await self._stream.receive()) and not self.is_stubborn:
                await self._stream.send(self.request())

    def disconnect(self) -> None:
        """Break the stream."""
        assert self._task is not None
        self._task.cancel()
        self._stream.close()

    async def until_owned(self, count: int) -> None:
        """Wait until the member owns so many partitions."""
        await until(lambda: len(self.owned) == count)
