"""Snapshots: an image as records, and the image that records make again, exactly.

Owns the order of the records and how they are cut into pieces. Pieces are made while they are asked
for, out of an image that never changes, so that no loop waits for a whole one. What a record does
to an image is `delta`'s alone.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Iterator

from tidelog.core.errors import CorruptMessageError
from tidelog.metadata.delta import Assembly
from tidelog.metadata.image import MetadataImage, PartitionImage, TopicImage
from tidelog.metadata.records import fencing
from tidelog.v1.metadata_records_pb2 import (
    ConfigRecord,
    MetadataRecord,
    MetadataSnapshotPiece,
    PartitionRecord,
    ProducerIdsRecord,
    RegisterBrokerRecord,
    TopicRecord,
)

PIECE_BYTES = 16_384
"""A piece ends with the record that reaches this; one takes a few milliseconds to make."""
RECORDS_MAX = 1 << 20
"""More than any image has that its controllers' limits allow."""


def pieces_of(image: MetadataImage) -> Iterator[MetadataSnapshotPiece]:
    """The image piece by piece, each made when it is asked for; at least one, the last is marked.

    Topics, brokers, configs and commands stay in their order: some decisions go by it.
    """
    piece = MetadataSnapshotPiece(offset=image.offset, controller_epoch=image.controller_epoch)
    size_bytes = 0
    for record in _records_of(image):
        if size_bytes >= PIECE_BYTES:
            yield piece
            piece = MetadataSnapshotPiece(
                offset=image.offset,
                controller_epoch=image.controller_epoch,
                number=piece.number + 1,
            )
            size_bytes = 0
        piece.records.append(record)
        size_bytes += record.ByteSize()
    piece.is_last = True
    yield piece


class SnapshotReader:
    """Makes an image of the pieces of one snapshot; nothing shows before the last one is there."""

    def __init__(self) -> None:
        self._first: MetadataSnapshotPiece | None = None
        self._pieces_count = self._records_count = 0
        self._assembly = Assembly()

    def take(self, piece: MetadataSnapshotPiece) -> MetadataImage | None:
        """The image, once `piece` was the last one.

        Errors: `CorruptMessageError` for a piece that does not continue the last: begin again with
        another reader. `InvariantError` for records that no image has.
        """
        first = self._first = self._first or piece
        is_next = piece.number == self._pieces_count
        if not is_next or _identity(piece) != _identity(first):
            raise CorruptMessageError(
                f"snapshot {_identity(piece)} piece {piece.number} does not follow piece "
                f"{self._pieces_count - 1} of snapshot {_identity(first)}: ask for it again"
            )
        self._pieces_count += 1
        self._records_count += len(piece.records)
        if self._records_count > RECORDS_MAX:
            raise CorruptMessageError(f"a snapshot of more than {RECORDS_MAX} records")
        self._assembly.add(piece.records)
        if not piece.is_last:
            return None
        image = self._assembly.image(offset=piece.offset, controller_epoch=piece.controller_epoch)
        self._first, self._pieces_count, self._assembly = None, 0, Assembly()
        return image


def _identity(piece: MetadataSnapshotPiece) -> tuple[int, int]:
    return piece.offset, piece.controller_epoch


def _records_of(image: MetadataImage) -> Iterator[MetadataRecord]:
    for broker in image.brokers.values():
        registration = RegisterBrokerRecord(
            broker_id=broker.broker_id,
            incarnation_id=broker.incarnation_id,
            address=broker.address,
            rack=broker.rack,
            broker_epoch=broker.broker_epoch,
        )
        yield MetadataRecord(register_broker=registration)
        if not broker.is_fenced:
            yield fencing(broker, fenced=False)
    for key, value in image.cluster_configs.items():
        yield _config(ConfigRecord.CLUSTER, "", key, value)
    for topic in image.topics.values():
        yield MetadataRecord(topic=TopicRecord(name=topic.name, topic_id=topic.topic_id))
        for key, value in topic.configs.items():
            yield _config(ConfigRecord.TOPIC, topic.name, key, value)
        for partition in topic.partitions:
            yield _partition(topic, partition)
    for command in image.commands.values():
        yield MetadataRecord(command=command)
    if image.next_producer_id:
        given = ProducerIdsRecord(next_producer_id=image.next_producer_id)
        yield MetadataRecord(producer_ids=given)


def _config(kind: ConfigRecord.ResourceType, name: str, key: str, value: str) -> MetadataRecord:
    return MetadataRecord(
        config=ConfigRecord(resource_type=kind, resource_name=name, key=key, value=value)
    )


def _partition(topic: TopicImage, partition: PartitionImage) -> MetadataRecord:
    return MetadataRecord(
        partition=PartitionRecord(
            topic_id=topic.topic_id,
            partition=partition.partition,
            replicas=partition.replicas,
            isr=partition.isr,
            leader_id=partition.leader_id,
            leader_epoch=partition.leader_epoch,
            partition_epoch=partition.partition_epoch,
            elr=partition.elr,
            last_known_leader_id=partition.last_known_leader_id,
            damaged=partition.damaged,
            offline=partition.offline,
        )
    )
