"""The calls of `both_protocols` in Kafka's messages, of the highest versions served."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tests.sim.both_protocols import (
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
from tests.sim.kafka_groups import commit as commit_request
from tests.sim.kafka_groups import fetched as fetched_offsets
from tests.sim.kafka_wire import WireClient

from tidelog.kafka.apis import response_class
from tidelog.kafka.message import Message
from tidelog.kafka.messages import consumer_group_heartbeat_request as heartbeats
from tidelog.kafka.messages import create_partitions_request as create_partitions
from tidelog.kafka.messages import create_topics_request as create_topics
from tidelog.kafka.messages import delete_records_request as delete_records
from tidelog.kafka.messages import delete_topics_request as delete_topics
from tidelog.kafka.messages import describe_configs_request as describe_configs
from tidelog.kafka.messages import describe_producers_request as describe_producers
from tidelog.kafka.messages import elect_leaders_request as elect_leaders
from tidelog.kafka.messages import fetch_request as fetches
from tidelog.kafka.messages import incremental_alter_configs_request as alter_configs
from tidelog.kafka.messages import list_offsets_request as list_offsets
from tidelog.kafka.messages import offset_delete_request as offset_delete
from tidelog.kafka.messages import offset_for_leader_epoch_request as leader_epochs
from tidelog.kafka.messages import produce_request as produces
from tidelog.kafka.messages.consumer_group_describe_request import ConsumerGroupDescribeRequest
from tidelog.kafka.messages.delete_groups_request import DeleteGroupsRequest
from tidelog.kafka.messages.find_coordinator_request import FindCoordinatorRequest
from tidelog.kafka.messages.init_producer_id_request import InitProducerIdRequest
from tidelog.kafka.messages.list_groups_request import ListGroupsRequest
from tidelog.kafka.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from tidelog.simulation.cluster.cluster import SimCluster

TIMEOUT_MS = 10_000
TOPIC = 2
"""Type of a config resource."""


class KafkaCalls(Calls):
    """Kafka's protocol: one connection to each broker."""

    name = "kafka"
    no_batch = "INVALID_RECORD"

    def __init__(self, cluster: SimCluster) -> None:
        super().__init__(cluster)
        self._clients: dict[int, WireClient] = {}

    async def client(self, node: int) -> WireClient:
        """The connection to a broker."""
        client = self._clients.get(node)
        if client is None or client.end.done():
            client = await WireClient.connect(self.cluster, f"node-{node}:9092")
            self._clients[node] = client
        return client

    async def ask(self, node: int, request: Message, version: int) -> Any:  # the API's response
        """Send a request to a broker and return the whole answer."""
        client = await self.client(node)
        return await client.call(request, version, response_class(request.API_KEY))

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
        part = produces.PartitionProduceData(index=partition, records=records)
        data = produces.TopicProduceData(
            name=topic, topic_id=topic_id or bytes(16), partition_data=[part]
        )
        request = produces.ProduceRequest(acks=acks, timeout_ms=TIMEOUT_MS, topic_data=[data])
        answer = await self.ask(node, request, 13 if topic_id else 12)
        (one,) = answer.responses[0].partition_responses
        if one.error_code:
            blamed = {
                each.batch_index: each.batch_index_error_message for each in one.record_errors
            }
            return Produced(one.error_code, blamed=blamed)
        return Produced(0, one.base_offset, one.log_append_time_ms)

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
        part = fetches.FetchPartition(
            partition=partition,
            fetch_offset=offset,
            current_leader_epoch=-1 if epoch is None else epoch,
            partition_max_bytes=max_bytes,
        )
        asked = fetches.FetchTopic(topic=topic, topic_id=topic_id or bytes(16), partitions=[part])
        request = fetches.FetchRequest(
            max_wait_ms=wait_ms, min_bytes=1, max_bytes=max_bytes, topics=[asked]
        )
        answer = await self.ask(node, request, 18 if topic_id else 12)
        (one,) = answer.responses[0].partitions
        records = bytes(one.records or b"")
        return Fetched(one.error_code, one.high_watermark, one.log_start_offset, records)

    async def find(
        self,
        node: int,
        topic: str,
        timestamp: int,
        *,
        partition: int = 0,
        epoch: int | None = None,
    ) -> Found:
        part = list_offsets.ListOffsetsPartition(
            partition_index=partition,
            timestamp=timestamp,
            current_leader_epoch=-1 if epoch is None else epoch,
        )
        asked = list_offsets.ListOffsetsTopic(name=topic, partitions=[part])
        request = list_offsets.ListOffsetsRequest(replica_id=-1, topics=[asked])
        (one,) = (await self.ask(node, request, 11)).topics[0].partitions
        return Found(one.error_code, one.offset, one.timestamp)

    async def end_of_epoch(self, node: int, topic: str, epoch: int) -> tuple[int, int, int]:
        part = leader_epochs.OffsetForLeaderPartition(leader_epoch=epoch)
        asked = leader_epochs.OffsetForLeaderTopic(topic=topic, partitions=[part])
        request = leader_epochs.OffsetForLeaderEpochRequest(topics=[asked])
        (one,) = (await self.ask(node, request, 4)).topics[0].partitions
        return one.error_code, one.leader_epoch, one.end_offset

    async def producer_id(self, node: int) -> tuple[int, int, int]:
        answer = await self.ask(node, InitProducerIdRequest(transactional_id=None), 5)
        return answer.error_code, answer.producer_id, answer.producer_epoch

    async def producers(self, node: int, topic: str) -> tuple[int, set[tuple[int, int, int]]]:
        asked = describe_producers.TopicRequest(topic, [0])
        request = describe_producers.DescribeProducersRequest([asked])
        (one,) = (await self.ask(node, request, 0)).topics[0].partitions
        return one.error_code, {
            (each.producer_id, each.producer_epoch, each.last_sequence)
            for each in one.active_producers
        }

    async def delete_records(self, node: int, topic: str, offset: int) -> tuple[int, int]:
        part = delete_records.DeleteRecordsPartition(0, offset)
        asked = delete_records.DeleteRecordsTopic(topic, [part])
        request = delete_records.DeleteRecordsRequest([asked], TIMEOUT_MS)
        (one,) = (await self.ask(node, request, 2)).topics[0].partitions
        return one.error_code, one.low_watermark

    # Groups

    async def coordinator(self, node: int, group_id: str) -> tuple[int, int]:
        answer = await self.ask(node, FindCoordinatorRequest(coordinator_keys=[group_id]), 6)
        (one,) = answer.coordinators
        return one.error_code, one.node_id

    async def commit(
        self,
        node: int,
        group_id: str,
        offsets: Mapping[tuple[str, int], Committed],
        *,
        member_id: str = "",
        epoch: int = -1,
    ) -> set[int]:
        codes = set()
        for (topic, partition), one in offsets.items():
            request = commit_request(
                {partition: one.offset},
                group_id=group_id,
                topic=topic,
                metadata=one.text,
                leader_epoch=one.epoch,
                member_id=member_id,
                generation_id_or_member_epoch=epoch,
            )
            answer = await self.ask(node, request, 9)
            codes |= {each.error_code for each in answer.topics[0].partitions}
        return codes

    async def committed(
        self, node: int, group_id: str, asked: Sequence[tuple[str, int]] | None = None
    ) -> tuple[int, dict[tuple[str, int], Committed]]:
        names: dict[str, list[int]] | None = None
        if asked is not None:
            names = {}
            for topic, partition in asked:
                names.setdefault(topic, []).append(partition)
        client = await self.client(node)
        code, found = await fetched_offsets(client, 9, names, group_id=group_id)
        return code, {key: Committed(one[1], one[2], one[3] or "") for key, one in found.items()}

    async def forget(self, node: int, group_id: str, topic: str) -> set[int]:
        part = offset_delete.OffsetDeleteRequestPartition(0)
        asked = offset_delete.OffsetDeleteRequestTopic(topic, [part])
        answer = await self.ask(node, offset_delete.OffsetDeleteRequest(group_id, [asked]), 0)
        if answer.error_code:
            return {answer.error_code}
        return {one.error_code for one in answer.topics[0].partitions}

    async def beat(self, node: int, heartbeat: Heartbeat) -> Beat:
        owned = None
        if heartbeat.owned is not None:
            owned = [
                heartbeats.TopicPartitions(topic_id, list(partitions))
                for topic_id, partitions in heartbeat.owned.items()
            ]
        topics = None if heartbeat.topics is None else list(heartbeat.topics)
        request = heartbeats.ConsumerGroupHeartbeatRequest(
            group_id=heartbeat.group_id,
            member_id=heartbeat.member_id,
            member_epoch=heartbeat.epoch,
            instance_id=heartbeat.instance_id,
            rebalance_timeout_ms=-1 if topics is None else 60_000,
            subscribed_topic_names=topics,
            topic_partitions=owned,
        )
        answer = await self.ask(node, request, 1)
        assignment = None
        if answer.assignment is not None:
            assignment = {
                one.topic_id: list(one.partitions) for one in answer.assignment.topic_partitions
            }
        return Beat(answer.error_code, answer.member_id or "", answer.member_epoch, assignment)

    async def groups(self, node: int) -> dict[str, tuple[str, str]]:
        answer = await self.ask(node, ListGroupsRequest(), 5)
        return {one.group_id: (one.group_type, one.group_state) for one in answer.groups}

    async def describe(self, node: int, group_id: str) -> Group:
        answer = await self.ask(node, ConsumerGroupDescribeRequest([group_id]), 1)
        (one,) = answer.groups
        members = frozenset(each.member_id for each in one.members)
        return Group(one.error_code, one.group_state, members)

    async def delete_group(self, node: int, group_id: str) -> int:
        answer = await self.ask(node, DeleteGroupsRequest([group_id]), 2)
        return int(answer.results[0].error_code)

    # Administration

    async def create(self, node: int, topic: NewTopic, *, is_dry: bool = False) -> int:
        new = create_topics.CreatableTopic(topic.name, -1, -1)
        if not topic.brokers:
            new.num_partitions, new.replication_factor = topic.partitions, topic.replicas
        new.assignments = [
            create_topics.CreatableReplicaAssignment(number, list(ids))
            for number, ids in enumerate(topic.brokers)
        ]
        new.configs = [create_topics.CreatableTopicConfig(*one) for one in topic.configs.items()]
        request = create_topics.CreateTopicsRequest([new], TIMEOUT_MS, is_dry)
        return int((await self.ask(node, request, 7)).topics[0].error_code)

    async def delete(self, node: int, topic: str) -> int:
        asked = delete_topics.DeleteTopicState(topic)
        request = delete_topics.DeleteTopicsRequest([asked], timeout_ms=TIMEOUT_MS)
        return int((await self.ask(node, request, 6)).responses[0].error_code)

    async def grow(self, node: int, topic: str, count: int) -> int:
        asked = create_partitions.CreatePartitionsTopic(topic, count, None)
        request = create_partitions.CreatePartitionsRequest([asked], TIMEOUT_MS)
        return int((await self.ask(node, request, 3)).results[0].error_code)

    async def alter(
        self,
        node: int,
        topic: str,
        changes: Mapping[str, tuple[int, str | None]],
        *,
        is_dry: bool = False,
    ) -> int:
        configs = [
            alter_configs.AlterableConfig(key, operation, value)
            for key, (operation, value) in changes.items()
        ]
        resource = alter_configs.AlterConfigsResource(TOPIC, topic, configs)
        request = alter_configs.IncrementalAlterConfigsRequest([resource], is_dry)
        return int((await self.ask(node, request, 1)).responses[0].error_code)

    async def configs(self, node: int, topic: str) -> tuple[int, dict[str, str]]:
        resource = describe_configs.DescribeConfigsResource(TOPIC, topic, None)
        answer = await self.ask(node, describe_configs.DescribeConfigsRequest([resource]), 4)
        (one,) = answer.results
        return one.error_code, {each.name: each.value or "" for each in one.configs}

    async def elect(self, node: int, topic: str, partition: int = 0) -> int:
        asked = elect_leaders.TopicPartitions(topic, [partition])
        request = elect_leaders.ElectLeadersRequest(0, [asked], TIMEOUT_MS)
        answer = await self.ask(node, request, 2)
        if answer.error_code:
            return int(answer.error_code)
        return int(answer.replica_election_results[0].partition_result[0].error_code)

    async def leaders(self, node: int, topic: str) -> tuple[int, list[int]]:
        request = MetadataRequest(
            topics=[MetadataRequestTopic(name=topic)], allow_auto_topic_creation=False
        )
        (one,) = (await self.ask(node, request, 13)).topics
        return one.error_code, [each.leader_id for each in one.partitions]
