"""ReportDamage: a broker's word that its log of a partition is not what was written.

The replica is taken out of ISR, ELR and leadership in one step, before anybody is elected. It comes
back as any other: by catching up with a leader, once it has cut its log. When it was the last that
held everything, ISR and ELR are empty from now on, which is logged, and nobody leads until someone
complete returns, the topic allows an unclean election, or an operator orders one.
"""

from __future__ import annotations

from tidelog.log.errors import KafkaError
from tidelog.metadata.brokers import current_registration
from tidelog.metadata.decision import Decision, wire_error
from tidelog.metadata.election import changed, next_state
from tidelog.metadata.image import MetadataImage, PartitionImage, TopicImage
from tidelog.metadata.replication import check_partition_epoch, find_partition
from tidelog.metadata.topic_rules import topic_rules
from tidelog.v1 import common_pb2
from tidelog.v1.controller_pb2 import ReportDamageRequest, ReportDamageResponse
from tidelog.v1.metadata_records_pb2 import MetadataRecord


def report_damage(
    request: ReportDamageRequest, image: MetadataImage
) -> Decision[ReportDamageResponse]:
    """One result per partition, in the order asked. What is known changes nothing.

    Raises `KafkaError` STALE_BROKER_EPOCH when the sender is an earlier incarnation of its broker.
    """
    current_registration(image, request.broker_id, request.broker_epoch)
    records: list[MetadataRecord] = []
    response = ReportDamageResponse()
    decided: set[tuple[bytes, int]] = set()
    for asked in request.partitions:
        result = response.partitions.add(topic=asked.topic, partition=asked.partition)
        try:
            topic, partition = find_partition(asked, image)
            _check(request.broker_id, asked, partition, decided)
            if not _is_known(request.broker_id, partition):
                records += _taken_out(request.broker_id, topic, partition, image)
        except KafkaError as error:
            result.error.CopyFrom(wire_error(error))
    return Decision(records, response)


def _is_known(broker_id: int, partition: PartitionImage) -> bool:
    return broker_id in partition.damaged and broker_id not in partition.isr


def _check(
    broker_id: int,
    asked: ReportDamageRequest.Partition,
    partition: PartitionImage,
    decided: set[tuple[bytes, int]],
) -> None:
    key = (asked.topic_id, asked.partition)
    if broker_id not in partition.replicas or key in decided:
        raise KafkaError(
            common_pb2.INVALID_REQUEST,
            f"broker {broker_id} has no replica of the partition, or names it twice",
        )
    decided.add(key)
    if not _is_known(broker_id, partition):
        check_partition_epoch(asked.partition_epoch, partition)


def _taken_out(
    broker_id: int, topic: TopicImage, partition: PartitionImage, image: MetadataImage
) -> list[MetadataRecord]:
    known = {one for one in partition.damaged if one != partition.leader_id}
    state = next_state(
        partition,
        topic_rules(topic, image),
        isr=tuple(one for one in partition.isr if one != broker_id),
        may_lead=lambda one: image.is_alive(one) and one != broker_id,
        damaged=tuple(one for one in partition.replicas if one == broker_id or one in known),
    )
    if state.leader_id is None and not state.isr and not state.elr:
        # Only now may it lead itself, where the topic allows that: it cuts its log first.
        state = next_state(
            partition,
            topic_rules(topic, image),
            isr=(),
            may_lead=image.is_alive,
            damaged=state.damaged,
        )
    return list(changed(topic, partition, state))
