"""Adding partitions to topics (KIP-195): what is allowed, and what records it becomes.

Partitions that are there stay as they are: records with a key may go to others from now on.
"""

from __future__ import annotations

from collections import Counter

from tidelog.log.env import Random
from tidelog.log.errors import KafkaError, TidelogError
from tidelog.metadata import assignments
from tidelog.metadata.config import ControllerConfig
from tidelog.metadata.decision import Decision, wire_error
from tidelog.metadata.image import MetadataImage, TopicImage
from tidelog.metadata.placement import Assigned, next_start
from tidelog.v1 import common_pb2
from tidelog.v1.admin_pb2 import CreatePartitionsRequest, CreatePartitionsResponse
from tidelog.v1.metadata_records_pb2 import MetadataRecord


def create_partitions(
    request: CreatePartitionsRequest,
    image: MetadataImage,
    *,
    config: ControllerConfig,
    random: Random,
) -> Decision[CreatePartitionsResponse]:
    """One result per topic, in the order asked; with `validate_only` no records.

    Raises `KafkaError` INVALID_REQUEST for too many topics at once.
    """
    if len(request.topics) > config.topics_per_request_max:
        raise KafkaError(
            common_pb2.INVALID_REQUEST,
            f"{len(request.topics)} topics in one request: "
            f"send at most {config.topics_per_request_max}",
        )
    counts = Counter(asked.name for asked in request.topics)
    partitions_left = config.partitions_max - sum(1 for _ in image.partitions())
    records: list[MetadataRecord] = []
    response = CreatePartitionsResponse()
    for asked in request.topics:
        result = response.topics.add(name=asked.name)
        try:
            if counts[asked.name] > 1:
                raise KafkaError(common_pb2.INVALID_REQUEST, "the request names this topic twice")
            added = _added(asked, image, partitions_left=partitions_left, random=random)
        except TidelogError as error:
            result.error.CopyFrom(wire_error(error))
            continue
        partitions_left -= len(added)
        if not request.validate_only:
            records += added
    return Decision(records, response)


def _added(
    asked: CreatePartitionsRequest.Topic,
    image: MetadataImage,
    *,
    partitions_left: int,
    random: Random,
) -> list[MetadataRecord]:
    topic = image.topics.get(asked.name)
    if topic is None:
        raise KafkaError(
            common_pb2.UNKNOWN_TOPIC_OR_PARTITION, f"topic {asked.name[:260]!r} does not exist"
        )
    present = len(topic.partitions)
    _check_count(asked.count, present, partitions_left)
    placed = _placed(asked, topic, image, random)
    return assignments.partition_records(topic.topic_id, placed, image, first_partition=present)


def _check_count(count: int, present: int, partitions_left: int) -> None:
    if count <= present:
        raise KafkaError(
            common_pb2.INVALID_PARTITIONS,
            f"the topic has {present} partitions: {count} would be no increase",
        )
    if count - present > partitions_left:
        raise KafkaError(
            common_pb2.INVALID_PARTITIONS,
            f"{count - present} partitions more than now: the cluster's limit leaves "
            f"{partitions_left}",
        )


def _placed(
    asked: CreatePartitionsRequest.Topic, topic: TopicImage, image: MetadataImage, random: Random
) -> list[Assigned]:
    present, additional = len(topic.partitions), asked.count - len(topic.partitions)
    factor = len(topic.partitions[0].replicas)
    if asked.assignments:
        if len(asked.assignments) != additional:
            raise KafkaError(
                common_pb2.INVALID_REPLICA_ASSIGNMENT,
                f"{additional} partitions are to be added, {len(asked.assignments)} are assigned",
            )
        return assignments.named(asked.assignments, image, first_partition=present, factor=factor)
    assignments.check_replication_factor(factor, image)
    # The round goes on where the topic's last one ended, so that leaders stay evenly spread.
    start = next_start(assignments.seats(image), topic.partitions[-1].replicas[0])
    return assignments.chosen(image, random, partitions=additional, factor=factor, start=start)
