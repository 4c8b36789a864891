"""Topics and their partitions: image, replay and snapshot.

Asserted at each change of a partition (a breach is a bug of the function that decided): the leader
is in the ISR or there is none; ISR and ELR are parts of the replicas and have no member in common;
a damaged replica is in no ELR, and in no ISR but as a leader that was elected to cut its log; a
replica whose disk failed is in no ISR; where ISR and ELR are empty it is known who led last; the
leader epoch grows with each change of the leader and each damage, and the partition epoch by one
with each change of the partition.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from tidelog.core.errors import invariant
from tidelog.metadata.images.copied import Copied
from tidelog.v1 import metadata_records_pb2 as records


@dataclass(frozen=True, slots=True)
class PartitionImage:
    """A partition. `replicas` in order of preference; `leader_id` is None or a member of `isr`.

    `tidelog.metadata.election` decides which replica is in which set.
    """

    partition: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    leader_id: int | None
    leader_epoch: int
    partition_epoch: int
    elr: tuple[int, ...] = ()
    """Eligible leader replicas: outside the ISR, and hold all that is committed (KIP-966)."""
    last_known_leader_id: int | None = None
    """The last leader; None while there is one."""
    damaged: tuple[int, ...] = ()
    """Replicas whose log was found damaged, and that have not joined the ISR since."""
    offline: tuple[int, ...] = ()
    """Replicas whose disk failed, until the broker restarts or reports that it works again."""

    @property
    def unhealed(self) -> tuple[int, ...]:
        """Damaged replicas but the leader, which truncates its log before it leads."""
        return tuple(one for one in self.damaged if one != self.leader_id)


@dataclass(frozen=True, slots=True)
class TopicImage:
    """A topic: `partitions[n].partition == n`; `configs` holds only what was set on the topic."""

    name: str
    topic_id: bytes
    partitions: tuple[PartitionImage, ...]
    configs: Mapping[str, str]


class TopicsDelta:
    """The topics while the records of one batch apply."""

    def __init__(self, topics: Mapping[str, TopicImage], topics_by_id: Mapping[bytes, str]) -> None:
        self._topics = Copied(topics)
        self._topics_by_id = Copied(topics_by_id)
        self._changed: dict[str, list[PartitionImage]] = {}
        """Partitions of topics in which some changed: their tuples are made once, by `finish`."""

    @property
    def topics(self) -> Mapping[str, TopicImage]:
        """The topics by name, as of `finish`."""
        return self._topics.now

    @property
    def topics_by_id(self) -> Mapping[bytes, str]:
        """The topics' names by id after the records so far."""
        return self._topics_by_id.now

    def add_topic(self, record: records.TopicRecord) -> None:
        """Add a topic without partitions."""
        is_new = not (record.name in self._topics.now or record.topic_id in self._topics_by_id.now)
        invariant(is_new, "topic names and ids are unique", record.name, record.topic_id)
        self._topics.changed[record.name] = TopicImage(record.name, record.topic_id, (), {})
        self._topics_by_id.changed[record.topic_id] = record.name

    def remove_topic(self, record: records.RemoveTopicRecord) -> None:
        """Remove a topic with its partitions and configs."""
        name = self._name_of(record.topic_id)
        del self._topics.changed[name]
        del self._topics_by_id.changed[record.topic_id]
        self._changed.pop(name, None)

    def add_partition(self, record: records.PartitionRecord) -> PartitionImage:
        """Add the next partition of a topic, and return it."""
        name = self._name_of(record.topic_id)
        partitions = self._partitions_of(name)
        invariant(record.partition == len(partitions), "partitions are dense", record.partition)
        added = PartitionImage(
            partition=record.partition,
            replicas=tuple(record.replicas),
            isr=tuple(record.isr),
            leader_id=record.leader_id if record.HasField("leader_id") else None,
            leader_epoch=record.leader_epoch,
            partition_epoch=record.partition_epoch,
            elr=tuple(record.elr),
            last_known_leader_id=_last_known_leader_id(record),
            damaged=tuple(record.damaged),
            offline=tuple(record.offline),
        )
        _check_state(added)
        partitions.append(added)
        return added

    def change_partition(
        self, record: records.PartitionChangeRecord
    ) -> tuple[PartitionImage, PartitionImage]:
        """Give a partition its new state; return the one before, and the new one."""
        name = self._name_of(record.topic_id)
        partitions = self._partitions_of(name)
        before = partitions[record.partition]
        after = replace(
            before,
            isr=tuple(record.isr),
            leader_id=record.leader_id if record.HasField("leader_id") else None,
            leader_epoch=record.leader_epoch,
            partition_epoch=record.partition_epoch,
            elr=tuple(record.elr),
            last_known_leader_id=_last_known_leader_id(record),
            damaged=tuple(record.damaged),
            offline=tuple(record.offline),
        )
        _check_state(after)
        _check_epochs(before, after)
        partitions[record.partition] = after
        return before, after

    def configs_of(self, name: str) -> Mapping[str, str]:
        """The configs set on a topic that exists."""
        topic = self._topics.now.get(name)
        invariant(topic is not None, "a config names a topic that exists", name)
        return {} if topic is None else topic.configs

    def set_configs(self, name: str, configs: Mapping[str, str]) -> None:
        """Replace the configs set on a topic that exists."""
        self._topics.changed[name] = replace(self._topics.now[name], configs=configs)

    def finish(self) -> None:
        """Put the changed partitions into their topics: `topics` is whole then."""
        for name, partitions in self._changed.items():
            topic = replace(self._topics.now[name], partitions=tuple(partitions))
            self._topics.changed[name] = topic

    def _name_of(self, topic_id: bytes) -> str:
        name = self._topics_by_id.now.get(topic_id)
        invariant(name is not None, "a record names a topic id that exists", topic_id)
        return name or ""

    def _partitions_of(self, name: str) -> list[PartitionImage]:
        if name not in self._changed:
            self._changed[name] = list(self._topics.now[name].partitions)
        return self._changed[name]


