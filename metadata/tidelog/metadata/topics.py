"""Creating and deleting topics: what is allowed, and what records it becomes.

Never touches partitions of existing topics.
"""

from __future__ import annotations

import re

from tidelog.log.config import log_config
from tidelog.log.env import Random
from tidelog.log.errors import KafkaError, TidelogError
from tidelog.metadata import assignments
from tidelog.metadata.config import ControllerConfig
from tidelog.metadata.decision import Decision, wire_error
from tidelog.metadata.image import MetadataImage
from tidelog.metadata.placement import Assigned
from tidelog.v1 import common_pb2
from tidelog.v1.admin_pb2 import (
    CreateTopicsRequest,
    CreateTopicsResponse,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    NewTopic,
)
from tidelog.v1.metadata_records_pb2 import (
    ConfigRecord,
    MetadataRecord,
    RemoveTopicRecord,
    TopicRecord,
)

_NAME = re.compile(r"[a-zA-Z0-9._-]{1,249}")
# The controllers' own log lies beside the partitions under this name, as Kafka's does.
_RESERVED = frozenset({"__cluster_metadata"})
TOPIC_ID_BYTES = 16


def validate_topic_name(name: str) -> None:
    """Raise INVALID_TOPIC unless `name` can be a topic, and so part of a folder's name."""
    if name in (".", "..") or not _NAME.fullmatch(name):
        raise KafkaError(
            common_pb2.INVALID_TOPIC,
            f"topic name {name[:260]!r} is not allowed: use 1 to 249 of the characters a-z, A-Z, "
            "0-9, '.', '_' and '-', and not '.' or '..' alone",
        )
    if name in _RESERVED:
        raise KafkaError(
            common_pb2.INVALID_TOPIC, f"{name!r} is the controllers' own log: choose another name"
        )


def create_topics(
    request: CreateTopicsRequest, image: MetadataImage, *, config: ControllerConfig, random: Random
) -> Decision[CreateTopicsResponse]:
    """One result per topic, in the order asked; those without an error are created.

    Replicas on live brokers start in the ISR. With `validate_only` no records.
    """
    _check_count(len(request.topics), limit=config.topics_per_request_max)
    creation = _Creation(image, config, random)
    records: list[MetadataRecord] = []
    results = []
    for topic in request.topics:
        try:
            result, its_records = creation.create(topic)
        except TidelogError as error:
            result = CreateTopicsResponse.Topic(name=topic.name, error=wire_error(error))
            its_records = []
        if request.validate_only:
            result.topic_id = b""
            its_records = []
        results.append(result)
        records += its_records
    return Decision(records, CreateTopicsResponse(topics=results))


def delete_topics(
    request: DeleteTopicsRequest, image: MetadataImage, *, config: ControllerConfig
) -> Decision[DeleteTopicsResponse]:
    """One result per name, in the order asked; those that exist are deleted."""
    _check_count(len(request.names), limit=config.topics_per_request_max)
    remaining = dict(image.topics)
    records = []
    results = []
    for name in request.names:
        result = DeleteTopicsResponse.Topic(name=name)
        topic = remaining.pop(name, None)
        if topic is None:
            result.error.code = common_pb2.UNKNOWN_TOPIC_OR_PARTITION
            result.error.message = f"topic {name[:260]!r} does not exist"
        else:
            records.append(MetadataRecord(remove_topic=RemoveTopicRecord(topic_id=topic.topic_id)))
        results.append(result)
    return Decision(records, DeleteTopicsResponse(topics=results))


def _check_count(count: int, *, limit: int) -> None:
    if count > limit:
        raise KafkaError(
            common_pb2.INVALID_REQUEST, f"{count} topics in one request: send at most {limit}"
        )


class _Creation:
    """One request's topics, each checked against the image and those before it."""

    def __init__(self, image: MetadataImage, config: ControllerConfig, random: Random) -> None:
        self._config = config
        self._random = random
        self._image = image
        self._default_configs = image.cluster_configs
        self._names = {_collision_key(name): name for name in image.topics}
        self._partitions_left = config.partitions_max - sum(1 for _ in image.partitions())

    def create(self, topic: NewTopic) -> tuple[CreateTopicsResponse.Topic, list[MetadataRecord]]:
        """Raises the `TidelogError` that says why the topic cannot be."""
        self._check_name(topic.name)
        placed = self._placed(topic)
        log_config(topic.configs, self._default_configs)
        topic_id = self._random.randbytes(TOPIC_ID_BYTES)
        self._names[_collision_key(topic.name)] = topic.name
        self._partitions_left -= len(placed)
        result = CreateTopicsResponse.Topic(
            name=topic.name,
            topic_id=topic_id,
            partitions=len(placed),
            replication_factor=len(placed[0]),
        )
        records = _topic_records(topic, topic_id)
        records += assignments.partition_records(topic_id, placed, self._image)
        return result, records

    def _placed(self, topic: NewTopic) -> list[Assigned]:
        if topic.assignments:
            if topic.partitions or topic.replication_factor:
                raise KafkaError(
                    common_pb2.INVALID_REQUEST,
                    "replicas are assigned: leave partitions and replication factor out",
                )
            self._check_partition_count(len(topic.assignments))
            return assignments.named(topic.assignments, self._image, first_partition=0)
        partitions = topic.partitions or self._config.num_partitions
        factor = topic.replication_factor or self._config.default_replication_factor
        self._check_partition_count(partitions)
        assignments.check_replication_factor(factor, self._image)
        return assignments.chosen(self._image, self._random, partitions=partitions, factor=factor)

    def _check_name(self, name: str) -> None:
        validate_topic_name(name)
        existing = self._names.get(_collision_key(name))
        if existing == name:
            raise KafkaError(common_pb2.TOPIC_ALREADY_EXISTS, f"topic {name!r} already exists")
        if existing is not None:
            raise KafkaError(
                common_pb2.INVALID_TOPIC,
                f"topic name {name!r} differs from the existing {existing!r} only in '.' and '_': "
                "choose another",
            )

    def _check_partition_count(self, partitions: int) -> None:
        if not 0 < partitions <= self._partitions_left:
            raise KafkaError(
                common_pb2.INVALID_PARTITIONS,
                f"{partitions} partitions: ask for at least 1 and at most the "
                f"{self._partitions_left} that the cluster's limit of "
                f"{self._config.partitions_max} leaves",
            )


def _collision_key(name: str) -> str:
    """Names with the same key would be told apart by '.' and '_' alone, which metrics cannot."""
    return name.replace(".", "_")


def _topic_records(topic: NewTopic, topic_id: bytes) -> list[MetadataRecord]:
    records = [MetadataRecord(topic=TopicRecord(name=topic.name, topic_id=topic_id))]
    for key in sorted(topic.configs):
        config = ConfigRecord(
            resource_type=ConfigRecord.TOPIC,
            resource_name=topic.name,
            key=key,
            value=topic.configs[key],
        )
        records.append(MetadataRecord(config=config))
    return records
