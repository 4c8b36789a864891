"""AlterPartition: the changes of an ISR that its leader may make (KIP-497, KIP-903).

Decides on ISRs that leaders ask for. ISRs that change because a broker goes away are `election`'s.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from tidelog.core.errors import (
    FencedLeaderEpochError,
    IneligibleReplicaError,
    InvalidRequestError,
    InvalidUpdateVersionError,
    KafkaError,
    NotLeaderOrFollowerError,
    UnknownLeaderEpochError,
    UnknownTopicIdError,
    UnknownTopicOrPartitionError,
)
from tidelog.metadata.brokers import current_registration
from tidelog.metadata.context import ControllerContext
from tidelog.metadata.decision import Decision, wire_error
from tidelog.metadata.election import next_state, only_broker, record_change
from tidelog.metadata.image import MetadataImage, PartitionImage, TopicImage
from tidelog.metadata.topic_rules import topic_rules
from tidelog.v1.controller_pb2 import (
    AlterPartitionRequest,
    AlterPartitionResponse,
    ReportReplicaStateRequest,
)
from tidelog.v1.metadata_records_pb2 import MetadataRecord


def alter_partition(
    request: AlterPartitionRequest, image: MetadataImage, _context: ControllerContext
) -> Decision[AlterPartitionResponse]:
    """Decide on each partition, in the order asked; each result has the state it is in afterwards.

    Raises `KafkaError` STALE_BROKER_EPOCH when the sender is an earlier incarnation of its broker.
    """
    current_registration(image, request.broker_id, request.broker_epoch)
    records: list[MetadataRecord] = []
    results = []
    decided: set[tuple[bytes, int]] = set()
    for asked in request.partitions:
        result = AlterPartitionResponse.Partition(topic=asked.topic, partition=asked.partition)
        try:
            topic, partition = find_partition(asked, image)
            _set_state(result, partition)
            _check_is_first(asked, decided)
            _check_sender(request.broker_id, asked, partition)
            isr = _new_isr(request.broker_id, asked, partition, image)
            cause = f"leader {request.broker_id}: {asked.cause or 'it asked for this ISR'}"
            records += _alter_isr(result, topic, partition, isr=isr, image=image, cause=cause)
        except KafkaError as error:
            result.error.CopyFrom(wire_error(error))
        results.append(result)
    return Decision(records, AlterPartitionResponse(partitions=results))


def _alter_isr(
    result: AlterPartitionResponse.Partition,
    topic: TopicImage,
    partition: PartitionImage,
    *,
    isr: tuple[int, ...],
    image: MetadataImage,
    cause: str,
) -> list[MetadataRecord]:
    """Change the ISR: replicas that left may be eligible, members are complete."""
    state = next_state(
        partition,
        topic_rules(topic, image),
        isr=isr,
        may_lead=only_broker(partition.leader_id),
        damaged=tuple(one for one in partition.damaged if one not in isr),
    )
    records = list(record_change(topic, partition, state, cause=cause))
    result.isr[:] = state.isr
    result.elr[:] = state.elr
    result.partition_epoch += len(records)
    return records


def find_partition(
    asked: AlterPartitionRequest.Partition | ReportReplicaStateRequest.Partition,
    image: MetadataImage,
) -> tuple[TopicImage, PartitionImage]:
    """Return topic and partition. Raises UNKNOWN_TOPIC_ID or UNKNOWN_TOPIC_OR_PARTITION."""
    topic = image.topic_by_id(asked.topic_id)
    if topic is None:
        raise UnknownTopicIdError(
            f"topic {asked.topic!r} with id {asked.topic_id.hex()} does not exist: it was deleted",
        )
    partition = image.partition(topic.name, asked.partition)
    if partition is None:
        raise UnknownTopicOrPartitionError(
            f"topic {topic.name!r} has no partition {asked.partition}",
        )
    return topic, partition


def _set_state(result: AlterPartitionResponse.Partition, partition: PartitionImage) -> None:
    if partition.leader_id is not None:
        result.leader_id = partition.leader_id
    result.leader_epoch = partition.leader_epoch
    result.partition_epoch = partition.partition_epoch
    result.isr[:] = partition.isr
    result.elr[:] = partition.elr


def _check_is_first(
    asked: AlterPartitionRequest.Partition, decided: set[tuple[bytes, int]]
) -> None:
    key = (asked.topic_id, asked.partition)
    if key in decided:
        raise InvalidRequestError("the request names this partition twice")
    decided.add(key)


def _check_sender(
    broker_id: int, asked: AlterPartitionRequest.Partition, partition: PartitionImage
) -> None:
    """The sender must be the leader of the current leader epoch and know the current ISR."""
    if asked.leader_epoch < partition.leader_epoch:
        raise FencedLeaderEpochError(
            f"leader epoch {asked.leader_epoch} has ended: it is {partition.leader_epoch} now",
        )
    if asked.leader_epoch > partition.leader_epoch:
        raise UnknownLeaderEpochError(
            f"leader epoch {asked.leader_epoch} has not begun: it is {partition.leader_epoch} now",
        )
    if partition.leader_id != broker_id:
        raise NotLeaderOrFollowerError(
            f"broker {broker_id} does not lead the partition: broker {partition.leader_id} does",
        )
    check_partition_epoch(asked.partition_epoch, partition)


def check_partition_epoch(asked: int, partition: PartitionImage) -> None:
    """Raise `KafkaError` INVALID_UPDATE_VERSION unless it is the current partition epoch."""
    if asked != partition.partition_epoch:
        raise InvalidUpdateVersionError(
            f"partition epoch {asked} is not the current one, "
            f"{partition.partition_epoch}: apply the newer state and ask again",
        )


def check_is_online(broker_id: int, partition: PartitionImage) -> None:
    """Raise `KafkaError` INELIGIBLE_REPLICA for a replica whose disk failed."""
    if broker_id in partition.offline:
        raise IneligibleReplicaError(
            f"broker {broker_id} cannot be in the ISR: its disk failed, restart it",
        )


def _new_isr(
    leader_id: int,
    asked: AlterPartitionRequest.Partition,
    partition: PartitionImage,
    image: MetadataImage,
) -> tuple[int, ...]:
    """Return the ISR asked for, in replica order, when it is allowed.

    Each member must be unfenced and in the incarnation that the leader saw catch up (KIP-903): a
    later one may have lost what the earlier one had. Nor may its disk have failed since.
    """
    members = {member.broker_id: member.broker_epoch for member in asked.new_isr}
    is_possible = leader_id in members and members.keys() <= set(partition.replicas)
    if len(members) != len(asked.new_isr) or not is_possible:
        raise InvalidRequestError(
            f"ISR {[member.broker_id for member in asked.new_isr][:100]}: it must hold the leader "
            f"{leader_id} and no broker but the replicas {list(partition.replicas)}, each once",
        )
    for broker_id in sorted(members):
        if not image.has_live(broker_id, members[broker_id]):
            raise IneligibleReplicaError(
                f"broker {broker_id} in epoch {members[broker_id]} cannot be in the ISR: it is "
                f"fenced or restarted",
            )
        check_is_online(broker_id, partition)
    return tuple(replica for replica in partition.replicas if replica in members)
