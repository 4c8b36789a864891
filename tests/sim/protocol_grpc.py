"""The calls of `both_protocols` over gRPC's messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tests.sim.both_protocols import (
    DELETE,
    EARLIEST,
    LATEST,
    NEWEST_TIME,
    SET,
    Beat,
    Calls,
    Committed,
    Fetched,
    Found,
    Group,
    Heartbeat,
    NewTopic,
    Produced,
)

from tidelog.simulation.cluster.cluster import SimCluster
from tidelog.v1 import admin_pb2, common_pb2, coordinator_pb2, data_pb2, methods
from tidelog.v1.methods import Method, Request, Response

CALL_MS = 30_000
_SPECS = {
    LATEST: data_pb2.ListOffsetsRequest.LATEST,
    EARLIEST: data_pb2.ListOffsetsRequest.EARLIEST,
    NEWEST_TIME: data_pb2.ListOffsetsRequest.MAX_TIMESTAMP,
}
_OPERATIONS = ("SET", "SET", "APPEND", "SUBTRACT")


class GrpcCalls(Calls):
    """Our own protocol."""

    name = "grpc"
    no_batch = "CORRUPT_MESSAGE"

    def __init__(self, cluster: SimCluster) -> None:
        super().__init__(cluster)
        self._versions: dict[str, int] = {}
        """Newest assignment that each member has taken."""

    async def ask(self, node: int, method: Method[Request, Response], request: Request) -> Response:
        """Call a broker."""
        address = self.cluster.address(node)
        return await self.cluster.client.transport.call(
            address, method, request, timeout_ms=CALL_MS
        )

    # Data

    async def produce(
        self,
        node: int,
        topic: str,
        records: bytes,
        *,
        partition: int = 0,
        acks: int = -1,
        topic_id: bytes = b"",
    ) -> Produced:
        request = data_pb2.ProduceRequest(acks=acks, timeout_ms=10_000)
        request.partitions.add(topic=topic, partition=partition, records=records, topic_id=topic_id)
        (one,) = (await self.ask(node, methods.PRODUCE, request)).partitions
        if one.error.code:
            blamed = {each.batch_index: each.message for each in one.record_errors}
            return Produced(one.error.code, blamed=blamed)
        append_ms = one.log_append_time_ms if one.HasField("log_append_time_ms") else -1
        return Produced(0, one.base_offset, append_ms)

    async def fetch(
        self,
        node: int,
        topic: str,
        offset: int,
        *,
        partition: int = 0,
        max_bytes: int = 1 << 20,
        wait_ms: int = 0,
        epoch: int | None = None,
        topic_id: bytes = b"",
    ) -> Fetched:
        request = data_pb2.FetchRequest(max_wait_ms=wait_ms, min_bytes=1, max_bytes=max_bytes)
        request.partitions.add(
            topic=topic,
            topic_id=topic_id,
            partition=partition,
            fetch_offset=offset,
            current_leader_epoch=epoch,
            partition_max_bytes=max_bytes,
        )
        (one,) = (await self.ask(node, methods.FETCH, request)).partitions
        return Fetched(one.error.code, one.high_watermark, one.log_start_offset, one.records)

    async def find(
        self,
        node: int,
        topic: str,
        timestamp: int,
        *,
        partition: int = 0,
        epoch: int | None = None,
    ) -> Found:
        request = data_pb2.ListOffsetsRequest()
        request.partitions.add(
            topic=topic,
            partition=partition,
            spec=_SPECS.get(timestamp, data_pb2.ListOffsetsRequest.TIMESTAMP),
            timestamp_ms=max(timestamp, 0),
            current_leader_epoch=epoch,
        )
        (one,) = (await self.ask(node, methods.LIST_OFFSETS, request)).partitions
        if one.error.code:
            return Found(one.error.code)
        at_ms = one.timestamp_ms if one.HasField("timestamp_ms") else -1
        if timestamp >= 0 and at_ms < 0:
            return Found(0)
        return Found(0, one.offset, at_ms)

    async def end_of_epoch(self, node: int, topic: str, epoch: int) -> tuple[int, int, int]:
        request = data_pb2.OffsetForLeaderEpochRequest()
        request.partitions.add(topic=topic, leader_epoch=epoch)
        (one,) = (await self.ask(node, methods.OFFSET_FOR_LEADER_EPOCH, request)).partitions
        return one.error.code, one.end.leader_epoch, one.end.end_offset

    async def producer_id(self, node: int) -> tuple[int, int, int]:
        request = data_pb2.InitProducerIdRequest(timeout_ms=10_000)
        answer = await self.ask(node, methods.INIT_PRODUCER_ID, request)
        return answer.error.code, answer.producer_id, answer.producer_epoch

    async def producers(self, node: int, topic: str) -> tuple[int, set[tuple[int, int, int]]]:
        request = data_pb2.DescribeProducersRequest()
        request.partitions.add(topic=topic)
        (one,) = (await self.ask(node, methods.DESCRIBE_PRODUCERS, request)).partitions
        return one.error.code, {
            (each.producer_id, each.producer_epoch, each.last_sequence) for each in one.producers
        }

    async def delete_records(self, node: int, topic: str, offset: int) -> tuple[int, int]:
        request = data_pb2.DeleteRecordsRequest(timeout_ms=10_000)
        request.partitions.add(topic=topic, offset=offset)
        (one,) = (await self.ask(node, methods.DELETE_RECORDS, request)).partitions
        return one.error.code, -1 if one.error.code else one.low_watermark

    # Groups

    async def coordinator(self, node: int, group_id: str) -> tuple[int, int]:
        request = coordinator_pb2.FindCoordinatorRequest(group_ids=[group_id])
        answer = await self.ask(node, methods.FIND_COORDINATOR, request)
        if answer.error.code:
            return answer.error.code, -1
        (one,) = answer.coordinators
        return one.error.code, -1 if one.error.code else one.broker.node_id

    async def commit(
        self,
        node: int,
        group_id: str,
        offsets: Mapping[tuple[str, int], Committed],
        *,
        member_id: str = "",
        epoch: int = -1,
    ) -> set[int]:
        request = coordinator_pb2.OffsetCommitRequest(
            group_id=group_id, member_id=member_id, member_epoch=epoch
        )
        for (topic, partition), one in offsets.items():
            part = request.topics.add(topic=topic).partitions.add(
                partition=partition, offset=one.offset, metadata=one.text
            )
            if one.epoch >= 0:
                part.leader_epoch = one.epoch
        answer = await self.ask(node, methods.OFFSET_COMMIT, request)
        return _codes(answer)

    async def committed(
        self, node: int, group_id: str, asked: Sequence[tuple[str, int]] | None = None
    ) -> tuple[int, dict[tuple[str, int], Committed]]:
        request = coordinator_pb2.OffsetFetchRequest(group_id=group_id, member_epoch=-1)
        for topic, partition in asked or ():
            request.topics.add(topic=topic, partitions=[partition])
        answer = await self.ask(node, methods.OFFSET_FETCH, request)
        return answer.error.code, {
            (topic.topic, one.partition): Committed(
                one.offset, one.leader_epoch if one.HasField("leader_epoch") else -1, one.metadata
            )
            for topic in answer.topics
            for one in topic.partitions
        }

    async def forget(self, node: int, group_id: str, topic: str) -> set[int]:
        request = coordinator_pb2.OffsetDeleteRequest(group_id=group_id)
        request.topics.add(topic=topic, partitions=[0])
        return _codes(await self.ask(node, methods.OFFSET_DELETE, request))

    async def beat(self, node: int, heartbeat: Heartbeat) -> Beat:
        request = coordinator_pb2.ConsumerGroupHeartbeatRequest(
            group_id=heartbeat.group_id,
            member_id=heartbeat.member_id,
            member_epoch=heartbeat.epoch,
            instance_id=heartbeat.instance_id,
            assignment_version=self._versions.get(heartbeat.member_id, 0),
        )
        if heartbeat.topics is not None:
            request.rebalance_timeout_ms = 60_000
            request.subscription.topics.extend(heartbeat.topics)
        if heartbeat.owned is not None:
            request.owned.SetInParent()
            for topic_id, partitions in heartbeat.owned.items():
                request.owned.topics.add(topic_id=topic_id, partitions=partitions)
        answer = await self.ask(node, methods.CONSUMER_GROUP_HEARTBEAT, request)
        if not answer.error.code:
            self._versions[answer.member_id] = answer.assignment_version
        assignment = None
        if answer.HasField("assignment"):
            assignment = {one.topic_id: list(one.partitions) for one in answer.assignment.topics}
        return Beat(answer.error.code, answer.member_id, answer.member_epoch, assignment)

    async def groups(self, node: int) -> dict[str, tuple[str, str]]:
        request = coordinator_pb2.ListGroupsRequest()
        answer = await self.ask(node, methods.LIST_GROUPS, request)
        return {one.group_id: (one.type, one.state) for one in answer.groups}

    async def describe(self, node: int, group_id: str) -> Group:
        request = coordinator_pb2.DescribeGroupsRequest(group_ids=[group_id])
        (one,) = (await self.ask(node, methods.DESCRIBE_GROUPS, request)).groups
        return Group(one.error.code, one.state, frozenset(each.member_id for each in one.members))

    async def delete_group(self, node: int, group_id: str) -> int:
        request = coordinator_pb2.DeleteGroupsRequest(group_ids=[group_id])
        return (await self.ask(node, methods.DELETE_GROUPS, request)).groups[0].error.code

    # Administration

    async def create(self, node: int, topic: NewTopic, *, is_dry: bool = False) -> int:
        new = admin_pb2.NewTopic(name=topic.name, configs=topic.configs)
        if not topic.brokers:
            new.partitions, new.replication_factor = topic.partitions, topic.replicas
        for number, ids in enumerate(topic.brokers):
            new.assignments.add(partition=number, broker_ids=ids)
        request = admin_pb2.CreateTopicsRequest(
            topics=[new], timeout_ms=10_000, validate_only=is_dry
        )
        answer = await self.ask(node, methods.CREATE_TOPICS, request)
        return answer.error.code or answer.topics[0].error.code

    async def delete(self, node: int, topic: str) -> int:
        request = admin_pb2.DeleteTopicsRequest(names=[topic], timeout_ms=10_000)
        answer = await self.ask(node, methods.DELETE_TOPICS, request)
        return answer.error.code or answer.topics[0].error.code

    async def grow(self, node: int, topic: str, count: int) -> int:
        request = admin_pb2.CreatePartitionsRequest(timeout_ms=10_000)
        request.topics.add(name=topic, count=count)
        answer = await self.ask(node, methods.CREATE_PARTITIONS, request)
        return answer.error.code or answer.topics[0].error.code

    async def alter(
        self,
        node: int,
        topic: str,
        changes: Mapping[str, tuple[int, str | None]],
        *,
        is_dry: bool = False,
    ) -> int:
        request = admin_pb2.AlterConfigsRequest(timeout_ms=10_000, validate_only=is_dry)
        resource = request.resources.add(type=admin_pb2.ConfigResourceType.TOPIC, name=topic)
        for key, (operation, value) in changes.items():
            assert operation in (SET, DELETE) or value is not None
            resource.changes.add(
                key=key,
                value=value,
                operation=admin_pb2.AlterConfigsRequest.Operation.Value(_OPERATIONS[operation]),
            )
        answer = await self.ask(node, methods.ALTER_CONFIGS, request)
        return answer.error.code or answer.resources[0].error.code

    async def configs(self, node: int, topic: str) -> tuple[int, dict[str, str]]:
        request = admin_pb2.DescribeConfigsRequest()
        request.resources.add(type=admin_pb2.ConfigResourceType.TOPIC, name=topic)
        answer = await self.ask(node, methods.DESCRIBE_CONFIGS, request)
        (one,) = answer.resources
        return answer.error.code or one.error.code, {each.name: each.value for each in one.configs}

    async def elect(self, node: int, topic: str, partition: int = 0) -> int:
        request = admin_pb2.ElectLeadersRequest(timeout_ms=10_000)
        request.topics.add(name=topic, partitions=[partition])
        answer = await self.ask(node, methods.ELECT_LEADERS, request)
        return answer.error.code or answer.partitions[0].error.code

    async def leaders(self, node: int, topic: str) -> tuple[int, list[int]]:
        request = data_pb2.MetadataRequest(topics=[topic])
        (one,) = (await self.ask(node, methods.METADATA, request)).topics
        return one.error.code, [
            each.leader_id if each.HasField("leader_id") else -1 for each in one.partitions
        ]


def _codes(answer: Any) -> set[int]:  # of offsets that were committed or deleted
    if answer.error.code != common_pb2.NONE:
        return {int(answer.error.code)}
    return {int(one.error.code) for topic in answer.topics for one in topic.partitions}
