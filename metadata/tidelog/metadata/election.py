"""Who leads: a live member of the ISR, or nobody.

Decides leaders and ISRs when brokers go away or come back. There is no unclean election: a replica
outside the ISR may lack acknowledged records and is never chosen.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tidelog.metadata.image import MetadataImage, PartitionImage
from tidelog.metadata.records import partition_change
from tidelog.v1.metadata_records_pb2 import MetadataRecord


def elect(
    partition: PartitionImage, *, isr: tuple[int, ...], is_alive: Callable[[int], bool]
) -> int | None:
    """The present leader while a live member of `isr`, else the first such replica, else None."""
    leader_id = partition.leader_id
    if leader_id is not None and leader_id in isr and is_alive(leader_id):
        return leader_id
    candidates = (replica for replica in partition.replicas if replica in isr)
    return next(filter(is_alive, candidates), None)


def changes_without(image: MetadataImage, leaving: Sequence[int]) -> list[MetadataRecord]:
    """Changes that take the brokers in `leaving` out of every ISR and leadership.

    An ISR never becomes empty, since that would forget who has all acknowledged records: when all
    its members leave, the one latest in `leaving` stays, and nobody leads until it comes back.
    """

    def stays(broker_id: int) -> bool:
        return broker_id not in leaving and image.is_alive(broker_id)

    records = []
    for topic, partition in image.partitions():
        if not any(broker_id in partition.isr for broker_id in leaving):
            continue
        staying = tuple(member for member in partition.isr if member not in leaving)
        isr = staying or (max(partition.isr, key=leaving.index),)
        leader_id = elect(partition, isr=isr, is_alive=stays)
        if (isr, leader_id) != (partition.isr, partition.leader_id):
            change = partition_change(topic.topic_id, partition, isr=isr, leader_id=leader_id)
            records.append(change)
    return records


def changes_with(image: MetadataImage, returning: int) -> list[MetadataRecord]:
    """Changes that make the broker leader where nobody leads and it is in the ISR."""
    return [
        partition_change(topic.topic_id, partition, isr=partition.isr, leader_id=returning)
        for topic, partition in image.partitions()
        if partition.leader_id is None and returning in partition.isr
    ]
