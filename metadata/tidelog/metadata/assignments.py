"""Replicas of new partitions, chosen by `placement` or named in the request, and their records.

Kafka's rules for named replicas: partitions are numbered on without gaps, each has the same number
of replicas, on registered brokers, none twice, one of them alive. Live replicas start in the ISR,
and the first of them leads.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tidelog.core.env import Random
from tidelog.core.errors import (
    InvalidReplicaAssignmentError,
    InvalidReplicationFactorError,
    KafkaError,
)
from tidelog.metadata.image import MetadataImage
from tidelog.metadata.placement import Assigned, BrokerSlot, place_replicas
from tidelog.v1.admin_pb2 import ReplicaAssignment
from tidelog.v1.metadata_records_pb2 import MetadataRecord, PartitionRecord


def broker_slots(image: MetadataImage) -> list[BrokerSlot]:
    """Every registered broker, as `placement` wants it."""
    return [
        BrokerSlot(broker.broker_id, broker.rack, not broker.is_fenced)
        for broker in image.brokers.values()
    ]


def check_replication_factor(factor: int, image: MetadataImage) -> None:
    """Raise INVALID_REPLICATION_FACTOR unless as many brokers are registered and one is alive."""
    if not 0 < factor <= len(image.brokers):
        raise InvalidReplicationFactorError(
            f"replication factor {factor}: it must be at least 1 and at most the number of "
            f"registered brokers, which is {len(image.brokers)}",
        )
    if not image.live_brokers():
        raise InvalidReplicationFactorError("all brokers are fenced")


def choose_replicas(
    image: MetadataImage, random: Random, *, partitions: int, factor: int, start: int | None = None
) -> list[Assigned]:
    """Choose replicas by `placement`; without `start` the round begins at a random broker."""
    every, live = broker_slots(image), len(image.live_brokers())
    return place_replicas(
        every,
        partitions=partitions,
        replication_factor=factor,
        start=random.randrange(0, live) if start is None else start,
        shift=random.randrange(0, live),
    )


def assign_named(
    assignments: Sequence[ReplicaAssignment],
    image: MetadataImage,
    *,
    first_partition: int,
    factor: int | None = None,
) -> list[Assigned]:
    """Check and return the named replicas; `factor` is that of the topic's present partitions.

    Raises `KafkaError` INVALID_REPLICA_ASSIGNMENT.
    """
    by_number = sorted(assignments, key=lambda one: one.partition)
    expected = list(range(first_partition, first_partition + len(assignments)))
    if [one.partition for one in by_number] != expected:
        raise _assignment_error(
            f"the partitions must be numbered from {first_partition} on without gaps"
        )
    placed = [tuple(one.broker_ids) for one in by_number]
    factor = len(placed[0]) if factor is None else factor
    for number, replicas in zip(expected, placed, strict=True):
        _check(number, replicas, image, factor)
    return placed


def partition_records(
    topic_id: bytes, placed: Iterable[Assigned], image: MetadataImage, *, first_partition: int = 0
) -> list[MetadataRecord]:
    """The records of new partitions; a replica of each is alive."""
    return [
        _record(topic_id, number, assigned, image)
        for number, assigned in enumerate(placed, start=first_partition)
    ]


def _record(
    topic_id: bytes, number: int, assigned: Assigned, image: MetadataImage
) -> MetadataRecord:
    isr = [one for one in assigned if image.is_alive(one)]
    return MetadataRecord(
        partition=PartitionRecord(
            topic_id=topic_id,
            partition=number,
            replicas=assigned,
            isr=isr,
            leader_id=isr[0],
            leader_epoch=0,
        )
    )


def _check(number: int, replicas: Assigned, image: MetadataImage, factor: int) -> None:
    if not replicas:
        raise _assignment_error(f"partition {number} has no replica")
    if len(set(replicas)) != len(replicas):
        raise _assignment_error(
            f"partition {number} has two replicas on one broker: {list(replicas)}"
        )
    unknown = sorted(set(replicas) - image.brokers.keys())
    if unknown:
        raise _assignment_error(
            f"partition {number} names brokers that are not registered: {unknown}"
        )
    if len(replicas) != factor:
        raise _assignment_error(
            f"partition {number} has {len(replicas)} replicas, the others have {factor}"
        )
    if not any(image.is_alive(one) for one in replicas):
        raise _assignment_error(f"all brokers of partition {number} are fenced: {list(replicas)}")


def _assignment_error(why: str) -> KafkaError:
    return InvalidReplicaAssignmentError(why[:1_000])
