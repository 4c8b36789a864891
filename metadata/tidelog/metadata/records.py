"""Metadata records made from what they change, so that the epochs in them are always right.

Owns the arithmetic of epochs on the deciding side. `tidelog.metadata.delta` checks it on the other.
"""

from __future__ import annotations

from tidelog.metadata.image import BrokerImage, PartitionImage
from tidelog.v1.metadata_records_pb2 import (
    BrokerFencingRecord,
    MetadataRecord,
    PartitionChangeRecord,
)


def partition_change(
    topic_id: bytes,
    partition: PartitionImage,
    *,
    isr: tuple[int, ...],
    leader_id: int | None,
    elr: tuple[int, ...] = (),
    damaged: tuple[int, ...] | None = None,
) -> MetadataRecord:
    """The record that gives `partition` this ISR and leader; `damaged` None: those known so.

    As in KRaft now, the leader epoch grows when the leader changes (also to none) and not when only
    the ISR does; the partition epoch grows by one each time.
    """
    is_new_epoch = leader_id != partition.leader_id or is_newly_damaged(partition, damaged)
    last_id = partition.last_known_leader_id
    if partition.leader_id is not None:
        last_id = partition.leader_id
    return MetadataRecord(
        partition_change=PartitionChangeRecord(
            topic_id=topic_id,
            partition=partition.partition,
            isr=isr,
            leader_id=leader_id,
            leader_epoch=partition.leader_epoch + is_new_epoch,
            partition_epoch=partition.partition_epoch + 1,
            elr=elr,
            last_known_leader_id=last_id if leader_id is None else None,
            damaged=partition.damaged if damaged is None else damaged,
        )
    )


def is_newly_damaged(partition: PartitionImage, damaged: tuple[int, ...] | None) -> bool:
    """Whether a replica was found damaged just now.

    What it fetched before says nothing any more of what it holds: a fetch that is still on its way
    must not take it back into the ISR, so the leader begins a new epoch, without a memory.
    """
    return damaged is not None and not set(damaged) <= set(partition.damaged)


def fencing(broker: BrokerImage, *, fenced: bool) -> MetadataRecord:
    """The record that fences this incarnation of a broker or lets it in."""
    return MetadataRecord(
        broker_fencing=BrokerFencingRecord(
            broker_id=broker.broker_id, broker_epoch=broker.broker_epoch, fenced=fenced
        )
    )
