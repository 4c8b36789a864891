"""Metadata records made from the state they change, so that their epochs are always right.

Owns the arithmetic of epochs on the deciding side. `tidelog.metadata.delta` checks it on the other.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from tidelog.metadata.image import BrokerImage, PartitionImage
from tidelog.v1.metadata_records_pb2 import (
    BrokerFencingRecord,
    MetadataRecord,
    PartitionChangeRecord,
)

CAUSE_CHARACTERS_MAX = 200
"""Length of a record's cause; a batch may hold one for each partition."""


def partition_change(
    topic_id: bytes,
    partition: PartitionImage,
    *,
    isr: tuple[int, ...],
    leader_id: int | None,
    elr: tuple[int, ...] = (),
    damaged: tuple[int, ...] | None = None,
    offline: tuple[int, ...] | None = None,
    begins_epoch: bool = False,
    cause: str = "",
) -> MetadataRecord:
    """The record that gives `partition` this ISR and leader.

    `damaged` and `offline` None: the replicas that are known so. The cause goes with the record.

    As in KRaft, the leader epoch grows when the leader changes (also to none); beyond KRaft,
    also when a replica is found out of use, and with `begins_epoch`. It does not when only the ISR
    changes. The partition epoch grows by one each time.
    """
    is_out_of_use = has_more(partition.damaged, damaged) or has_more(partition.offline, offline)
    is_new_epoch = begins_epoch or leader_id != partition.leader_id or is_out_of_use
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
            offline=partition.offline if offline is None else offline,
            cause=cause[:CAUSE_CHARACTERS_MAX],
        )
    )


def has_more(before: tuple[int, ...], after: tuple[int, ...] | None) -> bool:
    """True when a replica was found out of use just now.

    Its earlier fetches no longer prove what it holds: a fetch that is still on its way must not
    take it back into the ISR, so the leader begins a new epoch, in which no replica has fetched.
    """
    return after is not None and not set(after) <= set(before)


def fencing(broker: BrokerImage, *, fenced: bool, cause: str = "") -> MetadataRecord:
    """The record that fences this incarnation of a broker or lets it in."""
    return MetadataRecord(
        broker_fencing=BrokerFencingRecord(
            broker_id=broker.broker_id,
            broker_epoch=broker.broker_epoch,
            fenced=fenced,
            cause=cause[:CAUSE_CHARACTERS_MAX],
        )
    )
