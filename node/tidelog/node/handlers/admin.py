"""Handlers of `tidelog.v1.Admin`: topics, configs and the cluster, for operators and tools."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from tidelog.broker.controller_link.controller_forwarder import ControllerForwarder
from tidelog.core.errors import KafkaError, TidelogError
from tidelog.core.turns import in_turns
from tidelog.core.wire_errors import error_message, to_wire
from tidelog.metadata import configs
from tidelog.metadata.commands import COMMANDS
from tidelog.metadata.config import ControllerConfig
from tidelog.metadata.image import MetadataImage, PartitionImage, TopicImage
from tidelog.net.call import LOCAL_CALL, Call
from tidelog.net.peers import Peers
from tidelog.node.handlers.broker import unknown_topic
from tidelog.node.handlers.controller import ControllerHandler
from tidelog.node.handlers.reached import controllers
from tidelog.v1 import common_pb2, methods
from tidelog.v1.admin_pb2 import (
    DescribeClusterRequest,
    DescribeClusterResponse,
    DescribeConfigsRequest,
    DescribeConfigsResponse,
    DescribeTopicsRequest,
    DescribeTopicsResponse,
)
from tidelog.v1.data_pb2 import ListOffsetsRequest, ListOffsetsResponse
from tidelog.v1.methods import LIST_OFFSETS, Method, Request, Response

OFFSETS_TIMEOUT_MS = 2000
# (topic, partition) -> (high watermark, log start offset, log end offset, size in bytes)
Offsets = Mapping[tuple[str, int], tuple[int, int, int, int]]


class AdminHandler:
    """Changes go to the controllers; descriptions come from the image and the leaders.

    `forwarder` is None on a node that is no broker, `controller` on one that is no controller.
    """

    def __init__(
        self,
        *,
        config: ControllerConfig,
        voters: Mapping[int, str],
        peers: Peers,
        image: Callable[[], MetadataImage],
        controller_id: Callable[[], int | None],
        forwarder: ControllerForwarder | None,
        controller: ControllerHandler | None,
        obstacles: Callable[[], list[str]] = list,
    ) -> None:
        self._config = config
        self._voters = voters
        self._peers = peers
        self._image = image
        self._controller_id = controller_id
        self._forwarder = forwarder
        self._controller = controller
        self._obstacles = obstacles

    def rpcs(self) -> Mapping[str, Callable[..., Any]]:
        """The callables of `tidelog.v1.Admin` by RPC: a command each, or a method below."""
        commands = {
            method.name: partial(self._change, method)
            for method in methods.rpcs_of("tidelog.v1.Admin")
            if method.request_type in COMMANDS
        }
        return {
            **commands,
            methods.DESCRIBE_TOPICS.name: self.describe_topics,
            methods.DESCRIBE_CLUSTER.name: self.describe_cluster,
            methods.DESCRIBE_CONFIGS.name: self.describe_configs,
        }

    async def describe_cluster(
        self, request: DescribeClusterRequest, call: Call = LOCAL_CALL
    ) -> DescribeClusterResponse:
        """See `Admin.DescribeCluster`."""
        del request
        image = self._image()
        return DescribeClusterResponse(
            cluster_id=self._config.cluster_id,
            controller_id=self._controller_id(),
            controller_epoch=image.controller_epoch,
            brokers=[
                DescribeClusterResponse.BrokerState(
                    broker_id=broker.broker_id,
                    address=broker.address_at(call.listener.name),
                    broker_epoch=broker.broker_epoch,
                    fenced=broker.is_fenced,
                    rack=broker.rack,
                )
                for _, broker in sorted(image.brokers.items())
            ],
            controllers=controllers(image, self._voters, call.listener),
            metadata_offset=image.offset,
            obstacles=self._obstacles(),
        )

    async def describe_topics(self, request: DescribeTopicsRequest) -> DescribeTopicsResponse:
        """See `Admin.DescribeTopics`."""
        image = self._image()
        # Named twice it would be answered twice, however much there is to say of it.
        names = list(dict.fromkeys(request.names)) or sorted(image.topics)
        topics = [image.topics[name] for name in names if name in image.topics]
        offsets = await self._offsets(image, topics)
        response = DescribeTopicsResponse()
        async for name in in_turns(names):
            response.topics.append(_describe(image, name, offsets))
        return response

    async def describe_configs(self, request: DescribeConfigsRequest) -> DescribeConfigsResponse:
        """See `Admin.DescribeConfigs`."""
        try:
            return configs.describe_configs(request, self._image(), config=self._config)
        except KafkaError as error:
            return DescribeConfigsResponse(error=to_wire(error))

    async def _change(self, method: Method[Request, Response], request: Any) -> Response:
        """Pass a client's change on to the controllers; decide on one that a broker passed on."""
        if self._forwarder is not None and not (request.from_broker or request.forwarded):
            return await self._forwarder.forward(method, request)
        if self._controller is not None:
            return await self._controller.decide(method, request)
        refused: Any = method.response_type  # every command's response has .error
        response: Response = refused(
            error=error_message(
                common_pb2.NOT_CONTROLLER,
                "this node is no controller: ask one that is",
            )
        )
        return response

    async def _offsets(self, image: MetadataImage, topics: list[TopicImage]) -> Offsets:
        """Ask every leader once, all at the same time; leaders that do not answer are left out."""
        by_leader: dict[int, ListOffsetsRequest] = {}
        for topic in topics:
            for partition in topic.partitions:
                if partition.leader_id is not None:
                    request = by_leader.setdefault(partition.leader_id, ListOffsetsRequest())
                    for spec in (ListOffsetsRequest.LATEST, ListOffsetsRequest.EARLIEST):
                        request.partitions.add(
                            topic=topic.name,
                            topic_id=topic.topic_id,
                            partition=partition.partition,
                            spec=spec,
                        )
        answers = await asyncio.gather(
            *(self._ask(image, leader_id, request) for leader_id, request in by_leader.items())
        )
        return {key: value for answer in answers for key, value in answer.items()}

    async def _ask(
        self, image: MetadataImage, leader_id: int, request: ListOffsetsRequest
    ) -> Offsets:
        try:
            response = await self._peers.call(
                image.brokers[leader_id].address,
                LIST_OFFSETS,
                request,
                timeout_ms=OFFSETS_TIMEOUT_MS,
            )
        except TidelogError:
            return {}
        return _pair_up(response)


