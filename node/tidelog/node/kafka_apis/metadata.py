"""Metadata: brokers at the caller's listener, and topics, created on first use where allowed.

A topic is encoded once for each of its states and each form of answer: many clients ask for the
same. A broker that has no metadata yet closes the connection: the client asks another.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from typing import NamedTuple

from tidelog.broker.controller_link.controller_forwarder import ControllerForwarder
from tidelog.broker.kafka.peer import ConnectionClosedError
from tidelog.core.env import Clock
from tidelog.core.internal_topics import INTERNAL_TOPICS
from tidelog.core.turns import in_turns, listed
from tidelog.kafka.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from tidelog.kafka.messages.metadata_response import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from tidelog.kafka.wire import NO_UUID
from tidelog.metadata.image import (
    EMPTY_IMAGE,
    BrokerImage,
    MetadataImage,
    PartitionImage,
    TopicImage,
)
from tidelog.net.listeners import Listener
from tidelog.node.kafka_apis.error_codes import LISTENER_NOT_FOUND, Place, kafka_code
from tidelog.node.kafka_apis.leaving_brokers import LeavingBrokers
from tidelog.node.kafka_apis.reached import (
    NO_LEADER,
    BrokerAddress,
    broker_at,
    controller_among,
    live_brokers,
)
from tidelog.node.kafka_apis.served import ApiCall
from tidelog.v1 import common_pb2

ALL_BY_NULL_FROM = 1
"""First version in which null asks for all topics, and an empty list for none."""
LISTENER_ERROR_FROM = 6
IDS_ASKED_FROM = 12
"""First version in which a topic is asked for by its id."""
TOPIC_OPERATIONS = sum(1 << bit for bit in (3, 4, 5, 6, 7, 8, 10, 11))
"""Kafka's read, write, create, delete, alter, describe, and both of configs: all, without ACLs."""
CLUSTER_OPERATIONS = sum(1 << bit for bit in (5, 7, 8, 9, 10, 11, 12))
"""Kafka's create, alter, describe, cluster action, both of configs, idempotent write."""
_UNSAID = -(1 << 31)


class _Form(NamedTuple):
    """Properties of a request that its topics' bytes depend on."""

    listener: str
    version: int
    has_operations: bool


class _Made(NamedTuple):
    """A topic's bytes, and what they were made of."""

    topic: TopicImage
    brokers: Mapping[int, BrokerImage]
    answer: MetadataResponseTopic


