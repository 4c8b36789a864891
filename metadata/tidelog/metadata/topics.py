"""Creating and deleting topics: what is allowed, and the records of it.

Never touches partitions of existing topics, except topics that a slice of the same plan began.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

import re
from collections.abc import Iterable

from tidelog.core.env import Random
from tidelog.core.errors import (
    InvalidPartitionsError,
    InvalidRequestError,
    InvalidTopicError,
    TidelogError,
    TopicAlreadyExistsError,
    UnknownTopicIdError,
    UnknownTopicOrPartitionError,
)
from tidelog.core.internal_topics import check_not_internal
from tidelog.log.config import log_config
from tidelog.log.internal_configs import defaults_of
from tidelog.metadata import assignments
from tidelog.metadata.config import ControllerConfig
from tidelog.metadata.context import ControllerContext
from tidelog.metadata.decision import Decision, Shows, wire_error
from tidelog.metadata.image import MetadataImage, TopicImage
from tidelog.metadata.plans import Planned, Slice, check_total, partitions_left
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
SETTLED = frozenset({common_pb2.NONE, common_pb2.TOPIC_ALREADY_EXISTS})
"""Results of a creation after which the topic exists."""


def validate_topic_name(name: str) -> None:
    """Raise INVALID_TOPIC unless `name` can be a topic, and so part of a folder's name."""
    if name in (".", "..") or not _NAME.fullmatch(name):
        raise InvalidTopicError(
            f"topic name {name[:260]!r} is not allowed: use 1 to 249 of the characters a-z, A-Z, "
            "0-9, '.', '_' and '-', and not '.' or '..' alone",
        )
    if name in _RESERVED:
        raise InvalidTopicError(f"{name!r} is the controllers' own log: choose another name")


def create_topics(
    request: CreateTopicsRequest, image: MetadataImage, context: ControllerContext
) -> Decision[CreateTopicsResponse]:
    """Decide on each topic, in the order asked; those without an error are created.

    Replicas on live brokers start in the ISR. With `validate_only` no records. A large plan is
    decided slice by slice. Errors of the whole request: `KafkaError` INVALID_REQUEST,
    INVALID_PARTITIONS where the cluster has no room for all of it, REQUEST_TIMED_OUT as of
    `Slice.grow`.
    """
    part = context.part
    _check_count(len(request.topics), limit=context.config.topics_per_request_max)
    creation = _Creation(image, context.config, context.random, part)
    response = CreateTopicsResponse()
    records: list[MetadataRecord] = []
    if part.is_first:
        creation.check_total(request.topics)
    elif part.growing_topic_id:
        records += creation.go_on(request.topics[part.results - 1])
    for topic in request.topics[part.results :]:
        if part.is_full:
            break
        try:
            if not request.internal_topic:
                check_not_internal(topic.name, "its creation")
            planned = creation.plan(topic)
            if request.internal_topic:
                # Which partition holds a group depends on their number: nobody may see a part.
                part.room = max(part.room, planned.partitions)
        except TidelogError as error:
            response.topics.add(name=topic.name, error=wire_error(error))
            continue
        result = response.topics.add(
            name=topic.name, partitions=planned.partitions, replication_factor=planned.factor
        )
        if not request.validate_only:
            result.topic_id = context.random.randbytes(TOPIC_ID_BYTES)
            records += creation.begin(topic, planned, result.topic_id)
    return part.decision(records, response, results=len(response.topics), asked=len(request.topics))


def delete_topics(
    request: DeleteTopicsRequest, image: MetadataImage, context: ControllerContext
) -> Decision[DeleteTopicsResponse]:
    """Decide on each name, in the order asked; topics that exist are deleted.

    A large plan is decided slice by slice.
    """
    part = context.part
    _check_count(len(request.names), limit=context.config.topics_per_request_max)
    if request.topic_ids and len(request.topic_ids) != len(request.names):
        raise InvalidRequestError(
            f"{len(request.topic_ids)} topic ids for {len(request.names)} names: send as many"
        )
    topic_ids = request.topic_ids or [b""] * len(request.names)
    asked = list(zip(request.names, topic_ids, strict=True))
    gone: set[str] = set()
    records = []
    response = DeleteTopicsResponse()
    for name, topic_id in asked[part.results :]:
        if part.is_full:
            break
        result = response.topics.add(name=name)
        try:
            topic = _deletable(name, topic_id, image, gone)
        except TidelogError as error:
            result.error.CopyFrom(wire_error(error))
            continue
        gone.add(name)
        part.take(len(topic.partitions))
        records.append(MetadataRecord(remove_topic=RemoveTopicRecord(topic_id=topic.topic_id)))
    return part.decision(records, response, results=len(response.topics), asked=len(request.names))


