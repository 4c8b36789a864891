"""ReportReplicaState: a broker reports a damaged log, or a failed or working disk, of its replicas.

A damaged replica is taken out of ISR, ELR and leadership in one step, before any election, and each
damage begins a leader epoch: no fetch of an earlier one brings the replica back. It comes back like
any other: by catching up with a leader, once it has cut its log. When it was the last
complete replica, ISR and ELR are empty from now on, which is logged, and the partition has no
leader until a complete replica returns, the topic allows an unclean election, or an operator orders
one.

A replica whose disk fails is offline: it leads nothing and joins no ISR until its broker restarts,
or reports that the disk works again. Its log is unchanged, and it is as eligible as any replica
that leaves the ISR, unless a sync failed: that may have dropped acknowledged records. Then it
leaves the ELR, too, while another sound replica is complete; as the last one it stays there, so
that no incomplete replica takes its place.

A replica whose start cut its log is treated like one that lost power: it is out of ISR and ELR
until it has caught up. The last known leader leads where no eligible replica is left (KIP-966).
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from tidelog.core.errors import InvalidRequestError, KafkaError
from tidelog.metadata.brokers import current_registration
from tidelog.metadata.context import ControllerContext
from tidelog.metadata.decision import Decision, wire_error
from tidelog.metadata.election import State, next_state, only_broker, record_change
from tidelog.metadata.image import MetadataImage, PartitionImage, TopicImage
from tidelog.metadata.replication import check_partition_epoch, find_partition
from tidelog.metadata.topic_rules import topic_rules
from tidelog.v1.controller_pb2 import ReportReplicaStateRequest, ReportReplicaStateResponse
from tidelog.v1.metadata_records_pb2 import MetadataRecord

_SAYS = {
    ReportReplicaStateRequest.DAMAGED: "found its log damaged",
    ReportReplicaStateRequest.OFFLINE: "cannot use its disk",
    ReportReplicaStateRequest.ONLINE: "can use its disk again",
    ReportReplicaStateRequest.SYNC_FAILED: "cannot sync its disk",
    ReportReplicaStateRequest.LOSSY_START: "may have lost flushed records with the power",
}


def report_damage(
    request: ReportReplicaStateRequest, image: MetadataImage, _context: ControllerContext
) -> Decision[ReportReplicaStateResponse]:
    """Decide on each partition, in the order asked. A condition that is known changes nothing.

    Raises `KafkaError` STALE_BROKER_EPOCH when the sender is an earlier incarnation of its broker.
    """
    current_registration(image, request.broker_id, request.broker_epoch)
    records: list[MetadataRecord] = []
    response = ReportReplicaStateResponse()
    decided: set[tuple[bytes, int]] = set()
    for asked in request.partitions:
        result = response.partitions.add(topic=asked.topic, partition=asked.partition)
        try:
            topic, partition = find_partition(asked, image)
            _check(request.broker_id, asked, partition, decided)
            if not _is_known(request.broker_id, asked, partition):
                state = _state_after(request.broker_id, asked, topic, partition, image)
                records += record_change(
                    topic,
                    partition,
                    state,
                    cause=_cause(request.broker_id, asked),
                    begins_epoch=asked.condition == ReportReplicaStateRequest.DAMAGED,
                )
        except KafkaError as error:
            result.error.CopyFrom(wire_error(error))
    return Decision(records, response)


def _is_known(
    broker_id: int, asked: ReportReplicaStateRequest.Partition, partition: PartitionImage
) -> bool:
    match asked.condition:
        case ReportReplicaStateRequest.OFFLINE:
            return broker_id in partition.offline
        case ReportReplicaStateRequest.SYNC_FAILED:
            is_left_out = broker_id not in partition.elr or is_last_position(broker_id, partition)
            return broker_id in partition.offline and is_left_out
        case ReportReplicaStateRequest.ONLINE:
            return broker_id not in partition.offline
        case ReportReplicaStateRequest.LOSSY_START:
            return broker_id not in (*partition.isr, *partition.elr)
    # Another damage than the known one may be after a fetch that the leader still counts on.
    is_out = broker_id in partition.damaged and broker_id not in partition.isr
    return is_out and asked.served_leader_epoch < partition.leader_epoch


def _check(
    broker_id: int,
    asked: ReportReplicaStateRequest.Partition,
    partition: PartitionImage,
    decided: set[tuple[bytes, int]],
) -> None:
    key = (asked.topic_id, asked.partition)
    is_readable = asked.condition in _SAYS and broker_id in partition.replicas
    if not is_readable or key in decided:
        raise InvalidRequestError(
            f"broker {broker_id} has no replica of the partition, names it twice, or says of it "
            "what this controller does not know",
        )
    decided.add(key)
    if not _is_known(broker_id, asked, partition):
        check_partition_epoch(asked.partition_epoch, partition)


def _cause(broker_id: int, asked: ReportReplicaStateRequest.Partition) -> str:
    cause = f"broker {broker_id} {_SAYS[asked.condition]}"
    return f"{cause}: {asked.cause}" if asked.cause else cause


def _state_after(
    broker_id: int,
    asked: ReportReplicaStateRequest.Partition,
    topic: TopicImage,
    partition: PartitionImage,
    image: MetadataImage,
) -> State:
    match asked.condition:
        case ReportReplicaStateRequest.OFFLINE | ReportReplicaStateRequest.SYNC_FAILED:
            is_whole = asked.condition == ReportReplicaStateRequest.OFFLINE
            return _take_offline(broker_id, topic, partition, image, is_whole=is_whole)
        case ReportReplicaStateRequest.ONLINE:
            return _bring_online(broker_id, topic, partition, image)
        case ReportReplicaStateRequest.LOSSY_START:
            return _take_lossy_out(broker_id, topic, partition, image)
    return _take_out(broker_id, topic, partition, image)


def _take_out(
    broker_id: int, topic: TopicImage, partition: PartitionImage, image: MetadataImage
) -> State:
    state = next_state(
        partition,
        topic_rules(topic, image),
        isr=tuple(one for one in partition.isr if one != broker_id),
        may_lead=lambda one: image.is_alive(one) and one != broker_id,
        damaged=tuple(
            one for one in partition.replicas if one == broker_id or one in partition.unhealed
        ),
    )
    if state.leader_id is None and not state.isr and not state.elr:
        # Only now may the damaged replica lead, where the topic allows it: it cuts its log first.
        state = next_state(
            partition,
            topic_rules(topic, image),
            isr=(),
            may_lead=image.is_alive,
            damaged=state.damaged,
        )
    return state


def _take_offline(
    broker_id: int,
    topic: TopicImage,
    partition: PartitionImage,
    image: MetadataImage,
    *,
    is_whole: bool,
) -> State:
    offline = (*partition.offline, broker_id)
    stays_eligible = is_whole or is_last_position(broker_id, partition)
    return next_state(
        partition,
        topic_rules(topic, image),
        isr=tuple(one for one in partition.isr if one != broker_id),
        may_lead=image.is_alive,
        lost_data=() if stays_eligible else (broker_id,),
        offline=tuple(one for one in partition.replicas if one in offline),
    )


def _take_lossy_out(
    broker_id: int, topic: TopicImage, partition: PartitionImage, image: MetadataImage
) -> State:
    return next_state(
        partition,
        topic_rules(topic, image),
        isr=tuple(one for one in partition.isr if one != broker_id),
        may_lead=image.is_alive,
        lost_data=(broker_id,),
    )


def is_last_position(broker_id: int, partition: PartitionImage) -> bool:
    """True when no other replica is known to be complete.

    A complete one whose disk failed is the last one itself: it would have left otherwise.
    """
    return not {*partition.isr, *partition.elr} - {broker_id}


def _bring_online(
    broker_id: int, topic: TopicImage, partition: PartitionImage, image: MetadataImage
) -> State:
    """Let the replica lead where it stayed as the last one; elsewhere it catches up."""
    leader_id = partition.leader_id
    return next_state(
        partition,
        topic_rules(topic, image),
        isr=partition.isr,
        may_lead=image.is_alive if leader_id is None else only_broker(leader_id),
        offline=tuple(one for one in partition.offline if one != broker_id),
    )