class MetadataHandler:
    """Handler of Metadata."""

    def __init__(
        self,
        *,
        cluster_id: str,
        image: Callable[[], MetadataImage],
        controller_id: Callable[[], int | None],
        forwarder: ControllerForwarder,
        clock: Clock,
    ) -> None:
        self._cluster_id = cluster_id
        self._image = image
        self._controller_id = controller_id
        self._forwarder = forwarder
        self._clock = clock
        self._leaving = LeavingBrokers()
        self._made: dict[_Form, dict[str, _Made]] = {}

    async def __call__(self, request: MetadataRequest, call: ApiCall) -> MetadataResponse:
        """See `ApiHandler`."""
        if self._image() is EMPTY_IMAGE:
            raise ConnectionClosedError("this broker has reached no controller yet")
        failed: Mapping[str, common_pb2.Error] = {}
        if request.allow_auto_topic_creation:
            names = (one.name for one in request.topics or () if one.topic_id == NO_UUID)
            asked_names = dict.fromkeys(await listed(filter(None, names)))
            failed = await self._forwarder.create_missing(asked_names)
        image, listener = self._image(), call.call.listener
        form = _Form(listener.name, call.version, request.include_topic_authorized_operations)
        topics = [
            self._topic(image, asked, failed, form, listener)
            async for asked in in_turns(_asked(request, image, call.version))
        ]
        live = live_brokers(image, listener)
        return MetadataResponse(
            brokers=[MetadataResponseBroker(*one) for one in self._named(image, listener, live)],
            cluster_id=self._cluster_id,
            controller_id=controller_among(live, self._controller_id()),
            topics=topics,
            cluster_authorized_operations=CLUSTER_OPERATIONS
            if request.include_cluster_authorized_operations
            else _UNSAID,
        )

    def _named(
        self, image: MetadataImage, listener: Listener, live: Sequence[BrokerAddress]
    ) -> list[BrokerAddress]:
        leaving = self._leaving.ids(image.brokers, self._clock.monotonic_ms())
        found = (broker_at(image, broker_id, listener) for broker_id in leaving)
        return sorted([*live, *(one for one in found if one is not None)])

    def _topic(
        self,
        image: MetadataImage,
        asked: MetadataRequestTopic,
        failed: Mapping[str, common_pb2.Error],
        form: _Form,
        listener: Listener,
    ) -> MetadataResponseTopic:
        if asked.topic_id != NO_UUID or asked.name is None:
            if form.version < IDS_ASKED_FROM:
                named = MetadataRequestTopic(topic_id=asked.topic_id, name=asked.name or "")
                return _failed(common_pb2.INVALID_REQUEST, named)
            known = image.topic_by_id(asked.topic_id)
            if known is None:
                unknown = MetadataRequestTopic(topic_id=asked.topic_id, name=None)
                return _failed(common_pb2.UNKNOWN_TOPIC_ID, unknown)
            return self._known(image, known, form, listener)
        topic = image.topics.get(asked.name)
        if topic is not None:
            return self._known(image, topic, form, listener)
        error = failed.get(asked.name)
        code = common_pb2.UNKNOWN_TOPIC_OR_PARTITION if error is None else error.code
        return _failed(kafka_code(code, Place.TOPIC), asked)

    def _known(
        self, image: MetadataImage, topic: TopicImage, form: _Form, listener: Listener
    ) -> MetadataResponseTopic:
        of_form = self._made.setdefault(form, {})
        made = of_form.get(topic.name)
        if made is None or made.topic is not topic or made.brokers is not image.brokers:
            if len(of_form) > 2 * len(image.topics):
                of_form.clear()  # most are of deleted topics
            encoded = _topic(topic, image, form, listener).encode(form.version)
            answer = MetadataResponseTopic(encoded=encoded)
            made = of_form[topic.name] = _Made(topic, image.brokers, answer)
        return made.answer


def _asked(
    request: MetadataRequest, image: MetadataImage, version: int
) -> list[MetadataRequestTopic]:
    """Topics to answer, each once, which bounds the answer."""
    topics = request.topics
    if topics is None or (not topics and version < ALL_BY_NULL_FROM):
        return [MetadataRequestTopic(name=name) for name in sorted(image.topics)]
    return list({(one.topic_id, one.name): one for one in topics}.values())


def _failed(code: int, asked: MetadataRequestTopic) -> MetadataResponseTopic:
    return MetadataResponseTopic(error_code=code, name=asked.name, topic_id=asked.topic_id)


def _topic(
    topic: TopicImage, image: MetadataImage, form: _Form, listener: Listener
) -> MetadataResponseTopic:
    alive = {one for one, broker in image.brokers.items() if not broker.is_fenced}
    reached = {one.node_id for one in live_brokers(image, listener)}
    return MetadataResponseTopic(
        name=topic.name,
        topic_id=topic.topic_id,
        is_internal=topic.name in INTERNAL_TOPICS,
        partitions=[
            partition_answer(one, alive, reached, form.version) for one in topic.partitions
        ],
        topic_authorized_operations=TOPIC_OPERATIONS if form.has_operations else _UNSAID,
    )


def partition_answer(
    partition: PartitionImage, alive: Set[int], reached: Set[int], version: int
) -> MetadataResponsePartition:
    """Describe a partition to a client that reaches those brokers, of those that are alive."""
    leader_id, code = partition.leader_id, int(common_pb2.NONE)
    if leader_id not in reached:
        code = common_pb2.LEADER_NOT_AVAILABLE
        if leader_id in alive and version >= LISTENER_ERROR_FROM:
            code = LISTENER_NOT_FOUND
        leader_id = None
    return MetadataResponsePartition(
        error_code=code,
        partition_index=partition.partition,
        leader_id=NO_LEADER if leader_id is None else leader_id,
        leader_epoch=partition.leader_epoch,
        replica_nodes=list(partition.replicas),
        isr_nodes=list(partition.isr),
        offline_replicas=[
            one for one in partition.replicas if one not in alive or one in partition.offline
        ],
    )