def _deletable(name: str, topic_id: bytes, image: MetadataImage, gone: set[str]) -> TopicImage:
    check_not_internal(name, "its deletion")
    topic = image.topics.get(name)
    if topic is None or name in gone:
        raise UnknownTopicOrPartitionError(f"topic {name[:260]!r} does not exist")
    if topic_id not in {b"", topic.topic_id}:
        raise UnknownTopicIdError(f"topic {name!r} has another id: it was created anew")
    return topic


def show_created(
    request: CreateTopicsRequest, reply: CreateTopicsResponse, _before: MetadataImage
) -> Shows:
    """The condition under which an image holds the topics that exist by now."""
    is_decided = not request.validate_only
    created = [one.name for one in reply.topics if is_decided and one.error.code in SETTLED]
    return lambda image: all(name in image.topics for name in created)


def show_deleted(
    _request: DeleteTopicsRequest, reply: DeleteTopicsResponse, _before: MetadataImage
) -> Shows:
    """The condition under which an image lacks the topics that were deleted."""
    gone = [one.name for one in reply.topics if one.error.code == common_pb2.NONE]
    return lambda image: not any(name in image.topics for name in gone)


def _check_count(count: int, *, limit: int) -> None:
    if count > limit:
        raise InvalidRequestError(f"{count} topics in one request: send at most {limit}")


class _Creation:
    """A slice of a request's topics, each checked against the image and those before it."""

    def __init__(
        self, image: MetadataImage, config: ControllerConfig, random: Random, part: Slice
    ) -> None:
        self._config = config
        self._random = random
        self._image = image
        self._part = part
        self._begun: set[str] = set()
        self._collisions = {_collision_key(n): n for n in image.topics if _may_collide(n)}
        self._partitions_left = partitions_left(image, partitions_max=config.partitions_max)

    def check_total(self, topics: Iterable[NewTopic]) -> None:
        """Raise INVALID_PARTITIONS where those that could be created one by one are too many."""
        asked = {one.name: self._count(one) for one in topics}
        check_total(
            (count for name, count in asked.items() if name not in self._image.topics),
            self._partitions_left,
            partitions_max=self._config.partitions_max,
        )

    def plan(self, topic: NewTopic) -> Planned:
        """Plan a topic. Raises the `TidelogError` that says why it cannot be created."""
        self._check_name(topic.name)
        planned = self._check_topic(topic)
        log_config(topic.configs, defaults_of(topic.name, self._image.cluster_configs))
        self._begun.add(topic.name)
        if _may_collide(topic.name):
            self._collisions[_collision_key(topic.name)] = topic.name
        self._partitions_left -= planned.partitions
        return planned

    def begin(self, topic: NewTopic, planned: Planned, topic_id: bytes) -> list[MetadataRecord]:
        """Begin the topic, with as many of its partitions as the slice has room for."""
        empty = TopicImage(topic.name, topic_id, (), {})
        return [
            *_topic_records(topic, topic_id),
            *self._part.grow(empty, planned, self._image, self._random),
        ]

    def go_on(self, topic: NewTopic) -> list[MetadataRecord]:
        """Add partitions to a topic that an earlier slice began."""
        return self._part.go_on(
            topic.assignments, self._image, self._random, count=self._count(topic)
        )

    def _count(self, topic: NewTopic) -> int:
        return len(topic.assignments) or topic.partitions or self._config.num_partitions

    def _check_topic(self, topic: NewTopic) -> Planned:
        count = self._count(topic)
        if topic.assignments:
            if topic.partitions or topic.replication_factor:
                raise InvalidRequestError(
                    "replicas are assigned: leave partitions and replication factor out",
                )
            self._check_partition_count(count)
            named = assignments.assign_named(topic.assignments, self._image, first_partition=0)
            return Planned(count, len(named[0]), named)
        factor = topic.replication_factor or self._config.default_replication_factor
        self._check_partition_count(count)
        assignments.check_replication_factor(factor, self._image)
        return Planned(count, factor, None)

    def _check_name(self, name: str) -> None:
        validate_topic_name(name)
        if name in self._image.topics or name in self._begun:
            raise TopicAlreadyExistsError(f"topic {name!r} already exists")
        existing = self._collisions.get(_collision_key(name)) if _may_collide(name) else None
        if existing is not None:
            raise InvalidTopicError(
                f"topic name {name!r} differs from the existing {existing!r} only in '.' and '_': "
                "choose another",
            )

    def _check_partition_count(self, partitions: int) -> None:
        if not 0 < partitions <= self._partitions_left:
            raise InvalidPartitionsError(
                f"{partitions} partitions: ask for at least 1 and at most the "
                f"{self._partitions_left} that the cluster's limit of "
                f"{self._config.partitions_max} leaves",
            )


def _may_collide(name: str) -> bool:
    return "." in name or "_" in name


def _collision_key(name: str) -> str:
    """The key of names that differ only in '.' and '_', which metrics cannot tell apart."""
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