def records_of(topics: Mapping[str, TopicImage]) -> Iterator[records.MetadataRecord]:
    """The records that make the topics again, in their order, with configs and partitions."""
    for topic in topics.values():
        new = records.TopicRecord(name=topic.name, topic_id=topic.topic_id)
        yield records.MetadataRecord(topic=new)
        for key, value in topic.configs.items():
            config = records.ConfigRecord(
                resource_type=records.ConfigRecord.TOPIC,
                resource_name=topic.name,
                key=key,
                value=value,
            )
            yield records.MetadataRecord(config=config)
        for partition in topic.partitions:
            yield _partition_record(topic, partition)


def _partition_record(topic: TopicImage, partition: PartitionImage) -> records.MetadataRecord:
    return records.MetadataRecord(
        partition=records.PartitionRecord(
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


def _last_known_leader_id(
    record: records.PartitionRecord | records.PartitionChangeRecord,
) -> int | None:
    return record.last_known_leader_id if record.HasField("last_known_leader_id") else None


def _check_state(partition: PartitionImage) -> None:
    replicas, isr, leader_id = partition.replicas, partition.isr, partition.leader_id
    invariant(len(set(replicas)) == len(replicas), "no broker holds two replicas", partition)
    for members in (isr, partition.elr, partition.damaged, partition.offline):
        invariant(len(set(members)) == len(members), "a set of replicas", partition)
        invariant(all(one in replicas for one in members), "ISR, ELR within replicas", partition)
    invariant(not set(isr) & set(partition.elr), "ISR and ELR have no member in common", partition)
    invariant(leader_id is None or leader_id in isr, "leader in ISR or none", partition)
    invariant(
        (leader_id is None) or (partition.last_known_leader_id is None),
        "a partition with a leader has no last known leader",
        partition,
    )
    is_lost = not isr and not partition.elr
    invariant(
        not is_lost or partition.last_known_leader_id is not None,
        "without ISR and ELR the last leader is known",
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
