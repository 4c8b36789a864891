"""A cluster in a dictionary behind the client's transport port: logs, leaders, and mishaps.

It checks what a broker checks (leadership, epochs, offsets, CRC), so that a client which cheats is
caught.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tests.client.fake_partition import FakePartition, FakeTopic
from tests.client.fake_stream import FakeFetchStream, FakeStream
from tests.metadata.decision_contexts import decision_context

from tidelog.client.errors import CallFailedError, TidelogError, UnreachableError
from tidelog.metadata.config import ControllerConfig
from tidelog.metadata.configs import alter_configs, describe_configs
from tidelog.metadata.image import MetadataImage, TopicImage
from tidelog.records.records import Record, encode_batch
from tidelog.v1 import admin_pb2, common_pb2, data_pb2
from tidelog.v1.common_pb2 import Error, ErrorCode, LeaderHint
from tidelog.v1.controller_pb2 import DescribeQuorumRequest, DescribeQuorumResponse
from tidelog.v1.methods import FETCH_STREAM, PRODUCE_STREAM, Method, Request, Response

ADDRESSES = {1: "node1:9192", 2: "node2:9192", 3: "node3:9192"}
CONTROLLER = ControllerConfig(cluster_id="fake")
BOOTSTRAP = ",".join(ADDRESSES.values())


@dataclass
class Mishap:
    """What happens to the next matching call: an error before or after the work is done."""

    name: str
    error: TidelogError | None = None
    code: ErrorCode = common_pb2.NONE
    is_after_work: bool = False
    times: int = 1


class FakeCluster:
    """`calls` holds every call that reached a broker: (address, method, request)."""

    def __init__(self, *, auto_create: bool = True) -> None:
        self.alive = dict.fromkeys(ADDRESSES, True)
        self.auto_create = auto_create
        self.topics: dict[str, FakeTopic] = {}
        self.calls: list[tuple[str, str, Any]] = []  # requests of every type
        self.mishaps: deque[Mishap] = deque()
        self.before_answer: Callable[[str], None] = lambda _: None
        self.configs: dict[str, dict[str, str]] = {}
        """What is set, by topic; the cluster's under the empty name."""
        self.metadata_offset = 0
        self.append_time_ms: int | None = None
        """The timestamp every record gets, as with LogAppendTime; None: it keeps its own."""
        self.fenced: set[int] = set()
        """Nodes that are fenced though they answer; dead ones are fenced anyway."""
        self.answers_behind: dict[int, int] = {}
        """How many more DescribeCluster answers of a node do not know of the newest change."""
        self.followed: dict[bytes, Any] = {}
        """What changes were answered, by command id."""
        self.quorum: dict[int, DescribeQuorumResponse] = {}
        """What each controller says of the quorum; others serve no controller."""
        self.producer_ids = 0
        """The last one given out."""
        self.streams: list[FakeStream] = []
        self._topics_created = 0
        self._appended = asyncio.Event()

    def create(self, name: str, *, partitions: int = 1) -> FakeTopic:
        ids = list(ADDRESSES)
        self._topics_created += 1
        topic = FakeTopic(
            topic_id=self._topics_created.to_bytes(16),
            partitions=[FakePartition(ids[number % 3]) for number in range(partitions)],
        )
        self.topics[name] = topic
        return topic

    def move(self, name: str, partition: int, *, leader_id: int | None) -> None:
        """Elect another leader."""
        state = self.topics[name].partitions[partition]
        state.leader_id = leader_id
        state.epoch += 1

    def kill(self, node_id: int) -> None:
        """The node is gone; the partitions it led move to the next live one."""
        self.alive[node_id] = False
        for stream in self.streams:
            if stream.address == ADDRESSES[node_id]:
                stream.fail(CallFailedError(f"{stream.address} went away"))
        survivor = next(n for n, is_alive in self.alive.items() if is_alive)
        for name, topic in self.topics.items():
            for number, state in enumerate(topic.partitions):
                if state.leader_id == node_id:
                    self.move(name, number, leader_id=survivor)

    def requests(self, method: str) -> list[Any]:
        return [request for _, name, request in self.calls if name == method]

    def values(self, name: str) -> list[list[bytes | None]]:
        return [state.values() for state in self.topics[name].partitions]

    async def call(
        self,
        address: str,
        method: Method[Request, Response],
        request: Request,
        *,
        timeout_ms: int,
    ) -> Response:
        await asyncio.sleep(0)
        node_id = next(n for n, known in ADDRESSES.items() if known == address)
        if not self.alive[node_id]:
            raise UnreachableError(f"no broker answers at {address}")
        self.calls.append((address, method.name, request))
        mishap = self._mishap(method.name)
        if mishap is not None and not mishap.is_after_work and mishap.error is not None:
            raise mishap.error
        code = common_pb2.NONE if mishap is None else mishap.code
        handlers: dict[str, Any] = {  # one handler a request type
            "Produce": self._produce,
            "Fetch": self._fetch,
            "ListOffsets": self._list_offsets,
            "DeleteRecords": self._delete_records,
            "InitProducerId": self._init_producer_id,
            "Metadata": self._metadata,
            "CreateTopics": self._create_topics,
            "DeleteTopics": self._delete_topics,
            "CreatePartitions": self._create_partitions,
            "DescribeTopics": self._describe_topics,
            "DescribeCluster": self._describe_cluster,
            "DescribeConfigs": self._describe_configs,
            "AlterConfigs": self._alter_configs,
            "DescribeQuorum": self._describe_quorum,
        }
        command_id = getattr(request, "command_id", b"")
        response: Response = self.followed.get(command_id) or await handlers[method.name](
            node_id, request, code
        )
        if command_id and code == common_pb2.NONE:
            self.followed[command_id] = response
        self.before_answer(method.name)
        if not self.alive[node_id]:
            raise CallFailedError(f"{address} went away")
        if mishap is not None and mishap.is_after_work and mishap.error is not None:
            raise mishap.error
        return response

    async def open_stream(self, address: str, method: Method[Any, Any]) -> Any:  # a FakeStream
        """Streams of requests: each is a call of "Produce", begun in the order sent, or "Fetch"."""
        await asyncio.sleep(0)
        node_id = next(n for n, known in ADDRESSES.items() if known == address)
        if not self.alive[node_id]:
            raise UnreachableError(f"no broker answers at {address}")
        if method is FETCH_STREAM:
            return FakeFetchStream(self, address)
        assert method is PRODUCE_STREAM
        stream = FakeStream(self, address)
        self.streams.append(stream)
        return stream

    def _mishap(self, name: str) -> Mishap | None:
        for mishap in self.mishaps:
            if mishap.name == name:
                mishap.times -= 1
                if not mishap.times:
                    self.mishaps.remove(mishap)
                return mishap
        return None

    def _find(self, name: str, partition: int) -> FakePartition | None:
        topic = self.topics.get(name)
        return None if topic is None else topic.partitions[partition]

    def _is_another(self, name: str, topic_id: bytes) -> bool:
        topic = self.topics.get(name)
        return topic is not None and bool(topic_id) and topic.topic_id != topic_id

    def _refusal(
        self,
        node_id: int,
        item: Any,
        epoch: int | None,  # a partition of any request
    ) -> tuple[Error, LeaderHint | None] | None:
        if self._is_another(item.topic, item.topic_id):
            return Error(code=common_pb2.INCONSISTENT_TOPIC_ID, message="another topic"), None
        state = self._find(item.topic, item.partition)
        if state is None:
            return Error(code=common_pb2.UNKNOWN_TOPIC_OR_PARTITION, message="no such topic"), None
        if epoch is not None and epoch > state.epoch:
            return Error(code=common_pb2.UNKNOWN_LEADER_EPOCH, message="I lag"), None
        if state.leader_id != node_id or (epoch is not None and epoch < state.epoch):
            hint = None
            if state.leader_id is not None:
                hint = LeaderHint(
                    leader_id=state.leader_id,
                    leader_epoch=state.epoch,
                    address=ADDRESSES[state.leader_id],
                )
            return Error(code=common_pb2.NOT_LEADER_OR_FOLLOWER, message="not here"), hint
        return None

    async def _produce(
        self, node_id: int, request: data_pb2.ProduceRequest, code: ErrorCode
    ) -> data_pb2.ProduceResponse:
        response = data_pb2.ProduceResponse()
        for item in request.partitions:
            result = response.partitions.add(topic=item.topic, partition=item.partition)
            state = self._find(item.topic, item.partition)
            refusal = self._refusal(node_id, item, None)
            result.base_offset = -1
            if code != common_pb2.NONE:
                result.error.code = code
            elif refusal is not None:
                result.error.CopyFrom(refusal[0])
                if refusal[1] is not None:
                    result.current_leader.CopyFrom(refusal[1])
            elif state is not None:
                try:
                    offset = state.append(item.records)
                    result.base_offset = -1 if request.acks == 0 else offset
                    if self.append_time_ms is not None:
                        result.log_append_time_ms = self.append_time_ms
                except TidelogError as error:
                    result.error.code = error.code
                    result.error.message = error.message
        self._appended.set()
        self._appended.clear()
        return response

    async def _fetch(
        self, node_id: int, request: data_pb2.FetchRequest, code: ErrorCode
    ) -> data_pb2.FetchResponse:
        response = self._fetch_now(node_id, request, code)
        if not any(
            p.records or p.error.code or p.HasField("diverging_epoch") for p in response.partitions
        ):
            try:
                async with asyncio.timeout(request.max_wait_ms / 1000):
                    await self._appended.wait()
            except TimeoutError:
                return response
            return self._fetch_now(node_id, request, code)
        return response

    def _fetch_now(
        self, node_id: int, request: data_pb2.FetchRequest, code: ErrorCode
    ) -> data_pb2.FetchResponse:
        response = data_pb2.FetchResponse()
        room = request.max_bytes
        for item in request.partitions:
            result = response.partitions.add(topic=item.topic, partition=item.partition)
            state = self._find(item.topic, item.partition)
            epoch = item.current_leader_epoch if item.HasField("current_leader_epoch") else None
            refusal = self._refusal(node_id, item, epoch)
            if code != common_pb2.NONE:
                result.error.code = code
            elif refusal is not None:
                result.error.CopyFrom(refusal[0])
                if refusal[1] is not None:
                    result.current_leader.CopyFrom(refusal[1])
            elif state is not None:
                result.log_start_offset = state.start_offset
                result.high_watermark = state.end_offset
                parted = state.divergence(item)
                if parted is not None:
                    epoch, end = parted
                    result.diverging_epoch.leader_epoch = epoch
                    result.diverging_epoch.end_offset = end
                elif not state.start_offset <= item.fetch_offset <= state.end_offset:
                    result.error.code = common_pb2.OFFSET_OUT_OF_RANGE
                elif room > 0:
                    result.records = state.read(item.fetch_offset, item.partition_max_bytes)
                    room -= len(result.records)
        return response

    async def _list_offsets(
        self, node_id: int, request: data_pb2.ListOffsetsRequest, code: ErrorCode
    ) -> data_pb2.ListOffsetsResponse:
        response = data_pb2.ListOffsetsResponse()
        for item in request.partitions:
            result = response.partitions.add(topic=item.topic, partition=item.partition)
            state = self._find(item.topic, item.partition)
            refusal = self._refusal(node_id, item, None)
            if code != common_pb2.NONE:
                result.error.code = code
            elif refusal is not None:
                result.error.CopyFrom(refusal[0])
                if refusal[1] is not None:
                    result.current_leader.CopyFrom(refusal[1])
            elif state is not None:
                result.offset, result.leader_epoch = state.offset_of(item), state.epoch
        return response

    async def _delete_records(
        self, node_id: int, request: data_pb2.DeleteRecordsRequest, code: ErrorCode
    ) -> data_pb2.DeleteRecordsResponse:
        response = data_pb2.DeleteRecordsResponse()
        for item in request.partitions:
            result = response.partitions.add(topic=item.topic, partition=item.partition)
            state = self._find(item.topic, item.partition)
            refusal = self._refusal(node_id, item, None)
            if code != common_pb2.NONE:
                result.error.code = code
            elif refusal is not None:
                result.error.CopyFrom(refusal[0])
                if refusal[1] is not None:
                    result.current_leader.CopyFrom(refusal[1])
            elif state is not None:
                state.start_offset = state.end_offset if item.offset < 0 else item.offset
                result.low_watermark = state.start_offset
        return response

    async def _init_producer_id(
        self, _node_id: int, _request: data_pb2.InitProducerIdRequest, code: ErrorCode
    ) -> data_pb2.InitProducerIdResponse:
        if code != common_pb2.NONE:
            return data_pb2.InitProducerIdResponse(error=Error(code=code), producer_id=-1)
        self.producer_ids += 1
        return data_pb2.InitProducerIdResponse(producer_id=self.producer_ids)

    async def _metadata(
        self, _node_id: int, request: data_pb2.MetadataRequest, code: ErrorCode
    ) -> data_pb2.MetadataResponse:
        response = data_pb2.MetadataResponse(
            cluster_id="fake", metadata_offset=self.metadata_offset
        )
        for node_id, is_alive in self.alive.items():
            if is_alive:
                endpoint = response.brokers.add(node_id=node_id, address=ADDRESSES[node_id])
                endpoint.rack = f"rack-{node_id}"
        for name in request.topics or list(self.topics):
            topic = response.topics.add(name=name)
            if name not in self.topics and request.allow_auto_topic_creation and self.auto_create:
                self.create(name)
            if code != common_pb2.NONE or name not in self.topics:
                topic.error.code = code or common_pb2.UNKNOWN_TOPIC_OR_PARTITION
                topic.error.message = f"topic {name!r} does not exist"
                continue
            topic.topic_id = self.topics[name].topic_id
            for number, state in enumerate(self.topics[name].partitions):
                topic.partitions.add(
                    partition=number, leader_id=state.leader_id, leader_epoch=state.epoch
                )
        return response

    async def _create_topics(
        self, _node_id: int, request: admin_pb2.CreateTopicsRequest, code: ErrorCode
    ) -> admin_pb2.CreateTopicsResponse:
        response = admin_pb2.CreateTopicsResponse()
        for topic in request.topics:
            result = response.topics.add(name=topic.name, partitions=topic.partitions or 1)
            result.replication_factor = topic.replication_factor or 1
            if code != common_pb2.NONE:
                result.error.code = code
            elif topic.name in self.topics:
                result.error.code = common_pb2.TOPIC_ALREADY_EXISTS
                result.error.message = f"topic {topic.name!r} already exists"
            else:
                made = self.create(topic.name, partitions=topic.partitions or 1)
                result.topic_id = made.topic_id
        return response

    async def _delete_topics(
        self, _node_id: int, request: admin_pb2.DeleteTopicsRequest, code: ErrorCode
    ) -> admin_pb2.DeleteTopicsResponse:
        response = admin_pb2.DeleteTopicsResponse()
        for name in request.names:
            result = response.topics.add(name=name)
            if code != common_pb2.NONE:
                result.error.code = code
            elif self.topics.pop(name, None) is None:
                result.error.code = common_pb2.UNKNOWN_TOPIC_OR_PARTITION
        return response

    async def _create_partitions(
        self, _node_id: int, request: admin_pb2.CreatePartitionsRequest, code: ErrorCode
    ) -> admin_pb2.CreatePartitionsResponse:
        response = admin_pb2.CreatePartitionsResponse(metadata_offset=self.metadata_offset)
        for asked in request.topics:
            result = response.topics.add(name=asked.name)
            present = self.topics[asked.name].partitions if asked.name in self.topics else None
            if code != common_pb2.NONE or present is None:
                result.error.code = code or common_pb2.UNKNOWN_TOPIC_OR_PARTITION
            elif asked.count <= len(present):
                result.error.code = common_pb2.INVALID_PARTITIONS
                result.error.message = f"{asked.count} would be no increase"
            elif not request.validate_only:
                ids = list(ADDRESSES)
                present += [
                    FakePartition(ids[number % 3]) for number in range(len(present), asked.count)
                ]
        return response

    async def _describe_topics(
        self, _node_id: int, request: admin_pb2.DescribeTopicsRequest, _code: ErrorCode
    ) -> admin_pb2.DescribeTopicsResponse:
        response = admin_pb2.DescribeTopicsResponse()
        for name in request.names or list(self.topics):
            result = response.topics.add(name=name)
            if name not in self.topics:
                result.error.code = common_pb2.UNKNOWN_TOPIC_OR_PARTITION
                result.error.message = f"topic {name!r} does not exist"
                continue
            result.topic_id = self.topics[name].topic_id
            for number, state in enumerate(self.topics[name].partitions):
                described = result.partitions.add(
                    partition=number, leader_id=state.leader_id, leader_epoch=state.epoch
                )
                if state.leader_id is not None and self.alive[state.leader_id]:
                    described.log_start_offset = state.start_offset
                    described.high_watermark = described.log_end_offset = state.end_offset
                    described.size_bytes = sum(len(batch) for batch in state.batches)
        return response

    async def _describe_quorum(
        self, node_id: int, _request: DescribeQuorumRequest, _code: ErrorCode
    ) -> DescribeQuorumResponse:
        if node_id not in self.quorum:
            raise CallFailedError("no such service")
        return self.quorum[node_id]

    async def _describe_configs(
        self, _node_id: int, request: admin_pb2.DescribeConfigsRequest, _code: ErrorCode
    ) -> admin_pb2.DescribeConfigsResponse:
        return describe_configs(request, self._image(), config=CONTROLLER)

    async def _alter_configs(
        self, _node_id: int, request: admin_pb2.AlterConfigsRequest, code: ErrorCode
    ) -> admin_pb2.AlterConfigsResponse:
        if code != common_pb2.NONE:
            return admin_pb2.AlterConfigsResponse(error=Error(code=code))
        decision = alter_configs(request, self._image(), decision_context(CONTROLLER))
        for record in decision.records:
            configs = self.configs.setdefault(record.config.resource_name, {})
            if record.config.HasField("value"):
                configs[record.config.key] = record.config.value
            else:
                del configs[record.config.key]
        self.metadata_offset += len(decision.records)
        decision.reply.metadata_offset = self.metadata_offset
        return decision.reply

    def _image(self) -> MetadataImage:
        topics = {
            name: TopicImage(name, topic.topic_id, (), self.configs.get(name, {}))
            for name, topic in self.topics.items()
        }
        return MetadataImage(topics=topics, cluster_configs=self.configs.get("", {}))

    async def _describe_cluster(
        self, node_id: int, _request: admin_pb2.DescribeClusterRequest, _code: ErrorCode
    ) -> admin_pb2.DescribeClusterResponse:
        response = admin_pb2.DescribeClusterResponse(cluster_id="fake", controller_id=1)
        response.metadata_offset = self.metadata_offset
        if self.answers_behind.get(node_id, 0) > 0:
            self.answers_behind[node_id] -= 1
            response.metadata_offset -= 1
        for broker_id, address in ADDRESSES.items():
            is_fenced = broker_id in self.fenced or not self.alive[broker_id]
            response.brokers.add(broker_id=broker_id, address=address, fenced=is_fenced)
            response.controllers.add(node_id=broker_id, address=address)
        return response


def encoded(values: Sequence[bytes], **fields: Any) -> bytes:  # fields of encode_batch
    """One batch of records without keys."""
    return encode_batch([Record(0, 1_000, None, value) for value in values], **fields)
