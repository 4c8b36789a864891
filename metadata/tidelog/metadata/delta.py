"""Replay: the one way metadata changes, on controllers and brokers alike.

Hands each record to its aspect in `images`, and owns what must hold across aspects. Decides
nothing: a batch was decided on by the active controller and committed by Raft. The aspects assert
what must hold within them, this module that no broker comes into an ISR, or becomes leader, while
it is fenced, and that an incarnation that registers is in no ISR. A fenced broker may be in ISRs
until `settling` has come to them. (A breach is a bug of the function that decided, which
`speculate` finds before the batch is proposed.)
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from tidelog.core.errors import invariant
from tidelog.metadata.image import EMPTY_IMAGE, MetadataImage, PartitionImage
from tidelog.metadata.images.brokers import BrokersDelta
from tidelog.metadata.images.commands import CommandsDelta
from tidelog.metadata.images.configs import ConfigsDelta
from tidelog.metadata.images.producer_ids import ProducerIdsDelta
from tidelog.metadata.images.topics import TopicsDelta
from tidelog.v1.metadata_records_pb2 import MetadataBatch, MetadataRecord

UNCOMMITTED_EPOCH = 0
"""Broker epoch of a registration that is decided but not committed; no request may carry it."""


def replay(image: MetadataImage, batch: MetadataBatch, *, offset: int) -> MetadataImage:
    """The image after `batch`, committed at Raft index `offset`; `image` itself when it is void.

    Raises `InvariantError` alone, for a batch that no controller may decide.
    """
    if is_void(image, batch):
        return image
    invariant(offset > image.offset, "metadata offset grows", image.offset, offset)
    after = _apply(image, batch.records, broker_epoch=offset)
    return replace(after, offset=offset, controller_epoch=batch.controller_epoch)


def is_void(image: MetadataImage, batch: MetadataBatch) -> bool:
    """True when it was decided on another image than this one, or in an earlier controller epoch.

    Its controller did not know of every batch committed before it, so nothing of it may happen. For
    the same reason a batch that was proposed twice applies once.
    """
    return batch.base_offset != image.offset or batch.controller_epoch < image.controller_epoch


class Assembly:
    """The image that a snapshot's records make, piece by piece.

    Raises `InvariantError` for records that make no valid image.
    """

    def __init__(self) -> None:
        self._draft = _Draft(EMPTY_IMAGE, UNCOMMITTED_EPOCH, is_snapshot=True)

    def add(self, records: Iterable[MetadataRecord]) -> None:
        """Apply the next records."""
        for record in records:
            self._draft.apply(record)

    def image(self, *, offset: int, controller_epoch: int) -> MetadataImage:
        """Return the image, once all records were added."""
        image = self._draft.assembled()
        return replace(image, offset=offset, controller_epoch=controller_epoch)


def speculate(image: MetadataImage, records: Iterable[MetadataRecord]) -> MetadataImage:
    """The image as it will be if `records` commit, for deciding on the next command of a batch.

    The offset is not known yet: it stays, and brokers registered here have `UNCOMMITTED_EPOCH`.
    """
    return _apply(image, records, broker_epoch=UNCOMMITTED_EPOCH)


def _apply(
    image: MetadataImage, records: Iterable[MetadataRecord], *, broker_epoch: int
) -> MetadataImage:
    draft = _Draft(image, broker_epoch)
    for record in records:
        draft.apply(record)
    return draft.finish()


class _Draft:
    """The next image while the records of one batch are applied to it."""

    def __init__(
        self, image: MetadataImage, broker_epoch: int, *, is_snapshot: bool = False
    ) -> None:
        self._image = image
        self._is_snapshot = is_snapshot
        """The records tell of a state, which earlier batches led to."""
        self._brokers = BrokersDelta(image.brokers, broker_epoch)
        self._topics = TopicsDelta(image.topics, image.topics_by_id)
        self._configs = ConfigsDelta(image.cluster_configs, self._topics)
        self._commands = CommandsDelta(image.commands, image.commands_bytes)
        self._producer_ids = ProducerIdsDelta(image.next_producer_id)

    def apply(self, record: MetadataRecord) -> None:
        kind = record.WhichOneof("record")
        match kind:
            case "register_broker":
                self._brokers.register(record.register_broker)
            case "broker_fencing":
                self._brokers.set_fencing(record.broker_fencing)
            case "topic":
                self._topics.add_topic(record.topic)
            case "remove_topic":
                self._topics.remove_topic(record.remove_topic)
            case "partition":
                self._check_change(None, self._topics.add_partition(record.partition))
            case "partition_change":
                self._check_change(*self._topics.change_partition(record.partition_change))
            case "config":
                self._configs.set_config(record.config)
            case "command":
                self._commands.complete(record.command)
            case "producer_ids":
                self._producer_ids.allocate(record.producer_ids)
            case _:
                invariant(False, "a kind of record this version knows", kind)

    def finish(self) -> MetadataImage:
        """The image after the batch."""
        after = self.assembled()
        registered = self._brokers.registered
        if registered:
            for _, partition in after.partitions():
                invariant(
                    registered.isdisjoint(partition.isr),
                    "an incarnation that registers is in no ISR",
                    partition,
                )
        return after

    def assembled(self) -> MetadataImage:
        """The image of the records alone, whatever was before."""
        self._topics.finish()
        return replace(
            self._image,
            brokers=self._brokers.brokers,
            topics=self._topics.topics,
            topics_by_id=self._topics.topics_by_id,
            cluster_configs=self._configs.cluster_configs,
            commands=self._commands.commands,
            commands_bytes=self._commands.size_bytes,
            next_producer_id=self._producer_ids.next_producer_id,
        )

    def _check_change(self, before: PartitionImage | None, after: PartitionImage) -> None:
        """Check who comes into an ISR or becomes leader, at the record that says so."""
        if self._is_snapshot or (after.leader_id is None and after.last_known_leader_id is None):
            return  # written before there was an ELR, when the last fenced member stayed in the ISR
        isr, leader_id = ((), None) if before is None else (before.isr, before.leader_id)
        come = [one for one in after.isr if one not in isr]
        if after.leader_id is not None and after.leader_id != leader_id:
            come.append(after.leader_id)
        brokers = self._brokers.brokers
        are_alive = all(one in brokers and not brokers[one].is_fenced for one in come)
        invariant(are_alive, "no fenced broker comes into an ISR or becomes leader", before, after)