def _pair_up(response: ListOffsetsResponse) -> Offsets:
    latest, earliest = response.partitions[0::2], response.partitions[1::2]
    return {
        (end.topic, end.partition): (end.offset, start.offset, end.log_end_offset, end.size_bytes)
        for end, start in zip(latest, earliest, strict=True)
        if end.error.code == start.error.code == common_pb2.NONE
    }


def _describe(image: MetadataImage, name: str, offsets: Offsets) -> DescribeTopicsResponse.Topic:
    topic = image.topics.get(name)
    if topic is None:
        return DescribeTopicsResponse.Topic(name=name, error=unknown_topic(name))
    return DescribeTopicsResponse.Topic(
        name=name,
        topic_id=topic.topic_id,
        configs=dict(topic.configs),
        partitions=[
            _partition(partition, offsets.get((name, partition.partition)))
            for partition in topic.partitions
        ],
    )


def _partition(
    partition: PartitionImage, offsets: tuple[int, int, int, int] | None
) -> DescribeTopicsResponse.Partition:
    high_watermark, log_start_offset, log_end_offset, size_bytes = offsets or (None,) * 4
    return DescribeTopicsResponse.Partition(
        partition=partition.partition,
        leader_id=partition.leader_id,
        leader_epoch=partition.leader_epoch,
        partition_epoch=partition.partition_epoch,
        replicas=partition.replicas,
        isr=partition.isr,
        high_watermark=high_watermark,
        log_start_offset=log_start_offset,
        log_end_offset=log_end_offset,
        elr=partition.elr,
        last_known_leader_id=partition.last_known_leader_id,
        damaged=partition.unhealed,
        offline=partition.offline,
        size_bytes=size_bytes,
    )
