"""Replay: the one way metadata changes, on controllers and brokers alike.

Owns what each record does to an image and what must hold afterwards. Decides nothing: a batch was
decided on by the active controller and committed by Raft. Asserted here (a breach is a bug in a
handler, which `speculate` finds before the batch is proposed): the leader is in the ISR or there is
none; ISR and ELR are parts of the replicas and have no member in common; a fenced broker is in no
ISR; a damaged one is in no ELR, and in no ISR but as a leader that was elected to cut its log; one
whose disk failed is in no ISR;
where both are empty it is known who led last; the leader epoch grows with each change of the leader
and each damage,
and the partition epoch by one with each change of the partition; no command is followed twice; no
producer id is given out twice.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Generic, TypeVar

from tidelog.core.errors import invariant
from tidelog.metadata.image import (
    EMPTY_IMAGE,
    BrokerImage,
    MetadataImage,
    PartitionImage,
    TopicImage,
)
from tidelog.v1.metadata_records_pb2 import (
    BrokerFencingRecord,
    CommandRecord,
    ConfigRecord,
    MetadataBatch,
    MetadataRecord,
    PartitionChangeRecord,
    PartitionRecord,
    ProducerIdsRecord,
    RegisterBrokerRecord,
    RemoveTopicRecord,
    TopicRecord,
)

UNCOMMITTED_EPOCH = 0
"""Broker epoch of a registration that is decided but not committed; no request may carry it."""

# Part of what replay does: controllers with other numbers here would make other images.
COMMANDS_MAX = 1_000
COMMANDS_BYTES_MAX = 1 << 20


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
    """Whether it was decided on another image than this one, or in an earlier controller epoch.

    Its controller did not know of what was committed before it, so nothing of it may happen. This
    is also what keeps a batch that was proposed twice from applying twice.
    """
    return batch.base_offset != image.offset or batch.controller_epoch < image.controller_epoch


class Assembly:
    """The image that a snapshot's records make, piece by piece.

    Raises `InvariantError` for what no image is.
    """

    def __init__(self) -> None:
        self._draft = _Draft(EMPTY_IMAGE, UNCOMMITTED_EPOCH)

    def add(self, records: Iterable[MetadataRecord]) -> None:
        """The next records."""
        for record in records:
            self._draft.apply(record)

    def image(self, *, offset: int, controller_epoch: int) -> MetadataImage:
        """The image, once all records were added."""
        return replace(self._draft.finish(), offset=offset, controller_epoch=controller_epoch)


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


_K = TypeVar("_K")
_V = TypeVar("_V")


class _Copied(Generic[_K, _V]):
    """A mapping of the image, copied when it is first changed: most batches change few of them."""

    def __init__(self, of_image: Mapping[_K, _V]) -> None:
        self.now: Mapping[_K, _V] = of_image
        """As it is after the records so far."""
        self._copy: dict[_K, _V] | None = None

    @property
    def changed(self) -> dict[_K, _V]:
        """The same, to be changed."""
        if self._copy is None:
            self.now = self._copy = dict(self.now)
        return self._copy


class _Draft:
    """The next image while the records of one batch are applied to it."""

    def __init__(self, image: MetadataImage, broker_epoch: int) -> None:
        self._image = image
        self._broker_epoch = broker_epoch
        self._brokers = _Copied(image.brokers)
        self._topics = _Copied(image.topics)
        self._topics_by_id = _Copied(image.topics_by_id)
        self._cluster_configs = _Copied(image.cluster_configs)
        self._commands = _Copied(image.commands)
        self._commands_bytes = image.commands_bytes
        self._next_producer_id = image.next_producer_id
        self._changed: dict[str, list[PartitionImage]] = {}
        self._touched: list[tuple[str, int]] = []

    def apply(self, record: MetadataRecord) -> None:
        kind = record.WhichOneof("record")
        match kind:
            case "register_broker":
                self._register_broker(record.register_broker)
            case "broker_fencing":
                self._set_fencing(record.broker_fencing)
            case "topic":
                self._add_topic(record.topic)
            case "partition":
                self._add_partition(record.partition)
            case "partition_change":
                self._change_partition(record.partition_change)
            case "remove_topic":
                self._remove_topic(record.remove_topic)
            case "config":
                self._set_config(record.config)
            case "command":
                self._complete(record.command)
            case "producer_ids":
                self._give_producer_ids(record.producer_ids)
            case _:
                invariant(False, "a kind of record this version knows", kind)

    def finish(self) -> MetadataImage:
        for name, partitions in self._changed.items():
            topic = replace(self._topics.now[name], partitions=tuple(partitions))
            self._topics.changed[name] = topic
        after = replace(
            self._image,
            brokers=self._brokers.now,
            topics=self._topics.now,
            topics_by_id=self._topics_by_id.now,
            cluster_configs=self._cluster_configs.now,
            commands=self._commands.now,
            commands_bytes=self._commands_bytes,
            next_producer_id=self._next_producer_id,
        )
        if self._brokers.now == self._image.brokers:
            at_risk = [after.partition(*touched) for touched in self._touched]
        else:
            at_risk = [partition for _, partition in after.partitions()]
        for partition in at_risk:
            if partition is not None:
                _check_members_are_alive(after, partition)
        return after

    def _register_broker(self, record: RegisterBrokerRecord) -> None:
        self._brokers.changed[record.broker_id] = BrokerImage(
            broker_id=record.broker_id,
            incarnation_id=record.incarnation_id,
            broker_epoch=record.broker_epoch or self._broker_epoch,
            address=record.address,
            rack=record.rack,
            is_fenced=True,
        )

    def _set_fencing(self, record: BrokerFencingRecord) -> None:
        broker = self._brokers.now.get(record.broker_id)
        invariant(
            broker is not None and broker.broker_epoch == record.broker_epoch,
            "fencing names the broker's current epoch",
            broker,
            record.broker_epoch,
        )
        if broker is not None:
            self._brokers.changed[record.broker_id] = replace(broker, is_fenced=record.fenced)

    def _add_topic(self, record: TopicRecord) -> None:
        is_new = not (record.name in self._topics.now or record.topic_id in self._topics_by_id.now)
        invariant(is_new, "topic names and ids are unique", record.name, record.topic_id)
        self._topics.changed[record.name] = TopicImage(record.name, record.topic_id, (), {})
        self._topics_by_id.changed[record.topic_id] = record.name

    def _add_partition(self, record: PartitionRecord) -> None:
        partitions = self._partitions_of(record.topic_id)
        invariant(record.partition == len(partitions), "partitions are dense", record.partition)
        added = PartitionImage(
            partition=record.partition,
            replicas=tuple(record.replicas),
            isr=tuple(record.isr),
            leader_id=record.leader_id if record.HasField("leader_id") else None,
            leader_epoch=record.leader_epoch,
            partition_epoch=record.partition_epoch,
            elr=tuple(record.elr),
            last_known_leader_id=_last_known(record),
            damaged=tuple(record.damaged),
            offline=tuple(record.offline),
        )
        _check_state(added)
        partitions.append(added)
        self._touched.append((self._name_of(record.topic_id), record.partition))

    def _change_partition(self, record: PartitionChangeRecord) -> None:
        partitions = self._partitions_of(record.topic_id)
        before = partitions[record.partition]
        after = replace(
            before,
            isr=tuple(record.isr),
            leader_id=record.leader_id if record.HasField("leader_id") else None,
            leader_epoch=record.leader_epoch,
            partition_epoch=record.partition_epoch,
            elr=tuple(record.elr),
            last_known_leader_id=_last_known(record),
            damaged=tuple(record.damaged),
            offline=tuple(record.offline),
        )
        _check_state(after)
        _check_epochs(before, after)
        partitions[record.partition] = after
        self._touched.append((self._name_of(record.topic_id), record.partition))

    def _remove_topic(self, record: RemoveTopicRecord) -> None:
        name = self._name_of(record.topic_id)
        del self._topics.changed[name]
        del self._topics_by_id.changed[record.topic_id]
        self._changed.pop(name, None)

    def _set_config(self, record: ConfigRecord) -> None:
        if record.resource_type == ConfigRecord.CLUSTER:
            _set_or_reset(self._cluster_configs.changed, record)
            return
        topic = self._topics.now.get(record.resource_name)
        invariant(topic is not None, "a config names a topic that exists", record.resource_name)
        if topic is not None:
            configs = dict(topic.configs)
            _set_or_reset(configs, record)
            self._topics.changed[record.resource_name] = replace(topic, configs=configs)

    def _complete(self, record: CommandRecord) -> None:
        commands = self._commands.changed
        earlier = commands.pop(record.command_id, None)
        if earlier is not None:
            invariant(earlier.is_unfinished, "a command is followed once", record)
            kinds = earlier.WhichOneof("reply"), record.WhichOneof("reply")
            invariant(kinds[0] == kinds[1], "the slices of a plan are of one kind", kinds)
            self._commands_bytes -= earlier.ByteSize()
            record = _continued(earlier, record)
        commands[record.command_id] = record
        self._commands_bytes += record.ByteSize()
        while len(commands) > COMMANDS_MAX or self._commands_bytes > COMMANDS_BYTES_MAX:
            oldest = next(iter(commands))
            self._commands_bytes -= commands.pop(oldest).ByteSize()

    def _give_producer_ids(self, record: ProducerIdsRecord) -> None:
        before, after = self._next_producer_id, record.next_producer_id
        invariant(after > before, "no producer id is given out twice", before, record)
        self._next_producer_id = after

    def _name_of(self, topic_id: bytes) -> str:
        name = self._topics_by_id.now.get(topic_id)
        invariant(name is not None, "a record names a topic id that exists", topic_id)
        return name or ""

    def _partitions_of(self, topic_id: bytes) -> list[PartitionImage]:
        name = self._name_of(topic_id)
        if name not in self._changed:
            self._changed[name] = list(self._topics.now[name].partitions)
        return self._changed[name]


def _continued(earlier: CommandRecord, record: CommandRecord) -> CommandRecord:
    """A plan as it is remembered once its next slice has happened."""
    both = CommandRecord()
    both.CopyFrom(earlier)
    both.MergeFrom(record)
    both.is_unfinished, both.growing_topic_id = record.is_unfinished, record.growing_topic_id
    return both


def _set_or_reset(configs: dict[str, str], record: ConfigRecord) -> None:
    if record.HasField("value"):
        configs[record.key] = record.value
    else:
        configs.pop(record.key, None)


def _last_known(record: PartitionRecord | PartitionChangeRecord) -> int | None:
    return record.last_known_leader_id if record.HasField("last_known_leader_id") else None


def _check_state(partition: PartitionImage) -> None:
    replicas, isr, leader_id = partition.replicas, partition.isr, partition.leader_id
    invariant(len(set(replicas)) == len(replicas), "no broker holds two replicas", partition)
    for members in (isr, partition.elr, partition.damaged, partition.offline):
        invariant(len(set(members)) == len(members), "a set of replicas", partition)
        invariant(all(one in replicas for one in members), "ISR, ELR within replicas", partition)
    invariant(not set(isr) & set(partition.elr), "ISR and ELR have nobody in common", partition)
    invariant(leader_id is None or leader_id in isr, "leader in ISR or none", partition)
    invariant(
        (leader_id is None) or (partition.last_known_leader_id is None),
        "the last leader is who led before nobody did",
        partition,
    )
    is_lost = not isr and not partition.elr
    invariant(
        not is_lost or partition.last_known_leader_id is not None,
        "with nobody complete left it is known who led last",
        partition,
    )
    complete = {*isr, *partition.elr} - {leader_id}
    invariant(not complete & set(partition.damaged), "no damaged replica is complete", partition)
    invariant(not set(isr) & set(partition.offline), "no offline replica is in sync", partition)


def _check_epochs(before: PartitionImage, after: PartitionImage) -> None:
    growth = after.leader_epoch - before.leader_epoch
    invariant(
        growth == 1 or (growth == 0 and before.leader_id == after.leader_id),
        "the leader epoch grows by one with each change of the leader, and else by one at most",
        before,
        after,
    )
    invariant(
        after.partition_epoch == before.partition_epoch + 1,
        "the partition epoch grows by one with each change",
        before,
        after,
    )


def _check_members_are_alive(image: MetadataImage, partition: PartitionImage) -> None:
    if partition.leader_id is None and partition.last_known_leader_id is None:
        return  # written before there was an ELR, when the last fenced member stayed in the ISR
    are_alive = all(image.is_alive(member) for member in partition.isr)
    invariant(are_alive, "a fenced broker is in no ISR", partition)
