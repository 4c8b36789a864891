"""Adding partitions to topics (KIP-195): what is allowed, and the records of it.

Existing partitions stay as they are: records with a key may go to other partitions from now on.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections import Counter

from tidelog.core.errors import (
    InvalidPartitionsError,
    InvalidReplicaAssignmentError,
    InvalidRequestError,
    TidelogError,
    UnknownTopicOrPartitionError,
)
from tidelog.core.internal_topics import check_not_internal
from tidelog.metadata import assignments
from tidelog.metadata.config import ControllerConfig
from tidelog.metadata.context import ControllerContext
from tidelog.metadata.decision import Decision, wire_error
from tidelog.metadata.image import MetadataImage, TopicImage
from tidelog.metadata.plans import Planned, check_total, partitions_left
from tidelog.v1.admin_pb2 import CreatePartitionsRequest, CreatePartitionsResponse
from tidelog.v1.metadata_records_pb2 import MetadataRecord


def create_partitions(
    request: CreatePartitionsRequest, image: MetadataImage, context: ControllerContext
) -> Decision[CreatePartitionsResponse]:
    """Decide on each topic, in the order asked; with `validate_only` without records.

    A large plan is decided slice by slice. Errors of the whole request: `KafkaError`
    INVALID_REQUEST for too many topics at once, INVALID_PARTITIONS where the cluster has no room
    for all of it, REQUEST_TIMED_OUT as of `Slice.grow`.
    """
    config, random, part = context.config, context.random, context.part
    if len(request.topics) > config.topics_per_request_max:
        raise InvalidRequestError(
            f"{len(request.topics)} topics in one request: "
            f"send at most {config.topics_per_request_max}",
        )
    counts = Counter(asked.name for asked in request.topics)
    left = partitions_left(image, partitions_max=config.partitions_max)
    records: list[MetadataRecord] = []
    response = CreatePartitionsResponse()
    if part.is_first:
        _check_total(request, image, left, config)
    elif part.growing_topic_id:
        growing = request.topics[part.results - 1]
        records += part.go_on(growing.assignments, image, random, count=growing.count)
    for asked in request.topics[part.results :]:
        if part.is_full:
            break
        result = response.topics.add(name=asked.name)
        try:
            if counts[asked.name] > 1:
                raise InvalidRequestError("the request names this topic twice")
            topic, planned = _plan(asked, image, partitions_left=left)
        except TidelogError as error:
            result.error.CopyFrom(wire_error(error))
            continue
        left -= planned.partitions - len(topic.partitions)
        if not request.validate_only:
            records += part.grow(topic, planned, image, random)
    return part.decision(records, response, results=len(response.topics), asked=len(request.topics))


def _check_total(
    request: CreatePartitionsRequest, image: MetadataImage, left: int, config: ControllerConfig
) -> None:
    asked = {one.name: one.count for one in request.topics}
    check_total(
        (
            count - len(topic.partitions)
            for name, count in asked.items()
            if (topic := image.topics.get(name)) is not None
        ),
        left,
        partitions_max=config.partitions_max,
    )


def _plan(
    asked: CreatePartitionsRequest.Topic, image: MetadataImage, *, partitions_left: int
) -> tuple[TopicImage, Planned]:
    # A coordinator is found by the number of partitions.
    check_not_internal(asked.name, "a change of its partitions")
    topic = image.topics.get(asked.name)
    if topic is None:
        raise UnknownTopicOrPartitionError(f"topic {asked.name[:260]!r} does not exist")
    present = len(topic.partitions)
    _check_count(asked.count, present, partitions_left)
    factor = len(topic.partitions[0].replicas)
    if not asked.assignments:
        assignments.check_replication_factor(factor, image)
        return topic, Planned(asked.count, factor, None)
    if len(asked.assignments) != asked.count - present:
        raise InvalidReplicaAssignmentError(
            f"{asked.count - present} partitions are to be added, "
            f"{len(asked.assignments)} are assigned",
        )
    named = assignments.assign_named(
        asked.assignments, image, first_partition=present, factor=factor
    )
    return topic, Planned(asked.count, factor, named)


def _check_count(count: int, present: int, partitions_left: int) -> None:
    if count <= present:
        raise InvalidPartitionsError(
            f"the topic has {present} partitions: {count} would be no increase",
        )
    if count - present > partitions_left:
        raise InvalidPartitionsError(
            f"{count - present} partitions more than now: the cluster's limit leaves "
            f"{partitions_left}",
        )
